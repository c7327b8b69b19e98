//! What a bundle says of itself: `manifest.json`.

use super::names;
use crate::abbreviations::Reader;
use crate::biencoder::Reduction;
use crate::error::{Error, Result};
use crate::index::{IndexInfo, Precision, TokenStoreInfo};
use crate::kb::Concept;
use crate::nil::NilPolicy;
use crate::score::Score;
use crate::tokens::{Cut, Encoded, EntityTemplate, MentionTemplate, Tokens};
use crate::{text::Mention, tokens};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The format of a bundle that compares whole vectors.
pub const FORMAT_VERSION: u32 = 1;

/// The format of a bundle with token vectors, which a build that knows no Sum-of-Max must not read.
pub const FORMAT_WITH_TOKENS: u32 = 2;

/// The format of a bundle that judges by more than vectors, with token vectors or without: spelling has a share of its scores, or its
/// policy adds to them.
pub const FORMAT_BEYOND_VECTORS: u32 = 3;

/// The manifest. Unknown fields are refused: a newer writer raises the format version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`Manifest::least_format`].
    pub format: u32,
    /// The program and version that wrote the bundle.
    pub written_by: String,
    /// The model.
    pub encoder: EncoderInfo,
    /// The knowledge base.
    pub kb: KbInfo,
    /// How concepts and mentions are written before they are encoded.
    pub view: ViewOptions,
    /// The index.
    pub index: IndexInfo,
    /// The vectors of all tokens beside it, where mentions are scored by Sum-of-Max.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_vectors: Option<TokenStoreInfo>,
    /// When a mention is NIL.
    pub nil: NilPolicy,
    /// Every other file of the bundle, with its size and checksum.
    pub files: BTreeMap<String, FileInfo>,
}

/// The model of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderInfo {
    /// What its makers call it.
    pub name: String,
    /// Its licence, as an SPDX expression or in words.
    pub licence: String,
    /// Whether one tower reads mentions and entities.
    pub tied: bool,
    /// How token vectors become one vector.
    pub reduction: Reduction,
    /// How its weights are kept.
    #[serde(default = "floats")]
    pub precision: Precision,
}

/// What bundles had before they said so.
fn floats() -> Precision {
    Precision::F32
}

/// The knowledge base of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KbInfo {
    /// What it is called.
    pub name: String,
    /// Concepts.
    pub concepts: usize,
    /// Names, synonyms included.
    pub names: usize,
    /// blake3 of the table that it was read from, unpacked.
    pub blake3: String,
    /// The licences of its sources, one line each; the full text is in `LICENSES.md` where the bundle has one.
    pub licences: Vec<String>,
}

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileInfo {
    /// Its size.
    pub bytes: u64,
    /// Its checksum, in hexadecimal.
    pub blake3: String,
}

/// Which texts stand for a concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Each of its names alone.
    Names,
    /// Its template: title, types, description.
    Template,
    /// Both.
    Both,
}

/// How concepts and mentions are written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewOptions {
    /// Which texts stand for a concept.
    pub concepts: View,
    /// The form of a concept's template.
    pub entity_template: EntityTemplate,
    /// Whether a concept's template lists its synonyms.
    pub synonyms: bool,
    /// The longest template, in tokens.
    pub entity_tokens: usize,
    /// The longest name, in tokens.
    pub name_tokens: usize,
    /// The form of a mention.
    pub mention_template: MentionTemplate,
    /// The longest mention, context included, in tokens.
    pub mention_tokens: usize,
    /// Whether short forms that a text defines are written out in its mentions.
    #[serde(default = "yes")]
    pub abbreviations: bool,
    /// Where concepts have both views, the share of the template in a concept's score, from 0 to 1; the rest is its best row's.
    #[serde(default)]
    pub mix: f32,
    /// The share of spelling in a concept's score, from 0 to 1: of the square of how much the mention and the nearest of the concept's
    /// names have in common ([`Spelling`](crate::lexical::Spelling)). The rest is its vectors'.
    #[serde(default, skip_serializing_if = "none")]
    pub spelling: f32,
}

/// Nothing that an older build would not know.
fn none(spelling: &f32) -> bool {
    *spelling == 0.0
}

fn yes() -> bool {
    true
}

impl ViewOptions {
    /// Bare mentions against names: what an untrained sentence encoder is fair at.
    pub fn names() -> Self {
        Self { concepts: View::Names, mention_template: MentionTemplate::Bare, mention_tokens: 32, ..Self::template() }
    }

    /// Mentions in context against templates: what the papers train (PEL, table 6: 128 tokens).
    pub fn template() -> Self {
        Self {
            concepts: View::Template,
            entity_template: EntityTemplate::Types,
            synonyms: false,
            entity_tokens: 128,
            name_tokens: 32,
            mention_template: MentionTemplate::Context,
            mention_tokens: 128,
            abbreviations: true,
            mix: 0.0,
            spelling: 0.0,
        }
    }

    /// The rows of a concept in the index, in order: its template, its names. Names of which nothing is left are dropped.
    ///
    /// # Errors
    /// If the vocabulary has no rows for the template's markers, or a text cannot be tokenized.
    pub fn rows(&self, tokens: &Tokens, concept: &Concept) -> Result<Vec<Encoded>> {
        let mut rows = Vec::new();
        if self.concepts != View::Names {
            rows.push(tokens.entity(concept, self.entity_template, self.synonyms, self.entity_tokens)?);
        }
        if self.concepts != View::Template {
            for name in concept.names() {
                if let Some(row) = tokens.name(name, self.name_tokens)?
                    && !rows.contains(&row)
                {
                    rows.push(row);
                }
            }
        }
        Ok(rows)
    }

    /// Checks [`ViewOptions::mix`].
    ///
    /// # Errors
    /// If it is no share, or above 0 where concepts do not have both views.
    pub fn check_mix(&self) -> Result<()> {
        let Self { mix, concepts, .. } = self;
        match (0.0..=1.0).contains(mix) && (*mix == 0.0 || *concepts == View::Both) {
            true => Ok(()),
            false => Err(Error::input(format!(
                "the mix of views: expected a share from 0 to 1, above 0 only where concepts have both views, found {mix}"
            ))),
        }
    }

    /// Checks [`ViewOptions::spelling`], where vectors are compared so.
    ///
    /// # Errors
    /// If it is no share, or above 0 where scores are raw dot products, which have no scale.
    pub fn check_spelling(&self, score: Score) -> Result<()> {
        match (0.0..=1.0).contains(&self.spelling) && (self.spelling == 0.0 || score == Score::Cosine) {
            true => Ok(()),
            false => Err(Error::input(format!(
                "the share of spelling: expected a share from 0 to 1, above 0 only where scores are cosines, found {}",
                self.spelling
            ))),
        }
    }

    /// What reads the mentions of texts.
    pub fn reader<'a>(&self) -> Reader<'a> {
        Reader::new(self.abbreviations)
    }

    /// A mention's token sequence; `None` if nothing is left of it.
    ///
    /// # Errors
    /// If the vocabulary has no rows for the markers, or the text cannot be tokenized.
    pub fn mention(&self, tokens: &Tokens, mention: &Mention<'_>) -> Result<Option<Encoded>> {
        tokens.mention(mention, self.mention_template, self.mention_tokens)
    }
}

impl Manifest {
    /// Reads `manifest.json`.
    ///
    /// # Errors
    /// If it is not JSON, of another version, or a field is missing or unknown.
    pub fn from_bytes(json: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let refuse = |cause: serde_json::Error| Error::artifact("manifest.json").caused_by(cause);
        let Version { format } = serde_json::from_slice(json).map_err(refuse)?;
        if !(FORMAT_VERSION..=FORMAT_BEYOND_VECTORS).contains(&format) {
            return Err(Error::artifact(format!(
                "manifest.json: the bundle has format version {format}, this build reads {FORMAT_VERSION} to {FORMAT_BEYOND_VECTORS}"
            )));
        }
        let manifest: Self = serde_json::from_slice(json).map_err(refuse)?;
        let expected = manifest.least_format();
        match expected == format {
            true => Ok(manifest),
            false => Err(Error::artifact(format!(
                "manifest.json: expected format version {expected} for what it holds (`token_vectors` {FORMAT_WITH_TOKENS}, \
                 `view.spelling` and `nil.lift` {FORMAT_BEYOND_VECTORS}), found version {format}"
            ))),
        }
    }

    /// Whether both have the same encoder, so that one's scores mean what the other's do. Weights in other numbers are the same
    /// encoder's.
    pub fn has_encoder_of(&self, other: &Self) -> bool {
        let weighed = self.encoder.precision == other.encoder.precision;
        let same = |name: &str| {
            let [one, two] = [self, other].map(|manifest| manifest.files.get(name).map(|file| &file.blake3));
            one == two
        };
        self.encoder.name == other.encoder.name
            && self.index.dim == other.index.dim
            && [names::TOKENIZER, names::PROJECTION].into_iter().all(same)
            && (!weighed || same(names::WEIGHTS))
    }

    /// The oldest format that has room for what the manifest holds.
    pub fn least_format(&self) -> u32 {
        match (self.nil.lift.is_some() || self.view.spelling > 0.0, &self.token_vectors) {
            (true, _) => FORMAT_BEYOND_VECTORS,
            (false, Some(_)) => FORMAT_WITH_TOKENS,
            (false, None) => FORMAT_VERSION,
        }
    }
}

/// Tells a cut in words; `None` if nothing was cut.
pub fn cut_words(cut: Cut) -> Option<&'static str> {
    match cut {
        tokens::Cut { mention: true, .. } => Some("mention longer than the window"),
        tokens::Cut { context: true, .. } => Some("context cut to the window"),
        _ => None,
    }
}
