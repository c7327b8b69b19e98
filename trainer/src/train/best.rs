//! The best weights of a run so far, by validation; in the end they are its model.
//!
//! ```text
//! checkpoints/best-0000300/
//!   best.json   the step, its recall@1, and a hash of every file of the model
//!   model/      the towers, as Hugging Face folders
//! ```
//!
//! A run that goes on from a checkpoint knows the best weights up to its step and no later ones, so that it ends with the model of a run that
//! was never stopped. For that, the best weights up to every checkpoint that is still there stay.

use crate::io::bundles;
use crate::io::files::{entries, files_of, io_error, write_folder, write_in_folder};
use pel_shared::error::{Context, Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PREFIX: &str = "best-";
const RECORD: &str = "best.json";
const MODEL: &str = "model";

/// Which weights of a run became its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// After how many steps they were.
    pub step: usize,
    /// The recall@1 of the validation that decided; nothing where the last weights are kept without being compared.
    pub recall_1: Option<f64>,
}

impl Kept {
    /// Which they are, in words.
    pub fn words(&self) -> String {
        match self.recall_1 {
            Some(recall) => {
                format!(
                    "the weights after {} steps, the best of the validations: recall@1 {:.1}",
                    self.step,
                    100.0 * recall
                )
            }
            None => format!("the weights after the last step, {}", self.step),
        }
    }
}

/// What `best.json` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub step: usize,
    pub recall_1: f64,
    /// Of each file of the model, by its path below it.
    blake3: BTreeMap<String, String>,
}

/// The best weights of a run: each better than those before it.
pub struct Bests {
    /// Where checkpoints are.
    folder: PathBuf,
    records: Vec<Record>,
}

impl Bests {
    /// Those of a run that has done `step` steps. What a run that was killed found later is removed: it is found again.
    ///
    /// # Errors
    /// If one cannot be read or removed.
    pub fn open(run: &Path, step: usize) -> Result<Self> {
        let mut all = Self { folder: run.join(super::checkpoint::CHECKPOINTS), records: Vec::new() };
        let names = if all.folder.is_dir() { entries(&all.folder)? } else { Vec::new() };
        for name in names {
            let Some(at) = name.strip_prefix(PREFIX).and_then(|at| at.parse::<usize>().ok()) else { continue };
            if at > step {
                remove(&all.place(at))?;
                continue;
            }
            let path = all.place(at).join(RECORD);
            let record = serde_json::from_slice(&bundles::map(&path)?)
                .map_err(|cause| Error::artifact("expected the record of a run's best weights").caused_by(cause))
                .context(|| all.damaged(at))?;
            all.records.push(record);
        }
        all.records.sort_unstable_by_key(|record| record.step);
        Ok(all)
    }

    fn place(&self, step: usize) -> PathBuf {
        self.folder.join(format!("{PREFIX}{step:07}"))
    }

    fn damaged(&self, step: usize) -> String {
        let place = self.place(step).display().to_string();
        format!("{place}: these weights cannot be read; without this folder the best ones before them are taken")
    }

    /// The best before `step`.
    pub fn before(&self, step: usize) -> Option<&Record> {
        self.records.iter().rev().find(|record| record.step < step)
    }

    /// Whether a recall@1 after `step` steps is above all before it.
    fn is_best(&self, step: usize, recall: f64) -> bool {
        self.before(step).is_none_or(|best| recall > best.recall_1)
    }

    /// Keeps weights, which `save` writes into a folder, if they are the best so far.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn offer(&mut self, step: usize, recall: f64, save: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        if !self.is_best(step, recall) {
            return Ok(());
        }
        let mut record = Record { step, recall_1: recall, blake3: BTreeMap::new() };
        write_folder(&self.place(step), |folder| {
            save(&folder.join(MODEL))?;
            record.blake3 = hashes(&folder.join(MODEL))?;
            let text =
                serde_json::to_vec_pretty(&record).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
            write_in_folder(&folder.join(RECORD), &text)
        })?;
        self.records.retain(|other| other.step < step);
        self.records.push(record);
        Ok(())
    }

    /// Removes those that no checkpoint needs any more: the best up to each of these steps and the newest stay.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn prune(&mut self, checkpoints: &[usize]) -> Result<()> {
        let newest = self.records.last().map(|record| record.step);
        let needed: Vec<usize> =
            checkpoints.iter().filter_map(|step| Some(self.before(step + 1)?.step)).chain(newest).collect();
        let (stay, go): (Vec<_>, Vec<_>) = self.records.drain(..).partition(|record| needed.contains(&record.step));
        self.records = stay;
        go.iter().try_for_each(|record| remove(&self.place(record.step)))
    }

    /// Copies the weights of a record, whose files are compared with their hashes.
    ///
    /// # Errors
    /// If a file has changed since it was written, or cannot be copied.
    pub fn copy(&self, record: &Record, to: &Path) -> Result<()> {
        let model = self.place(record.step).join(MODEL);
        let found = hashes(&model).context(|| self.damaged(record.step))?;
        let names = found.keys().chain(record.blake3.keys());
        if let Some(name) = names.into_iter().find(|name| found.get(*name) != record.blake3.get(*name)) {
            let what = format!("{MODEL}/{name}: expected the file that was written there, found another one or none");
            return Err(Error::artifact(what)).context(|| self.damaged(record.step));
        }
        found.keys().try_for_each(|name| write_in_folder(&to.join(name), &bundles::map(&model.join(name))?))
    }
}

fn remove(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder).map_err(|cause| io_error("removing", folder, cause))
}

/// The hash of each file of a folder, by its path below it with `/` between folders.
fn hashes(folder: &Path) -> Result<BTreeMap<String, String>> {
    let files = files_of(folder)?.into_iter().map(|file| {
        let below = file.strip_prefix(folder).unwrap_or(&file);
        let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        Ok((parts.join("/"), blake3::hash(&bundles::map(&file)?).to_hex().to_string()))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run's folder with weights of these steps and figures offered in turn.
    fn offered(run: &Path, all: &[(usize, f64)]) -> Bests {
        let mut bests = Bests::open(run, 0).expect("nothing is there");
        for (step, recall) in all {
            let save = |folder: &Path| write_in_folder(&folder.join("weights"), step.to_string().as_bytes());
            bests.offer(*step, *recall, save).expect("written");
        }
        bests
    }

    fn steps(run: &Path) -> Vec<String> {
        entries(&run.join(super::super::checkpoint::CHECKPOINTS)).expect("listed")
    }

    #[test]
    fn only_a_higher_figure_is_better_and_the_earlier_of_equals_stays() {
        let run = tempfile::tempdir().expect("a folder");
        let bests = offered(run.path(), &[(1, 0.5), (2, 0.4), (3, 0.5), (4, 0.6)]);
        assert_eq!(steps(run.path()), ["best-0000001", "best-0000004"]);
        // Killed after step 4, the run goes on from step 3: what came later is not known yet.
        assert_eq!(bests.before(4).map(|best| best.step), Some(1));
        let again = Bests::open(run.path(), 3).expect("whole");
        assert_eq!(again.records, bests.records[..1]);
        assert_eq!(steps(run.path()), ["best-0000001"]);
    }

    #[test]
    fn the_best_up_to_each_checkpoint_stays() {
        let run = tempfile::tempdir().expect("a folder");
        let mut bests = offered(run.path(), &[(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4), (5, 0.5)]);
        bests.prune(&[2, 4]).expect("removed");
        assert_eq!(steps(run.path()), ["best-0000002", "best-0000004", "best-0000005"]);
        bests.prune(&[6, 8]).expect("removed");
        assert_eq!(steps(run.path()), ["best-0000005"]);
    }

    #[test]
    fn a_file_that_has_changed_is_refused() {
        let run = tempfile::tempdir().expect("a folder");
        let bests = offered(run.path(), &[(1, 0.5)]);
        let (record, to) = (&bests.records[0], run.path().join("out"));
        bests.copy(record, &to).expect("whole");
        assert_eq!(fs::read(to.join("weights")).expect("copied"), b"1");
        let weights = bests.place(1).join("model/weights");
        for is_altered in [true, false] {
            let damaged = if is_altered { fs::write(&weights, "2") } else { fs::remove_file(&weights) };
            damaged.expect("damaged");
            let error = bests.copy(record, &run.path().join("other")).expect_err("damaged").to_string();
            assert!(error.contains("best-0000001") && error.contains("model/weights"), "{error}");
        }
        fs::write(bests.place(1).join(RECORD), "{").expect("damaged");
        let error = Bests::open(run.path(), 1).map(drop).expect_err("damaged").to_string();
        assert!(error.contains("best-0000001") && error.contains("without this folder"), "{error}");
    }
}
