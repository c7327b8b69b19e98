//! The cross-encoder (BLINK, section 4.2; PEL, appendix B): it reads a mention and an entity as one
//! sequence and computes one score.
//!
//! It is a tower whose projection has one output: W of BLINK's eq. 6. BLINK's released model has
//! BERT's pooler before W.

use crate::encode::Encoder;
use crate::layer::Precision;
use crate::tokens::ViewOptions;
use crate::tokens::{Encoded, Tokens};
use crate::tower::{Reduction, Side, TowerBytes};
use burn::tensor::Device;
use pel_kb::Concept;
use pel_kb::error::{Context, Error, Result};
use pel_text::Mention;
use std::borrow::Borrow;

/// A cross-encoder with its tokenizer.
pub struct Ranker {
    tokens: Tokens,
    encoder: Encoder,
    view: ViewOptions,
}

/// The length in tokens of the longest pair with these views.
pub fn longest_pair(view: &ViewOptions) -> usize {
    view.mention_tokens
        .saturating_add(view.entity_tokens)
        .saturating_sub(1)
}

impl Ranker {
    /// Builds the cross-encoder on a device.
    ///
    /// # Errors
    /// If its files do not fit together, its projection has more than one output, or the longest
    /// pair exceeds its positions.
    pub fn new(
        tower: TowerBytes<'_>,
        tokenizer: &[u8],
        view: ViewOptions,
        reduction: Reduction,
        device: &Device,
    ) -> Result<Self> {
        let tokens = Tokens::from_bytes(tokenizer)?;
        let encoder = Encoder::new(tower, None, &tokens, reduction, device)
            .context(|| "the ranker".into())?;
        let (dim, longest, limit) = (encoder.dim(), longest_pair(&view), encoder.max_positions());
        if dim != 1 {
            return Err(Error::artifact(format!(
                "expected a ranker, which gives one score for a pair, found an encoder that gives \
                 {dim} values"
            )));
        }
        if longest > limit {
            return Err(Error::artifact(format!(
                "the ranker reads at most {limit} tokens, a pair has {longest}"
            )));
        }
        Ok(Self {
            tokens,
            encoder,
            view,
        })
    }

    /// The cross-encoder with linear layers in this number format; see [`Encoder::in_precision`].
    #[must_use]
    pub fn in_precision(self, precision: Precision) -> Self {
        Self {
            encoder: self.encoder.in_precision(precision),
            ..self
        }
    }

    /// The templates of mentions and entities.
    pub fn view(&self) -> &ViewOptions {
        &self.view
    }

    /// The tokens of a mention; `None` if it is empty after normalisation.
    ///
    /// # Errors
    /// As [`ViewOptions::mention`].
    pub fn mention(&self, mention: &Mention<'_>) -> Result<Option<Encoded>> {
        self.view.mention(&self.tokens, mention)
    }

    /// The tokens of a concept.
    ///
    /// # Errors
    /// As [`Tokens::entity`].
    pub fn entity(&self, concept: &Concept) -> Result<Encoded> {
        self.tokens.entity(
            concept,
            self.view.entity_template,
            self.view.synonyms,
            self.view.entity_tokens,
        )
    }

    /// The score of each pair (BLINK, eq. 6), on all processors.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn scores(&self, pairs: &[Encoded]) -> Result<Vec<f32>> {
        self.encoder
            .encode(Side::Mention, &pairs.iter().collect::<Vec<_>>())
    }
}

/// Mentions paired with their candidates, to be scored.
#[derive(Debug, Default)]
pub struct Pairs {
    rows: Vec<Encoded>,
    /// For each mention, the row of each candidate.
    rows_of: Vec<Vec<Option<usize>>>,
}

impl Pairs {
    /// Adds a mention with its candidates. A candidate that is `None` has no readable text and
    /// makes no pair. A mention that is `None` normalises to nothing and has no scores.
    pub fn add<E: Borrow<Encoded>>(
        &mut self,
        mention: Option<&Encoded>,
        candidates: impl IntoIterator<Item = Option<E>>,
    ) {
        let mut pair = |mention: &Encoded, entity: Option<E>| {
            self.rows.push(Encoded::pair(mention, entity?.borrow()));
            Some(self.rows.len() - 1)
        };
        let rows = mention.map(|mention| {
            candidates
                .into_iter()
                .map(|entity| pair(mention, entity))
                .collect()
        });
        self.rows_of.push(rows.unwrap_or_default());
    }

    /// The pairs, mention by mention.
    pub fn rows(&self) -> &[Encoded] {
        &self.rows
    }

    /// The scores of each mention's candidates: -infinity for one without a pair.
    ///
    /// # Panics
    /// If there is not one score for each pair.
    pub fn by_mention(&self, scores: &[f32]) -> Vec<Vec<f32>> {
        assert_eq!(scores.len(), self.rows.len(), "one score for each pair");
        let score = |row: &Option<usize>| row.map_or(f32::NEG_INFINITY, |row| scores[row]);
        self.rows_of
            .iter()
            .map(|rows| rows.iter().map(score).collect())
            .collect()
    }
}

/// Sorts the first `scores.len()` candidates by descending score. The sort is stable, and the other
/// candidates keep their positions.
pub fn reorder<T: Clone>(candidates: &mut [T], scores: &[f32]) {
    let count = scores.len().min(candidates.len());
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let ordered: Vec<T> = order.into_iter().map(|at| candidates[at].clone()).collect();
    candidates[..count].clone_from_slice(&ordered);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reorder_sorts_scored_candidates_and_is_stable() {
        let mut all = ['a', 'b', 'c', 'd', 'e'];
        reorder(&mut all, &[0.1, 0.5, 0.5, -1.0]);
        assert_eq!(all, ['b', 'c', 'a', 'd', 'e']);
        reorder(&mut all[..1], &[0.3, 0.4]);
        assert_eq!(all, ['b', 'c', 'a', 'd', 'e']);
    }
}
