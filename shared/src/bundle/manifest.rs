//! What a bundle says of itself: `manifest.json`.

use super::names;
use crate::abbreviations::Reader;
use crate::biencoder::Reduction;
use crate::digest;
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

/// The format of a bundle whose manifest carries its own digest, as all have that this build writes.
pub const FORMAT_WITH_DIGEST: u32 = 4;

/// The longest window that a manifest may ask for, in tokens. An encoder's own limit is lower; this one keeps sums of windows small.
pub const LONGEST_WINDOW: usize = 1 << 20;

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
    /// The checksum of all that stands above, in hexadecimal ([`digest::of`]); nothing in bundles of formats 1 to 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
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

    /// Checks the windows by themselves; [`ViewOptions::check_windows`] compares them with an encoder.
    ///
    /// # Errors
    /// If one is of no token, or longer than [`LONGEST_WINDOW`].
    pub fn check_lengths(&self) -> Result<()> {
        self.check_each(|tokens| (1..=LONGEST_WINDOW).contains(&tokens), &format!("1 to {LONGEST_WINDOW} tokens"))
    }

    /// Checks that an encoder reads the windows, `positions` tokens at most.
    ///
    /// # Errors
    /// If one is longer.
    pub fn check_windows(&self, positions: usize) -> Result<()> {
        self.check_each(|tokens| tokens <= positions, &format!("at most the {positions} tokens that the encoder reads"))
    }

    fn check_each(&self, fits: impl Fn(usize) -> bool, expected: &str) -> Result<()> {
        let Self { mention_tokens, entity_tokens, name_tokens, .. } = *self;
        let windows =
            [("mention_tokens", mention_tokens), ("entity_tokens", entity_tokens), ("name_tokens", name_tokens)];
        match windows.into_iter().find(|(_, tokens)| !fits(*tokens)) {
            None => Ok(()),
            Some((field, found)) => Err(Error::artifact(format!("`view.{field}`: expected {expected}, found {found}"))),
        }
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
    /// Reads `manifest.json` and compares its digest.
    ///
    /// # Errors
    /// If it is not JSON, of another version, a field is missing, unknown or out of its bounds, or it has been altered since it was
    /// written.
    pub fn from_bytes(json: &[u8]) -> Result<Self> {
        let manifest = Self::parse(json)?;
        match manifest.digest.as_ref().is_none_or(|digest| digest.as_str() == digest::of(json).to_hex().as_str()) {
            true => Ok(manifest),
            false => Err(Error::artifact(
                "manifest.json has been altered: its digest differs; take the bundle from where it comes from once more, or, if it was \
                 you who edited it, let `pel pack --edited BUNDLE NEW` write a bundle with it",
            )),
        }
    }

    /// As [`Manifest::from_bytes`], but takes a manifest that was edited by hand: its digest may differ.
    ///
    /// # Errors
    /// As [`Manifest::from_bytes`] but for the last.
    pub fn edited(json: &[u8]) -> Result<Self> {
        Self::parse(json)
    }

    fn parse(json: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let refuse = |cause: serde_json::Error| Error::artifact("manifest.json").caused_by(cause);
        let Version { format } = serde_json::from_slice(json).map_err(refuse)?;
        if !(FORMAT_VERSION..=FORMAT_WITH_DIGEST).contains(&format) {
            return Err(Error::artifact(format!(
                "manifest.json: the bundle has format version {format}, this build reads {FORMAT_VERSION} to {FORMAT_WITH_DIGEST}"
            )));
        }
        let manifest: Self = serde_json::from_slice(json).map_err(refuse)?;
        let expected = manifest.least_format();
        if expected != format {
            return Err(Error::artifact(format!(
                "manifest.json: expected format version {expected} for what it holds (`token_vectors` {FORMAT_WITH_TOKENS}, \
                 `view.spelling` and `nil.lift` {FORMAT_BEYOND_VECTORS}, `digest` {FORMAT_WITH_DIGEST}), found version {format}"
            )));
        }
        manifest.check().map_err(|error| error.context("manifest.json"))?;
        Ok(manifest)
    }

    /// The manifest with the format that it needs and its digest, and the bytes of its file: the one way in which it is written.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn sealed(mut self) -> Result<(Self, Vec<u8>)> {
        let encode = |manifest: &Self| {
            serde_json::to_vec_pretty(manifest)
                .map_err(|cause| Error::artifact("writing the manifest").caused_by(cause))
        };
        // What stands in the field has no part in the digest.
        self.digest = Some(String::new());
        self.format = self.least_format();
        self.digest = Some(digest::of(&encode(&self)?).to_hex().to_string());
        let json = encode(&self)?;
        Ok((self, json))
    }

    /// Checks what JSON and types leave open: names of files, windows, and that numbers are finite.
    fn check(&self) -> Result<()> {
        if let Some(name) = self.files.keys().find(|name| !names::is_plain(name) || *name == names::MANIFEST) {
            return Err(Error::artifact(format!(
                "`files`: expected names of letters, digits, `_`, `-` and `.`, other than {}, found {name:?}",
                names::MANIFEST
            )));
        }
        self.view.check_lengths()?;
        self.nil.check()
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
        if self.digest.is_some() {
            return FORMAT_WITH_DIGEST;
        }
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
