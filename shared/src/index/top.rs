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
    /// At most 2 k; halved when full.
    found: Vec<Found>,
    /// The k-th best at the last halving.
    worst: Option<Candidate>,
    /// The concept whose rows are passing, with its best row so far.
    open: Option<Found>,
}

impl Top {
    /// Nothing yet; k is at least 1.
    pub fn new(k: usize) -> Self {
        Self { k, found: Vec::new(), worst: None, open: None }
    }

    /// Rows whose score is at most this change nothing; not a number as long as all count.
    pub fn threshold(&self) -> f32 {
        match self.worst {
            Some(worst) if worst.score.is_nan() => f32::NEG_INFINITY,
            Some(worst) => worst.score,
            None => f32::NAN,
        }
    }

    /// Offers a row; rows of one concept come one after the other, the best of them counts.
    pub fn push_row(&mut self, concept: u32, row: usize, score: f32) {
        // No score is -0, which would rank behind 0 although a threshold takes them for equal.
        let candidate = Candidate { concept: ConceptId(concept), score: score + 0.0 };
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

    /// Says that no further row of the last concept comes.
    pub fn flush(&mut self) {
        let Some(found) = self.open.take() else { return };
        if self.worst.is_some_and(|worst| found.candidate.rank(&worst) != Ordering::Less) {
            return;
        }
        self.found.push(found);
        if self.found.len() >= self.k.saturating_mul(2) {
            let (_, worst, _) = self.found.select_nth_unstable_by(self.k - 1, |a, b| a.candidate.rank(&b.candidate));
            self.worst = Some(worst.candidate);
            self.found.truncate(self.k);
        }
    }

    /// What was collected, the best k among them, in no order.
    pub fn into_found(mut self) -> Vec<Found> {
        self.flush();
        self.found
    }
}

/// The best k of candidates that may name a concept several times.
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
        Candidate { concept: ConceptId(concept), score }
    }

    #[test]
    fn one_candidate_a_concept_and_ties_in_concept_order() {
        for k in 1..8 {
            let mut top = Top::new(k);
            for (row, (concept, score)) in
                [(1, 0.5), (4, 0.1), (4, 0.9), (5, 0.5), (6, 0.9), (7, f32::NAN), (7, 0.2), (8, f32::NAN), (9, 0.95)]
                    .into_iter()
                    .enumerate()
            {
                top.push_row(concept, row, score);
            }
            let found = best_per_concept(top.into_found().iter().map(|found| found.candidate).collect(), k);
            let expected = [(9, 0.95), (4, 0.9), (6, 0.9), (1, 0.5), (5, 0.5), (7, 0.2), (8, f32::NAN)]
                .map(|(c, s)| candidate(c, s));
            assert!(
                found.len() == k && found.iter().zip(&expected).all(|(f, e)| f.rank(e) == Ordering::Equal),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_threshold_stands_once_there_are_enough() {
        let mut top = Top::new(1);
        top.push_row(0, 0, -0.0);
        assert!(top.threshold().is_nan());
        top.push_row(1, 1, 0.0);
        top.flush();
        assert_eq!(top.threshold(), 0.0);
        let found = top.into_found();
        assert_eq!((found.len(), found[0].candidate, found[0].row), (1, candidate(0, 0.0), 0));
    }

    #[test]
    fn duplicates_keep_their_best_score() {
        let found = best_per_concept(vec![candidate(2, 0.1), candidate(1, 0.3), candidate(2, 0.4)], 5);
        assert_eq!(found, [candidate(2, 0.4), candidate(1, 0.3)]);
    }
}
