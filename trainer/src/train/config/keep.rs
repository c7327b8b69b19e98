//! The configuration beside what was trained by it.

use super::Config;
use crate::files::{io_error, read_text, write_whole};
use crate::outputs::entries;
use crate::train::{CHECKPOINTS, METRICS};
use pel_shared::error::{Error, Result};
use std::path::Path;

impl Config {
    /// Keeps the configuration in the run's folder, or checks that the run there has the same. One of ours with which no run has
    /// begun is replaced.
    ///
    /// # Errors
    /// If it has another one (the first line that differs is named), the folder holds something that is no run, or the file cannot
    /// be read or written.
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
        self.check_folder(out)?;
        write_whole(&path, |file| file.write_all(text.as_bytes()).map_err(|cause| io_error("writing", &path, cause)))
    }

    /// Refuses a folder without a run that holds more than a configuration as this method's caller writes it.
    fn check_folder(&self, out: &Path) -> Result<()> {
        let ours = |name: &str| match name {
            "config.toml" => {
                let text = read_text(&out.join(name)).unwrap_or_default();
                toml::from_str::<Self>(&text).is_ok_and(|config| config.to_toml().is_ok_and(|again| again == text))
            }
            // Of a run that ended before its first step.
            METRICS => true,
            _ => false,
        };
        match entries(out)?.into_iter().find(|name| !ours(name)) {
            Some(found) => Err(Error::input(format!(
                "{}: expected a new or empty folder, or a run to go on with, found {found} in it",
                out.display()
            ))),
            None => Ok(()),
        }
    }
}

fn first_difference<'a>(before: &'a str, now: &'a str) -> Option<(&'a str, &'a str)> {
    let lines = before.lines().map(Some).chain(std::iter::repeat(None));
    let others = now.lines().map(Some).chain(std::iter::repeat(None));
    let count = before.lines().count().max(now.lines().count());
    let pair = lines.zip(others).take(count).find(|(was, is)| was != is)?;
    Some((pair.0.unwrap_or(""), pair.1.unwrap_or("")))
}
