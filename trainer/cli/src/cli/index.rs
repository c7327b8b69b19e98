//! `pel index`: encodes every concept and writes the bundle.

use super::choices::{
    MentionChoice, PoolingChoice, PrecisionChoice, ScoreChoice, ScorerChoice, TemplateChoice,
    ViewChoice, WeightsChoice,
};
use super::code_args::CodeArgs;
use super::compute::ComputeArgs;
use clap::{ArgGroup, Args, ValueEnum};
use pel_artifacts::bundles;
use pel_artifacts::device::{DeviceArgs, Work};
use pel_artifacts::{concept_table, redirects};
use pel_corpora::indexing::recall::{Floor, K, QUERIES};
use pel_corpora::indexing::source::Source;
use pel_corpora::indexing::{Built, CellChoice, MixedRowsChoice, Recipe, build};
use pel_index::{HnswOptions, Precision};
use pel_io::outputs::{Inputs, Output};
use pel_io::resume::WorkFolder;
use pel_io::terminal::counted;
use pel_io::text_encoding::EncodingArgs;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::{Scorer, Similarity};
use pel_linker::bundle::{EncoderInfo, KbInfo, Manifest, names};
use pel_model::detector::DetectorInfo;
use pel_model::nil::NilPolicy;
use pel_model::tokens::{MentionTemplate, View, ViewOptions};
use pel_model::tower::{Pooling, Reduction};
use std::path::{Path, PathBuf};

/// Encode every concept of a knowledge base and write a bundle for `pel link`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("approximate").args(["hnsw", "cells"])))]
#[command(
    after_help = "Example:\n  pel index --kb kb.jsonl --encoder all-MiniLM-L6-v2 --out bundle\n\n\
    After an interruption the same command resumes."
)]
pub struct IndexArgs {
    /// The concept table that `pel import` writes (JSONL; may be gz, bz2, xz or zst)
    #[arg(long)]
    kb: PathBuf,
    /// Of the concept table.
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Retired identifiers and their successors for the bundle: a table with the columns id,
    /// replaced_by and reason between tabs, as `pel import` writes it
    #[arg(long, value_name = "FILE")]
    redirects: Option<PathBuf>,
    #[command(flatten)]
    codes: CodeArgs,
    /// The encoder: a folder with config.json, model.safetensors (or pytorch_model.bin) and
    /// tokenizer.json (or vocab.txt), or a bundle, which also sets --view and --nil-threshold
    #[arg(long)]
    encoder: PathBuf,
    /// A separate encoder for entities with the same tokenizer [default: one encoder for both
    /// sides]
    #[arg(long)]
    entity_encoder: Option<PathBuf>,
    /// The bundle to write: a folder, or one file if the name ends in .pel
    #[arg(long)]
    out: PathBuf,
    /// The texts of a concept: each name, the template (title, types, description), or both
    /// [default: as in training, else names]
    #[arg(long, value_enum)]
    view: Option<ViewChoice>,
    /// The mention template [default: as in training, else bare for --view names and in context
    /// for others]
    #[arg(long, value_enum)]
    mention: Option<MentionChoice>,
    /// The entity template [default: as in training, else types]
    #[arg(long, value_enum)]
    template: Option<TemplateChoice>,
    /// Include synonyms in the entity template
    #[arg(long)]
    synonyms: bool,
    /// The longest mention in tokens, context included [default: as in training, else 32 for bare
    /// mentions, 128 for others]
    #[arg(long)]
    mention_tokens: Option<usize>,
    /// The words of context on each side of a mention that names exactly one concept; fewer are
    /// faster [default: as in the encoder's bundle, else all that fit]
    #[arg(long, value_name = "WORDS")]
    name_context: Option<usize>,
    /// Do not expand abbreviations that the text defines
    #[arg(long)]
    keep_abbreviations: bool,
    /// The weight of the template in a score, 0 to 1, for --view both (`pel calibrate --mix`
    /// chooses it) [default: as in the encoder's bundle, else 0]
    #[arg(long, value_name = "SHARE")]
    mix: Option<f32>,
    /// The weight of spelling in a score, 0 to 1, for cosine similarity (`pel calibrate --spelling`
    /// chooses it) [default: as in the encoder's bundle, else 0]
    #[arg(long, value_name = "SHARE")]
    spelling: Option<f32>,
    /// The longest template in tokens [default: as in training, else 128]
    #[arg(long)]
    entity_tokens: Option<usize>,
    /// The longest name in tokens [default: as in training, else 32]
    #[arg(long)]
    name_tokens: Option<usize>,
    /// The pooling of token vectors [default: as in training, else mean]
    #[arg(long, value_enum)]
    pooling: Option<PoolingChoice>,
    /// The similarity: cosine, or the dot product of vectors without normalisation [default: as in
    /// training, else cosine]
    #[arg(long, value_enum)]
    score: Option<ScoreChoice>,
    /// The scorer: one vector each, or Sum-of-Max over the vectors of all tokens, stored as int8
    /// [default: as in training, else dual]
    #[arg(long, value_enum)]
    scorer: Option<ScorerChoice>,
    /// The precision of the index
    #[arg(long, value_enum, default_value = "int8")]
    precision: PrecisionChoice,
    /// The precision of the encoder's weights in the bundle: int8 is smaller, faster on a CPU, and
    /// changes scores slightly [default: as in the encoder's bundle, else f32]
    #[arg(long, value_enum)]
    encoder_precision: Option<WeightsChoice>,
    /// Build an HNSW graph for approximate search
    #[arg(long)]
    hnsw: bool,
    /// HNSW: the size of a search's candidate list [default: 100, doubled until --recall-floor is
    /// reached]
    #[arg(long, requires = "hnsw", value_parser = clap::value_parser!(u32).range(1..))]
    ef_search: Option<u32>,
    /// Build cells for approximate search (IVF), for knowledge bases of a million names and more. N
    /// is their number [default: four times the square root of the number of vectors]
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    cells: Option<Option<u32>>,
    /// Cells: the number that a search reads [default: 32, doubled until --recall-floor is reached]
    #[arg(
        long,
        value_name = "N",
        requires = "cells",
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    probes: Option<u32>,
    /// Store the mix of name and template (--mix) as one vector for each name: a smaller index, with
    /// nearly the same candidates
    #[arg(long)]
    mixed_rows: bool,
    /// Mixed rows: leave out names whose vector has at least this cosine similarity with another
    /// one of their concept, 0 to 1
    #[arg(long, value_name = "COSINE", requires = "mixed_rows", value_parser = share)]
    distinct: Option<f64>,
    /// HNSW and cells: the least recall@64 against exact search, 0 to 1; below it nothing is
    /// written
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = Floor::LEAST,
        requires = "approximate",
        value_parser = share,
    )]
    recall_floor: f64,
    /// HNSW: the size of the candidate list while nodes are inserted
    #[arg(
        long,
        default_value_t = 100,
        requires = "hnsw",
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    ef_construction: u32,
    /// HNSW: the seed of the random layers
    #[arg(long, default_value_t = 0, requires = "hnsw")]
    seed: u64,
    /// The lowest score that is linked [default: as in the encoder's bundle if --view and --score
    /// are the same, else every mention is linked]
    #[arg(long, value_parser = super::finite)]
    nil_threshold: Option<f32>,
    /// The data that the threshold was chosen on, for the manifest
    #[arg(long, requires = "nil_threshold")]
    nil_calibrated_on: Option<String>,
    /// The encoder's name for the manifest [default: the name of its folder]
    #[arg(long)]
    encoder_name: Option<String>,
    /// The encoder's licence for the manifest [default: as in the encoder's bundle, else "not
    /// stated"]
    #[arg(long)]
    encoder_licence: Option<String>,
    /// The knowledge base's name for the manifest [default: the name of its file]
    #[arg(long)]
    kb_name: Option<String>,
    /// Also write the vectors before quantisation to a file (raw little-endian f32), for `pel bench
    /// --floats`
    #[arg(long, value_name = "FILE")]
    export_vectors: Option<PathBuf>,
    /// What the detector of the encoder's bundle decides [default: as in that bundle for the same
    /// knowledge base, else names]
    #[arg(long, value_enum)]
    detector: Option<DetectorChoice>,
    /// Tokens of one encoder batch, padding included [default: 2048 on a CPU, 16384 on a GPU]
    #[arg(long, value_name = "N")]
    batch_tokens: Option<usize>,
    #[command(flatten)]
    compute: ComputeArgs,
}

/// What a detector decides that was trained with another knowledge base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DetectorChoice {
    /// Every name of the knowledge base is a mention, and the detector finds more
    Names,
    /// Only what the detector finds is a mention, names too
    Alone,
    /// The new bundle has no detector
    None,
}

/// The cells that a search reads at first.
const PROBES: usize = 32;

pub(super) fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("expected a share from 0 to 1, found {text:?}")),
    }
}

impl IndexArgs {
    /// The detector of the encoder's bundle, and whether names are mentions whatever it says.
    /// `blake3` is the hash of the concept table.
    fn detector_of(&self, bundle: Option<&Manifest>, blake3: &str) -> (Option<DetectorInfo>, bool) {
        let Some(bundle) = bundle.filter(|_| self.detector != Some(DetectorChoice::None)) else {
            return (None, false);
        };
        let is_same = bundle.kb.blake3 == blake3;
        let every_name = match self.detector {
            Some(choice) => choice == DetectorChoice::Names,
            None => !is_same || bundle.every_name,
        };
        (bundle.detector.clone(), every_name)
    }

    fn view(&self, trained: Option<ViewOptions>) -> ViewOptions {
        let concepts = self.view.map_or(
            trained.map_or(View::Names, |view| view.concepts),
            View::from,
        );
        let by_view = if concepts == View::Names {
            MentionTemplate::Bare
        } else {
            MentionTemplate::Context
        };
        let mention_template = self.mention.map_or(
            trained.map_or(by_view, |view| view.mention_template),
            MentionTemplate::from,
        );
        let untrained = if mention_template == MentionTemplate::Bare {
            ViewOptions::names()
        } else {
            ViewOptions::template()
        };
        let defaults = trained.unwrap_or(untrained);
        ViewOptions {
            concepts,
            mention_template,
            entity_template: self.template.map_or(defaults.entity_template, Into::into),
            synonyms: self.synonyms || defaults.synonyms,
            entity_tokens: self.entity_tokens.unwrap_or(defaults.entity_tokens),
            name_tokens: self.name_tokens.unwrap_or(defaults.name_tokens),
            mention_tokens: self.mention_tokens.unwrap_or(defaults.mention_tokens),
            abbreviations: !self.keep_abbreviations && defaults.abbreviations,
            mix: self.mix.unwrap_or(if concepts == View::Both {
                defaults.mix
            } else {
                0.0
            }),
            spelling: self.spelling.unwrap_or(defaults.spelling),
            name_context: self.name_context.or(defaults.name_context),
        }
    }
}

/// Runs `pel index`.
///
/// # Errors
/// If an input cannot be read or does not fit, the device fails, or the bundle cannot be written.
pub fn run(args: &IndexArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    check_files(args)?;
    let source = Source::read(&args.encoder, args.entity_encoder.as_deref())?;
    let has_detector = |own: &Manifest| own.detector.is_some();
    if args.detector.is_some() && !source.bundle.as_ref().is_some_and(has_detector) {
        return Err(Error::input(format!(
            "--detector: the encoder {} is not a bundle with a detector",
            args.encoder.display()
        )));
    }
    let recipe = recipe(args, source)?;
    let device = device.open(Work::Long)?;
    let work = WorkFolder::beside(&args.out);
    let built = build(recipe, &device, &work)
        .context(|| format!("with the encoder {}", args.encoder.display()))?;
    bundles::save(&args.out, &built.parts)?;
    work.remove()?;
    report(args, &built, json)
}

/// Checks the files that are read and written.
fn check_files(args: &IndexArgs) -> Result<()> {
    let encoders = std::iter::once(&args.encoder)
        .chain(&args.entity_encoder)
        .map(PathBuf::as_path);
    let licences = concept_table::licence_file(&args.kb);
    let work = WorkFolder::place(&args.out);
    let outputs = [bundles::writes(&args.out), Output::Folder(&work)].into_iter();
    Inputs::new()
        .files([args.kb.as_path(), licences.as_path()])
        .files(args.redirects.as_deref())
        .files(args.codes.files())
        .artifacts(encoders)
        .check(outputs.chain(args.export_vectors.as_deref().map(Output::File)))?;
    bundles::check_output(&args.out)
}

/// What is indexed, and how.
fn recipe(args: &IndexArgs, source: Source) -> Result<Recipe> {
    let Source {
        mut files,
        tied,
        settings,
        bundle,
    } = source;
    let kb_file = concept_table::read_in(&args.kb, &args.encoding.get())?;
    let redirects = match &args.redirects {
        None => Vec::new(),
        Some(path) => redirects::resolved(path, &kb_file.kb)?,
    };
    let codes = args.codes.read_for(&kb_file.kb, &redirects)?;
    let hierarchy = args.codes.read_hierarchy_for(&kb_file.kb, &redirects)?;
    let (detector, every_name) = args.detector_of(bundle.as_ref(), &kb_file.blake3);
    if detector.is_none() {
        let files_of_detector = [names::DETECTOR_CONFIG, names::DETECTOR_WEIGHTS];
        files
            .0
            .retain(|name, _| !files_of_detector.contains(&name.as_str()));
    }
    let (licences, licence_text) = concept_table::licences(&args.kb)?.unzip();
    let untrained = Reduction {
        pooling: Pooling::Mean,
        score: Similarity::Cosine,
    };
    let reduction = settings.map_or(untrained, |settings| settings.reduction);
    let reduction = Reduction {
        pooling: args.pooling.map_or(reduction.pooling, Into::into),
        score: args.score.map_or(reduction.score, Into::into),
    };
    let view = args.view(settings.map(|settings| settings.view));
    let trained = settings.map_or(Scorer::Dual, |settings| settings.scorer);
    let scorer = args.scorer.map_or(trained, Into::into);
    // A threshold holds only for the views and scores that it was chosen for.
    let same = bundle
        .as_ref()
        .filter(|own| view == own.view && reduction == own.encoder.reduction && scorer == trained);
    Ok(Recipe {
        nil: nil_policy(args, same),
        encoder: encoder_info(args, bundle.as_ref(), tied, reduction),
        kb_info: KbInfo {
            name: args.kb_name.clone().unwrap_or_else(|| stem(&args.kb)),
            concepts: kb_file.kb.len(),
            names: kb_file
                .kb
                .iter()
                .map(|(_, concept)| concept.names().count())
                .sum(),
            blake3: kb_file.blake3,
            licences: licences.unwrap_or_default(),
        },
        kb: kb_file.kb,
        licence_text,
        redirects,
        codes: codes.unwrap_or_default(),
        hierarchy: hierarchy.unwrap_or_default(),
        files,
        view,
        precision: args.precision.into(),
        scorer,
        hnsw: args.hnsw.then_some(HnswOptions {
            ef_construction: args.ef_construction as usize,
            ef_search: args
                .ef_search
                .map_or(HnswOptions::default().ef_search, |ef| ef as usize),
            seed: args.seed,
        }),
        cells: args.cells.map(|cells| CellChoice {
            cells: cells.map(|cells| cells as usize),
            probes: args.probes.map_or(PROBES, |probes| probes as usize),
        }),
        mixed_rows: args.mixed_rows.then_some(MixedRowsChoice {
            distinct: args.distinct.map(|cosine| cosine as f32),
        }),
        floor: Floor {
            least: args.recall_floor,
            raise: args.ef_search.is_none() && args.probes.is_none(),
        },
        export_vectors: args.export_vectors.clone(),
        // It reads the embeddings of the encoder that the index is made with.
        detector,
        every_name,
        batch_tokens: args.batch_tokens,
        compute_precision: args.compute.precision(),
    })
}

/// The rule for NIL: that of a bundle with the same views and scores, unless a threshold is given.
fn nil_policy(args: &IndexArgs, same: Option<&Manifest>) -> NilPolicy {
    match (args.nil_threshold, same) {
        (None, Some(manifest)) => manifest.nil.clone(),
        (threshold, _) => NilPolicy {
            threshold,
            calibrated_on: args.nil_calibrated_on.clone(),
            ..NilPolicy::default()
        },
    }
}

/// The description of the encoder: as asked for, else that of the bundle it comes from.
fn encoder_info(
    args: &IndexArgs,
    bundle: Option<&Manifest>,
    tied: bool,
    reduction: Reduction,
) -> EncoderInfo {
    let before = bundle.map(|manifest| &manifest.encoder);
    let name = args.encoder_name.clone();
    let licence = args.encoder_licence.clone();
    EncoderInfo {
        name: name
            .or(before.map(|info| info.name.clone()))
            .unwrap_or_else(|| stem(&args.encoder)),
        licence: licence
            .or(before.map(|info| info.licence.clone()))
            .unwrap_or_else(|| "not stated".into()),
        tied,
        reduction,
        // Int8 weights stay int8. Indexing refuses to read them as f32.
        precision: match (args.encoder_precision, before.map(|info| info.precision)) {
            (Some(asked), _) => asked.into(),
            (None, Some(Precision::Int8)) => Precision::Int8,
            (None, _) => Precision::F32,
        },
    }
}

pub(super) fn stem(path: &Path) -> String {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    match path.is_dir() {
        true => name,
        false => name.split('.').next().unwrap_or_default().to_owned(),
    }
}

fn report(args: &IndexArgs, built: &Built, json: bool) -> Result<()> {
    let manifest = &built.manifest;
    let bytes: u64 = manifest.files.values().map(|file| file.bytes).sum();
    if json {
        println!("{}", figures(args, built, bytes));
        return Ok(());
    }
    println!(
        "{}: {}, {}, {:.1} MB",
        args.out.display(),
        counted(manifest.kb.concepts, "concept"),
        counted(manifest.index.rows, "vector"),
        bytes as f64 / 1e6
    );
    report_vectors(built);
    if built.redirects > 0 {
        println!(
            "{} redirected or known as retired",
            counted(built.redirects, "retired identifier")
        );
    }
    if manifest.detector.is_some() && manifest.every_name {
        println!(
            "the detector of {} adds mentions to those that are names of the knowledge base; \
             --detector alone makes it decide on names too, --detector none removes it",
            args.encoder.display()
        );
    }
    report_texts(built);
    Ok(())
}

/// The figures of a bundle, for a program.
fn figures(args: &IndexArgs, built: &Built, bytes: u64) -> serde_json::Value {
    let Built {
        manifest,
        without_rows,
        cut,
        found,
        ..
    } = built;
    serde_json::json!({
        "out": args.out, "concepts": manifest.kb.concepts, "names": manifest.kb.names,
        "rows": manifest.index.rows, "dim": manifest.index.dim, "bytes": bytes,
        "hnsw": manifest.index.hnsw, "cells": manifest.index.cells,
        "mixed": manifest.index.mixed, "similar_names": built.similar,
        "recall_at_64": found.map(|found| found.recall),
        "recall_at_64_against_f32": found.map(|found| found.before_rounding.unwrap_or(found.recall)),
        "concepts_without_rows": without_rows.len(),
        "texts_cut": cut.templates_cut + cut.names_cut, "templates": cut.templates,
        "templates_cut": cut.templates_cut, "names_cut": cut.names_cut,
        "token_vectors": manifest.token_vectors, "redirects": built.redirects,
        "detector": manifest.detector.is_some(), "every_name": manifest.every_name,
    })
}

/// Prints what was left out of the vectors, and what their search finds.
fn report_vectors(built: &Built) {
    let manifest = &built.manifest;
    if built.similar > 0 {
        println!(
            "{} without a vector, since another name of the concept has a similar one",
            counted(built.similar, "name")
        );
    }
    if let (Some(info), Some(file)) = (
        &manifest.token_vectors,
        manifest.files.get(names::TOKEN_VECTORS),
    ) {
        println!(
            "{} token vectors for Sum-of-Max: {:.1} MB of these",
            info.tokens,
            file.bytes as f64 / 1e6
        );
    }
    let Some(found) = &built.found else {
        return;
    };
    let queries = manifest.index.rows.min(QUERIES);
    if manifest.index.cells.is_none() {
        println!(
            "recall@{K} against exact search over the stored vectors: {:.4} ({queries} of them as \
             queries; `pel bench` measures it too)",
            found.recall
        );
    }
    if let Some(before) = found.before_rounding {
        println!(
            "recall@{K} against exact search over the vectors before quantisation: {before:.4} \
             ({queries} of them as queries)"
        );
    }
}

/// Prints the concepts that were not indexed, and the texts that were truncated.
fn report_texts(built: &Built) {
    let (cut, view) = (&built.cut, &built.manifest.view);
    if !built.without_rows.is_empty() {
        println!(
            "{} not indexed: all names are empty after normalisation",
            counted(built.without_rows.len(), "concept")
        );
    }
    let templates = (cut.templates_cut, cut.templates, "templates");
    let names = (cut.names_cut, cut.names, "names");
    for ((cut, of, what), tokens, option) in [
        (templates, view.entity_tokens, "--entity-tokens"),
        (names, view.name_tokens, "--name-tokens"),
    ] {
        if cut > 0 {
            let share = 100.0 * cut as f64 / of as f64;
            println!(
                "{cut} of {of} {what} ({share:.1} %) are longer than {tokens} tokens and were \
                 truncated; {option} sets another length"
            );
        }
    }
}
