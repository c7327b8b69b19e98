//! The artifact that links: manifest, encoder, tokenizer, index, concepts, dictionary and NIL policy.
//!
//! A folder with one file each, or all of them in one file; the bytes are the same.

mod builder;
mod manifest;

pub use builder::{BuiltBundle, BundleBuilder, ConceptRows, TokenizedBundle, TruncatedTexts};
pub use manifest::{
    EncoderInfo, FORMAT_BEYOND_VECTORS, FORMAT_VERSION, FORMAT_WITH_DIGEST, FORMAT_WITH_NIL_MODEL, FORMAT_WITH_TOKENS,
    FileInfo, KbInfo, Manifest,
};

use crate::container::{self, Check, Container, Format};
use crate::error::{Context, Error, Result};
use crate::index::{Index, TokenStore};
use crate::kb::table::ConceptTable;
use crate::model::config::BertConfig;
use crate::model::encode::Encoder;
use crate::model::tower::TowerBytes;
use crate::score::Scorer;
use crate::text::Span;
use crate::text::abbreviations::Abbreviations;
use crate::text::detect::{DetectOptions, Detected, Dictionary, Origin};
use crate::tokens::Tokens;
use burn::tensor::Device;
use bytes::Bytes;
use std::collections::BTreeMap;

/// The names of a bundle's files.
pub mod names {
    /// The manifest.
    pub const MANIFEST: &str = "manifest.json";
    /// The tokenizer of both towers.
    pub const TOKENIZER: &str = "tokenizer.json";
    /// The configuration of the mention tower.
    pub const CONFIG: &str = "config.json";
    /// The weights of the mention tower.
    pub const WEIGHTS: &str = "model.safetensors";
    /// The projection of the mention tower, if it has one.
    pub const PROJECTION: &str = "projection.safetensors";
    /// The configuration of the entity tower, if it is its own.
    pub const ENTITY_CONFIG: &str = "entity.config.json";
    /// The weights of the entity tower, if it is its own.
    pub const ENTITY_WEIGHTS: &str = "entity.model.safetensors";
    /// The projection of the entity tower, if it has one.
    pub const ENTITY_PROJECTION: &str = "entity.projection.safetensors";
    /// The index.
    pub const INDEX: &str = "index.bin";
    /// The vectors of all tokens, if mentions are scored by Sum-of-Max.
    pub const TOKEN_VECTORS: &str = "token_vectors.bin";
    /// The concepts.
    pub const CONCEPTS: &str = "concepts.bin";
    /// The names to be found in raw text.
    pub const DICTIONARY: &str = "dictionary.bin";
    /// Licences in full, if the knowledge base brings them.
    pub const LICENCES: &str = "LICENSES.md";

    /// Whether a name can only mean a file of the bundle's own folder: ASCII letters, digits, `_`, `-` and `.`, not `.` first.
    pub fn is_plain(name: &str) -> bool {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
    }
}

const FORMAT: Format = Format { magic: b"PELBUNDL", version: FORMAT_VERSION, name: "bundle" };

/// The files of a bundle, by name.
#[derive(Clone, Debug, Default)]
pub struct Parts(pub BTreeMap<String, Bytes>);

impl Parts {
    /// Takes a bundle apart that is one file. The manifest's checksum is compared here, those of the other files when the bundle is
    /// read ([`Bundle::read`]): the manifest has them.
    ///
    /// # Errors
    /// If it is no bundle, of another version, cut short or extended, or its manifest has been altered.
    pub fn from_one_file(bytes: &Bytes) -> Result<Self> {
        let container = Container::<Vec<String>>::read(FORMAT, bytes, Check::Trusted)?;
        container.verify(names::MANIFEST)?;
        if let Some(name) = container.names().find(|name| !names::is_plain(name)) {
            return Err(Error::artifact(format!(
                "the bundle holds a file of the name {name:?}, which is no plain name"
            )));
        }
        if !container.fields.iter().map(String::as_str).eq(container.names()) {
            return Err(Error::artifact("the bundle's header does not list the files that it holds"));
        }
        let parts = container.fields.iter().map(|name| Ok((name.clone(), container.section(name)?)));
        Ok(Self(parts.collect::<Result<_>>()?))
    }

    /// All files in one.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn to_one_file(&self) -> Result<Vec<u8>> {
        let sections: Vec<(&str, &[u8])> = self.0.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
        container::write(FORMAT, &self.0.keys().collect::<Vec<_>>(), &sections)
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// If the bundle lacks it.
    pub fn get(&self, name: &str) -> Result<&Bytes> {
        self.0.get(name).ok_or_else(|| Error::artifact(format!("the bundle has no `{name}`")))
    }

    /// Builds the encoder on a device; if it is tied, one tower reads both sides.
    ///
    /// # Errors
    /// If its files are missing or do not fit together.
    pub fn encoder(&self, tokens: &Tokens, info: &EncoderInfo, device: &Device) -> Result<Encoder> {
        let tower = |config, weights, projection: &str| -> Result<TowerBytes<'_>> {
            let projection = self.0.get(projection).map(|bytes| &bytes[..]);
            Ok(TowerBytes { config: self.get(config)?, weights: self.get(weights)?, projection })
        };
        let mention = tower(names::CONFIG, names::WEIGHTS, names::PROJECTION)?;
        let entity = match info.tied {
            true => None,
            false => Some(tower(names::ENTITY_CONFIG, names::ENTITY_WEIGHTS, names::ENTITY_PROJECTION)?),
        };
        Encoder::new(mention, entity, tokens, info.reduction, device)
    }

    /// The manifest entries of all files but the manifest.
    pub fn file_infos(&self) -> BTreeMap<String, FileInfo> {
        let info =
            |bytes: &Bytes| FileInfo { bytes: bytes.len() as u64, blake3: blake3::hash(bytes).to_hex().to_string() };
        let others = self.0.iter().filter(|(name, _)| *name != names::MANIFEST);
        others.map(|(name, bytes)| (name.clone(), info(bytes))).collect()
    }
}

/// A bundle that has been read and checked; its encoder is built by [`Bundle::encoder`] on a device.
pub struct Bundle {
    /// What it says of itself.
    pub manifest: Manifest,
    /// The tokenizer.
    pub tokens: Tokens,
    /// The vectors.
    pub index: Index,
    /// Those of all tokens, if mentions are scored by Sum-of-Max.
    pub token_vectors: Option<TokenStore>,
    /// The concepts.
    pub concepts: ConceptTable,
    /// The names.
    pub dictionary: Dictionary,
    parts: Parts,
}

/// Mentions that are looked at before a place, for one that overlaps it.
const BESIDE: usize = 32;

impl Bundle {
    /// The mentions in a text, by start, then end: those of the dictionary, and short forms that the text defines by a name
    /// of the dictionary.
    pub fn detect(&self, text: &str, options: &DetectOptions) -> Vec<Detected> {
        let mut detected = self.dictionary.detect(text, options);
        if !self.manifest.view.abbreviations {
            return detected;
        }
        let abbreviations = Abbreviations::of(text);
        let mut named: Vec<Span> = Vec::new();
        for (span, long) in abbreviations.all() {
            let whole = Detected::new(span, Origin::Name);
            // A mention in pieces may end after later ones.
            let to = detected.partition_point(|found| found.span.start < span.end);
            let mut beside = detected[..to].iter().rev().take(BESIDE);
            let taken =
                !options.overlapping && beside.any(|found| found.origin == Origin::Name && found.overlaps(&whole));
            if !taken && !self.dictionary.lookup_mention(long).is_empty() {
                named.push(span);
            }
        }
        detected.retain(|found| {
            let beside = named.get(named.partition_point(|span| span.end <= found.span.start));
            found.origin == Origin::Name || beside.is_none_or(|span| !span.overlaps(&found.span))
        });
        detected.extend(named.into_iter().map(|span| Detected::new(span, Origin::Name)));
        detected.sort_unstable();
        detected.dedup();
        detected
    }

    /// Reads a bundle, comparing every file with the manifest.
    ///
    /// # Errors
    /// If a file is missing, spare, cut short, altered, or does not fit the others; the error names it.
    pub fn read(parts: Parts) -> Result<Self> {
        let manifest = Manifest::from_bytes(parts.get(names::MANIFEST)?)?;
        for (name, info) in &manifest.files {
            let bytes = parts.get(name)?;
            if bytes.len() as u64 != info.bytes {
                let (expected, found) = (info.bytes, bytes.len());
                return Err(Error::artifact(format!(
                    "`{name}` has been cut or extended: expected {expected} bytes, found {found}"
                )));
            }
            if blake3::hash(bytes).to_hex().as_str() != info.blake3 {
                return Err(Error::artifact(format!(
                    "`{name}` has been altered: its checksum differs from the manifest's"
                )));
            }
        }
        if let Some(spare) = parts.0.keys().find(|name| *name != names::MANIFEST && !manifest.files.contains_key(*name))
        {
            return Err(Error::artifact(format!("`{spare}` is not in the manifest")));
        }
        // The manifest's checksums cover the files whole, so that their own need not be computed again.
        let read = |name: &str| parts.get(name);
        let tokens = Tokens::from_bytes(read(names::TOKENIZER)?)?;
        let mut index = Index::from_bytes(read(names::INDEX)?, Check::Trusted)?;
        let concepts = ConceptTable::from_bytes(read(names::CONCEPTS)?, Check::Trusted)?;
        let dictionary = Dictionary::read(read(names::DICTIONARY)?, Check::Trusted)?.among(concepts.len())?;
        if *index.info() != manifest.index {
            return Err(Error::artifact("the index is not the one that the manifest describes"));
        }
        if let Some(last) = index.last_concept().filter(|last| last.index() >= concepts.len()) {
            let (last, count) = (last.index(), concepts.len());
            return Err(Error::artifact(format!("the index names concept {last}, the concept table has {count}")));
        }
        if manifest.kb.concepts != concepts.len() {
            let (expected, found) = (manifest.kb.concepts, concepts.len());
            return Err(Error::artifact(format!(
                "the concept table has {found} concepts, the manifest says {expected}"
            )));
        }
        view_fits(&manifest, &parts)?;
        let Manifest { view, encoder, nil, .. } = &manifest;
        let values = nil.model.as_ref().map_or(0, |model| model.vector.len());
        if values > 0 && values != manifest.index.dim {
            let (name, dim) = (names::MANIFEST, manifest.index.dim);
            return Err(Error::artifact(format!("{name}: `nil.model.vector`: expected {dim} values, found {values}")));
        }
        view.check_mix()
            .and_then(|()| view.check_spelling(encoder.reduction.score))
            .context(|| names::MANIFEST.to_owned())?;
        let mut token_vectors = token_vectors(&manifest, &parts, &index).context(|| names::TOKEN_VECTORS.to_owned())?;
        if manifest.view.mix > 0.0 {
            index.set_mix(manifest.view.mix);
            token_vectors.iter_mut().for_each(|store| store.set_mix(manifest.view.mix));
        }
        Ok(Self { manifest, tokens, index, token_vectors, concepts, dictionary, parts })
    }

    /// How it is searched unless another way is asked for: by what it holds.
    pub fn scorer(&self) -> Scorer {
        if self.token_vectors.is_some() { Scorer::SumOfMax } else { Scorer::Dual }
    }

    /// Builds the encoder on a device.
    ///
    /// # Errors
    /// If its files do not fit together, or its vectors are not as long as the index's.
    pub fn encoder(&self, device: &Device) -> Result<Encoder> {
        let encoder = self.parts.encoder(&self.tokens, &self.manifest.encoder, device)?;
        let (found, expected) = (encoder.dim(), self.index.info().dim);
        if found != expected {
            return Err(Error::artifact(format!("the encoder gives {found} values, the index has {expected}")));
        }
        Ok(encoder)
    }

    /// The files that the bundle was read from.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }
}

/// Checks that the encoder reads windows as long as the manifest's.
fn view_fits(manifest: &Manifest, parts: &Parts) -> Result<()> {
    let towers: &[&str] = if manifest.encoder.tied { &[names::CONFIG] } else { &[names::CONFIG, names::ENTITY_CONFIG] };
    for name in towers {
        let config = BertConfig::from_bytes(parts.get(name)?)?;
        manifest.view.check_windows(config.max_position_embeddings).context(|| names::MANIFEST.to_owned())?;
    }
    Ok(())
}

/// The token vectors that a manifest describes, checked against the index.
fn token_vectors(manifest: &Manifest, parts: &Parts, index: &Index) -> Result<Option<TokenStore>> {
    let Some(info) = &manifest.token_vectors else {
        return match manifest.files.contains_key(names::TOKEN_VECTORS) {
            true => Err(Error::artifact("the manifest lists the file and does not describe it")),
            false => Ok(None),
        };
    };
    let store = TokenStore::from_bytes(parts.get(names::TOKEN_VECTORS)?, Check::Trusted)?;
    if store.info() != info {
        return Err(Error::artifact(format!(
            "expected what the manifest describes, {info:?}, found {:?}",
            store.info()
        )));
    }
    store.check_beside(index)?;
    Ok(Some(store))
}
