//! `pel train`: trains a bi-encoder or a cross-encoder on annotated mentions, or a detector of
//! mentions.

use super::training::RunArgs;
use clap::{Args, ValueEnum};
use pel_artifacts::device::DeviceArgs;
use pel_kb::error::{Error, Result};
use pel_model::config::BertConfig;
use pel_trainer::train::config::{Config, Transformation};
use std::path::{Path, PathBuf};

/// Train on annotated mentions: a bi-encoder (proxy-based loss or cross-entropy, FGSM, random or
/// hard negatives, distillation, learned transformation), a cross-encoder that ranks its
/// candidates, or a detector of mentions
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  pel train --encoder all-MiniLM-L6-v2 --kb kb.jsonl --corpus corpus \
    --out run \\\n    \
    --set model.tied=true --set optimiser.epochs=3\n  \
    pel index --encoder run/model --kb kb.jsonl --out bundle\n\n\
    A cross-encoder learns from candidate lists: see `pel candidates --help`. A detector reads the \
    texts that its --config names. Defaults are the paper's, FGSM among them (--set fgsm.lambda=0 \
    trains without it, in less than half the time); `--print` shows all options. Training \
    validates on the split dev after each epoch (--set validation.every=STEPS) and keeps the best \
    model. An interrupted command resumes when repeated."
)]
pub struct TrainArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Corpus folder (documents.jsonl, mentions.train.jsonl ...) written by `pel import`
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Model to train: a bi-encoder, a cross-encoder that ranks candidates, or a detector of
    /// mentions
    #[arg(long, value_enum, default_value = "link")]
    stage: Stage,
    /// Paper whose defaults to use; for a cross-encoder PEL or BLINK
    #[arg(long, value_enum, default_value = "pel")]
    paper: Paper,
    /// Candidate lists of the training split, from `pel candidates`: a cross-encoder learns to rank
    /// them, a bi-encoder uses them as negatives
    #[arg(long, value_name = "FILE")]
    candidates: Option<PathBuf>,
    /// Candidate lists of the validation split, for a cross-encoder
    #[arg(long, value_name = "FILE")]
    dev_candidates: Option<PathBuf>,
    /// Candidate lists of the training split with teacher scores, to distil into a bi-encoder
    #[arg(long, value_name = "FILE", conflicts_with = "candidates")]
    distil: Option<PathBuf>,
}

/// The stages of linking (BLINK, section 4), and what finds mentions before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// Bi-encoder, which retrieves candidates
    Link,
    /// Cross-encoder, which ranks them
    Rank,
    /// Detector, which finds mentions in a text
    Detect,
}

/// The papers with default settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Paper {
    /// Proxy-based loss, random and hard negatives, FGSM
    Pel,
    /// Cross-entropy, in-batch and hard negatives; a cross-encoder with 64 candidates
    Blink,
    /// Cross-entropy, random negatives of the same domain, the learned transformation
    TBiencoder,
}

/// Runs `pel train`.
///
/// # Errors
/// As [`train`](pel_trainer::train::train).
pub fn run(args: &TrainArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let path = |path: &Option<PathBuf>| {
        path.as_ref()
            .map(|path| toml::Value::String(path.display().to_string()))
    };
    let mut defaults = match (args.stage, args.paper) {
        (Stage::Link, Paper::Pel) => Config::default(),
        (Stage::Link, Paper::Blink) => Config::blink(),
        (Stage::Link, Paper::TBiencoder) => Config::t_biencoder(),
        (Stage::Rank, Paper::Pel) => Config::ranking(),
        (Stage::Rank, Paper::Blink) => Config::blink_ranking(),
        (Stage::Detect, _) => Config::detection(),
        (Stage::Rank, Paper::TBiencoder) => {
            return Err(Error::input(
                "--paper: expected pel or blink with --stage rank, found t-biencoder, which has no \
                 cross-encoder",
            ));
        }
    };
    if args.distil.is_some() {
        // BLINK, appendix A. Both losses use the same candidates (equations 8 and 9).
        defaults.distillation.own_share = 0.5;
        defaults.negatives.in_batch = false;
    }
    let flags = vec![
        ("data.corpus", path(&args.corpus)),
        (
            "data.candidates",
            path(&args.candidates).or(path(&args.distil)),
        ),
        ("validation.candidates", path(&args.dev_candidates)),
    ];
    if args.stage == Stage::Detect {
        check_detection(args)?;
    }
    let mut config = args.run.config(defaults.clone(), flags.clone())?;
    if args.paper == Paper::TBiencoder && args.stage == Stage::Link {
        // Table 3 has a bound for each scorer and kind of negatives. Its layers count from an
        // encoder of 12.
        let epsilon = Transformation::best_epsilon(config.model.scorer, config.negatives.kind);
        let layer =
            depth(&config.model.encoder).map_or(1, |depth| Transformation::scaled_layer(1, depth));
        defaults.transformation = Transformation {
            epsilon,
            layer,
            ..defaults.transformation
        };
        config = args.run.config(defaults, flags)?;
    }
    if args.distil.is_some() && config.distillation.own_share >= 1.0 {
        return Err(Error::input(
            "--distil: `distillation.own_share`: expected less than 1, so that the teacher has a \
             share, found 1",
        ));
    }
    if args.dev_candidates.is_some() && args.stage != Stage::Rank {
        return Err(Error::input(
            "--dev-candidates: expected --stage rank, found a bi-encoder, which is validated by \
             its own search",
        ));
    }
    if args.stage == Stage::Rank
        && args.dev_candidates.is_none()
        && config.validation.candidates.as_os_str().is_empty()
    {
        warn_of_validation(args, &config);
    }
    args.run.run(&config, device, json)
}

/// Checks that a detector has no option of linking.
fn check_detection(args: &TrainArgs) -> Result<()> {
    let given = [
        ("--corpus", args.corpus.is_some()),
        ("--candidates", args.candidates.is_some()),
        ("--distil", args.distil.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Error::input(format!(
            "{option}: expected no such option with --stage detect, whose texts are in \
             `detect.corpora` of --config"
        ))),
        None => Ok(()),
    }
}

/// Warns of settings of the validation of a cross-encoder that is not validated.
fn warn_of_validation(args: &TrainArgs, config: &Config) {
    for key in args
        .run
        .settings
        .iter()
        .map(|setting| setting.split('=').next().unwrap_or_default().trim())
    {
        if key.starts_with("validation.") && config.validation.mentions > 0 {
            eprintln!(
                "warning: --set {key} has no effect: a cross-encoder is validated on \
                 --dev-candidates, which are missing"
            );
        }
    }
}

/// Number of layers of an encoder; `None` if it cannot be read, which training reports.
fn depth(encoder: &Path) -> Option<usize> {
    let files = [
        encoder.join("config.json"),
        encoder.join("mention/config.json"),
    ];
    let config = std::fs::read(files.iter().find(|file| file.is_file())?).ok()?;
    Some(BertConfig::from_bytes(&config).ok()?.num_hidden_layers)
}
