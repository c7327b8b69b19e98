//! Model folders: one Hugging Face encoder or two towers, with the settings of a trained model.

use crate::bundles;
use crate::pretrained::{EXPECTED, EncoderFiles};
use burn::tensor::Device;
use bytes::Bytes;
use pel_io::files::write_in_folder;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Scorer;
use pel_linker::bundle::{TrainedConcepts, names};
use pel_model::cpu::Tower;
use pel_model::cross_encoder::Ranker;
use pel_model::tokens::{Tokens, ViewOptions};
use pel_model::tower::{Reduction, TowerBytes};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The settings of a trained model, beside its weights.
pub const SETTINGS_FILE: &str = "pel.json";
/// The folders of the mention and the entity tower, if the towers differ.
pub const TOWERS: [&str; 2] = ["mention", "entity"];

/// The content of [`SETTINGS_FILE`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// How mentions and concepts become token sequences.
    pub view: ViewOptions,
    /// Pooling and similarity of vectors.
    pub reduction: Reduction,
    /// Whether the model is a cross-encoder, which scores pairs.
    #[serde(default)]
    pub ranker: bool,
    /// Whether single vectors or token vectors are compared.
    #[serde(default)]
    pub scorer: Scorer,
}

impl ModelSettings {
    /// Checks that window lengths and weights are in range.
    fn check(&self) -> Result<()> {
        self.view.check_lengths()?;
        self.view.check_mix()?;
        self.view.check_spelling(self.reduction.score)
    }

    /// Reads `pel.json` in a model folder or its mention tower. None if PEL did not train the
    /// model.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let Some(path) = file_of(folder, SETTINGS_FILE) else {
            return Ok(None);
        };
        let named = || path.display().to_string();
        let settings: Self = serde_json::from_slice(&bundles::map(&path)?)
            .map_err(|cause| Error::artifact(named()).caused_by(cause))?;
        settings.check().context(named)?;
        Ok(Some(settings))
    }
}

/// A file in a model folder or its mention tower, if there is one.
fn file_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let places = [folder.join(name), folder.join(TOWERS[0]).join(name)];
    places.into_iter().find(|path| path.is_file())
}

/// The concepts whose mentions a model was trained on; `None` if its folder does not tell.
///
/// # Errors
/// If the file of them cannot be read or is damaged.
pub fn trained_concepts(folder: &Path) -> Result<Option<TrainedConcepts>> {
    let Some(path) = file_of(folder, names::TRAINED) else {
        return Ok(None);
    };
    TrainedConcepts::from_bytes(&bundles::map(&path)?)
        .map(Some)
        .context(|| path.display().to_string())
}

/// As [`trained_concepts`], for a model to train further: none if PEL did not train it. `None` if a
/// version of PEL did that does not record them.
///
/// # Errors
/// As [`trained_concepts`].
pub fn trained_before(folder: &Path) -> Result<Option<TrainedConcepts>> {
    let own = trained_concepts(folder)?;
    let untrained = file_of(folder, SETTINGS_FILE).is_none();
    Ok(own.or_else(|| untrained.then(TrainedConcepts::default)))
}

/// The files of one tower.
#[derive(Clone, Debug)]
pub struct TowerFiles {
    /// `config.json`.
    pub config: Bytes,
    /// `tokenizer.json`.
    pub tokenizer: Bytes,
    /// `model.safetensors`.
    pub weights: Bytes,
    /// The linear layer after pooling, if there is one.
    pub projection: Option<Bytes>,
}

impl TowerFiles {
    /// Maps the files of a folder. `vocab.txt` and `pytorch_model.bin` stand for a missing
    /// `tokenizer.json` and `model.safetensors`.
    ///
    /// # Errors
    /// If it is no folder, or a file is missing or damaged.
    pub fn read(folder: &Path) -> Result<Self> {
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Error::input(format!(
                "{folder}: expected a folder with {EXPECTED}"
            )));
        }
        let EncoderFiles {
            config,
            tokenizer,
            weights,
        } = EncoderFiles::read(folder)?;
        let projection = folder.join(names::PROJECTION);
        Ok(Self {
            config,
            tokenizer,
            weights,
            projection: projection
                .exists()
                .then(|| bundles::map(&projection))
                .transpose()?,
        })
    }

    /// The bytes for a tower.
    pub fn tower(&self) -> TowerBytes<'_> {
        TowerBytes {
            config: &self.config,
            weights: &self.weights,
            projection: self.projection.as_deref(),
        }
    }

    /// Checks that the files make a tower.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn check(&self, tokens: &Tokens) -> Result<()> {
        Tower::from_bytes(self.tower(), tokens).map(drop)
    }

    /// Writes the files into a folder that [`write_folder`](pel_io::files::write_folder) fills.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let files = [
            (names::CONFIG, Some(&self.config)),
            (names::TOKENIZER, Some(&self.tokenizer)),
            (names::WEIGHTS, Some(&self.weights)),
            (names::PROJECTION, self.projection.as_ref()),
        ];
        for (name, bytes) in files {
            if let Some(bytes) = bytes {
                write_in_folder(&folder.join(name), bytes)?;
            }
        }
        Ok(())
    }
}

/// A hash over the files of a model with one tower.
///
/// # Errors
/// If a file cannot be read.
pub fn model_hash(folder: &Path) -> Result<blake3::Hash> {
    let TowerFiles {
        config,
        tokenizer,
        weights,
        projection,
    } = TowerFiles::read(folder)?;
    let settings = folder.join(SETTINGS_FILE);
    let settings = settings
        .is_file()
        .then(|| bundles::map(&settings))
        .transpose()?;
    let mut hash = blake3::Hasher::new();
    for part in [
        Some(config),
        Some(tokenizer),
        Some(weights),
        projection,
        settings,
    ] {
        let part = part.unwrap_or_default();
        hash.update(&(part.len() as u64).to_le_bytes())
            .update(&part);
    }
    Ok(hash.finalize())
}

/// Opens a cross-encoder written by `pel train --stage rank`.
///
/// # Errors
/// If a file is missing or does not fit, or the model is no cross-encoder.
pub fn open_ranker(folder: &Path, device: &Device) -> Result<Ranker> {
    let named = || folder.display().to_string();
    let settings = ModelSettings::read(folder)?.filter(|settings| settings.ranker);
    let Some(ModelSettings {
        view, reduction, ..
    }) = settings
    else {
        return Err(Error::input(format!(
            "{}: expected a cross-encoder of `pel train --stage rank`",
            named()
        )));
    };
    let files = TowerFiles::read(folder)?;
    Ranker::new(files.tower(), &files.tokenizer, view, reduction, device).context(named)
}
