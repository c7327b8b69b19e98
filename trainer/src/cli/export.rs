//! `pel export`: the towers of a bundle or of a trained model as folders that PyTorch reads.

use crate::io::files::write_folder;
use crate::io::models::TOWERS;
use crate::io::outputs::{Inputs, Writes, check_new_folder};
use crate::io::{bundles, sentence_transformers};
use burn::tensor::Device;
use clap::Args;
use pel_shared::bundle::names;
use pel_shared::error::{Context, Result};
use pel_shared::model::burn::biencoder::Tower;
use pel_shared::model::tower::{Pooling, TowerBytes};
use pel_shared::tokens::Tokens;
use serde_json::json;
use std::path::PathBuf;

/// Write the towers of a bundle as Hugging Face and sentence-transformers folders (safetensors, f32)
#[derive(Debug, Args)]
#[command(
    after_help = "transformers reads the model of `pel train` as it is; sentence-transformers reads what this command \
    writes.\n\nIn Python:\n  \
    sentence_transformers.SentenceTransformer(\"out\").encode(\"chest pain\")\n  \
    transformers.BertModel.from_pretrained(\"out\", add_pooling_layer=False)"
)]
pub struct ExportArgs {
    /// The bundle
    bundle: PathBuf,
    /// The folder to write: the encoder in it, or `mention` and `entity` below it where they are two
    #[arg(long)]
    out: PathBuf,
}

/// The files of one tower, by the names that a bundle gives them.
const TOWER_FILES: [[&str; 3]; 2] = [
    [names::CONFIG, names::WEIGHTS, names::PROJECTION],
    [names::ENTITY_CONFIG, names::ENTITY_WEIGHTS, names::ENTITY_PROJECTION],
];

/// Runs `pel export`.
///
/// # Errors
/// If the bundle cannot be read, or the folder cannot be written.
pub fn run(args: &ExportArgs, json: bool) -> Result<()> {
    Inputs::new().artifacts([args.bundle.as_path()]).check([Writes::Folder(&args.out)])?;
    check_new_folder(&args.out)?;
    let bundle = bundles::open(&args.bundle)?;
    let (parts, manifest) = (bundle.parts(), &bundle.manifest);
    let tokenizer = parts.get(names::TOKENIZER)?;
    let tokens = Tokens::from_bytes(tokenizer)?;
    let device = Device::flex();
    let tied = manifest.encoder.tied;
    let mut written = Vec::new();
    write_folder(&args.out, |folder| {
        for (files, name) in TOWER_FILES.iter().zip(TOWERS).take(if tied { 1 } else { 2 }) {
            let [config, weights, projection] = *files;
            let bytes = TowerBytes {
                config: parts.get(config)?,
                weights: parts.get(weights)?,
                projection: parts.0.get(projection).map(|bytes| &bytes[..]),
            };
            let tower = Tower::from_bytes(bytes, &tokens, &device).context(|| weights.to_owned())?;
            let place = if tied { folder.to_owned() } else { folder.join(name) };
            sentence_transformers::write(&place, &tower, bytes.config, tokenizer, manifest.encoder.reduction)?;
            written.push(if tied { args.out.clone() } else { args.out.join(name) });
        }
        Ok(())
    })?;
    if manifest.encoder.reduction.pooling == Pooling::Mention {
        eprintln!(
            "names and concepts get the bundle's own vectors; a mention in its context is the mean over its own tokens, \
             which sentence-transformers does not know"
        );
    }
    if json {
        println!("{}", json!({ "folders": written }));
    } else {
        written.iter().for_each(|folder| println!("{}", folder.display()));
    }
    Ok(())
}
