//! `pel export`: the towers of a bundle or of a trained model as folders that PyTorch reads.

use crate::io::bundles;
use crate::io::files::{write_folder, write_in_folder};
use crate::io::models::TOWERS;
use crate::io::outputs::{Inputs, Writes, check_new_folder};
use burn::tensor::Device;
use bytes::Bytes;
use clap::Args;
use pel_shared::bundle::names;
use pel_shared::error::{Context, Error, Result};
use pel_shared::model::burn::biencoder::Tower;
use pel_shared::model::config::BertConfig;
use pel_shared::model::tower::{Pooling, Reduction, TowerBytes};
use pel_shared::score::Score;
use pel_shared::tokens::Tokens;
use safetensors::tensor::SafeTensors;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
            write_tower(&place, &tower, bytes.config, tokenizer, manifest.encoder.reduction)?;
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

fn write_tower(folder: &Path, tower: &Tower, config: &[u8], tokenizer: &Bytes, reduction: Reduction) -> Result<()> {
    let shape = BertConfig::from_bytes(config)?;
    let (weights, projection) = tower.to_safetensors()?;
    let mut config: Value =
        serde_json::from_slice(config).map_err(|cause| Error::artifact("config.json").caused_by(cause))?;
    if let Value::Object(fields) = &mut config {
        fields.insert("architectures".into(), json!(["BertModel"]));
        fields.insert("model_type".into(), json!("bert"));
        fields.insert("dtype".into(), json!("float32"));
    }
    let mut modules =
        vec![json!({"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"})];
    let mut add = |name: &str| {
        let number = modules.len();
        let path = format!("{number}_{name}");
        let kind = format!("sentence_transformers.models.{name}");
        modules.push(json!({"idx": number, "name": number.to_string(), "path": path, "type": kind}));
        folder.join(path)
    };
    let pooling = json!({
        "word_embedding_dimension": shape.hidden_size,
        "pooling_mode_cls_token": reduction.pooling == Pooling::Cls,
        "pooling_mode_mean_tokens": reduction.pooling != Pooling::Cls,
        "pooling_mode_max_tokens": false,
        "pooling_mode_mean_sqrt_len_tokens": false,
    });
    write_json(&add("Pooling").join("config.json"), &pooling)?;
    if let Some(projection) = projection {
        let dense = add("Dense");
        let activation = "torch.nn.modules.linear.Identity";
        let described = json!({"in_features": shape.hidden_size, "out_features": tower.dim(), "bias": true,
            "activation_function": activation});
        write_json(&dense.join("config.json"), &described)?;
        write_in_folder(&dense.join("model.safetensors"), &renamed(&projection)?)?;
        write_in_folder(&folder.join(names::PROJECTION), &projection)?;
    }
    if reduction.score == Score::Cosine {
        std::fs::create_dir_all(add("Normalize")).map_err(|cause| Error::io("making a folder").caused_by(cause))?;
    }
    let special = json!({"tokenizer_class": "BertTokenizerFast", "cls_token": "[CLS]", "sep_token": "[SEP]",
        "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]", "model_max_length": shape.max_position_embeddings});
    write_json(&folder.join("tokenizer_config.json"), &special)?;
    write_json(&folder.join("config.json"), &config)?;
    write_json(&folder.join("modules.json"), &Value::Array(modules))?;
    write_in_folder(&folder.join(names::TOKENIZER), tokenizer)?;
    write_in_folder(&folder.join(names::WEIGHTS), &weights)
}

/// The projection under the names of sentence-transformers' `Dense`.
fn renamed(projection: &[u8]) -> Result<Vec<u8>> {
    let failed = |cause: safetensors::SafeTensorError| Error::artifact(names::PROJECTION).caused_by(cause);
    let all = SafeTensors::deserialize(projection).map_err(failed)?;
    let tensors = all.tensors().into_iter().map(|(name, view)| (format!("linear.{name}"), view));
    safetensors::serialize(tensors, None).map_err(failed)
}

fn write_json(path: &Path, value: &Value) -> Result<()> {
    let text = serde_json::to_vec_pretty(value).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    write_in_folder(path, &text)
}
