//! The statistics of appendix D, which compare held-out mentions with the whole.
//!
//! The whole are the mentions whose concept is in the input knowledge base.

use super::{Material, SemanticType, SplitMentions};
use crate::corpus::CorpusMention;
use pel_index::metrics::Share;
use pel_kb::{Concept, ConceptId};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};

/// All statistics of a data set.
#[derive(Clone, Debug, Serialize)]
pub struct Statistics {
    /// The held-out share of linkable mentions, over all splits.
    pub held_out: Share,
    /// Table 7 of the paper, with the whole.
    pub splits: Vec<SplitStatistics>,
    /// Each held-out type.
    pub types: Vec<TypeStatistics>,
    /// Surfaces common to two splits.
    pub overlaps: Vec<Overlap>,
    /// Description lengths of concepts with mentions: held-out ones, and all.
    pub descriptions_mentioned: [Lengths; 2],
    /// Description lengths of concepts: held-out ones, and all.
    pub descriptions: [Lengths; 2],
}

/// One split.
#[derive(Clone, Debug, Serialize)]
pub struct SplitStatistics {
    /// Its name.
    pub split: String,
    /// All its mentions.
    pub mentions: usize,
    /// Mentions without a concept in the input knowledge base.
    pub natural_nil: usize,
    /// Held-out mentions.
    pub held_out: Subset,
    /// Mentions linkable before.
    pub whole: Subset,
    /// Held-out mentions whose surface is a name of a kept concept.
    pub named_like_others: usize,
    /// Held-out mentions whose surface is linked to a kept concept in training.
    pub linked_in_training: usize,
    /// Mentions annotated with a held-out type whose concept has another type and is kept.
    pub other_type: usize,
    /// Held-out mentions annotated only with other types.
    pub typed_otherwise: usize,
}

/// Some mentions of a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Subset {
    /// Number of mentions.
    pub mentions: usize,
    /// Share of the distinct concepts that occur in training.
    pub entities_seen: Share,
    /// Share of mentions whose concept does not occur in training.
    pub zero_shot: Share,
}

/// One type.
#[derive(Clone, Debug, Serialize)]
pub struct TypeStatistics {
    /// The type.
    #[serde(flatten)]
    pub semantic_type: SemanticType,
    /// Its concepts.
    pub concepts: usize,
    /// Zero-shot share of its mentions in each split.
    pub zero_shot: Vec<Share>,
}

/// The overlap of lower-cased surfaces between two splits.
#[derive(Clone, Debug, Serialize)]
pub struct Overlap {
    /// The earlier split.
    pub from: String,
    /// The later split.
    pub to: String,
    /// For held-out mentions.
    pub held_out: OverlapOf,
    /// For all linkable mentions.
    pub whole: OverlapOf,
}

/// Share of surfaces in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OverlapOf {
    /// Of the later split's distinct surfaces.
    pub surfaces: Share,
    /// Of the later split's mentions.
    pub mentions: Share,
}

/// Description lengths in words; 0 without a description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// Number of concepts.
    pub concepts: usize,
    /// Share with a description.
    pub described: Share,
    /// Mean length.
    pub mean: f64,
    /// First quartile, median and third quartile.
    pub quartiles: [usize; 3],
}

/// Number of words of a concept's description.
pub(super) fn words(concept: &Concept) -> usize {
    concept
        .definition
        .as_deref()
        .map_or(0, |text| text.split_whitespace().count())
}

fn surface(text: &str) -> String {
    text.to_lowercase()
}

impl Statistics {
    /// Compares held-out concepts (`held[concept]`, of the types `chosen`) with the whole.
    pub fn new(material: &Material, chosen: &[usize], held: &[bool]) -> Self {
        let comparison = Comparison::new(material, chosen, held);
        let is_held = |concept: &ConceptId| comparison.is_held(concept);
        let splits: Vec<SplitStatistics> = material
            .splits
            .iter()
            .enumerate()
            .map(|(at, split)| comparison.of_split(at, split))
            .collect();
        let mentioned: BTreeSet<ConceptId> = material
            .splits
            .iter()
            .flat_map(|split| &split.mentions)
            .filter_map(|(_, concept)| *concept)
            .collect();
        let lengths = |concepts: &mut dyn Iterator<Item = ConceptId>| {
            Lengths::new(concepts.filter_map(|at| material.kb.kb.get(at)).map(words))
        };
        let all = || material.kb.kb.iter().map(|(at, _)| at);
        Self {
            held_out: splits
                .iter()
                .map(|split| Share {
                    hits: split.held_out.mentions,
                    of: split.whole.mentions,
                })
                .sum(),
            splits,
            types: chosen.iter().map(|at| comparison.of_type(*at)).collect(),
            overlaps: overlaps(material, is_held),
            descriptions_mentioned: [
                lengths(&mut mentioned.iter().copied().filter(is_held)),
                lengths(&mut mentioned.iter().copied()),
            ],
            descriptions: [lengths(&mut all().filter(is_held)), lengths(&mut all())],
        }
    }
}

/// What held-out mentions are compared with.
struct Comparison<'a> {
    material: &'a Material,
    held: &'a [bool],
    /// The concepts of training mentions.
    trained: HashSet<ConceptId>,
    /// The lower-cased names of kept concepts.
    kept_names: HashSet<String>,
    /// The surfaces that are linked to kept concepts in training.
    linked_in_training: HashSet<String>,
    /// The identifiers and names of the held-out types.
    chosen_names: HashSet<&'a str>,
}

impl<'a> Comparison<'a> {
    fn new(material: &'a Material, chosen: &[usize], held: &'a [bool]) -> Self {
        let trained = material.trained();
        let is_held = |concept: &ConceptId| is_held(held, concept);
        let kept_names: HashSet<String> = (material.kb.kb.iter())
            .filter(|(at, _)| !is_held(at))
            .flat_map(|(_, concept)| concept.names().map(surface).collect::<Vec<_>>())
            .collect();
        let linked_in_training: HashSet<String> = material.splits[material.train]
            .mentions
            .iter()
            .filter(|(_, concept)| concept.is_some_and(|concept| !is_held(&concept)))
            .map(|(mention, _)| surface(&mention.text))
            .collect();
        let chosen_names: HashSet<&str> = chosen
            .iter()
            .filter_map(|at| material.types.all.get(*at))
            .flat_map(|one| one.id.as_deref().into_iter().chain(one.name.as_deref()))
            .collect();
        Self {
            material,
            held,
            trained,
            kept_names,
            linked_in_training,
            chosen_names,
        }
    }

    fn is_held(&self, concept: &ConceptId) -> bool {
        is_held(self.held, concept)
    }

    fn of_split(&self, at: usize, split: &SplitMentions) -> SplitStatistics {
        let held_surfaces = || {
            let held = split
                .mentions
                .iter()
                .filter(|(_, concept)| concept.is_some_and(|concept| self.is_held(&concept)));
            held.map(|(mention, _)| surface(&mention.text))
        };
        SplitStatistics {
            split: split.name.clone(),
            mentions: split.mentions.len(),
            natural_nil: split
                .mentions
                .iter()
                .filter(|(_, concept)| concept.is_none())
                .count(),
            held_out: Subset::new(split, &self.trained, |concept| self.is_held(concept)),
            whole: Subset::new(split, &self.trained, |_| true),
            named_like_others: held_surfaces()
                .filter(|surface| self.kept_names.contains(surface))
                .count(),
            linked_in_training: match at == self.material.train {
                true => 0,
                false => held_surfaces()
                    .filter(|surface| self.linked_in_training.contains(surface))
                    .count(),
            },
            other_type: self.typed_otherwise(split, false),
            typed_otherwise: self.typed_otherwise(split, true),
        }
    }

    /// Counts the mentions of held-out concepts that are annotated only with other types, or those
    /// of kept concepts that are annotated with a held-out type.
    fn typed_otherwise(&self, split: &SplitMentions, held: bool) -> usize {
        let has_type = |mention: &CorpusMention, chosen: bool| {
            let mut names = mention.types.iter().chain(&mention.type_ids).peekable();
            names.peek().is_some()
                && names.any(|name| self.chosen_names.contains(name.as_str())) == chosen
        };
        let of_concept = |concept: &Option<ConceptId>| {
            concept.is_some_and(|concept| self.is_held(&concept) == held)
        };
        split
            .mentions
            .iter()
            .filter(|(mention, concept)| of_concept(concept) && has_type(mention, !held))
            .count()
    }

    fn of_type(&self, at: usize) -> TypeStatistics {
        let types = &self.material.types;
        TypeStatistics {
            semantic_type: types.all[at].clone(),
            concepts: types
                .of_concept
                .iter()
                .filter(|own| own.contains(&at))
                .count(),
            zero_shot: (self.material.splits.iter())
                .map(|split| {
                    let has = |concept: &ConceptId| types.of_concept[concept.index()].contains(&at);
                    Subset::new(split, &self.trained, has).zero_shot
                })
                .collect(),
        }
    }
}

fn is_held(held: &[bool], concept: &ConceptId) -> bool {
    held.get(concept.index()).copied().unwrap_or(false)
}

impl Subset {
    /// Counts mentions with a concept of the knowledge base for which `takes` is true.
    pub(super) fn new(
        split: &SplitMentions,
        trained: &HashSet<ConceptId>,
        takes: impl Fn(&ConceptId) -> bool,
    ) -> Self {
        let concepts: Vec<ConceptId> = split
            .mentions
            .iter()
            .filter_map(|(_, concept)| *concept)
            .filter(|concept| takes(concept))
            .collect();
        let entities: HashSet<ConceptId> = concepts.iter().copied().collect();
        Self {
            mentions: concepts.len(),
            entities_seen: entities
                .iter()
                .map(|concept| trained.contains(concept))
                .collect(),
            zero_shot: concepts
                .iter()
                .map(|concept| !trained.contains(concept))
                .collect(),
        }
    }
}

impl Lengths {
    /// Statistics of the given lengths.
    pub(super) fn new(words: impl Iterator<Item = usize>) -> Self {
        let mut words: Vec<usize> = words.collect();
        words.sort_unstable();
        let at = |part: usize| {
            words
                .get((words.len() * part).div_ceil(4).saturating_sub(1))
                .copied()
                .unwrap_or(0)
        };
        Self {
            concepts: words.len(),
            described: words.iter().map(|count| *count > 0).collect(),
            mean: words.iter().sum::<usize>() as f64 / words.len().max(1) as f64,
            quartiles: [at(1), at(2), at(3)],
        }
    }
}

/// The overlap of each pair of splits, the earlier one first.
fn overlaps(material: &Material, is_held: impl Fn(&ConceptId) -> bool) -> Vec<Overlap> {
    // Mentions per surface, held-out ones only if `only_held`.
    let count = |split: &SplitMentions, only_held: bool| {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (mention, concept) in &split.mentions {
            if concept.is_some_and(|concept| !only_held || is_held(&concept)) {
                *counts.entry(surface(&mention.text)).or_default() += 1;
            }
        }
        counts
    };
    let counts: Vec<[HashMap<String, usize>; 2]> = material
        .splits
        .iter()
        .map(|split| [count(split, true), count(split, false)])
        .collect();
    let shared = |from: &HashMap<String, usize>, to: &HashMap<String, usize>| OverlapOf {
        surfaces: to
            .keys()
            .map(|surface| from.contains_key(surface))
            .collect(),
        mentions: to
            .iter()
            .map(|(surface, count)| Share {
                hits: if from.contains_key(surface) {
                    *count
                } else {
                    0
                },
                of: *count,
            })
            .sum(),
    };
    let mut overlaps = Vec::new();
    for (at, from) in material.splits.iter().enumerate() {
        for (later, to) in material.splits.iter().enumerate().skip(at + 1) {
            overlaps.push(Overlap {
                from: from.name.clone(),
                to: to.name.clone(),
                held_out: shared(&counts[at][0], &counts[later][0]),
                whole: shared(&counts[at][1], &counts[later][1]),
            });
        }
    }
    overlaps
}
