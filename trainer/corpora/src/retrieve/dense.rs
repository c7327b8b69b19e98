//! Dense retrieval: mentions are tokenized and encoded, and an index is searched with their
//! vectors.

use crate::retrieve::{CandidateLists, Tick};
use crate::split::MentionQuery;
use pel_io::interrupt;
use pel_kb::error::Result;
use pel_kb::score::{Candidate, Scorer};
use pel_linker::bundle::Queries;
use pel_model::encode::{Encoder, SequenceInterner};
use pel_model::tokens::{Encoded, Tokens, ViewOptions};
use pel_model::tower::Side;

/// Sequences that are encoded and searched together. It bounds the memory of their token vectors.
const SEQUENCES: usize = 1024;

/// What encodes mentions.
pub struct MentionEncoder<'a> {
    /// The towers.
    pub encoder: &'a Encoder,
    /// Which vectors are compared.
    pub scorer: Scorer,
    /// The tokenizer.
    pub tokens: &'a Tokens,
    /// How a mention becomes a token sequence.
    pub view: &'a ViewOptions,
}

impl MentionEncoder<'_> {
    /// Encodes mentions, and calls `search` with the vectors of some token sequences at a time.
    /// Equal sequences are searched once. A mention that normalises to nothing has no candidates.
    ///
    /// # Errors
    /// If a mention cannot be encoded, `done` fails, or the user interrupts.
    pub fn search(
        &self,
        queries: &[MentionQuery<'_>],
        done: Tick<'_>,
        search: impl Fn(&Queries, usize) -> Vec<Vec<Candidate>>,
    ) -> Result<CandidateLists> {
        let Self {
            encoder,
            scorer,
            tokens,
            view,
        } = self;
        let (mut interner, mut reader) = (SequenceInterner::default(), view.reader());
        let mut sequence_of: Vec<Option<usize>> = Vec::with_capacity(queries.len());
        for query in queries {
            let mention = reader.mention(query.text, query.span)?;
            sequence_of.push(
                view.mention(tokens, &mention)?
                    .map(|encoded| interner.intern(encoded)),
            );
        }
        let sequences = interner.into_sequences();
        let mut mentions = vec![0; sequences.len()];
        sequence_of
            .iter()
            .flatten()
            .for_each(|at| mentions[*at] += 1);
        done(sequence_of.iter().filter(|at| at.is_none()).count())?;
        let mut found: CandidateLists = Vec::with_capacity(sequences.len());
        for (sequences, mentions) in sequences.chunks(SEQUENCES).zip(mentions.chunks(SEQUENCES)) {
            let rows: Vec<&Encoded> = sequences.iter().collect();
            let size = encoder.long_run_batch();
            let vectors = Queries::encode(encoder, *scorer, Side::Mention, &rows, size, |_| {
                interrupt::check()
            })?;
            found.extend(search(&vectors, rows.len()));
            done(mentions.iter().sum())?;
        }
        Ok(sequence_of
            .into_iter()
            .map(|at| at.map_or_else(Vec::new, |at| found[at].clone()))
            .collect())
    }
}
