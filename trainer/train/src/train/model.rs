//! The towers under training, and the files that they come from and go to.

use super::config::{Config, Task};
use super::random::{Purpose, stream};
use burn::tensor::Device;
use bytes::Bytes;
use pel_artifacts::bundles;
use pel_artifacts::models::{ModelSettings, SETTINGS_FILE, TOWERS, TowerFiles, trained_before};
use pel_artifacts::tensors::{NamedTensor, to_bytes};
use pel_io::files::write_in_folder;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Scorer;
use pel_linker::bundle::{TrainedConcepts, names};
use pel_model::burn::biencoder::{BiEncoder, Tower};
use pel_model::config::BertConfig;
use pel_model::cross_encoder::longest_pair;
use pel_model::encode::Encoder;
use pel_model::layer::Precision;
use pel_model::tokens::{Tokens, ViewOptions};
use pel_model::tower::{Reduction, Side};
use rand::Rng;
use std::path::Path;

/// Gives an encoder the linear layer that scores pairs (BLINK, eq. 6), drawn by the seed with the
/// deviation of BERT's layers, unless it has one.
///
/// # Errors
/// If its configuration cannot be read.
fn with_head(files: TowerFiles, seed: u64) -> Result<TowerFiles> {
    if files.projection.is_some() {
        return Ok(files);
    }
    let hidden = BertConfig::from_bytes(&files.config)?.hidden_size;
    // Uniform values up to d have the deviation d / √3.
    let most = 0.02 * 3f32.sqrt();
    let mut random = stream(seed, Purpose::Head, 0);
    let weight: Vec<f32> = (0..hidden)
        .map(|_| random.random_range(-most..most))
        .collect();
    let tensors = [
        NamedTensor::floats("weight", vec![1, hidden], &weight),
        NamedTensor::floats("bias", vec![1], &[0.0]),
    ];
    Ok(TowerFiles {
        projection: Some(to_bytes(&tensors)?.into()),
        ..files
    })
}

/// Two towers under training, or one that reads both sides.
pub struct Model {
    /// On a device with gradients.
    pub towers: BiEncoder,
    /// The tokenizer of both.
    pub tokens: Tokens,
    /// How vectors are reduced and compared.
    pub reduction: Reduction,
    /// What of two inputs is compared.
    pub scorer: Scorer,
    /// In which numbers linear layers multiply.
    pub precision: Precision,
    tied: bool,
    ranker: bool,
    /// `config.json` of each side.
    configs: [Bytes; 2],
    tokenizer: Bytes,
    /// The concepts whose mentions it was trained on; `None` if it began with a model that does not
    /// tell.
    trained: Option<TrainedConcepts>,
}

impl Model {
    /// Reads the encoders that a run begins with.
    ///
    /// # Errors
    /// If a file is missing or does not fit, or the windows are longer than the encoder reads.
    pub fn begin(config: &Config, device: &Device) -> Result<Self> {
        let model = &config.model;
        let both = model.encoder.join(TOWERS[0]);
        // A folder that `pel train` wrote for two towers.
        if both.is_dir() && model.entity_encoder.is_none() {
            let entity = (!model.tied).then(|| model.encoder.join(TOWERS[1]));
            return Self::read(&both, entity.as_deref(), config, device);
        }
        let entity =
            (!model.tied).then(|| model.entity_encoder.as_deref().unwrap_or(&model.encoder));
        Self::read(&model.encoder, entity, config, device)
    }

    /// Reads what [`Model::save`] wrote.
    ///
    /// # Errors
    /// As [`Model::begin`].
    pub fn resume(folder: &Path, config: &Config, device: &Device) -> Result<Self> {
        if config.model.tied {
            return Self::read(folder, None, config, device);
        }
        Self::read(
            &folder.join(TOWERS[0]),
            Some(&folder.join(TOWERS[1])),
            config,
            device,
        )
    }

    fn read(
        mention: &Path,
        entity: Option<&Path>,
        config: &Config,
        device: &Device,
    ) -> Result<Self> {
        let ranks = config.data.task == Task::Rank;
        let mention_files = TowerFiles::read(mention)?;
        let mention_files = if ranks {
            with_head(mention_files, config.seed)?
        } else {
            mention_files
        };
        let entity_files = entity.map(TowerFiles::read).transpose()?;
        let tokens = Tokens::from_bytes(&mention_files.tokenizer)
            .context(|| mention.display().to_string())?;
        let tower = |files: &TowerFiles, folder: &Path| {
            check_window(config, &files.config)?;
            Tower::from_bytes(files.tower(), &tokens, device)
                .context(|| folder.display().to_string())
        };
        let towers = BiEncoder::new(
            tower(&mention_files, mention)?,
            entity_files
                .as_ref()
                .zip(entity)
                .map(|(files, folder)| tower(files, folder))
                .transpose()?,
        )?;
        let mut trained = trained_before(mention)?;
        if let Some(entity) = entity {
            let both = trained.zip(trained_before(entity)?);
            trained = both.map(|(mention, entity)| mention.joined(entity));
        }
        let dim = towers.tower(Side::Mention).dim();
        if ranks != (dim == 1) {
            let (mention, expected) = (
                mention.display(),
                if ranks {
                    "one score for a pair"
                } else {
                    "vectors"
                },
            );
            return Err(Error::input(format!(
                "{mention}: expected an encoder that gives {expected}, found {dim} values"
            )));
        }
        let towers = if config.model.freeze_embeddings {
            towers.freeze_embeddings()
        } else {
            towers
        };
        if let Some(files) = &entity_files
            && files.tokenizer != mention_files.tokenizer
        {
            return Err(Error::input("the towers have different tokenizers"));
        }
        let configs = [
            &mention_files,
            entity_files.as_ref().unwrap_or(&mention_files),
        ]
        .map(|files| files.config.clone());
        Ok(Self {
            towers,
            tokens,
            reduction: config.reduction(),
            tied: entity_files.is_none(),
            ranker: ranks,
            configs,
            tokenizer: mention_files.tokenizer,
            scorer: config.model.scorer,
            precision: config.model.precision,
            trained,
        })
    }

    /// Records concepts whose mentions it is trained on. Returns whether it has a record.
    pub fn train_on(&mut self, concepts: impl Iterator<Item = String>) -> bool {
        match &mut self.trained {
            Some(trained) => {
                trained.extend(concepts);
                true
            }
            None => false,
        }
    }

    /// The folders that the towers go to, with their side.
    fn folders(&self) -> Vec<(Side, &'static str)> {
        match self.tied {
            true => vec![(Side::Mention, "")],
            false => vec![(Side::Mention, TOWERS[0]), (Side::Entity, TOWERS[1])],
        }
    }

    /// Writes the towers as Hugging Face folders, one, or `mention` and `entity`, into a folder
    /// that is not in its place yet; also after the user has asked to stop.
    ///
    /// # Errors
    /// If the device does not give its tensors, or a file cannot be written.
    pub fn save(&self, folder: &Path, view: &ViewOptions) -> Result<()> {
        let trained = self.trained.as_ref().map(TrainedConcepts::to_bytes);
        for (side, name) in self.folders() {
            let folder = folder.join(name);
            let (weights, projection) = self.towers.tower(side).to_safetensors()?;
            let settings = ModelSettings {
                view: *view,
                reduction: self.reduction,
                ranker: self.ranker,
                scorer: self.scorer,
            };
            let settings = serde_json::to_vec_pretty(&settings)
                .map_err(|cause| Error::artifact("writing pel.json").caused_by(cause))?;
            let mut files: Vec<(&str, &[u8])> = vec![
                (names::CONFIG, &self.configs[side as usize]),
                (names::TOKENIZER, &self.tokenizer),
                (names::WEIGHTS, &weights),
                (SETTINGS_FILE, &settings),
            ];
            files.extend(
                projection
                    .as_deref()
                    .map(|bytes| (names::PROJECTION, bytes)),
            );
            files.extend(trained.as_deref().map(|bytes| (names::TRAINED, bytes)));
            for (name, bytes) in files {
                write_in_folder(&folder.join(name), bytes)?;
            }
        }
        Ok(())
    }

    /// The towers as they are now, for inference.
    ///
    /// # Errors
    /// If the device does not give its tensors.
    pub fn encoder(&self, device: &Device) -> Result<Encoder> {
        let files = self.folders().into_iter().map(|(side, _)| {
            let (weights, projection) = self.towers.tower(side).to_safetensors()?;
            Ok(TowerFiles {
                config: self.configs[side as usize].clone(),
                tokenizer: self.tokenizer.clone(),
                weights: weights.into(),
                projection: projection.map(Into::into),
            })
        });
        let files = files.collect::<Result<Vec<_>>>()?;
        let mut towers = files.iter().map(TowerFiles::tower);
        let mention = towers
            .next()
            .ok_or_else(|| Error::artifact("a model has at least one tower"))?;
        let encoder = Encoder::new(mention, towers.next(), &self.tokens, self.reduction, device)?;
        Ok(encoder.in_precision(self.precision))
    }
}

/// Refuses windows that are longer than the encoder of a configuration reads, before anything is
/// trained that it comes after. An encoder that is not there yet is left for later.
///
/// # Errors
/// If one is too long, or the encoder's configuration cannot be read.
pub fn check_windows(config: &Config) -> Result<()> {
    let file = config.model.encoder.join(names::CONFIG);
    if !file.is_file() {
        return Ok(());
    }
    check_window(config, &bundles::map(&file)?)
        .context(|| config.model.encoder.display().to_string())
}

fn check_window(config: &Config, encoder: &[u8]) -> Result<()> {
    let view = config.view_options();
    let alone = view
        .mention_tokens
        .max(view.entity_tokens)
        .max(view.name_tokens);
    let longest = if config.data.task == Task::Rank {
        longest_pair(&view)
    } else {
        alone
    };
    let limit = BertConfig::from_bytes(encoder)?.max_position_embeddings;
    match longest > limit {
        true => Err(Error::input(format!(
            "the encoder reads at most {limit} tokens, a window has {longest}"
        ))),
        false => Ok(()),
    }
}
