//! The second stage: a cross-encoder orders the first candidates of each mention. NIL was decided
//! before, by the scores of the first stage.

use crate::link::Link;
use crate::linker::Steps;
use pel_kb::error::Result;
use pel_kb::score::Candidate;
use pel_model::cross_encoder::{Pairs, Ranker, reorder};
use pel_model::nil::Decision;
use pel_text::text_of;
use std::borrow::Cow;

impl<'l> Steps<'l> {
    /// Pairs each mention of a text with its first `k` candidates. A mention with one candidate has
    /// no pair. A candidate without a readable name is ordered last.
    ///
    /// # Errors
    /// If a concept is damaged, or a text cannot be tokenized.
    pub fn pairs(&self, ranker: &Ranker, text: &str, links: &[Link], k: usize) -> Result<Pairs> {
        let (mut reader, mut pairs) = (ranker.view().reader(), Pairs::default());
        for link in links {
            let mention = match link.candidates.len() {
                0 | 1 => None,
                _ => ranker.mention(&reader.mention_in(text, link.pieces())?)?,
            };
            let candidates = link
                .candidates
                .iter()
                .take(if mention.is_some() { k } else { 0 });
            let entity = |candidate: &Candidate| {
                Ok(ranker.entity(&self.linker.concept(candidate.concept)?).ok())
            };
            pairs.add(
                mention.as_ref(),
                candidates.map(entity).collect::<Result<Vec<_>>>()?,
            );
        }
        Ok(pairs)
    }

    /// Orders the candidates of links by the pairs' scores. A linked mention is then linked to the
    /// first of them.
    ///
    /// # Panics
    /// If the links or the scores are not those of the pairs.
    pub fn rerank(&self, text: &str, links: &mut [Link], pairs: &Pairs, scores: &[f32]) {
        let scores = pairs.by_mention(scores);
        assert_eq!(
            links.len(),
            scores.len(),
            "the scores of each link's candidates"
        );
        for (link, own) in links.iter_mut().zip(scores) {
            if own.is_empty() {
                continue;
            }
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
            link.named =
                self.linker
                    .is_named(&read, &self.linker.named_concepts(&read), first.concept);
        }
    }
}
