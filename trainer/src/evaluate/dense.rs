//! The bundle's encoder and index as a system under measurement.

use super::{Dense, Query, Retriever};
use crate::bundles;
use crate::device::{DeviceArgs, OpenDevice, Work};
use crate::interrupt;
use crate::kb_file::KbFile;
use pel_shared::biencoder::Side;
use pel_shared::bundle::Bundle;
use pel_shared::encoder::Encoder;
use pel_shared::error::{Context, Result};
use pel_shared::lexical::Ranked;
use pel_shared::text::Mention;
use pel_shared::tokens::{Encoded, by_length};
use std::collections::HashMap;
use std::path::Path;

/// Tokens of one encoder batch, padding included.
const BATCH_TOKENS: usize = 2048;

/// A bundle on a device.
struct Opened {
    bundle: Bundle,
    encoder: Encoder,
    device: OpenDevice,
}

/// Opens a bundle for an evaluation.
///
/// # Errors
/// If the bundle cannot be read or the device cannot be started.
pub fn open(path: &Path, device: &DeviceArgs) -> Result<Dense> {
    let bundle = bundles::open(path)?;
    let device = device.open(Work::Long)?;
    let encoder = bundle.encoder(&device.device).context(|| path.display().to_string())?;
    let concepts = KbFile { kb: bundle.concepts.to_knowledge_base()?, blake3: bundle.manifest.kb.blake3.clone() };
    Ok(Dense { concepts, retriever: Box::new(Opened { bundle, encoder, device }) })
}

impl Retriever for Opened {
    fn name(&self) -> &str {
        "dense"
    }

    fn protocol(&self) -> String {
        let (view, index, encoder) =
            (&self.bundle.manifest.view, self.bundle.index.info(), &self.bundle.manifest.encoder);
        let search = if index.hnsw.is_some() { "HNSW" } else { "exact search" };
        format!(
            "{}: {:?} mention of at most {} tokens against {:?}, {} vectors, best per concept, {:?} over {:?} pooling, {:?}, {search}, on {}",
            encoder.name,
            view.mention_template,
            view.mention_tokens,
            view.concepts,
            index.rows,
            encoder.reduction.score,
            encoder.reduction.pooling,
            index.precision,
            self.device.name
        )
    }

    fn search(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        let (bundle, view) = (&self.bundle, &self.bundle.manifest.view);
        let mut known: HashMap<Encoded, usize> = HashMap::new();
        let mut sequences: Vec<Encoded> = Vec::new();
        // The mentions of each sequence; a mention of which nothing is left has no candidate.
        let mut mentions: Vec<Vec<usize>> = Vec::new();
        let mut empty = 0;
        for (query_at, query) in queries.iter().enumerate() {
            let mention = Mention::cut(query.text, query.span)?;
            let Some(encoded) = view.mention(&bundle.tokens, &mention)? else {
                empty += 1;
                continue;
            };
            let next = sequences.len();
            let at = *known.entry(encoded).or_insert_with_key(|encoded| {
                sequences.push(encoded.clone());
                mentions.push(Vec::new());
                next
            });
            mentions[at].push(query_at);
        }
        done(empty)?;
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.ids.len()).collect();
        let batches = by_length(&lengths, 256, BATCH_TOKENS);
        let mut found: Vec<Ranked> = vec![Vec::new(); queries.len()];
        for group in batches.chunks(2 * rayon::current_num_threads()) {
            interrupt::check()?;
            let places: Vec<usize> = group.concat();
            let rows: Vec<&Encoded> = places.iter().map(|at| &sequences[*at]).collect();
            let vectors = self.encoder.encode(Side::Mention, &rows)?;
            for (at, candidates) in places.iter().zip(bundle.index.search(&vectors, k)) {
                let ranked: Ranked = candidates.iter().map(|candidate| (candidate.concept, candidate.score)).collect();
                for mention in &mentions[*at] {
                    found[*mention] = ranked.clone();
                }
                done(mentions[*at].len())?;
            }
        }
        Ok(found)
    }
}
