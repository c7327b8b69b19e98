//! Deduplication of token sequences: different names and mentions often have the same tokens.

use crate::tokens::Encoded;
use std::collections::HashMap;

/// Distinct token sequences, numbered by first occurrence.
#[derive(Debug, Default)]
pub struct SequenceInterner(HashMap<Encoded, usize>);

impl SequenceInterner {
    /// The number of a sequence.
    pub fn intern(&mut self, sequence: Encoded) -> usize {
        let next = self.0.len();
        *self.0.entry(sequence).or_insert(next)
    }

    /// The sequences, each at its number.
    pub fn into_sequences(self) -> Vec<Encoded> {
        let mut sequences: Vec<(Encoded, usize)> = self.0.into_iter().collect();
        sequences.sort_unstable_by_key(|(_, at)| *at);
        sequences
            .into_iter()
            .map(|(sequence, _)| sequence)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Cut;

    #[test]
    fn equal_sequences_share_the_number_of_the_first() {
        let sequence = |id: u32| Encoded::whole(vec![id], Cut::default());
        let mut interner = SequenceInterner::default();
        let numbers: Vec<usize> = [9, 4, 9, 7, 4]
            .into_iter()
            .map(|id| interner.intern(sequence(id)))
            .collect();
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(
            interner.into_sequences(),
            [sequence(9), sequence(4), sequence(7)]
        );
    }
}
