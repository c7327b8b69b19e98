//! `pel export`: writes the towers of a bundle or trained model as folders for PyTorch.

use burn::tensor::Device;
use clap::Args;
use pel_artifacts::models::TOWERS;
use pel_artifacts::{bundles, sentence_transformers};
use pel_io::files::{write_folder, write_in_folder};
use pel_io::outputs::{Inputs, Output, check_new_folder};
use pel_kb::error::{Context, Result};
use pel_linker::bundle::names;
use pel_model::burn::biencoder::Tower;
use pel_model::tokens::Tokens;
use pel_model::tower::{Pooling, TowerBytes};
use serde_json::json;
use std::path::PathBuf;

/// Write the encoders of a bundle as Hugging Face and sentence-transformers folders (safetensors,
/// f32)
#[derive(Debug, Args)]
#[command(
    after_help = "transformers reads a model of `pel train` directly; sentence-transformers reads \
    the output of this command.\n\nIn Python:\n  \
    sentence_transformers.SentenceTransformer(\"out\").encode(\"chest pain\")\n  \
    transformers.BertModel.from_pretrained(\"out\", add_pooling_layer=False)"
)]
pub struct ExportArgs {
    /// Bundle
    bundle: PathBuf,
    /// Folder to write: the encoder, or `mention` and `entity` for two encoders
    #[arg(long)]
    out: PathBuf,
}

/// The files of each tower in a bundle.
const TOWER_FILES: [[&str; 3]; 2] = [
    [names::CONFIG, names::WEIGHTS, names::PROJECTION],
    [
        names::ENTITY_CONFIG,
        names::ENTITY_WEIGHTS,
        names::ENTITY_PROJECTION,
    ],
];

/// Runs `pel export`.
///
/// # Errors
/// If the bundle cannot be read, or the folder cannot be written.
pub fn run(args: &ExportArgs, json: bool) -> Result<()> {
    Inputs::new()
        .artifacts([args.bundle.as_path()])
        .check([Output::Folder(&args.out)])?;
    check_new_folder(&args.out)?;
    let bundle = bundles::open(&args.bundle)?;
    let (parts, manifest) = (bundle.parts(), &bundle.manifest);
    let tokenizer = parts.get(names::TOKENIZER)?;
    let tokens = Tokens::from_bytes(tokenizer)?;
    let device = Device::flex();
    let tied = manifest.encoder.tied;
    let mut written = Vec::new();
    write_folder(&args.out, |folder| {
        for (files, name) in TOWER_FILES
            .iter()
            .zip(TOWERS)
            .take(if tied { 1 } else { 2 })
        {
            let [config, weights, projection] = *files;
            let bytes = TowerBytes {
                config: parts.get(config)?,
                weights: parts.get(weights)?,
                projection: parts.0.get(projection).map(|bytes| &bytes[..]),
            };
            let tower =
                Tower::from_bytes(bytes, &tokens, &device).context(|| weights.to_owned())?;
            let place = if tied {
                folder.to_owned()
            } else {
                folder.join(name)
            };
            sentence_transformers::write(
                &place,
                &tower,
                bytes.config,
                tokenizer,
                manifest.encoder.reduction,
            )?;
            if let Some(trained) = parts.0.get(names::TRAINED) {
                write_in_folder(&place.join(names::TRAINED), trained)?;
            }
            written.push(if tied {
                args.out.clone()
            } else {
                args.out.join(name)
            });
        }
        Ok(())
    })?;
    if manifest.encoder.reduction.pooling == Pooling::Mention {
        eprintln!(
            "note: sentence-transformers gives the bundle's vectors for names and concepts. It \
             cannot pool a mention in its context over the mention's tokens"
        );
    }
    if json {
        println!("{}", json!({ "folders": written }));
    } else {
        written
            .iter()
            .for_each(|folder| println!("{}", folder.display()));
    }
    Ok(())
}
