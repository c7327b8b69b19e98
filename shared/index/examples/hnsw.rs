//! Compares the index's graph with a search by `instant-distance` itself, over one set of vectors.
//!
//! ```text
//! cargo run --release -p pel-index --example hnsw -- [INDEX [ROWS]]
//! ```
//!
//! INDEX is the `index.bin` of a bundle, of which ROWS are taken (all by default); without one,
//! ROWS (20000) seeded vectors around 500 centres are used. Every 20th row is held out as a query,
//! 1000 at most. Both graphs are built with the same seed and `ef_construction`, and searched on
//! one thread, query by query. Recall is the share of the ten nearest rows of an exact search over
//! f32 that a search returns. Milliseconds a query are the median of seven passes over all queries;
//! each pass runs every search once, so that other load on the machine falls on all of them.

use bytes::Bytes;
use instant_distance::{Builder, Hnsw, Search};
use pel_index::{HnswOptions, Index, IndexInfo, Precision};
use pel_kb::ConceptId;
use pel_kb::container::Check;
use pel_kb::score::Similarity;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::time::Instant;

const K: usize = 10;
const PASSES: usize = 7;
const HELD_OUT: usize = 20;
const MOST_QUERIES: usize = 1000;
const EF_SEARCH: [u8; 3] = [25, 50, 100];
const LANES: usize = 8;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A vector of unit length, as `instant-distance` wants it.
#[derive(Clone, Serialize, Deserialize)]
struct Row(Vec<f32>);

impl instant_distance::Point for Row {
    fn distance(&self, other: &Self) -> f32 {
        // Sums that do not depend on each other: the compiler can use SIMD.
        let mut sums = [0.0f32; LANES];
        let (ours, theirs) = (self.0.as_chunks::<LANES>(), other.0.as_chunks::<LANES>());
        for (a, b) in ours.0.iter().zip(theirs.0) {
            for lane in 0..LANES {
                sums[lane] += a[lane] * b[lane];
            }
        }
        let rest: f32 = ours.1.iter().zip(theirs.1).map(|(a, b)| a * b).sum();
        1.0 - sums.iter().sum::<f32>() - rest
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
        let mut data = Self {
            dim,
            rows: Vec::new(),
            queries: Vec::new(),
        };
        for (at, mut vector) in vectors.enumerate() {
            let length = vector
                .iter()
                .map(|value| value * value)
                .sum::<f32>()
                .sqrt()
                .max(f32::MIN_POSITIVE);
            vector.iter_mut().for_each(|value| *value /= length);
            let is_query = at % HELD_OUT == 0 && data.queries.len() < MOST_QUERIES * dim;
            if is_query {
                &mut data.queries
            } else {
                &mut data.rows
            }
            .extend(vector);
        }
        data
    }

    fn count(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// An index over the rows, each a concept of its own.
    fn index(&self, precision: Precision, hnsw: Option<HnswOptions>) -> Outcome<Vec<u8>> {
        let concepts: Vec<ConceptId> = (0..self.count() as u32).map(ConceptId).collect();
        let info = IndexInfo {
            hnsw,
            ..IndexInfo::exact(self.count(), self.dim, precision, Similarity::Cosine)
        };
        Ok(Index::build(&self.rows, &concepts, &info)?)
    }
}

/// Searches for one query; returns the rows found, best first.
type SearchFn = Box<dyn FnMut(&[f32]) -> Vec<u32>>;

/// A way to search, and what is measured of it.
struct Contender {
    name: String,
    ef: Option<u8>,
    megabytes: f64,
    load_ms: f64,
    build_s: f64,
    search: SearchFn,
    found: Vec<Vec<u32>>,
    ms: Vec<f64>,
}

impl Contender {
    fn new(name: &str, ef: Option<u8>, bytes: usize, build_s: f64, load_s: f64) -> Self {
        Self {
            name: name.to_owned(),
            ef,
            megabytes: bytes as f64 / 1e6,
            load_ms: load_s * 1e3,
            build_s,
            search: Box::new(|_| Vec::new()),
            found: Vec::new(),
            ms: Vec::new(),
        }
    }

    fn with(self, search: impl FnMut(&[f32]) -> Vec<u32> + 'static) -> Self {
        Self {
            search: Box::new(search),
            ..self
        }
    }

    fn pass(&mut self, data: &Data) {
        let start = Instant::now();
        self.found = data
            .queries
            .chunks_exact(data.dim)
            .map(&mut self.search)
            .collect();
        self.ms
            .push(start.elapsed().as_secs_f64() * 1e3 / self.found.len() as f64);
    }

    fn median_ms(&mut self) -> f64 {
        self.ms.sort_unstable_by(f64::total_cmp);
        self.ms[PASSES / 2]
    }
}

/// Vectors around centres, by a linear congruential generator: the same on every machine.
fn made_up(rows: usize) -> Data {
    const DIM: usize = 96;
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let centres: Vec<Vec<f32>> = (0..500)
        .map(|_| (0..DIM).map(|_| random()).collect())
        .collect();
    let around = |at: usize| {
        centres[at % centres.len()]
            .iter()
            .map(|value| value + random())
            .collect()
    };
    Data::new(DIM, (0..rows).map(around))
}

fn recall(found: &[Vec<u32>], expected: &[Vec<u32>]) -> f64 {
    let hits = |(found, expected): (&Vec<u32>, &Vec<u32>)| {
        expected.iter().filter(|row| found.contains(row)).count()
    };
    let all: usize = expected.iter().map(Vec::len).sum();
    found.iter().zip(expected).map(hits).sum::<usize>() as f64 / all as f64
}

/// What a call gives, and its seconds.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let value = call();
    (value, start.elapsed().as_secs_f64())
}

/// Our index: built, read again, and searched through its graph if it has one, else exactly.
fn ours(data: &Data, precision: Precision, efs: &[Option<u8>]) -> Outcome<Vec<Contender>> {
    let hnsw = efs.iter().any(Option::is_some).then(HnswOptions::default);
    let (bytes, build_s) = timed(|| data.index(precision, hnsw));
    let bytes = Bytes::from(bytes?);
    let kind = if hnsw.is_some() { "pel graph" } else { "exact" };
    let contender = |ef: &Option<u8>| {
        let (index, load_s) = timed(|| Index::from_bytes(&bytes, Check::Trusted));
        let mut index = index?;
        if let Some(ef) = ef {
            index.set_depth((*ef).into());
        }
        let contender = Contender::new(
            &format!("{kind}, {precision:?}"),
            *ef,
            bytes.len(),
            build_s,
            load_s,
        );
        Ok(contender.with(move |query| {
            index
                .search(query, K)
                .into_iter()
                .flatten()
                .map(|candidate| candidate.concept.0)
                .collect()
        }))
    };
    efs.iter().map(contender).collect()
}

/// The crate's own graph and search, over f32.
fn theirs(data: &Data) -> Outcome<Vec<Contender>> {
    let HnswOptions {
        ef_construction,
        seed,
        ..
    } = HnswOptions::default();
    let points: Vec<Row> = data
        .rows
        .chunks_exact(data.dim)
        .map(|row| Row(row.to_vec()))
        .collect();
    let [first, ..] = EF_SEARCH;
    let builder = Builder::default()
        .ef_construction(ef_construction)
        .seed(seed)
        .ef_search(first.into());
    let ((graph, ids), build_s) = timed(|| builder.build_hnsw(points));
    // The crate reorders points: `ids` says where each went.
    let mut row_of = vec![0u32; ids.len()];
    for (row, id) in ids.iter().enumerate() {
        row_of[id.into_inner() as usize] = row as u32;
    }
    let mut bytes = postcard::to_stdvec(&graph)?;
    let contender = |ef: u8| {
        // Only a builder sets it, and it is the first byte of the file: one graph serves for all.
        bytes[0] = ef;
        let (graph, load_s) = timed(|| postcard::from_bytes::<Hnsw<Row>>(&bytes));
        let (graph, row_of) = (graph?, row_of.clone());
        let mut state = Search::default();
        let contender = Contender::new(
            "instant-distance, F32",
            Some(ef),
            bytes.len(),
            build_s,
            load_s,
        );
        Ok(contender.with(move |query| {
            let query = Row(query.to_vec());
            graph
                .search(&query, &mut state)
                .take(K)
                .map(|item| row_of[item.pid.into_inner() as usize])
                .collect()
        }))
    };
    EF_SEARCH.into_iter().map(contender).collect()
}

fn compare(data: &Data) -> Outcome<()> {
    println!(
        "{} rows of {} values, {} queries",
        data.count(),
        data.dim,
        data.queries.len() / data.dim
    );
    let mut all = Vec::new();
    for precision in [Precision::F32, Precision::Int8, Precision::Int4] {
        all.extend(ours(data, precision, &[None])?);
    }
    for precision in [Precision::F32, Precision::Int8] {
        all.extend(ours(data, precision, &EF_SEARCH.map(Some))?);
    }
    all.extend(theirs(data)?);
    for _ in 0..PASSES {
        all.iter_mut().for_each(|contender| contender.pass(data));
    }
    let (expected, exact_ms) = (all[0].found.clone(), all[0].median_ms());
    println!("search                 ef_search recall@10 ms/query speedup     MB load ms build s");
    for contender in &mut all {
        let (ms, recall) = (contender.median_ms(), recall(&contender.found, &expected));
        let Contender {
            name,
            ef,
            megabytes,
            load_ms,
            build_s,
            ..
        } = contender;
        let ef = ef.map_or(String::new(), |ef| ef.to_string());
        let speedup = exact_ms / ms;
        println!(
            "{name:22} {ef:>9} {recall:>9.4} {ms:>8.3} {speedup:>6.1}x {megabytes:>6.1} \
             {load_ms:>7.1} {build_s:>7.1}"
        );
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
