//! The log of a run as JSON, with the keys that W&B uses.
//!
//! ```text
//! wandb/config.json          the configuration
//! wandb/wandb-history.jsonl  a line for each step: the scalars, _step, _timestamp (seconds since 1970), _runtime (seconds of the run)
//! wandb/wandb-summary.json   the last value of every key
//! ```

use super::config::Config;
use crate::io::files::{for_each_line, io_error, open_no_follow, write_jsonl};
use crate::io::json;
use pel_shared::error::Result;
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

type Row = Map<String, Value>;

/// The history of a run, whose files are made with its first scalar.
pub struct History {
    folder: PathBuf,
    /// The configuration as JSON.
    config: String,
    /// When the run would have begun without the times between its calls.
    begun: f64,
    file: Option<File>,
    /// The last row, and where it begins and ends in the file.
    row: Row,
    place: [u64; 2],
    summary: Row,
}

impl History {
    /// The history of a run that has done `step` steps. Rows of later steps, which a killed run
    /// left, are dropped. `time` is in seconds since 1970.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn open(run: &Path, config: &Config, step: usize, time: f64) -> Result<Self> {
        let folder = run.join("wandb");
        let mut history = Self {
            config: json::pretty(config)?,
            begun: time,
            file: None,
            row: Row::new(),
            place: [0, 0],
            summary: Row::new(),
            folder,
        };
        let path = history.path();
        if !path.exists() {
            return Ok(history);
        }
        let mut rows: Vec<Row> = Vec::new();
        for_each_line(&path, |_, line| {
            // A killed run leaves at most a part of its last line.
            let row = serde_json::from_str::<Row>(line).ok();
            rows.extend(row.filter(|row| step_of(row).is_some_and(|at| at <= step as u64)));
            Ok(())
        })?;
        write_jsonl(&path, &rows)?;
        for row in rows {
            history.take(row)?;
        }
        let before = history.row.get("_runtime").and_then(Value::as_f64);
        history.begun -= before.unwrap_or(0.0);
        Ok(history)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("wandb-history.jsonl")
    }

    /// Sets the last row, which follows the one before or replaces that of the same step. Returns
    /// its line.
    fn take(&mut self, row: Row) -> Result<String> {
        let line = json::compact(&row)? + "\n";
        if step_of(&row) != step_of(&self.row) {
            self.place[0] = self.place[1];
        }
        self.place[1] = self.place[0] + line.len() as u64;
        let values = row.iter().map(|(key, value)| (key.clone(), value.clone()));
        self.summary.extend(values);
        self.row = row;
        Ok(line)
    }

    /// Adds the scalars of a step. Those of one step share a line.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&mut self, time: f64, step: usize, scalars: &[(String, f64)]) -> Result<()> {
        if scalars.is_empty() {
            return Ok(());
        }
        let path = self.path();
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                std::fs::create_dir_all(&self.folder)
                    .map_err(|cause| io_error("making the folder", &self.folder, cause))?;
                put(&self.folder.join("config.json"), &self.config)?;
                let mut options = OpenOptions::new();
                open_no_follow(&path, options.write(true).create(true).truncate(false))?
            }
        };
        let mut row = match step_of(&self.row) == Some(step as u64) {
            true => self.row.clone(),
            false => Row::new(),
        };
        row.insert("_step".into(), step.into());
        row.insert("_timestamp".into(), time.into());
        row.insert("_runtime".into(), (time - self.begun).into());
        for (tag, value) in scalars {
            row.insert(tag.clone(), (*value).into());
        }
        let line = self.take(row)?;
        let [begin, end] = self.place;
        file.seek(SeekFrom::Start(begin))
            .and_then(|_| file.write_all(line.as_bytes()))
            .and_then(|()| file.set_len(end))
            .map_err(|cause| io_error("writing", &path, cause))?;
        self.file = Some(file);
        Ok(())
    }

    /// Writes the last value of every key.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn summarise(&self) -> Result<()> {
        if self.summary.is_empty() {
            return Ok(());
        }
        let text = json::pretty(&self.summary)?;
        put(&self.folder.join("wandb-summary.json"), &text)
    }
}

/// Writes a file. It does not stop at an interrupt, which ends a run between two steps.
fn put(path: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    let mut file = open_no_follow(path, options.write(true).create(true).truncate(true))?;
    file.write_all(text.as_bytes())
        .map_err(|cause| io_error("writing", path, cause))
}

fn step_of(row: &Row) -> Option<u64> {
    row.get("_step").and_then(Value::as_u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_one_row_and_a_resumed_run_continues() {
        let run = tempfile::tempdir().expect("a folder");
        let at = |name: &str| run.path().join("wandb").join(name);
        let config = Config::default();
        let open = |step, time| History::open(run.path(), &config, step, time).expect("opened");
        let scalar = |name: &str, value: f64| [(name.to_owned(), value)];
        let rows = || -> Vec<Value> {
            let text = std::fs::read_to_string(at("wandb-history.jsonl")).expect("there");
            text.lines()
                .map(|line| serde_json::from_str(line).expect("JSON"))
                .collect()
        };
        let mut first = open(0, 100.0);
        first.summarise().expect("nothing to write");
        first.write(100.0, 1, &[]).expect("nothing to write");
        assert!(!run.path().join("wandb").exists());
        for (time, step, name, value) in [
            (101.5, 1, "loss", 4.0),
            (102.0, 2, "loss", 3.25),
            // A validation after the same step.
            (103.0, 2, "recall", 0.5),
            (104.0, 3, "loss", 2.0),
        ] {
            first
                .write(time, step, &scalar(name, value))
                .expect("written");
        }
        assert_eq!(
            rows(),
            [
                serde_json::json!({"_step": 1, "_timestamp": 101.5, "_runtime": 1.5, "loss": 4.0}),
                serde_json::json!({"_step": 2, "_timestamp": 103.0, "_runtime": 3.0, "loss": 3.25,
                    "recall": 0.5}),
                serde_json::json!({"_step": 3, "_timestamp": 104.0, "_runtime": 4.0, "loss": 2.0}),
            ]
        );
        // Killed in the middle of a line, and resumed from step 2 a day later.
        let text = std::fs::read_to_string(at("wandb-history.jsonl")).expect("there");
        std::fs::write(at("wandb-history.jsonl"), text + "{\"_step\": 4,").expect("written");
        let mut second = open(2, 90_000.0);
        second
            .write(90_002.0, 3, &scalar("loss", 1.0))
            .expect("written");
        second.summarise().expect("written");
        let last =
            serde_json::json!({"_step": 3, "_timestamp": 90_002.0, "_runtime": 5.0, "loss": 1.0});
        let found = rows();
        assert_eq!((found.len(), &found[2]), (3, &last));
        let summary = std::fs::read_to_string(at("wandb-summary.json")).expect("there");
        let summary: Value = serde_json::from_str(&summary).expect("JSON");
        assert_eq!(summary["recall"], 0.5);
        assert_eq!(summary["loss"], 1.0);
        let written = std::fs::read_to_string(at("config.json")).expect("there");
        let written: Config = serde_json::from_str(&written).expect("JSON");
        assert_eq!(written, config);
    }
}
