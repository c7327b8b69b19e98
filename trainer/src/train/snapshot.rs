//! A model between training and its bundle, as a system under measurement.

use super::config::{Config, Task};
use super::examples;
use super::model::Model;
use crate::data::split::Query;
use crate::io::device::OpenDevice;
use crate::retrieve::lexical::short_forms;
use crate::retrieve::{Compared, Retriever};
use crate::train::encoded_kb::Survey;
use crate::train::entity_inputs::Catalogue;
use crate::train::validation::HeldOut;
use pel_shared::error::{Error, Result};
use pel_shared::index::{FIRST_PASS_TRAINING, Index};
use pel_shared::kb::{ConceptId, KnowledgeBase};
use pel_shared::lexical::Ranked;
use pel_shared::score::Scorer;
use pel_shared::tokens::Encoded;
use pel_shared::tokens::ViewOptions;
use std::collections::HashSet;
use std::path::Path;

/// Mentions that are encoded and searched together.
const AT_ONCE: usize = 1024;

/// A model with all concepts encoded by it.
pub struct Snapshot {
    model: Model,
    survey: Survey,
    index: Index,
    catalogue: Catalogue,
    view: ViewOptions,
    name: String,
}

impl Snapshot {
    /// Encodes the concepts of a run's knowledge base with the model in `folder`, or with the encoder that the run begins
    /// with.
    ///
    /// # Errors
    /// If the model or the knowledge base cannot be read, the device fails, or the user stops the work.
    pub fn open(config: &Config, folder: Option<&Path>, name: &str, device: &OpenDevice) -> Result<Self> {
        if config.data.task == Task::Rank {
            return Err(Error::input(format!("{name}: expected the run of a bi-encoder, found a ranker's")));
        }
        let model = match folder {
            Some(folder) => Model::resume(folder, config, &device.device)?,
            None => Model::begin(config, &device.device)?,
        };
        let view = config.view_options();
        let catalogue = Catalogue::read([config.data.kb.as_path()], &model.tokens, &view, config.data.domains)?;
        let survey = Survey::new(&model, &catalogue, &device.device)?;
        let index = survey.by_concept(&model, &catalogue)?;
        Ok(Self { model, survey, index, catalogue, view, name: name.to_owned() })
    }

    /// The vectors of all different texts, and their width.
    ///
    /// # Shapes
    /// `[texts, dim]`
    pub fn vectors(&self) -> (&[f32], usize) {
        self.survey.vectors()
    }

    /// What stands in an index for the concepts: for each row its vector, of those in `vectors` (as
    /// [`Snapshot::vectors`] orders them), and its concept.
    pub fn rows(&self, vectors: &[f32]) -> (Vec<f32>, &[ConceptId]) {
        let rows = self.catalogue.rows();
        (rows.spread(vectors), &rows.concepts)
    }

    /// Mentions of a held-out split, as the configuration wants them, and their vectors; nothing if it wants none.
    ///
    /// # Shapes
    /// `[mentions, dim]`
    ///
    /// # Errors
    /// If the split cannot be read or is empty, the device fails, or the user stops the work.
    pub fn held_out(&self, config: &Config) -> Result<Option<(HeldOut, Vec<f32>)>> {
        let Some(held_out) = HeldOut::read(config, &self.model, &self.catalogue)? else { return Ok(None) };
        let vectors = self.survey.mentions(&held_out.encoded())?;
        Ok(Some((held_out, vectors)))
    }

    /// The identifiers of the concepts that a run of this configuration learns from.
    ///
    /// # Errors
    /// If the corpus cannot be read, or has no training mention.
    pub fn learned(&self, config: &Config) -> Result<HashSet<String>> {
        let (examples, _) = examples::chosen(config, &self.catalogue, &self.model.tokens, &self.view)?;
        let ids = examples.iter().filter_map(|example| Some(self.kb().get(example.concept)?.id.clone()));
        Ok(ids.collect())
    }

    /// The concepts.
    pub fn kb(&self) -> &KnowledgeBase {
        &self.catalogue.kb
    }
}

impl Retriever for Snapshot {
    fn name(&self) -> &str {
        &self.name
    }

    fn protocol(&self) -> String {
        let ViewOptions { concepts, mention_template, mention_tokens, abbreviations, .. } = self.view;
        let score = self.model.reduction.score;
        let scorer = self.model.scorer;
        format!(
            "{mention_template:?} mention of at most {mention_tokens} tokens, short forms {}, against {concepts:?}, {scorer:?}, {score:?}, int8",
            short_forms(abbreviations)
        )
    }

    fn compared(&self) -> Compared {
        match self.model.scorer {
            Scorer::Dual => Compared::All,
            Scorer::SumOfMax => Compared::Best(FIRST_PASS_TRAINING),
        }
    }

    fn search(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        self.search_in(&self.index, queries, k, done)
    }

    fn search_among(
        &self,
        concepts: &HashSet<u32>,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Option<Result<Vec<Ranked>>> {
        let index = self.survey.by_some_concepts(&self.model, &self.catalogue, concepts);
        Some(index.and_then(|index| self.search_in(&index, queries, k, done)))
    }
}

impl Snapshot {
    fn search_in(
        &self,
        index: &Index,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        let (mut reader, mut all) = (self.view.reader(), vec![Ranked::new(); queries.len()]);
        for (chunk, found) in queries.chunks(AT_ONCE).zip(all.chunks_mut(AT_ONCE)) {
            let mut encoded: Vec<Option<Encoded>> = Vec::with_capacity(chunk.len());
            for query in chunk {
                let mention = reader.mention(query.text, query.span)?;
                encoded.push(self.view.mention(&self.model.tokens, &mention)?);
            }
            // A mention of which nothing is left has no candidate.
            let places: Vec<usize> = (0..chunk.len()).filter(|at| encoded[*at].is_some()).collect();
            let rows: Vec<&Encoded> = encoded.iter().flatten().collect();
            let of_concept = |concept| self.catalogue.sequences_of(concept);
            let candidates = self.survey.search(index, &rows, k, of_concept)?;
            for (at, candidates) in places.into_iter().zip(candidates) {
                found[at] = candidates.iter().map(|candidate| (candidate.concept, candidate.score)).collect();
            }
            done(chunk.len())?;
        }
        Ok(all)
    }
}
