//! Compares the index's graph with a search by `instant-distance` itself, over one set of vectors.
//!
//! ```text
//! cargo run --release -p pel-shared --example hnsw -- [INDEX [ROWS]]
//! ```
//!
//! INDEX is the `index.bin` of a bundle; without one, ROWS (20000) seeded vectors around 500 centres are used. Every
//! hundredth row is held out as a query, 1000 at most. Both graphs are built with the same seed and `ef_construction`,
//! and searched on one thread, query by query. Recall is the share of the ten nearest rows of an exact search over f32
//! that a search returns; milliseconds a query are the median of five passes over all queries.

use bytes::Bytes;
use instant_distance::{Builder, Hnsw, Search};
use pel_shared::container::Check;
use pel_shared::index::{HnswOptions, Index, IndexInfo, Precision};
use pel_shared::kb::ConceptId;
use pel_shared::score::Score;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::time::Instant;

const K: usize = 10;
const PASSES: usize = 5;
const HELD_OUT: usize = 100;
const MOST_QUERIES: usize = 1000;
const EF_SEARCH: [usize; 3] = [50, 100, 200];

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A vector of unit length, as `instant-distance` wants it.
#[derive(Clone, Serialize, Deserialize)]
struct Row(Vec<f32>);

impl instant_distance::Point for Row {
    fn distance(&self, other: &Self) -> f32 {
        1.0 - self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum::<f32>()
    }
}

/// The vectors that are indexed, and those that are looked for, `dim` values each.
struct Data {
    dim: usize,
    rows: Vec<f32>,
    queries: Vec<f32>,
}

impl Data {
    fn new(dim: usize, vectors: impl Iterator<Item = Vec<f32>>) -> Self {
        let mut data = Self { dim, rows: Vec::new(), queries: Vec::new() };
        for (at, mut vector) in vectors.enumerate() {
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            vector.iter_mut().for_each(|value| *value /= length);
            let is_query = at % HELD_OUT == 0 && data.queries.len() < MOST_QUERIES * dim;
            if is_query { &mut data.queries } else { &mut data.rows }.extend(vector);
        }
        data
    }

    fn count(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// An index over the rows, each a concept of its own.
    fn index(&self, precision: Precision, hnsw: Option<HnswOptions>) -> Outcome<Vec<u8>> {
        let concepts: Vec<ConceptId> = (0..self.count() as u32).map(ConceptId).collect();
        let info = IndexInfo { rows: self.count(), dim: self.dim, precision, score: Score::Cosine, hnsw };
        Ok(Index::build(&self.rows, &concepts, &info)?)
    }

    /// The rows that a search finds for each query, and the median of its milliseconds a query.
    fn measured(&self, mut search: impl FnMut(&[f32]) -> Vec<u32>) -> (Vec<Vec<u32>>, f64) {
        let mut found = Vec::new();
        let mut passes: Vec<f64> = (0..PASSES)
            .map(|_| {
                let start = Instant::now();
                found = self.queries.chunks_exact(self.dim).map(&mut search).collect();
                start.elapsed().as_secs_f64() * 1e3 / found.len() as f64
            })
            .collect();
        passes.sort_unstable_by(f64::total_cmp);
        (found, passes[PASSES / 2])
    }
}

/// Vectors around centres, by a linear congruential generator: the same on every machine.
fn made_up(rows: usize) -> Data {
    const DIM: usize = 96;
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let centres: Vec<Vec<f32>> = (0..500).map(|_| (0..DIM).map(|_| random()).collect()).collect();
    let around = |at: usize| centres[at % centres.len()].iter().map(|value| value + random()).collect();
    Data::new(DIM, (0..rows).map(around))
}

fn recall(found: &[Vec<u32>], expected: &[Vec<u32>]) -> f64 {
    let hits = |(found, expected): (&Vec<u32>, &Vec<u32>)| expected.iter().filter(|row| found.contains(row)).count();
    let all: usize = expected.iter().map(Vec::len).sum();
    found.iter().zip(expected).map(hits).sum::<usize>() as f64 / all as f64
}

fn rows_found(index: &Index, query: &[f32], exact: bool) -> Vec<u32> {
    let found = if exact { index.search_exact(query, K) } else { index.search(query, K) };
    found.into_iter().flatten().map(|candidate| candidate.concept.0).collect()
}

/// What a call gives, and its seconds.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let value = call();
    (value, start.elapsed().as_secs_f64())
}

fn print(name: &str, ef: &str, recall: f64, ms: f64, exact_ms: f64, rest: &str) {
    println!("{name:34} {ef:>9} {recall:>9.4} {ms:>9.3} {:>8.1}x {rest}", exact_ms / ms);
}

fn compare(data: &Data) -> Outcome<()> {
    println!("{} rows of {} values, {} queries", data.count(), data.dim, data.queries.len() / data.dim);
    println!("search                             ef_search recall@10  ms/query  speedup    MB  load ms  build s");
    let exact = Index::from_bytes(&Bytes::from(data.index(Precision::F32, None)?), Check::Trusted)?;
    let (expected, exact_ms) = data.measured(|query| rows_found(&exact, query, true));
    print("exact, f32", "", 1.0, exact_ms, exact_ms, "");
    for (name, precision) in [("int8", Precision::Int8), ("int4", Precision::Int4)] {
        let (bytes, seconds) = timed(|| data.index(precision, None));
        let bytes = Bytes::from(bytes?);
        let (index, load) = timed(|| Index::from_bytes(&bytes, Check::Trusted));
        let index = index?;
        let (found, ms) = data.measured(|query| rows_found(&index, query, true));
        let rest = format!("{:>5.1} {:>8.1} {seconds:>8.1}", bytes.len() as f64 / 1e6, load * 1e3);
        print(&format!("exact, {name}"), "", recall(&found, &expected), ms, exact_ms, &rest);
    }

    let options = HnswOptions::default();
    for (name, precision) in [("f32", Precision::F32), ("int8", Precision::Int8)] {
        let (bytes, seconds) = timed(|| data.index(precision, Some(options)));
        let bytes = Bytes::from(bytes?);
        let (index, load) = timed(|| Index::from_bytes(&bytes, Check::Trusted));
        let mut index = index?;
        let rest = format!("{:>5.1} {:>8.1} {seconds:>8.1}", bytes.len() as f64 / 1e6, load * 1e3);
        for ef in EF_SEARCH {
            index.set_ef_search(ef);
            let (found, ms) = data.measured(|query| rows_found(&index, query, false));
            print(&format!("pel graph, {name}"), &ef.to_string(), recall(&found, &expected), ms, exact_ms, &rest);
        }
    }

    let points: Vec<Row> = data.rows.chunks_exact(data.dim).map(|row| Row(row.to_vec())).collect();
    for ef in EF_SEARCH {
        let builder = Builder::default().ef_construction(options.ef_construction).ef_search(ef).seed(options.seed);
        let ((graph, ids), seconds) = timed(|| builder.build_hnsw(points.clone()));
        let bytes = postcard::to_stdvec(&graph)?;
        let (graph, load) = timed(|| postcard::from_bytes::<Hnsw<Row>>(&bytes));
        let graph = graph?;
        // The crate orders points anew: `ids` says where each went.
        let mut row_of = vec![0u32; ids.len()];
        for (row, id) in ids.iter().enumerate() {
            row_of[id.into_inner() as usize] = row as u32;
        }
        let mut state = Search::default();
        let (found, ms) = data.measured(|query| {
            let query = Row(query.to_vec());
            graph.search(&query, &mut state).take(K).map(|item| row_of[item.pid.into_inner() as usize]).collect()
        });
        let rest = format!("{:>5.1} {:>8.1} {seconds:>8.1}", bytes.len() as f64 / 1e6, load * 1e3);
        print("instant-distance", &ef.to_string(), recall(&found, &expected), ms, exact_ms, &rest);
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let path = args.next();
    let rows = args.next().map(|rows| rows.parse::<usize>()).transpose()?;
    let data = match path {
        None => made_up(rows.unwrap_or(20_000)),
        Some(path) => {
            let index = Index::from_bytes(&Bytes::from(std::fs::read(path)?), Check::Checksums)?;
            let (all, dim) = (index.info().rows, index.info().dim);
            // Spread over the whole file.
            let step = rows.map_or(1, |rows| all.div_ceil(rows.max(1)));
            Data::new(dim, (0..all).step_by(step).map(|row| index.vector(row)))
        }
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| compare(&data).map_err(|cause| cause.to_string()))?;
    Ok(())
}
