//! The configuration beside what was trained by it.

use super::Config;
use crate::files::{io_error, read_text, write_whole};
use crate::train::{CHECKPOINTS, METRICS};
use pel_shared::error::{Error, Result};
use std::path::Path;

impl Config {
    /// Keeps the configuration in the run's folder, or checks that the run there has the same. One with which no run has begun
    /// is replaced.
    ///
    /// # Errors
    /// If it has another one (the first line that differs is named), or the file cannot be read or written.
    pub fn keep(&self, out: &Path) -> Result<()> {
        let path = out.join("config.toml");
        let text = self.to_toml()?;
        let begun = std::fs::metadata(out.join(METRICS)).is_ok_and(|metrics| metrics.len() > 0);
        if path.exists() && (begun || out.join(CHECKPOINTS).exists()) {
            let before = read_text(&path)?;
            if let Some((was, is)) = first_difference(&before, &text) {
                return Err(Error::input(format!(
                    "{}: the run there was begun with `{was}`, this one has `{is}`; choose another --out, or the same configuration",
                    out.display()
                )));
            }
            return Ok(());
        }
        write_whole(&path, |file| file.write_all(text.as_bytes()).map_err(|cause| io_error("writing", &path, cause)))
    }
}

fn first_difference<'a>(before: &'a str, now: &'a str) -> Option<(&'a str, &'a str)> {
    let lines = before.lines().map(Some).chain(std::iter::repeat(None));
    let others = now.lines().map(Some).chain(std::iter::repeat(None));
    let count = before.lines().count().max(now.lines().count());
    let pair = lines.zip(others).take(count).find(|(was, is)| was != is)?;
    Some((pair.0.unwrap_or(""), pair.1.unwrap_or("")))
}
