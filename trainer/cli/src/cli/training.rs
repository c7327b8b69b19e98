//! Common code of `pel train` and `pel pretrain`: configuration, run and report.

use clap::{Args, ValueEnum};
use pel_artifacts::device::{DeviceArgs, Work};
use pel_io::files::read_text;
use pel_io::json;
use pel_io::outputs::{Inputs, Output, is_same};
use pel_kb::error::Result;
use pel_trainer::train;
use pel_trainer::train::config::{Config, Keep, Task, idle};
use pel_trainer::train::detect::TrainedDetector;
use pel_trainer::train::{METRICS, Trained};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Configuration file, TOML or JSON; options override it
    #[arg(long)]
    config: Option<PathBuf>,
    /// Set an option, such as loss.alpha=16; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) settings: Vec<String>,
    /// Initial encoder: a Hugging Face BERT folder, or the model of an earlier run
    #[arg(long)]
    encoder: Option<PathBuf>,
    /// Concept table
    #[arg(long)]
    kb: Option<PathBuf>,
    /// Weights to save as the model [default: best]
    #[arg(long, value_enum)]
    keep: Option<Keep>,
    /// Seed of all random numbers
    #[arg(long)]
    seed: Option<u64>,
    /// Optimiser steps, instead of epochs
    #[arg(long)]
    steps: Option<usize>,
    /// Folder of the run
    #[arg(long, required_unless_present = "print")]
    out: Option<PathBuf>,
    /// Print the configuration and exit
    #[arg(long)]
    print: bool,
}

impl RunArgs {
    /// The configuration: `defaults`, then the file, `more` and the options, each overriding the
    /// former.
    ///
    /// # Errors
    /// If the file cannot be read, or an option is unknown or out of range.
    pub(super) fn config(
        &self,
        defaults: Config,
        more: Vec<(&str, Option<toml::Value>)>,
    ) -> Result<Config> {
        let path = |path: &PathBuf| toml::Value::String(path.display().to_string());
        let number = |number: u64| toml::Value::Integer(number as i64);
        let name = |keep: Keep| {
            Some(toml::Value::String(
                keep.to_possible_value()?.get_name().to_owned(),
            ))
        };
        let flags = [
            ("model.encoder", self.encoder.as_ref().map(path)),
            ("data.kb", self.kb.as_ref().map(path)),
            ("validation.keep", self.keep.and_then(name)),
            ("seed", self.seed.map(number)),
            (
                "optimiser.steps",
                self.steps.map(|steps| number(steps as u64)),
            ),
        ];
        let flags = flags
            .into_iter()
            .chain(more)
            .filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        let settings: Vec<String> = flags.chain(self.settings.iter().cloned()).collect();
        defaults.read(self.config.as_deref(), &settings)
    }

    /// Refuses a run folder that is an input, contains one or lies in one.
    fn check_outputs(&self, config: &Config, out: &Path, toml: &str) -> Result<()> {
        let Config {
            data,
            model,
            validation,
            ..
        } = config;
        let given = |path: &&PathBuf| !path.as_os_str().is_empty();
        let files = std::iter::once(&data.kb)
            .chain(&data.more_kbs)
            .chain([&data.candidates, &validation.candidates]);
        // A resumed run may be given its own configuration file.
        let own = out.join("config.toml");
        let is_own = |path: &&PathBuf| {
            is_same(path, &own)
                && (out.join(METRICS).exists() || read_text(path).is_ok_and(|text| text == toml))
        };
        let inputs = Inputs::new()
            .files(files.filter(given).map(PathBuf::as_path))
            .files(
                self.config
                    .iter()
                    .filter(|path| !is_own(path))
                    .map(PathBuf::as_path),
            )
            .artifacts(
                std::iter::once(&model.encoder)
                    .chain(&model.entity_encoder)
                    .filter(given)
                    .map(PathBuf::as_path),
            )
            .artifacts(
                config
                    .detect
                    .iter()
                    .map(|detect| &detect.names)
                    .filter(given)
                    .map(PathBuf::as_path),
            )
            .corpora(
                std::iter::once(&data.corpus)
                    .chain(config.detect.iter().flat_map(|detect| {
                        let texts = detect.corpora.iter().chain(&detect.validation);
                        texts.map(|texts| &texts.folder)
                    }))
                    .filter(given)
                    .map(PathBuf::as_path),
            );
        inputs.check([Output::Folder(out)])
    }

    /// Trains and prints a report, or prints the configuration only.
    ///
    /// # Errors
    /// If an output is an input, or as [`train::train`].
    pub(super) fn run(&self, config: &Config, device: &DeviceArgs, json: bool) -> Result<()> {
        let toml = config.to_toml()?;
        let Some(out) = self.out.as_ref().filter(|_| !self.print) else {
            let shown = if json {
                json::pretty(config)? + "\n"
            } else {
                toml
            };
            print!("{shown}");
            return Ok(());
        };
        self.check_outputs(config, out, &toml)?;
        let device = device.open(Work::Long)?;
        eprintln!("{toml}\ndevice: {}", device.name);
        if config.negatives.in_batch && config.optimiser.micro() < config.optimiser.batch {
            let micro = config.optimiser.micro();
            eprintln!(
                "warning: in-batch negatives come from micro-batches of {micro} \
                 (optimiser.micro_batch); optimiser.chunk needs as little memory for those of the \
                 whole batch"
            );
        }
        let given = self
            .settings
            .iter()
            .filter_map(|setting| setting.split_once('='));
        let given = given.map(|(key, _)| (format!("--set {}", key.trim()), key.trim()));
        for (flag, key) in given.chain(self.keep.map(|_| ("--keep".to_owned(), "validation.keep")))
        {
            if let Some(reason) = idle(config, key) {
                eprintln!("warning: {flag} has no effect: {reason}");
            }
        }
        if config.data.task == Task::Detect {
            report_detector(&train::detect::train(config, out, &device)?, json);
        } else {
            report(&train::train(config, out, &device)?, json);
        }
        Ok(())
    }
}

fn report_detector(trained: &TrainedDetector, json: bool) {
    let TrainedDetector {
        model,
        steps,
        examples,
        report,
        validated,
    } = trained;
    if json {
        let summary = serde_json::json!({
            "model": model, "steps": steps, "examples": examples, "skipped": report,
            "validated": validated,
        });
        println!("{summary}");
        return;
    }
    println!("{}: {steps} steps over {examples} windows", model.display());
}

fn report(trained: &Trained, json: bool) {
    let Trained {
        model,
        steps,
        examples,
        report,
        validated,
        kept,
        step_seconds,
        mining_seconds,
        fgsm_share,
    } = trained;
    if json {
        let summary = serde_json::json!({
            "model": model, "steps": steps, "examples": examples, "skipped": report,
            "validated": validated, "kept": kept, "step_seconds": step_seconds,
            "mining_seconds": mining_seconds, "fgsm_share": fgsm_share,
        });
        println!("{summary}");
        return;
    }
    println!(
        "{}: {steps} steps over {examples} examples; {}",
        model.display(),
        kept.words()
    );
    println!(
        "{step_seconds:.0} s in steps, {mining_seconds:.0} s in hard-negative mining (this call)"
    );
    if let Some(share) = fgsm_share {
        println!(
            "FGSM took {:.0} % of the time in steps (fgsm.lambda=0 trains without it)",
            100.0 * share
        );
    }
}
