//! `pel bench`: what the encoder, the index and a cold start cost on this machine.

use crate::device::{DeviceArgs, OpenDevice, Work};
use crate::encode::encode_batches;
use crate::files::{io_error, write_whole};
use crate::tables::table;
use crate::{bundles, interrupt, memory};
use clap::Args;
use pel_shared::biencoder::{BiEncoder, Side};
use pel_shared::bundle::Bundle;
use pel_shared::container::Check;
use pel_shared::error::{Context, Error, Result};
use pel_shared::index::{HnswOptions, Index, IndexInfo, Precision};
use pel_shared::kb::ConceptId;
use pel_shared::tokens::TokenBatch;
use serde::Serialize;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Measure encoding, searching, memory and cold start on this machine
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  pel bench --bundle bundle\n\nbench/peers.py runs this command beside PyTorch, ONNX Runtime, \
    FAISS and hnswlib, and prints the ratios."
)]
pub struct BenchArgs {
    /// The bundle
    #[arg(long)]
    bundle: PathBuf,
    /// Vectors to search: the bundle's own, and beyond them mixtures of two of them [default: as many as the bundle has]
    #[arg(long)]
    rows: Option<usize>,
    /// Neighbours of a search
    #[arg(short, long, default_value_t = 64)]
    k: usize,
    /// Queries of a search measurement
    #[arg(long, default_value_t = 256)]
    queries: usize,
    /// Also build an HNSW graph and search it, with this many nodes kept while searching
    #[arg(long, value_name = "EF")]
    hnsw: Option<usize>,
    /// The least time of one measurement, in seconds
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Write the vectors that are searched (raw little-endian f32)
    #[arg(long, value_name = "FILE")]
    export_vectors: Option<PathBuf>,
    /// Leave out encoding
    #[arg(long)]
    no_encode: bool,
    /// Leave out searching
    #[arg(long)]
    no_search: bool,
}

/// Batch and tokens of a row.
const SHAPES: [(usize, usize); 4] = [(1, 32), (1, 128), (16, 64), (32, 128)];
const SEARCH_BATCHES: [usize; 2] = [1, 64];
/// What a cold start links.
const NOTE: &str = "Known hypertension. Presents with chest pain and shortness of breath since this morning.";

#[derive(Serialize)]
struct Report {
    versions: serde_json::Value,
    device: String,
    threads: usize,
    bundle_bytes: u64,
    /// `pel link` on a short note, from start to exit, the median of five.
    cold_start_ms: f64,
    /// The most memory that such a run held.
    link_peak_bytes: Option<u64>,
    encode: Vec<EncodeRow>,
    search: Vec<SearchRow>,
    /// The most memory that this run held.
    peak_bytes: Option<u64>,
}

#[derive(Serialize)]
struct EncodeRow {
    batch: usize,
    seq: usize,
    median_ms: f64,
    runs: usize,
}

#[derive(Serialize)]
struct SearchRow {
    kind: &'static str,
    rows: usize,
    dim: usize,
    k: usize,
    batch: usize,
    queries_per_s: f64,
    /// Against the exact f32 search.
    #[serde(rename = "recall")]
    recall: f64,
    bytes: usize,
    build_s: f64,
}

/// Runs `pel bench`.
///
/// # Errors
/// If the bundle cannot be read, the device fails or a file cannot be written.
pub fn run(args: &BenchArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    if args.k == 0 || args.queries == 0 {
        return Err(Error::input("expected at least one neighbour and one query"));
    }
    let (cold_start_ms, link_peak_bytes) = cold_start(args)?;
    let bundle = bundles::open(&args.bundle)?;
    let opened = device.open(Work::Long)?;
    let encode = if args.no_encode { Vec::new() } else { encode(args, &bundle, &opened)? };
    let search = if args.no_search { Vec::new() } else { search(args, &bundle)? };
    let report = Report {
        versions: serde_json::json!({"pel": env!("CARGO_PKG_VERSION"), "burn": "0.22.1"}),
        device: opened.name.clone(),
        threads: rayon::current_num_threads(),
        bundle_bytes: bundle.manifest.files.values().map(|file| file.bytes).sum(),
        cold_start_ms,
        link_peak_bytes,
        encode,
        search,
        peak_bytes: memory::peak(),
    };
    if json {
        let said = serde_json::to_string(&report).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        println!("{said}");
    } else {
        print(&report);
    }
    Ok(())
}

fn print(report: &Report) {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let peak = |peak: Option<u64>| peak.map_or("unknown".into(), megabytes);
    println!("{}, bundle {}", report.device, megabytes(report.bundle_bytes));
    println!("cold start of `pel link` {:.0} ms, peak memory {}", report.cold_start_ms, peak(report.link_peak_bytes));
    if !report.encode.is_empty() {
        let mut table = table(["Encode", "ms", "Texts/s", "Tokens/s"]);
        for row in &report.encode {
            let per_second = 1000.0 * row.batch as f64 / row.median_ms;
            table.add_row([
                format!("{} x {}", row.batch, row.seq),
                format!("{:.1}", row.median_ms),
                format!("{per_second:.0}"),
                format!("{:.0}", per_second * row.seq as f64),
            ]);
        }
        println!("{table}");
    }
    if !report.search.is_empty() {
        let mut table = table(["Search", "Vectors", "Batch", "Queries/s", "Recall@k", "Index", "Built in"]);
        for row in &report.search {
            table.add_row([
                row.kind.to_owned(),
                format!("{} x {}", row.rows, row.dim),
                row.batch.to_string(),
                format!("{:.0}", row.queries_per_s),
                format!("{:.4}", row.recall),
                megabytes(row.bytes as u64),
                format!("{:.1} s", row.build_s),
            ]);
        }
        println!("{table}");
    }
    println!("peak memory of this run {}", peak(report.peak_bytes));
}

/// Starts `pel link` five times on a short note.
fn cold_start(args: &BenchArgs) -> Result<(f64, Option<u64>)> {
    let failed = |cause: std::io::Error| Error::io("starting `pel link`").caused_by(cause);
    let program = std::env::current_exe().map_err(failed)?;
    let note = tempfile::Builder::new().suffix(".txt").tempfile().map_err(failed)?;
    std::fs::write(note.path(), NOTE).map_err(|cause| io_error("writing", note.path(), cause))?;
    let (mut times, mut peak) = (Vec::new(), None);
    for _ in 0..5 {
        interrupt::check()?;
        let began = Instant::now();
        let mut command = Command::new(&program);
        command.arg("link").arg("--bundle").arg(&args.bundle).arg("--memory").arg(note.path());
        let done =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output().map_err(failed)?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if !done.status.success() {
            return Err(Error::artifact("`pel link` failed").caused_by(said));
        }
        let bytes =
            said.lines().find_map(|line| line.strip_prefix("peak memory ")?.strip_suffix(" bytes")?.parse().ok());
        peak = peak.max(bytes);
    }
    Ok((median(&mut times), peak))
}

fn encode(args: &BenchArgs, bundle: &Bundle, device: &OpenDevice) -> Result<Vec<EncodeRow>> {
    let encoder = bundle.encoder(&device.device).context(|| args.bundle.display().to_string())?;
    let mut rows = Vec::new();
    for (batch, seq) in SHAPES {
        if seq > encoder.tower(Side::Mention).bert().max_positions() {
            continue;
        }
        let (median_ms, runs) = timed(args.seconds, || encode_once(bundle, &encoder, device, batch, seq))?;
        rows.push(EncodeRow { batch, seq, median_ms, runs });
    }
    Ok(rows)
}

/// One batch, shared out over the threads as linking does it.
fn encode_once(bundle: &Bundle, encoder: &BiEncoder, device: &OpenDevice, batch: usize, seq: usize) -> Result<()> {
    let share = if device.is_cpu { batch.div_ceil(rayon::current_num_threads()) } else { batch };
    let mut random = Random(0);
    let size = bundle.tokens.size() as u64;
    let batches: Vec<TokenBatch> = (0..batch)
        .step_by(share)
        .map(|first| {
            let rows = share.min(batch - first);
            let ids = (0..rows * seq).map(|_| (random.next() % size) as i32).collect();
            TokenBatch { batch: rows, seq, ids, segments: vec![0; rows * seq], mask: vec![true; rows * seq] }
        })
        .collect();
    let (tower, reduction) = (encoder.tower(Side::Mention), bundle.manifest.encoder.reduction);
    encode_batches(device, &batches, |batch| tower.forward(batch, reduction, &device.device)).map(drop)
}

fn search(args: &BenchArgs, bundle: &Bundle) -> Result<Vec<SearchRow>> {
    let info = bundle.index.info().clone();
    let vectors = vectors(args, &bundle.index);
    let (dim, rows) = (info.dim, vectors.len() / info.dim);
    if let Some(path) = &args.export_vectors {
        write_whole(path, |file| {
            file.write_all(bytemuck::cast_slice(&vectors)).map_err(|cause| io_error("writing", path, cause))
        })?;
    }
    let step = (rows / args.queries).max(1);
    let queries: Vec<f32> = vectors.chunks_exact(dim).step_by(step).take(args.queries).flatten().copied().collect();
    let concepts: Vec<ConceptId> = (0..rows as u32).map(ConceptId).collect();
    let mut kinds = vec![("exact-f32", Precision::F32, None), ("exact-int8", Precision::Int8, None)];
    if let Some(ef_search) = args.hnsw {
        kinds.push(("hnsw", Precision::F32, Some(HnswOptions { ef_search, ..HnswOptions::default() })));
    }
    let (mut found, mut exact) = (Vec::new(), Vec::new());
    for (kind, precision, hnsw) in kinds {
        interrupt::check()?;
        let began = Instant::now();
        let bytes = Index::build(&vectors, &concepts, &IndexInfo { rows, dim, precision, score: info.score, hnsw })?;
        let (build_s, size) = (began.elapsed().as_secs_f64(), bytes.len());
        let index = Index::from_bytes(&bytes.into(), Check::Trusted)?;
        let lists = index.search(&queries, args.k);
        if exact.is_empty() {
            exact = lists.clone();
        }
        let hits = |(one, other): (&Vec<_>, &Vec<pel_shared::score::Candidate>)| -> usize {
            other.iter().filter(|o| one.iter().any(|c: &pel_shared::score::Candidate| c.concept == o.concept)).count()
        };
        let hits: usize = lists.iter().zip(&exact).map(hits).sum();
        let recall = hits as f64 / exact.iter().map(Vec::len).sum::<usize>() as f64;
        for batch in SEARCH_BATCHES {
            let batches: Vec<&[f32]> = queries.chunks(batch * dim).collect();
            let mut at = 0;
            let (median_ms, _) = timed(args.seconds, || {
                index.search(batches[at % batches.len()], args.k);
                at += 1;
                Ok(())
            })?;
            let queries_per_s = 1000.0 * batch.min(args.queries) as f64 / median_ms;
            found.push(SearchRow { kind, rows, dim, k: args.k, batch, queries_per_s, recall, bytes: size, build_s });
        }
    }
    Ok(found)
}

/// The bundle's own vectors; beyond them the normalised means of two of them, chosen with a fixed seed.
fn vectors(args: &BenchArgs, index: &Index) -> Vec<f32> {
    let own = index.info().rows;
    let rows = args.rows.unwrap_or(own);
    let mut vectors: Vec<f32> = (0..own.min(rows)).flat_map(|row| index.vector(row)).collect();
    let mut random = Random(1);
    for _ in own..rows {
        let mut pick = || index.vector((random.next() % own as u64) as usize);
        let mixed: Vec<f32> = pick().iter().zip(pick()).map(|(a, b)| a + b).collect();
        let length = mixed.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
        vectors.extend(mixed.iter().map(|value| value / length));
    }
    vectors
}

/// The median time of a run in milliseconds, after one to warm up, over at least three runs and `seconds`.
fn timed(seconds: f64, mut run: impl FnMut() -> Result<()>) -> Result<(f64, usize)> {
    run()?;
    let (mut times, end) = (Vec::new(), Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 3600.0)));
    while times.len() < 3 || Instant::now() < end {
        interrupt::check()?;
        let began = Instant::now();
        run()?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    Ok((median(&mut times), times.len()))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// SplitMix64 (Steele et al., 2014): enough for token ids and mixtures.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
