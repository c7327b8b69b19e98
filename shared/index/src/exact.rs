//! The exact search: every query with every row. Its result does not depend on the number of
//! threads.

use super::top::{Found, Top, best_per_concept};
use super::vectors::{Queries, Vectors};
use pel_kb::score::Candidate;
use pel_kernels::{Hit, Scratch};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Queries that share one pass over the rows.
const BATCH: usize = 1024;

/// The rows that a thread takes at a time, extended to the end of the last row's concept.
const CHUNK: usize = if cfg!(test) { 512 } else { 8192 };

/// Rows that are scored with the same thresholds.
const BLOCK: usize = 192;

/// The best k concepts of each query, best first, ties in concept order.
///
/// # Shapes
/// concepts `[rows]` ascending, queries `[n, dim]` -> n lists
pub fn search(
    vectors: &Vectors,
    dim: usize,
    concepts: &[u32],
    queries: &[f32],
    k: usize,
) -> Vec<Vec<Candidate>> {
    if k == 0 || concepts.is_empty() {
        return vec![Vec::new(); queries.len() / dim];
    }
    let chunks = chunks(concepts);
    queries
        .chunks(BATCH * dim)
        .flat_map(|queries| batch(vectors, dim, concepts, &chunks, queries, k))
        .collect()
}

fn batch(
    vectors: &Vectors,
    dim: usize,
    concepts: &[u32],
    chunks: &[Range<usize>],
    queries: &[f32],
    k: usize,
) -> Vec<Vec<Candidate>> {
    let (count, prepared) = (queries.len() / dim, vectors.queries(queries, dim));
    // Quantised rows are scored more finely afterwards, so some more are taken.
    let taken = vectors.taken(k);
    // Each worker takes the next chunk until none is left, so that a slow core delays no other.
    let next = AtomicUsize::new(0);
    let workers = vec![(); pel_kernels::threads().min(chunks.len())];
    let found = pel_kernels::for_each_chunk(&workers, 1, |_, _| {
        let mut pass = Pass {
            vectors,
            dim,
            concepts,
            queries: &prepared,
            tops: Vec::new(),
            thresholds: Vec::new(),
        };
        while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
            if pass.tops.is_empty() {
                pass.tops.resize_with(count, || Top::new(taken));
                pass.thresholds.resize(count, f32::NAN);
            }
            pass.over(chunk.clone());
        }
        pass.tops
            .into_iter()
            .map(Top::into_found)
            .collect::<Vec<_>>()
    });
    let of = |query: usize| {
        let mut all: Vec<Found> = found
            .iter()
            .filter_map(|tops| tops.get(query))
            .flatten()
            .copied()
            .collect();
        all.sort_unstable_by(|a, b| a.candidate.rank(&b.candidate));
        all.truncate(taken);
        if vectors.has_finer_scores() {
            let query = vectors.query(&queries[query * dim..(query + 1) * dim]);
            all.iter_mut()
                .for_each(|found| found.candidate.score = vectors.score(&query, found.row) + 0.0);
        }
        best_per_concept(all.iter().map(|found| found.candidate).collect(), k)
    };
    (0..count).map(of).collect()
}

/// Ranges of whole concepts.
fn chunks(concepts: &[u32]) -> Vec<Range<usize>> {
    let (mut chunks, mut start) = (Vec::new(), 0);
    while start < concepts.len() {
        let last = (start + CHUNK).min(concepts.len()) - 1;
        let end = last + concepts[last..].partition_point(|concept| *concept == concepts[last]);
        chunks.push(start..end);
        start = end;
    }
    chunks
}

/// The pass of one worker over the rows, ascending.
struct Pass<'a> {
    vectors: &'a Vectors,
    dim: usize,
    concepts: &'a [u32],
    queries: &'a Queries,
    tops: Vec<Top>,
    thresholds: Vec<f32>,
}

impl Pass<'_> {
    fn over(&mut self, chunk: Range<usize>) {
        let (mut hits, mut scratch) = (Vec::<Hit>::new(), Scratch::default());
        for first in chunk.clone().step_by(BLOCK) {
            let rows = first..(first + BLOCK).min(chunk.end);
            self.vectors.hits(
                self.queries,
                rows,
                self.dim,
                &self.thresholds,
                &mut scratch,
                &mut hits,
            );
            for hit in hits.drain(..) {
                let query = hit.query as usize;
                let row = first + hit.row as usize;
                self.tops[query].push_row(self.concepts[row], row, hit.score);
                self.thresholds[query] = self.tops[query].threshold();
            }
        }
        // The next chunk has other concepts.
        for (top, threshold) in self.tops.iter_mut().zip(&mut self.thresholds) {
            top.flush();
            *threshold = top.threshold();
        }
    }
}
