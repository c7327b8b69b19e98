//! Batches of sequences with similar lengths, which reduces the computation on padding.

/// Groups sequences into batches by descending length; ties keep their order.
///
/// A batch has at most `max_rows` rows and `max_tokens` tokens, padding included. A longer sequence
/// is a batch of its own. Returns the sequences' positions. The longest batch comes first, so peak
/// memory occurs at the start.
pub fn by_length(lengths: &[usize], max_rows: usize, max_tokens: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(lengths[*at]), *at));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for at in order {
        match batches.last_mut() {
            Some(batch)
                if batch.len() < max_rows
                    && (batch.len() + 1) * lengths[batch[0]] <= max_tokens =>
            {
                batch.push(at)
            }
            _ => batches.push(vec![at]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::by_length;
    use proptest::prelude::*;

    #[test]
    fn by_length_respects_both_limits() {
        assert_eq!(by_length(&[3, 9, 3, 4], 2, 100), [vec![1, 3], vec![0, 2]]);
        assert_eq!(
            by_length(&[3, 9, 3, 4], 8, 9),
            [vec![1], vec![3, 0], vec![2]]
        );
        assert!(by_length(&[], 2, 100).is_empty());
    }

    proptest! {
        #[test]
        fn every_sequence_is_in_one_batch(
            lengths in prop::collection::vec(1usize..40, 0..100),
            rows in 1usize..9,
            tokens in 1usize..200,
        ) {
            let batches = by_length(&lengths, rows, tokens);
            let mut seen: Vec<usize> = batches.iter().flatten().copied().collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
            for batch in &batches {
                let longest = batch.iter().map(|at| lengths[*at]).max().unwrap_or(0);
                prop_assert!(
                    batch.len() <= rows && (batch.len() == 1 || longest * batch.len() <= tokens)
                );
            }
        }
    }
}
