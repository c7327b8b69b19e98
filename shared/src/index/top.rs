//! The best k concepts, one score each.

use crate::kb::ConceptId;
use crate::score::Candidate;
use std::cmp::Ordering;

/// A concept with its best row.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The concept and the row's score.
    pub candidate: Candidate,
    /// The row.
    pub row: usize,
}

/// Collects the best k concepts of rows in ascending concept order.
pub struct Top {
    k: usize,
    /// At most 2 k. When it is full, the best k stay.
    found: Vec<Found>,
    /// The k-th best when it was last full.
    worst: Option<Candidate>,
    /// The current concept with its best row so far.
    open: Option<Found>,
}

impl Top {
    /// An empty collection. k is at least 1.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            found: Vec::new(),
            worst: None,
            open: None,
        }
    }

    /// Rows with a score at or below it change nothing. NaN while every row counts.
    pub fn threshold(&self) -> f32 {
        match self.worst {
            Some(worst) if worst.score.is_nan() => f32::NEG_INFINITY,
            Some(worst) => worst.score,
            None => f32::NAN,
        }
    }

    /// Adds a row. Rows of one concept must be adjacent; the best of them counts.
    pub fn push_row(&mut self, concept: u32, row: usize, score: f32) {
        // -0 becomes 0: it would rank behind 0, although a threshold compares them as equal.
        let candidate = Candidate {
            concept: ConceptId(concept),
            score: score + 0.0,
        };
        match &mut self.open {
            Some(open) if open.candidate.concept == candidate.concept => {
                if candidate.rank(&open.candidate) == Ordering::Less {
                    *open = Found { candidate, row };
                }
            }
            _ => {
                self.flush();
                self.open = Some(Found { candidate, row });
            }
        }
    }

    /// Ends the current concept.
    pub fn flush(&mut self) {
        let Some(found) = self.open.take() else {
            return;
        };
        if self
            .worst
            .is_some_and(|worst| found.candidate.rank(&worst) != Ordering::Less)
        {
            return;
        }
        self.found.push(found);
        if self.found.len() >= self.k.saturating_mul(2) {
            let (_, worst, _) = self
                .found
                .select_nth_unstable_by(self.k - 1, |a, b| a.candidate.rank(&b.candidate));
            self.worst = Some(worst.candidate);
            self.found.truncate(self.k);
        }
    }

    /// The collected concepts in no order. The best k are among them.
    pub fn into_found(mut self) -> Vec<Found> {
        self.flush();
        self.found
    }
}

/// The best k of candidates, best first, with each concept once.
pub fn best_per_concept(mut candidates: Vec<Candidate>, k: usize) -> Vec<Candidate> {
    candidates.sort_unstable_by(|a, b| a.concept.cmp(&b.concept).then(a.rank(b)));
    candidates.dedup_by_key(|candidate| candidate.concept);
    candidates.sort_unstable_by(Candidate::rank);
    candidates.truncate(k);
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(concept: u32, score: f32) -> Candidate {
        Candidate {
            concept: ConceptId(concept),
            score,
        }
    }

    #[test]
    fn each_concept_is_found_once_with_ties_in_concept_order() {
        for k in 1..8 {
            let mut top = Top::new(k);
            for (row, (concept, score)) in [
                (1, 0.5),
                (4, 0.1),
                (4, 0.9),
                (5, 0.5),
                (6, 0.9),
                (7, f32::NAN),
                (7, 0.2),
                (8, f32::NAN),
                (9, 0.95),
            ]
            .into_iter()
            .enumerate()
            {
                top.push_row(concept, row, score);
            }
            let found = best_per_concept(
                top.into_found()
                    .iter()
                    .map(|found| found.candidate)
                    .collect(),
                k,
            );
            let expected = [
                (9, 0.95),
                (4, 0.9),
                (6, 0.9),
                (1, 0.5),
                (5, 0.5),
                (7, 0.2),
                (8, f32::NAN),
            ]
            .map(|(c, s)| candidate(c, s));
            assert!(
                found.len() == k
                    && found
                        .iter()
                        .zip(&expected)
                        .all(|(f, e)| f.rank(e) == Ordering::Equal),
                "{found:?}"
            );
        }
    }

    #[test]
    fn threshold_is_nan_until_k_concepts_are_found() {
        let mut top = Top::new(1);
        top.push_row(0, 0, -0.0);
        assert!(top.threshold().is_nan());
        top.push_row(1, 1, 0.0);
        top.flush();
        assert_eq!(top.threshold(), 0.0);
        let found = top.into_found();
        assert_eq!(
            (found.len(), found[0].candidate, found[0].row),
            (1, candidate(0, 0.0), 0)
        );
    }

    #[test]
    fn duplicates_have_their_best_score() {
        let found = best_per_concept(
            vec![candidate(2, 0.1), candidate(1, 0.3), candidate(2, 0.4)],
            5,
        );
        assert_eq!(found, [candidate(2, 0.4), candidate(1, 0.3)]);
    }
}
