//! `pel link`: links the mentions of notes.

use super::choices::ScorerChoice;
use crate::io::device::{DeviceArgs, Work};
use crate::io::outputs::{Inputs, Output};
use crate::io::text_encoding::EncodingArgs;
use crate::io::{bundles, memory};
use crate::link::detection::DetectionArgs;
use crate::link::format::Format;
use crate::link::linking::Linking;
use crate::link::notes::{self, Found, Note};
use crate::link::second_stage::RankerArgs;
use crate::link::text_linker::{SharedStore, TextLinker, TextOptions};
use crate::link::{context_rules, date, open_linker};
use crate::stores::{self, ConnectionArgs, SearchArgs, VectorStore};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use pel_shared::bundle::Bundle;
use pel_shared::clean::escaped;
use pel_shared::error::{Context, Error, Result};
use pel_shared::kb::ConceptId;
use pel_shared::linker::{LinkOptions, Linker};
use pel_shared::output;
use pel_shared::text::detect::DetectOptions;
use std::path::PathBuf;
use std::sync::Mutex;

/// Link the mentions of notes to concepts, or to NIL if the knowledge base has none
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel link --bundle bundle note.txt\n  \
    pel link --bundle bundle notes/ --format brat --out linked/\n  \
    pel link --bundle bundle note.txt --spans note.ann --spans-only --format jsonl\n  \
    pel link --bundle bundle note.txt --format csv --xrefs ICD10CM,SNOMED\n  \
    pel link --bundle bundle note.txt --ranker rank/model --rerank 16\n  \
    cat note.txt | pel link --bundle bundle --format html > note.html\n\n\
    No text leaves this machine or is logged. With --vectors the vectors of mentions go to the database.")]
pub struct LinkArgs {
    /// Bundle written by `pel index`
    #[arg(long)]
    pub bundle: PathBuf,
    /// Text files (UTF-8, or see --encoding), folders of .txt or .text files, or - for standard
    /// input
    #[arg(default_value = "-")]
    inputs: Vec<PathBuf>,
    /// Given mentions: BRAT standoff (.ann) or JSONL, with fragments; for several notes a folder
    /// with NAME.ann or NAME.jsonl each
    #[arg(long, value_name = "PATH")]
    spans: Option<PathBuf>,
    /// Link only given mentions and detect no others
    #[arg(long, requires = "spans")]
    spans_only: bool,
    /// The encoding of notes and given mentions.
    #[command(flatten)]
    encoding: EncodingArgs,
    #[command(flatten)]
    detection: DetectionArgs,
    /// Detect overlapping names too ("failure" in "heart failure") instead of the longest ones from
    /// left to right
    #[arg(long, conflicts_with = "spans_only")]
    overlapping: bool,
    /// Output format [default: table; with --json jsonl]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Output file, or output folder for several notes
    #[arg(long)]
    out: Option<PathBuf>,
    /// When the links are made, for FHIR, OMOP and BioC: YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ
    /// [default: SOURCE_DATE_EPOCH, else now]
    #[arg(long)]
    date: Option<String>,
    /// Number of candidates per mention
    #[arg(long, short, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    /// NIL threshold instead of the bundle's: the lowest probability that is linked, or the lowest
    /// score if the bundle has no probabilities (see `pel inspect`)
    #[arg(long, value_parser = super::finite)]
    threshold: Option<f32>,
    /// Write sets of answers that hold the right one with a probability of 90 and 95 %, for mentions
    /// like those of the calibration. For JSON and JSONL, with a bundle that has probabilities
    #[arg(long)]
    sets: bool,
    /// Write only cross-references with these prefixes, separated by commas, in any case:
    /// ICD10CM,SNOMED,MESH. A colon, as in ICD10:, ends the vocabulary's name. For formats
    /// with cross-references [default: all]
    #[arg(long, value_name = "PREFIX,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    xrefs: Option<Vec<String>>,
    /// Comparison by single vectors or by Sum-of-Max over token vectors, which the bundle must
    /// contain. Another value than the bundle's turns its threshold off [default: the bundle's]
    #[arg(long, value_enum)]
    scorer: Option<ScorerChoice>,
    /// Write only what is stated of the patient now: nothing negated, uncertain, past, planned or of
    /// someone else
    #[arg(long)]
    asserted: bool,
    /// Rules for negation, certainty, time, person, side and severity: english, german, french,
    /// spanish, contextkit, or a rule file [default: english]
    #[arg(long, value_name = "NAME|FILE")]
    context_rules: Option<PathBuf>,
    #[command(flatten)]
    second: RankerArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Print peak memory at the end
    #[arg(long)]
    memory: bool,
}

/// Runs `pel link`.
///
/// # Errors
/// If the bundle or an input cannot be read, a span does not fit, or the output cannot be written.
pub fn run(args: &LinkArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let format = match (json, args.format) {
        (true, None) => Format::Jsonl,
        (true, Some(format)) if !format.is_json() => {
            return Err(Error::input(
                "expected a JSON format with --json, found another --format; omit one of the options",
            ));
        }
        (_, format) => format.unwrap_or(Format::Table),
    };
    let Found {
        mut notes,
        unread: folders,
    } = notes::notes(&args.inputs)?;
    let several = notes.len() > 1 || args.inputs.iter().any(|input| input.is_dir());
    if let Some(spans) = &args.spans {
        notes::find_spans(&mut notes, spans, several)?;
    }
    // `-` is standard output.
    match args.out.as_ref().filter(|out| out.as_os_str() != "-") {
        Some(out) => {
            let named_as_folder = out.is_dir()
                || out
                    .as_os_str()
                    .to_string_lossy()
                    .ends_with(std::path::is_separator);
            notes::place(&mut notes, out, several || named_as_folder, format)?;
        }
        None if several && format.needs_files() => {
            return Err(Error::input(
                "expected --out with a folder, since several notes need several files of this format",
            ));
        }
        None => {}
    }
    check_outputs(args, &notes)?;
    if let Some(address) = &args.search.vectors {
        stores::check_address(address)?;
    }
    let bundle = bundles::open_to_link(&args.bundle)?;
    if args.sets {
        if !matches!(format, Format::Json | Format::Jsonl) {
            return Err(Error::input("--sets: expected --format json or jsonl"));
        }
        if bundle.manifest.nil.sets.is_empty() {
            return Err(Error::input(format!(
                "--sets: expected a bundle with probabilities (`pel calibrate`), found none in {}",
                args.bundle.display()
            )));
        }
    }
    let store = open_store(args, &bundle)?;
    let opened = device.open(Work::Short)?;
    let mut linker = open_linker(&args.bundle, bundle, args.scorer.map(Into::into), &opened)?;
    if let Some(rules) = &args.context_rules {
        linker.set_context_rules(context_rules(rules)?);
    }
    super::check_threshold(args.threshold, linker.bundle())?;
    let second = args.second.open(&opened)?;
    let options = LinkOptions::default()
        .k(usize::from(args.k).max(second.as_ref().map_or(0, |second| second.count)))
        .threshold(args.threshold)
        .detect(DetectOptions {
            overlapping: args.overlapping,
            ..args.detection.options(linker.bundle())?
        });
    if let Some(prefixes) = &args.xrefs {
        warn_of_unknown(&linker, prefixes)?;
    }
    let linking = Linking {
        engine: TextLinker {
            linker,
            second,
            store,
        },
        options: TextOptions {
            link: options,
            k: usize::from(args.k),
            xrefs: args.xrefs.clone(),
            sets: args.sets,
            asserted: args.asserted,
        },
        encoding: args.encoding.get(),
        spans_only: args.spans_only,
        format,
        moment: date::moment(args.date.as_deref())?,
    };
    let outcome = linking.run(&notes)?;
    for (what, count) in &outcome.noted.noted {
        let example = outcome
            .noted
            .examples
            .get(what)
            .and_then(|examples| examples.first());
        eprintln!(
            "--spans: {count} x {what}, first at {}",
            example.map_or("", String::as_str)
        );
    }
    if let Some(bytes) = memory::peak().filter(|_| args.memory) {
        eprintln!("peak memory {bytes} bytes");
    }
    unread(outcome.unread, folders, notes.len())
}

/// Opens the store of `--vectors`, if it is given.
fn open_store(args: &LinkArgs, bundle: &Bundle) -> Result<Option<SharedStore>> {
    let Some(address) = &args.search.vectors else {
        return Ok(None);
    };
    let store = VectorStore::open(bundle, address, &args.connection, &args.search)?;
    Ok(Some(SharedStore {
        store: Mutex::new(store),
        types: args.search.types.clone(),
    }))
}

/// Refuses outputs that overwrite a note, its spans, the bundle or the cross-encoder.
fn check_outputs(args: &LinkArgs, notes: &[Note]) -> Result<()> {
    let read = notes
        .iter()
        .flat_map(|note| note.spans.iter().chain([&note.path]));
    let ranker = args.second.model();
    let inputs = Inputs::new()
        .files(read.map(PathBuf::as_path))
        .files(
            args.context_rules
                .iter()
                .filter(|path| path.is_file())
                .map(PathBuf::as_path),
        )
        .artifacts(std::iter::once(args.bundle.as_path()).chain(ranker));
    inputs.check(
        notes
            .iter()
            .filter_map(|note| note.out.as_deref())
            .map(Output::File),
    )
}

/// Warns of prefixes that no cross-reference of the bundle has.
///
/// # Errors
/// If a concept is damaged.
fn warn_of_unknown(linker: &Linker, prefixes: &[String]) -> Result<()> {
    let mut unknown: Vec<&String> = prefixes.iter().collect();
    let concepts = &linker.bundle().concepts;
    for at in 0..concepts.len() as u32 {
        if unknown.is_empty() {
            break;
        }
        let xrefs = concepts.get(ConceptId(at))?.xrefs;
        unknown.retain(|prefix| !xrefs.iter().any(|xref| output::has_prefix(xref, prefix)));
    }
    for prefix in unknown {
        eprintln!("warning: --xrefs {prefix}: no cross-reference of the bundle has this prefix");
    }
    Ok(())
}

/// Reports notes and folders that could not be read.
///
/// # Errors
/// If there is one.
fn unread(notes: Vec<Error>, folders: Vec<Error>, all: usize) -> Result<()> {
    let (bad, closed) = (notes.len(), folders.len());
    let mut failed = notes.into_iter().chain(folders);
    let Some(first) = failed.next() else {
        return Ok(());
    };
    failed.for_each(|error| eprintln!("{}", escaped(&error.to_string())));
    if all == 1 && closed == 0 {
        return Err(first);
    }
    let what = match (bad, closed) {
        (bad, 0) => format!("{bad} of {all} notes"),
        (0, closed) => format!("{closed} folder{}", if closed == 1 { "" } else { "s" }),
        (bad, closed) => format!(
            "{bad} of {all} notes and {closed} folder{}",
            if closed == 1 { "" } else { "s" }
        ),
    };
    Err(first).context(|| format!("{what} cannot be read; the others are linked"))
}
