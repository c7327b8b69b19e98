//! Vectors of mentions that a run has encoded: notes of one patient repeat each other.

use pel_io::interrupt;
use pel_kb::error::Result;
use pel_kb::score::Scorer;
use pel_linker::bundle::Queries;
use pel_linker::{Linker, Prepared};
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Bytes of one generation of vectors. Two are kept.
const BYTES: usize = 16 << 20;

/// Bytes of an entry besides its vector: about 32 tokens, and the map.
const ENTRY: usize = 300;

/// The vectors of token sequences, by sequence, in at most 32 MB. Only vectors of the scorer
/// [`Scorer::Dual`] are kept.
#[derive(Debug, Default)]
pub struct VectorCache(Mutex<Generations>);

/// Two generations: when the young one is full it becomes the old one, and the old one is dropped.
/// So a sequence is kept if it was used among the last ones.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Encoded, Box<[f32]>>,
    old: HashMap<Encoded, Box<[f32]>>,
}

impl Generations {
    /// The vector of a sequence, which is young again.
    fn take(&mut self, sequence: &Encoded, most: usize) -> Option<&[f32]> {
        if let Some((sequence, vector)) = self.old.remove_entry(sequence) {
            self.put(sequence, vector, most);
        }
        self.young.get(sequence).map(|vector| &vector[..])
    }

    /// Keeps a vector. A generation has at most `most`.
    fn put(&mut self, sequence: Encoded, vector: Box<[f32]>, most: usize) {
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(sequence, vector);
    }
}

impl VectorCache {
    /// As [`Steps::encode`](pel_linker::Steps::encode), but encodes only sequences that are not kept.
    ///
    /// # Errors
    /// If the device fails, or after an interrupt.
    pub(crate) fn encode(&self, linker: &Linker, prepared: &Prepared) -> Result<Queries> {
        if linker.steps().scorer() != Scorer::Dual {
            return linker.steps().encode(prepared, |_| interrupt::check());
        }
        let (sequences, dim) = (prepared.sequences(), linker.steps().encoder().dim());
        let most = BYTES / (dim * size_of::<f32>() + ENTRY);
        let mut pooled = vec![0.0; sequences.len() * dim];
        let mut missing = Vec::new();
        {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            for (at, sequence) in sequences.iter().enumerate() {
                match kept.take(sequence, most) {
                    Some(vector) => pooled[at * dim..][..dim].copy_from_slice(vector),
                    None => missing.push(at),
                }
            }
        }
        let rows: Vec<&Encoded> = missing.iter().map(|at| &sequences[*at]).collect();
        let encoder = linker.steps().encoder();
        let size = encoder.batch_size();
        let found = Queries::encode(encoder, Scorer::Dual, Side::Mention, &rows, size, |_| {
            interrupt::check()
        })?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, vector) in missing.iter().zip(found.pooled.chunks_exact(dim)) {
            pooled[at * dim..][..dim].copy_from_slice(vector);
            kept.put(sequences[*at].clone(), vector.into(), most);
        }
        Ok(Queries {
            pooled,
            tokens: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_model::tokens::Cut;

    fn sequence(id: u32) -> Encoded {
        Encoded::whole(vec![id], Cut::default())
    }

    #[test]
    fn what_was_used_last_is_kept() {
        let mut kept = Generations::default();
        for id in 0..3 {
            kept.put(sequence(id), Box::new([id as f32]), 2);
        }
        // The young generation has 2, the old one 0 and 1.
        assert_eq!(kept.take(&sequence(0), 2), Some(&[0.0][..]));
        // Young: 2 and 0. Another one makes them old, and drops 1.
        kept.put(sequence(3), Box::new([3.0]), 2);
        assert_eq!(kept.take(&sequence(1), 2), None);
        assert_eq!(kept.take(&sequence(0), 2), Some(&[0.0][..]));
        assert_eq!(kept.take(&sequence(2), 2), Some(&[2.0][..]));
        let all = kept.young.len() + kept.old.len();
        assert!(all <= 4, "{all} are kept");
    }
}
