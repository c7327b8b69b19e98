//! `pel import`: turns ontologies, tables and corpora of other tools into PEL's own files, and says what became of each
//! record.

pub mod annotated;
pub mod args;
pub mod contexts;
pub mod corpus_args;
pub mod counter;
pub mod pubtator;
pub mod pubtator_lines;
pub mod splits;
pub mod tac;
pub mod tac_files;
#[cfg(test)]
mod tests;
pub mod xml;
pub mod zeshel;

use crate::io::files::{longest_record, reading_error};
use crate::io::limits::Bound;
pub use crate::io::output_folder::Output;
use crate::io::output_folder::write_line;
use crate::io::text_encoding::{TextEncoding, open_text, read_error};
pub use args::ImportArgs;
use args::{Common, CsvArgs, Format, JsonlArgs, OboArgs, PubtatorArgs};
use comfy_table::{ContentArrangement, Table, presets};
use counter::Counter;
use pel_shared::error::{Error, Result};
use pel_shared::kb::Concept;
use pel_shared::kb::import::concepts::{CONCEPTS, Concepts, Defaults};
use pel_shared::kb::import::formats;
use pel_shared::kb::import::formats::Format as Form;
use pel_shared::kb::import::merging::ConceptTable;
use pel_shared::kb::import::obo::Ontology;
use pel_shared::kb::import::report::Report;
use pel_shared::kb::import::{Input, delimited, jsonl};
use serde::Serialize;
use splits::Splits;
use std::io::{BufRead, Cursor, Read};
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
        Format::Obo(obo @ OboArgs { fill, .. }) => {
            let (choice, texts) = (obo.choice(), Texts::of(&inputs, &obo.common, Some(Form::Obo)));
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                let mut ontology = Ontology::default();
                texts.each(&mut counter, |input| ontology.read(input, &choice, concepts.report))?;
                ontology.finish(concepts)
            })?;
            ("obo", CONCEPTS)
        }
        Format::Jsonl(JsonlArgs { fill, skip_bad, common }) => {
            let texts = Texts::of(&inputs, common, Some(Form::JsonLines));
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                let mut table = ConceptTable::default();
                texts.each(&mut counter, |input| jsonl::read(input, *skip_bad, &mut table, concepts.report))?;
                table.finish(concepts)
            })?;
            ("jsonl", CONCEPTS)
        }
        Format::Csv(csv @ CsvArgs { fill, .. }) => {
            let (layout, texts) = (csv.layout(), Texts::of(&inputs, &csv.common, None));
            write_concepts(&mut output, &mut report, fill.defaults(), |concepts| {
                let mut table = ConceptTable::default();
                texts.each(&mut counter, |input| delimited::read(input, &layout, &mut table, concepts.report))?;
                table.finish(concepts)
            })?;
            ("csv", CONCEPTS)
        }
        Format::Pubtator(PubtatorArgs { prefix, common, .. }) => {
            let encoding = &common.encoding.get();
            pubtator::read(&inputs, encoding, &splits, prefix, &mut output, &mut report, &mut counter)?;
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

/// Texts that are read one after the other.
struct Texts<'a> {
    paths: &'a [PathBuf],
    encoding: TextEncoding,
    /// The form that is read; `None` for tables, which cannot be told by their beginning.
    form: Option<Form>,
}

impl<'a> Texts<'a> {
    fn of(paths: &'a [PathBuf], common: &Common, form: Option<Form>) -> Self {
        Self { paths, encoding: common.encoding.get(), form }
    }

    /// Opens one file after the other.
    ///
    /// # Errors
    /// If one cannot be opened, or is certainly of another form than is read here: what reads it is named. As `read`.
    fn each(&self, counter: &mut Counter, mut read: impl FnMut(Input<'_>) -> Result<()>) -> Result<()> {
        self.paths.iter().try_for_each(|path: &PathBuf| {
            let (name, mut reader) = (name(path), self.open(path)?);
            let mut tick = || {
                counter.step();
                crate::io::interrupt::check()
            };
            let read = read(Input { name: &name, reader: &mut reader, tick: &mut tick, longest: longest_record() });
            read.map_err(|error| reading_error(path, error))
        })
    }

    fn open(&self, path: &Path) -> Result<Box<dyn BufRead>> {
        let mut text = open_text(path, &self.encoding, Bound::Stream)?;
        let mut head = Vec::new();
        let head_read = text.by_ref().take(formats::HEAD as u64).read_to_end(&mut head);
        head_read.map_err(|cause| read_error(path, cause))?;
        match Form::recognise(&head) {
            Some(found) if Some(found) != self.form => {
                let expected = match self.form {
                    Some(Form::Obo) => "an ontology in OBO",
                    Some(_) => "concepts as JSON lines",
                    None => "a table with columns",
                };
                let (path, found) = (path.display(), found.advice());
                Err(Error::input(format!("{path}: expected {expected}, found {found}")))
            }
            _ => Ok(Box::new(Cursor::new(head).chain(text))),
        }
    }
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
