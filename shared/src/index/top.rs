//! The best k concepts, one score each.

use crate::kb::ConceptId;
use crate::score::Candidate;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A heap entry; the worst candidate is the greatest.
struct Worst(Candidate);

impl PartialEq for Worst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Worst {}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.rank(&other.0)
    }
}

/// Collects the best k of candidates that name each concept once.
pub struct Top {
    k: usize,
    heap: BinaryHeap<Worst>,
}

impl Top {
    /// Nothing yet.
    pub fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::with_capacity(k + 1) }
    }

    /// Offers a candidate.
    pub fn push(&mut self, candidate: Candidate) {
        if self.heap.len() < self.k {
            self.heap.push(Worst(candidate));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate.rank(&worst.0) == Ordering::Less
        {
            *worst = Worst(candidate);
        }
    }

    /// Offers the scores of consecutive rows; rows of one concept stand together, the best of them counts.
    pub fn push_rows(&mut self, concepts: &[u32], scores: &[f32]) {
        let mut rows = concepts.iter().zip(scores).peekable();
        while let Some((concept, score)) = rows.next() {
            let mut best = *score;
            while let Some((_, score)) = rows.next_if(|(next, _)| *next == concept) {
                best = best.max(*score);
            }
            self.push(Candidate { concept: ConceptId(*concept), score: best });
        }
    }

    /// The collected candidates, best first.
    pub fn sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec().into_iter().map(|worst| worst.0).collect()
    }
}

/// The best k of candidates that may name a concept several times.
pub fn best_per_concept(mut candidates: Vec<Candidate>, k: usize) -> Vec<Candidate> {
    candidates.sort_by(|a, b| a.concept.cmp(&b.concept).then(a.rank(b)));
    candidates.dedup_by_key(|candidate| candidate.concept);
    candidates.sort_by(Candidate::rank);
    candidates.truncate(k);
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_candidate_a_concept_and_ties_in_concept_order() {
        let mut top = Top::new(3);
        top.push_rows(&[4, 4, 5, 6, 7, 7], &[0.1, 0.9, 0.5, 0.9, f32::NAN, 0.2]);
        top.push_rows(&[1], &[0.5]);
        let found: Vec<_> = top.sorted().iter().map(|candidate| (candidate.concept.0, candidate.score)).collect();
        assert_eq!(found, [(4, 0.9), (6, 0.9), (1, 0.5)]);
    }

    #[test]
    fn duplicates_keep_their_best_score() {
        let candidate = |concept, score| Candidate { concept: ConceptId(concept), score };
        let found = best_per_concept(vec![candidate(2, 0.1), candidate(1, 0.3), candidate(2, 0.4)], 5);
        assert_eq!(found, [candidate(2, 0.4), candidate(1, 0.3)]);
    }
}
