//! `pel import`: turns ontologies, tables and corpora of other tools into PEL's own files, and says what became of each
//! record.

pub mod annotated;
pub mod args;
pub mod contexts;
pub mod corpus_args;
pub mod counter;
pub mod output;
pub mod pubtator;
pub mod pubtator_lines;
pub mod splits;
pub mod tac;
pub mod tac_files;
#[cfg(test)]
mod tests;
pub mod xml;
pub mod zeshel;

use crate::files::{open, reading_error};
pub use args::ImportArgs;
use args::{CsvArgs, Format, JsonlArgs, OboArgs, PubtatorArgs};
use comfy_table::{ContentArrangement, Table, presets};
use counter::Counter;
pub use output::Output;
use output::write_line;
use pel_shared::error::{Error, Result};
use pel_shared::import::concepts::{CONCEPTS, Concepts, Defaults};
use pel_shared::import::obo::{Ontology, Scope};
use pel_shared::import::report::Report;
use pel_shared::import::{Input, delimited, jsonl};
use pel_shared::kb::Concept;
use serde::Serialize;
use splits::Splits;
use std::path::{Path, PathBuf};

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
    print(&import(args)?, args.out(), json)
}

/// Prints what was kept, noted and skipped, as a table with the folder that was written, or as JSON.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn print(report: &Report, out: &Path, json: bool) -> Result<()> {
    if json {
        let text = serde_json::to_string_pretty(report).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        println!("{text}");
    } else {
        println!("{}", table(report));
        println!("written to {}", out.display());
    }
    Ok(())
}

/// Runs `pel import` without printing. Its files appear in the output folder together, or none does.
///
/// # Errors
/// If an input cannot be read or understood, nothing was left to write, or the output cannot be written.
pub fn import(args: &ImportArgs) -> Result<Report> {
    let inputs = args.inputs();
    if inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Error::input("standard input (`-`) can be read only once"));
    }
    args.check_outputs(&inputs)?;
    let mut report = Report::default();
    // What can fail early fails before a folder is made.
    let splits = match &args.format {
        Format::Pubtator(PubtatorArgs { train, dev, test, .. }) => {
            Splits::read([("train", train.as_deref()), ("dev", dev.as_deref()), ("test", test.as_deref())])?
        }
        _ => Splits::default(),
    };
    let mut output = Output::new(args.out(), "import.json", inputs.iter().map(PathBuf::as_path))?;
    let mut counter = Counter::new("lines");
    let (format, kind) = match &args.format {
        Format::Obo(OboArgs { fill, scopes, .. }) => {
            let scopes: Vec<Scope> = scopes.iter().map(|scope| (*scope).into()).collect();
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                let mut ontology = Ontology::default();
                each(&inputs, &mut counter, |input| ontology.read(input, &scopes, concepts.report))?;
                ontology.finish(concepts)
            })?;
            ("obo", CONCEPTS)
        }
        Format::Jsonl(JsonlArgs { fill, skip_bad, .. }) => {
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                each(&inputs, &mut counter, |input| jsonl::read(input, *skip_bad, concepts))
            })?;
            ("jsonl", CONCEPTS)
        }
        Format::Csv(csv @ CsvArgs { fill, .. }) => {
            let layout = csv.layout();
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                each(&inputs, &mut counter, |input| delimited::read(input, &layout, concepts))
            })?;
            ("csv", CONCEPTS)
        }
        Format::Pubtator(PubtatorArgs { prefix, .. }) => {
            pubtator::read(&inputs, &splits, prefix, &mut output, &mut report, &mut counter)?;
            ("pubtator", pubtator::DOCUMENTS)
        }
        Format::Zeshel(args) => {
            zeshel::read(&args.folder, &mut output, &mut report, &mut counter)?;
            ("zeshel", CONCEPTS)
        }
        Format::Blink(args) => {
            contexts::blink(args, &mut output, &mut report, &mut counter)?;
            ("blink", CONCEPTS)
        }
        Format::Wikilinks(args) => {
            contexts::wikilinks(args, &mut output, &mut report, &mut counter)?;
            ("wikilinks", CONCEPTS)
        }
        Format::Tac(args) => {
            tac::read(args, &mut output, &mut report, &mut counter)?;
            ("tac", CONCEPTS)
        }
    };
    if report.kept(kind) == 0 {
        let (names, why) = (names(&inputs).join(", "), report.reasons());
        let why = if why.is_empty() { "it is empty".to_owned() } else { format!("skipped {why}") };
        return Err(Error::input(format!("no {kind} in {names}: {why}")));
    }
    output.commit(&Record { format, inputs: names(&inputs), report: &report })?;
    Ok(report)
}

fn write_concepts(
    output: &mut Output,
    report: &mut Report,
    defaults: Defaults,
    read: impl FnOnce(&mut Concepts<'_>) -> Result<()>,
) -> Result<()> {
    output.write("kb.jsonl", |out| {
        let mut take = |concept: Concept| write_line(out, &concept);
        read(&mut Concepts::new(&mut take, defaults, report))
    })
}

/// Opens one file after the other.
fn each(paths: &[PathBuf], counter: &mut Counter, mut read: impl FnMut(Input<'_>) -> Result<()>) -> Result<()> {
    paths.iter().try_for_each(|path: &PathBuf| {
        let (name, mut reader) = (name(path), open(path)?);
        let mut tick = || {
            counter.step();
            crate::interrupt::check()
        };
        let read = read(Input { name: &name, reader: &mut reader, tick: &mut tick });
        read.map_err(|error| reading_error(path, error))
    })
}

/// Columns that a table is given at least.
const NARROWEST: u16 = 60;

/// A report for the terminal.
pub(crate) fn table(report: &Report) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    // Some terminals say that they are no columns wide.
    if table.width().is_some_and(|width| width < NARROWEST) {
        table.set_width(NARROWEST);
    }
    table.set_header(["", "what", "count", "for example"]);
    for (word, counts) in [("kept", &report.kept), ("noted", &report.noted), ("skipped", &report.skipped)] {
        for (what, count) in counts {
            let example = report.examples.get(what).and_then(|examples| examples.first());
            table.add_row([word, what, &count.to_string(), example.map_or("", String::as_str)]);
        }
    }
    table
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| name(path)).collect()
}
