//! `pel train` and `pel pretrain`: from the command line to a run and back.

use crate::io::device::{DeviceArgs, Work};
use crate::io::files::read_text;
use crate::io::outputs::{Inputs, Writes, is_same};
use crate::train;
use crate::train::config::{Config, Keep, Transformation, idle};
use crate::train::{METRICS, Trained};
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

/// Align the names of each concept (multi-similarity loss, as SapBERT), to begin training from
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  pel pretrain --encoder all-MiniLM-L6-v2 --kb kb.jsonl --more-kb kb_extra.jsonl --out aligned\n\n\
    Stopped half-way, the same command goes on where it was."
)]
pub struct PretrainArgs {
    #[command(flatten)]
    run: RunArgs,
    /// A corpus folder to validate on
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// More concept tables, whose names are learned too
    #[arg(long)]
    more_kb: Vec<PathBuf>,
}

#[derive(Debug, Args)]
struct RunArgs {
    /// A configuration, TOML or JSON; flags come after it
    #[arg(long)]
    config: Option<PathBuf>,
    /// Sets one option, such as loss.alpha=16; may stand several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The encoder to begin with: a Hugging Face BERT folder, or the model of an earlier run
    #[arg(long)]
    encoder: Option<PathBuf>,
    /// The concept table
    #[arg(long)]
    kb: Option<PathBuf>,
    /// Which weights become the model [default: best]
    #[arg(long, value_enum)]
    keep: Option<Keep>,
    /// The seed of every random choice
    #[arg(long)]
    seed: Option<u64>,
    /// Steps of the optimiser, instead of epochs
    #[arg(long)]
    steps: Option<usize>,
    /// The run's folder
    #[arg(long, required_unless_present = "print")]
    out: Option<PathBuf>,
    /// Only print the configuration
    #[arg(long)]
    print: bool,
}

impl RunArgs {
    fn config(&self, defaults: Config, more: Vec<(&str, Option<toml::Value>)>) -> Result<Config> {
        let path = |path: &PathBuf| toml::Value::String(path.display().to_string());
        let number = |number: u64| toml::Value::Integer(number as i64);
        let name = |keep: Keep| Some(toml::Value::String(keep.to_possible_value()?.get_name().to_owned()));
        let flags = [
            ("model.encoder", self.encoder.as_ref().map(path)),
            ("data.kb", self.kb.as_ref().map(path)),
            ("validation.keep", self.keep.and_then(name)),
            ("seed", self.seed.map(number)),
            ("optimiser.steps", self.steps.map(|steps| number(steps as u64))),
        ];
        let flags = flags.into_iter().chain(more).filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        let settings: Vec<String> = flags.chain(self.settings.iter().cloned()).collect();
        defaults.read(self.config.as_deref(), &settings)
    }

    /// Refuses a run's folder that is, holds or lies in what is read.
    fn check_outputs(&self, config: &Config, out: &Path, toml: &str) -> Result<()> {
        let Config { data, model, validation, .. } = config;
        let given = |path: &&PathBuf| !path.as_os_str().is_empty();
        let files = std::iter::once(&data.kb).chain(&data.more_kbs).chain([&data.candidates, &validation.candidates]);
        // A run goes on with its own configuration, which then is the one that is kept beside it already.
        let own = out.join("config.toml");
        let is_own = |path: &&PathBuf| {
            is_same(path, &own) && (out.join(METRICS).exists() || read_text(path).is_ok_and(|text| text == toml))
        };
        let inputs = Inputs::new()
            .files(files.filter(given).map(PathBuf::as_path))
            .files(self.config.iter().filter(|path| !is_own(path)).map(PathBuf::as_path))
            .artifacts(std::iter::once(&model.encoder).chain(&model.entity_encoder).filter(given).map(PathBuf::as_path))
            .corpora(std::iter::once(&data.corpus).filter(given).map(PathBuf::as_path));
        inputs.check([Writes::Folder(out)])
    }

    fn run(&self, config: &Config, device: &DeviceArgs, json: bool) -> Result<()> {
        let toml = config.to_toml()?;
        let Some(out) = self.out.as_ref().filter(|_| !self.print) else {
            let shown = if json { serde_json::to_string_pretty(config).map(|text| text + "\n") } else { Ok(toml) };
            print!("{}", shown.map_err(|cause| Error::io("encoding JSON").caused_by(cause))?);
            return Ok(());
        };
        self.check_outputs(config, out, &toml)?;
        let device = device.open(Work::Long)?;
        eprintln!("{toml}\non {}", device.name);
        if config.negatives.in_batch && config.optimiser.micro() < config.optimiser.batch {
            let micro = config.optimiser.micro();
            eprintln!("warning: negatives of the batch are those of a micro-batch of {micro} (optimiser.micro_batch)");
        }
        let given = self.settings.iter().filter_map(|setting| setting.split_once('='));
        let given = given.map(|(key, _)| (format!("--set {}", key.trim()), key.trim()));
        for (flag, key) in given.chain(self.keep.map(|_| ("--keep".to_owned(), "validation.keep"))) {
            if let Some(reason) = idle(config, key) {
                eprintln!("warning: {flag} changes nothing: {reason}");
            }
        }
        report(&train::train(config, out, &device)?, json);
        Ok(())
    }
}

/// Runs `pel train`.
///
/// # Errors
/// As [`train::train`].
pub fn train(args: &TrainArgs, device: &DeviceArgs, json: bool) -> Result<()> {
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

/// Runs `pel pretrain`.
///
/// # Errors
/// As [`train::train`].
pub fn pretrain(args: &PretrainArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let corpus = args.corpus.as_ref().map(|path| toml::Value::String(path.display().to_string()));
    let more = args.more_kb.iter().map(|path| toml::Value::String(path.display().to_string())).collect::<Vec<_>>();
    let more = (!more.is_empty()).then_some(toml::Value::Array(more));
    let config = args.run.config(Config::alignment(), vec![("data.corpus", corpus), ("data.more_kbs", more)])?;
    args.run.run(&config, device, json)
}

fn report(trained: &Trained, json: bool) {
    let Trained { model, steps, examples, report, validated, kept, step_seconds, mining_seconds } = trained;
    if json {
        let said = serde_json::json!({
            "model": model, "steps": steps, "examples": examples, "skipped": report, "validated": validated, "kept": kept,
            "step_seconds": step_seconds, "mining_seconds": mining_seconds,
        });
        println!("{said}");
        return;
    }
    println!("{}: {steps} steps over {examples} examples; {}", model.display(), kept.words());
    println!("{step_seconds:.0} s in steps, {mining_seconds:.0} s in mining (this call)");
}
