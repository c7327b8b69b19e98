//! `pel train`: trains a bi-encoder or a cross-encoder on annotated mentions.

use super::training::RunArgs;
use crate::io::device::DeviceArgs;
use crate::train::config::{Config, Transformation};
use clap::{Args, ValueEnum};
use pel_shared::error::{Error, Result};
use pel_shared::model::config::BertConfig;
use std::path::{Path, PathBuf};

/// Train on annotated mentions: a bi-encoder (proxy-based loss or cross-entropy, FGSM, random or hard negatives, distillation, a
/// learned transformation), or a cross-encoder that ranks its candidates
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  pel train --encoder all-MiniLM-L6-v2 --kb kb.jsonl --corpus corpus --out run \\\n    \
    --set model.tied=true --set optimiser.epochs=3\n  pel index --encoder run/model --kb kb.jsonl --out bundle\n\n\
    A ranker learns from lists of candidates: see `pel candidates --help`. Every option has its default from the paper (FGSM is off until \
    --set fgsm.lambda=1); `--print` shows them all. The split dev is validated on after each epoch (--set validation.every=STEPS), and the \
    model is that of the best validation. Stopped half-way, the same command goes on where it was."
)]
pub struct TrainArgs {
    #[command(flatten)]
    run: RunArgs,
    /// The corpus folder (documents.jsonl, mentions.train.jsonl ...) that `pel import` writes
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// What to train: a bi-encoder, or a cross-encoder that ranks candidates
    #[arg(long, value_enum, default_value = "link")]
    stage: Stage,
    /// Whose settings to begin with; of a ranker PEL's or BLINK's
    #[arg(long, value_enum, default_value = "pel")]
    paper: Paper,
    /// The candidates of the training split, from `pel candidates`: a ranker learns to order them, a bi-encoder has them as its
    /// negatives
    #[arg(long, value_name = "FILE")]
    candidates: Option<PathBuf>,
    /// The candidates of the validation split, for a ranker
    #[arg(long, value_name = "FILE")]
    dev_candidates: Option<PathBuf>,
    /// Candidates of the training split with the scores of a ranker, which the bi-encoder learns from
    #[arg(long, value_name = "FILE", conflicts_with = "candidates")]
    distil: Option<PathBuf>,
}

/// The two stages of linking (BLINK, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The bi-encoder, which finds candidates
    Link,
    /// The cross-encoder, which puts them into order
    Rank,
}

/// The papers whose settings there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Paper {
    /// Proxy-based loss, random and hard negatives (FGSM: --set fgsm.lambda=1)
    Pel,
    /// Cross-entropy, negatives of the batch and hard ones; a ranker of 64 candidates
    Blink,
    /// Cross-entropy, random negatives of the own domain, the learned transformation
    TBiencoder,
}

/// Runs `pel train`.
///
/// # Errors
/// As [`train`](crate::train::train).
pub fn run(args: &TrainArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| toml::Value::String(path.display().to_string()));
    let mut defaults = match (args.stage, args.paper) {
        (Stage::Link, Paper::Pel) => Config::default(),
        (Stage::Link, Paper::Blink) => Config::blink(),
        (Stage::Link, Paper::TBiencoder) => Config::t_biencoder(),
        (Stage::Rank, Paper::Pel) => Config::ranking(),
        (Stage::Rank, Paper::Blink) => Config::blink_ranking(),
        (Stage::Rank, Paper::TBiencoder) => {
            return Err(Error::input("--paper t-biencoder: that paper has no ranker; --stage rank takes pel or blink"));
        }
    };
    if args.distil.is_some() {
        // BLINK, appendix A; and both losses are over one set of candidates (equations 8 and 9).
        defaults.distillation.own_share = 0.5;
        defaults.negatives.in_batch = false;
    }
    let flags = vec![
        ("data.corpus", path(&args.corpus)),
        ("data.candidates", path(&args.candidates).or(path(&args.distil))),
        ("validation.candidates", path(&args.dev_candidates)),
    ];
    let mut config = args.run.config(defaults.clone(), flags.clone())?;
    if args.paper == Paper::TBiencoder {
        // Table 3 has other bounds for other scorers and negatives, and its layers are those of an encoder of twelve.
        let epsilon = Transformation::best_epsilon(config.model.scorer, config.negatives.kind);
        let layer = depth(&config.model.encoder).map_or(1, |depth| Transformation::scaled_layer(1, depth));
        defaults.transformation = Transformation { epsilon, layer, ..defaults.transformation };
        config = args.run.config(defaults, flags)?;
    }
    if args.distil.is_some() && config.distillation.own_share >= 1.0 {
        return Err(Error::input(
            "--distil: `distillation.own_share`: expected less than 1, for the teacher has what is left, found 1",
        ));
    }
    if args.dev_candidates.is_some() && args.stage == Stage::Link {
        return Err(Error::input(
            "--dev-candidates: a bi-encoder is validated by its own search; it is for --stage rank",
        ));
    }
    if args.stage == Stage::Rank && args.dev_candidates.is_none() && config.validation.candidates.as_os_str().is_empty()
    {
        for key in args.run.settings.iter().map(|setting| setting.split('=').next().unwrap_or_default().trim()) {
            if key.starts_with("validation.") && config.validation.mentions > 0 {
                eprintln!(
                    "warning: --set {key} changes nothing: a ranker is validated on --dev-candidates, and there are none"
                );
            }
        }
    }
    args.run.run(&config, device, json)
}

/// How many layers an encoder has; nothing if it cannot be read, which training will say.
fn depth(encoder: &Path) -> Option<usize> {
    let files = [encoder.join("config.json"), encoder.join("mention/config.json")];
    let config = std::fs::read(files.iter().find(|file| file.is_file())?).ok()?;
    Some(BertConfig::from_bytes(&config).ok()?.num_hidden_layers)
}
