//! Updates a bundle to another version of its knowledge base, encoding only new texts.
//!
//! Stored codes are copied, because quantising a stored vector again can give other codes. Vectors
//! do not depend on their batch, so the files have the bytes of a bundle that is built from the
//! start.

use super::builder::{insert_concepts, quantise};

use super::manifest::WRITTEN_BY;
use super::{Bundle, KbInfo, Manifest, Parts, Queries, codes, hierarchy, names};
use burn::tensor::Device;
use bytes::Bytes;
use pel_index::{
    GraphUpdate, IndexInfo, Precision, RowSource, TokenStore, TokenStoreBuilder, UpdatedIndex,
    mixed_rows,
};
use pel_kb::codes::CodeList;
use pel_kb::container::Check;
use pel_kb::error::{Context, Error, Result};
use pel_kb::hierarchy::HierarchyList;
use pel_kb::redirects::Redirect;
use pel_kb::score::Scorer;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_model::encode::Encoder;
use pel_model::layer;
use pel_model::tokens::Encoded;
use std::collections::{HashMap, HashSet};

/// The source of a concept of the new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConceptOrigin {
    /// The old version has the identifier, with the same texts.
    Same(ConceptId),
    /// The old version has the identifier, with other texts.
    Changed(ConceptId),
    /// The old version lacks the identifier.
    New,
}

impl ConceptOrigin {
    /// The position in the old version of a concept that it has.
    pub fn former(self) -> Option<ConceptId> {
        match self {
            Self::Same(at) | Self::Changed(at) => Some(at),
            Self::New => None,
        }
    }

    /// The origin of a concept whose identifier both versions have. Cross-references, sources and
    /// identifiers of types are not part of its texts.
    pub fn of(old: (ConceptId, &Concept), new: &Concept) -> Self {
        let (at, old) = old;
        let texts = |concept: &Concept| {
            let Concept {
                name,
                synonyms,
                types,
                definition,
                ..
            } = concept.clone();
            (name, synonyms, types, definition)
        };
        match texts(old) == texts(new) {
            true => Self::Same(at),
            false => Self::Changed(at),
        }
    }
}

/// An update of a bundle: the rows of its new index, and the texts that have to be encoded.
///
/// [`BundleUpdate::plan`] finds the rows whose tokens have a vector already. The caller encodes
/// [`BundleUpdate::sequences`], and [`BundleUpdate::finish`] writes the files. Vectors are copied
/// in the precision of the index. The result has the bytes of a bundle that is rebuilt with equal
/// vectors for equal tokens. The encoder, its views and the rule for NIL stay.
pub struct BundleUpdate<'a> {
    old: &'a Bundle,
    kb: KnowledgeBase,
    concepts: Vec<ConceptId>,
    sources: Vec<RowSource>,
    sequences: Vec<Encoded>,
    without_rows: Vec<ConceptId>,
    codes: CodeList,
    hierarchy: HierarchyList,
}

/// The number of rows of an updated index by their source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdatedRows {
    /// Rows with a vector of the old index.
    pub reused: usize,
    /// Rows that were encoded.
    pub encoded: usize,
    /// The different texts that were encoded.
    pub texts: usize,
}

/// A bundle that was updated.
#[non_exhaustive]
pub struct UpdatedBundle {
    /// All files, the manifest among them.
    pub parts: Parts,
    /// The manifest.
    pub manifest: Manifest,
    /// Concepts that are not indexed: all their names are empty after normalisation.
    pub without_rows: Vec<ConceptId>,
    /// The rows by their source.
    pub rows: UpdatedRows,
}

/// The token sequences of rows of the old index.
struct KnownRows<'a> {
    old: &'a Bundle,
    rows: HashMap<Encoded, usize>,
    /// The concepts whose rows are in `rows`.
    read: HashSet<ConceptId>,
}

impl KnownRows<'_> {
    /// Adds the rows of a concept. Nothing is added if its tokens give other rows than the index
    /// has, which another version of the tokenizer's code may cause.
    fn read(&mut self, concept: ConceptId) -> Result<()> {
        if !self.read.insert(concept) || is_stale(self.old, concept) {
            return Ok(());
        }
        let view = &self.old.manifest.view;
        let sequences = view.rows(&self.old.tokens, &self.old.concepts.get(concept)?)?;
        let rows: Vec<usize> = self.old.index.rows_of(concept).collect();
        if rows.len() == sequences.len() {
            for (sequence, row) in sequences.into_iter().zip(rows) {
                self.rows.entry(sequence).or_insert(row);
            }
        }
        Ok(())
    }

    /// Adds the rows of all concepts with one of these names.
    fn read_named<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<()> {
        for name in names {
            for concept in self.old.dictionary.lookup(name) {
                self.read(concept)?;
            }
        }
        Ok(())
    }
}

/// The hierarchy of a bundle between the concepts that a new version has.
fn kept_hierarchy(old: &Bundle, origins: &[ConceptOrigin]) -> Result<HierarchyList> {
    let Some(hierarchy) = old.hierarchy()? else {
        return Ok(HierarchyList::new());
    };
    let mut now = vec![None; old.concepts.len()];
    for (at, origin) in (0..).map(ConceptId).zip(origins) {
        if let Some(place) = origin
            .former()
            .and_then(|former| now.get_mut(former.index()))
        {
            *place = Some(at);
        }
    }
    hierarchy.kept(|former| now.get(former.index()).copied()?)
}

/// Whether the rows of a concept are not of its texts, because the index was kept while it was
/// renamed.
fn is_stale(bundle: &Bundle, concept: ConceptId) -> bool {
    let map = bundle.index.concept_map();
    map.is_some_and(|map| map.is_stale(concept))
}

impl<'a> BundleUpdate<'a> {
    /// Plans the rows of the new version. `origins` has the origin of each concept, `retired` the
    /// concepts that only the old version has. `tick` is called after each concept. Its error stops
    /// the work.
    ///
    /// Rows of concepts with the same texts are taken as they are, so the cost of tokenization is
    /// proportional to the change.
    ///
    /// # Errors
    /// If a concept cannot be tokenized or is damaged, or no concept has a row.
    ///
    /// # Panics
    /// If there is not one origin for each concept.
    pub fn plan(
        old: &'a Bundle,
        kb: KnowledgeBase,
        origins: &[ConceptOrigin],
        retired: &[ConceptId],
        mut tick: impl FnMut() -> Result<()>,
    ) -> Result<Self> {
        assert_eq!(kb.len(), origins.len(), "one origin for each concept");
        let mut known = KnownRows {
            old,
            rows: HashMap::new(),
            read: HashSet::new(),
        };
        let changed = origins.iter().filter_map(|origin| match origin {
            ConceptOrigin::Changed(old) => Some(*old),
            ConceptOrigin::Same(_) | ConceptOrigin::New => None,
        });
        let mixed = old.index.info().mixed > 0.0;
        if !mixed {
            // Merged concepts bring their names to others.
            for concept in changed.chain(retired.iter().copied()) {
                known.read(concept)?;
            }
        }
        let (mut concepts, mut sources, mut without_rows) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sequences, mut numbers) = (Vec::new(), HashMap::new());
        for ((id, concept), origin) in kb.iter().zip(origins) {
            let before = sources.len();
            if let ConceptOrigin::Same(at) = origin
                && !is_stale(old, *at)
            {
                sources.extend(old.index.rows_of(*at).map(RowSource::Old));
            } else {
                let rows = old
                    .manifest
                    .view
                    .rows(&old.tokens, concept)
                    .context(|| format!("the concept {}", concept.id))?;
                // A mixed row depends on all texts of its concept.
                if !mixed && rows.iter().any(|row| !known.rows.contains_key(row)) {
                    known.read_named(concept.names())?;
                }
                for row in rows {
                    sources.push(match known.rows.get(&row) {
                        Some(old) => RowSource::Old(*old),
                        None => {
                            let next = sequences.len();
                            let number = *numbers.entry(row.clone()).or_insert(next);
                            if number == next {
                                sequences.push(row);
                            }
                            RowSource::New(number)
                        }
                    });
                }
            }
            if sources.len() == before {
                without_rows.push(id);
            }
            concepts.resize(sources.len(), id);
            tick()?;
        }
        if sources.is_empty() {
            return Err(Error::input(
                "no concept can be indexed: every name is empty after normalisation",
            ));
        }
        let codes = old.codes.as_ref().map(|codes| {
            let former = origins.iter().map(|origin| origin.former());
            codes.kept(former)
        });
        let hierarchy = kept_hierarchy(old, origins)?;
        Ok(Self {
            old,
            kb,
            concepts,
            sources,
            sequences,
            without_rows,
            codes: codes.unwrap_or_default(),
            hierarchy,
        })
    }

    /// The texts to encode as entities, each once.
    pub fn sequences(&self) -> &[Encoded] {
        &self.sequences
    }

    /// The new version of the knowledge base.
    pub fn kb(&self) -> &KnowledgeBase {
        &self.kb
    }

    /// Sets the codes of the concepts. By default concepts that stay keep the codes that they have.
    pub fn set_codes(&mut self, codes: CodeList) {
        self.codes = codes;
    }

    /// Sets the hierarchy. By default the one of the bundle stays, between concepts that stay.
    pub fn set_hierarchy(&mut self, hierarchy: HierarchyList) {
        self.hierarchy = hierarchy;
    }

    /// The number of rows by their source.
    pub fn rows(&self) -> UpdatedRows {
        let is_old = |source: &&RowSource| matches!(source, RowSource::Old(_));
        let reused = self.sources.iter().filter(is_old).count();
        UpdatedRows {
            reused,
            encoded: self.sources.len() - reused,
            texts: self.sequences.len(),
        }
    }

    /// Builds the encoder for the new texts on a device: the bundle's, or that of the float files
    /// which its int8 weights were quantised from. `precision` is that of its products.
    ///
    /// # Errors
    /// If the files are not those of the bundle's encoder.
    pub fn encoder(
        old: &Bundle,
        floats: Option<&Parts>,
        precision: layer::Precision,
        device: &Device,
    ) -> Result<Encoder> {
        let encoder = match floats {
            None => old.encoder(device)?,
            Some(files) => {
                check_same_encoder(old, files)?;
                files.encoder(&old.tokens, &old.manifest.encoder, device)?
            }
        };
        Ok(match precision {
            layer::Precision::F32 => encoder,
            other => encoder.in_precision(other),
        })
    }

    /// Indexes the rows.
    ///
    /// # Shapes
    /// encoded `[sequences]`
    ///
    /// # Errors
    /// As [`Index::updated`](pel_index::Index::updated).
    pub fn index(&self, encoded: &Queries, graph: GraphUpdate) -> Result<UpdatedIndex> {
        let old = &self.old.index;
        if old.info().mixed == 0.0 {
            return old.updated(&encoded.pooled, &self.sources, &self.concepts, graph);
        }
        let (mut vectors, mut sources) = (Vec::new(), Vec::new());
        let mut concepts = Vec::new();
        let IndexInfo {
            dim,
            mixed,
            distinct,
            ..
        } = *old.info();
        let mut start = 0;
        for own in self.concepts.chunk_by(|a, b| a == b) {
            let rows = &self.sources[start..start + own.len()];
            start += own.len();
            let new: Vec<f32> = rows
                .iter()
                .filter_map(|row| match *row {
                    RowSource::New(at) => Some(&encoded.pooled[at * dim..(at + 1) * dim]),
                    RowSource::Old(_) => None,
                })
                .flatten()
                .copied()
                .collect();
            if new.is_empty() {
                sources.extend_from_slice(rows);
                concepts.extend_from_slice(own);
                continue;
            }
            let rows = mixed_rows(&new, own, dim, mixed, distinct);
            let first = vectors.len() / dim;
            sources.extend((first..first + rows.concepts.len()).map(RowSource::New));
            concepts.extend(rows.concepts);
            vectors.extend(rows.vectors);
        }
        old.updated(&vectors, &sources, &concepts, graph)
    }

    /// Writes the other files of the updated bundle. Files of the encoder are copied.
    ///
    /// # Shapes
    /// encoded `[sequences]`
    ///
    /// # Errors
    /// If a file cannot be encoded.
    pub fn finish(
        self,
        index: UpdatedIndex,
        encoded: &Queries,
        kb_info: KbInfo,
        licence_text: Option<String>,
        redirects: &[Redirect],
    ) -> Result<UpdatedBundle> {
        let before = self.rows();
        // Mixed rows are fewer than the texts that they hold.
        let rows = UpdatedRows {
            encoded: index.info.rows.saturating_sub(before.reused),
            ..before
        };
        let Self {
            old,
            kb,
            concepts,
            sources,
            without_rows,
            codes: code_list,
            hierarchy: parents,
            ..
        } = self;
        let mut parts = old.parts().clone();
        parts.0.remove(names::REDIRECTS);
        parts.0.remove(names::INDEX_CONCEPTS);
        parts.0.insert(names::INDEX.into(), index.bytes);
        insert_concepts(&mut parts, &kb, licence_text, redirects)?;
        codes::insert(&mut parts, &code_list, kb.len())?;
        hierarchy::insert(&mut parts, &parents, kb.len())?;
        let token_vectors = match &old.token_vectors {
            None => None,
            Some(store) => {
                let mut all = TokenStoreBuilder::new(index.info.dim);
                for (concept, source) in concepts.iter().zip(&sources) {
                    match *source {
                        RowSource::Old(row) => all.push_codes(*concept, &store.row(row)),
                        RowSource::New(row) => all.push_codes(*concept, &encoded.tokens[row]),
                    }
                }
                let bytes = Bytes::from(all.finish()?);
                let info = TokenStore::from_bytes(&bytes, Check::Trusted)?
                    .info()
                    .clone();
                parts.0.insert(names::TOKEN_VECTORS.into(), bytes);
                Some(info)
            }
        };
        let manifest = Manifest {
            written_by: WRITTEN_BY.to_owned(),
            kb: kb_info,
            index: index.info,
            token_vectors,
            files: parts.file_infos(),
            ..old.manifest.clone()
        };
        let (manifest, written) = manifest.sealed()?;
        parts.0.insert(names::MANIFEST.into(), written.into());
        Ok(UpdatedBundle {
            parts,
            manifest,
            without_rows,
            rows,
        })
    }

    /// What the new texts are encoded for.
    pub fn scorer(&self) -> Scorer {
        self.old.scorer()
    }
}

/// Checks that files are those of a bundle's encoder: equal, or floats that give its int8 weights.
fn check_same_encoder(old: &Bundle, files: &Parts) -> Result<()> {
    let other = |name: &str| {
        Error::input(format!(
            "the file `{name}` differs from the encoder of the bundle ({}); an update needs that \
             encoder, `pel index` takes another",
            old.manifest.encoder.name
        ))
    };
    let fixed = [
        names::TOKENIZER,
        names::CONFIG,
        names::PROJECTION,
        names::ENTITY_CONFIG,
        names::ENTITY_PROJECTION,
    ];
    for name in fixed {
        if files.0.get(name) != old.parts().0.get(name) {
            return Err(other(name));
        }
    }
    for (config, weights) in [
        (names::CONFIG, names::WEIGHTS),
        (names::ENTITY_CONFIG, names::ENTITY_WEIGHTS),
    ] {
        let own = match (files.0.get(weights), old.manifest.encoder.precision) {
            (Some(floats), Precision::Int8) => {
                Some(quantise(files.get(config)?, floats).context(|| weights.to_owned())?)
            }
            (own, _) => own.cloned(),
        };
        if own.as_ref() != old.parts().0.get(weights) {
            return Err(other(weights));
        }
    }
    Ok(())
}
