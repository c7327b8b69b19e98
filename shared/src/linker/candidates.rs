//! The candidates of mentions: what a search finds and the dictionary recognises, in the order of scores in which spelling has its
//! share; and the concepts that the other mentions of the text have found.

use super::prepared::PreparedMention;
use super::{Added, Link, Linker, Prepared, Queries};
use crate::index::best_per_concept;
use crate::kb::ConceptId;
use crate::kb::table::ConceptTable;
use crate::kernels;
use crate::lexical::Spelling;
use crate::score::{Candidate, Scorer};
use std::collections::HashSet;

/// Candidates among which spelling is compared, at least: the right concept is seldom behind them.
const SPELLED: usize = 20;

/// Mentions whose names a thread compares at a time.
const AT_ONCE: usize = 64;

/// Shorter lists have no room for companions: there the own candidates are worth more.
const ROOM_FROM: usize = 8;

/// One place of so many is kept for companions.
const ROOM: usize = 4;

/// What the concepts of a bundle, and those beside it, are called. Not the whole linker, whose GPU no thread of a page may share.
struct Names<'a> {
    table: &'a ConceptTable,
    added: &'a Added,
    /// The share of spelling in a score.
    share: f32,
}

impl Names<'_> {
    /// What spelling adds to the rest of a score, where an equal name has the highest score there is.
    fn part(&self, mention: &Spelling, highest: f32, concept: ConceptId) -> f32 {
        let overlap = match self.added.concept(concept) {
            Some(concept) => mention.nearest(concept.names()),
            // A damaged record is said where the concept's name is shown.
            None => self.table.get(concept).map_or(0.0, |concept| mention.nearest(concept.names())),
        };
        self.share * highest * overlap * overlap
    }

    /// A score in which spelling has its share.
    fn spelled(&self, mention: &Spelling, highest: f32, candidate: Candidate) -> Candidate {
        let score = (1.0 - self.share) * candidate.score + self.part(mention, highest, candidate.concept);
        Candidate { score, ..candidate }
    }
}

impl Linker {
    fn names(&self) -> Names<'_> {
        let share = self.bundle.manifest.view.spelling;
        Names { table: &self.bundle.concepts, added: &self.added, share }
    }

    /// The best `k` candidates of each mention, best first, by itself (step 5). The concepts that have the mention as their name are
    /// among them, whatever their scores, as far as there is room beside the best.
    ///
    /// # Shapes
    /// queries `[sequences]` -> a list for each mention
    pub(super) fn candidates(&self, prepared: &Prepared, queries: &Queries, k: usize) -> Vec<Vec<Candidate>> {
        let names = self.names();
        let taken = if names.share > 0.0 { k.max(SPELLED) } else { k };
        let found = self.search(prepared.sequences.len(), queries, taken);
        let own = |mention: &PreparedMention| {
            let Some(at) = mention.sequence else { return Vec::new() };
            let mut all = found[at].clone();
            if self.names_score_highest() {
                let score = self.highest(prepared, mention);
                // Thousands may bear one name; equal scores come in concept order.
                let named = mention.named.iter().take(taken);
                all.extend(named.map(|concept| Candidate { concept: *concept, score }));
            } else {
                let met: HashSet<ConceptId> = all.iter().map(|candidate| candidate.concept).collect();
                let missed = mention.named.iter().copied().filter(|concept| !met.contains(concept));
                // Thousands may bear one name.
                all.extend(best_per_concept(self.score(queries, at, missed.collect()), taken));
            }
            all
        };
        let mentions: Vec<_> = prepared
            .mentions
            .iter()
            .map(|mention| (mention.text.as_str(), self.highest(prepared, mention), &mention.named[..], own(mention)))
            .collect();
        let ordered = kernels::for_each_chunk(&mentions, AT_ONCE, |_, mentions| {
            let ordered = mentions.iter().map(|(text, highest, named, candidates)| {
                let mut candidates = candidates.clone();
                if names.share > 0.0 {
                    let mention = Spelling::new(text);
                    let spelled =
                        |candidate: &mut Candidate| *candidate = names.spelled(&mention, *highest, *candidate);
                    candidates.iter_mut().for_each(spelled);
                }
                first_with_named(candidates, named, k)
            });
            ordered.collect::<Vec<_>>()
        });
        ordered.into_iter().flatten().collect()
    }

    /// The score of a mention with a text that is letter for letter its own, where scores are cosines: 1, or that of each token which
    /// is compared.
    pub(super) fn highest(&self, prepared: &Prepared, mention: &PreparedMention) -> f32 {
        match (self.scorer, mention.sequence) {
            (Scorer::SumOfMax, Some(at)) => self.encoder.compared(&prepared.sequences[at]).len() as f32,
            _ => 1.0,
        }
    }

    /// What spelling adds to the score of a concept with a mention, the similarity of vectors being what is left; nothing where it has
    /// no share. `mention` counts the mentions of `prepared`.
    pub fn spelling_part(&self, prepared: &Prepared, mention: usize, concept: ConceptId) -> Option<f32> {
        let (names, mention) = (self.names(), prepared.mentions.get(mention)?);
        let part = || names.part(&Spelling::new(&mention.text), self.highest(prepared, mention), concept);
        (names.share > 0.0).then(part)
    }

    /// Lets concepts that are the best of other mentions into the links of one text, a quarter of the `k` places at most and from
    /// eight places on, those with the highest scores there first: a short form or a general word whose concept no name tells is often
    /// written out elsewhere in the text. They have the scores that the mention itself gives them, so the order stays one of scores;
    /// none comes before the candidates that stay in any case.
    ///
    /// [`Linker::finish`] does it for whole texts; it is for those that were linked by parts.
    ///
    /// # Shapes
    /// links, one for each mention of `prepared`; queries `[sequences]`
    pub fn accompany(&self, prepared: &Prepared, queries: &Queries, links: &mut [Link], k: usize) {
        self.accompany_some(prepared, 0, queries, links, k);
    }

    /// As [`Linker::accompany`], for the mentions from `first` on, as many as there are links.
    pub(super) fn accompany_some(
        &self,
        prepared: &Prepared,
        first: usize,
        queries: &Queries,
        links: &mut [Link],
        k: usize,
    ) {
        let room = if k < ROOM_FROM { 0 } else { k / ROOM };
        if room == 0 || links.len() < 2 {
            return;
        }
        let best = links.iter().filter_map(|link| link.candidates.first().copied()).collect();
        let best: Vec<ConceptId> =
            best_per_concept(best, links.len()).into_iter().map(|candidate| candidate.concept).collect();
        let names = self.names();
        for (link, mention) in links.iter_mut().zip(&prepared.mentions[first..]) {
            let Some(at) = mention.sequence else { continue };
            let (stay, go) = link.candidates.split_at(link.candidates.len().min(k - room));
            let own: HashSet<ConceptId> = stay.iter().map(|candidate| candidate.concept).collect();
            // What bears the mention's name stays in any case.
            let named = go.iter().filter(|candidate| is_among(&mention.named, candidate)).count();
            let room_left = room.saturating_sub(named);
            let wanted: Vec<ConceptId> = best.iter().copied().filter(|id| !own.contains(id)).take(room_left).collect();
            let new = wanted.iter().copied().filter(|id| go.iter().all(|candidate| candidate.concept != *id));
            let mut joined = self.score(queries, at, new.collect());
            if names.share > 0.0 {
                let (text, highest) = (Spelling::new(&mention.text), self.highest(prepared, mention));
                joined.iter_mut().for_each(|joined| *joined = names.spelled(&text, highest, *joined));
            }
            // What a graph or a first pass has missed does not overtake what it has found.
            joined.retain(|joined| stay.last().is_none_or(|last| last.rank(joined).is_lt()));
            let (wanted, mut others): (Vec<Candidate>, Vec<Candidate>) =
                go.iter().partition(|candidate| wanted.contains(&candidate.concept));
            others.sort_by_key(|candidate| !is_among(&mention.named, candidate));
            let left = k - stay.len() - wanted.len() - joined.len();
            joined.extend(wanted.into_iter().chain(others.into_iter().take(left)));
            joined.sort_unstable_by(Candidate::rank);
            link.candidates.truncate(k - room);
            link.candidates.extend(joined);
        }
    }
}

/// Whether a candidate is one of the named concepts, which are ascending, as dictionaries give them.
pub(super) fn is_among(named: &[ConceptId], candidate: &Candidate) -> bool {
    named.binary_search(&candidate.concept).is_ok()
}

/// The first `k` of candidates, best first: the best, then of those that are named as many as there is room for, then others.
fn first_with_named(candidates: Vec<Candidate>, named: &[ConceptId], k: usize) -> Vec<Candidate> {
    let mut all = best_per_concept(candidates, usize::MAX);
    if all.len() > k {
        let is_named = |candidate: &Candidate| is_among(named, candidate);
        let rest = all.split_off(1.min(k));
        let (named, others): (Vec<Candidate>, Vec<Candidate>) = rest.into_iter().partition(is_named);
        let room = k - all.len();
        all.extend(named.into_iter().chain(others).take(room));
        all.sort_unstable_by(Candidate::rank);
    }
    all
}
