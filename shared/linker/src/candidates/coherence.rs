//! The coherence of a text: its concepts tend to be of the same types and from the same sources.
//!
//! Two concepts may bear one name, a disease and a sign, or the same sign in two vocabularies.
//! Vectors of short names cannot tell them apart. The other mentions of the text can.

use crate::linker::Linker;
use crate::prepared::{Prepared, PreparedMention};
use pel_kb::ConceptId;
use pel_kb::score::{Candidate, Similarity};
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

    /// The logarithms of the most frequent type, and source, of a concept of the text among the
    /// other concepts, each against the most frequent one there.
    fn fits(&self, own: &Groups) -> [f32; 2] {
        [0, 1].map(|at| {
            let others = |(group, count): (&String, &u32)| {
                count.saturating_sub(u32::from(own[at].contains(group)))
            };
            let most = self.0[at].iter().map(others).max().unwrap_or(0);
            let of_own = own[at]
                .iter()
                .filter_map(|group| Some(self.0[at].get(group)?.saturating_sub(1)))
                .max()
                .unwrap_or(0);
            ((of_own as f32 + SMOOTHING) / (most as f32 + SMOOTHING)).ln()
        })
    }
}

impl Linker {
    /// Moves the candidate that fits the text best to the first place, with a score just above the
    /// best. Only candidates near the best are compared. The other scores and the order of the rest
    /// stay, so that thresholds hold. A text with one concept stays as it is.
    ///
    /// `lists` are the candidates of the mentions of one text, best first. Returns how far the
    /// first candidate of each mention was behind the best.
    pub(crate) fn make_coherent(
        &self,
        prepared: &Prepared,
        mentions: &[PreparedMention],
        lists: &mut [Vec<Candidate>],
    ) -> Vec<f32> {
        let mut behind = vec![0.0; lists.len()];
        if self.bundle.manifest.encoder.reduction.score != Similarity::Cosine {
            return behind;
        }
        let mut text = TextGroups::new(self, lists.iter().filter_map(|list| list.first()));
        if text.concepts < 2 {
            return behind;
        }
        let others = text.concepts - 1;
        for ((mention, list), behind) in mentions.iter().zip(lists).zip(&mut behind) {
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
            let own = text.groups(best.concept).clone();
            let shares: Vec<[f32; 2]> = list[..near]
                .iter()
                .map(|candidate| {
                    let groups = text.groups(candidate.concept).clone();
                    text.counts.shares(&groups, &own, others)
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
                *behind = best.score - coherent.score;
                let score = best.score.next_up();
                list.insert(0, Candidate { score, ..coherent });
            }
        }
        behind
    }
}

/// The types and sources of the concepts of a text.
pub(crate) struct TextGroups<'l> {
    linker: &'l Linker,
    /// The groups of the concepts that were read.
    read: HashMap<ConceptId, Groups>,
    counts: Counts,
    /// The number of concepts of the text.
    pub concepts: usize,
}

impl<'l> TextGroups<'l> {
    /// Counts the groups of the best candidates of a text.
    pub fn new<'c>(linker: &'l Linker, best: impl Iterator<Item = &'c Candidate>) -> Self {
        let of_text: BTreeSet<ConceptId> = best.map(|candidate| candidate.concept).collect();
        let mut text = Self {
            linker,
            read: HashMap::new(),
            counts: Counts::default(),
            concepts: of_text.len(),
        };
        if text.concepts > 1 {
            for concept in of_text {
                let groups = text.groups(concept).clone();
                text.counts.add(&groups);
            }
        }
        text
    }

    /// The types and sources of a concept; none if its record is damaged, which the output reports.
    fn groups(&mut self, concept: ConceptId) -> &Groups {
        self.read.entry(concept).or_insert_with(|| {
            self.linker
                .concept(concept)
                .map(|concept| [concept.types, concept.sources])
                .unwrap_or_default()
        })
    }

    /// How well the types and the sources of a concept of the text fit the other concepts
    /// ([`Evidence::type_fit`](pel_model::nil::Evidence::type_fit)).
    pub fn fits(&mut self, concept: ConceptId) -> [f32; 2] {
        if self.concepts < 2 {
            return [0.0; 2];
        }
        let own = self.groups(concept).clone();
        self.counts.fits(&own)
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

    #[test]
    fn fits_compare_a_concept_with_the_most_frequent_group_of_the_others() {
        let mut counts = Counts::default();
        let sign = groups(&["Sign"], &["HPO"]);
        let disease = groups(&["Disease"], &["MESH"]);
        for concept in [&sign, &sign, &disease] {
            counts.add(concept);
        }
        // The other concepts are a sign of HPO and a disease of MESH.
        assert_eq!(counts.fits(&sign), [0.0, 0.0]);
        // The other two are signs of HPO: none against two.
        assert_eq!(counts.fits(&disease), [(0.5f32 / 2.5).ln(); 2]);
        assert_eq!(counts.fits(&groups(&[], &["HPO"]))[0], (0.5f32 / 2.5).ln());
    }
}
