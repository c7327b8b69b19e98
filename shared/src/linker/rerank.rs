//! The second stage: a cross-encoder orders the first candidates of each mention. NIL was decided before, by the scores of the
//! first stage.

use super::{Link, Linker};
use crate::error::Result;
use crate::model::cross_encoder::{Ranker, reorder};
use crate::nil::Decision;
use crate::text::text_of;
use crate::tokens::Encoded;
use std::borrow::Cow;

/// The pairs of a text's mentions with their candidates, for a cross-encoder.
pub struct Pairs {
    rows: Vec<Encoded>,
    /// For each link the pairs of its first candidates. A candidate without a readable name has none.
    places: Vec<Vec<Option<usize>>>,
}

impl Pairs {
    /// The token sequences of the pairs, mention by mention.
    pub fn rows(&self) -> &[Encoded] {
        &self.rows
    }
}

impl Linker {
    /// Pairs each mention of a text with its first `k` candidates. A mention with one candidate has no pair. A candidate without
    /// a readable name is ordered last.
    ///
    /// # Errors
    /// If a concept is damaged, or a text cannot be tokenized.
    pub fn pairs(&self, ranker: &Ranker, text: &str, links: &[Link], k: usize) -> Result<Pairs> {
        let (mut reader, mut rows) = (ranker.view().reader(), Vec::new());
        let mut places = Vec::with_capacity(links.len());
        for link in links {
            let mut own = Vec::new();
            if link.candidates.len() > 1
                && let Some(mention) = ranker.mention(&reader.mention_in(text, link.pieces())?)?
            {
                for candidate in link.candidates.iter().take(k) {
                    let entity = ranker.entity(&self.concept(candidate.concept)?).ok();
                    own.push(entity.map(|entity| {
                        rows.push(Encoded::pair(&mention, &entity));
                        rows.len() - 1
                    }));
                }
            }
            places.push(own);
        }
        Ok(Pairs { rows, places })
    }

    /// Orders the candidates of links by the pairs' scores. A linked mention is then linked to the first of them.
    ///
    /// # Panics
    /// If the links or the scores are not those of the pairs.
    pub fn rerank(&self, text: &str, links: &mut [Link], pairs: &Pairs, scores: &[f32]) {
        assert_eq!(
            (links.len(), scores.len()),
            (pairs.places.len(), pairs.rows.len()),
            "expected the links and scores of these pairs"
        );
        for (link, places) in links.iter_mut().zip(&pairs.places) {
            if places.is_empty() {
                continue;
            }
            let own: Vec<f32> = places.iter().map(|place| place.map_or(f32::NEG_INFINITY, |at| scores[at])).collect();
            reorder(&mut link.candidates, &own);
            link.ranker_scores.clone_from(&own);
            reorder(&mut link.ranker_scores, &own);
            let first = link.candidates[0];
            match &mut link.decision {
                Decision::Linked { best } => *best = first,
                Decision::Nil { best, .. } => *best = Some(first),
            }
            let read = match &link.read_as {
                Some(read) => Cow::Borrowed(read.as_str()),
                None => text_of(text, link.pieces()).unwrap_or_default(),
            };
            link.named = self.is_named(&read, &self.named_concepts(&read), first.concept);
        }
    }
}
