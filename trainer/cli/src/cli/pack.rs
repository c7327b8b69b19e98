//! `pel pack`: converts a bundle between folder and single file.

use bytes::Bytes;
use clap::Args;
use pel_artifacts::bundles;
use pel_index::Precision;
use pel_io::files::read_text;
use pel_io::outputs::Inputs;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::{Bundle, Manifest, Parts, TrainedConcepts, names};
use pel_model::config::BertConfig;
use pel_model::cpu::quantise_layers;
use pel_model::detector::DetectorInfo;
use pel_trainer::train::detect::read_mean;
use std::path::{Path, PathBuf};

/// Convert a bundle from folder to single file or back
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pel pack bundle bundle.pel\n  pel pack bundle.pel bundle\n  \
         pel pack --edited bundle new"
)]
pub struct PackArgs {
    /// Bundle
    bundle: PathBuf,
    /// Output: a single file if the name ends in .pel, else a folder
    out: PathBuf,
    /// Accept a manifest.json edited by hand in a bundle folder, and write a new digest of it
    #[arg(long)]
    edited: bool,
    /// Detector to put into the bundle, trained by `pel train --stage detect` from its encoder.
    /// Several give the mean of their weights, with the thresholds of the first
    #[arg(long, value_name = "FOLDER")]
    detector: Vec<PathBuf>,
    /// Model card to put into the bundle: a Markdown file on its use, training and errors, which
    /// `pel inspect --card` prints
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,
    /// Identifiers of the concepts that the encoder saw in training, one a line, for an encoder
    /// not written by `pel train`. `pel evaluate` then knows zero-shot concepts
    #[arg(long, value_name = "FILE")]
    trained: Option<PathBuf>,
}

/// Runs `pel pack`.
///
/// # Errors
/// If the bundle cannot be read or written.
pub fn run(args: &PackArgs, json: bool) -> Result<()> {
    let detectors = args.detector.iter().map(PathBuf::as_path);
    Inputs::new()
        .artifacts(std::iter::once(args.bundle.as_path()).chain(detectors))
        .files(args.card.as_deref())
        .files(args.trained.as_deref())
        .check([bundles::writes(&args.out)])?;
    bundles::check_output(&args.out)?;
    let bundle = match args.edited {
        true => edited(&args.bundle).context(|| args.bundle.display().to_string())?,
        false => bundles::open(&args.bundle)?,
    };
    let mut parts = bundle.parts().clone();
    let mut manifest = bundle.manifest;
    if !args.detector.is_empty() {
        manifest.detector = Some(add_detector(&mut parts, &manifest, &args.detector)?);
    }
    if let Some(path) = &args.card {
        let card = model_card(path)?.into_bytes().into();
        parts.0.insert(names::MODEL_CARD.into(), card);
    }
    if let Some(path) = &args.trained {
        let mut trained = TrainedConcepts::default();
        let text = read_text(path)?;
        let ids = text.lines().map(str::trim).filter(|id| !id.is_empty());
        trained.extend(ids.map(str::to_owned));
        parts
            .0
            .insert(names::TRAINED.into(), trained.to_bytes().into());
    }
    if !args.detector.is_empty() || args.card.is_some() || args.trained.is_some() {
        manifest.files = parts.file_infos();
    }
    let (_, manifest) = manifest.sealed()?;
    parts.0.insert(names::MANIFEST.into(), manifest.into());
    if !args.detector.is_empty() {
        // Everything must fit together.
        Bundle::read(parts.clone())?;
    }
    bundles::save(&args.out, &parts)?;
    match json {
        true => println!("{}", serde_json::json!({ "out": args.out })),
        false => println!("{}", args.out.display()),
    }
    Ok(())
}

/// The text of a model card, without a byte order mark.
fn model_card(path: &Path) -> Result<String> {
    let text = read_text(path)?;
    let card = text.trim_start_matches('\u{feff}');
    if card.trim().is_empty() {
        return Err(Error::input(format!(
            "{}: expected a model card, found an empty file",
            path.display()
        )));
    }
    Ok(card.to_owned())
}

/// Adds the files of trained detectors, their layers in the precision of the bundle's encoder.
fn add_detector(
    parts: &mut Parts,
    manifest: &Manifest,
    folders: &[PathBuf],
) -> Result<DetectorInfo> {
    let (info, weights) = read_mean(folders)?;
    let mut config = Bytes::new();
    for folder in folders {
        if bundles::map(&folder.join(names::TOKENIZER))? != *parts.get(names::TOKENIZER)? {
            let folder = folder.display();
            return Err(Error::input(format!(
                "{folder}: expected a detector that was trained from the encoder of the bundle \
                 ({}), found one with another tokenizer",
                manifest.encoder.name
            )));
        }
        config = bundles::map(&folder.join(names::DETECTOR_CONFIG))?;
    }
    let weights = match manifest.encoder.precision {
        Precision::Int8 => quantise_layers(&BertConfig::from_bytes(&config)?, &weights)
            .context(|| format!("the weights of {}", displayed(folders)))?
            .into(),
        _ => weights,
    };
    parts.0.insert(names::DETECTOR_CONFIG.into(), config);
    parts.0.insert(names::DETECTOR_WEIGHTS.into(), weights);
    Ok(info)
}

/// The folders, for a message.
fn displayed(folders: &[PathBuf]) -> String {
    let names: Vec<_> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    names.join(", ")
}

/// A bundle with an edited manifest and a new digest. All other files are checked.
fn edited(folder: &Path) -> Result<Bundle> {
    let (manifest, json) =
        Manifest::edited(&bundles::map(&folder.join(names::MANIFEST))?)?.sealed()?;
    let mut parts = Parts::default();
    for name in manifest.files.keys() {
        parts
            .0
            .insert(name.clone(), bundles::map(&folder.join(name))?);
    }
    parts.0.insert(names::MANIFEST.into(), json.into());
    Bundle::read(parts)
}
