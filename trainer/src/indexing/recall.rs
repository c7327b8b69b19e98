//! What a search finds of the best concepts of the exact search: the one definition of recall for `pel index` and `pel bench`.

use pel_shared::container::Check;
use pel_shared::error::{Error, Result};
use pel_shared::index::{Index, IndexInfo, Precision};
use pel_shared::kb::ConceptId;
use pel_shared::score::Candidate;

/// Vectors of an index that it is searched for.
pub const QUERIES: usize = 256;

/// Concepts that each of them is asked for.
pub const K: usize = 64;

/// Nodes that a graph keeps while searching, at most, where nobody has said how many.
const MOST_EF: usize = 6400;

/// The least recall of a graph that is written.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// Recall@64 against the exact search over the same vectors.
    pub least: f64,
    /// Whether twice as many nodes may be kept while searching, and so on, until the graph reaches it.
    pub raise: bool,
}

impl Floor {
    /// What a graph reaches if nobody says otherwise.
    pub const LEAST: f64 = 0.95;
}

impl Default for Floor {
    fn default() -> Self {
        Self { least: Self::LEAST, raise: true }
    }
}

/// The share of the exact search's concepts that a search has found, over all queries; 1 of nothing. Equal scores come in concept order
/// in both.
pub fn share_found(found: &[Vec<Candidate>], exact: &[Vec<Candidate>]) -> f64 {
    let hits = |(found, exact): (&Vec<Candidate>, &Vec<Candidate>)| {
        exact.iter().filter(|right| found.iter().any(|one| one.concept == right.concept)).count()
    };
    let (hits, all) = (found.iter().zip(exact).map(hits).sum::<usize>(), exact.iter().map(Vec::len).sum::<usize>());
    if all == 0 { 1.0 } else { hits as f64 / all as f64 }
}

/// Rows at equal steps, as many as are asked for or as there are.
///
/// # Shapes
/// vectors `[rows, dim]` -> `[n, dim]`
pub fn spaced(vectors: &[f32], dim: usize, count: usize) -> Vec<f32> {
    let step = (vectors.len() / dim.max(1) / count.max(1)).max(1);
    vectors.chunks_exact(dim.max(1)).step_by(step).take(count).flatten().copied().collect()
}

/// An index beside the exact search, in floats, over the vectors that it keeps.
pub struct Against {
    exact: Index,
    /// `[n, dim]`, of these vectors.
    queries: Vec<f32>,
}

impl Against {
    /// Takes the vectors of an index, `count` of them as queries; `mix` is the template's share in a score.
    ///
    /// # Errors
    /// If they cannot be indexed.
    pub fn own(index: &Index, count: usize, mix: f32) -> Result<Self> {
        let info = index.info();
        let vectors: Vec<f32> = (0..info.rows).flat_map(|row| index.vector(row)).collect();
        Self::of(&vectors, index.concepts(), info, count, mix)
    }

    /// Takes vectors, `count` of them as queries, in place of those that an index keeps.
    ///
    /// # Errors
    /// If they cannot be indexed.
    pub fn of(
        vectors: &[f32],
        concepts: impl Iterator<Item = ConceptId>,
        info: &IndexInfo,
        count: usize,
        mix: f32,
    ) -> Result<Self> {
        let queries = spaced(vectors, info.dim, count);
        let info = IndexInfo { precision: Precision::F32, hnsw: None, ..info.clone() };
        let bytes = Index::build(vectors, &concepts.collect::<Vec<_>>(), &info)?;
        let mut exact = Index::from_bytes(&bytes.into(), Check::Trusted)?;
        if mix > 0.0 {
            exact.set_mix(mix);
        }
        Ok(Self { exact, queries })
    }

    /// The queries.
    pub fn queries(&self) -> &[f32] {
        &self.queries
    }

    /// What the exact search finds.
    pub fn exact(&self, k: usize) -> Vec<Vec<Candidate>> {
        self.exact.search(&self.queries, k)
    }

    /// Recall@k of an index for the queries.
    pub fn recall(&self, index: &Index, k: usize) -> f64 {
        share_found(&index.search(&self.queries, k), &self.exact(k))
    }

    /// Recall@[`K`] of a graph, and how many nodes it keeps while searching to reach the floor, `ef` at least.
    ///
    /// # Errors
    /// If it does not reach the floor.
    pub fn reached(&self, index: &mut Index, ef: usize, floor: Floor) -> Result<(f64, usize)> {
        let exact = self.exact(K);
        let mut recall = |ef: usize| {
            index.set_ef_search(ef);
            share_found(&index.search(&self.queries, K), &exact)
        };
        let (mut kept, mut found) = (ef, recall(ef));
        while found < floor.least && floor.raise && 2 * kept <= MOST_EF {
            kept *= 2;
            found = recall(kept);
        }
        if found >= floor.least {
            return Ok((found, kept));
        }
        let tried = if floor.raise { "" } else { ", --ef-search left out or with a higher number" };
        Err(Error::artifact(format!(
            "the HNSW graph finds too little: expected recall@{K} of at least {} against the exact search over the same vectors, found \
             {found:.4} with {kept} nodes kept while searching; try a higher --ef-construction{tried}, another --recall-floor, or no --hnsw",
            floor.least
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_shared::index::HnswOptions;
    use pel_shared::score::Similarity;

    fn list(concepts: &[u32]) -> Vec<Candidate> {
        concepts.iter().map(|concept| Candidate { concept: ConceptId(*concept), score: 1.0 }).collect()
    }

    #[test]
    fn recall_is_the_share_of_the_exact_lists() {
        // Three of four: 1 and 2 of the first query, 7 of the second.
        let (found, exact) = ([list(&[2, 1]), list(&[7, 9])], [list(&[1, 2]), list(&[8, 7])]);
        assert_eq!(share_found(&found, &exact), 0.75);
        assert_eq!(share_found(&exact, &exact), 1.0);
        assert_eq!(share_found(&[list(&[])], &[list(&[])]), 1.0);
    }

    #[test]
    fn queries_are_rows_at_equal_steps() {
        let rows: Vec<f32> = (0..10).map(|at| at as f32).collect();
        assert_eq!(spaced(&rows, 2, 2), [0.0, 1.0, 4.0, 5.0]);
        assert_eq!(spaced(&rows, 2, 9), rows);
        assert!(spaced(&[], 2, 9).is_empty());
    }

    /// Points on a circle, searched with few nodes kept.
    fn graph(ef_search: usize) -> Index {
        let rows = 3000u32;
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        };
        let vectors: Vec<f32> = (0..rows * 24).map(|_| next()).collect();
        let hnsw = Some(HnswOptions { ef_search, ef_construction: 20, seed: 0 });
        let info = IndexInfo { rows: rows as usize, dim: 24, precision: Precision::F32, score: Similarity::Dot, hnsw };
        let concepts: Vec<ConceptId> = (0..rows).map(ConceptId).collect();
        let bytes = Index::build(&vectors, &concepts, &info).expect("it fits");
        Index::from_bytes(&bytes.into(), Check::Trusted).expect("whole")
    }

    #[test]
    fn more_nodes_are_kept_until_a_graph_reaches_the_floor() {
        let mut index = graph(16);
        let against = Against::own(&index, 64, 0.0).expect("indexed");
        let before = against.recall(&index, K);
        let floor = Floor { least: before + (1.0 - before) / 2.0, raise: true };
        let (found, ef) = against.reached(&mut index, 16, floor).expect("reached");
        assert!(before < 0.99 && found >= floor.least && ef > 16, "{before} {found} {ef}");
        assert_eq!(against.reached(&mut index, 16, Floor { least: 0.0, raise: true }).expect("reached"), (before, 16));
        let error =
            against.reached(&mut index, 16, Floor { raise: false, ..floor }).expect_err("too little").to_string();
        assert!(error.contains("expected recall@64 of at least") && error.contains("--ef-search"), "{error}");
    }
}
