//! `pel import`: turns ontologies, tables and corpora of other tools into PEL's own files, and says what became of each
//! record.

pub mod args;
pub mod concepts;
pub mod counter;
pub mod delimited;
pub mod jsonl;
pub mod obo;
mod obo_syntax;
mod obo_types;
pub mod output;
pub mod pubtator;
pub mod pubtator_lines;
pub mod records;
pub mod report;
pub mod splits;
#[cfg(test)]
mod tests;
mod unix_lines;

pub use args::ImportArgs;
use args::{Common, CsvArgs, Format, JsonlArgs, OboArgs, PubtatorArgs};
use concepts::{CONCEPTS, Concepts, Defaults};
use counter::Counter;
use output::{Output, write_line};
use pel_shared::error::{Error, Result};
use report::Report;
use serde::Serialize;
use splits::Splits;
use std::path::PathBuf;

/// The content of `import.json`.
#[derive(Serialize)]
struct Record<'a> {
    format: &'a str,
    inputs: Vec<String>,
    #[serde(flatten)]
    report: &'a Report,
}

/// Runs `pel import` and prints its report: a table, or JSON if `json`.
///
/// # Errors
/// As [`import`].
pub fn run(args: &ImportArgs, json: bool) -> Result<()> {
    let report = import(args)?;
    if json {
        let text =
            serde_json::to_string_pretty(&report).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        println!("{text}");
    } else {
        println!("{}", report.table());
        println!("written to {}", args.common().out.display());
    }
    Ok(())
}

/// Runs `pel import` without printing. Its files appear in the output folder together, or none does.
///
/// # Errors
/// If an input cannot be read or understood, nothing was left to write, or the output cannot be written.
pub fn import(args: &ImportArgs) -> Result<Report> {
    let common = args.common();
    if common.inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Error::input("standard input (`-`) can be read only once"));
    }
    let mut report = Report::default();
    // What can fail early fails before a folder is made.
    let splits = match &args.format {
        Format::Pubtator(PubtatorArgs { train, dev, test, .. }) => {
            Splits::read([("train", train.as_deref()), ("dev", dev.as_deref()), ("test", test.as_deref())])?
        }
        _ => Splits::default(),
    };
    let mut output = Output::new(&common.out)?;
    let mut counter = Counter::new("lines");
    let (format, kind) = match &args.format {
        Format::Obo(OboArgs { fill, scopes, .. }) => {
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                obo::read(&common.inputs, scopes, concepts, &mut counter)
            })?;
            ("obo", CONCEPTS)
        }
        Format::Jsonl(JsonlArgs { fill, skip_bad, .. }) => {
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                common.inputs.iter().try_for_each(|path| jsonl::read(path, *skip_bad, concepts, &mut counter))
            })?;
            ("jsonl", CONCEPTS)
        }
        Format::Csv(csv @ CsvArgs { fill, .. }) => {
            let layout = csv.layout();
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                common.inputs.iter().try_for_each(|path| delimited::read(path, &layout, concepts, &mut counter))
            })?;
            ("csv", CONCEPTS)
        }
        Format::Pubtator(PubtatorArgs { prefix, .. }) => {
            pubtator::read(&common.inputs, &splits, prefix, &mut output, &mut report, &mut counter)?;
            ("pubtator", pubtator::DOCUMENTS)
        }
    };
    if report.kept(kind) == 0 {
        let (names, why) = (names(&common.inputs).join(", "), report.reasons());
        let why = if why.is_empty() { "it is empty".to_owned() } else { format!("skipped {why}") };
        return Err(Error::input(format!("no {kind} in {names}: {why}")));
    }
    let record = Record { format, inputs: names(&common.inputs), report: &report };
    output.write("import.json", |out| write_line(out, &record))?;
    output.commit()?;
    Ok(report)
}

fn write_concepts(
    output: &mut Output,
    report: &mut Report,
    defaults: Defaults,
    read: impl FnOnce(&mut Concepts<'_>) -> Result<()>,
) -> Result<()> {
    output.write("kb.jsonl", |out| read(&mut Concepts::new(out, defaults, report)))
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

impl ImportArgs {
    fn common(&self) -> &Common {
        match &self.format {
            Format::Obo(args) => &args.common,
            Format::Jsonl(args) => &args.common,
            Format::Csv(args) => &args.common,
            Format::Pubtator(args) => &args.common,
        }
    }
}
