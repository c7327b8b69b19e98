//! A bundle with its encoder on a device, its steps and its settings.

use crate::added::AddedConcepts;
use crate::bundle::{Bundle, Resolved, names};
use burn::tensor::Device;
use pel_index::FIRST_PASS;
use pel_kb::error::{Error, Result};
use pel_kb::score::Scorer;
use pel_kb::{Concept, ConceptId};
use pel_model::encode::Encoder;
use pel_model::nil::NilPolicy;
use pel_text::attributes::AttributeRules;
use pel_text::context::ContextRules;
use std::borrow::Cow;

/// A bundle with its encoder on a device, and the concepts that were added to it.
pub struct Linker {
    pub(crate) bundle: Bundle,
    pub(crate) encoder: Encoder,
    pub(crate) scorer: Scorer,
    pub(crate) added: AddedConcepts,
    pub(crate) context_rules: Cow<'static, ContextRules>,
    pub(crate) attribute_rules: Cow<'static, AttributeRules>,
    /// Whether plain names are encoded and searched as the others.
    pub(crate) search_names: bool,
}

/// The steps of linking with a [`Linker`].
#[derive(Clone, Copy)]
pub struct Steps<'l> {
    pub(crate) linker: &'l Linker,
}

/// Changes the weights, the policy, the rules and the scorer of a [`Linker`].
pub struct Settings<'l> {
    pub(crate) linker: &'l mut Linker,
}

impl Linker {
    /// Builds the encoder of a bundle on a device.
    ///
    /// # Errors
    /// As [`Bundle::encoder`].
    pub fn new(bundle: Bundle, device: &Device) -> Result<Self> {
        let encoder = bundle.encoder(device)?;
        let (added, scorer) = (AddedConcepts::new(bundle.concepts.len()), bundle.scorer());
        let mut linker = Self {
            bundle,
            encoder,
            scorer,
            added,
            context_rules: Cow::Borrowed(ContextRules::english()),
            attribute_rules: Cow::Borrowed(AttributeRules::english()),
            search_names: false,
        };
        linker.use_scorer(scorer)?;
        Ok(linker)
    }

    /// The bundle, with the changes of the setters in its manifest.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The concept at a position, of the bundle or added.
    ///
    /// # Errors
    /// If there is no such concept, or its record is damaged.
    pub fn concept(&self, id: ConceptId) -> Result<Concept> {
        self.added.concept(id).map_or_else(
            || self.bundle.concepts.get(id),
            |concept| Ok(concept.clone()),
        )
    }

    /// The position of an identifier.
    ///
    /// # Errors
    /// As [`ConceptTable::find`](pel_kb::table::ConceptTable::find).
    pub fn find(&self, id: &str) -> Result<Option<ConceptId>> {
        self.added
            .find(id)
            .map_or_else(|| self.bundle.concepts.find(id), |found| Ok(Some(found)))
    }

    /// What an identifier stands for: an added concept, or as [`Bundle::resolve`].
    ///
    /// # Errors
    /// As [`Bundle::resolve`].
    pub fn resolve(&self, id: &str) -> Result<Resolved> {
        self.added.find(id).map_or_else(
            || self.bundle.resolve(id),
            |found| Ok(Resolved::Concept(found)),
        )
    }

    /// The steps of linking, for callers that run them one by one.
    pub fn steps(&self) -> Steps<'_> {
        Steps { linker: self }
    }

    /// What can be changed after a bundle was opened.
    pub fn settings(&mut self) -> Settings<'_> {
        Settings { linker: self }
    }

    /// As [`Settings::set_scorer`].
    pub(crate) fn use_scorer(&mut self, scorer: Scorer) -> Result<()> {
        if self.added.concepts().len() > 0 {
            return Err(Error::input(
                "expected a linker without added concepts, found some; set the scorer before \
                 concepts are added",
            ));
        }
        if scorer == Scorer::SumOfMax && self.bundle.token_vectors.is_none() {
            return Err(Error::input(format!(
                "the scorer sum-of-max compares the vectors of all tokens: expected `{}` in the \
                 bundle, found none; `pel index --scorer sum-of-max` writes it",
                names::TOKEN_VECTORS
            )));
        }
        if scorer != self.bundle.scorer() {
            self.bundle.manifest.nil = NilPolicy::default();
        }
        self.scorer = scorer;
        if let Some(options) = self.bundle.manifest.index.hnsw {
            // A concept has several rows. With a smaller list the search would be repeated until it
            // has enough concepts.
            let least = if scorer == Scorer::SumOfMax {
                2 * FIRST_PASS
            } else {
                0
            };
            self.bundle.index.set_depth(options.ef_search.max(least));
        }
        Ok(())
    }
}
