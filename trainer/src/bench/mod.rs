//! What `pel bench` times, one subject a file.

pub mod encode;
pub mod kernels;
pub mod notes;
pub mod rank;
pub mod report;
pub mod search;
pub mod start;
pub mod sum_of_max;
pub mod train;

use crate::io::interrupt;
use clap::Args;
use pel_shared::error::Result;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Measure encoding, ranking, searching, linking, memory and cold start on this machine
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  pel bench --bundle bundle\n\nbench/peers.py runs this command beside PyTorch, ONNX Runtime, \
    FAISS and hnswlib, and prints the ratios."
)]
pub struct BenchArgs {
    /// The bundle
    #[arg(long)]
    pub(crate) bundle: PathBuf,
    /// Also measure the encoder of this bundle, for example the same one in int8
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) int8_bundle: Option<PathBuf>,
    /// Also measure this ranker, the model of `pel train --stage rank`: 16 pairs of 128 tokens, a mention with its candidates
    #[arg(long, value_name = "MODEL")]
    pub(crate) ranker: Option<PathBuf>,
    /// Take the token ids of its pairs from a file instead (raw little-endian u32)
    #[arg(long, value_name = "FILE", requires = "ranker")]
    pub(crate) pairs_from: Option<PathBuf>,
    /// Vectors to search: the bundle's own, and beyond them mixtures of two of them [default: as many as the bundle has]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) rows: Option<u32>,
    /// Neighbours of an exact search
    #[arg(short, long, default_value_t = 64)]
    pub(crate) k: usize,
    /// Queries of a search measurement, taken from the vectors
    #[arg(long, default_value_t = 256)]
    pub(crate) queries: usize,
    /// Take the queries from a file instead (raw little-endian f32)
    #[arg(long, value_name = "FILE", conflicts_with = "queries")]
    pub(crate) queries_from: Option<PathBuf>,
    /// Also search an HNSW graph, with so many nodes kept while searching; several numbers with commas are tried one after the other
    #[arg(long, value_name = "EF", value_delimiter = ',')]
    pub(crate) hnsw: Vec<usize>,
    /// Vectors in the HNSW graph, the first ones [default: all]
    #[arg(long, value_name = "ROWS")]
    pub(crate) hnsw_rows: Option<usize>,
    /// Neighbours of an HNSW search
    #[arg(long, default_value_t = 10)]
    pub(crate) hnsw_k: usize,
    /// Keep HNSW graphs in this folder, and take them from it
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
    /// Link the notes of this folder, and compare with what the encoder's figures promise
    #[arg(long, value_name = "FOLDER", conflicts_with = "no_encode")]
    pub(crate) notes: Option<PathBuf>,
    /// The least time of one measurement, in seconds
    #[arg(long, default_value_t = 0.5, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Write the vectors that are searched (raw little-endian f32)
    #[arg(long, value_name = "FILE")]
    pub(crate) export_vectors: Option<PathBuf>,
    /// Write which rows each search found (raw little-endian u32, k for each query), a file for each kind of search
    #[arg(long, value_name = "FOLDER")]
    pub(crate) export_found: Option<PathBuf>,
    /// Also measure training: forward and backward of 16 texts of 64 tokens, and whole steps of 16 pairs
    #[arg(long)]
    pub(crate) train: bool,
    /// Also measure each kernel with each set of instructions that this processor has
    #[arg(long)]
    pub(crate) kernels: bool,
    /// Leave out encoding
    #[arg(long)]
    pub(crate) no_encode: bool,
    /// Leave out searching
    #[arg(long)]
    pub(crate) no_search: bool,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("expected 0 to 3600 seconds, found {text:?}")),
    }
}

/// The median time of a run in milliseconds, after one to warm up, over at least three runs and `seconds`; and how many
/// runs that were.
pub(crate) fn timed(seconds: f64, mut run: impl FnMut() -> Result<()>) -> Result<(f64, usize)> {
    run()?;
    let (mut times, end) = (Vec::new(), Instant::now() + Duration::from_secs_f64(seconds));
    while times.len() < 3 || Instant::now() < end {
        interrupt::check()?;
        let began = Instant::now();
        run()?;
        times.push(milliseconds(began));
    }
    Ok((median(&mut times), times.len()))
}

/// The higher median; NaN of nothing.
pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// SplitMix64 (Steele et al., 2014): enough for token ids and mixtures.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 3.0);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn a_measurement_has_at_least_three_runs_after_the_first() -> Result<()> {
        let mut runs = 0;
        let (_, counted) = timed(0.0, || {
            runs += 1;
            Ok(())
        })?;
        assert_eq!((runs, counted), (4, 3));
        Ok(())
    }

    /// The first numbers of SplitMix64 from seed 0, as its authors' C program prints them.
    #[test]
    fn the_random_numbers_are_splitmix64() {
        let mut random = Random(0);
        assert_eq!(random.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next(), 0x6e78_9e6a_a1b9_65f4);
    }
}
