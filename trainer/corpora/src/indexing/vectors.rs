//! Encodes the token sequences of concepts. An interrupted run resumes from the saved batches.

use bytes::Bytes;
use pel_artifacts::device::OpenDevice;
use pel_artifacts::token_file::TokenFile;
use pel_index::{TokenCodes, TokenStoreLayout};
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_io::resume::WorkFolder;
use pel_kb::error::{Error, Result};
use pel_kb::numbers::check_finite;
use pel_kb::score::Scorer;
use pel_linker::bundle::{ConceptRows, Queries};
use pel_model::burn::bert::multiplies_in;
use pel_model::encode::{BatchSize, Encoder};
use pel_model::layer::Precision as ComputePrecision;
use pel_model::tokens::Encoded;
use pel_model::tower::Side;

/// The options of an encoding run.
pub struct Encoding<'a> {
    /// The encoder.
    pub encoder: &'a Encoder,
    /// Tokens of one batch, padding included; `None` chooses by device.
    pub batch_tokens: Option<usize>,
    /// The number format in which the encoder multiplies.
    pub compute_precision: ComputePrecision,
    /// What is compared.
    pub scorer: Scorer,
}

/// The number format asked for if the device multiplies in it, else f32, and a line says so.
pub fn supported(asked: ComputePrecision, device: &OpenDevice) -> ComputePrecision {
    if multiplies_in(asked, &device.device) {
        return asked;
    }
    let name = format!("{asked:?}").to_lowercase();
    eprintln!(
        "{} does not multiply in {name}: encoding in f32",
        device.name
    );
    ComputePrecision::F32
}

/// Encodes all sequences, in the order of `sequences`. The work folder saves each batch under
/// `key`, which stands for the model and everything else that the vectors depend on.
///
/// # Errors
/// If the device or the work folder fails, or the user interrupts the run. The saved batches stay.
pub fn encode(
    encoding: &Encoding<'_>,
    sequences: &[Encoded],
    work: &WorkFolder,
    key: &str,
) -> Result<Queries> {
    let dim = encoding.encoder.dim();
    let with_tokens = encoding.scorer == Scorer::SumOfMax;
    let mut all = Queries {
        pooled: vec![0.0f32; sequences.len() * dim],
        tokens: vec![TokenCodes::default(); if with_tokens { sequences.len() } else { 0 }],
    };
    encode_each(encoding, sequences, work, key, |at, pooled, tokens| {
        all.pooled[at * dim..][..dim].copy_from_slice(pooled);
        if let Some(tokens) = tokens {
            all.tokens[at] = tokens;
        }
        Ok(())
    })?;
    Ok(all)
}

/// As [`encode`], with the token vectors of the rows in a file, mapped into memory.
///
/// # Errors
/// As [`encode`], or if the file cannot be written.
pub fn encode_rows(
    encoding: &Encoding<'_>,
    rows: &ConceptRows,
    work: &WorkFolder,
    key: &str,
) -> Result<(Vec<f32>, Option<Bytes>)> {
    let (dim, sequences) = (encoding.encoder.dim(), &rows.sequences);
    let mut pooled_all = vec![0.0f32; sequences.len() * dim];
    let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); sequences.len()];
    for (row, at) in rows.sequence_of.iter().enumerate() {
        rows_of[*at].push(row);
    }
    let mut file: Option<TokenFile> = None;
    encode_each(encoding, sequences, work, key, |at, pooled, tokens| {
        pooled_all[at * dim..][..dim].copy_from_slice(pooled);
        let Some(tokens) = tokens else {
            return Ok(());
        };
        let file = match &mut file {
            Some(file) => file,
            begun => {
                let lengths = rows.sequence_of.iter().map(|at| sequences[*at].ids.len());
                let lengths = rows.concepts.iter().copied().zip(lengths);
                let layout = TokenStoreLayout::new(dim, lengths)?;
                begun.insert(TokenFile::new(work.parent(), layout)?)
            }
        };
        rows_of[at]
            .iter()
            .try_for_each(|row| file.write(*row, &tokens))
    })?;
    Ok((pooled_all, file.map(TokenFile::finish).transpose()?))
}

/// As [`encode`]; `take_one` gets the vector of each sequence, and for Sum-of-Max those of its
/// tokens.
fn encode_each(
    encoding: &Encoding<'_>,
    sequences: &[Encoded],
    work: &WorkFolder,
    key: &str,
    mut take_one: impl FnMut(usize, &[f32], Option<TokenCodes>) -> Result<()>,
) -> Result<()> {
    let (dim, with_tokens) = (encoding.encoder.dim(), encoding.scorer == Scorer::SumOfMax);
    let lengths: Vec<usize> = sequences
        .iter()
        .map(|sequence| sequence.ids.len())
        .collect();
    let rows: Vec<&Encoded> = sequences.iter().collect();
    let size = encoding
        .batch_tokens
        .map_or_else(|| encoding.encoder.long_run_batch(), BatchSize::of_tokens);
    let batches = size.batches(&rows);
    // The record of a sequence: its pooled vector, then for Sum-of-Max the scales and codes of its
    // tokens.
    let record = |at: &usize| {
        (dim * 4
            + if with_tokens {
                lengths[*at] * (4 + dim)
            } else {
                0
            }) as u64
    };
    let sizes: Vec<u64> = batches
        .iter()
        .map(|batch| batch.iter().map(record).sum())
        .collect();
    let mut begun = work.open(&run_hash(encoding, sequences, &batches, key), &sizes)?;
    let done = begun.done();
    let mut progress = Progress::new("encoding", sequences.len() as u64, "texts");
    progress.resume_at(batches[..done].iter().map(|batch| batch.len() as u64).sum());
    // An interruption loses at most one step.
    interrupt::check()?;
    encoding.encoder.encode_batches(
        encoding.scorer,
        Side::Entity,
        &rows,
        &batches[done..],
        |part, found| {
            check_finite("the vectors that the encoder gives", &found.pooled)?;
            found.tokens.iter().flatten().try_for_each(|own| {
                check_finite("the token vectors that the encoder gives", own)
            })?;
            let mut first = 0;
            for batch in part.batches() {
                let places = first..first + batch.len();
                let tokens = found.tokens.as_ref().map(|tokens| &tokens[places.clone()]);
                begun.add(&records(
                    &found.pooled[places.start * dim..places.end * dim],
                    tokens,
                    dim,
                ))?;
                first = places.end;
            }
            progress.advance(first as u64);
            interrupt::check()
        },
    )?;
    let mut batches = batches.iter();
    let mut pooled = vec![0.0f32; dim];
    begun.read(|piece| {
        let mut piece = piece;
        for at in batches.next().into_iter().flatten() {
            take(&mut piece, &mut pooled)?;
            let mut tokens = None;
            if with_tokens {
                let own = tokens.insert(TokenCodes {
                    codes: vec![0; lengths[*at] * dim],
                    scales: vec![0.0; lengths[*at]],
                });
                take(&mut piece, &mut own.scales)?;
                take(&mut piece, &mut own.codes)?;
            }
            take_one(*at, &pooled, tokens)?;
        }
        Ok(())
    })
}

/// The hash of everything that the saved batches of a run depend on.
fn run_hash(
    encoding: &Encoding<'_>,
    sequences: &[Encoded],
    batches: &[Vec<usize>],
    key: &str,
) -> blake3::Hash {
    let with_tokens = encoding.scorer == Scorer::SumOfMax;
    let mut hash = blake3::Hasher::new();
    hash.update(key.as_bytes());
    hash.update(&[encoding.compute_precision as u8, u8::from(with_tokens)]);
    for batch in batches {
        hash.update(&(batch.len() as u64).to_le_bytes());
    }
    for sequence in sequences {
        hash.update(&(sequence.ids.len() as u64).to_le_bytes())
            .update(bytemuck::cast_slice(&sequence.ids));
    }
    hash.finalize()
}

/// Reads numbers from the beginning of a saved batch.
fn take<T: bytemuck::Pod>(piece: &mut &[u8], to: &mut [T]) -> Result<()> {
    let to: &mut [u8] = bytemuck::cast_slice_mut(to);
    let (own, rest) = piece.split_at_checked(to.len()).ok_or_else(|| {
        Error::io("a saved batch ends within a vector; remove the work folder and index again")
    })?;
    to.copy_from_slice(own);
    *piece = rest;
    Ok(())
}

/// The records of sequences, with their tokens for Sum-of-Max.
fn records(pooled: &[f32], tokens: Option<&[Vec<f32>]>, dim: usize) -> Vec<u8> {
    let Some(tokens) = tokens else {
        return bytemuck::cast_slice(pooled).to_vec();
    };
    let mut bytes = Vec::new();
    for (vector, tokens) in pooled.chunks_exact(dim).zip(tokens) {
        let TokenCodes { codes, scales } = TokenCodes::new(dim, tokens);
        bytes.extend_from_slice(bytemuck::cast_slice(vector));
        bytes.extend_from_slice(bytemuck::cast_slice(&scales));
        bytes.extend_from_slice(bytemuck::cast_slice(&codes));
    }
    bytes
}
