//! The second stage (BLINK, section 4.2): a cross-encoder reorders a retriever's first candidates.

use crate::retrieve::{CandidateLists, Retriever, Tick};
use crate::split::{MentionQuery, Split};
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_io::resume::{ResumedWork, WorkFolder};
use pel_kb::error::Result;
use pel_kb::score::Candidate;
use pel_kb::{ConceptId, KnowledgeBase};
use pel_model::cross_encoder::{Pairs, Ranker, reorder};
use pel_model::tokens::Encoded;
use std::cell::RefCell;
use std::collections::HashMap;

/// Pairs that are scored together. Progress moves and interrupts are seen in between.
const PAIRS: usize = 512;

/// A ranker over a knowledge base.
pub struct Reranker<'a> {
    ranker: &'a Ranker,
    kb: &'a KnowledgeBase,
    /// The tokens of the concepts so far; `None` for one without a readable name.
    entities: RefCell<HashMap<ConceptId, Option<Encoded>>>,
}

impl<'a> Reranker<'a> {
    /// A ranker whose concepts are tokenized when they are first needed.
    pub fn new(ranker: &'a Ranker, kb: &'a KnowledgeBase) -> Self {
        Self {
            ranker,
            kb,
            entities: RefCell::default(),
        }
    }

    /// The scores of the first `k` candidates of each mention. A mention that normalises to nothing
    /// has none. A concept without a readable name has the lowest score.
    ///
    /// # Errors
    /// If a mention cannot be encoded, or the device fails.
    ///
    /// # Panics
    /// If there is not one list for each mention.
    pub fn scores(
        &self,
        queries: &[MentionQuery<'_>],
        candidates: &[Vec<Candidate>],
        k: usize,
    ) -> Result<Vec<Vec<f32>>> {
        assert_eq!(queries.len(), candidates.len(), "one list for each mention");
        let (mut reader, mut pairs) = (self.ranker.view().reader(), Pairs::default());
        let mut entities = self.entities.borrow_mut();
        for (query, candidates) in queries.iter().zip(candidates) {
            let mention = self
                .ranker
                .mention(&reader.mention(query.text, query.span)?)?;
            let candidates = &candidates[..k.min(candidates.len())];
            for Candidate { concept, .. } in candidates {
                let encode = || self.ranker.entity(self.kb.get(*concept)?).ok();
                entities.entry(*concept).or_insert_with(encode);
            }
            let entity = |candidate: &Candidate| entities.get(&candidate.concept)?.as_ref();
            pairs.add(mention.as_ref(), candidates.iter().map(entity));
        }
        Ok(pairs.by_mention(&self.ranker.scores(pairs.rows())?))
    }
}

/// Where scores are stored, so that an interrupted run can be resumed.
pub struct ScoreStore<'a> {
    /// The folder.
    pub work: &'a WorkFolder,
    /// A hash of the ranker, the mentions and the candidates.
    pub key: blake3::Hash,
}

/// Stored instead of the scores of a mention that normalises to nothing.
const NO_MENTION: f32 = f32::INFINITY;

/// A ranker's scores of the first `k` candidates of each mention of a split. Scores that an earlier
/// run has stored are read.
///
/// # Errors
/// If a mention cannot be encoded, the device or the work folder fails, or the user interrupts.
pub fn scores(
    reranker: &Reranker<'_>,
    split: &Split,
    ranked: &[Vec<Candidate>],
    k: usize,
    store: Option<&ScoreStore<'_>>,
) -> Result<Vec<Vec<f32>>> {
    let queries: Vec<MentionQuery<'_>> = split.queries().collect();
    let lengths: Vec<usize> = ranked.iter().map(|ranked| ranked.len().min(k)).collect();
    let piece = (PAIRS / k.max(1)).max(1);
    let sizes: Vec<u64> = lengths
        .chunks(piece)
        .map(|lengths| 4 * lengths.iter().sum::<usize>() as u64)
        .collect();
    let mut begun = store
        .map(|store| store.work.open(&store.key, &sizes))
        .transpose()?;
    let mut all = match &mut begun {
        Some(begun) => read(begun, &lengths[..(begun.done() * piece).min(lengths.len())])?,
        None => Vec::new(),
    };
    let mut progress = Progress::new("ranking", queries.len() as u64, "mentions");
    progress.resume_at(all.len() as u64);
    for (queries, ranked) in queries
        .chunks(piece)
        .zip(ranked.chunks(piece))
        .skip(all.len().div_ceil(piece))
    {
        interrupt::check()?;
        let scores = reranker.scores(queries, ranked, k)?;
        progress.advance(scores.len() as u64);
        if let Some(begun) = &mut begun {
            let stored = scores
                .iter()
                .zip(&lengths[all.len()..])
                .flat_map(|(scores, length)| match scores.is_empty() {
                    true => vec![NO_MENTION; *length],
                    false => scores.clone(),
                });
            begun.add(bytemuck::cast_slice(&stored.collect::<Vec<f32>>()))?;
        }
        all.extend(scores);
    }
    Ok(all)
}

/// The scores that an earlier run has stored, for lists of these lengths.
fn read(begun: &mut ResumedWork, lengths: &[usize]) -> Result<Vec<Vec<f32>>> {
    let mut values: Vec<f32> = Vec::new();
    begun.read(|piece| {
        values.extend(
            piece
                .chunks_exact(4)
                .map(bytemuck::pod_read_unaligned::<f32>),
        );
        Ok(())
    })?;
    let mut rest = values.into_iter();
    let mut next = |length: &usize| {
        rest.by_ref()
            .take(*length)
            .filter(|score| *score != NO_MENTION)
            .collect()
    };
    Ok(lengths.iter().map(&mut next).collect())
}

/// The candidates of a split's mentions, with a ranker's scores of the first of them.
pub struct Scored {
    ranked: CandidateLists,
    scores: Vec<Vec<f32>>,
}

impl Scored {
    /// Searches for at least `top` candidates, and scores the first `k`.
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

/// A retriever whose first candidates a ranker has reordered. It answers the mentions that were
/// scored.
///
/// Scores keep their places: the first candidate has the retriever's best score, which decides NIL.
pub struct Reranked<'a> {
    name: String,
    retriever: &'a dyn Retriever,
    scored: &'a Scored,
    k: usize,
}

impl<'a> Reranked<'a> {
    /// The ranker reorders the first `k` candidates.
    pub fn new(retriever: &'a dyn Retriever, scored: &'a Scored, k: usize) -> Self {
        Self {
            name: format!("{} + ranker@{k}", retriever.name()),
            retriever,
            scored,
            k,
        }
    }
}

/// The candidates with the concepts of the first `k` in the order of the ranker's scores. The
/// retriever's scores keep their places.
pub fn reranked(ranked: &[Candidate], scores: &[f32], k: usize) -> Vec<Candidate> {
    let mut concepts: Vec<ConceptId> = ranked.iter().map(|candidate| candidate.concept).collect();
    reorder(&mut concepts, &scores[..scores.len().min(k)]);
    ranked
        .iter()
        .zip(concepts)
        .map(|(place, concept)| Candidate { concept, ..*place })
        .collect()
}

impl Retriever for Reranked<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn protocol(&self) -> String {
        format!(
            "the first {} candidates of {} in the order of a ranker",
            self.k,
            self.retriever.name()
        )
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
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        done(queries.len())?;
        let scored = self.scored.ranked.iter().zip(&self.scored.scores);
        let reranked = scored.map(|(ranked, scores)| {
            let mut ranked = reranked(ranked, scores, self.k);
            // Normalised accuracy is over all candidates that the ranker scores.
            ranked.truncate(k.max(self.k));
            ranked
        });
        Ok(reranked.collect())
    }
}
