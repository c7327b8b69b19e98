//! The command line as a whole: parses it, runs one command and prints errors.

use crate::cli;
use clap::{Parser, Subcommand};
use pel_artifacts::device::DeviceArgs;
use pel_io::{environment, interrupt, limits, signals};
use pel_kb::clean::{escaped, is_control};
use pel_kb::error::{Kind, Result};
use std::ffi::OsString;
use std::io::Write;

/// Link mentions in clinical notes and abstracts to concepts of a knowledge base, or to NIL. PEL
/// works offline: no text leaves this machine
#[derive(Parser)]
#[command(name = "pel", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    device: DeviceArgs,
    /// Print results as JSON
    #[arg(long, global = true, help_heading = "For every command")]
    json: bool,
    #[arg(
        long,
        global = true,
        help_heading = "For every command",
        value_name = "SIZE",
        help = limits::HELP,
        hide_short_help = true,
    )]
    max_input: Option<limits::Size>,
}

const EXIT_CODES: &str = "Exit codes: 0 success; 2 invalid options, such as an output that is also \
                          an input; 3 invalid input, or a value that does not fit it; 4 damaged or \
                          unsuitable bundle, model or index; 5 device failure; 6 a file cannot be \
                          read or written; 70 internal error; 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    Link(cli::link::LinkArgs),
    Map(cli::map::MapArgs),
    Train(cli::train::TrainArgs),
    Pretrain(cli::pretrain::PretrainArgs),
    Candidates(cli::candidates::CandidatesArgs),
    Convert(cli::convert::ConvertArgs),
    Compact(cli::compact::CompactArgs),
    Experiment(Box<cli::experiment::ExperimentArgs>),
    Index(cli::index::IndexArgs),
    Update(cli::update::UpdateArgs),
    Diff(cli::diff::DiffArgs),
    Export(cli::export::ExportArgs),
    Pack(cli::pack::PackArgs),
    Inspect(cli::inspect::InspectArgs),
    Explain(cli::explain::ExplainArgs),
    Import(cli::import::ImportArgs),
    ExportCorpus(cli::export_corpus::ExportCorpusArgs),
    ExportVectors(cli::export_vectors::ExportVectorsArgs),
    Evaluate(cli::evaluate::EvaluateArgs),
    Calibrate(cli::calibrate::CalibrateArgs),
    Split(cli::split::SplitArgs),
    Bench(cli::bench::BenchArgs),
    Count(cli::count::CountArgs),
    Serve(cli::serve::ServeArgs),
    Devices(cli::devices::DevicesArgs),
}

/// Runs `pel` with arguments, the first of which is the name of the program. Returns the exit code.
///
/// It listens for signals and ends the process after them, so it is for programs that do nothing
/// else.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    environment::prepare();
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return print_usage(&error, &args),
    };
    std::panic::set_hook(Box::new(|_| ()));
    let outcome = std::panic::catch_unwind(|| run(&cli));
    match outcome {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            print_error(&error.to_string());
            exit_code(error.kind())
        }
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_default();
            match message.strip_prefix("failed printing to ") {
                // The reader of the output (`head`, a pager) has closed it.
                Some(why)
                    if ["Broken pipe", "os error 109", "os error 232"]
                        .iter()
                        .any(|pipe| why.contains(pipe)) =>
                {
                    0
                }
                Some(why) => {
                    print_error(&format!("writing to {why}"));
                    exit_code(Kind::Io)
                }
                None => {
                    print_error(&format!("internal error, please report it: {message}"));
                    70
                }
            }
        }
    }
}

/// Prints an error to standard error, if that is open.
fn print_error(message: &str) {
    let _ = writeln!(std::io::stderr(), "pel: {}", escaped(message));
}

/// Prints help or the error of the options, and returns the exit code. Control characters in given
/// options are escaped.
fn print_usage(error: &clap::Error, args: &[OsString]) -> u8 {
    if error.use_stderr()
        && args
            .iter()
            .any(|arg| arg.to_string_lossy().contains(is_control))
    {
        // Escaping also removes clap's colours.
        let _ = write!(
            std::io::stderr(),
            "{}",
            escaped(&error.render().to_string())
        );
    } else {
        // The stream may be closed.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

fn run(cli: &Cli) -> Result<()> {
    interrupt::listen()?;
    signals::ignore_file_size_signal()?;
    if let Some(size) = cli.max_input {
        limits::raise(size);
    }
    let (device, json) = (&cli.device, cli.json);
    match &cli.command {
        Command::Link(args) => cli::link::run(args, device, json),
        Command::Map(args) => cli::map::run(args, device, json),
        Command::Train(args) => cli::train::run(args, device, json),
        Command::Candidates(args) => cli::candidates::run(args, device, json),
        Command::Convert(args) => cli::convert::run(args, json),
        Command::Compact(args) => cli::compact::run(args, device, json),
        Command::Experiment(args) => cli::experiment::run(args, device, json),
        Command::Pretrain(args) => cli::pretrain::run(args, device, json),
        Command::Index(args) => cli::index::run(args, device, json),
        Command::Update(args) => cli::update::run(args, device, json),
        Command::Diff(args) => cli::diff::run(args, json),
        Command::Export(args) => cli::export::run(args, json),
        Command::Pack(args) => cli::pack::run(args, json),
        Command::Inspect(args) => cli::inspect::run(args, json),
        Command::Explain(args) => cli::explain::run(args, device, json),
        Command::Import(args) => cli::import::run(args, json),
        Command::ExportCorpus(args) => cli::export_corpus::run(args, json),
        Command::ExportVectors(args) => cli::export_vectors::run(args, json),
        Command::Evaluate(args) => cli::evaluate::run(args, device, json),
        Command::Calibrate(args) => cli::calibrate::run(args, device, json),
        Command::Split(args) => cli::split::run(args, json),
        Command::Bench(args) => cli::bench::run(args, device, json),
        Command::Count(args) => cli::count::run(args, device, json),
        Command::Serve(args) => cli::serve::run(args, device, json),
        Command::Devices(args) => cli::devices::run(args, json),
    }
}

/// The exit code of a kind of error.
pub fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Usage => 2,
        Kind::Input => 3,
        Kind::Artifact => 4,
        Kind::Device => 5,
        Kind::Io => 6,
        Kind::Interrupted => 130,
        _ => 70,
    }
}
