//! The options of a detector's training.

use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Training a detector (`pel train --stage detect`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Detect {
    /// The annotated texts to train on.
    pub corpora: Vec<AnnotatedTexts>,
    /// The annotated texts to validate on.
    pub validation: Vec<AnnotatedTexts>,
    /// The bundle whose names are known to the detector; empty = none.
    pub names: PathBuf,
    /// The number of encoder layers, from the first; 0 = all.
    pub layers: usize,
    /// The longest window in tokens.
    pub window: usize,
    /// The tokens that two neighbouring windows share.
    pub overlap: usize,
    /// The longest mention in words.
    pub words: usize,
    /// The width of a word's vector in the head.
    pub width: usize,
    /// The rank of the product of first and last words.
    pub rank: usize,
    /// The learning rate of the head, as a multiple of that of the encoder.
    pub head_rate: f64,
    /// The share of windows that are read in small letters.
    pub small_letters: f64,
    /// The share of windows that are read in capitals.
    pub capitals: f64,
    /// The share of windows without any name of the knowledge base.
    pub without_names: f64,
    /// The licence of the trained model, as an SPDX expression or in words.
    pub licence: String,
}

impl Default for Detect {
    fn default() -> Self {
        Self {
            corpora: Vec::new(),
            validation: Vec::new(),
            names: PathBuf::new(),
            layers: 0,
            window: 256,
            overlap: 64,
            words: 14,
            width: 192,
            rank: 96,
            head_rate: 10.0,
            small_letters: 0.2,
            capitals: 0.05,
            without_names: 0.15,
            licence: "not stated".into(),
        }
    }
}

/// A corpus with the set of labels that its mentions have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnotatedTexts {
    /// The corpus folder.
    pub folder: PathBuf,
    /// The split.
    pub split: String,
    /// The set of labels, such as `clinical`. Corpora of one set share its labels.
    pub scheme: String,
    /// Types of the corpus that have another label in the set. Of a set that other corpora
    /// have more labels of, only those of this corpus are learned from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How often each text is read in an epoch.
    #[serde(default = "once")]
    pub repeat: usize,
}

impl Detect {
    /// Checks the ranges of values.
    ///
    /// # Errors
    /// If a value is invalid; the error names its key.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |key: &str, expected: &str, found: &dyn std::fmt::Display| {
            Err(Error::input(format!(
                "the configuration: `detect.{key}`: expected {expected}, found {found}"
            )))
        };
        for (key, value) in [
            ("small_letters", self.small_letters),
            ("capitals", self.capitals),
            ("without_names", self.without_names),
            (
                "small_letters + capitals",
                self.small_letters + self.capitals,
            ),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return refuse(key, "a share from 0 to 1", &value);
            }
        }
        for (key, value, most) in [
            ("window", self.window, 512),
            ("words", self.words, 64),
            ("width", self.width, 4096),
            ("rank", self.rank, 4096),
        ] {
            let least = if key == "window" { 16 } else { 1 };
            if !(least..=most).contains(&value) {
                return refuse(key, &format!("{least} to {most}"), &value);
            }
        }
        if self.overlap >= self.window / 2 {
            return refuse("overlap", "less than half a window", &self.overlap);
        }
        if !(self.head_rate > 0.0 && self.head_rate.is_finite()) {
            return refuse("head_rate", "a positive number", &self.head_rate);
        }
        if let Some(texts) = self.corpora.iter().find(|texts| texts.repeat == 0) {
            let key = format!("corpora: {}: repeat", texts.folder.display());
            return refuse(&key, "at least 1", &0);
        }
        Ok(())
    }
}

fn once() -> usize {
    1
}
