//! The second stage (BLINK, section 4.2): a ranker puts a retriever's first candidates into order.

use crate::data::split::Query;
use crate::data::split::Split;
use crate::io::interrupt;
use crate::io::progress::Progress;
use crate::io::resume::{ResumedWork, WorkFolder};
use crate::retrieve::Retriever;
use pel_shared::error::Result;
use pel_shared::kb::{ConceptId, KnowledgeBase};
use pel_shared::lexical::Ranked;
use pel_shared::model::cross_encoder::{Ranker, reorder};
use pel_shared::tokens::Encoded;
use std::cell::RefCell;
use std::collections::HashMap;

/// Pairs that are scored between two signs of life.
const PAIRS: usize = 512;

/// A ranker over a knowledge base.
pub struct Reranker<'a> {
    ranker: &'a Ranker,
    kb: &'a KnowledgeBase,
    /// Concepts that have been met; nothing for one without a readable name.
    entities: RefCell<HashMap<ConceptId, Option<Encoded>>>,
}

impl<'a> Reranker<'a> {
    /// Nothing is computed yet.
    pub fn new(ranker: &'a Ranker, kb: &'a KnowledgeBase) -> Self {
        Self { ranker, kb, entities: RefCell::default() }
    }

    /// The score of each candidate of each mention; a mention of which nothing is left has none, and a concept without a readable
    /// name the lowest. `done` is called with the number of mentions dealt with.
    ///
    /// # Errors
    /// If a mention cannot be encoded, the device fails, or `done` does.
    ///
    /// # Panics
    /// If there is not one list for each mention.
    pub fn scores(
        &self,
        queries: &[Query<'_>],
        candidates: &[Vec<ConceptId>],
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Vec<f32>>> {
        assert_eq!(queries.len(), candidates.len(), "one list for each mention");
        let (mut reader, mut all) = (self.ranker.view().reader(), Vec::with_capacity(queries.len()));
        let (mut pairs, mut waiting): (Vec<Encoded>, Vec<Vec<Option<usize>>>) = (Vec::new(), Vec::new());
        for (at, (query, list)) in queries.iter().zip(candidates).enumerate() {
            let mention = self.ranker.mention(&reader.mention(query.text, query.span)?)?;
            waiting.push(match mention {
                None => Vec::new(),
                Some(mention) => list.iter().map(|concept| self.pair(&mention, *concept, &mut pairs)).collect(),
            });
            if pairs.len() < PAIRS && at + 1 < queries.len() {
                continue;
            }
            interrupt::check()?;
            let scores = self.ranker.scores(&pairs)?;
            let finished = waiting.len();
            let score = |place: Option<usize>| place.map_or(f32::NEG_INFINITY, |place| scores[place]);
            all.extend(waiting.drain(..).map(|places| places.into_iter().map(score).collect()));
            pairs.clear();
            done(finished)?;
        }
        Ok(all)
    }

    /// Adds a pair, and gives its place.
    fn pair(&self, mention: &Encoded, concept: ConceptId, pairs: &mut Vec<Encoded>) -> Option<usize> {
        let mut entities = self.entities.borrow_mut();
        let entity = entities.entry(concept).or_insert_with(|| self.ranker.entity(self.kb.get(concept)?).ok());
        pairs.push(Encoded::pair(mention, entity.as_ref()?));
        Some(pairs.len() - 1)
    }
}

/// Where the scores of a run that was stopped are kept, and what stands for everything that they depend on.
pub struct Kept<'a> {
    /// The folder.
    pub work: &'a WorkFolder,
    /// A hash of the ranker, the mentions and the candidates.
    pub key: blake3::Hash,
}

/// What is kept in place of the scores of a mention of which nothing is left.
const NO_MENTION: f32 = f32::INFINITY;

/// A ranker's scores of the first `k` candidates of each mention of a split; those that an earlier run has kept are not computed
/// again.
///
/// # Errors
/// If a mention cannot be encoded, the device or the work folder fails, or the user stops the work.
pub fn scores(
    reranker: &Reranker<'_>,
    split: &Split,
    ranked: &[Ranked],
    k: usize,
    kept: Option<&Kept<'_>>,
) -> Result<Vec<Vec<f32>>> {
    let first = |ranked: &Ranked| ranked.iter().take(k).map(|(concept, _)| *concept).collect();
    let lists: Vec<Vec<ConceptId>> = ranked.iter().map(first).collect();
    let queries: Vec<Query<'_>> = split.queries().collect();
    let piece = (PAIRS / k.max(1)).max(1);
    let sizes: Vec<u64> =
        lists.chunks(piece).map(|lists| lists.iter().map(|list| 4 * list.len() as u64).sum()).collect();
    let mut begun = kept.map(|kept| kept.work.open(&kept.key, &sizes)).transpose()?;
    let mut all = match &mut begun {
        Some(begun) => read(begun, &lists[..(begun.done() * piece).min(lists.len())])?,
        None => Vec::new(),
    };
    let mut progress = Progress::new("ranking", queries.len() as u64, "mentions");
    progress.resume_at(all.len() as u64);
    for (queries, lists) in queries.chunks(piece).zip(lists.chunks(piece)).skip(all.len().div_ceil(piece)) {
        let scores = reranker.scores(queries, lists, &mut |mentions| {
            progress.advance(mentions as u64);
            Ok(())
        })?;
        if let Some(begun) = &mut begun {
            let values = scores
                .iter()
                .zip(lists)
                .flat_map(|(scores, list)| (0..list.len()).map(|at| scores.get(at).copied().unwrap_or(NO_MENTION)));
            let values: Vec<f32> = values.collect();
            begun.add(bytemuck::cast_slice(&values))?;
        }
        all.extend(scores);
    }
    Ok(all)
}

/// The scores that an earlier run has kept, of these candidates.
fn read(begun: &mut ResumedWork, lists: &[Vec<ConceptId>]) -> Result<Vec<Vec<f32>>> {
    let mut values: Vec<f32> = Vec::new();
    begun.read(|piece| {
        values.extend(piece.chunks_exact(4).map(bytemuck::pod_read_unaligned::<f32>));
        Ok(())
    })?;
    let (mut rest, mut all) = (&values[..], Vec::with_capacity(lists.len()));
    for list in lists {
        let (scores, others) = rest.split_at(list.len().min(rest.len()));
        all.push(scores.iter().copied().filter(|score| *score != NO_MENTION).collect());
        rest = others;
    }
    Ok(all)
}

/// What a retriever found for the mentions of a split, and a ranker's scores of the first candidates of each.
pub struct Scored {
    ranked: Vec<Ranked>,
    scores: Vec<Vec<f32>>,
}

impl Scored {
    /// Searches, then scores the first `k` candidates; `top` of them are kept at least.
    ///
    /// # Errors
    /// As searching and [`scores`].
    pub fn new(
        retriever: &dyn Retriever,
        reranker: &Reranker<'_>,
        split: &Split,
        k: usize,
        top: usize,
    ) -> Result<Self> {
        let ranked = crate::retrieve::judged(retriever, split, top.max(k), "searching")?;
        let scores = scores(reranker, split, &ranked, k, None)?;
        Ok(Self { ranked, scores })
    }
}

/// A retriever whose first candidates a ranker has put into order, over the mentions that were scored.
///
/// Scores stay where they were: the first candidate has the retriever's best score, by which NIL is decided.
pub struct Reranked<'a> {
    name: String,
    retriever: &'a dyn Retriever,
    scored: &'a Scored,
    k: usize,
}

impl<'a> Reranked<'a> {
    /// The ranker sees the first `k` candidates.
    pub fn new(retriever: &'a dyn Retriever, scored: &'a Scored, k: usize) -> Self {
        Self { name: format!("{} + ranker@{k}", retriever.name()), retriever, scored, k }
    }
}

/// Puts the concepts of the first candidates into the order of their scores; the retriever's scores keep their places.
pub fn rerank(ranked: &mut Ranked, scores: &[f32]) {
    let mut concepts: Vec<ConceptId> = ranked.iter().map(|(concept, _)| *concept).collect();
    reorder(&mut concepts, scores);
    ranked.iter_mut().zip(concepts).for_each(|(place, concept)| place.0 = concept);
}

impl Retriever for Reranked<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn protocol(&self) -> String {
        format!("the first {} candidates of {} in the order of a ranker", self.k, self.retriever.name())
    }

    fn threshold(&self) -> Option<f32> {
        self.retriever.threshold()
    }

    fn decides(&self) -> bool {
        self.retriever.decides()
    }

    fn first_stage(&self) -> Option<(&dyn Retriever, usize)> {
        Some((self.retriever, self.k))
    }

    fn search(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        done(queries.len())?;
        let scored = self.scored.ranked.iter().zip(&self.scored.scores);
        let reranked = scored.map(|(ranked, scores)| {
            let mut ranked = ranked.clone();
            rerank(&mut ranked, &scores[..scores.len().min(self.k)]);
            // Normalised accuracy is over all that the ranker has seen.
            ranked.truncate(k.max(self.k));
            ranked
        });
        Ok(reranked.collect())
    }
}
