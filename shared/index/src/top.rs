//! The best k concepts, one score each.

use pel_kb::ConceptId;
use pel_kb::score::Candidate;
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

/// Collects the best rows.
pub struct BestRows {
    count: usize,
    /// At most 2 `count`. When it is full, the best `count` stay.
    rows: Vec<(f32, u32)>,
    threshold: f32,
}

impl BestRows {
    /// An empty collection of at least one row.
    pub fn new(count: usize) -> Self {
        Self {
            count: count.max(1),
            rows: Vec::new(),
            threshold: f32::NEG_INFINITY,
        }
    }

    /// Rows with a score below it change nothing.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Adds a row. Scores are numbers, not NaN.
    #[inline]
    pub fn push(&mut self, score: f32, row: u32) {
        if score >= self.threshold {
            self.rows.push((score, row));
            if self.rows.len() >= 2 * self.count {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        if self.rows.len() > self.count {
            let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            let (_, last, _) = self.rows.select_nth_unstable_by(self.count - 1, order);
            self.threshold = last.0;
            self.rows.truncate(self.count);
        }
    }

    /// The best rows with their scores, in no order. Of equal scores the first rows stay.
    pub fn into_rows(mut self) -> Vec<(f32, u32)> {
        self.shrink();
        self.rows
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
    fn best_rows_are_kept_in_any_order_of_arrival() {
        let rows = [
            (0.5f32, 4u32),
            (0.9, 1),
            (0.5, 2),
            (0.1, 0),
            (0.5, 3),
            (0.7, 9),
            (0.2, 8),
        ];
        for turn in 0..rows.len() {
            let mut best = BestRows::new(3);
            for at in 0..rows.len() {
                let (score, row) = rows[(at + turn) % rows.len()];
                best.push(score, row);
            }
            let mut found = best.into_rows();
            found.sort_unstable_by_key(|(_, row)| *row);
            assert_eq!(found, [(0.9, 1), (0.5, 2), (0.7, 9)]);
        }
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
