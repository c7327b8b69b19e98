//! From concepts to vectors: token sequences, batches by length, and work that goes on where an earlier run stopped.

use crate::io::interrupt;
use crate::io::progress::Progress;
use crate::io::resume::WorkFolder;
use pel_shared::error::{Context, Error, Result};
use pel_shared::index::TokenCodes;
use pel_shared::kb::{ConceptId, KnowledgeBase};
use pel_shared::model::encode::{BatchSize, Encoder, SequenceInterner};
use pel_shared::model::tower::Side;
use pel_shared::numbers::check_finite;
use pel_shared::score::Scorer;
use pel_shared::tokens::{Encoded, Tokens};
use pel_shared::tokens::{View, ViewOptions};

/// The rows of an index before they are encoded; equal token sequences are encoded once.
#[derive(Debug)]
pub struct Rows {
    /// The concept of each row, ascending.
    pub concepts: Vec<ConceptId>,
    /// The sequence of each row.
    pub sequence_of: Vec<usize>,
    /// The different sequences.
    pub sequences: Vec<Encoded>,
    /// Concepts of which nothing is left after normalising.
    pub without_rows: Vec<ConceptId>,
    /// Rows whose text did not fit into its window.
    pub cut: CutTexts,
}

/// Texts of concepts, and how many of them did not fit into their window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutTexts {
    /// Templates.
    pub templates: usize,
    /// Those that did not fit.
    pub templates_cut: usize,
    /// Names, synonyms included.
    pub names: usize,
    /// Those that did not fit.
    pub names_cut: usize,
}

impl Rows {
    /// Brings the vectors of the sequences into the order of the rows.
    ///
    /// # Shapes
    /// `[sequences, dim]` -> `[rows, dim]`
    pub fn spread(&self, vectors: &[f32]) -> Vec<f32> {
        let dim = vectors.len() / self.sequences.len();
        self.sequence_of.iter().flat_map(|at| &vectors[at * dim..(at + 1) * dim]).copied().collect()
    }
}

/// Tokenizes every view of every concept.
///
/// # Errors
/// If a concept cannot be written by the template; it is named.
pub fn rows(kb: &KnowledgeBase, tokens: &Tokens, view: &ViewOptions) -> Result<Rows> {
    let mut interner = SequenceInterner::default();
    let mut rows = Rows {
        concepts: Vec::new(),
        sequence_of: Vec::new(),
        sequences: Vec::new(),
        without_rows: Vec::new(),
        cut: CutTexts::default(),
    };
    let mut progress = Progress::new("tokenizing", kb.len() as u64, "concepts");
    for (id, concept) in kb.iter() {
        interrupt::check()?;
        let encoded = view.rows(tokens, concept).context(|| format!("the concept {}", concept.id))?;
        if encoded.is_empty() {
            rows.without_rows.push(id);
        }
        for (place, row) in encoded.into_iter().enumerate() {
            let is_template = place == 0 && view.concepts != View::Names;
            let (all, cut) = match is_template {
                true => (&mut rows.cut.templates, &mut rows.cut.templates_cut),
                false => (&mut rows.cut.names, &mut rows.cut.names_cut),
            };
            *all += 1;
            *cut += usize::from(row.cut.context || row.cut.mention);
            rows.concepts.push(id);
            rows.sequence_of.push(interner.intern(row));
        }
        progress.advance(1);
    }
    rows.sequences = interner.into_sequences();
    Ok(rows)
}

/// What an encoding run needs to know.
pub struct Encoding<'a> {
    /// The encoder.
    pub encoder: &'a Encoder,
    /// Tokens of one batch, padding included.
    pub batch_tokens: usize,
    /// Whether the encoder multiplies in bfloat16.
    pub bf16: bool,
    /// What is to be compared.
    pub scorer: Scorer,
}

/// The vectors of all sequences.
pub struct Vectors {
    /// `[sequences, dim]`
    pub pooled: Vec<f32>,
    /// For each sequence, where Sum-of-Max compares.
    pub tokens: Option<Vec<TokenCodes>>,
}

/// Encodes all sequences, in the order of `sequences`. What is done is kept in the work folder under `key`, which
/// stands for the model and everything else that the vectors depend on.
///
/// # Errors
/// If the device or the work folder fails, or the user stops the work; what was done is kept.
pub fn vectors(encoding: &Encoding<'_>, sequences: &[Encoded], work: &WorkFolder, key: &str) -> Result<Vectors> {
    let (dim, with_tokens) = (encoding.encoder.dim(), encoding.scorer == Scorer::SumOfMax);
    let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.ids.len()).collect();
    let rows: Vec<&Encoded> = sequences.iter().collect();
    let batches = BatchSize::of_tokens(encoding.batch_tokens).batches(&rows);
    // A sequence's record is its vector, and with tokens their scales and codes.
    let record = |at: &usize| (dim * 4 + if with_tokens { lengths[*at] * (4 + dim) } else { 0 }) as u64;
    let sizes: Vec<u64> = batches.iter().map(|batch| batch.iter().map(record).sum()).collect();
    let mut hash = blake3::Hasher::new();
    hash.update(key.as_bytes()).update(&(encoding.batch_tokens as u64).to_le_bytes()).update(&[u8::from(
        encoding.bf16,
    ) + 2 * u8::from(
        with_tokens,
    )]);
    for sequence in sequences {
        hash.update(&(sequence.ids.len() as u64).to_le_bytes()).update(bytemuck::cast_slice(&sequence.ids));
    }
    let mut begun = work.open(&hash.finalize(), &sizes)?;
    let done = begun.done();
    let mut progress = Progress::new("encoding", sequences.len() as u64, "texts");
    progress.resume_at(batches[..done].iter().map(|batch| batch.len() as u64).sum());
    // What is lost by an interruption is a step.
    interrupt::check()?;
    encoding.encoder.encode_batches(encoding.scorer, Side::Entity, &rows, &batches[done..], |part, found| {
        check_finite("the vectors that the encoder gives", &found.pooled)?;
        found
            .tokens
            .iter()
            .flatten()
            .try_for_each(|own| check_finite("the token vectors that the encoder gives", own))?;
        let mut first = 0;
        for batch in part.batches() {
            let places = first..first + batch.len();
            let tokens = found.tokens.as_ref().map(|tokens| &tokens[places.clone()]);
            begun.add(&records(&found.pooled[places.start * dim..places.end * dim], tokens, dim))?;
            first = places.end;
        }
        progress.advance(first as u64);
        interrupt::check()
    })?;
    let mut all = Vectors {
        pooled: vec![0.0f32; sequences.len() * dim],
        tokens: with_tokens.then(|| vec![TokenCodes::default(); sequences.len()]),
    };
    let mut batches = batches.iter();
    begun.read(|piece| {
        let mut piece = piece;
        for at in batches.next().into_iter().flatten() {
            take(&mut piece, &mut all.pooled[at * dim..][..dim])?;
            if let Some(tokens) = &mut all.tokens {
                let mut own = TokenCodes { codes: vec![0; lengths[*at] * dim], scales: vec![0.0; lengths[*at]] };
                take(&mut piece, &mut own.scales)?;
                take(&mut piece, &mut own.codes)?;
                tokens[*at] = own;
            }
        }
        Ok(())
    })?;
    Ok(all)
}

/// Takes numbers from the beginning of a piece.
fn take<T: bytemuck::Pod>(piece: &mut &[u8], to: &mut [T]) -> Result<()> {
    let to: &mut [u8] = bytemuck::cast_slice_mut(to);
    let (own, rest) =
        piece.split_at_checked(to.len()).ok_or_else(|| Error::io("a piece of the work ends within a vector"))?;
    to.copy_from_slice(own);
    *piece = rest;
    Ok(())
}

/// The bytes of sequences, with their tokens where these are compared.
fn records(pooled: &[f32], tokens: Option<&[Vec<f32>]>, dim: usize) -> Vec<u8> {
    let Some(tokens) = tokens else { return bytemuck::cast_slice(pooled).to_vec() };
    let mut bytes = Vec::new();
    for (vector, tokens) in pooled.chunks_exact(dim).zip(tokens) {
        let TokenCodes { codes, scales } = TokenCodes::new(dim, tokens);
        bytes.extend_from_slice(bytemuck::cast_slice(vector));
        bytes.extend_from_slice(bytemuck::cast_slice(&scales));
        bytes.extend_from_slice(bytemuck::cast_slice(&codes));
    }
    bytes
}
