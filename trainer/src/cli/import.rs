//! `pel import`: turns ontologies, tables and corpora of other tools into PEL's own files.

mod concept_args;
mod corpus_args;
#[cfg(test)]
mod tests;

use super::conversion;
use crate::data::import::{self, Source};
use crate::io::outputs::{Inputs, Writes};
use clap::{Args, Subcommand};
use concept_args::{CsvArgs, JsonlArgs, OboArgs};
use corpus_args::{BlinkArgs, PubtatorArgs, TacArgs, WikilinksArgs, ZeshelArgs};
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::report::Report;
use std::path::{Path, PathBuf};

/// Bring concepts or annotated texts from another tool into PEL
#[derive(Args, Clone, Debug)]
#[command(long_about = "Bring concepts or annotated texts from another tool into PEL.\n\n\
    Each format has its own command. All of them read plain, .gz, .bz2, .xz and .zst files, write their result into the folder \
    given with --out, and list what they took, what they changed, and what they skipped and why. \
    If something goes wrong, nothing is written.")]
#[command(after_help = "Example:\n  pel import obo doid.obo --out diseases\n  \
    pel index --kb diseases/kb.jsonl --encoder all-MiniLM-L6-v2 --out diseases.pel")]
pub struct ImportArgs {
    /// The format of the input.
    #[command(subcommand)]
    format: Format,
}

/// The format of the input, with its options.
#[derive(Clone, Debug, Subcommand)]
enum Format {
    /// An ontology in OBO format: Disease Ontology, MONDO, HPO, GO, UBERON ...
    ///
    /// Each term that is not obsolete becomes a concept with its name, synonyms, definition and cross-references; stanzas of
    /// one id, in one file or several, are one term. Synonyms that their type withdraws (EXCLUDE, DEPRECATED, MISSPELLING,
    /// obsolete_synonym and the like) are left out. Unless --type says otherwise, the semantic type is the name of the topmost
    /// term above it that says something (of HPO "Phenotypic abnormality", not "All"), and its source is the part of its id before
    /// the colon. Writes kb.jsonl, which `pel index` reads, and import.json, the list of what was taken and skipped.
    Obo(OboArgs),
    /// A concept table with one JSON object on each line
    ///
    /// The fields are id and name (both needed), synonyms, types, type_ids, xrefs, sources (lists of texts) and
    /// definition (a text). Other fields are ignored. Lines of one id are one concept: the first name is its preferred one, the
    /// others are synonyms. Writes kb.jsonl and import.json.
    Jsonl(JsonlArgs),
    /// A concept table as a spreadsheet exports it: CSV, TSV
    ///
    /// The first line names the columns. PEL looks for id and name (both needed), synonyms, types, type_ids, definition,
    /// xrefs, sources and preferred, in any order and case, and for usual other names of them (cui, label, semantic_types,
    /// description ...); say so if yours are others. Without a header, give columns by number: --columns id=1,name=2.
    ///
    /// Several values in one cell are separated by `|`. Rows of one id are one concept with several names, in one file or
    /// several. The preferred one is marked in the column `preferred` (or name_status, ispref, tty ...) by P, Y, PT, PN or the
    /// like; without a mark it is the first.
    ///
    /// The delimiter is what the name of the file says, else what the header shows, or a line `sep=;` before it. Between commas
    /// and semicolons, cells may be in quotes as RFC 4180 has it. Between tabs and bars quotes are letters, but a cell in quotes
    /// as a whole is read without them, so no open quote swallows rows. Writes kb.jsonl and import.json.
    Csv(CsvArgs),
    /// Texts with marked mentions in PubTator format: MedMentions, BC5CDR, NCBI Disease ...
    ///
    /// Writes documents.jsonl, a file of mentions for each split, and import.json. Every mention is checked: its text
    /// must stand at its offsets. One that stands a single character off is moved there and counted; others are skipped
    /// and counted. A mention with several concepts (D003924|D009369) keeps them all, each of them right; the identifier of a
    /// variant (p|SUB|C|282|Y) is one. A mention that stands twice counts once. Without lists of documents everything goes into mentions.all.jsonl.
    Pubtator(PubtatorArgs),
    /// ZESHEL as released: documents and mentions by world
    ///
    /// Takes the folder with documents/WORLD.json and mentions/SPLIT.json. Every page becomes a concept, whose source is its
    /// world; the split val is called dev. Writes kb.jsonl, documents.jsonl, a file of mentions for each split, and
    /// import.json.
    Zeshel(ZeshelArgs),
    /// Mentions with their context, as BLINK writes them
    ///
    /// A line has context_left, mention, context_right, label_id, and maybe label_title, label (the description) and world. Without
    /// tables of entities (title, text, and idx or document_id), the concepts are those of the mentions. Writes kb.jsonl,
    /// documents.jsonl, a file of mentions for each split, and import.json.
    Blink(BlinkArgs),
    /// Mentions with their context, as WikilinksNED has them
    ///
    /// A line has left_context, word, right_context (texts or lists of words), wikiId and maybe y_title. The concepts are those of
    /// the mentions. Writes kb.jsonl, documents.jsonl, a file of mentions for each split, and import.json.
    Wikilinks(WikilinksArgs),
    /// Queries, answers, documents and knowledge base of an entity linking task, as TAC-KBP 2010 has them
    ///
    /// A query names a mention and its document; with `beg` and `end` (the first and the last character of the file as it is) it
    /// stands there, else where its name stands first. A line of answers has the query, its entity or NIL, and maybe a type.
    /// Writes kb.jsonl, documents.jsonl (those that queries name), a file of mentions for each split, and import.json.
    Tac(TacArgs),
}

impl ImportArgs {
    /// What is imported.
    fn source(&self) -> Result<Source> {
        Ok(match &self.format {
            Format::Obo(args) => {
                let (texts, defaults) = (args.common.texts(), args.fill.defaults());
                Source::Obo { texts, defaults, synonyms: args.choice() }
            }
            Format::Jsonl(args) => {
                let (texts, defaults) = (args.common.texts(), args.fill.defaults());
                Source::Jsonl { texts, defaults, skip_bad: args.skip_bad }
            }
            Format::Csv(args) => {
                let (texts, defaults) = (args.common.texts(), args.fill.defaults());
                Source::Csv { texts, defaults, layout: Box::new(args.layout()) }
            }
            Format::Pubtator(args) => {
                Source::Pubtator { texts: args.common.texts(), lists: args.lists(), prefix: args.prefix.clone() }
            }
            Format::Zeshel(args) => Source::Zeshel { folder: args.folder.clone() },
            Format::Blink(args) => Source::Blink { entities: args.entities.clone(), mentions: args.mentions.files() },
            Format::Wikilinks(args) => Source::Wikilinks { mentions: args.mentions.files() },
            Format::Tac(args) => Source::Tac(args.files()?),
        })
    }

    /// The folder to write into.
    fn out(&self) -> &Path {
        match &self.format {
            Format::Obo(args) => &args.common.out,
            Format::Jsonl(args) => &args.common.out,
            Format::Csv(args) => &args.common.out,
            Format::Pubtator(args) => &args.common.out,
            Format::Zeshel(args) => &args.out,
            Format::Blink(args) => &args.out,
            Format::Wikilinks(args) => &args.out,
            Format::Tac(args) => &args.out,
        }
    }
}

/// Runs `pel import` and prints its report: a table, or JSON if `json`.
///
/// # Errors
/// As [`import()`].
pub fn run(args: &ImportArgs, json: bool) -> Result<()> {
    conversion::print(&import(args)?, args.out(), json)
}

/// Runs `pel import` without printing.
///
/// # Errors
/// If options contradict each other, or as [`import::import`].
pub fn import(args: &ImportArgs) -> Result<Report> {
    let source = args.source()?;
    let inputs = source.inputs();
    if inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Error::input("standard input (`-`) can be read only once"));
    }
    check_outputs(&source, &inputs, args.out())?;
    import::import(&source, args.out())
}

/// Refuses an output folder that is an input, or lies in a folder that is read whole.
fn check_outputs(source: &Source, inputs: &[PathBuf], out: &Path) -> Result<()> {
    let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) = inputs.iter().partition(|input| input.is_dir());
    let lists = match source {
        Source::Pubtator { lists, .. } => lists.given().map(|(_, list)| list).collect(),
        _ => Vec::new(),
    };
    Inputs::new()
        .files(files.into_iter().map(PathBuf::as_path).chain(lists))
        .artifacts(folders.into_iter().map(PathBuf::as_path))
        .check([Writes::Into(out)])
}
