//! The candidates that the mentions of a text share.

use super::is_among;
use super::spelling::MentionSpelling;
use crate::bundle::Queries;
use crate::link::Link;
use crate::linker::Linker;
use crate::prepared::Prepared;
use pel_index::best_per_concept;
use pel_kb::ConceptId;
use pel_kb::score::Candidate;
use std::collections::HashSet;

/// The shortest list with shared candidates. In shorter ones they would replace better candidates
/// of the mention itself.
const SHARED_FROM: usize = 8;

/// The length of a list per place for a shared candidate.
const PER_SHARED: usize = 4;

impl Linker {
    /// Shares candidates within a document: concepts ranked first for other mentions of the text
    /// become candidates of each mention. A short form or a general word is often written in full
    /// elsewhere in the text.
    ///
    /// With `k` of at least 8, at most a quarter of the places are for shared candidates, those
    /// with the highest scores at their own mentions first. They get the scores of this mention, so
    /// lists stay ordered by score. None ranks before a candidate that has a place of its own.
    ///
    /// `first` is the position of the text's first mention.
    ///
    /// # Shapes
    /// queries `[sequences]`, links `[mentions of the text]`
    pub(crate) fn share_from(
        &self,
        prepared: &Prepared,
        first: usize,
        queries: &Queries,
        links: &mut [Link],
        k: usize,
    ) {
        let places = if k < SHARED_FROM { 0 } else { k / PER_SHARED };
        if places == 0 || links.len() < 2 {
            return;
        }
        let best = links
            .iter()
            .filter_map(|link| link.candidates.first().copied())
            .collect();
        let best: Vec<ConceptId> = best_per_concept(best, links.len())
            .into_iter()
            .map(|candidate| candidate.concept)
            .collect();
        let spelling = self.spelling_scorer();
        for (link, mention) in links.iter_mut().zip(&prepared.mentions[first..]) {
            let Some(at) = mention.sequence else { continue };
            let (stay, go) = link
                .candidates
                .split_at(link.candidates.len().min(k - places));
            let own: HashSet<ConceptId> = stay.iter().map(|candidate| candidate.concept).collect();
            // Candidates named like the mention stay.
            let named = go
                .iter()
                .filter(|candidate| is_among(&mention.named, candidate))
                .count();
            let free = places.saturating_sub(named);
            let wanted: Vec<ConceptId> = best
                .iter()
                .copied()
                .filter(|id| !own.contains(id))
                .take(free)
                .collect();
            let new = wanted
                .iter()
                .copied()
                .filter(|id| go.iter().all(|candidate| candidate.concept != *id));
            let mut joined = self.score(queries, at, new.collect());
            if spelling.weight > 0.0 {
                let (text, highest) = (
                    MentionSpelling::new(mention),
                    self.highest(prepared, mention),
                );
                joined
                    .iter_mut()
                    .for_each(|joined| *joined = spelling.spelled(&text, highest, *joined));
            }
            // A shared candidate that the search missed does not overtake one that it found.
            joined.retain(|joined| stay.last().is_none_or(|last| last.rank(joined).is_lt()));
            let (wanted, mut others): (Vec<Candidate>, Vec<Candidate>) = go
                .iter()
                .partition(|candidate| wanted.contains(&candidate.concept));
            others.sort_by_key(|candidate| !is_among(&mention.named, candidate));
            let left = k - stay.len() - wanted.len() - joined.len();
            joined.extend(wanted.into_iter().chain(others.into_iter().take(left)));
            joined.sort_unstable_by(Candidate::rank);
            link.candidates.truncate(k - places);
            link.candidates.extend(joined);
        }
    }
}
