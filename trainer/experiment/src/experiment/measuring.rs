//! Trains and measures the rows of a table, and its baselines.

use super::models::by_cosine;
use super::{Bench, Family, Options, Row, domains, kept, settings};
use crate::evaluate;
use crate::experiment::measured::{Measured, SplitRecall};
use pel_corpora::resplit::HELD_OUT;
use pel_corpora::retrieve::Retriever;
use pel_corpora::retrieve::domain_filter::Within;
use pel_corpora::retrieve::lexical::{System, short_forms};
use pel_corpora::split::{NilOf, Split, TrainingSplit, has_split};
use pel_io::files::io_error;
use pel_io::interrupt;
use pel_kb::KnowledgeBase;
use pel_kb::error::{Context, Error, Result};
use pel_trainer::train::config::Config;
use pel_trainer::train::log::{last_norms, read, seconds};
use pel_trainer::train::{METRICS, Snapshot, train};
use std::collections::HashSet;

impl Bench<'_> {
    /// Whether the corpus has a split with mentions of training domains in other texts.
    fn has_held_out(&self) -> bool {
        has_split(&self.options.corpus, HELD_OUT)
    }

    /// The description of a table's mentions.
    pub(super) fn measured_on(&self) -> Result<String> {
        let (options, validation) = (self.options, self.config(&[], 0)?.validation.split);
        let test = &options.split;
        let every = if options.every > 1 {
            format!(", every {}. mention", options.every)
        } else {
            String::new()
        };
        let within = options.within_domain.map_or(String::new(), |own| {
            format!(", each searched {}", own.words())
        });
        let same = match *test == validation {
            true => {
                " They are one split: what was chosen on it, such as the weights, K or a \
                 threshold, was chosen with an ORACLE."
            }
            false => "",
        };
        let read = short_forms(self.config(&[], 0)?.view.abbreviations);
        Ok(format!(
            "Test split: {test}; validation split: {validation}{every}{within}.{same} Every system \
             reads short forms that a text defines {read}; the untrained encoder is compared by \
             cosine."
        ))
    }

    /// Checks before training that the splits can be measured.
    pub(super) fn check_splits(&self, kb: &KnowledgeBase) -> Result<()> {
        let (options, validation) = (self.options, self.config(&[], 0)?.validation.split);
        let mut splits = vec![options.split.as_str(), &validation];
        if self.family == Family::TBiencoder && self.has_held_out() {
            splits.push(HELD_OUT);
        }
        for split in splits {
            let read = Split::read(&options.corpus, split, options.every as usize, kb, None)?
                .not_empty()?;
            read.in_own_domain(options.within_domain, kb)?;
        }
        Ok(())
    }

    /// Trains and measures the rows of `--only`, and returns all measured rows.
    pub(super) fn trained<R: Row>(&self, rows: Vec<R>) -> Result<Vec<(R, Vec<Measured>)>> {
        let slugs = settings::check_rows(self, &rows)?;
        let mut all = Vec::new();
        for row in rows {
            let measured = self.of_row(&row, &slugs)?;
            if !measured.is_empty() {
                all.push((row, measured));
            }
        }
        Ok(all)
    }

    /// Trains and measures a row with every seed, if `--only` includes it, and returns all its
    /// results.
    pub(super) fn of_row(&self, row: &impl Row, slugs: &[String]) -> Result<Vec<Measured>> {
        if settings::asked_for(&row.slug(), slugs, &self.options.only) {
            self.options
                .seeds
                .iter()
                .try_for_each(|seed| self.measured(row, *seed).map(drop))?;
        }
        of_every_seed(self.options, row)
    }

    fn measured(&self, row: &impl Row, seed: u64) -> Result<Measured> {
        let (options, slug) = (self.options, format!("{}-seed{seed}", row.slug()));
        kept(
            &options.out.join("results").join(format!("{slug}.json")),
            || {
                interrupt::check()?;
                eprintln!("\n{}: {slug}", row.name());
                let config = self.config(&row.settings(), seed)?;
                let run = options.out.join("runs").join(&slug);
                settings::follow_move(&config, &run)?;
                let trained = train(&config, &run, self.device).context(|| slug.clone())?;
                let snapshot =
                    Snapshot::open(&config, Some(&trained.model), &row.name(), self.device)?;
                // The log has the times of all calls, and not only of this one.
                let events = read(&run.join(METRICS))?;
                let (in_steps, in_mining) = seconds(&events, config.optimiser.batch);
                // A T-Biencoder row may train on a part of the split, and unseen is what it lacks.
                // The other papers use the whole split.
                let learned = (self.family == Family::TBiencoder)
                    .then(|| snapshot.learned(&config))
                    .transpose()?;
                Ok(Measured {
                    seed: Some(seed),
                    steps: Some(trained.steps),
                    kept: Some(trained.kept),
                    step_seconds: Some(in_steps),
                    mining_seconds: Some(in_mining),
                    epochs: Some(
                        (trained.steps * config.optimiser.batch) as f64
                            / trained.examples.max(1) as f64,
                    ),
                    transformation: last_norms(&events),
                    weights: Some(settings::hash_of(&trained.model)?),
                    ..self.evaluated(&config, &snapshot, row.name(), learned)?
                })
            },
        )
    }

    /// Measures a model on all splits. A concept is seen if it is one of `learned`, or without
    /// these, of the training split.
    fn evaluated(
        &self,
        config: &Config,
        snapshot: &Snapshot,
        name: String,
        learned: Option<HashSet<String>>,
    ) -> Result<Measured> {
        let options = self.options;
        let mut training = TrainingSplit::read(&options.corpus, &config.data.split)?;
        training.concepts = learned.unwrap_or(training.concepts);
        let read = |split: &str| {
            Split::read(
                &options.corpus,
                split,
                options.every as usize,
                snapshot.kb(),
                Some(&training),
            )?
            .in_own_domain(options.within_domain, snapshot.kb())
        };
        let within = options
            .within_domain
            .map(|own| Within::new(snapshot, snapshot.kb(), own));
        let retriever: &dyn Retriever = within.as_ref().map_or(snapshot, |within| within);
        let measure = |split: &Split, calibration: Option<&Split>| {
            let domains = domains::primary(split, snapshot.kb(), config.data.domains);
            evaluate::measure(retriever, split, calibration, &[domains], 64)
        };
        let split = read(&options.split)?.not_empty()?;
        let calibration = read(&config.validation.split)?;
        let judged = calibration.has_nil(NilOf::All).then_some(&calibration);
        let figures = measure(&split, judged)?;
        let mut splits = vec![SplitRecall::new(&options.split, &figures)];
        if self.family == Family::TBiencoder {
            splits.push(SplitRecall::new(
                &config.validation.split,
                &measure(&calibration.not_empty()?, None)?,
            ));
            if self.has_held_out() {
                splits.push(SplitRecall::new(
                    HELD_OUT,
                    &measure(&read(HELD_OUT)?.not_empty()?, None)?,
                ));
            }
        }
        Ok(Measured {
            splits,
            ..Measured::new(name, &figures)
        })
    }

    /// The baselines: string matching, the majority of the training split, and the untrained
    /// encoder.
    pub(super) fn baselines(&self) -> Result<Vec<Measured>> {
        let (options, folder) = (self.options, self.options.out.join("results"));
        let config = self.config(&[], 0)?;
        let (name, systems, splits) = match self.family {
            // Files of an earlier version have other names, because it did not expand short forms.
            Family::Pel => (
                "baselines-as-read.json",
                vec![System::Tfidf, System::Majority],
                vec![&options.split],
            ),
            _ => (
                "baselines-t-biencoder-as-read.json",
                vec![System::Bm25, System::Bm25Definitions],
                vec![&options.split, &config.validation.split],
            ),
        };
        let mut all: Vec<Measured> = kept(&folder.join(name), || {
            let mut all: Vec<Measured> = Vec::new();
            for split in splits {
                let options = evaluate::Options {
                    corpus: options.corpus.clone(),
                    split: split.clone(),
                    train_split: Some(config.data.split.clone()),
                    calibrate_split: None,
                    kb: Some(options.kb.clone()),
                    bundle: None,
                    systems: Some(systems.clone()),
                    top: 64,
                    by: Some(Vec::new()),
                    within_domain: options.within_domain,
                    ranker: None,
                    rerank: Vec::new(),
                    every: options.every,
                    keep_abbreviations: !config.view.abbreviations,
                };
                let found = evaluate::evaluate(
                    &options,
                    |_| Err(Error::input("a bundle was not asked for")),
                    None,
                )?;
                for figures in &found.systems {
                    let at = all
                        .iter()
                        .position(|one| one.name == figures.system)
                        .unwrap_or(all.len());
                    if at == all.len() {
                        all.push(Measured::new(figures.system.clone(), figures));
                    }
                    all[at].splits.push(SplitRecall::new(split, figures));
                }
            }
            Ok(all)
        })?;
        // With the paper's own windows and splits, by cosine.
        let untrained = match self.family {
            Family::Pel => "untrained-cosine.json",
            _ => "untrained-t-biencoder-cosine.json",
        };
        let config = by_cosine(config);
        all.push(kept(&folder.join(untrained), || {
            let snapshot = Snapshot::open(&config, None, "untrained encoder", self.device)?;
            self.evaluated(&config, &snapshot, "untrained encoder".into(), None)
        })?);
        Ok(all)
    }
}

/// The results of a row, by seed.
pub(super) fn of_every_seed(options: &Options, row: &impl Row) -> Result<Vec<Measured>> {
    let folder = options.out.join("results");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let files = std::fs::read_dir(&folder).map_err(|cause| io_error("listing", &folder, cause))?;
    let prefix = format!("{}-seed", row.slug());
    let seed = |name: &str| {
        name.strip_prefix(&prefix)?
            .strip_suffix(".json")?
            .parse::<u64>()
            .ok()
    };
    let mut seeds: Vec<u64> = files
        .filter_map(|file| seed(&file.ok()?.file_name().to_string_lossy()))
        .collect();
    seeds.sort_unstable();
    let read = |seed| {
        kept(&folder.join(format!("{prefix}{seed}.json")), || {
            Err(Error::input("the file was removed meanwhile"))
        })
    };
    seeds.into_iter().map(read).collect()
}
