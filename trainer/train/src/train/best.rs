//! The best weights of a run so far, by recall@1 on the validation split. They become the model at
//! the end.
//!
//! ```text
//! checkpoints/best-0000300/
//!   best.json   the step, its recall@1, and a hash of every file of the model
//!   model/      the towers, as Hugging Face folders
//! ```
//!
//! A run that is resumed from a checkpoint must end with the model of an uninterrupted run. It
//! therefore keeps, for every checkpoint that still exists, the best weights up to the step of that
//! checkpoint.

use pel_artifacts::bundles;
use pel_io::files::{entries, io_error, list_files, write_folder, write_in_folder};
use pel_kb::error::{Context, Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PREFIX: &str = "best-";
const RECORD: &str = "best.json";
const MODEL: &str = "model";

/// The weights that became the model of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The step after which they were saved.
    pub step: usize,
    /// Their recall@1 on the validation split; `None` if the last weights were taken without
    /// comparison.
    pub recall_1: Option<f64>,
}

impl Kept {
    /// A description for the user.
    pub fn words(&self) -> String {
        match self.recall_1 {
            Some(recall) => {
                format!(
                    "the weights after step {}, the best on the validation split: recall@1 {:.1}",
                    self.step,
                    100.0 * recall
                )
            }
            None => format!("the weights after the last step ({})", self.step),
        }
    }
}

/// The content of `best.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub step: usize,
    pub recall_1: f64,
    /// The checksum of each file of the model, by its path in the model folder.
    blake3: BTreeMap<String, String>,
}

/// The saved best weights of a run, in ascending order of step and recall@1.
pub struct BestWeights {
    /// The folder of the checkpoints.
    folder: PathBuf,
    records: Vec<Record>,
}

impl BestWeights {
    /// Opens the best weights of a run that has done `step` steps. Weights of later steps, which a
    /// killed run left, are removed.
    ///
    /// # Errors
    /// If one cannot be read or removed.
    pub fn open(run: &Path, step: usize) -> Result<Self> {
        let mut all = Self {
            folder: run.join(super::checkpoint::CHECKPOINTS),
            records: Vec::new(),
        };
        let names = if all.folder.is_dir() {
            entries(&all.folder)?
        } else {
            Vec::new()
        };
        for name in names {
            let Some(at) = name
                .strip_prefix(PREFIX)
                .and_then(|at| at.parse::<usize>().ok())
            else {
                continue;
            };
            if at > step {
                remove(&all.folder_of(at))?;
                continue;
            }
            let path = all.folder_of(at).join(RECORD);
            let record = serde_json::from_slice(&bundles::map(&path)?)
                .map_err(|cause| {
                    Error::artifact("expected the record of a run's best weights").caused_by(cause)
                })
                .context(|| all.damaged(at))?;
            all.records.push(record);
        }
        all.records.sort_unstable_by_key(|record| record.step);
        Ok(all)
    }

    fn folder_of(&self, step: usize) -> PathBuf {
        self.folder.join(format!("{PREFIX}{step:07}"))
    }

    fn damaged(&self, step: usize) -> String {
        let folder = self.folder_of(step).display().to_string();
        format!(
            "{folder}: these weights cannot be read; remove the folder to fall back to the best \
             weights before them"
        )
    }

    /// The best weights before `step`.
    pub fn before(&self, step: usize) -> Option<&Record> {
        self.records.iter().rev().find(|record| record.step < step)
    }

    /// Whether this recall@1 after `step` steps exceeds all earlier ones.
    fn is_best(&self, step: usize, recall: f64) -> bool {
        self.before(step).is_none_or(|best| recall > best.recall_1)
    }

    /// Saves weights if they are the best so far; `save` writes them into a folder.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn save_if_best(
        &mut self,
        step: usize,
        recall: f64,
        save: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        if !self.is_best(step, recall) {
            return Ok(());
        }
        let mut record = Record {
            step,
            recall_1: recall,
            blake3: BTreeMap::new(),
        };
        write_folder(&self.folder_of(step), |folder| {
            save(&folder.join(MODEL))?;
            record.blake3 = hashes(&folder.join(MODEL))?;
            let text = serde_json::to_vec_pretty(&record)
                .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
            write_in_folder(&folder.join(RECORD), &text)
        })?;
        self.records.retain(|other| other.step < step);
        self.records.push(record);
        Ok(())
    }

    /// Removes weights that no checkpoint needs. The best weights up to each of these steps stay,
    /// and the newest.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn prune(&mut self, checkpoints: &[usize]) -> Result<()> {
        let newest = self.records.last().map(|record| record.step);
        let needed: Vec<usize> = checkpoints
            .iter()
            .filter_map(|step| Some(self.before(step + 1)?.step))
            .chain(newest)
            .collect();
        let (needed, removed): (Vec<_>, Vec<_>) = self
            .records
            .drain(..)
            .partition(|record| needed.contains(&record.step));
        self.records = needed;
        removed
            .iter()
            .try_for_each(|record| remove(&self.folder_of(record.step)))
    }

    /// Copies the weights of a record after verifying their checksums.
    ///
    /// # Errors
    /// If a file has changed since it was written, or cannot be copied.
    pub fn copy(&self, record: &Record, to: &Path) -> Result<()> {
        let model = self.folder_of(record.step).join(MODEL);
        let found = hashes(&model).context(|| self.damaged(record.step))?;
        let names = found.keys().chain(record.blake3.keys());
        if let Some(name) = names
            .into_iter()
            .find(|name| found.get(*name) != record.blake3.get(*name))
        {
            let what = format!(
                "{MODEL}/{name}: the file is missing, or differs from its checksum of when it was \
                 written"
            );
            return Err(Error::artifact(what)).context(|| self.damaged(record.step));
        }
        found
            .keys()
            .try_for_each(|name| write_in_folder(&to.join(name), &bundles::map(&model.join(name))?))
    }
}

fn remove(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder).map_err(|cause| io_error("removing", folder, cause))
}

/// The checksum of each file in a folder, by its path in the folder, with `/` between the parts.
fn hashes(folder: &Path) -> Result<BTreeMap<String, String>> {
    let files = list_files(folder)?.into_iter().map(|file| {
        let below = file.strip_prefix(folder).unwrap_or(&file);
        let parts: Vec<_> = below
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        Ok((
            parts.join("/"),
            blake3::hash(&bundles::map(&file)?).to_hex().to_string(),
        ))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best weights after validations with these steps and recalls.
    fn validated(run: &Path, all: &[(usize, f64)]) -> BestWeights {
        let mut bests = BestWeights::open(run, 0).expect("the folder is empty");
        for (step, recall) in all {
            let save = |folder: &Path| {
                write_in_folder(&folder.join("weights"), step.to_string().as_bytes())
            };
            bests.save_if_best(*step, *recall, save).expect("written");
        }
        bests
    }

    fn steps(run: &Path) -> Vec<String> {
        entries(&run.join(super::super::checkpoint::CHECKPOINTS)).expect("listed")
    }

    #[test]
    fn only_a_higher_recall_replaces_the_best_weights() {
        let run = tempfile::tempdir().expect("a folder");
        let bests = validated(run.path(), &[(1, 0.5), (2, 0.4), (3, 0.5), (4, 0.6)]);
        assert_eq!(steps(run.path()), ["best-0000001", "best-0000004"]);
        // A run that is resumed from step 3 does not know the weights of step 4.
        assert_eq!(bests.before(4).map(|best| best.step), Some(1));
        let again = BestWeights::open(run.path(), 3).expect("whole");
        assert_eq!(again.records, bests.records[..1]);
        assert_eq!(steps(run.path()), ["best-0000001"]);
    }

    #[test]
    fn pruning_keeps_the_best_weights_of_each_checkpoint() {
        let run = tempfile::tempdir().expect("a folder");
        let mut bests = validated(
            run.path(),
            &[(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4), (5, 0.5)],
        );
        bests.prune(&[2, 4]).expect("removed");
        assert_eq!(
            steps(run.path()),
            ["best-0000002", "best-0000004", "best-0000005"]
        );
        bests.prune(&[6, 8]).expect("removed");
        assert_eq!(steps(run.path()), ["best-0000005"]);
    }

    #[test]
    fn altered_weights_are_refused() {
        let run = tempfile::tempdir().expect("a folder");
        let bests = validated(run.path(), &[(1, 0.5)]);
        let (record, to) = (&bests.records[0], run.path().join("out"));
        bests.copy(record, &to).expect("whole");
        assert_eq!(fs::read(to.join("weights")).expect("copied"), b"1");
        let weights = bests.folder_of(1).join("model/weights");
        for is_altered in [true, false] {
            let damaged = if is_altered {
                fs::write(&weights, "2")
            } else {
                fs::remove_file(&weights)
            };
            damaged.expect("damaged");
            let error = bests
                .copy(record, &run.path().join("other"))
                .expect_err("damaged")
                .to_string();
            assert!(
                error.contains("best-0000001") && error.contains("model/weights"),
                "{error}"
            );
        }
        fs::write(bests.folder_of(1).join(RECORD), "{").expect("damaged");
        let error = BestWeights::open(run.path(), 1)
            .map(drop)
            .expect_err("damaged")
            .to_string();
        assert!(
            error.contains("best-0000001") && error.contains("remove the folder"),
            "{error}"
        );
    }
}
