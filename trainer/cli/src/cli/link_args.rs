//! The options of `pel link`.

use super::choices::ScorerChoice;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use pel_io::text_encoding::EncodingArgs;
use pel_kb::codes::System;
use pel_notes::link::detection::DetectionArgs;
use pel_notes::link::inputs::{ColumnArgs, InputFormat};
use pel_notes::link::output_format::OutputFormat;
use pel_notes::link::second_stage::RankerArgs;
use pel_notes::link::shards::part::Part;
use pel_notes::stores::{ConnectionArgs, SearchArgs};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// Link the mentions of notes to concepts, or to NIL if the knowledge base has none
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel link --bundle bundle note.txt\n  \
    pel link --bundle bundle notes/ --format brat --out linked/\n  \
    pel link --bundle bundle note.txt --spans note.ann --spans-only --format jsonl\n  \
    pel link --bundle bundle notes.csv --text-column text --id-column note_id --format jsonl\n  \
    pel link --bundle bundle shards/ --format parquet --out linked/\n  \
    pel link --bundle bundle letters/ --format jsonl --out linked/ --text-out texts/\n  \
    pel link --bundle bundle note.txt --format csv --codes SNOMEDCT,ICD10CM\n  \
    pel link --bundle bundle note.txt --ranker rank/model --rerank 16\n  \
    cat note.txt | pel link --bundle bundle --format html > note.html\n\n\
    No text leaves this machine or is logged. With --vectors the vectors of mentions go to the \
    database.")]
pub struct LinkArgs {
    /// Bundle written by `pel index`
    #[arg(long)]
    pub bundle: PathBuf,
    /// Text files (UTF-8, or see --encoding), documents (.html, .rtf, .docx, .pdf, CDA in .xml), tables
    /// and collections of notes (.csv, .tsv, .jsonl, .parquet, .hl7; FHIR and BioC in .json, .ndjson,
    /// .xml), folders of either, or - for standard input
    #[arg(default_value = "-")]
    pub(super) inputs: Vec<PathBuf>,
    /// Format of the inputs [default: by their names; others are texts]
    #[arg(long, value_enum)]
    pub(super) input_format: Option<InputFormat>,
    /// The columns of tables.
    #[command(flatten)]
    pub(super) columns: ColumnArgs,
    /// Link only the first N notes: of each table, or of the texts
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<NonZeroU64>,
    /// Link only a part of the tables, such as 3/16, so that several processes or machines share
    /// them
    #[arg(long, value_name = "N/OF")]
    pub(super) part: Option<Part>,
    /// Link tables again that were linked with another bundle, other options or another content
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Given mentions: BRAT standoff (.ann) or JSONL, with fragments; for several notes a folder
    /// with NAME.ann or NAME.jsonl each
    #[arg(long, value_name = "PATH")]
    pub(super) spans: Option<PathBuf>,
    /// Link only given mentions and detect no others
    #[arg(long, requires = "spans")]
    pub(super) spans_only: bool,
    /// The encoding of notes and given mentions.
    #[command(flatten)]
    pub(super) encoding: EncodingArgs,
    #[command(flatten)]
    pub(super) detection: DetectionArgs,
    /// Detect nested and overlapping mentions too ("knee" in "left knee pain"), not only the
    /// longest names and the most probable spans
    #[arg(long, conflicts_with = "spans_only")]
    pub(super) overlapping: bool,
    /// Output format [default: table; with --json jsonl]
    #[arg(long, value_enum)]
    pub(super) format: Option<OutputFormat>,
    /// Output file, or output folder for several notes or tables
    #[arg(long)]
    pub(super) out: Option<PathBuf>,
    /// Folder for the text of each note, as NAME.txt: what offsets refer to. Of documents (PDF, DOCX,
    /// HTML, ...) it is the text that they show
    #[arg(long, value_name = "DIR")]
    pub(super) text_out: Option<PathBuf>,
    /// When the links are made, for FHIR, OMOP and BioC: YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ
    /// [default: SOURCE_DATE_EPOCH, else now]
    #[arg(long)]
    pub(super) date: Option<String>,
    /// First note_nlp_id of OMOP; the next rows count up from it. To add to a table, give a number
    /// above those in it [default: 1]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)),
    )]
    pub(super) omop_first_id: Option<u32>,
    /// Number of candidates per mention
    #[arg(
        long,
        short,
        default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..=1000),
    )]
    pub(super) k: u16,
    /// NIL threshold instead of the bundle's: the lowest probability that is linked, or the lowest
    /// score if the bundle has no probabilities (see `pel inspect`)
    #[arg(long, value_parser = super::finite)]
    pub(super) threshold: Option<f32>,
    /// Write sets of answers that hold the right one with a probability of 90 and 95 %, for JSON
    /// and JSONL. Needs a bundle with probabilities
    #[arg(long)]
    pub(super) sets: bool,
    /// Write only cross-references with these prefixes, separated by commas, in any case:
    /// ICD10CM,SNOMED,MESH. A colon, as in ICD10:, ends the vocabulary's name. For formats
    /// with cross-references [default: all]
    #[arg(
        long,
        value_name = "PREFIX,...",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new(),
    )]
    pub(super) xrefs: Option<Vec<String>>,
    /// Write only codes of these systems, separated by commas, the preferred one first: SNOMEDCT,
    /// ICD10CM, RXNORM, ATC, LOINC, CVX, HPO, MEDRT, MESH, UMLS, UNII, MONDO [default: all]
    #[arg(long, value_name = "SYSTEM,...", value_delimiter = ',')]
    pub(super) codes: Option<Vec<System>>,
    /// Write only links to concepts below these identifiers or codes, separated by commas, such as
    /// ICD10CM:E08-E13,RXNORM:1191, or @FILE with one a line (a value set). For a bundle with a
    /// hierarchy
    #[arg(long, value_name = "CODE,...", value_delimiter = ',')]
    pub(super) under: Option<Vec<String>>,
    /// Write the concepts and codes above each linked concept, the nearest first. For JSON and
    /// JSONL, with a bundle that has a hierarchy
    #[arg(long)]
    pub(super) ancestors: bool,
    /// Comparison by single vectors or by Sum-of-Max over token vectors, which the bundle must
    /// contain. Another value than the bundle's turns its threshold off [default: the bundle's]
    #[arg(long, value_enum)]
    pub(super) scorer: Option<ScorerChoice>,
    /// Write only what is stated of the patient now: nothing negated, uncertain, past, planned or
    /// of someone else
    #[arg(long)]
    pub(super) asserted: bool,
    /// Rules for negation, certainty, time, person, side and severity: english, german, french,
    /// spanish, contextkit, or a rule file [default: english]
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) context_rules: Option<PathBuf>,
    /// Rules for what stands next to a mention (doses, values, dates, stages): english, or a rule
    /// file [default: english]
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) attribute_rules: Option<PathBuf>,
    /// File of paraphrases that stand for names, in place of the English ones (jargon, what
    /// patients say). `include english` in it keeps these
    #[arg(long, value_name = "FILE")]
    pub(super) wordings: Option<PathBuf>,
    /// Search candidates of every mention. By default a bundle with probabilities of plain names
    /// neither encodes nor searches a mention that is plainly the name of one concept
    #[arg(long)]
    pub(super) search_names: bool,
    #[command(flatten)]
    pub(super) second: RankerArgs,
    #[command(flatten)]
    pub(super) search: SearchArgs,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    /// Print peak memory at the end
    #[arg(long)]
    pub(super) memory: bool,
}

/// Whether an output is a folder, or named as one.
pub(super) fn is_folder(out: &Path) -> bool {
    let named = out.as_os_str().to_string_lossy();
    out.is_dir() || named.ends_with(std::path::is_separator)
}
