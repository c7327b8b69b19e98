//! BLINK's two stages: a bi-encoder, the lists of its candidates, a cross-encoder over them, and students of that one.
//!
//! ```text
//! OUT/runs/STAGE-seedN/                            a training
//! OUT/lists/SYSTEM[-seedN][-other-kb]-SPLIT[-everyN][-topN].jsonl  candidates, best first; with a ranker's scores where its name
//! stands too; everyN and topN of the training split
//! ```

use super::models::{Cross, Encoder, Finder};
use super::untrained::by_cosine;
use super::{Bench, Family, Row, other_kb, pretrained};
use crate::data::candidate_lists::CandidateLists;
use crate::data::concept_table;
use crate::data::split::{Split, TrainingSplit};
use crate::evaluate::ranks::Ranks;
use crate::retrieve::Retriever;
use crate::retrieve::candidates::Found;
use crate::retrieve::lexical::lexical;
use crate::retrieve::teacher::Teacher;
use crate::train::config::{Config, Keep};
use crate::train::{MODEL, Snapshot, train};
use pel_shared::error::{Context, Error, Result};
use pel_shared::kb::KnowledgeBase;
use std::path::{Path, PathBuf};

/// Candidates that are listed for a mention of the training split at least, since table 1 looks at so many.
const LISTED: usize = 64;
/// The same for other splits: figure 2 looks at them.
const LISTED_TO_MEASURE: usize = 200;

/// The stages with one seed.
pub struct Stages<'a> {
    bench: &'a Bench<'a>,
    kb: KnowledgeBase,
    seed: u64,
    /// What tells cross-encoders of other settings in the same folder apart.
    variant: String,
}

impl<'a> Stages<'a> {
    /// Nothing is trained yet.
    ///
    /// # Errors
    /// If the concepts cannot be read.
    pub fn new(bench: &'a Bench<'a>, seed: u64) -> Result<Self> {
        Ok(Self { bench, kb: concept_table::read(&bench.options.kb)?.kb, seed, variant: String::new() })
    }

    /// With cross-encoders of this name in files.
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

    /// The concepts that a finder searches.
    fn kb_of(&self, finder: Finder) -> Result<&KnowledgeBase> {
        match finder {
            Finder::Elsewhere(_) => self.bench.other_kb.ok_or_else(|| Error::input("expected --other-kb")),
            Finder::Lexical(_) | Finder::Untrained | Finder::Trained(_) => Ok(&self.kb),
        }
    }

    /// Mentions of a split whose concept the knowledge base has, with the concepts of the one that a finder searches.
    fn mentions(&self, finder: Finder, split: &str, every: usize) -> Result<Split> {
        let mut read = Found::mentions(&self.bench.options.corpus, split, every, &self.kb)?;
        if let Finder::Elsewhere(_) = finder {
            other_kb::place(&mut read, &self.kb, self.kb_of(finder)?);
        }
        Ok(read)
    }

    /// How many mentions of a split are measured, and how many of them have a concept that the other knowledge base lacks.
    ///
    /// # Errors
    /// If there is no other one, or the split cannot be read.
    pub fn lacking(&self, split: &str) -> Result<[usize; 2]> {
        let mentions = self.mentions(Finder::Elsewhere(Encoder::Retriever), split, self.every(split))?.mentions;
        Ok([mentions.len(), mentions.iter().filter(|gold| gold.concept.is_none()).count()])
    }

    /// Where the gold concepts stand among the candidates of a split.
    ///
    /// # Errors
    /// As training and searching.
    pub fn ranks(&self, finder: Finder, split: &str) -> Result<Ranks> {
        let found = self.found(finder, split)?;
        Ok(Ranks::new(&found.split, &found.ranked, self.kb_of(finder)?, self.bench.config(&[], 0)?.data.domains))
    }

    /// As [`Stages::ranks`], after the ranker has put the first `k` candidates into order, for each `k`.
    ///
    /// # Errors
    /// As training and searching.
    pub fn reranked(&self, finder: Finder, by: Cross, split: &str, ks: &[usize]) -> Result<Vec<Ranks>> {
        let (found, scores) =
            self.taught(finder, by, split, ks.iter().copied().max().unwrap_or(0), self.every(split))?;
        let (kb, domains) = (self.kb_of(finder)?, self.bench.config(&[], 0)?.data.domains);
        Ok(ks.iter().map(|k| Ranks::new(&found.split, &found.reranked(&scores, *k), kb, domains)).collect())
    }

    /// The candidates of a split, and those of them that the ranker orders anew, with its scores.
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
            Teacher::open(&self.ranker(by)?, precision, self.bench.device)?.write(&found, kb, k, &path)?;
        }
        let lists = CandidateLists::read(&path, kb)?;
        let found = whole(&path, mentions()?, k, kb)?;
        let scores = lists.of_split(&found.split, kb)?.into_iter();
        let scores = scores.map(|list| list.map_or_else(Vec::new, |list| list.teacher.clone())).collect();
        Ok((found, scores))
    }

    /// The name of a finder's lists with the scores of the first `k` candidates.
    fn scored(&self, finder: Finder, by: Cross, k: usize) -> String {
        let ranker_alone = !finder.is_seeded() && by.of != Encoder::Pretrained;
        let seed = if ranker_alone { format!("-seed{}", self.seed) } else { String::new() };
        format!("{}-{}{k}{seed}", finder.slug(self.seed), self.slug_of(by))
    }

    /// The candidates of a split.
    ///
    /// # Errors
    /// As training and searching.
    pub fn found(&self, finder: Finder, split: &str) -> Result<Found> {
        let path = self.listed(finder, split)?;
        whole(&path, self.mentions(finder, split, self.every(split))?, LISTED_TO_MEASURE, self.kb_of(finder)?)
    }

    /// The file of the candidates of a split, which is made if it is not there.
    fn listed(&self, finder: Finder, split: &str) -> Result<PathBuf> {
        let path = self.list(&finder.slug(self.seed), split)?;
        if path.is_file() {
            return Ok(path);
        }
        // A row of PEL's is searched by its own scores.
        let own = match finder {
            Finder::Trained(Encoder::Pel(row)) => row.settings(),
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
                self.write(finder, split, &lexical(system, &self.kb, Some(&training), abbreviations)?)?;
            }
            Finder::Untrained => {
                self.write(finder, split, &self.snapshot(&by_cosine(config), None)?)?;
            }
            Finder::Trained(encoder) | Finder::Elsewhere(encoder) => {
                // To encode all concepts takes longer than to search, so all splits are searched at once; the training split only
                // where a ranker may learn from it.
                let snapshot = self.retriever(encoder, &config)?;
                let teaches = finder == Finder::Trained(encoder) && encoder != Encoder::Pretrained;
                let training = teaches.then_some(&config.data.split);
                for split in training.into_iter().chain([&config.validation.split, &options.split]) {
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
        let top = if self.is_training(split) { self.top()? } else { LISTED_TO_MEASURE };
        let mentions = self.mentions(finder, split, self.every(split))?;
        let kb = self.kb_of(finder)?;
        Found::search(retriever, mentions, top, self.bench.options.within_domain.map(|own| (own, kb)))?
            .write(&path, kb, None)
    }

    /// A bi-encoder with all concepts encoded by it.
    ///
    /// # Errors
    /// As training.
    pub fn retriever(&self, encoder: Encoder, config: &Config) -> Result<Snapshot> {
        let model = self.bi_encoder(encoder)?;
        match encoder {
            Encoder::Pretrained => self.snapshot(&pretrained::as_trained(&model, config)?, Some(&model)),
            _ => self.snapshot(config, Some(&model)),
        }
    }

    fn snapshot(&self, config: &Config, model: Option<&Path>) -> Result<Snapshot> {
        Snapshot::open(config, model, "bi-encoder", self.bench.device)
    }

    /// The model of a bi-encoder, which is trained if it is not there.
    fn bi_encoder(&self, encoder: Encoder) -> Result<PathBuf> {
        let toml = |path: &Path| toml::Value::String(path.display().to_string());
        let slug = encoder.slug();
        match encoder {
            Encoder::Pel(row) => self.run(&slug, &row.settings()),
            Encoder::Pretrained => {
                let [bi_encoder, _] = pretrained::models(self.bench)?;
                Ok(bi_encoder.to_owned())
            }
            Encoder::Retriever | Encoder::Finetuned => {
                let mut settings = vec!["negatives.kind=none".to_owned()];
                if encoder == Encoder::Finetuned {
                    let [begin, _] = pretrained::models(self.bench)?;
                    settings.push(format!("model.encoder={}", toml(begin)));
                }
                let first = self.run(&format!("{slug}-batch"), &settings)?;
                self.run(&slug, &[format!("model.encoder={}", toml(&first)), "negatives.kind=hard".into()])
            }
            Encoder::Own | Encoder::Student => {
                let begin = self.bi_encoder(Encoder::Retriever)?;
                let (config, by) = (self.ranker_config(Cross::BLINK)?, Cross::BLINK);
                let finder = Finder::Trained(Encoder::Retriever);
                self.taught(finder, by, &config.data.split, config.data.top, self.every(&config.data.split))?;
                let list = self.list(&self.scored(finder, by, config.data.top), &config.data.split)?;
                let own = if encoder == Encoder::Own { 1.0 } else { self.bench.options.own_share };
                let settings = [
                    format!("model.encoder={}", toml(&begin)),
                    format!("data.candidates={}", toml(&list)),
                    format!("data.top={}", config.data.top),
                    "negatives.kind=none".into(),
                    // Both losses are over one set of candidates (equations 8 and 9).
                    "negatives.in_batch=false".into(),
                    format!("distillation.own_share={own:?}"),
                ];
                self.run(&slug, &settings)
            }
        }
    }

    /// A cross-encoder, trained on a bi-encoder's candidates of the training split unless another corpus has trained it.
    fn ranker(&self, by: Cross) -> Result<PathBuf> {
        if by.of == Encoder::Pretrained {
            let [_, ranker] = pretrained::models(self.bench)?;
            return Ok(ranker.to_owned());
        }
        let (mut config, finder) = (self.ranker_config(by)?, Finder::Trained(by.of));
        config.data.candidates = self.listed(finder, &config.data.split)?;
        if config.validation.keep == Keep::Best && config.validation.mentions > 0 {
            // By the lists of the split that thresholds and K are chosen on too.
            config.validation.split.clone_from(&self.bench.config(&[], self.seed)?.validation.split);
            config.validation.candidates = self.listed(finder, &config.validation.split)?;
        }
        self.train(&self.slug_of(by), &config)
    }

    fn ranker_config(&self, by: Cross) -> Result<Config> {
        let mut config = ranker_config(self.bench, self.seed)?;
        // As in table 6 of PEL.
        config.fgsm.lambda = if by.fgsm { 1.0 } else { 0.0 };
        if by.of == Encoder::Finetuned {
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
        let done = self.bench.options.out.join("runs").join(format!("{name}.json"));
        if !done.is_file() {
            eprintln!("\n{name}");
            let trained = train(config, &run, self.bench.device).context(|| name.clone())?;
            let said = serde_json::json!({
                "steps": trained.steps, "examples": trained.examples, "step_seconds": trained.step_seconds,
                "mining_seconds": trained.mining_seconds, "kept": trained.kept
            });
            super::keep(&done, &said)?;
        }
        Ok(run.join(MODEL))
    }

    fn list(&self, name: &str, split: &str) -> Result<PathBuf> {
        // Other splits have one number in a folder.
        let (every, top) = if self.is_training(split) { (self.every(split), self.top()?) } else { (1, LISTED) };
        let every = if every > 1 { format!("-every{every}") } else { String::new() };
        let top = if top > LISTED { format!("-top{top}") } else { String::new() };
        Ok(self.bench.options.out.join("lists").join(format!("{name}-{split}{every}{top}.jsonl")))
    }

    /// Candidates that are listed for a mention of the training split: as many as a ranker wants.
    fn top(&self) -> Result<usize> {
        Ok(ranker_config(self.bench, self.seed)?.data.top.max(LISTED))
    }

    /// Of how many mentions of a split one is taken: the training split has a number of its own.
    fn every(&self, split: &str) -> usize {
        if self.is_training(split) {
            self.bench.options.train_every as usize
        } else {
            self.bench.options.every as usize
        }
    }

    fn is_training(&self, split: &str) -> bool {
        self.bench.config(&[], 0).is_ok_and(|config| config.data.split == split)
    }
}

/// The first `top` candidates of all these mentions, from a file.
///
/// # Errors
/// As [`Found::listed`], or if the file lacks mentions: a table over the others would be of another set than its other rows.
fn whole(path: &Path, mentions: Split, top: usize, kb: &KnowledgeBase) -> Result<Found> {
    let (all, found) = (mentions.mentions.len(), Found::listed(path, mentions, top as u32, kb)?);
    match found.missing {
        0 => Ok(found),
        missing => Err(Error::input(format!(
            "{}: expected candidates of {all} mentions, {missing} are missing; without the file its lists are made anew",
            path.display()
        ))),
    }
}

/// What all cross-encoders share. A path stands for the list, which may not be made yet.
///
/// # Errors
/// If the configuration cannot be read.
pub fn ranker_config(bench: &Bench<'_>, seed: u64) -> Result<Config> {
    let list = vec!["data.candidates=\"-\"".to_owned()];
    let settings = [bench.paths(seed), bench.options.ranker_settings.clone(), list].concat();
    let base = match bench.family {
        Family::Blink => Config::blink_ranking(),
        Family::Pel | Family::TBiencoder => Config::ranking(),
    };
    base.read(bench.options.ranker_config.as_deref(), &settings)
}
