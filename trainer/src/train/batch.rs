//! Batches: which entities each mention of a micro-batch is compared with.

use super::config::{Config, Domain, NegativeKind, Negatives};
use super::examples::{Example, Pair};
use super::random::{Purpose, stream};
use crate::train::entity_inputs::{Catalogue, DomainId, SequenceId};
use pel_shared::error::{Error, Result};
use pel_shared::kb::ConceptId;
use pel_shared::tokens::Encoded;
use rand::Rng;
use rand::seq::index;
use std::collections::{BTreeMap, HashMap};

/// For each example that a mining pass has searched for: the nearest wrong sequences, nearest first.
pub type HardNegatives = HashMap<usize, Vec<SequenceId>>;

/// What a mention and an entity of a batch are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// e+
    Positive,
    /// In P-.
    Negative,
    /// Not compared: it is not this mention's, or it is its right entity in other words.
    Apart,
}

impl Pairing {
    /// Whether the two are compared.
    pub fn compared(self) -> bool {
        self != Self::Apart
    }
}

/// A micro-batch of mentions.
#[derive(Clone, Debug)]
pub struct LinkBatch<'a> {
    /// The mentions.
    pub mentions: Vec<&'a Example>,
    /// The entities, each once.
    pub entities: Vec<SequenceId>,
    /// `[mentions, entities]`
    pub pairing: Vec<Pairing>,
    /// `[mentions, entities]`: the teacher's scores of a mention's candidates; nothing where there is no teacher.
    pub taught: Vec<Option<f32>>,
}

/// A micro-batch of mentions with their candidates, pair by pair.
#[derive(Clone, Debug)]
pub struct RankBatch<'a> {
    /// The mentions.
    pub mentions: Vec<&'a Example>,
    /// The pairs, mention by mention.
    pub pairs: Vec<Encoded>,
    /// The most candidates of a mention.
    pub width: usize,
    /// `[mentions, width]`; what is compared are the pairs, in their order.
    pub pairing: Vec<Pairing>,
}

/// A micro-batch of pairs of names.
#[derive(Clone, Debug)]
pub struct AlignBatch {
    /// The names, each once for each concept.
    pub names: Vec<(ConceptId, SequenceId)>,
}

/// Rows of a pairing that have no negative.
fn without_negatives(pairing: &[Pairing], width: usize) -> usize {
    pairing.chunks_exact(width.max(1)).filter(|row| !row.contains(&Pairing::Negative)).count()
}

impl RankBatch<'_> {
    /// Mentions whose right entity is the only candidate: the ranker learns nothing from them.
    pub fn without_negatives(&self) -> usize {
        without_negatives(&self.pairing, self.width)
    }
}

impl LinkBatch<'_> {
    /// Mentions that are compared with their right entity alone: cross-entropy learns nothing from them.
    pub fn without_negatives(&self) -> usize {
        without_negatives(&self.pairing, self.entities.len())
    }

    /// The pairs that are compared, mention by mention.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, Pairing)> + '_ {
        let width = self.entities.len().max(1);
        let all = self.pairing.iter().enumerate().map(move |(at, pairing)| (at / width, at % width, *pairing));
        all.filter(|(_, _, pairing)| *pairing != Pairing::Apart)
    }
}

/// Puts mentions together with their entities. What is drawn for an example depends on the seed and on the example's
/// position in the run alone.
pub fn link_batch<'a>(
    config: &Config,
    catalogue: &Catalogue,
    examples: &[(usize, usize, &'a Example)],
    hard: &HardNegatives,
) -> LinkBatch<'a> {
    let mut entities = Entities::default();
    let drawn: Vec<(usize, Vec<usize>)> = examples
        .iter()
        .map(|(position, number, example)| {
            let mut random = stream(config.seed, Purpose::Example, *position as u64);
            let share = config.view.template_share;
            let positive = catalogue.draw(example.concept, share, &mut random).map(|sequence| entities.place(sequence));
            let hard = hard.get(number).map_or(&[][..], Vec::as_slice);
            let negatives = match &example.candidates {
                Some(listed) => {
                    listed.concepts.iter().filter_map(|concept| catalogue.sequences_of(*concept).next()).collect()
                }
                None => draw_negatives(&config.negatives, catalogue, example.concept, share, hard, &mut random),
            };
            let negatives = negatives.into_iter().map(|sequence| entities.place(sequence)).collect();
            // `examples` holds only concepts that have a sequence.
            (positive.unwrap_or_default(), negatives)
        })
        .collect();
    let width = entities.all.len();
    let mut pairing = vec![Pairing::Apart; examples.len() * width];
    for ((row, (_, _, example)), (positive, negatives)) in
        pairing.chunks_exact_mut(width.max(1)).zip(examples).zip(drawn)
    {
        if config.negatives.in_batch {
            row.fill(Pairing::Negative);
        }
        negatives.into_iter().for_each(|at| row[at] = Pairing::Negative);
        for own in catalogue.sequences_of(example.concept) {
            if let Some(at) = entities.places.get(&own) {
                row[*at] = Pairing::Apart;
            }
        }
        row[positive] = Pairing::Positive;
    }
    let mut taught = vec![None; pairing.len()];
    for (row, (_, _, example)) in taught.chunks_exact_mut(width.max(1)).zip(examples) {
        let Some(listed) = &example.candidates else { continue };
        for (concept, score) in listed.concepts.iter().zip(&listed.teacher) {
            let sequence = catalogue.sequences_of(*concept).next();
            if let Some(at) = sequence.and_then(|sequence| entities.places.get(&sequence)) {
                row[*at] = Some(*score);
            }
        }
    }
    let mentions = examples.iter().map(|(_, _, example)| *example).collect();
    LinkBatch { mentions, entities: entities.all, pairing, taught }
}

/// Pairs mentions with their candidates.
///
/// # Errors
/// If a mention has no candidates.
pub fn rank_batch<'a>(catalogue: &Catalogue, examples: &[&'a Example]) -> Result<RankBatch<'a>> {
    let lists = examples.iter().map(|example| {
        let missing = || Error::input(format!("{}: it has no candidates", example.place));
        Ok(&example.candidates.as_ref().ok_or_else(missing)?.concepts)
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    let width = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    let (mut pairs, mut pairing) = (Vec::new(), vec![Pairing::Apart; examples.len() * width]);
    for ((example, list), row) in examples.iter().zip(lists).zip(pairing.chunks_exact_mut(width.max(1))) {
        let right = catalogue.sequences_of(example.concept).next();
        for (concept, place) in list.iter().zip(row) {
            // Concepts without a text are in no list.
            let Some(sequence) = catalogue.sequences_of(*concept).next() else { continue };
            let is_right = *concept == example.concept;
            // Another concept with the very same text is no negative.
            if is_right || right != Some(sequence) {
                pairs.push(Encoded::pair(&example.mention, catalogue.tokens(sequence)));
                *place = if is_right { Pairing::Positive } else { Pairing::Negative };
            }
        }
    }
    Ok(RankBatch { mentions: examples.to_vec(), pairs, width, pairing })
}

/// The different entities of a batch in the order of their coming.
#[derive(Default)]
struct Entities {
    all: Vec<SequenceId>,
    places: HashMap<SequenceId, usize>,
}

impl Entities {
    fn place(&mut self, sequence: SequenceId) -> usize {
        *self.places.entry(sequence).or_insert_with(|| {
            self.all.push(sequence);
            self.all.len() - 1
        })
    }
}

/// What is to be said if examples want more negatives than the domains have texts that these come from.
pub fn few_negatives(config: &Config, catalogue: &Catalogue, examples: &[Example]) -> Option<String> {
    let Negatives { kind, domain, count, .. } = config.negatives;
    if kind == NegativeKind::None || !config.data.candidates.as_os_str().is_empty() {
        return None;
    }
    let texts = |concept: &ConceptId| catalogue.sequences_of(*concept).len();
    if domain != Domain::Inside {
        let trained = catalogue.trained().filter(|_| domain == Domain::Trained);
        let all = trained.map_or(catalogue.rows().sequences.len(), |members| members.iter().map(texts).sum());
        let poor = examples.iter().filter(|example| all.saturating_sub(texts(&example.concept)) < count).count();
        return (poor > 0).then(|| {
            format!("{poor} examples have fewer than {count} negatives, because they come from {all} texts alone")
        });
    }
    let mut poor: BTreeMap<DomainId, (usize, usize)> = BTreeMap::new();
    let mut all: BTreeMap<DomainId, usize> = BTreeMap::new();
    for example in examples {
        let domain = catalogue.domain(example.concept);
        let others = *all.entry(domain).or_insert_with(|| catalogue.members(domain).iter().map(texts).sum())
            - texts(&example.concept);
        if others < count {
            let (examples, least) = poor.entry(domain).or_insert((0, others));
            (*examples, *least) = (*examples + 1, others.min(*least));
        }
    }
    let shown = poor.iter().take(3).map(|(domain, (_, least))| format!("{} ({least})", catalogue.name_of(*domain)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let (examples, more) = (poor.values().map(|(examples, _)| examples).sum::<usize>(), poor.len().saturating_sub(3));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (examples > 0).then(|| {
        format!("{examples} examples have fewer than {count} negatives, because their domain has no more texts: {shown}{more}")
    })
}

/// Draws the negatives of one mention, each once; never a text of its own concept. Where mining found too few, random ones
/// take the place of hard ones.
fn draw_negatives(
    options: &Negatives,
    catalogue: &Catalogue,
    gold: ConceptId,
    template_share: f64,
    hard: &[SequenceId],
    random: &mut impl Rng,
) -> Vec<SequenceId> {
    let hard = &hard[..hard.len().min(options.mine_top)];
    let wanted = options.hard_count().min(hard.len());
    let mut drawn: Vec<SequenceId> = index::sample(random, hard.len(), wanted).iter().map(|at| hard[at]).collect();
    let all = options.random_count() + options.hard_count();
    // A small knowledge base may not have so many.
    for _ in 0..20 * all {
        if drawn.len() == all {
            break;
        }
        let concept = catalogue.draw_concept(options.domain, gold, random);
        if concept == gold {
            continue;
        }
        if let Some(sequence) = catalogue.draw(concept, template_share, random)
            && !drawn.contains(&sequence)
            && !catalogue.has(gold, sequence)
        {
            drawn.push(sequence);
        }
    }
    drawn
}

/// Puts names together with another name of their concept each.
pub fn align_batch(config: &Config, catalogue: &Catalogue, pairs: &[(usize, Pair)]) -> AlignBatch {
    let mut names = Vec::with_capacity(2 * pairs.len());
    for (position, pair) in pairs {
        let mut random = stream(config.seed, Purpose::Example, *position as u64);
        let others: Vec<SequenceId> = catalogue.sequences_of(pair.concept).filter(|name| *name != pair.name).collect();
        if others.is_empty() {
            continue;
        }
        for name in [pair.name, others[random.random_range(0..others.len())]] {
            if !names.contains(&(pair.concept, name)) {
                names.push((pair.concept, name));
            }
        }
    }
    AlignBatch { names }
}

impl AlignBatch {
    /// What two names are to each other: names of one concept belong together; the same text under two concepts says
    /// nothing.
    pub fn pairing(&self, one: usize, other: usize) -> Pairing {
        let ((concept, name), (other_concept, other_name)) = (self.names[one], self.names[other]);
        match (concept == other_concept, name == other_name) {
            (_, true) => Pairing::Apart,
            (true, false) => Pairing::Positive,
            (false, false) => Pairing::Negative,
        }
    }
}

/// The tokens of sequences.
pub fn tokens_of(catalogue: &Catalogue, sequences: impl IntoIterator<Item = SequenceId>) -> Vec<&Encoded> {
    sequences.into_iter().map(|sequence| catalogue.tokens(sequence)).collect()
}
