//! BLINK's two stages: a bi-encoder, its candidate lists, a cross-encoder over them, and distilled
//! bi-encoders.
//!
//! ```text
//! OUT/runs/STAGE-seedN/                            a training
//! OUT/lists/SYSTEM[-seedN][-other-kb]-SPLIT[-everyN][-topN].jsonl  candidates, best first; with a ranker's scores if its name
//! is included; everyN and topN for the training split
//! ```

use super::models::{Cross, Finder, TrainedEncoder, by_cosine};
use super::settings::{self, ranker_config};
use super::{Bench, Row, other_kb, pretrained};
use crate::evaluate::ranks::Ranks;
use pel_artifacts::concept_table;
use pel_corpora::candidate_lists::CandidateLists;
use pel_corpora::retrieve::Retriever;
use pel_corpora::retrieve::candidates::Found;
use pel_corpora::retrieve::lexical::lexical;
use pel_corpora::retrieve::teacher::Teacher;
use pel_corpora::split::{Split, TrainingSplit};
use pel_kb::KnowledgeBase;
use pel_kb::error::{Context, Error, Result};
use pel_trainer::train::config::{Config, Keep};
use pel_trainer::train::{MODEL, Snapshot, train};
use std::path::{Path, PathBuf};

/// The least number of candidates of a training mention: table 1 measures recall@64.
const LISTED: usize = 64;
/// The number of candidates in other splits: figure 2 measures up to recall@200.
const LISTED_TO_MEASURE: usize = 200;

/// The stages with one seed.
pub struct Stages<'a> {
    bench: &'a Bench<'a>,
    kb: KnowledgeBase,
    seed: u64,
    /// A suffix for cross-encoders of other settings in the same folder.
    variant: String,
}

impl<'a> Stages<'a> {
    /// The stages, which are trained when they are needed.
    ///
    /// # Errors
    /// If the concepts cannot be read.
    pub fn new(bench: &'a Bench<'a>, seed: u64) -> Result<Self> {
        Ok(Self {
            bench,
            kb: concept_table::read(&bench.options.kb)?.kb,
            seed,
            variant: String::new(),
        })
    }

    /// Sets the suffix of cross-encoders in file names.
    pub fn with_variant(self, variant: String) -> Self {
        Self { variant, ..self }
    }

    fn slug_of(&self, by: Cross) -> String {
        format!("{}{}", by.slug(), self.variant)
    }

    /// The concepts.
    pub fn kb(&self) -> &KnowledgeBase {
        &self.kb
    }

    /// The knowledge base that a finder searches.
    fn kb_of(&self, finder: Finder) -> Result<&KnowledgeBase> {
        match finder {
            Finder::Elsewhere(_) => self
                .bench
                .other_kb
                .ok_or_else(|| Error::input("expected --other-kb")),
            Finder::Lexical(_) | Finder::Untrained | Finder::Trained(_) => Ok(&self.kb),
        }
    }

    /// The mentions of a split whose concept is in the knowledge base, mapped to the one that a
    /// finder searches.
    fn mentions(&self, finder: Finder, split: &str, every: usize) -> Result<Split> {
        let mut read = Found::mentions(&self.bench.options.corpus, split, every, &self.kb)?;
        if let Finder::Elsewhere(_) = finder {
            other_kb::place(&mut read, &self.kb, self.kb_of(finder)?);
        }
        Ok(read)
    }

    /// The numbers of mentions of a split, and of those whose concept the other knowledge base
    /// lacks.
    ///
    /// # Errors
    /// If there is no other one, or the split cannot be read.
    pub fn lacking(&self, split: &str) -> Result<[usize; 2]> {
        let mentions = self
            .mentions(
                Finder::Elsewhere(TrainedEncoder::Retriever),
                split,
                self.every(split),
            )?
            .mentions;
        Ok([
            mentions.len(),
            mentions
                .iter()
                .filter(|gold| gold.concept.is_none())
                .count(),
        ])
    }

    /// The ranks of the right concepts among the candidates of a split.
    ///
    /// # Errors
    /// As training and searching.
    pub fn ranks(&self, finder: Finder, split: &str) -> Result<Ranks> {
        let found = self.found(finder, split)?;
        Ok(Ranks::new(
            &found.split,
            &found.ranked,
            self.kb_of(finder)?,
            self.bench.config(&[], 0)?.data.domains,
        ))
    }

    /// As [`Stages::ranks`], after the ranker has reordered the first `k` candidates, for each `k`.
    ///
    /// # Errors
    /// As training and searching.
    pub fn reranked(
        &self,
        finder: Finder,
        by: Cross,
        split: &str,
        ks: &[usize],
    ) -> Result<Vec<Ranks>> {
        let (found, scores) = self.taught(
            finder,
            by,
            split,
            ks.iter().copied().max().unwrap_or(0),
            self.every(split),
        )?;
        let (kb, domains) = (self.kb_of(finder)?, self.bench.config(&[], 0)?.data.domains);
        Ok(ks
            .iter()
            .map(|k| Ranks::new(&found.split, &found.reranked(&scores, *k), kb, domains))
            .collect())
    }

    /// The first `k` candidates of a split, and the ranker's scores of them.
    ///
    /// # Errors
    /// As training and searching.
    pub fn taught(
        &self,
        finder: Finder,
        by: Cross,
        split: &str,
        k: usize,
        every: usize,
    ) -> Result<(Found, Vec<Vec<f32>>)> {
        let path = self.list(&self.scored(finder, by, k), split)?;
        let (kb, mentions) = (self.kb_of(finder)?, || self.mentions(finder, split, every));
        if !path.is_file() {
            let found = whole(&self.listed(finder, split)?, mentions()?, k, kb)?;
            let precision = self.ranker_config(by)?.model.precision;
            Teacher::open(&self.ranker(by)?, precision, self.bench.device)?
                .write(&found, kb, k, &path)?;
        }
        let lists = CandidateLists::read(&path, kb)?;
        let found = whole(&path, mentions()?, k, kb)?;
        let scores = lists.of_split(&found.split, kb)?.into_iter();
        let scores = scores
            .map(|list| list.map_or_else(Vec::new, |list| list.teacher.clone()))
            .collect();
        Ok((found, scores))
    }

    /// The name of a finder's lists with a ranker's scores of the first `k` candidates.
    fn scored(&self, finder: Finder, by: Cross, k: usize) -> String {
        let ranker_alone = !finder.is_seeded() && by.of != TrainedEncoder::Pretrained;
        let seed = if ranker_alone {
            format!("-seed{}", self.seed)
        } else {
            String::new()
        };
        format!("{}-{}{k}{seed}", finder.slug(self.seed), self.slug_of(by))
    }

    /// The candidates of a split.
    ///
    /// # Errors
    /// As training and searching.
    pub fn found(&self, finder: Finder, split: &str) -> Result<Found> {
        let path = self.listed(finder, split)?;
        whole(
            &path,
            self.mentions(finder, split, self.every(split))?,
            LISTED_TO_MEASURE,
            self.kb_of(finder)?,
        )
    }

    /// The file of the candidates of a split. A missing file is written first.
    fn listed(&self, finder: Finder, split: &str) -> Result<PathBuf> {
        let path = self.list(&finder.slug(self.seed), split)?;
        if path.is_file() {
            return Ok(path);
        }
        // A row of PEL uses its own score.
        let own = match finder {
            Finder::Trained(TrainedEncoder::Pel(row)) => row.settings(),
            _ => Vec::new(),
        };
        let (options, mut config) = (self.bench.options, self.bench.config(&own, self.seed)?);
        if let (Finder::Elsewhere(_), Some(kb)) = (finder, &options.other_kb) {
            config.data.kb.clone_from(kb);
        }
        match finder {
            Finder::Lexical(system) => {
                let training = TrainingSplit::read(&options.corpus, &config.data.split)?;
                let abbreviations = config.view.abbreviations;
                self.write(
                    finder,
                    split,
                    &lexical(system, &self.kb, Some(&training), abbreviations)?,
                )?;
            }
            Finder::Untrained => {
                self.write(finder, split, &self.snapshot(&by_cosine(config), None)?)?;
            }
            Finder::Trained(encoder) | Finder::Elsewhere(encoder) => {
                // Encoding all concepts takes longer than searching, so all splits are searched at
                // once. The training split is searched only if a ranker may train on it.
                let snapshot = self.retriever(encoder, &config)?;
                let teaches =
                    finder == Finder::Trained(encoder) && encoder != TrainedEncoder::Pretrained;
                let training = teaches.then_some(&config.data.split);
                for split in training
                    .into_iter()
                    .chain([&config.validation.split, &options.split])
                {
                    self.write(finder, split, &snapshot)?;
                }
            }
        }
        Ok(path)
    }

    fn write(&self, finder: Finder, split: &str, retriever: &dyn Retriever) -> Result<()> {
        let path = self.list(&finder.slug(self.seed), split)?;
        if path.is_file() {
            return Ok(());
        }
        let top = if self.is_training(split) {
            self.top()?
        } else {
            LISTED_TO_MEASURE
        };
        let mentions = self.mentions(finder, split, self.every(split))?;
        let kb = self.kb_of(finder)?;
        Found::search(
            retriever,
            mentions,
            top,
            self.bench.options.within_domain.map(|own| (own, kb)),
        )?
        .write(&path, kb, None)
    }

    /// A bi-encoder with its encoded concepts.
    ///
    /// # Errors
    /// As training.
    pub fn retriever(&self, encoder: TrainedEncoder, config: &Config) -> Result<Snapshot> {
        let model = self.bi_encoder(encoder)?;
        match encoder {
            TrainedEncoder::Pretrained => {
                self.snapshot(&pretrained::as_trained(&model, config)?, Some(&model))
            }
            _ => self.snapshot(config, Some(&model)),
        }
    }

    fn snapshot(&self, config: &Config, model: Option<&Path>) -> Result<Snapshot> {
        Snapshot::open(config, model, "bi-encoder", self.bench.device)
    }

    /// The model of a bi-encoder. A missing model is trained first.
    fn bi_encoder(&self, encoder: TrainedEncoder) -> Result<PathBuf> {
        let toml = |path: &Path| toml::Value::String(path.display().to_string());
        let slug = encoder.slug();
        match encoder {
            TrainedEncoder::Pel(row) => self.run(&slug, &row.settings()),
            TrainedEncoder::Pretrained => {
                let [bi_encoder, _] = pretrained::models(self.bench)?;
                Ok(bi_encoder.to_owned())
            }
            TrainedEncoder::Retriever | TrainedEncoder::Finetuned => {
                let mut settings = vec!["negatives.kind=none".to_owned()];
                if encoder == TrainedEncoder::Finetuned {
                    let [begin, _] = pretrained::models(self.bench)?;
                    settings.push(format!("model.encoder={}", toml(begin)));
                }
                let first = self.run(&format!("{slug}-batch"), &settings)?;
                self.run(
                    &slug,
                    &[
                        format!("model.encoder={}", toml(&first)),
                        "negatives.kind=hard".into(),
                    ],
                )
            }
            TrainedEncoder::Own | TrainedEncoder::Student => {
                let begin = self.bi_encoder(TrainedEncoder::Retriever)?;
                let (config, by) = (self.ranker_config(Cross::BLINK)?, Cross::BLINK);
                let finder = Finder::Trained(TrainedEncoder::Retriever);
                self.taught(
                    finder,
                    by,
                    &config.data.split,
                    config.data.top,
                    self.every(&config.data.split),
                )?;
                let list = self.list(
                    &self.scored(finder, by, config.data.top),
                    &config.data.split,
                )?;
                let own = if encoder == TrainedEncoder::Own {
                    1.0
                } else {
                    self.bench.options.own_share
                };
                let settings = [
                    format!("model.encoder={}", toml(&begin)),
                    format!("data.candidates={}", toml(&list)),
                    format!("data.top={}", config.data.top),
                    "negatives.kind=none".into(),
                    // Both losses are over the same candidates (equations 8 and 9).
                    "negatives.in_batch=false".into(),
                    format!("distillation.own_share={own:?}"),
                ];
                self.run(&slug, &settings)
            }
        }
    }

    /// A cross-encoder. Unless it is of another corpus, it is trained on a bi-encoder's candidates
    /// of the training split.
    fn ranker(&self, by: Cross) -> Result<PathBuf> {
        if by.of == TrainedEncoder::Pretrained {
            let [_, ranker] = pretrained::models(self.bench)?;
            return Ok(ranker.to_owned());
        }
        let (mut config, finder) = (self.ranker_config(by)?, Finder::Trained(by.of));
        config.data.candidates = self.listed(finder, &config.data.split)?;
        if config.validation.keep == Keep::Best && config.validation.mentions > 0 {
            // On the split that thresholds and K are chosen on.
            config
                .validation
                .split
                .clone_from(&self.bench.config(&[], self.seed)?.validation.split);
            config.validation.candidates = self.listed(finder, &config.validation.split)?;
        }
        self.train(&self.slug_of(by), &config)
    }

    fn ranker_config(&self, by: Cross) -> Result<Config> {
        let mut config = ranker_config(self.bench, self.seed)?;
        // As in table 6 of PEL.
        config.fgsm.lambda = if by.fgsm { 1.0 } else { 0.0 };
        if by.of == TrainedEncoder::Finetuned {
            let [_, ranker] = pretrained::models(self.bench)?;
            config.model.encoder = ranker.to_owned();
        }
        Ok(config)
    }

    fn run(&self, slug: &str, settings: &[String]) -> Result<PathBuf> {
        self.train(slug, &self.bench.config(settings, self.seed)?)
    }

    fn train(&self, slug: &str, config: &Config) -> Result<PathBuf> {
        let name = format!("{slug}-seed{}", self.seed);
        let run = self.bench.options.out.join("runs").join(&name);
        let done = self
            .bench
            .options
            .out
            .join("runs")
            .join(format!("{name}.json"));
        if !done.is_file() {
            eprintln!("\n{name}");
            settings::follow_move(config, &run)?;
            let trained = train(config, &run, self.bench.device).context(|| name.clone())?;
            let said = serde_json::json!({
                "steps": trained.steps, "examples": trained.examples,
                "step_seconds": trained.step_seconds, "mining_seconds": trained.mining_seconds,
                "kept": trained.kept, "weights": settings::hash_of(&trained.model)?,
                "program": env!("CARGO_PKG_VERSION")
            });
            super::keep(&done, &said)?;
        }
        Ok(run.join(MODEL))
    }

    fn list(&self, name: &str, split: &str) -> Result<PathBuf> {
        // Other splits have the same numbers in the whole folder.
        let (every, top) = if self.is_training(split) {
            (self.every(split), self.top()?)
        } else {
            (1, LISTED)
        };
        let every = if every > 1 {
            format!("-every{every}")
        } else {
            String::new()
        };
        let top = if top > LISTED {
            format!("-top{top}")
        } else {
            String::new()
        };
        Ok(self
            .bench
            .options
            .out
            .join("lists")
            .join(format!("{name}-{split}{every}{top}.jsonl")))
    }

    /// The number of candidates of a training mention: at least as many as a ranker trains on.
    fn top(&self) -> Result<usize> {
        Ok(ranker_config(self.bench, self.seed)?.data.top.max(LISTED))
    }

    /// N, where every N-th mention of a split is used. The training split has an option of its own.
    fn every(&self, split: &str) -> usize {
        if self.is_training(split) {
            self.bench.options.train_every as usize
        } else {
            self.bench.options.every as usize
        }
    }

    fn is_training(&self, split: &str) -> bool {
        self.bench
            .config(&[], 0)
            .is_ok_and(|config| config.data.split == split)
    }
}

/// The first `top` candidates of all these mentions, from a file.
///
/// # Errors
/// As [`Found::listed`], or if the file lacks mentions: all rows of a table must be of the same
/// mentions.
fn whole(path: &Path, mentions: Split, top: usize, kb: &KnowledgeBase) -> Result<Found> {
    let (all, found) = (
        mentions.mentions.len(),
        Found::listed(path, mentions, top as u32, kb)?,
    );
    match found.missing {
        0 => Ok(found),
        missing => Err(Error::input(format!(
            "{}: expected candidates of {all} mentions, {missing} are missing; remove the file to \
             search again",
            path.display()
        ))),
    }
}
