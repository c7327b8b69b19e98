//! Encoders as they are published: a folder of Hugging Face's BERT, and BLINK's files.
//!
//! The rest of PEL reads `config.json`, `tokenizer.json` and `model.safetensors`. This module makes
//! the latter two, in memory, of what older folders have.
//!
//! | missing | made of |
//! | --- | --- |
//! | `tokenizer.json` | `vocab.txt`, `tokenizer_config.json`, `special_tokens_map.json` |
//! | `model.safetensors` | `pytorch_model.bin`, by a reader that runs no code of the file |
//! | three tokens `[unusedN]` | new tokens and rows of the word embeddings |

mod markers;
mod pickle;
pub(super) mod torch;
mod vocabulary;

use crate::bundles;
use bytes::Bytes;
use pel_io::limits::Bound;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::names;
use pel_model::weights::encoder_name;
use std::path::Path;

/// A vocabulary, one token a line.
const VOCABULARY: &str = "vocab.txt";
/// Weights of `torch.save`.
const TORCH_WEIGHTS: &str = "pytorch_model.bin";

/// What a folder needs, for messages.
pub const EXPECTED: &str =
    "config.json, model.safetensors (or pytorch_model.bin) and tokenizer.json (or vocab.txt)";

/// The files of an encoder, in the form that PEL reads.
#[derive(Clone, Debug)]
pub(crate) struct EncoderFiles {
    /// `config.json`.
    pub config: Bytes,
    /// `tokenizer.json`.
    pub tokenizer: Bytes,
    /// `model.safetensors`.
    pub weights: Bytes,
}

impl EncoderFiles {
    /// Maps the files of a folder, or makes them of those that it has.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn read(folder: &Path) -> Result<Self> {
        let files = Self {
            config: bundles::map(&folder.join(names::CONFIG))?,
            tokenizer: tokenizer(folder)?,
            weights: weights(folder)?,
        };
        markers::with_markers(files).context(|| folder.display().to_string())
    }
}

/// The `tokenizer.json` of a folder, or the one of its vocabulary.
pub(super) fn tokenizer(folder: &Path) -> Result<Bytes> {
    let (made, vocabulary) = (folder.join(names::TOKENIZER), folder.join(VOCABULARY));
    if made.exists() || !vocabulary.exists() {
        return bundles::map(&made);
    }
    // Its tokens have no lines in the vocabulary.
    if folder.join("added_tokens.json").exists() {
        return Err(Error::artifact(format!(
            "{}: expected tokenizer.json beside added_tokens.json, found none; make it with \
             transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)",
            folder.display()
        )));
    }
    let words = bundles::map(&vocabulary)?;
    Bound::Tokenizer.check(vocabulary.display(), words.len() as u64)?;
    let optional = |name: &str| {
        let path = folder.join(name);
        path.exists().then(|| bundles::map(&path)).transpose()
    };
    let settings = optional("tokenizer_config.json")?;
    let special_tokens = optional("special_tokens_map.json")?;
    vocabulary::tokenizer(&words, settings.as_deref(), special_tokens.as_deref())
        .map(Bytes::from)
        .context(|| folder.display().to_string())
}

/// The `model.safetensors` of a folder, or the same of its `pytorch_model.bin`.
fn weights(folder: &Path) -> Result<Bytes> {
    let (made, torch) = (folder.join(names::WEIGHTS), folder.join(TORCH_WEIGHTS));
    if made.exists() || !torch.exists() {
        return bundles::map(&made);
    }
    let file = bundles::map(&torch)?;
    torch_to_safetensors(&file)
        .map(Bytes::from)
        .context(|| torch.display().to_string())
}

/// The tensors of an encoder in a file of `torch.save`, as safetensors with the names of
/// Hugging Face's `BertModel`. Heads are left out.
///
/// # Errors
/// If the file is damaged, or holds something else than tensors.
pub fn torch_to_safetensors(file: &[u8]) -> Result<Vec<u8>> {
    torch::Checkpoint::read(file)?.to_safetensors(encoder_name)
}
