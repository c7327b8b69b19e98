//! Benchmarks, one subject a file.

pub mod encode;
pub mod kernels;
pub mod notes;
mod options;
pub mod rank;
pub mod repeat;
pub mod report;
pub mod search;
pub mod sides;
pub mod start;
pub mod sum_of_max;
pub mod train;

pub use options::Options;

use pel_io::files::io_error;
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use std::path::Path;
use std::time::{Duration, Instant};

/// The median time of a run in milliseconds, and the number of runs: at least three, for at least
/// `seconds`, after one to warm up.
pub(crate) fn timed(seconds: f64, mut run: impl FnMut() -> Result<()>) -> Result<(f64, usize)> {
    run()?;
    let (mut times, end) = (
        Vec::new(),
        Instant::now() + Duration::from_secs_f64(seconds),
    );
    while times.len() < 3 || Instant::now() < end {
        interrupt::check()?;
        let began = Instant::now();
        run()?;
        times.push(milliseconds(began));
    }
    Ok((median(&mut times), times.len()))
}

/// The upper median; NaN without times.
pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Reads rows of `width` little-endian values of four bytes from a file.
pub(crate) fn read_rows(path: &Path, width: usize, of: &str) -> Result<Vec<[u8; 4]>> {
    let bytes = std::fs::read(path).map_err(|cause| io_error("reading", path, cause))?;
    if bytes.is_empty() || !bytes.len().is_multiple_of(4 * width) {
        let (path, size) = (path.display(), bytes.len());
        return Err(Error::input(format!(
            "{path}: expected rows of {width} {of}, found {size} bytes"
        )));
    }
    Ok(bytes.as_chunks::<4>().0.to_vec())
}

/// SplitMix64 (Steele et al., 2014), for token ids and mixtures.
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
    fn splitmix64_equals_the_reference_values() {
        let mut random = Random(0);
        assert_eq!(random.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next(), 0x6e78_9e6a_a1b9_65f4);
    }
}
