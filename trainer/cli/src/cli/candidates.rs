//! `pel candidates`: lists a retriever's candidates for the mentions of a split, as training data
//! for other models.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use pel_artifacts::concept_table;
use pel_artifacts::device::{DeviceArgs, OpenDevice, Work};
use pel_corpora::domain::OwnDomain;
use pel_corpora::retrieve::bundle;
use pel_corpora::retrieve::candidates::Found;
use pel_corpora::retrieve::lexical::System;
use pel_corpora::retrieve::lexical::lexical;
use pel_corpora::retrieve::teacher::Teacher;
use pel_corpora::retrieve::{CandidateLists, Retriever};
use pel_corpora::split::{Split, TrainingSplit};
use pel_index::metrics::{rank_of, recall_at};
use pel_io::outputs::{Inputs, Output};
use pel_io::resume::WorkFolder;
use pel_io::terminal::counted;
use pel_kb::KnowledgeBase;
use pel_kb::error::{Context, Error, Result};
use pel_model::layer::Precision;
use pel_trainer::train::config::Config;
use pel_trainer::train::{MODEL, Snapshot};
use std::path::PathBuf;

/// List a retriever's candidates for a split, with a cross-encoder's scores if given, as training
/// data
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel candidates --run run --corpus corpus --split train --out train.jsonl\n  \
    pel train --stage rank --candidates train.jsonl --encoder all-MiniLM-L6-v2 --kb kb.jsonl \
    --corpus corpus --out rank\n  \
    pel candidates --from train.jsonl --ranker rank/model --kb kb.jsonl --corpus corpus \
    --split train --out scored.jsonl\n  \
    pel train --distil scored.jsonl --encoder run/model --kb kb.jsonl --corpus corpus \
    --out student\n\n\
    Mentions without a concept of the knowledge base are skipped. An interrupted command resumes \
    when repeated.")]
pub struct CandidatesArgs {
    /// Retriever: a run of `pel train`
    #[arg(long, value_name = "RUN", group = "retriever")]
    run: Option<PathBuf>,
    /// Retriever: a bundle
    #[arg(long, value_name = "BUNDLE", group = "retriever")]
    bundle: Option<PathBuf>,
    /// Retriever: a system without a model
    #[arg(long, value_parser = without_model(), group = "retriever", requires = "kb")]
    system: Option<System>,
    /// No retriever: candidate lists of this command, to add a cross-encoder's scores to
    #[arg(long, value_name = "FILE", group = "retriever", requires_all = ["kb", "ranker"])]
    from: Option<PathBuf>,
    /// Corpus folder
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// Split
    #[arg(long, default_value = "train")]
    split: String,
    /// Concept table [default: that of the bundle or of the run's training]
    #[arg(long, value_name = "FILE", conflicts_with = "bundle")]
    kb: Option<PathBuf>,
    /// With --system: do not expand abbreviations
    #[arg(long, requires = "system")]
    keep_abbreviations: bool,
    /// Cross-encoder (the model of `pel train --stage rank`) whose scores are added
    #[arg(long, value_name = "MODEL")]
    ranker: Option<PathBuf>,
    /// Run the cross-encoder in bfloat16: much faster on a CPU with AMX or AVX-512 BF16
    #[arg(long, requires = "ranker")]
    bf16: bool,
    /// Run the cross-encoder in half floats: much faster on a GPU
    #[arg(long, requires = "ranker", conflicts_with = "bf16")]
    f16: bool,
    /// Search only concepts of the mention's domain (ZESHEL's protocol): that of its document or,
    /// as an oracle, of its gold concept [without a value: document]
    #[arg(
        long,
        value_enum,
        value_name = "OF",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "document",
        conflicts_with = "from",
    )]
    within_domain: Option<OwnDomain>,
    /// Candidates per mention [default: 16; with --from all]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Use every N-th mention only
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    every: u32,
    /// Output file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl CandidatesArgs {
    fn top(&self) -> u32 {
        self.top
            .unwrap_or(if self.from.is_some() { u32::MAX } else { 16 })
    }
}

/// Parses the systems that need no bundle.
fn without_model() -> impl TypedValueParser<Value = System> {
    let systems = System::value_variants()
        .iter()
        .filter(|system| !system.needs_bundle());
    PossibleValuesParser::new(systems.filter_map(ValueEnum::to_possible_value))
        .try_map(|name| System::from_str(&name, false))
}

/// Runs `pel candidates`.
///
/// # Errors
/// If an input cannot be read or does not fit, the device fails, or the output cannot be written.
pub fn run(args: &CandidatesArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let mut inputs = Inputs::new()
        .corpora([args.corpus.as_path()])
        .files(args.kb.iter().chain(&args.from).map(PathBuf::as_path))
        .artifacts(args.bundle.iter().chain(&args.ranker).map(PathBuf::as_path));
    let of_run = match &args.run {
        Some(run) => {
            inputs = inputs
                .artifacts([run.join(MODEL).as_path()])
                .files([run.join("config.toml").as_path()]);
            let mut config = Config::default().read(Some(&run.join("config.toml")), &[])?;
            config.data.kb = args.kb.clone().unwrap_or(config.data.kb);
            Some((run, config))
        }
        None => None,
    };
    inputs = inputs.files(of_run.iter().map(|(_, config)| config.data.kb.as_path()));
    let work = WorkFolder::place(&args.out);
    inputs.check([Output::File(&args.out), Output::Folder(&work)])?;
    let device = device.open(Work::Long)?;
    if let Some((run, config)) = of_run {
        if !config.data.kb.is_file() {
            let named = || {
                format!(
                    "the concept table of {} (--kb names another)",
                    run.join("config.toml").display()
                )
            };
            return concept_table::read(&config.data.kb)
                .map(drop)
                .context(named);
        }
        let snapshot = Snapshot::open(&config, Some(&run.join(MODEL)), "run", &device)?;
        let found = search(args, &snapshot, snapshot.kb())?;
        return finish(args, snapshot.kb(), found, &device, json);
    }
    if let Some(bundle) = &args.bundle {
        let opened = bundle::open_on(bundle, device.clone())?;
        let found = search(args, opened.link.as_ref(), &opened.concepts.kb)?;
        return finish(args, &opened.concepts.kb, found, &device, json);
    }
    let without = || {
        Error::input(
            "say where candidates come from: --run, --bundle, --system with --kb, or --from with \
             --kb",
        )
    };
    let kb = concept_table::read(args.kb.as_ref().ok_or_else(without)?)?.kb;
    if let Some(system) = args.system {
        let training = (system == System::Majority)
            .then(|| TrainingSplit::read(&args.corpus, "train"))
            .transpose()?;
        let retriever = lexical(system, &kb, training.as_ref(), !args.keep_abbreviations)?;
        let found = search(args, &retriever, &kb)?;
        return finish(args, &kb, found, &device, json);
    }
    let found = Found::listed(
        args.from.as_ref().ok_or_else(without)?,
        mentions(args, &kb)?,
        args.top(),
        &kb,
    )?;
    finish(args, &kb, found, &device, json)
}

fn mentions(args: &CandidatesArgs, kb: &KnowledgeBase) -> Result<Split> {
    Found::mentions(&args.corpus, &args.split, args.every as usize, kb)
}

fn search(args: &CandidatesArgs, retriever: &dyn Retriever, kb: &KnowledgeBase) -> Result<Found> {
    Found::search(
        retriever,
        mentions(args, kb)?,
        args.top() as usize,
        args.within_domain.map(|own| (own, kb)),
    )
}

fn finish(
    args: &CandidatesArgs,
    kb: &KnowledgeBase,
    found: Found,
    device: &OpenDevice,
    json: bool,
) -> Result<()> {
    let Found {
        split,
        ranked,
        missing,
    } = &found;
    let teacher = match &args.ranker {
        None => {
            found.write(&args.out, kb, None)?;
            None
        }
        Some(folder) => {
            let precision = match (args.bf16, args.f16) {
                (true, _) => Precision::Bf16,
                (_, true) => Precision::F16,
                _ => Precision::F32,
            };
            Some(Teacher::open(folder, precision, device)?.write(
                &found,
                kb,
                args.top() as usize,
                &args.out,
            )?)
        }
    };
    let mut any_right = ranked.clone();
    split.unify_gold(&mut any_right);
    let share = |right: usize| 100.0 * right as f64 / split.mentions.len() as f64;
    let hits = |ranked: &CandidateLists, k: usize| {
        let ranks = split
            .mentions
            .iter()
            .zip(ranked)
            .map(|(gold, ranked)| rank_of(gold.concept?, ranked));
        recall_at(ranks, k).hits
    };
    let (right, listed) = (hits(&any_right, 1), hits(&any_right, usize::MAX));
    let ordered = teacher.map(|teacher| {
        let mut reranked = found.reranked(&teacher, usize::MAX);
        split.unify_gold(&mut reranked);
        hits(&reranked, 1)
    });
    let most = found.ranked.iter().map(Vec::len).max().unwrap_or(0);
    if json {
        let summary = serde_json::json!({
            "out": args.out, "mentions": split.mentions.len(), "without_list": missing,
            "top": most.min(args.top() as usize), "recall_1": share(right) / 100.0,
            "recall": share(listed) / 100.0,
            "ranker_accuracy": ordered.map(|ordered| share(ordered) / 100.0),
            "ranker_normalised_accuracy": ordered.map(|ordered| ordered as f64 / listed.max(1) as f64),
        });
        println!("{summary}");
        return Ok(());
    }
    let lacking = if *missing > 0 {
        format!("; {missing} more have no list and were skipped")
    } else {
        String::new()
    };
    println!(
        "{}: {}{lacking}",
        args.out.display(),
        counted(split.mentions.len(), "mention")
    );
    println!(
        "recall@1 {:.1} %, recall@{most} {:.1} %",
        share(right),
        share(listed)
    );
    if let Some(ordered) = ordered {
        let normalised = 100.0 * ordered as f64 / listed.max(1) as f64;
        println!(
            "accuracy of the cross-encoder {:.1} %, normalised {normalised:.1} %",
            share(ordered)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CandidatesArgs,
    }

    #[test]
    fn existing_lists_keep_their_length_by_default() {
        let top = |line: &str| {
            let words = line.split_whitespace();
            Line::try_parse_from(words)
                .unwrap_or_else(|error| panic!("{error}"))
                .args
                .top()
        };
        let from = "pel --from a.jsonl --kb kb.jsonl --ranker rank --corpus corpus --out b.jsonl";
        assert_eq!((top(from), top(&format!("{from} --top 4"))), (u32::MAX, 4));
        assert_eq!(top("pel --run run --corpus corpus --out b.jsonl"), 16);
    }
}
