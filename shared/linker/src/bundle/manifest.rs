//! The manifest of a bundle: `manifest.json`.

use super::names;
use pel_index::{IndexInfo, Precision, TokenStoreInfo};
use pel_kb::KnowledgeBase;
use pel_kb::digest;
use pel_kb::error::{Error, Result};
use pel_kb::score::{Scorer, Similarity};
use pel_model::detector::DetectorInfo;
use pel_model::nil::{Feature, NilPolicy, ProbabilityModel};
use pel_model::tokens::ViewOptions;
use pel_model::tower::{Pooling, Reduction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The program and version that writes bundles.
pub(super) const WRITTEN_BY: &str = concat!("pel ", env!("CARGO_PKG_VERSION"));

/// The oldest format that is read, and the one that a manifest has without the fields of a newer
/// one.
pub const OLDEST_FORMAT: u32 = 8;

/// The format of a bundle whose probability model has [`Feature::UnknownWord`]: builds that do not
/// know it cannot read the model.
pub const FORMAT_WITH_UNKNOWN_WORDS: u32 = 9;

/// The format of a bundle with [`Manifest::every_name`]: builds that do not know it would find
/// fewer mentions.
pub const FORMAT_WITH_EVERY_NAME: u32 = 10;

/// The format of a bundle with [`names::INDEX_CONCEPTS`]: builds that do not know the file would
/// take rows for those of other concepts.
pub const FORMAT_WITH_CONCEPT_MAP: u32 = 11;

/// The newest format.
pub const NEWEST_FORMAT: u32 = FORMAT_WITH_CONCEPT_MAP;

/// The manifest. Unknown fields are refused: a writer of new fields raises the format version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The format version ([`Manifest::least_format`]).
    pub format: u32,
    /// The program and version that wrote the bundle.
    pub written_by: String,
    /// The description of the encoder.
    pub encoder: EncoderInfo,
    /// The description of the knowledge base.
    pub kb: KbInfo,
    /// The templates and window lengths of concepts and mentions.
    pub view: ViewOptions,
    /// The description of the index.
    pub index: IndexInfo,
    /// The description of the token vectors, if mentions are scored by Sum-of-Max.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_vectors: Option<TokenStoreInfo>,
    /// The rule for NIL.
    pub nil: NilPolicy,
    /// The detector of mentions, if the bundle has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detector: Option<DetectorInfo>,
    /// Whether names of the knowledge base are mentions whatever the detector says, because it was
    /// trained with another knowledge base.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every_name: bool,
    /// The size and checksum of every other file of the bundle.
    pub files: BTreeMap<String, FileInfo>,
    /// The digest of all other fields, in hexadecimal ([`digest::of`]).
    pub digest: String,
}

/// The encoder of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderInfo {
    /// The name of the model.
    pub name: String,
    /// The licence of the model, as an SPDX expression or in words.
    pub licence: String,
    /// Whether one tower reads mentions and entities.
    pub tied: bool,
    /// The pooling and the similarity.
    pub reduction: Reduction,
    /// The precision of the weights.
    pub precision: Precision,
}

/// The knowledge base of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KbInfo {
    /// The name of the knowledge base.
    pub name: String,
    /// The number of concepts.
    pub concepts: usize,
    /// The number of names, synonyms included.
    pub names: usize,
    /// The BLAKE3 of the uncompressed table that it was read from, in hexadecimal.
    pub blake3: String,
    /// The licences of its sources, one line each. `LICENSES.md` of the bundle has the full text,
    /// if there is one.
    pub licences: Vec<String>,
}

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileInfo {
    /// The size in bytes.
    pub bytes: u64,
    /// The BLAKE3 in hexadecimal.
    pub blake3: String,
}

impl EncoderInfo {
    /// A model with mean pooling, cosine similarity and f32 weights, whose licence is not stated.
    pub fn new(name: impl Into<String>, tied: bool) -> Self {
        Self {
            name: name.into(),
            licence: "not stated".to_owned(),
            tied,
            reduction: Reduction {
                pooling: Pooling::Mean,
                score: Similarity::Cosine,
            },
            precision: Precision::F32,
        }
    }
}

impl KbInfo {
    /// A knowledge base without licences. Its hash is that of its concepts as JSON lines.
    pub fn new(name: impl Into<String>, kb: &KnowledgeBase) -> Self {
        let mut hash = blake3::Hasher::new();
        for (_, concept) in kb.iter() {
            // A concept has only strings, so it can always be encoded.
            hash.update(&serde_json::to_vec(concept).unwrap_or_default())
                .update(b"\n");
        }
        Self {
            name: name.into(),
            concepts: kb.len(),
            names: kb.iter().map(|(_, concept)| concept.names().count()).sum(),
            blake3: hash.finalize().to_hex().to_string(),
            licences: Vec::new(),
        }
    }
}

impl Manifest {
    /// The scorer that the bundle was built for: Sum-of-Max if it has token vectors.
    pub fn scorer(&self) -> Scorer {
        match self.token_vectors {
            Some(_) => Scorer::SumOfMax,
            None => Scorer::Dual,
        }
    }

    /// Reads `manifest.json` and compares its digest.
    ///
    /// # Errors
    /// If it is not JSON, of another version, a field is missing, unknown or out of range, or the
    /// digest differs.
    pub fn from_bytes(json: &[u8]) -> Result<Self> {
        let manifest = Self::parse(json)?;
        match manifest.digest.as_str() == digest::of(json).to_hex().as_str() {
            true => Ok(manifest),
            false => Err(Error::artifact(
                "manifest.json has been altered: its digest differs; get the bundle again, or, if \
                 you edited the manifest, write a bundle with it by `pel pack --edited BUNDLE NEW`",
            )),
        }
    }

    /// As [`Manifest::from_bytes`], for a manifest that was edited by hand: its digest may differ.
    ///
    /// # Errors
    /// As [`Manifest::from_bytes`], but not for the digest.
    pub fn edited(json: &[u8]) -> Result<Self> {
        Self::parse(json)
    }

    fn parse(json: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
            #[serde(default)]
            written_by: String,
        }
        let refuse = |cause: serde_json::Error| Error::artifact("manifest.json").caused_by(cause);
        let Version { format, written_by } = serde_json::from_slice(json).map_err(refuse)?;
        if !(OLDEST_FORMAT..=NEWEST_FORMAT).contains(&format) {
            let what_to_do = match format < OLDEST_FORMAT {
                true => "build the bundle again with `pel index`",
                false => "install a newer version of PEL",
            };
            return Err(Error::artifact(format!(
                "manifest.json: the bundle has format version {format}, this build reads \
                 {OLDEST_FORMAT} to {NEWEST_FORMAT}; {what_to_do}, or open it with the program \
                 that wrote it ({written_by:?})"
            )));
        }
        let manifest: Self = serde_json::from_slice(json).map_err(refuse)?;
        let expected = manifest.least_format();
        if expected != format {
            return Err(Error::artifact(format!(
                "manifest.json: expected format version {expected} for its fields (the feature \
                 `unknown_word` has {FORMAT_WITH_UNKNOWN_WORDS}, `every_name` \
                 {FORMAT_WITH_EVERY_NAME}, the file `{}` {FORMAT_WITH_CONCEPT_MAP}), found version \
                 {format}",
                names::INDEX_CONCEPTS
            )));
        }
        manifest
            .check()
            .map_err(|error| error.context("manifest.json"))?;
        Ok(manifest)
    }

    /// The manifest with its format and digest, and the bytes of its file. Every manifest is
    /// written by this function.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn sealed(mut self) -> Result<(Self, Vec<u8>)> {
        let encode = |manifest: &Self| {
            serde_json::to_vec_pretty(manifest)
                .map_err(|cause| Error::artifact("writing the manifest").caused_by(cause))
        };
        // The value of the field is not part of the digest.
        self.digest = String::new();
        self.format = self.least_format();
        self.digest = digest::of(&encode(&self)?).to_hex().to_string();
        let json = encode(&self)?;
        Ok((self, json))
    }

    /// Checks what the types do not: file names, windows, and that numbers are finite.
    fn check(&self) -> Result<()> {
        if let Some(name) = self
            .files
            .keys()
            .find(|name| !names::is_plain(name) || *name == names::MANIFEST)
        {
            return Err(Error::artifact(format!(
                "`files`: expected names of letters, digits, `_`, `-` and `.`, other than {}, \
                 found {name:?}",
                names::MANIFEST
            )));
        }
        self.view.check_lengths()?;
        if let Some(detector) = &self.detector {
            detector.check()?;
        }
        self.nil.check()
    }

    /// Whether both have the same encoder, so that their scores are comparable. Weights in another
    /// precision are those of the same encoder.
    pub fn has_encoder_of(&self, other: &Self) -> bool {
        let weighed = self.encoder.precision == other.encoder.precision;
        let same = |name: &str| {
            let [one, two] =
                [self, other].map(|manifest| manifest.files.get(name).map(|file| &file.blake3));
            one == two
        };
        self.encoder.name == other.encoder.name
            && self.index.dim == other.index.dim
            && [names::TOKENIZER, names::PROJECTION].into_iter().all(same)
            && (!weighed || same(names::WEIGHTS))
    }

    /// The oldest format that has all the fields of the manifest.
    pub fn least_format(&self) -> u32 {
        if self.files.contains_key(names::INDEX_CONCEPTS) {
            return FORMAT_WITH_CONCEPT_MAP;
        }
        if self.every_name {
            return FORMAT_WITH_EVERY_NAME;
        }
        let has_unknown_words =
            |model: &ProbabilityModel| model.weights.contains_key(&Feature::UnknownWord);
        match self.nil.probability.as_ref().is_some_and(has_unknown_words) {
            true => FORMAT_WITH_UNKNOWN_WORDS,
            false => OLDEST_FORMAT,
        }
    }
}
