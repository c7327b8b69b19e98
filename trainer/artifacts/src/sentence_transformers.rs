//! Writes folders that transformers and sentence-transformers read.

use bytes::Bytes;
use pel_io::files::write_in_folder;
use pel_kb::error::{Error, Result};
use pel_kb::score::Similarity;
use pel_linker::bundle::names;
use pel_model::burn::biencoder::Tower;
use pel_model::config::BertConfig;
use pel_model::tower::{Pooling, Reduction};
use safetensors::tensor::SafeTensors;
use serde_json::{Value, json};
use std::path::Path;

/// Writes a tower into a folder that [`write_folder`](pel_io::files::write_folder) fills.
/// Pooling, projection and normalisation are separate modules.
///
/// # Errors
/// If a tensor cannot be read from the device or a file cannot be written.
pub fn write(
    folder: &Path,
    tower: &Tower,
    config: &[u8],
    tokenizer: &Bytes,
    reduction: Reduction,
) -> Result<()> {
    let shape = BertConfig::from_bytes(config)?;
    let (weights, projection) = tower.to_safetensors()?;
    let mut config: Value = serde_json::from_slice(config)
        .map_err(|cause| Error::artifact("config.json").caused_by(cause))?;
    if let Value::Object(fields) = &mut config {
        fields.insert("architectures".into(), json!(["BertModel"]));
        fields.insert("model_type".into(), json!("bert"));
        fields.insert("dtype".into(), json!("float32"));
    }
    let mut modules = vec![json!({"idx": 0, "name": "0", "path": "",
        "type": "sentence_transformers.models.Transformer"})];
    let mut add = |name: &str| {
        let number = modules.len();
        let path = format!("{number}_{name}");
        let kind = format!("sentence_transformers.models.{name}");
        modules
            .push(json!({"idx": number, "name": number.to_string(), "path": path, "type": kind}));
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
        let (hidden, dim) = (shape.hidden_size, tower.dim());
        for (prefix, size, activation) in [
            ("dense.", hidden, "torch.nn.modules.activation.Tanh"),
            ("", dim, "torch.nn.modules.linear.Identity"),
        ] {
            let Some(weights) = layer(&projection, prefix)? else {
                continue;
            };
            let dense = add("Dense");
            let described = json!({"in_features": hidden, "out_features": size, "bias": true,
                "activation_function": activation});
            write_json(&dense.join("config.json"), &described)?;
            write_in_folder(&dense.join("model.safetensors"), &weights)?;
        }
        write_in_folder(&folder.join(names::PROJECTION), &projection)?;
    }
    if reduction.score == Similarity::Cosine {
        std::fs::create_dir_all(add("Normalize"))
            .map_err(|cause| Error::io("making a folder").caused_by(cause))?;
    }
    let special = json!({"tokenizer_class": "BertTokenizerFast", "cls_token": "[CLS]",
        "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]",
        "model_max_length": shape.max_position_embeddings});
    write_json(&folder.join("tokenizer_config.json"), &special)?;
    write_json(&folder.join("config.json"), &config)?;
    write_json(&folder.join("modules.json"), &Value::Array(modules))?;
    write_in_folder(&folder.join(names::TOKENIZER), tokenizer)?;
    write_in_folder(&folder.join(names::WEIGHTS), &weights)
}

/// A layer of the projection with the tensor names of sentence-transformers' `Dense`, if there is
/// one.
fn layer(projection: &[u8], prefix: &str) -> Result<Option<Vec<u8>>> {
    let failed =
        |cause: safetensors::SafeTensorError| Error::artifact(names::PROJECTION).caused_by(cause);
    let all = SafeTensors::deserialize(projection).map_err(failed)?;
    let mut tensors = Vec::new();
    for part in ["bias", "weight"] {
        let Ok(tensor) = all.tensor(&format!("{prefix}{part}")) else {
            return Ok(None);
        };
        tensors.push((format!("linear.{part}"), tensor));
    }
    safetensors::serialize(tensors, None)
        .map(Some)
        .map_err(failed)
}

fn write_json(path: &Path, value: &Value) -> Result<()> {
    write_in_folder(path, pel_io::json::pretty(value)?.as_bytes())
}
