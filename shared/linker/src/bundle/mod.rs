//! The bundle: manifest, encoder, tokenizer, index, concepts, dictionary and NIL policy.
//!
//! A bundle is a folder of files, or one file with the same files in it.

mod builder;
mod codes;
mod encoders;
mod hierarchy;
mod kept_index;
mod manifest;
mod queries;
mod trained;
mod update;

pub use builder::{BuiltBundle, BundleBuilder, ConceptRows, TokenizedBundle, TruncatedTexts};
pub use encoders::Encoders;
pub use kept_index::KeptIndex;
pub use manifest::{
    EncoderInfo, FORMAT_WITH_CONCEPT_MAP, FORMAT_WITH_EVERY_NAME, FORMAT_WITH_UNKNOWN_WORDS,
    FileInfo, KbInfo, Manifest, NEWEST_FORMAT, OLDEST_FORMAT,
};
pub use queries::Queries;
pub use trained::TrainedConcepts;
pub use update::{BundleUpdate, ConceptOrigin, UpdatedBundle, UpdatedRows};

use burn::tensor::Device;
use bytes::Bytes;
use pel_index::{ConceptMap, Index, TokenStore};
use pel_kb::codes::CodeTable;
use pel_kb::container;
use pel_kb::container::{Check, Container, Format};
use pel_kb::error::{Context, Error, Result};
use pel_kb::hierarchy::Hierarchy;
use pel_kb::redirects::{Redirect, Redirects, no_successor};
use pel_kb::score::Scorer;
use pel_kb::table::ConceptTable;
use pel_kb::{ConceptId, KnowledgeBase};
use pel_model::config::BertConfig;
use pel_model::detector::Detector;
use pel_model::encode::Encoder;
use pel_model::tokens::Tokens;
use pel_model::tower::TowerBytes;
use pel_text::detect::Dictionary;
use pel_text::wordings::Wordings;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

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
    /// The configuration of the entity tower, if the towers are not tied.
    pub const ENTITY_CONFIG: &str = "entity.config.json";
    /// The weights of the entity tower, if the towers are not tied.
    pub const ENTITY_WEIGHTS: &str = "entity.model.safetensors";
    /// The projection of the entity tower, if it has one.
    pub const ENTITY_PROJECTION: &str = "entity.projection.safetensors";
    /// The index.
    pub const INDEX: &str = "index.bin";
    /// The concepts of the index's rows, if the index was kept while concepts were renamed or merged.
    pub const INDEX_CONCEPTS: &str = "index.concepts.bin";
    /// The token vectors, if mentions are scored by Sum-of-Max.
    pub const TOKEN_VECTORS: &str = "token_vectors.bin";
    /// The concepts.
    pub const CONCEPTS: &str = "concepts.bin";
    /// The dictionary of names for detection.
    pub const DICTIONARY: &str = "dictionary.bin";
    /// The configuration of the detector's encoder, if there is a detector.
    pub const DETECTOR_CONFIG: &str = "detector.config.json";
    /// The weights of the detector, if there is one.
    pub const DETECTOR_WEIGHTS: &str = "detector.safetensors";
    /// The full text of the licences, if the knowledge base has it.
    pub const LICENCES: &str = "LICENSES.md";

    /// The model card, in Markdown, if the bundle has one: intended use, data, errors.
    pub const MODEL_CARD: &str = "MODEL_CARD.md";

    /// The retired identifiers and their successors, if there are any.
    pub const REDIRECTS: &str = "redirects.tsv";

    /// The codes of the concepts in standard code systems, if there are any.
    pub const CODES: &str = "codes.bin";

    /// Is-a between the concepts and codes of standard systems, if it is known.
    pub const HIERARCHY: &str = "hierarchy.bin";

    /// The notice of LOINC, if one of the codes is of LOINC.
    pub const LOINC_NOTICE: &str = "codes.loinc.txt";

    /// The identifiers of the concepts whose mentions the encoder was trained on, if it is known.
    pub const TRAINED: &str = "trained.txt";

    /// Whether a name is that of a file in the bundle's folder: ASCII letters, digits, `_`, `-` and
    /// `.`, without a leading `.`.
    pub fn is_plain(name: &str) -> bool {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
    }
}

/// The format of a bundle that is one file; that of the files in it is in the manifest.
const FORMAT: Format = Format {
    magic: b"PELBUNDL",
    version: 1,
    name: "bundle",
};

/// The files of a bundle, by name.
#[derive(Clone, Debug, Default)]
pub struct Parts(pub BTreeMap<String, Bytes>);

impl Parts {
    /// The files of a bundle that is one file. The checksum of the manifest is compared here, those
    /// of the other files in [`Bundle::read`], because the manifest has them.
    ///
    /// # Errors
    /// If the bytes are no bundle, of another version, truncated or extended, or the manifest was
    /// altered.
    pub fn from_one_file(bytes: &Bytes) -> Result<Self> {
        let container = Container::<Vec<String>>::read(FORMAT, bytes, Check::Trusted)?;
        container.verify(names::MANIFEST)?;
        if let Some(name) = container.names().find(|name| !names::is_plain(name)) {
            return Err(Error::artifact(format!(
                "expected file names of letters, digits, `_`, `-` and `.` in the bundle, found \
                 {name:?}"
            )));
        }
        if !container
            .fields
            .iter()
            .map(String::as_str)
            .eq(container.names())
        {
            return Err(Error::artifact(
                "expected the files that the bundle's header lists, found others",
            ));
        }
        let parts = container
            .fields
            .iter()
            .map(|name| Ok((name.clone(), container.section(name)?)));
        Ok(Self(parts.collect::<Result<_>>()?))
    }

    /// The bundle as one file.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn to_one_file(&self) -> Result<Vec<u8>> {
        container::write(FORMAT, &self.0.keys().collect::<Vec<_>>(), &self.sections())
    }

    /// As [`Parts::to_one_file`], piece by piece.
    ///
    /// # Errors
    /// As [`Parts::to_one_file`], or if `put` fails.
    pub fn write_one_file(&self, put: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let names: Vec<&String> = self.0.keys().collect();
        container::write_to(FORMAT, &names, &self.sections(), put)
    }

    /// The names and bytes of all files.
    fn sections(&self) -> Vec<(&str, &[u8])> {
        let files = self.0.iter();
        files
            .map(|(name, bytes)| (name.as_str(), &bytes[..]))
            .collect()
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// If the bundle lacks it.
    pub fn get(&self, name: &str) -> Result<&Bytes> {
        self.0
            .get(name)
            .ok_or_else(|| Error::artifact(format!("the bundle has no `{name}`")))
    }

    /// Builds the encoder on a device. With tied towers, one tower reads both sides.
    ///
    /// # Errors
    /// If its files are missing or do not fit together.
    pub fn encoder(&self, tokens: &Tokens, info: &EncoderInfo, device: &Device) -> Result<Encoder> {
        let tower = |config, weights, projection: &str| -> Result<TowerBytes<'_>> {
            let projection = self.0.get(projection).map(|bytes| &bytes[..]);
            Ok(TowerBytes {
                config: self.get(config)?,
                weights: self.get(weights)?,
                projection,
            })
        };
        let mention = tower(names::CONFIG, names::WEIGHTS, names::PROJECTION)?;
        let entity = match info.tied {
            true => None,
            false => Some(tower(
                names::ENTITY_CONFIG,
                names::ENTITY_WEIGHTS,
                names::ENTITY_PROJECTION,
            )?),
        };
        Encoder::new(mention, entity, tokens, info.reduction, device)
    }

    /// The manifest entries of all files but the manifest.
    pub fn file_infos(&self) -> BTreeMap<String, FileInfo> {
        let info = |bytes: &Bytes| FileInfo {
            bytes: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
        };
        let others = self.0.iter().filter(|(name, _)| *name != names::MANIFEST);
        others
            .map(|(name, bytes)| (name.clone(), info(bytes)))
            .collect()
    }
}

/// A bundle that was read and checked. [`Linker::new`](crate::Linker::new) builds its
/// encoder on a device.
pub struct Bundle {
    /// The manifest.
    pub manifest: Manifest,
    /// The tokenizer.
    pub tokens: Tokens,
    /// The index of vectors.
    pub index: Index,
    /// The token vectors, if mentions are scored by Sum-of-Max.
    pub token_vectors: Option<TokenStore>,
    /// The concepts.
    pub concepts: ConceptTable,
    /// The dictionary of names.
    pub dictionary: Dictionary,
    /// The retired identifiers, if the bundle has any.
    pub redirects: Option<Redirects>,
    /// The codes of the concepts, if the bundle has any.
    pub codes: Option<CodeTable>,
    /// The hierarchy, when it has been read.
    hierarchy: OnceLock<Hierarchy>,
    /// The detector of mentions, if the bundle has one.
    pub detector: Option<Detector>,
    /// Wordings in place of those of English.
    wordings: Option<Wordings>,
    parts: Parts,
}

/// The files whose checksums are compared with the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Every file.
    Everything,
    /// Every file of at most [`LARGE_FILE`] bytes. Of a larger one the length and the checksum of
    /// its header are compared, and its structure is checked. A file of a gigabyte takes half a
    /// second to compare, and most of its pages are never needed.
    AllButLargeFiles,
}

/// The bytes above which a file is large.
pub const LARGE_FILE: u64 = 64 << 20;

/// What an identifier stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// A concept.
    Concept(ConceptId),
    /// A retired identifier with a successor.
    Redirected {
        /// The successor.
        concept: ConceptId,
        /// The redirect to it.
        redirect: Redirect,
    },
    /// A retired identifier without a successor.
    Retired(Redirect),
    /// An unknown identifier.
    Unknown,
}

impl Resolved {
    /// The concept, or the successor of a retired identifier.
    pub fn concept(&self) -> Option<ConceptId> {
        match self {
            Self::Concept(concept) | Self::Redirected { concept, .. } => Some(*concept),
            Self::Retired(_) | Self::Unknown => None,
        }
    }

    /// The redirect of a retired identifier.
    pub fn redirect(&self) -> Option<&Redirect> {
        match self {
            Self::Redirected { redirect, .. } | Self::Retired(redirect) => Some(redirect),
            Self::Concept(_) | Self::Unknown => None,
        }
    }
}

impl Bundle {
    /// Reads a bundle and compares every file with the manifest.
    ///
    /// # Errors
    /// If a file is missing, not in the manifest, truncated, altered, or inconsistent with the
    /// others. The message names it.
    pub fn read(parts: Parts) -> Result<Self> {
        Self::read_with(parts, Compared::Everything)
    }

    /// As [`Bundle::read`], with a choice of what is compared.
    ///
    /// # Errors
    /// As [`Bundle::read`], as far as it is compared.
    pub fn read_with(parts: Parts, compared: Compared) -> Result<Self> {
        let manifest = Manifest::from_bytes(parts.get(names::MANIFEST)?)?;
        compare_files(&manifest, &parts, compared)?;
        // The manifest's checksums cover whole files, so their own checksums need not be compared.
        let read = |name: &str| parts.get(name);
        let tokens = Tokens::from_bytes(read(names::TOKENIZER)?)?;
        let mut index = Index::from_bytes(read(names::INDEX)?, Check::Trusted)?;
        let concepts = ConceptTable::from_bytes(read(names::CONCEPTS)?, Check::Trusted)?;
        let dictionary =
            Dictionary::read(read(names::DICTIONARY)?, Check::Trusted)?.among(concepts.len())?;
        if *index.info() != manifest.index {
            return Err(Error::artifact(
                "the index is not the one that the manifest describes",
            ));
        }
        let map = kept_index::read_map(&manifest, &parts, concepts.len())?.map(Arc::new);
        fit_concepts(&mut index, map.as_ref(), concepts.len())?;
        if manifest.kb.concepts != concepts.len() {
            let (expected, found) = (manifest.kb.concepts, concepts.len());
            return Err(Error::artifact(format!(
                "the concept table has {found} concepts, the manifest says {expected}"
            )));
        }
        let redirects = match manifest.files.contains_key(names::REDIRECTS) {
            true => Some(
                Redirects::from_bytes(read(names::REDIRECTS)?.clone())
                    .context(|| names::REDIRECTS.to_owned())?,
            ),
            false => None,
        };
        let codes =
            codes::read(&manifest, &parts, concepts.len()).context(|| names::CODES.to_owned())?;
        view_fits(&manifest, &parts)?;
        let Manifest { view, encoder, .. } = &manifest;
        view.check_mix()
            .and_then(|()| view.check_spelling(encoder.reduction.score))
            .context(|| names::MANIFEST.to_owned())?;
        let mut token_vectors =
            token_vectors(&manifest, &parts, &index).context(|| names::TOKEN_VECTORS.to_owned())?;
        if let (Some(store), Some(map)) = (&mut token_vectors, map) {
            store.set_concepts(map);
        }
        fit_mix(&mut index, token_vectors.as_mut(), manifest.view.mix)?;
        let detector = detector(&manifest, &parts)?;
        Ok(Self {
            manifest,
            tokens,
            index,
            token_vectors,
            concepts,
            dictionary,
            redirects,
            codes,
            hierarchy: OnceLock::new(),
            detector,
            wordings: None,
            parts,
        })
    }

    /// What an identifier stands for, after retired identifiers were followed to their successors.
    ///
    /// # Errors
    /// As [`ConceptTable::find`]; if a redirect is damaged, or its successor is no concept.
    pub fn resolve(&self, id: &str) -> Result<Resolved> {
        if let Some(concept) = self.concepts.find(id)? {
            return Ok(Resolved::Concept(concept));
        }
        let redirect = match &self.redirects {
            None => None,
            Some(redirects) => redirects.find(id).context(|| names::REDIRECTS.to_owned())?,
        };
        let Some(redirect) = redirect else {
            return Ok(Resolved::Unknown);
        };
        let Some(successor) = &redirect.replaced_by else {
            return Ok(Resolved::Retired(redirect));
        };
        match self.concepts.find(successor)? {
            Some(concept) => Ok(Resolved::Redirected { concept, redirect }),
            None => Err(no_successor(id, successor).context(names::REDIRECTS)),
        }
    }

    /// All concepts, with the redirects.
    ///
    /// # Errors
    /// If a record is damaged.
    pub fn knowledge_base(&self) -> Result<KnowledgeBase> {
        let mut kb = self.concepts.to_knowledge_base()?;
        kb.set_redirects(self.redirects.clone());
        Ok(kb)
    }

    /// The concepts whose mentions the encoder was trained on; `None` if it is unknown.
    ///
    /// # Errors
    /// If the file of them is damaged.
    pub fn trained_concepts(&self) -> Result<Option<TrainedConcepts>> {
        let file = self.parts.0.get(names::TRAINED);
        file.map(|bytes| TrainedConcepts::from_bytes(bytes))
            .transpose()
            .context(|| names::TRAINED.to_owned())
    }

    /// The wordings that stand for names: those of English, or those that were set. They are in no
    /// file of the bundle.
    pub fn wordings(&self) -> &Wordings {
        match &self.wordings {
            Some(own) => own,
            None => Wordings::english(),
        }
    }

    /// Sets the wordings, in place of those of English.
    pub fn set_wordings(&mut self, wordings: Wordings) {
        self.wordings = Some(wordings);
    }

    /// The scorer that the bundle was built for: Sum-of-Max if it has token vectors.
    pub fn scorer(&self) -> Scorer {
        self.manifest.scorer()
    }

    /// Builds the encoder on a device.
    ///
    /// # Errors
    /// If its files do not fit together, or its vectors are not as long as the index's.
    pub fn encoder(&self, device: &Device) -> Result<Encoder> {
        let encoder = self
            .parts
            .encoder(&self.tokens, &self.manifest.encoder, device)?;
        let (found, expected) = (encoder.dim(), self.index.info().dim);
        if found != expected {
            return Err(Error::artifact(format!(
                "the encoder gives {found} values, the index has {expected}"
            )));
        }
        Ok(encoder)
    }

    /// The files of the bundle.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }
}

/// Compares a file with its entry in the manifest.
fn compare(name: &str, bytes: &Bytes, info: &FileInfo, compared: Compared) -> Result<()> {
    if bytes.len() as u64 != info.bytes {
        let (expected, found) = (info.bytes, bytes.len());
        return Err(Error::artifact(format!(
            "`{name}` has been cut or extended: expected {expected} bytes, found {found}"
        )));
    }
    if compared == Compared::AllButLargeFiles && info.bytes > LARGE_FILE {
        return Ok(());
    }
    if blake3::hash(bytes).to_hex().as_str() != info.blake3 {
        return Err(Error::artifact(format!(
            "`{name}` has been altered: its checksum differs from the manifest's"
        )));
    }
    Ok(())
}

/// Checks that the windows of the manifest are not longer than those of the encoder.
fn view_fits(manifest: &Manifest, parts: &Parts) -> Result<()> {
    let towers: &[&str] = if manifest.encoder.tied {
        &[names::CONFIG]
    } else {
        &[names::CONFIG, names::ENTITY_CONFIG]
    };
    for name in towers {
        let config = BertConfig::from_bytes(parts.get(name)?)?;
        manifest
            .view
            .check_windows(config.max_position_embeddings)
            .context(|| names::MANIFEST.to_owned())?;
    }
    Ok(())
}

/// The token vectors that a manifest describes, checked against the index.
fn token_vectors(manifest: &Manifest, parts: &Parts, index: &Index) -> Result<Option<TokenStore>> {
    let Some(info) = &manifest.token_vectors else {
        return match manifest.files.contains_key(names::TOKEN_VECTORS) {
            true => Err(Error::artifact(
                "the manifest lists the file and does not describe it",
            )),
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

/// Compares the files of a bundle with the manifest.
fn compare_files(manifest: &Manifest, parts: &Parts, compared: Compared) -> Result<()> {
    let files: Vec<(&String, &FileInfo)> = manifest.files.iter().collect();
    let results = pel_kernels::for_each_chunk(&files, 1, |_, files| {
        files
            .iter()
            .try_for_each(|(name, info)| compare(name, parts.get(name)?, info, compared))
    });
    results.into_iter().collect::<Result<()>>()?;
    let is_spare = |name: &&String| *name != names::MANIFEST && !manifest.files.contains_key(*name);
    match parts.0.keys().find(is_spare) {
        Some(spare) => Err(Error::artifact(format!("`{spare}` is not in the manifest"))),
        None => Ok(()),
    }
}

/// Gives the rows of an index their concepts: by a map, or as they stand if the table has them all.
fn fit_concepts(index: &mut Index, map: Option<&Arc<ConceptMap>>, count: usize) -> Result<()> {
    match (map, index.last_concept()) {
        (Some(map), _) => index
            .set_concepts(Arc::clone(map))
            .context(|| names::INDEX_CONCEPTS.to_owned()),
        (None, Some(last)) if last.index() >= count => {
            let last = last.index();
            Err(Error::artifact(format!(
                "the index names concept {last}, the concept table has {count}"
            )))
        }
        (None, _) => Ok(()),
    }
}

/// Sets the weight of the template, unless the rows of the index hold it already.
fn fit_mix(index: &mut Index, token_vectors: Option<&mut TokenStore>, mix: f32) -> Result<()> {
    let mixed = index.info().mixed;
    if mixed > 0.0 && mixed != mix {
        return Err(Error::artifact(format!(
            "the rows of the index hold the template with the weight {mixed}, `view.mix` of the \
             manifest is {mix}"
        )));
    }
    if mix > 0.0 && mixed == 0.0 {
        index.set_mix(mix);
        if let Some(store) = token_vectors {
            store.set_mix(mix);
        }
    }
    Ok(())
}

/// Builds the detector of a bundle.
fn detector(manifest: &Manifest, parts: &Parts) -> Result<Option<Detector>> {
    let Some(info) = &manifest.detector else {
        return Ok(None);
    };
    let detector = Detector::from_bytes(
        info.clone(),
        parts.get(names::DETECTOR_CONFIG)?,
        parts.get(names::DETECTOR_WEIGHTS)?,
        parts.get(names::WEIGHTS)?,
    );
    detector
        .map(Some)
        .context(|| names::DETECTOR_WEIGHTS.to_owned())
}
