//! The detector under training, and its files.

use crate::train::config::{Config, Detect};
use crate::train::random::{Purpose, stream};
use crate::train::validation::SpanFigures;
use burn::tensor::Device;
use bytes::Bytes;
use pel_artifacts::bundles;
use pel_artifacts::models::TowerFiles;
use pel_io::files::write_in_folder;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::names;
use pel_model::burn::bert::Bert;
use pel_model::burn::span_head::{Draw, SpanHead, SpanModel, read_span_model};
use pel_model::config::BertConfig;
use pel_model::detector::{Detector, DetectorInfo, Scheme};
use pel_model::tokens::Tokens;
use pel_model::weights::Weights;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// A detector under training.
pub struct DetectorModel {
    /// On a device with gradients.
    pub network: SpanModel,
    /// The tokenizer.
    pub tokens: Tokens,
    info: DetectorInfo,
    config: Bytes,
    tokenizer: Bytes,
    embeddings: Bytes,
}

struct Drawn(ChaCha8Rng);

impl Draw for Drawn {
    fn draw(&mut self, count: usize, deviation: f32) -> Vec<f32> {
        // Uniform values up to d have the deviation d / √3.
        let most = deviation * 3f32.sqrt();
        let mut next = || match most {
            0.0 => 0.0,
            most => self.0.random_range(-most..most),
        };
        (0..count).map(|_| next()).collect()
    }
}

impl DetectorModel {
    /// A new head on the encoder that the run begins with.
    ///
    /// # Errors
    /// If a file of the encoder is missing or does not fit.
    pub fn begin(
        config: &Config,
        detect: &Detect,
        schemes: Vec<Scheme>,
        device: &Device,
    ) -> Result<Self> {
        let info = DetectorInfo {
            name: "detector".into(),
            licence: detect.licence.clone(),
            schemes,
            window: detect.window,
            overlap: detect.overlap,
            words: detect.words,
            width: detect.width,
            rank: detect.rank,
        };
        let files = Files::read(config, detect)?;
        let bert_config = BertConfig::from_bytes(&files.config)?;
        if info.window > bert_config.max_position_embeddings {
            return Err(Error::input(format!(
                "the configuration: `detect.window`: expected at most the {} tokens that the \
                 encoder reads, found {}",
                bert_config.max_position_embeddings, info.window
            )));
        }
        let mut weights = Weights::from_bytes(&files.tower.weights)?;
        let mut layers = Weights::from_bytes(&files.tower.weights)?;
        let bert = Bert::with_embeddings_of(&bert_config, &mut weights, &mut layers, device)
            .context(|| config.model.encoder.display().to_string())?;
        let mut drawn = Drawn(stream(config.seed, Purpose::Head, 0));
        let head = SpanHead::begin(&info, bert_config.hidden_size, &mut drawn, device);
        Self::new(files, info, bert, head)
    }

    /// Reads what [`DetectorModel::save`] wrote.
    ///
    /// # Errors
    /// If a file is missing or does not fit.
    pub fn resume(
        folder: &Path,
        config: &Config,
        detect: &Detect,
        device: &Device,
    ) -> Result<Self> {
        let files = Files::read(config, detect)?;
        let (info, weights) = read_files(folder)?;
        let network = read_span_model(
            &info,
            &BertConfig::from_bytes(&files.config)?,
            &weights,
            &files.tower.weights,
            device,
        )
        .context(|| folder.display().to_string())?;
        Self::with(files, info, network)
    }

    fn new(files: Files, info: DetectorInfo, bert: Bert, head: SpanHead) -> Result<Self> {
        Self::with(files, info, SpanModel::new(bert, head))
    }

    fn with(files: Files, info: DetectorInfo, network: SpanModel) -> Result<Self> {
        info.check()?;
        Ok(Self {
            network: network.freeze_embeddings(),
            tokens: Tokens::from_bytes(&files.tower.tokenizer)?,
            info,
            config: files.config,
            tokenizer: files.tower.tokenizer,
            embeddings: files.tower.weights,
        })
    }

    /// The description.
    pub fn info(&self) -> &DetectorInfo {
        &self.info
    }

    /// Sets the threshold of each scheme to that of its first validation corpus.
    pub fn set_thresholds(&mut self, validated: &[SpanFigures]) {
        for scheme in &mut self.info.schemes {
            if let Some(found) = validated.iter().find(|found| found.scheme == scheme.name) {
                scheme.threshold = found.threshold;
            }
        }
    }

    /// The detector as it is now, for inference on the processor.
    ///
    /// # Errors
    /// If the device does not give its tensors.
    pub fn detector(&self) -> Result<Detector> {
        let weights = self.network.to_safetensors()?.into();
        Detector::from_bytes(self.info.clone(), &self.config, &weights, &self.embeddings)
    }

    /// Writes the detector into a folder.
    ///
    /// # Errors
    /// If the device does not give its tensors, or a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let info = serde_json::to_vec_pretty(&self.info)
            .map_err(|cause| Error::artifact("writing detector.json").caused_by(cause))?;
        write_in_folder(&folder.join(INFO), &info)?;
        write_in_folder(&folder.join(names::DETECTOR_CONFIG), &self.config)?;
        write_in_folder(&folder.join(names::TOKENIZER), &self.tokenizer)?;
        write_in_folder(
            &folder.join(names::DETECTOR_WEIGHTS),
            &self.network.to_safetensors()?,
        )
    }
}

/// The description of a trained detector, beside its weights.
pub const INFO: &str = "detector.json";

/// Reads the description and the weights of a trained detector.
///
/// # Errors
/// If a file is missing or damaged.
pub fn read_files(folder: &Path) -> Result<(DetectorInfo, Bytes)> {
    let info: DetectorInfo = serde_json::from_slice(&bundles::map(&folder.join(INFO))?)
        .map_err(|cause| Error::artifact("expected the description of a detector").caused_by(cause))
        .context(|| folder.join(INFO).display().to_string())?;
    info.check()?;
    Ok((info, bundles::map(&folder.join(names::DETECTOR_WEIGHTS))?))
}

/// The files of the encoder that a run begins with.
struct Files {
    tower: TowerFiles,
    /// `config.json` with as many layers as the detector has.
    config: Bytes,
}

impl Files {
    fn read(config: &Config, detect: &Detect) -> Result<Self> {
        let tower = TowerFiles::read(&config.model.encoder)?;
        let config = match detect.layers {
            0 => tower.config.clone(),
            layers => shallower(&tower.config, layers)?,
        };
        Ok(Self { tower, config })
    }
}

/// The configuration of the first layers of an encoder.
fn shallower(config: &[u8], layers: usize) -> Result<Bytes> {
    let all = BertConfig::from_bytes(config)?.num_hidden_layers;
    if layers > all {
        return Err(Error::input(format!(
            "the configuration: `detect.layers`: expected at most the {all} layers of the encoder, \
             found {layers}"
        )));
    }
    let invalid = |cause| Error::artifact("config.json").caused_by(cause);
    let mut json: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(config).map_err(invalid)?;
    json.insert("num_hidden_layers".into(), layers.into());
    Ok(serde_json::to_vec_pretty(&json).map_err(invalid)?.into())
}
