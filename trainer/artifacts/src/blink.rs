//! BLINK's released bi-encoder and cross-encoder (`biencoder_wiki_large.bin` and
//! `crossencoder_wiki_large.bin`) as models of PEL.
//!
//! | BLINK | PEL |
//! | --- | --- |
//! | `context_encoder.bert_model.*`, `cand_encoder.bert_model.*` | the towers `mention` and `entity` |
//! | `encoder.bert_model.*` | the cross-encoder |
//! | `*.additional_linear.*` on BERT's pooler | `projection.safetensors` with the pooler as `dense.*` |
//! | `[unused0]`, `[unused1]`, `[unused2]` | the markers, as in PEL |
//! | `max_context_length`, `max_cand_length` of the settings | the windows in `pel.json` |

use crate::bundles;
use crate::models::{ModelSettings, SETTINGS_FILE, TOWERS, TowerFiles};
use crate::pretrained::tokenizer;
use crate::pretrained::torch::Checkpoint;
use bytes::Bytes;
use pel_io::files::{write_folder, write_in_folder};
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::{Scorer, Similarity};
use pel_linker::bundle::names;
use pel_model::tokens::{EntityTemplate, Tokens, ViewOptions};
use pel_model::tower::{Pooling, Reduction};
use pel_model::weights::encoder_name;
use serde::Deserialize;
use std::path::Path;

/// BLINK's settings of a model. Others are ignored.
#[derive(Debug, Deserialize)]
struct Settings {
    #[serde(default = "window")]
    max_context_length: usize,
    #[serde(default = "window")]
    max_cand_length: usize,
    #[serde(default = "last")]
    pull_from_layer: i64,
}

/// BLINK's default window in tokens.
fn window() -> usize {
    128
}

/// The last layer.
fn last() -> i64 {
    -1
}

/// A model of BLINK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Two towers.
    BiEncoder,
    /// One encoder of pairs.
    CrossEncoder,
}

/// The prefixes of two towers, and the folders that they go to.
const BI_ENCODER: [(&str, &str); 2] = [
    ("context_encoder.", TOWERS[0]),
    ("cand_encoder.", TOWERS[1]),
];
/// The prefix of a cross-encoder, which goes to the folder itself.
const CROSS_ENCODER: [(&str, &str); 1] = [("encoder.", "")];

/// Writes a model of BLINK as a model of PEL. `bert` is the folder of the BERT that it was trained
/// from; `settings` are BLINK's.
///
/// # Errors
/// If a file is damaged or they do not belong together, or the folder cannot be written.
pub fn convert(file: &Path, bert: &Path, settings: &Path, out: &Path) -> Result<Kind> {
    let named = || file.display().to_string();
    let bytes = bundles::map(file)?;
    let checkpoint = Checkpoint::read(&bytes).context(named)?;
    let has = |prefix: &str| {
        checkpoint
            .names()
            .any(|name| without_module(name).starts_with(prefix))
    };
    let kind = if has("context_encoder.bert_model.") {
        Kind::BiEncoder
    } else if has("encoder.bert_model.") {
        Kind::CrossEncoder
    } else {
        return Err(Error::artifact(format!(
            "{}: expected tensors `context_encoder.bert_model.*` or `encoder.bert_model.*` of \
             BLINK, found none",
            named()
        )));
    };
    let view = view(settings)?;
    let settings = ModelSettings {
        view,
        reduction: Reduction {
            pooling: Pooling::Cls,
            score: Similarity::Dot,
        },
        ranker: kind == Kind::CrossEncoder,
        scorer: Scorer::Dual,
    };
    let settings = serde_json::to_vec_pretty(&settings)
        .map_err(|cause| Error::artifact("writing pel.json").caused_by(cause))?;
    let config = bundles::map(&bert.join(names::CONFIG))?;
    let tokenizer = tokenizer(bert)?;
    let tokens = Tokens::from_bytes(&tokenizer).context(|| bert.display().to_string())?;
    // BLINK's models know the rows of these tokens.
    tokens.markers().context(|| bert.display().to_string())?;
    let encoders: &[(&str, &str)] = match kind {
        Kind::BiEncoder => &BI_ENCODER,
        Kind::CrossEncoder => &CROSS_ENCODER,
    };
    write_folder(out, |folder| {
        for (prefix, name) in encoders {
            let files = TowerFiles {
                config: config.clone(),
                tokenizer: tokenizer.clone(),
                weights: encoder(&checkpoint, prefix).context(named)?,
                projection: projection(&checkpoint, prefix).context(named)?,
            };
            files
                .check(&tokens)
                .context(|| format!("{}: `{prefix}*`", named()))?;
            let place = folder.join(name);
            write_in_folder(&place.join(SETTINGS_FILE), &settings)?;
            files.write(&place)?;
        }
        Ok(())
    })?;
    Ok(kind)
}

/// A name without the prefix of PyTorch's data parallelism.
fn without_module(name: &str) -> &str {
    name.strip_prefix("module.").unwrap_or(name)
}

/// The windows and templates of BLINK's settings.
fn view(path: &Path) -> Result<ViewOptions> {
    let named = || path.display().to_string();
    let settings: Settings = serde_json::from_slice(&bundles::map(path)?)
        .map_err(|cause| Error::artifact(named()).caused_by(cause))?;
    if settings.pull_from_layer != -1 {
        return Err(Error::artifact(format!(
            "{}: `pull_from_layer`: expected -1, the last layer, found {}",
            named(),
            settings.pull_from_layer
        )));
    }
    let view = ViewOptions {
        entity_template: EntityTemplate::Description,
        mention_tokens: settings.max_context_length,
        entity_tokens: settings.max_cand_length,
        abbreviations: false,
        ..ViewOptions::template()
    };
    view.check_lengths().context(named)?;
    Ok(view)
}

/// The encoder below a prefix.
fn encoder(checkpoint: &Checkpoint<'_>, prefix: &str) -> Result<Bytes> {
    let weights = checkpoint.to_safetensors(|name| {
        let name = without_module(name).strip_prefix(prefix)?;
        encoder_name(name.strip_prefix("bert_model.")?)
    })?;
    Ok(weights.into())
}

/// The linear layer above BERT's pooler, with the pooler, if there is one.
fn projection(checkpoint: &Checkpoint<'_>, prefix: &str) -> Result<Option<Bytes>> {
    let linear = format!("{prefix}additional_linear.");
    if !checkpoint
        .names()
        .any(|name| without_module(name).starts_with(&linear))
    {
        return Ok(None);
    }
    let pooler = format!("{prefix}bert_model.pooler.dense.");
    let layers = checkpoint.to_safetensors(|name| {
        let name = without_module(name);
        let pooled = name
            .strip_prefix(&pooler)
            .map(|part| format!("dense.{part}"));
        pooled.or_else(|| name.strip_prefix(&linear).map(str::to_owned))
    })?;
    Ok(Some(layers.into()))
}
