//! Candidates that bear the mention as a name, and their place among the others.

use super::is_among;
use crate::linker::Linker;
use crate::prepared::{Prepared, PreparedMention};
use pel_kb::score::{Candidate, Similarity};
use pel_kb::{Concept, ConceptId};
use pel_model::nil::Decision;

/// The largest lead of the best score over that of a concept named like the mention at which that
/// concept still comes first, as a share of the highest possible score. It was measured on mentions
/// whose best candidate has another name: 789 of notes and 8,387 of abstracts and articles. The
/// concept of that name was right up to 0.07 behind. Further behind, "PVC" was a plastic.
const NAMED_BEHIND: f32 = 0.15;

/// What the logarithm of a concept's number of sources adds to its score, as a share of the highest
/// possible score, among concepts of the same name. Chosen on 3,813 such mentions of five corpora
/// over a table in which 10,847 names have several concepts: 3,317 are right, 3,250 without it, and
/// no corpus loses.
const KNOWN_AHEAD: f32 = 0.05;

impl Linker {
    /// Whether a mention is a name of a concept, or an inflected form of one. "Seminal vesicles"
    /// can be a name of one concept and "seminal vesicle" of another.
    pub(crate) fn is_named(&self, text: &str, named: &[ConceptId], concept: ConceptId) -> bool {
        let has = |concepts: &[ConceptId]| concepts.binary_search(&concept).is_ok();
        let has_form = || {
            has(&self.bundle.dictionary.lookup_forms(text)) || has(&self.added.lookup_forms(text))
        };
        has(named) || !named.is_empty() && has_form()
    }

    /// Moves the best concept named like the mention to the first place, with a score just above
    /// the best. Returns whether a concept was moved.
    ///
    /// If the best candidate has the name in another form, only a concept with the very words is
    /// moved, and only if its score is not lower: the other mentions of the text, which the scores
    /// do not know, do not outweigh a name. If the best candidate has another name, it stays if it
    /// leads by [`NAMED_BEHIND`] and would be linked: an abbreviation then has another meaning in
    /// this text.
    ///
    /// `behind` is how far the best candidate was behind the most similar one.
    pub(crate) fn put_named_first(
        &self,
        prepared: &Prepared,
        mention: &PreparedMention,
        found: &mut Vec<Candidate>,
        behind: f32,
    ) -> bool {
        let Some(best) = found.first().copied() else {
            return false;
        };
        if self.is_named(&mention.text, &mention.named, best.concept) {
            return self.put_verbatim_first(mention, found, behind);
        }
        let named = found
            .iter()
            .position(|candidate| is_among(&mention.named, candidate));
        let Some(at @ 1..) = named else {
            return false;
        };
        let scale = self.scale(prepared, mention, found);
        if best.score - found[at].score > NAMED_BEHIND * scale {
            let by_score = || {
                let decision = self.bundle.manifest.nil.decide(found);
                matches!(decision, Decision::Linked { .. })
            };
            let evidence = self.evidence(mention, found, scale, false, behind);
            if self.would_link(evidence).unwrap_or_else(by_score) {
                return false;
            }
        }
        move_first(found, at);
        true
    }

    /// Moves the best concept with the very words of the mention as a name to the first place, if
    /// the best candidate has them in another form only ("streptococcal pneumonia" is also called
    /// "Streptococcus pneumonia", whose plural is "Streptococcus pneumoniae") and no higher score.
    /// Returns whether a concept was moved.
    ///
    /// `behind` is how far the best candidate was behind the most similar one.
    fn put_verbatim_first(
        &self,
        mention: &PreparedMention,
        found: &mut Vec<Candidate>,
        behind: f32,
    ) -> bool {
        let words = mention.text.to_lowercase();
        let bears = |candidate: &Candidate| self.bears(mention, &words, candidate).is_some();
        let Some(best) = found.first().filter(|best| !bears(best)) else {
            return false;
        };
        let score = best.score - behind;
        let is_better = |candidate: &&Candidate| candidate.score >= score && bears(candidate);
        let Some(verbatim) = found[1..].iter().find(is_better).map(|one| one.concept) else {
            return false;
        };
        // Back to its own score and place.
        found[0].score = score;
        found.sort_unstable_by(Candidate::rank);
        if let Some(at) = found.iter().position(|one| one.concept == verbatim)
            && at > 0
        {
            move_first(found, at);
        }
        true
    }

    /// The concept of a candidate if it has the very words of the mention, in lower case, as a name.
    fn bears(
        &self,
        mention: &PreparedMention,
        words: &str,
        candidate: &Candidate,
    ) -> Option<Concept> {
        // The output reports a damaged record when it names the concept.
        let concept = is_among(&mention.named, candidate)
            .then(|| self.concept(candidate.concept).ok())
            .flatten()?;
        let is_named = concept.names().any(|name| name.to_lowercase() == words);
        is_named.then_some(concept)
    }

    /// Of several concepts that have the very words of the mention as a name, moves the one with the
    /// highest score to the first place, where one that many sources list has [`KNOWN_AHEAD`] more:
    /// it is meant more often. Mentions in capitals stay: how often a sense of a short form is meant
    /// does not show there. Returns whether a concept was moved.
    pub(crate) fn put_best_known_first(
        &self,
        prepared: &Prepared,
        mention: &PreparedMention,
        found: &mut Vec<Candidate>,
    ) -> bool {
        if mention.named.len() < 2 || !mention.text.contains(char::is_lowercase) {
            return false;
        }
        let words = mention.text.to_lowercase();
        let scale = self.scale(prepared, mention, found);
        let known = |candidate: &Candidate| {
            let sources = self.bears(mention, &words, candidate)?.sources.len();
            Some(candidate.score + KNOWN_AHEAD * scale * (sources.max(1) as f32).ln())
        };
        let Some(mut most) = found.first().and_then(known) else {
            return false;
        };
        let mut best = 0;
        for (at, candidate) in found.iter().enumerate().skip(1) {
            if let Some(own) = known(candidate).filter(|own| *own > most) {
                (best, most) = (at, own);
            }
        }
        if best > 0 {
            move_first(found, best);
        }
        best > 0
    }

    /// The highest possible score of a mention, or for dot products that of its best candidate.
    fn scale(&self, prepared: &Prepared, mention: &PreparedMention, found: &[Candidate]) -> f32 {
        match self.bundle.manifest.encoder.reduction.score {
            Similarity::Cosine => self.highest(prepared, mention),
            Similarity::Dot => found.first().map_or(0.0, |best| best.score.abs()),
        }
    }
}

/// Moves a candidate to the first place, with a score just above the best.
fn move_first(found: &mut Vec<Candidate>, at: usize) {
    let Some(best) = found.first().map(|best| best.score) else {
        return;
    };
    let moved = found.remove(at);
    let score = best.next_up();
    found.insert(0, Candidate { score, ..moved });
}
