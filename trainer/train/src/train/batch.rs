//! Micro-batches: the entities that each mention is compared with.

use super::config::{Config, Domain, NegativeKind, Negatives};
use super::examples::{Example, Pair};
use super::random::{Purpose, stream};
use crate::train::entity_inputs::{DomainId, EntityInputs, SequenceId};
use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_model::tokens::Encoded;
use rand::Rng;
use rand::seq::index;
use std::collections::{BTreeMap, HashMap};

/// The hard negatives of each mined example, nearest first, by the number of the example.
pub type HardNegatives = HashMap<usize, Vec<SequenceId>>;

/// The role of an entity for a mention in the loss of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// e+: the right entity.
    Positive,
    /// In P-: a negative.
    Negative,
    /// Left out of the loss: a negative of another mention, or another text of the right concept.
    Ignored,
}

impl Pairing {
    /// Whether the pair takes part in the loss.
    pub fn compared(self) -> bool {
        self != Self::Ignored
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
    /// `[mentions, entities]`: the teacher's score of each candidate; `None` for other entities,
    /// and without a teacher.
    pub teacher: Vec<Option<f32>>,
}

/// A micro-batch of mention-candidate pairs for the cross-encoder.
#[derive(Clone, Debug)]
pub struct RankBatch<'a> {
    /// The mentions.
    pub mentions: Vec<&'a Example>,
    /// The pairs, mention by mention.
    pub pairs: Vec<Encoded>,
    /// The most candidates of a mention.
    pub width: usize,
    /// `[mentions, width]`; the entries that are not ignored are `pairs`, in the same order.
    pub pairing: Vec<Pairing>,
}

/// A micro-batch of names for alignment.
#[derive(Clone, Debug)]
pub struct AlignBatch {
    /// Each name once for each of its concepts.
    pub names: Vec<(ConceptId, SequenceId)>,
}

/// Counts the rows of a pairing without a negative.
fn without_negatives(pairing: &[Pairing], width: usize) -> usize {
    pairing
        .chunks_exact(width.max(1))
        .filter(|row| !row.contains(&Pairing::Negative))
        .count()
}

impl RankBatch<'_> {
    /// Counts the mentions whose only candidate is the right entity; cross-entropy gives them no
    /// gradient.
    pub fn without_negatives(&self) -> usize {
        without_negatives(&self.pairing, self.width)
    }
}

impl LinkBatch<'_> {
    /// Counts the mentions without a negative; cross-entropy gives them no gradient.
    pub fn without_negatives(&self) -> usize {
        without_negatives(&self.pairing, self.entities.len())
    }

    /// The pairs that take part in the loss, mention by mention: mention, entity, role.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, Pairing)> + '_ {
        let width = self.entities.len().max(1);
        let all = self
            .pairing
            .iter()
            .enumerate()
            .map(move |(at, pairing)| (at / width, at % width, *pairing));
        all.filter(|(_, _, pairing)| *pairing != Pairing::Ignored)
    }
}

/// Builds a micro-batch of mentions with their positives and negatives. What is drawn for an
/// example depends only on the seed and on the position of the example in the run.
pub fn link_batch<'a>(
    config: &Config,
    inputs: &EntityInputs,
    examples: &[(usize, usize, &'a Example)],
    hard: &HardNegatives,
) -> LinkBatch<'a> {
    let mut entities = Entities::default();
    let drawn: Vec<(usize, Vec<usize>)> = examples
        .iter()
        .map(|(position, number, example)| {
            let mut random = stream(config.seed, Purpose::Example, *position as u64);
            let share = config.view.template_share;
            let positive = inputs
                .draw(example.concept, share, &mut random)
                .map(|sequence| entities.place(sequence));
            let hard = hard.get(number).map_or(&[][..], Vec::as_slice);
            let negatives = match &example.candidates {
                Some(listed) => listed
                    .concepts
                    .iter()
                    .filter_map(|concept| inputs.sequences_of(*concept).next())
                    .collect(),
                None => draw_negatives(
                    &config.negatives,
                    inputs,
                    example.concept,
                    share,
                    hard,
                    &mut random,
                ),
            };
            let negatives = negatives
                .into_iter()
                .map(|sequence| entities.place(sequence))
                .collect();
            // Every concept in `examples` has at least one sequence.
            (positive.unwrap_or_default(), negatives)
        })
        .collect();
    let width = entities.all.len();
    let mut pairing = vec![Pairing::Ignored; examples.len() * width];
    for ((row, (_, _, example)), (positive, negatives)) in pairing
        .chunks_exact_mut(width.max(1))
        .zip(examples)
        .zip(drawn)
    {
        if config.negatives.in_batch {
            row.fill(Pairing::Negative);
        }
        negatives
            .into_iter()
            .for_each(|at| row[at] = Pairing::Negative);
        for own in inputs.sequences_of(example.concept) {
            if let Some(at) = entities.places.get(&own) {
                row[*at] = Pairing::Ignored;
            }
        }
        row[positive] = Pairing::Positive;
    }
    let mut teacher = vec![None; pairing.len()];
    for (row, (_, _, example)) in teacher.chunks_exact_mut(width.max(1)).zip(examples) {
        let Some(listed) = &example.candidates else {
            continue;
        };
        for (concept, score) in listed.concepts.iter().zip(&listed.teacher) {
            let sequence = inputs.sequences_of(*concept).next();
            if let Some(at) = sequence.and_then(|sequence| entities.places.get(&sequence)) {
                row[*at] = Some(*score);
            }
        }
    }
    let mentions = examples.iter().map(|(_, _, example)| *example).collect();
    LinkBatch {
        mentions,
        entities: entities.all,
        pairing,
        teacher,
    }
}

/// Builds a micro-batch of mentions paired with their candidates.
///
/// # Errors
/// If a mention has no candidates.
pub fn rank_batch<'a>(inputs: &EntityInputs, examples: &[&'a Example]) -> Result<RankBatch<'a>> {
    let lists = examples.iter().map(|example| {
        let missing = || {
            Error::input(format!(
                "{}: expected candidates, found none",
                example.place
            ))
        };
        Ok(&example.candidates.as_ref().ok_or_else(missing)?.concepts)
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    let width = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    let (mut pairs, mut pairing) = (Vec::new(), vec![Pairing::Ignored; examples.len() * width]);
    for ((example, list), row) in examples
        .iter()
        .zip(lists)
        .zip(pairing.chunks_exact_mut(width.max(1)))
    {
        let right = inputs.sequences_of(example.concept).next();
        for (concept, place) in list.iter().zip(row) {
            // Candidate lists hold only concepts that have a text.
            let Some(sequence) = inputs.sequences_of(*concept).next() else {
                continue;
            };
            let is_right = *concept == example.concept;
            // Another concept with the same text is not a negative.
            if is_right || right != Some(sequence) {
                pairs.push(Encoded::pair(&example.mention, inputs.tokens(sequence)));
                *place = if is_right {
                    Pairing::Positive
                } else {
                    Pairing::Negative
                };
            }
        }
    }
    Ok(RankBatch {
        mentions: examples.to_vec(),
        pairs,
        width,
        pairing,
    })
}

/// The distinct entities of a batch, in the order of their first use.
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

/// A warning if the domains have fewer texts than the examples need as negatives.
pub fn few_negatives(
    config: &Config,
    inputs: &EntityInputs,
    examples: &[Example],
) -> Option<String> {
    let Negatives {
        kind,
        domain,
        count,
        ..
    } = config.negatives;
    if kind == NegativeKind::None || !config.data.candidates.as_os_str().is_empty() {
        return None;
    }
    let texts = |concept: &ConceptId| inputs.sequences_of(*concept).len();
    if domain != Domain::Inside {
        let trained = inputs.trained().filter(|_| domain == Domain::Trained);
        let all = trained.map_or(inputs.rows().sequences.len(), |members| {
            members.iter().map(texts).sum()
        });
        let poor = examples
            .iter()
            .filter(|example| all.saturating_sub(texts(&example.concept)) < count)
            .count();
        return (poor > 0).then(|| {
            format!(
                "{poor} examples have fewer than {count} negatives: only {all} texts are available"
            )
        });
    }
    let mut poor: BTreeMap<DomainId, (usize, usize)> = BTreeMap::new();
    let mut all: BTreeMap<DomainId, usize> = BTreeMap::new();
    for example in examples {
        let domain = inputs.domain(example.concept);
        let others = *all
            .entry(domain)
            .or_insert_with(|| inputs.members(domain).iter().map(texts).sum())
            - texts(&example.concept);
        if others < count {
            let (examples, least) = poor.entry(domain).or_insert((0, others));
            (*examples, *least) = (*examples + 1, others.min(*least));
        }
    }
    let shown = poor
        .iter()
        .take(3)
        .map(|(domain, (_, least))| format!("{} ({least})", inputs.name_of(*domain)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let (examples, more) = (
        poor.values().map(|(examples, _)| examples).sum::<usize>(),
        poor.len().saturating_sub(3),
    );
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (examples > 0).then(|| {
        format!(
            "{examples} examples have fewer than {count} negatives; texts of their domains: \
             {shown}{more}"
        )
    })
}

/// Draws the negatives of one mention without repetition, and without texts of its own concept. If
/// mining found too few hard negatives, random ones replace the missing ones.
fn draw_negatives(
    options: &Negatives,
    inputs: &EntityInputs,
    gold: ConceptId,
    template_share: f64,
    hard: &[SequenceId],
    random: &mut impl Rng,
) -> Vec<SequenceId> {
    let hard = &hard[..hard.len().min(options.mine_top)];
    let wanted = options.hard_count().min(hard.len());
    let mut drawn: Vec<SequenceId> = index::sample(random, hard.len(), wanted)
        .iter()
        .map(|at| hard[at])
        .collect();
    let all = options.random_count() + options.hard_count();
    // The number of attempts is bounded: a small knowledge base may have too few concepts.
    for _ in 0..20 * all {
        if drawn.len() == all {
            break;
        }
        let concept = inputs.draw_concept(options.domain, gold, random);
        if concept == gold {
            continue;
        }
        if let Some(sequence) = inputs.draw(concept, template_share, random)
            && !drawn.contains(&sequence)
            && !inputs.has(gold, sequence)
        {
            drawn.push(sequence);
        }
    }
    drawn
}

/// Builds a micro-batch of names, each with another name of the same concept.
pub fn align_batch(config: &Config, inputs: &EntityInputs, pairs: &[(usize, Pair)]) -> AlignBatch {
    let mut names = Vec::with_capacity(2 * pairs.len());
    for (position, pair) in pairs {
        let mut random = stream(config.seed, Purpose::Example, *position as u64);
        let others: Vec<SequenceId> = inputs
            .sequences_of(pair.concept)
            .filter(|name| *name != pair.name)
            .collect();
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
    /// The role of one name for another: positive if both name the same concept, ignored if both
    /// are the same text.
    pub fn pairing(&self, one: usize, other: usize) -> Pairing {
        let ((concept, name), (other_concept, other_name)) = (self.names[one], self.names[other]);
        match (concept == other_concept, name == other_name) {
            (_, true) => Pairing::Ignored,
            (true, false) => Pairing::Positive,
            (false, false) => Pairing::Negative,
        }
    }
}

/// The tokens of sequences.
pub fn tokens_of(
    inputs: &EntityInputs,
    sequences: impl IntoIterator<Item = SequenceId>,
) -> Vec<&Encoded> {
    sequences
        .into_iter()
        .map(|sequence| inputs.tokens(sequence))
        .collect()
}
