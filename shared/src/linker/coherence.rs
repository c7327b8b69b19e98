//! The coherence of a text: its concepts tend to be of the same types and from the same sources.
//!
//! Two concepts may bear one name, a disease and a sign, or the same sign in two vocabularies.
//! Vectors of short names cannot tell them apart. The other mentions of the text can.

use super::prepared::PreparedMention;
use super::{Linker, Prepared};
use crate::kb::ConceptId;
use crate::score::{Candidate, Similarity};
use std::collections::{BTreeSet, HashMap};

/// The weight of the logarithm of a share, as a part of the highest possible score. It was chosen
/// among 0.01 to 0.07 on development corpora: a larger one costs abstracts with all types of
/// mentions more than it gives.
const WEIGHT: f32 = 0.02;

/// The largest difference of two logarithms.
const MOST: f32 = 3.0;

/// What is added to the count of a group that the text does not have, and to the number of
/// concepts.
const ABSENT: f32 = 0.05;
const SMOOTHING: f32 = 0.5;

/// The types and the sources of a concept.
type Groups = [Vec<String>; 2];

/// How many of the concepts of a text have a type or come from a source.
#[derive(Default)]
struct Counts([HashMap<String, u32>; 2]);

impl Counts {
    fn add(&mut self, groups: &Groups) {
        for (counts, groups) in self.0.iter_mut().zip(groups) {
            for group in groups {
                *counts.entry(group.clone()).or_default() += 1;
            }
        }
    }

    /// The logarithms of the largest share of the other concepts of the text that have a type, and
    /// a source, of a candidate. `own` are the groups of the mention's own best concept, which the
    /// text counts too.
    fn shares(&self, candidate: &Groups, own: &Groups, others: usize) -> [f32; 2] {
        let mut shares = [ABSENT; 2];
        for (at, groups) in candidate.iter().enumerate() {
            for group in groups {
                let all = self.0[at].get(group).copied().unwrap_or(0);
                let is_own = own[at].contains(group);
                let count = all.saturating_sub(u32::from(is_own));
                shares[at] = shares[at].max(count as f32 + ABSENT);
            }
        }
        shares.map(|share| (share / (others as f32 + SMOOTHING)).ln())
    }
}

impl Linker {
    /// Moves the candidate that fits the text best to the first place, with a score just above the
    /// best. Only candidates near the best are compared. The other scores and the order of the rest
    /// stay, so that thresholds hold. A text with one concept stays as it is.
    ///
    /// `lists` are the candidates of the mentions of one text, best first.
    pub(super) fn make_coherent(
        &self,
        prepared: &Prepared,
        mentions: &[PreparedMention],
        lists: &mut [Vec<Candidate>],
    ) {
        if self.bundle.manifest.encoder.reduction.score != Similarity::Cosine {
            return;
        }
        let first = lists.iter().filter_map(|list| list.first());
        let of_text: BTreeSet<ConceptId> = first.map(|candidate| candidate.concept).collect();
        if of_text.len() < 2 {
            return;
        }
        let mut read: HashMap<ConceptId, Groups> = HashMap::new();
        let mut counts = Counts::default();
        for concept in &of_text {
            counts.add(self.groups(&mut read, *concept));
        }
        let others = of_text.len() - 1;
        for (mention, list) in mentions.iter().zip(lists) {
            let Some(best) = list.first().copied() else {
                continue;
            };
            let weight = WEIGHT * self.highest(prepared, mention);
            let reach = 2.0 * weight * MOST;
            let near = list
                .iter()
                .take_while(|candidate| best.score - candidate.score <= reach)
                .count();
            if near < 2 {
                continue;
            }
            let own = self.groups(&mut read, best.concept).clone();
            let shares: Vec<[f32; 2]> = list[..near]
                .iter()
                .map(|candidate| {
                    let groups = self.groups(&mut read, candidate.concept);
                    counts.shares(groups, &own, others)
                })
                .collect();
            let highest = [0, 1].map(|at| {
                let all = shares.iter().map(|shares| shares[at]);
                all.fold(f32::NEG_INFINITY, f32::max)
            });
            let fit = |(candidate, shares): (&Candidate, &[f32; 2])| {
                let behind = |at: usize| (highest[at] - shares[at]).min(MOST);
                candidate.score - weight * (behind(0) + behind(1))
            };
            let fits: Vec<f32> = list.iter().zip(&shares).map(fit).collect();
            // Of equals the first.
            let winner = (0..near).reduce(|one, other| match fits[other] > fits[one] {
                true => other,
                false => one,
            });
            if let Some(winner @ 1..) = winner {
                let coherent = list.remove(winner);
                let score = best.score.next_up();
                list.insert(0, Candidate { score, ..coherent });
            }
        }
    }

    /// The types and sources of a concept; none if its record is damaged, which the output reports.
    fn groups<'r>(
        &self,
        read: &'r mut HashMap<ConceptId, Groups>,
        concept: ConceptId,
    ) -> &'r Groups {
        read.entry(concept).or_insert_with(|| {
            self.concept(concept)
                .map(|concept| [concept.types, concept.sources])
                .unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(types: &[&str], sources: &[&str]) -> Groups {
        [types, sources].map(|all| all.iter().map(|one| (*one).to_owned()).collect())
    }

    #[test]
    fn shares_count_the_other_concepts_of_a_text() {
        let mut counts = Counts::default();
        let own = groups(&["Sign"], &["HPO"]);
        for concept in [
            &own,
            &groups(&["Sign"], &["HPO", "MESH"]),
            &groups(&["Disease"], &["MESH"]),
        ] {
            counts.add(concept);
        }
        let share = |count: f32| ((count + ABSENT) / 2.5).ln();
        let of = |candidate: &Groups| counts.shares(candidate, &own, 2);
        assert_eq!(of(&own), [share(1.0), share(1.0)]);
        assert_eq!(
            of(&groups(&["Disease", "Sign"], &["MESH"])),
            [share(1.0), share(2.0)]
        );
        assert_eq!(of(&groups(&["Drug"], &[])), [share(0.0), share(0.0)]);
    }
}
