//! `pel import`: converts ontologies, tables and corpora to PEL's own files.

mod concept_args;
mod corpus_args;
mod corrected_args;
mod terminology_args;
#[cfg(test)]
mod tests;
mod vocabulary_args;

use super::conversion;
use clap::{Args, Subcommand};
pub(super) use concept_args::delimiter;
use concept_args::{CsvArgs, JsonlArgs, OboArgs};
use corpus_args::{BlinkArgs, PubtatorArgs, TacArgs, WikilinksArgs, ZeshelArgs};
use corrected_args::{BratArgs, LinksArgs};
use pel_corpora::import;
use pel_corpora::import::Source;
use pel_corpora::recognise;
use pel_io::outputs::{Inputs, Output};
use pel_kb::clean::escaped;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::report::Report;
use std::path::{Path, PathBuf};
use terminology_args::{RxnormArgs, SnomedArgs, UmlsArgs};
use vocabulary_args::{Icd10cmArgs, LoincArgs, MeshArgs, ObographArgs, OwlArgs};

/// Import concepts or annotated texts from other formats
#[derive(Args, Clone, Debug)]
#[command(
    long_about = "Import concepts or annotated texts from other formats.\n\n\
    Each format has its own command. All read plain, .gz, .bz2, .xz and .zst files, write to the \
    folder given by --out, and report what was kept, changed and skipped, with reasons. After an \
    error nothing is written.\n\n`pel import IN` without a format says what IN seems to be, and \
    which command imports it.",
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
#[command(after_help = "Example:\n  pel import obo doid.obo --out diseases\n  \
    pel index --kb diseases/kb.jsonl --encoder all-MiniLM-L6-v2 --out diseases.pel\n  \
    pel import obo hp.obo --hierarchy --out hpo")]
pub struct ImportArgs {
    /// The input format.
    #[command(subcommand)]
    format: Option<Format>,
    /// File, folder or ZIP archive to recognise
    #[arg(value_name = "IN")]
    path: Option<PathBuf>,
}

/// The input format with its options.
#[derive(Clone, Debug, Subcommand)]
enum Format {
    /// An ontology in OBO format: Disease Ontology, MONDO, HPO, GO, UBERON ...
    ///
    /// Each term that is not obsolete becomes a concept with name, synonyms, definition and
    /// cross-references. Stanzas with the same id, in one file or several, are merged. Synonyms of
    /// types such as EXCLUDE, DEPRECATED, MISSPELLING or obsolete_synonym are skipped. Unless
    /// --type is given, the semantic type is the name of the topmost meaningful ancestor (in HPO
    /// "Phenotypic abnormality", not "All"). The source is the id up to the colon. Writes kb.jsonl,
    /// which `pel index` reads, and import.json, the report.
    Obo(OboArgs),
    /// A concept table with one JSON object per line
    ///
    /// Fields: id and name (required), synonyms, types, type_ids, xrefs, sources (lists of strings)
    /// and definition (a string). Other fields are ignored. Lines with the same id are merged: the
    /// first name is preferred, others become synonyms. Output kb.jsonl and import.json.
    Jsonl(JsonlArgs),
    /// A concept table from a spreadsheet: CSV or TSV
    ///
    /// The first line names the columns: id and name (required), synonyms, types, type_ids,
    /// definition, xrefs, sources and preferred, in any order and case, or common alternatives
    /// (cui, label, semantic_types, description ...). Give other column names by option. Without a
    /// header, give columns by number: --columns id=1,name=2.
    ///
    /// `|` separates several values in one cell. Rows with the same id, in one file or several, are
    /// merged. The column `preferred` (or name_status, ispref, tty ...) marks the preferred name by
    /// P, Y, PT, PN or similar; without a mark it is the first.
    ///
    /// The delimiter follows from the file name, the header, or a line `sep=;` before it. Between
    /// commas and semicolons, cells may be quoted as in RFC 4180. Between tabs and bars quotes are
    /// ordinary characters, but quotes around a whole cell are removed. Writes kb.jsonl and
    /// import.json.
    Csv(Box<CsvArgs>),
    /// The UMLS Metathesaurus in Rich Release Format
    ///
    /// Reads the folder META, or the ZIP archive as released: MRCONSO.RRF, and if present MRSTY,
    /// MRDEF, MRRANK, MRCUI and MRFILES. The name of a concept is the atom with the highest rank
    /// in MRRANK, then the one with TS = P, STT = PF and ISPREF = Y. Its types are the semantic
    /// types, its cross-references the sources' codes. Retired CUIs go to redirects.tsv. Writes
    /// kb.jsonl, redirects.tsv and import.json.
    ///
    /// The Metathesaurus needs a licence of your own, which the National Library of Medicine gives
    /// free of charge; some of its sources set further conditions.
    Umls(UmlsArgs),
    /// SNOMED CT in Release Format 2
    ///
    /// Reads the folder Snapshot of one or more editions and extensions, or the ZIP archives as
    /// released. Rows with active = 1 count. The name of a concept is the synonym that the dialect
    /// prefers, else the fully specified name. Its type is the semantic tag ("disorder"), which
    /// the name does not keep. Inactive concepts go to redirects.tsv, with the successor that the
    /// associations SAME AS and REPLACED BY name. Writes kb.jsonl, redirects.tsv and import.json.
    ///
    /// SNOMED CT needs a licence of your own, from SNOMED International or your country's release
    /// centre.
    Snomed(SnomedArgs),
    /// RxNorm in Rich Release Format
    ///
    /// Reads the folder rrf, or the ZIP archive as released: RXNCONSO.RRF, and if present RXNSTY,
    /// RXNCUI and RXNATOMARCHIVE. Names are those of RxNorm itself (SAB = RXNORM): the chosen term
    /// types name concepts, and prescribable names, synonyms and tall-man forms are synonyms.
    /// Other sources give cross-references. Retired RXCUIs go to redirects.tsv. Writes kb.jsonl,
    /// redirects.tsv and import.json.
    ///
    /// The names of RxNorm itself may be used freely; the full release, with those of its sources,
    /// needs a UMLS licence.
    Rxnorm(RxnormArgs),
    /// MeSH in XML: descriptors and supplementary records
    ///
    /// Reads desc*.xml and supp*.xml. Each record becomes a concept with the terms of all its MeSH
    /// concepts as names; --terms takes fewer. Permuted terms, such as "Fever, Yellow", are
    /// skipped. The types are the categories of the tree numbers (C: Diseases), or the class of a
    /// supplementary record. Cross-references are registry numbers (CAS, UNII, EC) and the
    /// headings that a supplementary record is mapped to. Writes kb.jsonl and import.json.
    Mesh(MeshArgs),
    /// ICD-10-CM: order file and tabular list
    ///
    /// Reads icd10cm_order_*.txt, icd10cm_tabular_*.xml, or both as one. The order file has all
    /// codes with a long description, the name, and a short one, a synonym. The tabular list adds
    /// inclusion terms as synonyms, and chapter and section as types; it lacks the codes with a
    /// seventh character. Codes are written with a dot. Writes kb.jsonl and import.json.
    #[command(name = "icd10cm")]
    Icd10cm(Icd10cmArgs),
    /// LOINC
    ///
    /// Reads the table Loinc.csv, or the folder or ZIP archive of a release, with MapTo.csv and
    /// ConsumerName.csv if present. The name is LONG_COMMON_NAME. Active and trial codes are
    /// imported. Deprecated codes go to redirects.tsv, with the successor of MapTo.csv if there is
    /// one. The types are the kind of class (Laboratory, Clinical ...) and the class. Writes
    /// kb.jsonl, redirects.tsv and import.json.
    ///
    /// LOINC is used under its own licence, which asks for a notice in what is built from it.
    Loinc(LoincArgs),
    /// An ontology in OWL as RDF/XML or Turtle, or a vocabulary in SKOS
    ///
    /// Each named class that is not deprecated becomes a concept: label, synonyms of oboInOwl and
    /// SKOS, definition, cross-references. Deprecated classes go to redirects.tsv, with the class
    /// that replaces them. Identifiers are compact (MONDO:0005148); IRIs without a known prefix
    /// stay whole. Types are as in `pel import obo`. Writes kb.jsonl, redirects.tsv and
    /// import.json.
    Owl(OwlArgs),
    /// An ontology as OBO Graphs in JSON
    ///
    /// Reads nodes, is_a edges and sets of equivalent nodes, which become cross-references. What
    /// becomes of a class is as in `pel import owl`. Writes kb.jsonl, redirects.tsv and
    /// import.json.
    Obograph(ObographArgs),
    /// Annotated texts in PubTator format: MedMentions, BC5CDR, NCBI Disease ...
    ///
    /// Writes documents.jsonl, one mention file per split, and import.json. The text of every
    /// mention is checked against its offsets. A mention that is off by one character is moved and
    /// counted; others are skipped and counted. All concepts of a mention (D003924|D009369) are
    /// kept as correct; the identifier of a variant (p|SUB|C|282|Y) is a single one. Duplicate
    /// mentions are dropped. Without split lists all mentions go to mentions.all.jsonl.
    Pubtator(PubtatorArgs),
    /// Notes annotated or corrected in BRAT: NAME.txt with NAME.ann
    ///
    /// Reads the output of `pel link --format brat` after corrections, or other annotations with
    /// normalisations. A line `N1 Reference T1 SOURCE:ID` gives the concept of a mention; several
    /// give several right concepts; a mention without is NIL. The prefix `KB:` is removed.
    /// Attributes give the context. A mention of several fragments becomes its extent.
    ///
    /// Writes documents.jsonl, one mention file per split, one file notes.SPLIT.jsonl per split
    /// with the context too, for `pel evaluate --raw --notes`, and import.json. Splits are the
    /// folders train, dev and test, or drawn by --dev and --test; without either there is one
    /// split, all.
    Brat(BratArgs),
    /// Notes with links corrected in the page: its JSON
    ///
    /// Reads the JSON of a note as the page exports it and `pel link --format json` writes it, or
    /// JSONL with the texts in --texts; JSONL lacks notes without mentions. Output and splits are
    /// as in `pel import brat`.
    Links(LinksArgs),
    /// ZESHEL as released: documents and mentions by world
    ///
    /// Reads the folder with documents/WORLD.json and mentions/SPLIT.json. Every page becomes a
    /// concept with its world as source; the split val becomes dev. Writes kb.jsonl,
    /// documents.jsonl, one mention file per split, and import.json.
    Zeshel(ZeshelArgs),
    /// Mentions with context in BLINK's format
    ///
    /// Fields: context_left, mention, context_right, label_id, and optionally label_title, label
    /// (the description) and world. Without entity tables (title, text, and idx or document_id),
    /// the concepts come from the mentions. Writes kb.jsonl, documents.jsonl, one mention file per
    /// split, and import.json.
    Blink(BlinkArgs),
    /// Mentions with context in the format of WikilinksNED
    ///
    /// Fields: left_context, word, right_context (strings or lists of words), wikiId and optionally
    /// y_title. The concepts come from the mentions. Writes kb.jsonl, documents.jsonl, one mention
    /// file per split, and import.json.
    Wikilinks(WikilinksArgs),
    /// Queries, answers, documents and knowledge base of an entity linking task of TAC-KBP 2010 or
    /// later
    ///
    /// A query names a mention and its document. `beg` and `end` are the first and last character
    /// in the file; without them the first occurrence of the name is used. An answer line has the
    /// query, its entity or NIL, and an optional type. Writes kb.jsonl, documents.jsonl (documents
    /// with queries), one mention file per split, and import.json.
    Tac(TacArgs),
}

impl Format {
    /// What to import.
    fn source(&self) -> Result<Source> {
        Ok(match self {
            Format::Obo(args) => Source::Obo {
                texts: args.common.files.texts(),
                defaults: args.common.fill.defaults(),
                synonyms: args.synonyms.choice(),
                hierarchy: args.parents.hierarchy,
            },
            Format::Jsonl(args) => Source::Jsonl {
                texts: args.common.files.texts(),
                defaults: args.common.fill.defaults(),
                skip_bad: args.skip_bad,
            },
            Format::Csv(args) => Source::Csv {
                texts: args.common.files.texts(),
                defaults: args.common.fill.defaults(),
                layout: Box::new(args.layout()),
            },
            Format::Umls(args) => args.common.source(args.terminology()),
            Format::Snomed(args) => args.common.source(args.terminology()),
            Format::Rxnorm(args) => args.common.source(args.terminology()),
            Format::Mesh(args) => args.common.source(args.terminology()),
            Format::Icd10cm(args) => args.common.source(args.terminology()),
            Format::Loinc(args) => args.common.source(args.terminology()),
            Format::Owl(args) => args.common.source(args.terminology()),
            Format::Obograph(args) => args.common.source(args.terminology()),
            Format::Pubtator(args) => Source::Pubtator {
                texts: args.common.texts(),
                lists: args.lists(),
                prefix: args.prefix.clone(),
            },
            Format::Brat(args) => args.source(),
            Format::Links(args) => args.source(),
            Format::Zeshel(args) => Source::Zeshel {
                folder: args.folder.clone(),
            },
            Format::Blink(args) => Source::Blink {
                entities: args.entities.clone(),
                mentions: args.mentions.files(),
            },
            Format::Wikilinks(args) => Source::Wikilinks {
                mentions: args.mentions.files(),
            },
            Format::Tac(args) => Source::Tac(args.files()?),
        })
    }

    /// The mapping that merges concepts.
    fn map(&self) -> Option<&Path> {
        let map = match self {
            Format::Obo(args) => &args.common.map,
            Format::Jsonl(args) => &args.common.map,
            Format::Csv(args) => &args.common.map,
            Format::Umls(args) => &args.common.map,
            Format::Snomed(args) => &args.common.map,
            Format::Rxnorm(args) => &args.common.map,
            Format::Mesh(args) => &args.common.map,
            Format::Icd10cm(args) => &args.common.map,
            Format::Loinc(args) => &args.common.map,
            Format::Owl(args) => &args.common.map,
            Format::Obograph(args) => &args.common.map,
            Format::Pubtator(_)
            | Format::Brat(_)
            | Format::Links(_)
            | Format::Zeshel(_)
            | Format::Blink(_)
            | Format::Wikilinks(_)
            | Format::Tac(_) => return None,
        };
        map.map.as_deref()
    }

    /// The output folder.
    fn out(&self) -> &Path {
        match self {
            Format::Obo(args) => &args.common.files.out,
            Format::Jsonl(args) => &args.common.files.out,
            Format::Csv(args) => &args.common.files.out,
            Format::Umls(args) => &args.common.out,
            Format::Snomed(args) => &args.common.out,
            Format::Rxnorm(args) => &args.common.out,
            Format::Mesh(args) => &args.common.out,
            Format::Icd10cm(args) => &args.common.out,
            Format::Loinc(args) => &args.common.out,
            Format::Owl(args) => &args.common.out,
            Format::Obograph(args) => &args.common.out,
            Format::Pubtator(args) => &args.common.out,
            Format::Brat(args) => &args.common.out,
            Format::Links(args) => &args.common.out,
            Format::Zeshel(args) => &args.out,
            Format::Blink(args) => &args.out,
            Format::Wikilinks(args) => &args.out,
            Format::Tac(args) => &args.out,
        }
    }
}

/// Runs `pel import` and prints its report, or what the input seems to be, as text or JSON.
///
/// # Errors
/// As [`import()`], or if the input is not recognised.
pub fn run(args: &ImportArgs, json: bool) -> Result<()> {
    match (&args.format, &args.path) {
        (Some(format), _) => conversion::print(&import(args)?, format.out(), json),
        (None, Some(path)) => print_recognised(path, json),
        (None, None) => Err(no_input()),
    }
}

fn no_input() -> Error {
    Error::usage("give a format, such as `pel import obo`, or a path to recognise")
}

fn print_recognised(path: &Path, json: bool) -> Result<()> {
    let found = recognise::recognise(path)?;
    if json {
        println!("{}", pel_io::json::pretty(&found)?);
        return Ok(());
    }
    let path = escaped(&path.display().to_string()).into_owned();
    let what = escaped(&found.what).into_owned();
    match &found.command {
        Some(command) => println!("{path} looks like {what}:\n  {}", escaped(command)),
        None => println!("{path} looks like {what}"),
    }
    Ok(())
}

/// Runs `pel import FORMAT` without printing.
///
/// # Errors
/// If options contradict each other or no format is given, or as [`import::import`].
pub fn import(args: &ImportArgs) -> Result<Report> {
    let format = args.format.as_ref().ok_or_else(no_input)?;
    let source = format.source()?;
    let inputs = source.inputs();
    if inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Error::input(
            "`-` (standard input) is given several times, and can be read once",
        ));
    }
    check_outputs(&source, &inputs, format.map(), format.out())?;
    import::import(&source, format.map(), format.out())
}

/// Refuses an output folder that is an input or inside an input folder.
fn check_outputs(
    source: &Source,
    inputs: &[PathBuf],
    map: Option<&Path>,
    out: &Path,
) -> Result<()> {
    let (folders, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        inputs.iter().partition(|input| input.is_dir());
    let lists = match source {
        Source::Pubtator { lists, .. } => lists.given().map(|(_, list)| list).collect(),
        _ => Vec::new(),
    };
    Inputs::new()
        .files(
            files
                .into_iter()
                .map(PathBuf::as_path)
                .chain(lists)
                .chain(map),
        )
        .artifacts(folders.into_iter().map(PathBuf::as_path))
        .check([Output::Into(out)])
}
