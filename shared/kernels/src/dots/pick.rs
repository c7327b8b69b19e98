//! The scores of a block that exceed their query's threshold: few, once each query has k
//! candidates.

use crate::lanes::LANES;

/// A score that passed its query's threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Position of the query in its batch.
    pub query: u32,
    /// Position of the row in its block.
    pub row: u32,
    /// The score.
    pub score: f32,
}

/// A score passes unless it is at most the threshold. Every score passes a NaN threshold, and a NaN
/// score always passes.
#[inline(always)]
#[allow(clippy::neg_cmp_op_on_partial_ord)]
fn passes(score: f32, threshold: f32) -> bool {
    !(score <= threshold)
}

/// Scores of several queries. The score of a row and a query is `sum × row scale × scale`; without
/// row scales it is the sum.
///
/// # Shapes
/// sums `[rows, lanes]`, scales and thresholds `[lanes]`, row_scales `[rows]`; the first `count`
/// lanes are queries
#[inline(always)]
pub fn across<T: Copy + Number>(
    sums: &[T],
    row_scales: Option<&[f32]>,
    scales: &[f32],
    thresholds: &[f32],
    count: usize,
    hits: &mut Vec<Hit>,
) {
    let lanes = scales.len();
    for (row, sums) in sums.chunks_exact(lanes).enumerate() {
        let row_scale = row_scales.map(|scales| scales[row]);
        let groups = sums
            .chunks_exact(LANES)
            .zip(scales.chunks_exact(LANES))
            .zip(thresholds.chunks_exact(LANES));
        for (group, ((sums, scales), thresholds)) in groups.enumerate() {
            let mut scores = [0.0f32; LANES];
            let mut any = 0;
            for lane in 0..LANES {
                scores[lane] = sums[lane].score(row_scale, scales[lane]);
                any |= u32::from(passes(scores[lane], thresholds[lane]));
            }
            if any == 0 {
                continue;
            }
            for lane in 0..LANES {
                let query = group * LANES + lane;
                if query < count && passes(scores[lane], thresholds[lane]) {
                    hits.push(Hit {
                        query: query as u32,
                        row: row as u32,
                        score: scores[lane],
                    });
                }
            }
        }
    }
}

/// Scores of one query, number `query` of its batch.
///
/// # Shapes
/// sums `[rows]`, row_scales `[rows]`
#[inline(always)]
pub fn along<T: Copy + Number>(
    sums: &[T],
    row_scales: Option<&[f32]>,
    scale: f32,
    threshold: f32,
    query: usize,
    hits: &mut Vec<Hit>,
) {
    for (block, sums) in sums.chunks(LANES).enumerate() {
        let first = block * LANES;
        let mut scores = [f32::NEG_INFINITY; LANES];
        match row_scales {
            Some(row_scales) => {
                for ((score, sum), row_scale) in
                    scores.iter_mut().zip(sums).zip(&row_scales[first..])
                {
                    *score = sum.score(Some(*row_scale), scale);
                }
            }
            None => {
                for (score, sum) in scores.iter_mut().zip(sums) {
                    *score = sum.score(None, scale);
                }
            }
        }
        let mut any = 0;
        for score in scores {
            any |= u32::from(passes(score, threshold));
        }
        if any == 0 {
            continue;
        }
        for (at, score) in scores.iter().enumerate().take(sums.len()) {
            if passes(*score, threshold) {
                hits.push(Hit {
                    query: query as u32,
                    row: (first + at) as u32,
                    score: *score,
                });
            }
        }
    }
}

/// A sum that becomes a score.
pub trait Number {
    /// The score.
    fn score(self, row_scale: Option<f32>, scale: f32) -> f32;
}

impl Number for i32 {
    #[inline(always)]
    fn score(self, row_scale: Option<f32>, scale: f32) -> f32 {
        self as f32 * row_scale.unwrap_or(1.0) * scale
    }
}

impl Number for f32 {
    #[inline(always)]
    fn score(self, _: Option<f32>, _: f32) -> f32 {
        self
    }
}
