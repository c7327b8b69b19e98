//! A trained model with its encoded knowledge base, to be measured before it is a bundle.

use super::config::{Config, Task};
use super::examples;
use super::model::Model;
use crate::train::encoded_kb::EncodedKb;
use crate::train::entity_inputs::EntityInputs;
use crate::train::validation::Validation;
use pel_artifacts::device::OpenDevice;
use pel_corpora::retrieve::dense::MentionEncoder;
use pel_corpora::retrieve::lexical::short_forms;
use pel_corpora::retrieve::{CandidateLists, Retriever, SearchKind, Tick};
use pel_corpora::split::MentionQuery;
use pel_index::{FIRST_PASS_TRAINING, Index};
use pel_kb::error::{Error, Result};
use pel_kb::score::Scorer;
use pel_kb::{ConceptId, KnowledgeBase};
use pel_model::tokens::ViewOptions;
use std::collections::HashSet;
use std::path::Path;

/// A model with the concepts that it has encoded.
pub struct Snapshot {
    model: Model,
    kb: EncodedKb,
    index: Index,
    inputs: EntityInputs,
    view: ViewOptions,
    name: String,
}

impl Snapshot {
    /// Encodes the concepts of a run's knowledge base with the model in `folder`, or with the
    /// encoder that the run starts from.
    ///
    /// # Errors
    /// If the model or the knowledge base cannot be read, the device fails, or the user interrupts.
    pub fn open(
        config: &Config,
        folder: Option<&Path>,
        name: &str,
        device: &OpenDevice,
    ) -> Result<Self> {
        if config.data.task == Task::Rank {
            return Err(Error::input(format!(
                "{name}: expected the run of a bi-encoder, found a ranker's"
            )));
        }
        let model = match folder {
            Some(folder) => Model::resume(folder, config, &device.device)?,
            None => Model::begin(config, &device.device)?,
        };
        let view = config.view_options();
        let inputs = EntityInputs::read(
            [config.data.kb.as_path()],
            &model.tokens,
            &view,
            config.data.domains,
        )?;
        // Large token vectors are kept where the model was written.
        let place = folder.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let kb = EncodedKb::new(&model, &inputs, &device.device, &place)?;
        let index = kb.concept_index(&inputs, None)?;
        Ok(Self {
            model,
            kb,
            index,
            inputs,
            view,
            name: name.to_owned(),
        })
    }

    /// The vectors of all distinct sequences, and their width.
    ///
    /// # Shapes
    /// `[sequences, dim]`
    pub fn vectors(&self) -> (&[f32], usize) {
        self.kb.vectors()
    }

    /// The rows of an index: the vector of each, and its concept. `vectors` are in the order of
    /// [`Snapshot::vectors`].
    pub fn rows(&self, vectors: &[f32]) -> (Vec<f32>, &[ConceptId]) {
        let rows = self.inputs.rows();
        (rows.spread(vectors), &rows.concepts)
    }

    /// The mentions of the validation split with their vectors. `None` if the configuration has no
    /// validation.
    ///
    /// # Shapes
    /// `[mentions, dim]`
    ///
    /// # Errors
    /// If the split cannot be read or is empty, the device fails, or the user interrupts.
    pub fn validation(&self, config: &Config) -> Result<Option<(Validation, Vec<f32>)>> {
        let Some(validation) = Validation::read(config, &self.model, &self.inputs)? else {
            return Ok(None);
        };
        let vectors = self
            .kb
            .encode_mentions(Scorer::Dual, &validation.encoded())?
            .pooled;
        Ok(Some((validation, vectors)))
    }

    /// The identifiers of the training concepts of this configuration.
    ///
    /// # Errors
    /// If the corpus cannot be read, or has no training mention.
    pub fn learned(&self, config: &Config) -> Result<HashSet<String>> {
        let (examples, _) = examples::chosen(config, &self.inputs, &self.model.tokens, &self.view)?;
        let ids = examples
            .iter()
            .filter_map(|example| Some(self.kb().get(example.concept)?.id.clone()));
        Ok(ids.collect())
    }

    /// The concepts.
    pub fn kb(&self) -> &KnowledgeBase {
        &self.inputs.kb
    }
}

impl Retriever for Snapshot {
    fn name(&self) -> &str {
        &self.name
    }

    fn protocol(&self) -> String {
        let ViewOptions {
            concepts,
            mention_template,
            mention_tokens,
            abbreviations,
            ..
        } = self.view;
        let score = self.model.reduction.score;
        let scorer = self.model.scorer;
        format!(
            "{mention_template:?} mention of at most {mention_tokens} tokens, short forms {}, \
             against {concepts:?}, {scorer:?}, {score:?}, int8",
            short_forms(abbreviations)
        )
    }

    fn search_kind(&self) -> SearchKind {
        match self.model.scorer {
            Scorer::Dual => SearchKind::Exact,
            Scorer::SumOfMax => SearchKind::FirstPass(FIRST_PASS_TRAINING),
        }
    }

    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        self.search_in(&self.index, queries, k, done)
    }

    fn search_among(
        &self,
        concepts: &HashSet<u32>,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Option<Result<CandidateLists>> {
        let index = self.kb.concept_index(&self.inputs, Some(concepts));
        Some(index.and_then(|index| self.search_in(&index, queries, k, done)))
    }
}

impl Snapshot {
    fn search_in(
        &self,
        index: &Index,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        let (
            EncodedKb {
                encoder, scorer, ..
            },
            inputs,
        ) = (&self.kb, &self.inputs);
        let mentions = MentionEncoder {
            encoder,
            scorer: *scorer,
            tokens: &self.model.tokens,
            view: &self.view,
        };
        let sequences = |concept| inputs.sequences_of(concept);
        mentions.search(queries, done, |vectors, _| {
            self.kb.search(index, vectors, k, sequences)
        })
    }
}
