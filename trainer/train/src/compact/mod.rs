//! Makes a model smaller at the same depth: it drops unused pieces of the vocabulary, and projects
//! vectors to fewer dimensions.
//!
//! `pel evaluate` measures the loss, and `pel train` can train the smaller model further.

mod curve;
mod options;
mod projection;
mod vocabulary;

pub use curve::{Point, shown};
pub use options::Options;

use crate::train::Snapshot;
use crate::train::config::Config;
use pel_artifacts::concept_table;
use pel_artifacts::device::{DeviceArgs, Work};
use pel_artifacts::models::{ModelSettings, SETTINGS_FILE, TOWERS};
use pel_artifacts::tensors::NamedTensor;
use pel_artifacts::{bundles, tensors};
use pel_corpora::corpus::documents;
use pel_io::files::{for_each_line, write_folder, write_in_folder};
use pel_kb::Concept;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::names;
use pel_model::cpu::Tower;
use pel_model::layer::Precision as BertPrecision;
use pel_model::tokens::Tokens;
use pel_model::tower::TowerBytes;
use projection::{Projection, principal};
use safetensors::tensor::SafeTensors;
use serde_json::Value;
use std::path::Path;
use vocabulary::{Pruned, prune};

/// The name of the word embeddings in a Hugging Face file, after an optional prefix.
const WORDS: &str = "embeddings.word_embeddings.weight";

/// The size of a compacted model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compacted {
    /// Pieces of its vocabulary.
    pub vocabulary: usize,
    /// Pieces of the original vocabulary.
    pub of: usize,
    /// The proportion of the vectors' squared length that the projection preserves.
    pub kept: Option<f64>,
}

/// A model of `pel train` to compact.
pub struct Compaction<'a> {
    options: &'a Options,
    settings: ModelSettings,
    tied: bool,
}

impl<'a> Compaction<'a> {
    /// Reads the settings of the model.
    ///
    /// # Errors
    /// If `pel train` did not write it.
    pub fn new(options: &'a Options) -> Result<Self> {
        let model = options.model.display();
        let settings = ModelSettings::read(&options.model)?.ok_or_else(|| {
            Error::input(format!(
                "{model}: expected a model that `pel train` wrote, found no {SETTINGS_FILE}"
            ))
        })?;
        Ok(Self {
            options,
            settings,
            tied: !options.model.join(TOWERS[0]).is_dir(),
        })
    }

    /// Writes the compacted model into the new folder `out`.
    ///
    /// # Errors
    /// If a file of the model or a text cannot be read, or the folder cannot be written.
    pub fn write(&self, device: &DeviceArgs, out: &Path) -> Result<Compacted> {
        let Self { options, tied, .. } = self;
        let folders: Vec<&str> = if *tied { vec![""] } else { TOWERS.into() };
        let tokenizer = bundles::map(&options.model.join(folders[0]).join(names::TOKENIZER))?;
        let tokens = Tokens::from_bytes(&tokenizer)?;
        for folder in &folders {
            let from = options.model.join(folder);
            check_tower(&from, &tokens).context(|| from.display().to_string())?;
        }
        let projection = options
            .dim
            .map(|dim| self.project(dim, device))
            .transpose()?;
        let pruned = match options.min_count {
            0 => None,
            least => Some(prune(&tokenizer, &used(options, &tokens, least)?)?),
        };
        write_folder(out, |out| {
            folders.iter().try_for_each(|folder| {
                let (from, to) = (options.model.join(folder), out.join(folder));
                write_tower(&from, &to, &tokenizer, pruned.as_ref(), projection.as_ref())
                    .context(|| from.display().to_string())
            })
        })?;
        let vocabulary = pruned
            .as_ref()
            .map_or(tokens.size(), |pruned| pruned.rows.len());
        let kept = projection.as_ref().map(|projection| projection.kept);
        Ok(Compacted {
            vocabulary,
            of: tokens.size(),
            kept,
        })
    }

    /// Measures indexes over the first concept table with fewer dimensions, in each precision.
    ///
    /// # Errors
    /// If `--mentions` is 0, the model or a text cannot be read, or the device fails.
    pub fn curve(&self, device: &DeviceArgs) -> Result<Vec<Point>> {
        let config = self.config();
        let snapshot = self.snapshot(&config, device)?;
        let Some((validation, vectors)) = snapshot.validation(&config)? else {
            return Err(Error::input("--mentions: expected at least 1, found 0"));
        };
        curve::curve(&snapshot, &validation, &vectors, &self.options.curve)
    }

    fn project(&self, dim: usize, device: &DeviceArgs) -> Result<Projection> {
        let snapshot = self.snapshot(&self.config(), device)?;
        let (vectors, hidden) = snapshot.vectors();
        principal(vectors, hidden, dim)
    }

    /// The configuration that would train the model further.
    fn config(&self) -> Config {
        let Self {
            options,
            settings,
            tied,
        } = self;
        let mut config = Config::default();
        config.model.tied = *tied;
        config.model.pooling = settings.reduction.pooling;
        config.model.score = Some(settings.reduction.score);
        config.view = settings.view.into();
        config.data.kb = options.kb[0].clone();
        config.data.corpus = options.corpus.first().cloned().unwrap_or_default();
        config.validation.split = options.split.clone();
        config.model.precision = if options.bf16 {
            BertPrecision::Bf16
        } else {
            BertPrecision::F32
        };
        config.validation.mentions = options.mentions;
        config
    }

    fn snapshot(&self, config: &Config, device: &DeviceArgs) -> Result<Snapshot> {
        Snapshot::open(
            config,
            Some(&self.options.model),
            "model",
            &device.open(Work::Long)?,
        )
    }
}

/// Whether the texts use each piece at least `least` times.
fn used(options: &Options, tokens: &Tokens, least: u32) -> Result<Vec<bool>> {
    let mut counts = vec![0u32; tokens.size()];
    let mut count = |text: &str| -> Result<()> {
        for id in tokens.pieces(text)? {
            if let Some(count) = counts.get_mut(id as usize) {
                *count = count.saturating_add(1);
            }
        }
        Ok(())
    };
    for table in &options.kb {
        for (_, concept) in concept_table::read(table)?.kb.iter() {
            texts(concept).try_for_each(&mut count)?;
        }
    }
    for folder in &options.corpus {
        documents(folder)?
            .iter()
            .try_for_each(|document| count(&document.text))?;
    }
    for file in &options.text {
        for_each_line(file, |_, line| count(line))?;
    }
    Ok(counts.into_iter().map(|count| count >= least).collect())
}

fn texts(concept: &Concept) -> impl Iterator<Item = &str> {
    let more = concept
        .types
        .iter()
        .chain(&concept.definition)
        .map(String::as_str);
    concept.names().chain(more)
}

/// Checks a tower as `pel link` would, because its rows are copied unchecked.
fn check_tower(folder: &Path, tokens: &Tokens) -> Result<()> {
    let map = |name: &str| bundles::map(&folder.join(name));
    let (config, weights) = (map(names::CONFIG)?, map(names::WEIGHTS)?);
    let projection = folder.join(names::PROJECTION);
    let projection = projection
        .exists()
        .then(|| bundles::map(&projection))
        .transpose()?;
    let bytes = TowerBytes {
        config: &config,
        weights: &weights,
        projection: projection.as_deref(),
    };
    Tower::from_bytes(bytes, tokens).map(drop)
}

fn write_tower(
    from: &Path,
    to: &Path,
    tokenizer: &[u8],
    pruned: Option<&Pruned>,
    projection: Option<&Projection>,
) -> Result<()> {
    let mut config: Value = serde_json::from_slice(&bundles::map(&from.join(names::CONFIG))?)
        .map_err(|cause| Error::artifact(names::CONFIG).caused_by(cause))?;
    let weights = bundles::map(&from.join(names::WEIGHTS))?;
    let weights = match pruned {
        None => weights.to_vec(),
        Some(Pruned { rows, .. }) => {
            config["vocab_size"] = Value::from(rows.len());
            with_rows(&weights, rows)?
        }
    };
    let config = serde_json::to_vec_pretty(&config)
        .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    write_in_folder(&to.join(names::CONFIG), &config)?;
    write_in_folder(&to.join(names::WEIGHTS), &weights)?;
    write_in_folder(
        &to.join(names::TOKENIZER),
        pruned.map_or(tokenizer, |pruned| &pruned.tokenizer),
    )?;
    write_in_folder(
        &to.join(SETTINGS_FILE),
        &bundles::map(&from.join(SETTINGS_FILE))?,
    )?;
    let trained = from.join(names::TRAINED);
    if trained.is_file() {
        write_in_folder(&to.join(names::TRAINED), &bundles::map(&trained)?)?;
    }
    let before = from.join(names::PROJECTION);
    match projection {
        Some(_) if before.exists() => Err(Error::input(
            "the model has a projection already; choose the one before it",
        )),
        Some(projection) => {
            write_in_folder(&to.join(names::PROJECTION), &projection_file(projection)?)
        }
        None if before.exists() => {
            write_in_folder(&to.join(names::PROJECTION), &bundles::map(&before)?)
        }
        None => Ok(()),
    }
}

/// The file with some rows of the word embeddings.
fn with_rows(file: &[u8], rows: &[usize]) -> Result<Vec<u8>> {
    let failed =
        |cause: safetensors::SafeTensorError| Error::artifact(names::WEIGHTS).caused_by(cause);
    let all = SafeTensors::deserialize(file).map_err(failed)?;
    // The tensors borrow these rows.
    let mut words: Vec<u8> = Vec::new();
    let is_words = |name: &str| name == WORDS || name.ends_with(&format!(".{WORDS}"));
    for (_, view) in all.tensors().iter().filter(|(name, _)| is_words(name)) {
        let width = view.data().len() / view.shape().first().copied().unwrap_or(1).max(1);
        for row in rows {
            let row = view.data().get(row * width..(row + 1) * width);
            words.extend_from_slice(
                row.ok_or_else(|| Error::artifact("the vocabulary is larger than its table"))?,
            );
        }
    }
    let tensors = all.tensors();
    let tensors = tensors.iter().map(|(name, view)| {
        let (dtype, name) = (view.dtype(), name.clone());
        match is_words(&name) {
            true => NamedTensor {
                name,
                dtype,
                shape: [&[rows.len()], &view.shape()[1..]].concat(),
                bytes: &words,
            },
            false => NamedTensor {
                name,
                dtype,
                shape: view.shape().to_vec(),
                bytes: view.data(),
            },
        }
    });
    tensors::to_bytes(&tensors.collect::<Vec<_>>())
}

fn projection_file(projection: &Projection) -> Result<Vec<u8>> {
    let Projection { weight, dim, .. } = projection;
    let bias = vec![0.0f32; *dim];
    tensors::to_bytes(&[
        NamedTensor::floats("weight", vec![*dim, weight.len() / dim], weight),
        NamedTensor::floats("bias", vec![*dim], &bias),
    ])
}
