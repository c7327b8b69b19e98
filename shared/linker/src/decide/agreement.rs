//! The agreement of equal mentions: what a text calls by the same name is the same.
//!
//! The words around a mention bear on its probability. So a short form could be linked where its
//! long form, a line before, was NIL with the same best candidate.

use crate::link::Link;
use crate::linker::Linker;
use crate::prepared::PreparedMention;
use pel_kb::ConceptId;
use pel_model::nil::{Decision, NilReason};
use pel_text::detect::normalise_name;
use std::collections::HashMap;

impl Linker {
    /// Links the mentions that are NIL because their probability is too low, if another mention of
    /// the text that is read as the same name is linked to their best candidate. They get its
    /// probability.
    ///
    /// # Shapes
    /// mentions and links `[mentions of the text]`
    pub(crate) fn make_equal_mentions_agree(
        &self,
        mentions: &[PreparedMention],
        links: &mut [Link],
    ) {
        let is_low = |link: &Link| {
            matches!(
                link.decision,
                Decision::Nil { reason, best: Some(_) } if reason != NilReason::EmptyMention
            )
        };
        if !links.iter().any(is_low) {
            return;
        }
        let mut linked: HashMap<(String, ConceptId), f32> = HashMap::new();
        for (mention, link) in mentions.iter().zip(&*links) {
            if let (Decision::Linked { best }, Some(own)) = (link.decision, link.probability) {
                let key = (normalise_name(&mention.text), best.concept);
                let most = linked.entry(key).or_insert(own);
                *most = most.max(own);
            }
        }
        for (mention, link) in mentions.iter().zip(links) {
            let best = link.candidates.first().copied().filter(|_| is_low(link));
            if let Some(best) = best
                && let Some(own) = linked.get(&(normalise_name(&mention.text), best.concept))
            {
                link.probability = Some(*own);
                link.decision = Decision::Linked { best };
            }
        }
    }
}
