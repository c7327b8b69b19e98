//! Proposes types to hold out: a given share of mentions, similar to the whole (appendix D).

use super::statistics::{Subset, words};
use super::{Material, SemanticType};
use pel_index::metrics::Share;
use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// The types of a knowledge base and a proposed set.
#[derive(Clone, Debug, Serialize)]
pub struct Suggestion {
    /// The desired share of linkable mentions.
    pub target: f64,
    /// All types with concepts, most mentions first.
    pub types: Vec<TypeCounts>,
    /// The proposed set, as for `--types`.
    pub proposed: Vec<SemanticType>,
    /// Its share of mentions in each split.
    pub shares: Vec<Share>,
    /// Its zero-shot share in each split.
    pub zero_shot: Vec<Share>,
    /// Number of its concepts.
    pub concepts: usize,
    /// Its distance: the mean over splits of |share - target| / target, plus the relative
    /// difference from the whole in zero-shot share (without training) and in mean description
    /// length of mentioned concepts.
    pub off: f64,
}

/// The statistics of a type.
#[derive(Clone, Debug, Serialize)]
pub struct TypeCounts {
    /// The type.
    #[serde(flatten)]
    pub semantic_type: SemanticType,
    /// Concepts.
    pub concepts: usize,
    /// Its share of the linkable mentions in each split.
    pub mentions: Vec<Share>,
    /// Its zero-shot share in each split.
    pub zero_shot: Vec<Share>,
}

impl TypeCounts {
    /// Its share over all splits.
    pub fn share(&self) -> Share {
        self.mentions.iter().copied().sum()
    }
}

/// Maximum number of types in a set; all their subsets are tried.
const TRIED: usize = 16;
/// Relative deviation of the share from the target that counts as equal.
const TOLERANCE: f64 = 0.1;

/// Sums over concepts.
#[derive(Clone, Debug, Default)]
struct Sums {
    /// By split.
    mentions: Vec<usize>,
    zero_shot: Vec<usize>,
    /// Concepts with mentions, and the words of their descriptions.
    entities: usize,
    words: usize,
    /// All concepts.
    concepts: usize,
}

impl Sums {
    fn new(splits: usize) -> Self {
        Self {
            mentions: vec![0; splits],
            zero_shot: vec![0; splits],
            ..Self::default()
        }
    }

    fn add(&mut self, other: &Self) {
        let add = |to: &mut Vec<usize>, from: &[usize]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from)
        };
        add(&mut self.mentions, &other.mentions);
        add(&mut self.zero_shot, &other.zero_shot);
        self.entities += other.entities;
        self.words += other.words;
        self.concepts += other.concepts;
    }

    fn mean_words(&self) -> f64 {
        self.words as f64 / self.entities.max(1) as f64
    }
}

/// Counts every type and proposes a set of types with about `target` of the linkable mentions, most
/// similar to the whole.
///
/// Tries all subsets of the 16 largest types below the target.
///
/// # Errors
/// If no concept has a type, or every type with mentions exceeds the target.
pub fn suggest(material: &Material, target: f64) -> Result<Suggestion> {
    let trained = material.trained();
    let whole: Vec<Subset> = material
        .splits
        .iter()
        .map(|split| Subset::new(split, &trained, |_| true))
        .collect();
    let types = type_counts(material, &trained, &whole);
    if types.is_empty() {
        return Err(Error::input(
            "expected concepts with types, found none in the knowledge base",
        ));
    }
    let fits = |one: &&TypeCounts| {
        let share = one.share();
        share.hits > 0 && share.value() <= Some(target * (1.0 + TOLERANCE))
    };
    let tried: Vec<&TypeCounts> = types.iter().filter(fits).take(TRIED).collect();
    let places: Vec<usize> = (tried.iter())
        .filter_map(|one| {
            material
                .types
                .all
                .iter()
                .position(|other| *other == one.semantic_type)
        })
        .collect();
    let (by_mask, all) = sums(material, &trained, &places);
    let best = (1u32..1 << tried.len())
        .map(|mask| {
            let mut sums = Sums::new(material.splits.len());
            by_mask
                .iter()
                .filter(|(own, _)| *own & mask != 0)
                .for_each(|(_, one)| sums.add(one));
            let distance = ((ratio(&sums.mentions, &all.mentions) - target) / target).abs();
            // Prefer sets near the target, then similar ones.
            let far = if distance <= TOLERANCE { 0.0 } else { distance };
            (far, off(&sums, &all, target, material.train), mask, sums)
        })
        .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let Some((_, off, mask, sums)) = best else {
        return Err(Error::input(format!(
            "expected a type with at most {:.1} % of the linkable mentions, found none; use \
             --types or a larger --target",
            100.0 * target
        )));
    };
    let proposed = tried
        .iter()
        .enumerate()
        .filter(|(at, _)| mask >> at & 1 == 1);
    let mut proposed: Vec<SemanticType> =
        proposed.map(|(_, one)| one.semantic_type.clone()).collect();
    proposed.sort();
    let shares = |hits: &[usize], of: &[usize]| {
        hits.iter()
            .zip(of)
            .map(|(hits, of)| Share {
                hits: *hits,
                of: *of,
            })
            .collect::<Vec<_>>()
    };
    Ok(Suggestion {
        target,
        proposed,
        shares: shares(&sums.mentions, &all.mentions),
        zero_shot: shares(&sums.zero_shot, &sums.mentions),
        concepts: sums.concepts,
        off,
        types,
    })
}

fn type_counts(
    material: &Material,
    trained: &HashSet<ConceptId>,
    whole: &[Subset],
) -> Vec<TypeCounts> {
    let mut types: Vec<TypeCounts> = Vec::new();
    for (at, semantic_type) in material.types.all.iter().enumerate() {
        let has = |concept: &ConceptId| material.types.of_concept[concept.index()].contains(&at);
        let subsets: Vec<Subset> = material
            .splits
            .iter()
            .map(|split| Subset::new(split, trained, has))
            .collect();
        types.push(TypeCounts {
            semantic_type: semantic_type.clone(),
            concepts: material
                .types
                .of_concept
                .iter()
                .filter(|own| own.contains(&at))
                .count(),
            mentions: subsets
                .iter()
                .zip(whole)
                .map(|(own, whole)| Share {
                    hits: own.mentions,
                    of: whole.mentions,
                })
                .collect(),
            zero_shot: subsets.iter().map(|own| own.zero_shot).collect(),
        });
    }
    types.sort_by_key(|one| std::cmp::Reverse((one.share().hits, one.concepts)));
    types
}

/// The sums by exact subset of the types at `places` (one bit each), and over all concepts.
fn sums(
    material: &Material,
    trained: &HashSet<ConceptId>,
    places: &[usize],
) -> (BTreeMap<u32, Sums>, Sums) {
    let splits = material.splits.len();
    let mut of_concept: Vec<Sums> = vec![Sums::new(splits); material.kb.kb.len()];
    for (split, at) in material.splits.iter().zip(0..) {
        for concept in split.mentions.iter().filter_map(|(_, concept)| *concept) {
            let own = &mut of_concept[concept.index()];
            own.mentions[at] += 1;
            own.zero_shot[at] += usize::from(!trained.contains(&concept));
        }
    }
    let (mut by_mask, mut all) = (BTreeMap::new(), Sums::new(splits));
    for ((at, concept), own) in material.kb.kb.iter().zip(&mut of_concept) {
        own.concepts = 1;
        if own.mentions.iter().any(|count| *count > 0) {
            (own.entities, own.words) = (1, words(concept));
        }
        let has = |place: &usize| material.types.of_concept[at.index()].contains(place);
        let mask = places
            .iter()
            .enumerate()
            .map(|(bit, place)| u32::from(has(place)) << bit)
            .sum();
        by_mask
            .entry(mask)
            .or_insert_with(|| Sums::new(splits))
            .add(own);
        all.add(own);
    }
    (by_mask, all)
}

fn ratio(part: &[usize], whole: &[usize]) -> f64 {
    part.iter().sum::<usize>() as f64 / whole.iter().sum::<usize>().max(1) as f64
}

/// The distance of a set from the whole; see [`Suggestion::off`].
fn off(sums: &Sums, all: &Sums, target: f64, train: usize) -> f64 {
    let part = |hits: usize, of: usize| hits as f64 / of.max(1) as f64;
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let splits = 0..all.mentions.len();
    let share = |at: usize| (part(sums.mentions[at], all.mentions[at]) - target).abs() / target;
    let zero_shot = |at: usize| {
        let (own, whole) = (
            part(sums.zero_shot[at], sums.mentions[at]),
            part(all.zero_shot[at], all.mentions[at]),
        );
        (whole > 0.0).then(|| (own - whole).abs() / whole)
    };
    let length = match all.mean_words() {
        0.0 => 0.0,
        whole => (sums.mean_words() - whole).abs() / whole,
    };
    mean(splits.clone().map(share).collect())
        + mean(
            splits
                .filter(|at| *at != train)
                .filter_map(zero_shot)
                .collect(),
        )
        + length
}
