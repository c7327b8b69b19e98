//! The folder of a run belongs to one configuration, and to one process at a time.

use crate::train::checkpoint::CHECKPOINTS;
use crate::train::config::Config;
use crate::train::log::METRICS;
use pel_io::files::{Lock, entries, io_error, is_partial, read_text, write_no_follow};
use pel_kb::error::{Error, Result};
use std::path::Path;

impl Config {
    /// Locks the folder of a run until the returned lock is dropped, and writes the configuration
    /// there. In the folder of a run that has begun, it checks that the configuration is the same
    /// instead.
    ///
    /// # Errors
    /// If the run has another configuration (the error names the first line that differs), the
    /// folder holds something else than a run, another process trains there, or the file cannot be
    /// read or written.
    pub fn lock_run(&self, out: &Path) -> Result<Lock> {
        let path = out.join("config.toml");
        let text = self.to_toml()?;
        let written =
            || std::fs::metadata(out.join(METRICS)).is_ok_and(|metrics| metrics.len() > 0);
        let begun = || path.exists() && (written() || out.join(CHECKPOINTS).exists());
        if !begun() {
            self.check_folder(out)?;
        }
        let lock = lock(out)?;
        if !begun() {
            write_no_follow(&path, |file| {
                file.write_all(text.as_bytes())
                    .map_err(|cause| io_error("writing", &path, cause))
            })?;
            return Ok(lock);
        }
        // Keys that an earlier version did not have take the defaults of that version. Copies of
        // the log may change.
        let before = read_text(&path)?;
        let before = match toml::from_str::<Self>(&before) {
            Ok(mut before) => {
                before.log.clone_from(&self.log);
                // Without FGSM it has no ε.
                if before.fgsm.lambda == 0.0 && self.fgsm.lambda == 0.0 {
                    before.fgsm.clone_from(&self.fgsm);
                }
                before.to_toml()?
            }
            Err(_) => before,
        };
        match first_difference(&before, &text) {
            Some((was, is)) => Err(Error::input(format!(
                "{}: expected the configuration of the run in this folder, `{was}`, found `{is}`; \
                 choose another --out, or the same configuration",
                out.display()
            ))),
            None => Ok(lock),
        }
    }

    /// Refuses a folder without a run that holds anything but a configuration of ours.
    fn check_folder(&self, out: &Path) -> Result<()> {
        let ours = |name: &str| match name {
            "config.toml" => {
                let text = read_text(&out.join(name)).unwrap_or_default();
                toml::from_str::<Self>(&text)
                    .is_ok_and(|config| config.to_toml().is_ok_and(|again| again == text))
            }
            // Left by a run that ended before its first step.
            METRICS | LOCK => true,
            // Temporary files of a killed run are removed later.
            name => is_partial(name),
        };
        match entries(out)?.into_iter().find(|name| !ours(name)) {
            Some(found) => Err(Error::input(format!(
                "{}: expected a new or empty folder, or a run to resume, found {found} in it",
                out.display()
            ))),
            None => Ok(()),
        }
    }
}

/// The lock file, held by the process that trains in a folder.
const LOCK: &str = ".lock";

/// Creates and locks the folder of a run until the returned lock is dropped.
///
/// # Errors
/// If another process trains there.
fn lock(out: &Path) -> Result<Lock> {
    std::fs::create_dir_all(out).map_err(|cause| io_error("making the folder", out, cause))?;
    Lock::at(&out.join(LOCK))?.ok_or_else(|| {
        Error::input(format!(
            "{}: another process is training there; wait for it, or choose another --out",
            out.display()
        ))
    })
}

fn first_difference<'a>(before: &'a str, now: &'a str) -> Option<(&'a str, &'a str)> {
    let lines = before.lines().map(Some).chain(std::iter::repeat(None));
    let others = now.lines().map(Some).chain(std::iter::repeat(None));
    let count = before.lines().count().max(now.lines().count());
    let pair = lines.zip(others).take(count).find(|(was, is)| was != is)?;
    Some((pair.0.unwrap_or(""), pair.1.unwrap_or("")))
}
