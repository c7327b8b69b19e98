//! The recall of an index against the exact search, for `pel index` and `pel bench`.

use pel_index::{Index, IndexInfo};
use pel_kb::ConceptId;
use pel_kb::container::Check;
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;

/// The number of queries, which are vectors of the index.
pub const QUERIES: usize = 256;

/// The number of concepts per query.
pub const K: usize = 64;

/// The largest `ef_search` that is tried unless the user sets it.
const MOST_EF: usize = 6400;

/// The least recall of an approximate search. An index below it is an error.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// The least recall@64 against the exact search over the same vectors, 0 to 1.
    pub least: f64,
    /// Whether the depth of the search is doubled until it is reached.
    pub raise: bool,
}

impl Floor {
    /// The default of [`Floor::least`].
    pub const LEAST: f64 = 0.95;
}

impl Default for Floor {
    fn default() -> Self {
        Self {
            least: Self::LEAST,
            raise: true,
        }
    }
}

/// Recall: the share of the exact search's concepts that a search has found, over all queries; 1
/// without any. In both, equal scores are in concept order.
pub fn share_found(found: &[Vec<Candidate>], exact: &[Vec<Candidate>]) -> f64 {
    let hits = |(found, exact): (&Vec<Candidate>, &Vec<Candidate>)| {
        exact
            .iter()
            .filter(|right| found.iter().any(|one| one.concept == right.concept))
            .count()
    };
    let (hits, all) = (
        found.iter().zip(exact).map(hits).sum::<usize>(),
        exact.iter().map(Vec::len).sum::<usize>(),
    );
    if all == 0 {
        1.0
    } else {
        hits as f64 / all as f64
    }
}

/// At most `count` rows at equal distances.
///
/// # Shapes
/// vectors `[rows, dim]` -> `[n, dim]`
pub fn spaced(vectors: &[f32], dim: usize, count: usize) -> Vec<f32> {
    let step = (vectors.len() / dim.max(1) / count.max(1)).max(1);
    vectors
        .chunks_exact(dim.max(1))
        .step_by(step)
        .take(count)
        .flatten()
        .copied()
        .collect()
}

/// The exact search over the vectors of an index as floats, with queries.
pub struct Against {
    exact: Index,
    /// `[n, dim]`: some of these vectors.
    queries: Vec<f32>,
}

impl Against {
    /// The exact search over the stored vectors of an index, with `count` of them as queries. `mix`
    /// is the weight of the template.
    ///
    /// # Errors
    /// If they cannot be indexed.
    pub fn own(index: &Index, count: usize, mix: f32) -> Result<Self> {
        let info = index.info();
        let vectors: Vec<f32> = (0..info.rows).flat_map(|row| index.vector(row)).collect();
        Self::of(&vectors, index.concepts(), info, count, mix)
    }

    /// The exact search over given vectors, with `count` of them as queries.
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
        let info = info.as_exact_floats();
        let bytes = Index::build(vectors, &concepts.collect::<Vec<_>>(), &info)?;
        let mut exact = Index::from_bytes(&bytes.into(), Check::Trusted)?;
        if mix > 0.0 {
            exact.set_mix(mix);
        }
        Ok(Self { exact, queries })
    }

    /// Sets other queries.
    ///
    /// # Shapes
    /// queries `[n, dim]`
    pub fn set_queries(&mut self, queries: Vec<f32>) {
        self.queries = queries;
    }

    /// The queries.
    pub fn queries(&self) -> &[f32] {
        &self.queries
    }

    /// The best `k` concepts of each query.
    pub fn exact(&self, k: usize) -> Vec<Vec<Candidate>> {
        self.exact.search(&self.queries, k)
    }

    /// The recall@k of an index.
    pub fn recall(&self, index: &Index, k: usize) -> f64 {
        share_found(&index.search(&self.queries, k), &self.exact(k))
    }

    /// The recall@[`K`] of an index with the least depth that reaches the floor, the index's own
    /// doubled as often as needed, and this depth.
    ///
    /// # Errors
    /// If it does not reach the floor.
    pub fn reached(&self, index: &mut Index, floor: Floor) -> Result<(f64, usize)> {
        let exact = self.exact(K);
        let info = index.info().clone();
        let most = info.cells.map_or(MOST_EF, |options| options.cells);
        let mut recall = |depth: usize| {
            index.set_depth(depth);
            share_found(&index.search(&self.queries, K), &exact)
        };
        let mut kept = info.depth().unwrap_or(1);
        let mut found = recall(kept);
        while found < floor.least && floor.raise && 2 * kept <= most {
            kept *= 2;
            found = recall(kept);
        }
        if found >= floor.least {
            return Ok((found, kept));
        }
        let (what, depth, option, more, none) = match info.cells {
            Some(_) => ("cells", "probes", "--probes", "fewer --cells", "--cells"),
            None => (
                "HNSW graph",
                "ef_search",
                "--ef-search",
                "a higher --ef-construction",
                "--hnsw",
            ),
        };
        let tried = match floor.raise {
            true => String::new(),
            false => format!(", {option} left out or with a higher number"),
        };
        Err(Error::artifact(format!(
            "the {what}: expected recall@{K} of at least {} against the exact search over the same vectors, found {found:.4} with \
             {depth} {kept}; try {more}{tried}, another --recall-floor, or no {none}",
            floor.least
        )))
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Candidate, ConceptId};

    /// A list of concepts with equal scores.
    pub fn list(concepts: &[u32]) -> Vec<Candidate> {
        concepts
            .iter()
            .map(|concept| Candidate {
                concept: ConceptId(*concept),
                score: 1.0,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::list;
    use super::*;
    use pel_index::{HnswOptions, Precision};
    use pel_kb::score::Similarity;

    #[test]
    fn recall_is_the_share_of_the_exact_lists() {
        // Three of four: 1 and 2 of the first query, 7 of the second.
        let (found, exact) = (
            [list(&[2, 1]), list(&[7, 9])],
            [list(&[1, 2]), list(&[8, 7])],
        );
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

    /// A graph over random vectors.
    fn graph(ef_search: usize) -> Index {
        let rows = 3000u32;
        let mut state = 7u64;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        };
        let vectors: Vec<f32> = (0..rows * 24).map(|_| next()).collect();
        let hnsw = Some(HnswOptions {
            ef_search,
            ef_construction: 20,
            seed: 0,
        });
        let info = IndexInfo {
            hnsw,
            ..IndexInfo::exact(rows as usize, 24, Precision::F32, Similarity::Dot)
        };
        let concepts: Vec<ConceptId> = (0..rows).map(ConceptId).collect();
        let bytes = Index::build(&vectors, &concepts, &info).expect("it fits");
        Index::from_bytes(&bytes.into(), Check::Trusted).expect("whole")
    }

    #[test]
    fn ef_search_is_doubled_until_the_floor_is_reached() {
        let mut index = graph(16);
        let against = Against::own(&index, 64, 0.0).expect("indexed");
        let before = against.recall(&index, K);
        let floor = Floor {
            least: before + (1.0 - before) / 2.0,
            raise: true,
        };
        let (found, ef) = against.reached(&mut index, floor).expect("reached");
        assert!(
            before < 0.99 && found >= floor.least && ef > 16,
            "{before} {found} {ef}"
        );
        index.set_depth(16);
        let any = Floor {
            least: 0.0,
            raise: true,
        };
        assert_eq!(
            against.reached(&mut index, any).expect("reached"),
            (before, 16)
        );
        let fixed = Floor {
            raise: false,
            ..floor
        };
        let error = against
            .reached(&mut index, fixed)
            .expect_err("too little")
            .to_string();
        assert!(
            error.contains("expected recall@64 of at least") && error.contains("--ef-search"),
            "{error}"
        );
    }
}
