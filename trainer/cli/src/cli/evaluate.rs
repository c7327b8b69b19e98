//! `pel evaluate`: evaluates retrievers on an annotated corpus, or the whole pipeline on raw text.

use clap::builder::{ArgPredicate, NonEmptyStringValueParser};
use clap::{Arg, Args};
use pel_artifacts::bundles;
use pel_artifacts::device::{DeviceArgs, Work};
use pel_artifacts::models::open_ranker;
use pel_corpora::retrieve::bundle;
use pel_experiment::evaluate;
use pel_experiment::evaluate::raw;
use pel_experiment::evaluate::raw::documents::Source;
use pel_experiment::evaluate::raw::{Filter, Pipeline};
use pel_experiment::evaluate::{Options, Second};
use pel_io::files::print;
use pel_io::json;
use pel_io::outputs::{Inputs, Output};
use pel_kb::clean::escaped;
use pel_kb::error::{Error, Result};
use pel_linker::LinkOptions;
use pel_notes::link::second_stage::SecondStage;
use pel_notes::link::{label_scheme, open_linker};
use pel_text::detect::DetectOptions;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Measure recall and NIL detection on an annotated corpus, or linking of raw text
#[derive(Debug, Args)]
#[command(
    mut_arg("corpus", required_without_notes),
    after_help = "Examples:\n  \
    pel evaluate --corpus corpus --kb kb.jsonl\n  \
    pel evaluate --corpus corpus --bundle bundle --systems link,tfidf --by type \
    --out results.json\n  \
    pel evaluate --raw --corpus corpus --split dev --bundle bundle --show 20\n  \
    pel evaluate --raw --notes notes.jsonl --bundle bundle --json\n\n\
    A corpus is a folder written by `pel import`: documents.jsonl and one mentions.SPLIT.jsonl per \
    split. A mention without a concept of the knowledge base counts as NIL. If `pel split okb` \
    held out concepts, NIL is also measured on their mentions alone and without them.\n\n\
    Over all classes, a NIL mention is correct if it is rejected. Any other mention is correct at \
    k if it is linked and its concept is among the first k.\n\n\
    With --raw, the mentions are detected too, as by `pel link`."
)]
pub struct EvaluateArgs {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    raw: RawArgs,
    /// Write all metrics to this file as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The options of raw text.
#[derive(Debug, Args)]
struct RawArgs {
    /// Measure detection, linking and decision on raw text instead of given mentions
    #[arg(long, requires = "bundle", help_heading = "Raw text", conflicts_with_all = [
        "kb", "systems", "train_split", "calibrate_split", "within_domain", "top",
        "keep_abbreviations", "by", "every",
    ])]
    raw: bool,
    /// Annotated notes instead of a corpus: JSONL with `doc_id`, `text` and `mentions` a line
    #[arg(long, value_name = "FILE", requires = "raw", help_heading = "Raw text",
        conflicts_with_all = ["corpus", "split"])]
    notes: Option<PathBuf>,
    /// Count only reported mentions whose concept (of NIL: the nearest candidate) has one of these
    /// types, or comes from one of --sources [default: all]
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',', requires = "raw",
        help_heading = "Raw text", value_parser = NonEmptyStringValueParser::new())]
    types: Vec<String>,
    /// Count only reported mentions whose concept (of NIL: the nearest candidate) comes from one of
    /// these sources, or has one of --types [default: all]
    #[arg(long, value_name = "SOURCE,...", value_delimiter = ',', requires = "raw",
        help_heading = "Raw text", value_parser = NonEmptyStringValueParser::new())]
    sources: Vec<String>,
    /// Set of labels of the bundle's detector, which `pel inspect` lists [default: its first one]
    #[arg(
        long,
        value_name = "NAME",
        requires = "raw",
        conflicts_with = "names_only",
        help_heading = "Raw text"
    )]
    labels: Option<String>,
    /// Detect only names of the knowledge base: neither unknown terms nor what the detector of the
    /// bundle finds
    #[arg(long, requires = "raw", help_heading = "Raw text")]
    names_only: bool,
    /// Detect nested and overlapping mentions too, as `pel link --overlapping`
    #[arg(long, requires = "raw", help_heading = "Raw text")]
    overlapping: bool,
    /// Print the N most frequent missed, spurious and wrongly linked mentions
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        requires = "raw",
        help_heading = "Raw text"
    )]
    show: u32,
}

/// Annotated notes take the place of a corpus, which is required otherwise. The default value is
/// never read.
fn required_without_notes(corpus: Arg) -> Arg {
    corpus
        .required(false)
        .required_unless_present("notes")
        .default_value_if("notes", ArgPredicate::IsPresent, ".")
}

/// Runs `pel evaluate`.
///
/// # Errors
/// If an option does not fit the corpus, a file cannot be read or written, or encoding fails.
pub fn run(args: &EvaluateArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    if args.raw.raw {
        return run_raw(args, device, json);
    }
    let options = &args.options;
    Inputs::new()
        .corpora([options.corpus.as_path()])
        .files(options.kb.as_deref())
        .artifacts(
            options
                .bundle
                .iter()
                .chain(&options.ranker)
                .map(PathBuf::as_path),
        )
        .check(args.out.as_deref().map(Output::File))?;
    let second = options
        .ranker
        .as_deref()
        .map(|folder| ranker(folder, &options.rerank, device))
        .transpose()?;
    let evaluation =
        evaluate::evaluate(options, |path| bundle::open(path, device), second.as_ref())?;
    if let Some(out) = &args.out {
        evaluation.save(out)?;
    }
    let text = if json {
        json::pretty(&evaluation)?
    } else {
        evaluation.tables()
    };
    print(&escaped(&format!("{text}\n")))
}

/// Opens the cross-encoder. Each number of candidates is evaluated once, in the given order.
fn ranker(folder: &Path, counts: &[u32], device: &DeviceArgs) -> Result<Second> {
    let mut seen = HashSet::new();
    let ks = counts
        .iter()
        .filter(|k| seen.insert(**k))
        .map(|k| *k as usize)
        .collect();
    let ranker = open_ranker(folder, &device.open(Work::Long)?.device)?;
    Ok(Second { ranker, ks })
}

/// Measures linking of raw text.
fn run_raw(args: &EvaluateArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let EvaluateArgs { options, raw, out } = args;
    let path = options
        .bundle
        .as_deref()
        .ok_or_else(|| Error::usage("--raw: name the bundle that links the texts with --bundle"))?;
    let source = match &raw.notes {
        Some(file) => Source::Notes(file.clone()),
        None => Source::Corpus {
            folder: options.corpus.clone(),
            split: options.split.clone(),
        },
    };
    let inputs = match &source {
        Source::Corpus { folder, .. } => Inputs::new().corpora([folder.as_path()]),
        Source::Notes(file) => Inputs::new().files([file.as_path()]),
    };
    inputs
        .artifacts(std::iter::once(path).chain(options.ranker.as_deref()))
        .check(out.as_deref().map(Output::File))?;
    let reranked = reranked(options)?;
    // A damaged bundle is reported before a GPU is started.
    let bundle = bundles::open_to_link(path)?;
    let scheme = label_scheme(raw.labels.as_deref(), &bundle)?;
    let opened = device.open(Work::Long)?;
    let second = match reranked {
        Some((folder, count)) => Some(SecondStage::new(
            open_ranker(folder, &opened.device)?,
            count,
        )),
        None => None,
    };
    let defaults = LinkOptions::default();
    let k = defaults
        .k
        .max(second.as_ref().map_or(0, |second| second.count));
    let pipeline = Pipeline {
        linker: open_linker(path, bundle, None, &opened)?,
        second,
        options: defaults.k(k).detect(DetectOptions {
            unknown_terms: !raw.names_only,
            overlapping: raw.overlapping,
            names_only: raw.names_only,
            scheme,
        }),
        filter: Filter {
            types: raw.types.clone(),
            sources: raw.sources.clone(),
        },
    };
    let evaluation = raw::measure(&source, &pipeline, raw.show as usize)?;
    if let Some(out) = out {
        evaluation.save(out)?;
    }
    let text = if json {
        json::pretty(&evaluation)?
    } else {
        evaluation.tables()
    };
    print(&escaped(&format!("{text}\n")))
}

/// The cross-encoder of raw text, and the number of candidates that it reranks.
fn reranked(options: &Options) -> Result<Option<(&Path, usize)>> {
    let Some(folder) = options.ranker.as_deref() else {
        return Ok(None);
    };
    match options.rerank[..] {
        [count] if count > 1 => Ok(Some((folder, count as usize))),
        _ => {
            let found: Vec<String> = options.rerank.iter().map(u32::to_string).collect();
            Err(Error::usage(format!(
                "--rerank: expected one number of at least 2 with --raw, found {}",
                found.join(",")
            )))
        }
    }
}
