//! `pel count`: counts the concepts of many notes.

use super::under;
use clap::Args;
use pel_artifacts::bundles;
use pel_artifacts::device::{DeviceArgs, Work};
use pel_artifacts::memory;
use pel_io::files::{io_error, print, write_atomic};
use pel_io::outputs::{Inputs, Output};
use pel_io::terminal::counted;
use pel_io::text_encoding::EncodingArgs;
use pel_kb::clean::escaped;
use pel_kb::error::{Error, Result};
use pel_kb::hierarchy::RollUp;
use pel_linker::LinkOptions;
use pel_notes::count::{CountOptions, Counts, count};
use pel_notes::link::inputs::{ColumnArgs, InputFormat, ReadOptions};
use pel_notes::link::notes;
use pel_notes::link::open_linker;
use pel_notes::link::text_linker::{TextLinker, TextOptions};
use pel_notes::link::vector_cache::VectorCache;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

/// Count the concepts of many notes: in how many notes, or of how many patients, each occurs
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel count --bundle bundle notes/ --out counts.csv\n  \
    pel count --bundle bundle notes.csv --patient-column subject_id --roll-up ICD10CM\n  \
    pel count --bundle bundle notes.parquet --under ICD10CM:E08-E13 --roll-up ICD10CM:3\n\n\
    The output is CSV: identifier, name, and the numbers of notes (or patients) and of mentions \
    that state the concept of the patient now, that negate it, and others (uncertain, past, \
    planned, of someone else).")]
pub struct CountArgs {
    /// Bundle written by `pel index`
    #[arg(long)]
    bundle: PathBuf,
    /// Text files, tables and collections of notes, folders of either, or - for standard input, as
    /// of `pel link`
    #[arg(default_value = "-")]
    inputs: Vec<PathBuf>,
    /// Format of the inputs [default: by their names; others are texts]
    #[arg(long, value_enum)]
    input_format: Option<InputFormat>,
    /// Column with the texts of a table of notes [default: text, note_text, note, content, body or
    /// report]
    #[arg(long, value_name = "NAME")]
    text_column: Option<String>,
    /// Count patients, not notes: the column of a table with the identifiers of the patients
    #[arg(long, value_name = "NAME")]
    patient_column: Option<String>,
    /// Count by codes above the concepts: a system, for its top level (ICD10CM: chapters), or a
    /// system and a level (ICD10CM:2: blocks, ICD10CM:3: categories). A concept without a code of the
    /// system counts by the nearest concepts above it that have one
    #[arg(long, value_name = "SYSTEM[:LEVEL]")]
    roll_up: Option<RollUp>,
    /// Count only concepts below these identifiers or codes, separated by commas, or @FILE with one
    /// a line
    #[arg(long, value_name = "CODE,...", value_delimiter = ',')]
    under: Option<Vec<String>>,
    /// Link only the first N notes of each table
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroU64>,
    /// NIL threshold instead of the bundle's
    #[arg(long, value_parser = super::finite)]
    threshold: Option<f32>,
    /// The encoding of notes.
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Output file [default: standard output]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print peak memory at the end
    #[arg(long)]
    memory: bool,
}

/// Runs `pel count`.
///
/// # Errors
/// If the bundle or an input cannot be read, or the output cannot be written.
pub fn run(args: &CountArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let found = notes::notes(&args.inputs, args.input_format)?;
    if found.shards.is_empty() {
        for (is_given, option) in [
            (args.patient_column.is_some(), "--patient-column"),
            (args.text_column.is_some(), "--text-column"),
        ] {
            if is_given {
                return Err(Error::input(format!(
                    "{option}: expected a table of notes, found texts (see --input-format)"
                )));
            }
        }
    }
    let read = found.notes.iter().filter_map(|note| note.path());
    let tables = found.shards.iter().map(|shard| shard.path.as_path());
    Inputs::new()
        .files(read.chain(tables))
        .files(under::files(args.under.as_deref()))
        .artifacts([args.bundle.as_path()])
        .check(args.out.as_deref().map(Output::File))?;
    let bundle = bundles::open_to_link(&args.bundle)?;
    let under = under::concepts(args.under.as_deref(), &bundle)?;
    let opened = device.open(Work::Short)?;
    let linker = open_linker(&args.bundle, bundle, None, &opened)?;
    super::check_threshold(args.threshold, linker.bundle())?;
    let engine = TextLinker {
        linker,
        second: None,
        store: None,
        cache: Some(VectorCache::default()),
    };
    let links = TextOptions {
        link: LinkOptions::default().k(5).threshold(args.threshold),
        under: under.map(Arc::new),
        ..TextOptions::new(5)
    };
    let options = CountOptions {
        read: ReadOptions {
            columns: ColumnArgs {
                text_column: args.text_column.clone(),
                id_column: args.patient_column.clone(),
            },
            encoding: args.encoding.get(),
            limit: args.limit,
        },
        by_patient: args.patient_column.is_some(),
        roll_up: args.roll_up,
    };
    let scratch = tempfile::tempdir()
        .map_err(|cause| Error::io("making a temporary folder").caused_by(cause))?;
    let counts = count(&engine, &links, &found, &options, scratch.path())?;
    let text = match json {
        true => as_json(&counts, &options),
        false => counts.to_csv(options.unit())?,
    };
    match &args.out {
        None => print(&text)?,
        Some(path) => write_atomic(path, |file| {
            file.write_all(text.as_bytes())
                .map_err(|cause| io_error("writing", path, cause))
        })?,
    }
    if let Some(bytes) = memory::peak().filter(|_| args.memory) {
        eprintln!("peak memory {bytes} bytes");
    }
    report(counts, found.unread)
}

fn as_json(counts: &Counts, options: &CountOptions) -> String {
    let unit = options.unit();
    let named = |[asserted, negated, other]: [u64; 3]| serde_json::json!({ "asserted": asserted, "negated": negated, "other": other });
    let lines = counts.rows.iter().map(|row| {
        let line = serde_json::json!({
            "id": row.id, "name": row.name, unit: named(row.tally.units),
            "mentions": named(row.tally.mentions),
        });
        format!("{line}\n")
    });
    lines.collect()
}

/// Says what was counted and what could not be read.
fn report(counts: Counts, folders: Vec<Error>) -> Result<()> {
    eprintln!("{} counted", counted(counts.notes as usize, "note"));
    let failed = counts.failed + folders.len() as u64;
    for error in counts.errors.iter().chain(&folders) {
        eprintln!("{}", escaped(&error.to_string()));
    }
    match failed {
        0 => Ok(()),
        failed => Err(Error::input(format!(
            "{} cannot be read; the others are counted",
            counted(failed as usize, "input")
        ))),
    }
}
