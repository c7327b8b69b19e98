//! The statistics of appendix D: is what is held out like the whole?
//!
//! The whole is what could be linked before: the mentions whose concept the knowledge base had.

use super::{Material, SemanticType, SplitMentions};
use crate::data::corpus::CorpusMention;
use pel_shared::kb::{Concept, ConceptId};
use pel_shared::metrics::Share;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};

/// All statistics of a data set.
#[derive(Clone, Debug, Serialize)]
pub struct Statistics {
    /// The share of the mentions that could be linked which is held out, over all splits.
    pub held_out: Share,
    /// The paper's table 7, and the whole beside it.
    pub splits: Vec<SplitStatistics>,
    /// Each type that was chosen.
    pub types: Vec<TypeStatistics>,
    /// The same surfaces in two splits.
    pub overlaps: Vec<Overlap>,
    /// Lengths of descriptions of the held-out concepts that have a mention, and of all that have one.
    pub descriptions_mentioned: [Lengths; 2],
    /// Lengths of descriptions of all held-out concepts, and of all concepts.
    pub descriptions: [Lengths; 2],
}

/// One split.
#[derive(Clone, Debug, Serialize)]
pub struct SplitStatistics {
    /// Its name.
    pub split: String,
    /// All its mentions.
    pub mentions: usize,
    /// Mentions that were NIL before: the knowledge base never had their concept.
    pub natural_nil: usize,
    /// The mentions that are held out.
    pub held_out: Subset,
    /// The mentions that could be linked before.
    pub whole: Subset,
    /// Held-out mentions whose surface is a name of a concept that stays: easy to link wrongly.
    pub named_like_others: usize,
    /// Held-out mentions whose surface the training split also links to a concept that stays.
    pub linked_in_training: usize,
    /// Mentions that name a chosen type themselves, but whose concept has another one and stays.
    pub other_type: usize,
    /// Held-out mentions that name types themselves, none of them chosen.
    pub typed_otherwise: usize,
}

/// Some mentions of a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Subset {
    /// How many.
    pub mentions: usize,
    /// Different concepts among them, and how many of these the training split has.
    pub entities_seen: Share,
    /// Mentions whose concept no mention of the training split has.
    pub zero_shot: Share,
}

/// One type.
#[derive(Clone, Debug, Serialize)]
pub struct TypeStatistics {
    /// Which.
    #[serde(flatten)]
    pub semantic_type: SemanticType,
    /// Its concepts.
    pub concepts: usize,
    /// Zero-shot mentions of all its mentions, for each split.
    pub zero_shot: Vec<Share>,
}

/// How much of a later split's surfaces an earlier one has, lower-cased.
#[derive(Clone, Debug, Serialize)]
pub struct Overlap {
    /// The earlier split.
    pub from: String,
    /// The later split.
    pub to: String,
    /// Among held-out mentions.
    pub held_out: OverlapOf,
    /// Among all mentions that could be linked.
    pub whole: OverlapOf,
}

/// Surfaces that two splits share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OverlapOf {
    /// Of the later split's different surfaces, those that the earlier one has.
    pub surfaces: Share,
    /// Of the later split's mentions, those whose surface the earlier one has.
    pub mentions: Share,
}

/// Lengths of descriptions in words; a concept without one has a description of no words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// Concepts.
    pub concepts: usize,
    /// Those that have a description.
    pub described: Share,
    /// The mean.
    pub mean: f64,
    /// A quarter, a half and three quarters of the concepts have at most so many.
    pub quartiles: [usize; 3],
}

/// The words of a concept's description.
pub(super) fn words(concept: &Concept) -> usize {
    concept.definition.as_deref().map_or(0, |text| text.split_whitespace().count())
}

fn surface(text: &str) -> String {
    text.to_lowercase()
}

impl Statistics {
    /// Compares what is held out (`held[concept]`, by the types at the positions `chosen`) with the whole.
    pub fn new(material: &Material, chosen: &[usize], held: &[bool]) -> Self {
        let trained = material.trained();
        let is_held = |concept: &ConceptId| held.get(concept.index()).copied().unwrap_or(false);
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
        let of_split = |(at, split): (usize, &SplitMentions)| {
            let held_surfaces = || {
                let held =
                    split.mentions.iter().filter(|(_, concept)| concept.is_some_and(|concept| is_held(&concept)));
                held.map(|(mention, _)| surface(&mention.text))
            };
            let own = |mention: &CorpusMention, chosen: bool| {
                let mut names = mention.types.iter().chain(&mention.type_ids).peekable();
                names.peek().is_some() && names.any(|name| chosen_names.contains(name.as_str())) == chosen
            };
            let named = |held: bool| {
                let of_concept = |concept: &Option<ConceptId>| concept.is_some_and(|concept| is_held(&concept) == held);
                split.mentions.iter().filter(|(mention, concept)| of_concept(concept) && own(mention, !held)).count()
            };
            SplitStatistics {
                split: split.name.clone(),
                mentions: split.mentions.len(),
                natural_nil: split.mentions.iter().filter(|(_, concept)| concept.is_none()).count(),
                held_out: Subset::new(split, &trained, is_held),
                whole: Subset::new(split, &trained, |_| true),
                named_like_others: held_surfaces().filter(|surface| kept_names.contains(surface)).count(),
                linked_in_training: match at == material.train {
                    true => 0,
                    false => held_surfaces().filter(|surface| linked_in_training.contains(surface)).count(),
                },
                other_type: named(false),
                typed_otherwise: named(true),
            }
        };
        let splits: Vec<SplitStatistics> = material.splits.iter().enumerate().map(of_split).collect();
        let of_type = |at: &usize| TypeStatistics {
            semantic_type: material.types.all[*at].clone(),
            concepts: material.types.of_concept.iter().filter(|own| own.contains(at)).count(),
            zero_shot: (material.splits.iter())
                .map(|split| {
                    let has = |concept: &ConceptId| material.types.of_concept[concept.index()].contains(at);
                    Subset::new(split, &trained, has).zero_shot
                })
                .collect(),
        };
        let mentioned: BTreeSet<ConceptId> =
            material.splits.iter().flat_map(|split| &split.mentions).filter_map(|(_, concept)| *concept).collect();
        let lengths = |concepts: &mut dyn Iterator<Item = ConceptId>| {
            Lengths::new(concepts.filter_map(|at| material.kb.kb.get(at)).map(words))
        };
        let all = || material.kb.kb.iter().map(|(at, _)| at);
        Self {
            held_out: splits
                .iter()
                .map(|split| Share { hits: split.held_out.mentions, of: split.whole.mentions })
                .sum(),
            splits,
            types: chosen.iter().map(of_type).collect(),
            overlaps: overlaps(material, is_held),
            descriptions_mentioned: [
                lengths(&mut mentioned.iter().copied().filter(is_held)),
                lengths(&mut mentioned.iter().copied()),
            ],
            descriptions: [lengths(&mut all().filter(is_held)), lengths(&mut all())],
        }
    }
}

impl Subset {
    /// Counts the mentions of a split whose concept the knowledge base has and `takes` takes.
    pub(super) fn new(split: &SplitMentions, trained: &HashSet<ConceptId>, takes: impl Fn(&ConceptId) -> bool) -> Self {
        let concepts: Vec<ConceptId> =
            split.mentions.iter().filter_map(|(_, concept)| *concept).filter(|concept| takes(concept)).collect();
        let entities: HashSet<ConceptId> = concepts.iter().copied().collect();
        Self {
            mentions: concepts.len(),
            entities_seen: entities.iter().map(|concept| trained.contains(concept)).collect(),
            zero_shot: concepts.iter().map(|concept| !trained.contains(concept)).collect(),
        }
    }
}

impl Lengths {
    /// Of descriptions of so many words each.
    pub(super) fn new(words: impl Iterator<Item = usize>) -> Self {
        let mut words: Vec<usize> = words.collect();
        words.sort_unstable();
        let at = |part: usize| words.get((words.len() * part).div_ceil(4).saturating_sub(1)).copied().unwrap_or(0);
        Self {
            concepts: words.len(),
            described: words.iter().map(|count| *count > 0).collect(),
            mean: words.iter().sum::<usize>() as f64 / words.len().max(1) as f64,
            quartiles: [at(1), at(2), at(3)],
        }
    }
}

/// Each pair of splits, the earlier one first.
fn overlaps(material: &Material, is_held: impl Fn(&ConceptId) -> bool) -> Vec<Overlap> {
    // How many mentions each surface has; `true`: held-out ones only.
    let count = |split: &SplitMentions, only_held: bool| {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (mention, concept) in &split.mentions {
            if concept.is_some_and(|concept| !only_held || is_held(&concept)) {
                *counts.entry(surface(&mention.text)).or_default() += 1;
            }
        }
        counts
    };
    let counts: Vec<[HashMap<String, usize>; 2]> =
        material.splits.iter().map(|split| [count(split, true), count(split, false)]).collect();
    let shared = |from: &HashMap<String, usize>, to: &HashMap<String, usize>| OverlapOf {
        surfaces: to.keys().map(|surface| from.contains_key(surface)).collect(),
        mentions: to
            .iter()
            .map(|(surface, count)| Share { hits: if from.contains_key(surface) { *count } else { 0 }, of: *count })
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
