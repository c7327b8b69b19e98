//! Checks the values of a configuration.

use super::rules::{SUBJECTS, check, detector_and_checkpoints};
use super::{Config, Task};
use burn::tensor::Device;
use pel_kb::error::{Error, Result};
use pel_model::burn::bert::multiplies_in;

impl Config {
    /// Checks the ranges of values, and that they fit together.
    ///
    /// # Errors
    /// If a value is invalid; the error names its key.
    pub(super) fn validate(&self) -> Result<()> {
        self.check_bounds()?;
        for rules in SUBJECTS {
            check(rules(self))?;
        }
        if let Some(detect) = &self.detect {
            detect.check()?;
        }
        check(detector_and_checkpoints(self))
    }

    /// Checks that the paths of data and encoder are set, and that the device supports the
    /// precision.
    ///
    /// # Errors
    /// If a path is missing or the precision is unsupported; the error names the key.
    pub fn check_output(&self, device: &Device) -> Result<()> {
        let Self { data, model, .. } = self;
        let detects = data.task == Task::Detect;
        if let Some(detect) = self.detect.as_ref().filter(|_| detects)
            && detect.corpora.is_empty()
        {
            return Err(Error::input(
                "the configuration: `detect.corpora` is empty; name annotated texts to train on",
            ));
        }
        let (mentions, lists) = (
            data.task != Task::Align && !detects,
            data.task == Task::Rank || self.distillation.own_share < 1.0,
        );
        let paths = [
            ("data.kb", &data.kb, !detects),
            ("data.corpus", &data.corpus, mentions),
            ("model.encoder", &model.encoder, true),
            ("data.candidates", &data.candidates, lists),
        ];
        match paths
            .into_iter()
            .find(|(_, path, needed)| *needed && path.as_os_str().is_empty())
        {
            Some((key, ..)) => {
                let expected = match (key, data.task) {
                    ("data.candidates", Task::Rank) => "the candidate lists to rank (--candidates)",
                    ("data.candidates", _) => "candidate lists with teacher scores (--distil)",
                    _ => "a path",
                };
                Err(Error::input(format!(
                    "the configuration: `{key}` is missing; give {expected}"
                )))
            }
            None if !multiplies_in(model.precision, device) => {
                let found = format!("{:?}", model.precision).to_lowercase();
                let expected = "f32, or bf16 on a processor with AMX or AVX-512 BF16 or a GPU that \
                                has it, or f16 on a GPU that has it";
                let message = format!(
                    "`model.precision`: expected {expected} (this device: `pel devices`), found \
                     {found}"
                );
                Err(Error::input(format!("the configuration: {message}")))
            }
            None => Ok(()),
        }
    }
}
