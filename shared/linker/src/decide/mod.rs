//! The decision on each mention: linked, or NIL.

mod agreement;
mod evidence;

use crate::candidates::first_with_named;
use crate::link::Link;
use crate::linker::{Linker, Steps};
use crate::options::LinkOptions;
use crate::prepared::{Prepared, PreparedMention};
use pel_index::best_per_concept;
use pel_kb::score::Candidate;
use pel_model::nil::{Decision, NilPolicy, NilReason};
use pel_model::tokens::Cut;
use pel_text::detect::{Detected, Origin};

impl Linker {
    /// Decides on a mention. `behind` is how far the best candidate was behind the most similar
    /// one.
    pub(crate) fn link_of(
        &self,
        prepared: &Prepared,
        mention: &PreparedMention,
        options: &LinkOptions,
        mut searched: Vec<Candidate>,
        behind: f32,
    ) -> Link {
        let Detected {
            span,
            origin,
            fragments,
            group: _,
        } = mention.detected.clone();
        let origin = match origin {
            // Only here: how the mention was found bears on its probability.
            Origin::Detector if mention.is_name() => Origin::Name,
            origin => origin,
        };
        let cut = mention
            .sequence
            .map_or(Cut::default(), |at| prepared.sequences[at].cut);
        let mut moved = self.put_named_first(prepared, mention, &mut searched, behind);
        moved |= self.put_best_known_first(prepared, mention, &mut searched);
        let mut candidates =
            first_with_named(searched.clone(), &mention.named, options.candidates());
        let named = candidates
            .first()
            .is_some_and(|best| self.is_named(&mention.text, &mention.named, best.concept));
        let behind = if moved { 0.0 } else { behind };
        let highest = self.highest(prepared, mention).max(1.0);
        let evidence = self.evidence(mention, &searched, highest, named, behind);
        candidates.truncate(options.k.max(1));
        let is_empty = mention.sequence.is_none() && mention.known().is_none();
        let decision = match is_empty {
            false => self.decide(&candidates, named, options.threshold),
            true => Decision::Nil {
                reason: NilReason::EmptyMention,
                best: None,
            },
        };
        let read_as = mention.rewritten.then(|| mention.text.clone());
        let ranker_scores = Vec::new();
        Link {
            span,
            fragments,
            origin,
            group: mention.group,
            context: mention.context.clone(),
            attributes: mention.attributes.clone(),
            decision,
            candidates,
            probability: None,
            evidence: evidence.filter(|_| !is_empty),
            searched,
            ranker_scores,
            named,
            read_as,
            read_by: mention.read_by,
            cut,
        }
    }

    fn decide(&self, candidates: &[Candidate], named: bool, threshold: Option<f32>) -> Decision {
        let policy = &self.bundle.manifest.nil;
        match threshold {
            // A threshold of the user also holds for mentions that are a name.
            Some(_) => NilPolicy {
                threshold,
                ..NilPolicy::default()
            }
            .decide(candidates),
            None => policy.decide_named(candidates, named),
        }
    }
}

impl<'l> Steps<'l> {
    /// Decides a link again with another threshold; `None` uses the bundle's policy. The best score
    /// of the first stage decides, even after a reranking.
    pub fn decide_again(&self, link: &mut Link, threshold: Option<f32>) {
        if matches!(
            link.decision,
            Decision::Nil {
                reason: NilReason::EmptyMention,
                ..
            }
        ) {
            return;
        }
        let by_score = best_per_concept(link.candidates.clone(), link.candidates.len());
        link.decision = self
            .linker
            .decide_by_probability(link, threshold)
            .unwrap_or_else(|| self.linker.decide(&by_score, link.named, threshold));
        if let (
            Decision::Linked { best }
            | Decision::Nil {
                best: Some(best), ..
            },
            Some(first),
        ) = (&mut link.decision, link.candidates.first())
        {
            *best = *first;
        }
    }
}
