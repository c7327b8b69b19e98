//! What a detector finds, and its sizes.

use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The description of a detector, in the manifest of a bundle and beside its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetectorInfo {
    /// The name of the model.
    pub name: String,
    /// The licence of the model, as an SPDX expression or in words.
    pub licence: String,
    /// The sets of labels that it was trained on. The first is the default.
    pub schemes: Vec<Scheme>,
    /// The longest window in tokens, `[CLS]` and `[SEP]` included.
    pub window: usize,
    /// The tokens that two neighbouring windows share.
    pub overlap: usize,
    /// The longest mention in words.
    pub words: usize,
    /// The width of a word's vector in the head.
    pub width: usize,
    /// The rank of the product of first and last words.
    pub rank: usize,
}

/// A set of labels, as one kind of annotated text has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// The name.
    pub name: String,
    /// The labels.
    pub labels: Vec<String>,
    /// The lowest probability of a mention.
    pub threshold: f32,
}

/// The largest sizes, so that a damaged file cannot ask for much memory.
const MAX_WINDOW: usize = 512;
const MAX_WORDS: usize = 64;
const MAX_WIDTH: usize = 4096;
const MAX_LABELS: usize = 512;

impl DetectorInfo {
    /// The number of labels of all schemes.
    pub fn labels(&self) -> usize {
        self.schemes.iter().map(|scheme| scheme.labels.len()).sum()
    }

    /// The columns of a scheme's labels among those of all schemes.
    pub fn columns(&self, scheme: usize) -> std::ops::Range<usize> {
        let before: usize = self.schemes[..scheme]
            .iter()
            .map(|scheme| scheme.labels.len())
            .sum();
        before..before + self.schemes[scheme].labels.len()
    }

    /// The number of a scheme.
    pub fn scheme(&self, name: &str) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme.name == name)
    }

    /// Checks the sizes.
    ///
    /// # Errors
    /// If a number is out of range, or there is no label; the error names the field.
    pub fn check(&self) -> Result<()> {
        let refuse = |field: &str, expected: String, found: usize| {
            Err(Error::artifact(format!(
                "`detector.{field}`: expected {expected}, found {found}"
            )))
        };
        if !(16..=MAX_WINDOW).contains(&self.window) {
            return refuse("window", format!("16 to {MAX_WINDOW} tokens"), self.window);
        }
        if self.overlap >= self.window / 2 {
            return refuse("overlap", "less than half a window".into(), self.overlap);
        }
        for (field, found, most) in [
            ("words", self.words, MAX_WORDS),
            ("width", self.width, MAX_WIDTH),
            ("rank", self.rank, MAX_WIDTH),
            ("schemes", self.labels(), MAX_LABELS),
        ] {
            if !(1..=most).contains(&found) {
                return refuse(field, format!("1 to {most}"), found);
            }
        }
        for (at, scheme) in self.schemes.iter().enumerate() {
            let is_known = self.schemes[..at]
                .iter()
                .any(|other| other.name == scheme.name);
            if scheme.labels.is_empty() || is_known {
                return Err(Error::artifact(format!(
                    "`detector.schemes`: expected different names with labels, found {:?} {}",
                    scheme.name,
                    if is_known { "twice" } else { "without labels" }
                )));
            }
            if !(0.0..=1.0).contains(&scheme.threshold) {
                return Err(Error::artifact(format!(
                    "`detector.schemes`: {}: expected a threshold from 0 to 1, found {}",
                    scheme.name, scheme.threshold
                )));
            }
        }
        Ok(())
    }
}
