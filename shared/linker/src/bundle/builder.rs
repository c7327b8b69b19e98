//! Builds a bundle in memory from concepts and an encoder.

use super::manifest::WRITTEN_BY;
use super::{Bundle, EncoderInfo, KbInfo, Manifest, OLDEST_FORMAT, Parts, Queries, names};
use super::{codes, hierarchy};
use burn::tensor::Device;
use bytes::Bytes;
use pel_index::{
    CellOptions, HnswOptions, Index, IndexInfo, MixedRows, Precision, TokenStore,
    TokenStoreBuilder, TokenStoreInfo, mixed_rows,
};
use pel_kb::codes::CodeList;
use pel_kb::container::Check;
use pel_kb::error::{Context, Error, Result};
use pel_kb::hierarchy::HierarchyList;
use pel_kb::redirects;
use pel_kb::redirects::Redirect;
use pel_kb::score::Scorer;
use pel_kb::table::ConceptTable;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_model::config::BertConfig;
use pel_model::cpu;
use pel_model::detector::DetectorInfo;
use pel_model::encode::{BatchSize, Encoder, SequenceInterner};
use pel_model::layer;
use pel_model::nil::NilPolicy;
use pel_model::tokens::{Encoded, Tokens, View, ViewOptions};
use pel_model::tower::Side;
use pel_text::Span;
use pel_text::detect::Dictionary;

/// Builds a bundle from concepts and the files of an encoder.
///
/// [`BundleBuilder::build`] does all of it. A program that shows progress or saves vectors calls
/// the stages: [`BundleBuilder::tokenize`], then [`Encoder::encode_batches`] over
/// [`ConceptRows::sequences`], then [`TokenizedBundle::spread`], [`TokenizedBundle::index`] and
/// [`TokenizedBundle::finish`].
///
/// # Example
/// ```
/// use pel_linker::bundle::names;
/// use pel_linker::{BundleBuilder, Concept, Device, KnowledgeBase, Linker, Parts};
///
/// let mut kb = KnowledgeBase::new();
/// for (id, name) in [("D1", "fever"), ("D2", "diabetes mellitus"), ("D3", "cough")] {
///     kb.push(Concept { id: id.into(), name: name.into(), ..Concept::default() })?;
/// }
/// let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tiny");
/// let mut files = Parts::default();
/// for name in [names::CONFIG, names::WEIGHTS, names::TOKENIZER] {
///     files.0.insert(name.into(), std::fs::read(format!("{folder}/{name}"))?.into());
/// }
/// let bundle = BundleBuilder::new(kb, files).build(&Device::flex())?;
/// let links = Linker::new(bundle, &Device::flex())?.link("Fever since Monday.")?;
/// assert_eq!(links.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BundleBuilder {
    kb: KnowledgeBase,
    files: Parts,
    encoder: EncoderInfo,
    kb_info: Option<KbInfo>,
    licence_text: Option<String>,
    redirects: Vec<Redirect>,
    codes: CodeList,
    hierarchy: HierarchyList,
    view: ViewOptions,
    precision: Precision,
    scorer: Scorer,
    hnsw: Option<HnswOptions>,
    cells: Option<CellOptions>,
    nil: NilPolicy,
    detector: Option<DetectorInfo>,
    every_name: bool,
    compute_precision: layer::Precision,
}

/// The tokenized concepts of a bundle, with its encoder.
pub struct TokenizedBundle {
    options: BundleBuilder,
    encoder: Encoder,
    rows: ConceptRows,
    token_vectors: Option<TokenStoreInfo>,
    /// The weight of the template in the rows.
    mixed: f32,
    /// As [`IndexInfo::distinct`].
    distinct: Option<f32>,
}

/// A bundle that was built.
#[non_exhaustive]
pub struct BuiltBundle {
    /// All files, the manifest among them.
    pub parts: Parts,
    /// The manifest.
    pub manifest: Manifest,
    /// Concepts that are not indexed: all their names are empty after normalisation.
    pub without_rows: Vec<ConceptId>,
    /// The number of texts, and of those that were truncated to their window.
    pub cut: TruncatedTexts,
}

/// The rows of an index before they are encoded. Equal token sequences are encoded once.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ConceptRows {
    /// The concept of each row, ascending.
    pub concepts: Vec<ConceptId>,
    /// The position of each row's sequence in [`ConceptRows::sequences`].
    pub sequence_of: Vec<usize>,
    /// The different sequences.
    pub sequences: Vec<Encoded>,
    /// Concepts without a row: all their names are empty after normalisation.
    pub without_rows: Vec<ConceptId>,
    /// The number of texts, and of those that were truncated to their window.
    pub cut: TruncatedTexts,
}

/// The number of a knowledge base's texts, and of those that were truncated to their window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TruncatedTexts {
    /// Templates.
    pub templates: usize,
    /// Truncated templates.
    pub templates_cut: usize,
    /// Names, synonyms included.
    pub names: usize,
    /// Truncated names.
    pub names_cut: usize,
}

/// Concepts that are tokenized before their rows are added.
const TOKENIZED: usize = 4096;

/// Concepts that a thread tokenizes at a time.
const TOKENIZED_BY_THREAD: usize = 64;

impl BundleBuilder {
    /// A bundle of these concepts with an encoder.
    ///
    /// `files` has the tokenizer, the configuration and the weights of the encoder under their
    /// [names](super::names). With files of an entity tower, the towers are not tied. The defaults:
    /// names without context, mean pooling, cosine similarity, an int8 index without a graph, and
    /// every mention is linked.
    pub fn new(kb: KnowledgeBase, files: Parts) -> Self {
        let tied = !files.0.contains_key(names::ENTITY_WEIGHTS);
        Self {
            kb,
            kb_info: None,
            files,
            encoder: EncoderInfo::new("not stated", tied),
            licence_text: None,
            redirects: Vec::new(),
            codes: CodeList::new(),
            hierarchy: HierarchyList::new(),
            view: ViewOptions::names(),
            precision: Precision::Int8,
            scorer: Scorer::Dual,
            hnsw: None,
            cells: None,
            nil: NilPolicy::default(),
            detector: None,
            every_name: false,
            compute_precision: layer::Precision::F32,
        }
    }

    /// Sets the description of the encoder, its pooling and similarity.
    #[must_use]
    pub fn encoder(self, encoder: EncoderInfo) -> Self {
        Self { encoder, ..self }
    }

    /// Sets the description of the knowledge base.
    #[must_use]
    pub fn kb_info(self, kb_info: KbInfo) -> Self {
        Self {
            kb_info: Some(kb_info),
            ..self
        }
    }

    /// Sets the full text of the knowledge base's licences.
    #[must_use]
    pub fn licence_text(self, licence_text: Option<String>) -> Self {
        Self {
            licence_text,
            ..self
        }
    }

    /// Sets the retired identifiers and their successors
    /// ([`RedirectList::resolved`](pel_kb::redirects::RedirectList::resolved)). The bundle has a
    /// file of them if there are any.
    #[must_use]
    pub fn redirects(self, redirects: Vec<Redirect>) -> Self {
        Self { redirects, ..self }
    }

    /// Sets the codes of the concepts in standard code systems. The bundle has a file of them if
    /// there are any.
    #[must_use]
    pub fn codes(self, codes: CodeList) -> Self {
        Self { codes, ..self }
    }

    /// Sets is-a between the concepts and codes of standard systems. The bundle has a file of it if
    /// it is not empty.
    #[must_use]
    pub fn hierarchy(self, hierarchy: HierarchyList) -> Self {
        Self { hierarchy, ..self }
    }

    /// Sets the templates and window lengths of concepts and mentions.
    #[must_use]
    pub fn view(self, view: ViewOptions) -> Self {
        Self { view, ..self }
    }

    /// Sets the precision of the index.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// Sets what is compared. For [`Scorer::SumOfMax`] the bundle has the vectors of all tokens
    /// too.
    #[must_use]
    pub fn scorer(self, scorer: Scorer) -> Self {
        Self { scorer, ..self }
    }

    /// Sets the options of the HNSW graph; `None` builds no graph.
    #[must_use]
    pub fn hnsw(self, hnsw: Option<HnswOptions>) -> Self {
        Self { hnsw, ..self }
    }

    /// Sets the rule for NIL.
    #[must_use]
    pub fn nil(self, nil: NilPolicy) -> Self {
        Self { nil, ..self }
    }

    /// Sets the detector, whose files are among those of the encoder; by default there is none.
    #[must_use]
    pub fn detector(self, detector: Option<DetectorInfo>) -> Self {
        Self { detector, ..self }
    }

    /// Sets whether names of the knowledge base are mentions whatever the detector says
    /// ([`Manifest::every_name`](super::Manifest::every_name)).
    #[must_use]
    pub fn every_name(self, every_name: bool) -> Self {
        Self { every_name, ..self }
    }

    /// Sets the precision in which concepts are encoded, where the device has it
    /// ([`Encoder::in_precision`]).
    #[must_use]
    pub fn compute_precision(self, compute_precision: layer::Precision) -> Self {
        Self {
            compute_precision,
            ..self
        }
    }

    /// Builds the bundle: tokenizes and encodes all concepts, and indexes their vectors.
    ///
    /// # Errors
    /// As [`BundleBuilder::tokenize`], [`Encoder::encode_batches`] and [`TokenizedBundle::finish`].
    pub fn build(self, device: &Device) -> Result<Bundle> {
        let mut tokenized = self.tokenize(device, || Ok(()))?;
        let rows: Vec<&Encoded> = tokenized.rows.sequences.iter().collect();
        let (encoder, scorer) = (&tokenized.encoder, tokenized.options.scorer);
        let encoded = Queries::encode(
            encoder,
            scorer,
            Side::Entity,
            &rows,
            BatchSize::default(),
            |_| Ok(()),
        )?;
        let vectors = tokenized.spread(encoded)?;
        let (info, index) = tokenized.index(&vectors)?;
        Bundle::read(tokenized.finish(info, index)?.parts)
    }

    /// Builds the encoder on a device and tokenizes all concepts. `tick` is called after each
    /// concept. Its error stops the work.
    ///
    /// # Errors
    /// If the encoder's files do not fit together, a window is longer than the encoder's, no
    /// concept has a row, or a concept cannot be tokenized.
    pub fn tokenize(
        self,
        device: &Device,
        tick: impl FnMut() -> Result<()>,
    ) -> Result<TokenizedBundle> {
        let tokens = Tokens::from_bytes(self.files.get(names::TOKENIZER)?)?;
        let encoder = self.open_encoder(&tokens, device)?;
        // An error in the mention template is found before all concepts are encoded.
        let mention = self.view.reader().mention("x", Span::new(0, 1))?;
        self.view
            .mention(&tokens, &mention)
            .context(|| "mentions".into())?;
        let rows = ConceptRows::tokenize(&self.kb, &tokens, &self.view, tick)?;
        if rows.concepts.is_empty() {
            return Err(Error::input(
                "no concept can be indexed: every name is empty after normalisation",
            ));
        }
        let encoder = match self.compute_precision {
            layer::Precision::F32 => encoder,
            precision => encoder.in_precision(precision),
        };
        Ok(TokenizedBundle {
            options: self,
            encoder,
            rows,
            token_vectors: None,
            mixed: 0.0,
            distinct: None,
        })
    }

    fn open_encoder(&self, tokens: &Tokens, device: &Device) -> Result<Encoder> {
        let Self {
            files,
            encoder: info,
            view,
            ..
        } = self;
        if info.precision == Precision::F32 && cpu::is_quantised(files.get(names::WEIGHTS)?)? {
            return Err(Error::input(
                "expected f32 weights of the encoder, found int8 weights; choose int8 for the \
                 encoder (`pel index --encoder-precision int8`)",
            ));
        }
        let encoder = files.encoder(tokens, info, device)?;
        view.check_mix()?;
        view.check_spelling(info.reduction.score)?;
        let limit = encoder.max_positions();
        let longest = view
            .entity_tokens
            .max(view.mention_tokens)
            .max(view.name_tokens);
        if longest > limit {
            return Err(Error::input(format!(
                "expected windows of at most the {limit} tokens that the encoder reads, found \
                 {longest}; choose shorter ones"
            )));
        }
        Ok(encoder)
    }
}

impl ConceptRows {
    /// Tokenizes every view of every concept. `tick` is called after each concept. Its error stops
    /// the work.
    ///
    /// # Errors
    /// If a concept cannot be tokenized. The message names it.
    pub fn tokenize(
        kb: &KnowledgeBase,
        tokens: &Tokens,
        view: &ViewOptions,
        mut tick: impl FnMut() -> Result<()>,
    ) -> Result<Self> {
        let mut interner = SequenceInterner::default();
        let mut rows = Self::default();
        let concepts: Vec<(ConceptId, &Concept)> = kb.iter().collect();
        for concepts in concepts.chunks(TOKENIZED) {
            let encoded =
                pel_kernels::for_each_chunk(concepts, TOKENIZED_BY_THREAD, |_, concepts| {
                    let encoded = concepts.iter().map(|(_, concept)| {
                        view.rows(tokens, concept)
                            .context(|| format!("the concept {}", concept.id))
                    });
                    encoded.collect::<Vec<_>>()
                });
            for ((id, _), encoded) in concepts.iter().zip(encoded.into_iter().flatten()) {
                rows.add(*id, encoded?, view, &mut interner);
                tick()?;
            }
        }
        rows.sequences = interner.into_sequences();
        Ok(rows)
    }

    /// Adds the rows of a concept.
    fn add(
        &mut self,
        id: ConceptId,
        encoded: Vec<Encoded>,
        view: &ViewOptions,
        interner: &mut SequenceInterner,
    ) {
        if encoded.is_empty() {
            self.without_rows.push(id);
        }
        for (place, row) in encoded.into_iter().enumerate() {
            let is_template = place == 0 && view.concepts != View::Names;
            let (all, cut) = match is_template {
                true => (&mut self.cut.templates, &mut self.cut.templates_cut),
                false => (&mut self.cut.names, &mut self.cut.names_cut),
            };
            *all += 1;
            *cut += usize::from(row.cut.context || row.cut.mention);
            self.concepts.push(id);
            self.sequence_of.push(interner.intern(row));
        }
    }

    /// Copies the vector of each sequence to its rows.
    ///
    /// # Shapes
    /// `[sequences, dim]` -> `[rows, dim]`
    pub fn spread(&self, vectors: &[f32]) -> Vec<f32> {
        let dim = vectors.len() / self.sequences.len().max(1);
        self.sequence_of
            .iter()
            .flat_map(|at| &vectors[at * dim..(at + 1) * dim])
            .copied()
            .collect()
    }
}

impl TokenizedBundle {
    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The rows of the index, tokenized.
    pub fn rows(&self) -> &ConceptRows {
        &self.rows
    }

    /// The files of the encoder.
    pub fn files(&self) -> &Parts {
        &self.options.files
    }

    /// Copies the vectors of the sequences to the rows. Token vectors become a file of the bundle.
    ///
    /// # Shapes
    /// encoded `[sequences]` -> `[rows, dim]`
    ///
    /// # Errors
    /// If a token vector is not finite, or there are too many tokens for the file.
    pub fn spread(&mut self, encoded: Queries) -> Result<Vec<f32>> {
        let Queries { pooled, tokens } = encoded;
        if self.options.scorer == Scorer::SumOfMax {
            let mut store = TokenStoreBuilder::new(self.encoder.dim());
            for (concept, at) in self.rows.concepts.iter().zip(&self.rows.sequence_of) {
                store.push_codes(*concept, &tokens[*at]);
            }
            // The store has a copy of them.
            drop(tokens);
            self.set_token_vectors(store.finish()?.into())?;
        }
        Ok(self.rows.spread(&pooled))
    }

    /// Sets the file of the token vectors of all rows, for Sum-of-Max. A program that writes it row
    /// by row ([`TokenStoreLayout`](pel_index::TokenStoreLayout)) and maps it calls this, and
    /// [`ConceptRows::spread`] instead of [`TokenizedBundle::spread`].
    ///
    /// # Errors
    /// If it is no token store, or has another number of rows or another dimension.
    pub fn set_token_vectors(&mut self, file: Bytes) -> Result<()> {
        let info = TokenStore::from_bytes(&file, Check::Trusted)?
            .info()
            .clone();
        let (rows, dim) = (self.rows.concepts.len(), self.encoder.dim());
        if (info.rows, info.dim) != (rows, dim) {
            let TokenStoreInfo {
                rows: found,
                dim: of,
                ..
            } = info;
            return Err(Error::artifact(format!(
                "{}: expected {rows} rows of {dim} values, found {found} of {of}",
                names::TOKEN_VECTORS
            )));
        }
        self.token_vectors = Some(info);
        let files = &mut self.options.files.0;
        files.insert(names::TOKEN_VECTORS.into(), file);
        Ok(())
    }

    /// Sets the options of the cells, which depend on the number of rows.
    pub fn set_cells(&mut self, cells: CellOptions) {
        self.options.cells = Some(cells);
    }

    /// Mixes the vectors of names with those of templates ([`mixed_rows`]), by the weight of the
    /// view. Returns the number of names that were left out because they are similar to another
    /// one of their concept.
    ///
    /// # Shapes
    /// vectors `[rows, dim]`
    ///
    /// # Errors
    /// If the view has no weight for the template, or mentions are scored by Sum-of-Max.
    pub fn mix_rows(&mut self, vectors: &mut Vec<f32>, distinct: Option<f32>) -> Result<usize> {
        let mix = self.options.view.mix;
        if mix == 0.0 || self.options.scorer == Scorer::SumOfMax {
            return Err(Error::input(
                "expected a weight of the template above 0 and the scorer dual for mixed rows; set \
                 --mix",
            ));
        }
        let dim = vectors.len() / self.rows.concepts.len();
        let MixedRows {
            vectors: mixed,
            concepts,
            similar,
        } = mixed_rows(vectors, &self.rows.concepts, dim, mix, distinct);
        *vectors = mixed;
        self.rows.concepts = concepts;
        (self.mixed, self.distinct) = (mix, distinct);
        Ok(similar)
    }

    /// Indexes the vectors of the rows. A graph over a million vectors takes about an hour on two
    /// cores.
    ///
    /// # Shapes
    /// vectors `[rows, dim]`
    ///
    /// # Errors
    /// As [`Index::build`].
    pub fn index(&self, vectors: &[f32]) -> Result<(IndexInfo, Bytes)> {
        let info = IndexInfo {
            rows: self.rows.concepts.len(),
            dim: vectors.len() / self.rows.concepts.len(),
            precision: self.options.precision,
            score: self.options.encoder.reduction.score,
            hnsw: self.options.hnsw,
            cells: self.options.cells,
            mixed: self.mixed,
            distinct: self.distinct,
        };
        let bytes = Bytes::from(Index::build(vectors, &self.rows.concepts, &info)?);
        Ok((info, bytes))
    }

    /// Writes all other files and the manifest. Weights that are to be int8 are quantised here,
    /// after the concepts were encoded with the floats.
    ///
    /// # Errors
    /// If a file cannot be encoded.
    pub fn finish(self, index_info: IndexInfo, index: Bytes) -> Result<BuiltBundle> {
        let Self {
            options,
            rows,
            token_vectors,
            ..
        } = self;
        let BundleBuilder {
            kb,
            files: mut parts,
            encoder,
            kb_info,
            licence_text,
            redirects,
            codes: code_list,
            hierarchy: parents,
            view,
            nil,
            detector,
            every_name,
            ..
        } = options;
        for (config, weights) in [
            (names::CONFIG, names::WEIGHTS),
            (names::ENTITY_CONFIG, names::ENTITY_WEIGHTS),
        ] {
            if let (Precision::Int8, Some(floats)) = (encoder.precision, parts.0.get(weights)) {
                let quantised = quantise(parts.get(config)?, floats).context(|| weights.into())?;
                parts.0.insert(weights.into(), quantised);
            }
        }
        parts.0.insert(names::INDEX.into(), index);
        insert_concepts(&mut parts, &kb, licence_text, &redirects)?;
        codes::insert(&mut parts, &code_list, kb.len())?;
        hierarchy::insert(&mut parts, &parents, kb.len())?;
        let manifest = Manifest {
            format: OLDEST_FORMAT,
            written_by: WRITTEN_BY.to_owned(),
            encoder,
            kb: kb_info.unwrap_or_else(|| KbInfo::new("not stated", &kb)),
            view,
            index: index_info,
            token_vectors,
            nil,
            every_name: every_name && detector.is_some(),
            detector,
            files: parts.file_infos(),
            digest: String::new(),
        };
        let (manifest, written) = manifest.sealed()?;
        parts.0.insert(names::MANIFEST.into(), written.into());
        Ok(BuiltBundle {
            parts,
            manifest,
            without_rows: rows.without_rows,
            cut: rows.cut,
        })
    }
}

/// Adds the files that depend on the concepts and not on vectors.
pub(super) fn insert_concepts(
    parts: &mut Parts,
    kb: &KnowledgeBase,
    licence_text: Option<String>,
    redirects: &[Redirect],
) -> Result<()> {
    let mut insert = |name: &str, bytes: Vec<u8>| parts.0.insert(name.into(), bytes.into());
    insert(names::CONCEPTS, ConceptTable::build(kb)?);
    insert(names::DICTIONARY, Dictionary::build(kb.iter())?);
    if let Some(text) = licence_text {
        insert(names::LICENCES, text.into_bytes());
    }
    if !redirects.is_empty() {
        insert(names::REDIRECTS, redirects::to_bytes(redirects));
    }
    Ok(())
}

/// Quantises weights to int8. Int8 weights stay as they are.
pub(super) fn quantise(config: &[u8], weights: &Bytes) -> Result<Bytes> {
    if cpu::is_quantised(weights)? {
        return Ok(weights.clone());
    }
    Ok(cpu::quantise(&BertConfig::from_bytes(config)?, weights)?.into())
}
