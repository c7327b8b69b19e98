//! Training examples: annotated mentions, or pairs of names.

use super::config::{Config, Task};
use super::random::{Purpose, stream};
use crate::train::entity_inputs::{EntityInputs, SequenceId};
use pel_corpora::candidate_lists::{CandidateList, CandidateLists};
use pel_corpora::corpus::{Corpus, CorpusMention, Document, PlacedMention};
use pel_kb::ConceptId;
use pel_kb::error::{Context, Error, Result};
use pel_model::tokens::{Encoded, Tokens, ViewOptions};
use pel_terminologies::import::report::Report;
use rand::seq::SliceRandom;
use std::collections::HashMap;

/// A mention and its right concept.
#[derive(Clone, Debug)]
pub struct Example {
    /// Its tokens.
    pub mention: Encoded,
    /// The concept.
    pub concept: ConceptId,
    /// Its document, span and text, for error messages.
    pub place: String,
    /// Its candidates, where a candidate list is given.
    pub candidates: Option<Candidates>,
}

/// The candidates of a mention, including the right concept.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    /// The concepts, best first.
    pub concepts: Vec<ConceptId>,
    /// The teacher's score of each candidate; empty without a teacher.
    pub teacher: Vec<f32>,
}

/// Reasons to skip a mention.
mod reason {
    pub const NIL: &str = "mention without a concept (natural NIL)";
    pub const SEVERAL: &str = "mention with several concepts";
    pub const MISSING: &str = "mention whose concept is not in the knowledge base";
    pub const EMPTY: &str = "mention that is empty after normalising";
    pub const WORDLESS: &str = "mention whose concept has no text after normalising";
    pub const OTHER_DOMAIN: &str = "mention whose concept is of another domain";
    pub const UNLISTED: &str = "mention that is not in the candidate list";
    pub const WITHOUT_GOLD: &str = "mention whose candidates lack the right concept";
}

/// Reads the training mentions of a split, and counts the skipped ones by reason.
///
/// # Errors
/// If the corpus cannot be read, or no training mention is left.
pub fn mentions(
    config: &Config,
    inputs: &EntityInputs,
    tokens: &Tokens,
    view: &ViewOptions,
) -> Result<(Vec<Example>, Report)> {
    let (folder, split) = (&config.data.corpus, &config.data.split);
    let lists = match config.data.candidates.as_os_str().is_empty() {
        true => None,
        false => Some(CandidateLists::read(&config.data.candidates, &inputs.kb)?),
    };
    let Corpus {
        documents,
        mentions,
        mut report,
    } = Corpus::read(folder, split)?;
    // A mention may be annotated with several concepts.
    let mut annotated: HashMap<Place, Vec<&str>> = HashMap::new();
    for placed in mentions.iter().filter(|_| lists.is_some()) {
        annotated
            .entry(place_of(placed))
            .or_default()
            .extend(placed.mention.id.as_deref());
    }
    let selection = Selection {
        config,
        inputs,
        lists: lists.as_ref(),
        annotated: &annotated,
    };
    let (mut reader, mut examples) = (view.reader(), Vec::new());
    for placed in &mentions {
        let document = &documents[placed.document];
        let place = || {
            format!(
                "{} {}..{} {:?}",
                document.doc_id, placed.mention.start, placed.mention.end, placed.mention.text
            )
        };
        let tokens_of = || {
            let mention = reader.mention(&document.text, placed.span)?;
            view.mention(tokens, &mention).context(place)
        };
        match selection.example(document, placed, tokens_of, place)? {
            Ok(example) => examples.push(example),
            Err(Skipped { reason, id: None }) => report.skip(reason, place),
            Err(Skipped {
                reason,
                id: Some(id),
            }) => report.skip(reason, || format!("{id}: {}", place())),
        }
    }
    if examples.is_empty() {
        let folder = folder.display();
        let why = if report.skipped_in_all() == 0 {
            "the split is empty".to_owned()
        } else {
            report.reasons()
        };
        return Err(Error::input(format!(
            "{folder}: the split {split} has no training mention: {why}"
        )));
    }
    Ok((examples, report))
}

/// Document, start and end of a mention.
type Place = (usize, usize, usize);

fn place_of(placed: &PlacedMention) -> Place {
    let CorpusMention { start, end, .. } = placed.mention;
    (placed.document, start, end)
}

/// Why a mention is no example.
struct Skipped<'a> {
    reason: &'static str,
    /// Its concept, if the knowledge base lacks it.
    id: Option<&'a str>,
}

impl From<&'static str> for Skipped<'_> {
    fn from(reason: &'static str) -> Self {
        Self { reason, id: None }
    }
}

/// What decides whether a mention is an example.
struct Selection<'a> {
    config: &'a Config,
    inputs: &'a EntityInputs,
    lists: Option<&'a CandidateLists>,
    /// The concepts of each mention.
    annotated: &'a HashMap<Place, Vec<&'a str>>,
}

impl Selection<'_> {
    /// The example of a mention, or why it is none. `tokens` reads the mention's tokens.
    fn example<'m>(
        &self,
        document: &Document,
        placed: &'m PlacedMention,
        tokens: impl FnOnce() -> Result<Option<Encoded>>,
        place: impl Fn() -> String,
    ) -> Result<std::result::Result<Example, Skipped<'m>>> {
        let Self { config, inputs, .. } = *self;
        let Some(id) = &placed.mention.id else {
            return Ok(Err(reason::NIL.into()));
        };
        if !placed.mention.other_ids.is_empty() {
            return Ok(Err(reason::SEVERAL.into()));
        }
        let Some(concept) = inputs.kb.find(id) else {
            let (reason, id) = (reason::MISSING, Some(id.as_str()));
            return Ok(Err(Skipped { reason, id }));
        };
        let Some(mention) = tokens()? else {
            return Ok(Err(reason::EMPTY.into()));
        };
        if inputs.sequences_of(concept).len() == 0 {
            return Ok(Err(reason::WORDLESS.into()));
        }
        if !inputs.is_wanted(concept, &config.data.only_domains) {
            return Ok(Err(reason::OTHER_DOMAIN.into()));
        }
        let candidates = match self.lists {
            None => None,
            Some(lists) => match self.candidates(lists, document, placed, concept)? {
                Ok(found) => Some(found),
                Err(reason) => return Ok(Err(reason.into())),
            },
        };
        Ok(Ok(Example {
            mention,
            concept,
            place: place(),
            candidates,
        }))
    }

    /// The candidates of a mention, or why it has none.
    fn candidates(
        &self,
        lists: &CandidateLists,
        document: &Document,
        placed: &PlacedMention,
        concept: ConceptId,
    ) -> Result<std::result::Result<Candidates, &'static str>> {
        let config = self.config;
        let place = place_of(placed);
        let (_, start, end) = place;
        let Some(list) = lists.of(&document.doc_id, start, end, &self.annotated[&place])? else {
            return Ok(Err(reason::UNLISTED));
        };
        let distils = config.data.task == Task::Link && config.distillation.own_share < 1.0;
        if distils && list.teacher.is_empty() && !list.candidates.is_empty() {
            let path = config.data.candidates.display();
            return Err(Error::input(format!(
                "{path}: line {}: the candidates have no teacher scores; `pel candidates --ranker` \
                 adds them",
                list.line
            )));
        }
        Ok(with_gold(list, concept, config, self.inputs).ok_or(reason::WITHOUT_GOLD))
    }
}

/// The first candidates of a list, including the right concept; `None` if the list lacks it and it
/// may not be added. It is never added under distillation, because the teacher has no score for it.
fn with_gold(
    list: &CandidateList,
    gold: ConceptId,
    config: &Config,
    inputs: &EntityInputs,
) -> Option<Candidates> {
    let has_text = |concept: &ConceptId| inputs.sequences_of(*concept).len() > 0;
    let scored = list
        .candidates
        .iter()
        .enumerate()
        .filter(|(_, concept)| has_text(concept))
        .take(config.data.top);
    let (places, mut concepts): (Vec<usize>, Vec<ConceptId>) =
        scored.map(|(at, concept)| (at, *concept)).unzip();
    let teacher: Vec<f32> = places
        .iter()
        .filter_map(|at| list.teacher.get(*at).copied())
        .collect();
    if !concepts.contains(&gold) {
        if !config.data.add_gold || config.distillation.own_share < 1.0 {
            return None;
        }
        concepts.truncate(config.data.top - 1);
        concepts.push(gold);
    }
    Some(Candidates { concepts, teacher })
}

/// Keeps at most `most` examples with the same tokens and the same concept; all if `most` is 0.
pub fn without_repeats(examples: Vec<Example>, most: usize) -> Vec<Example> {
    if most == 0 {
        return examples;
    }
    let mut seen: HashMap<(Vec<u32>, ConceptId), usize> = HashMap::new();
    let mut keep = |example: &Example| {
        let times = seen
            .entry((example.mention.ids.clone(), example.concept))
            .or_default();
        *times += 1;
        *times <= most
    };
    examples
        .into_iter()
        .filter(|example| keep(example))
        .collect()
}

/// The training mentions of a configuration, and the report of skipped ones.
///
/// # Errors
/// As [`mentions`].
pub fn chosen(
    config: &Config,
    inputs: &EntityInputs,
    tokens: &Tokens,
    view: &ViewOptions,
) -> Result<(Vec<Example>, Report)> {
    let (all, report) = mentions(config, inputs, tokens, view)?;
    Ok((
        subset(
            without_repeats(all, config.data.max_repeats),
            config.data.mentions,
            config,
        ),
        report,
    ))
}

/// Samples `count` examples by the seed, in their original order; all if `count` is 0.
pub fn subset(examples: Vec<Example>, count: usize, config: &Config) -> Vec<Example> {
    if count == 0 || count >= examples.len() {
        return examples;
    }
    let mut places: Vec<usize> = (0..examples.len()).collect();
    places.shuffle(&mut stream(config.seed, Purpose::Subset, 0));
    let mut kept = vec![false; examples.len()];
    places[..count].iter().for_each(|at| kept[*at] = true);
    examples
        .into_iter()
        .zip(kept)
        .filter_map(|(example, kept)| kept.then_some(example))
        .collect()
}

/// A name to align with another name of its concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The concept.
    pub concept: ConceptId,
    /// One of its names; the other one is drawn for each batch.
    pub name: SequenceId,
}

/// One pair for each name of a concept except its first.
///
/// # Errors
/// If no concept has two names.
pub fn pairs(inputs: &EntityInputs) -> Result<Vec<Pair>> {
    let of = |concept| {
        inputs
            .sequences_of(concept)
            .skip(1)
            .map(move |name| Pair { concept, name })
    };
    let pairs: Vec<Pair> = inputs
        .kb
        .iter()
        .flat_map(|(concept, _)| of(concept))
        .collect();
    if pairs.is_empty() {
        return Err(Error::input(
            "expected concepts with at least two names to align, found none",
        ));
    }
    Ok(pairs)
}
