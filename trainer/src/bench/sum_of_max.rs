//! Sum-of-Max: what it costs a mention once it is encoded, over the bundle's own concepts.

use crate::bench::{Options, timed};
use crate::io::bundles;
use crate::io::device::OpenDevice;
use crate::io::interrupt;
use pel_shared::bundle::names;
use pel_shared::error::{Context, Error, Result};
use pel_shared::index::FIRST_PASS;
use pel_shared::kb::ConceptId;
use pel_shared::linker::{Linker, Queries};
use pel_shared::score::Scorer;
use pel_shared::text::Span;
use pel_shared::text::detect::{Detected, Origin};
use serde::Serialize;

/// Mentions that are searched exactly too.
const EXACTLY: usize = 32;

/// The time of a mention.
#[derive(Serialize)]
pub(crate) struct SumOfMaxRow {
    /// Different mentions: names of concepts, their definitions as context.
    pub mentions: usize,
    /// Tokens of a mention, the mean.
    pub tokens: f64,
    /// Tokens of all texts of the bundle.
    pub token_vectors: usize,
    /// The file of their vectors.
    pub bytes: u64,
    pub first_pass: usize,
    /// The first pass of one mention alone.
    pub first_pass_ms: f64,
    /// The whole search of one mention, first pass included.
    pub median_ms: f64,
    /// The share of mentions whose best concept is that of Sum-of-Max over all concepts.
    pub agreement: f64,
    /// Mentions that were searched so.
    pub searched_exactly: usize,
}

/// Measures a bundle that has token vectors.
pub(crate) fn sum_of_max(options: &Options, device: &OpenDevice) -> Result<Option<SumOfMaxRow>> {
    let bundle = bundles::open(&options.bundle)?;
    if options.no_search || bundle.token_vectors.is_none() {
        return Ok(None);
    }
    let mut linker = Linker::new(bundle, &device.device).context(|| options.bundle.display().to_string())?;
    let (queries, tokens) = queries(options, &linker)?;
    if queries.is_empty() {
        return Err(Error::artifact("expected a concept whose name can be read, found none"));
    }
    let mut at = 0;
    let (median_ms, _) = timed(options.seconds, || {
        linker.search(1, &queries[at % queries.len()], options.k);
        at += 1;
        Ok(())
    })?;
    let step = queries.len().div_ceil(EXACTLY);
    let (mut same, mut asked) = (0, 0);
    for query in queries.iter().step_by(step) {
        interrupt::check()?;
        let best = |found: Vec<Vec<_>>| found.into_iter().flatten().next();
        same += usize::from(best(linker.search(1, query, 1)) == best(linker.search_exact(1, query, 1)));
        asked += 1;
    }
    // The first pass alone is the search by whole vectors for as many.
    linker.set_scorer(Scorer::Dual)?;
    let (first_pass_ms, _) = timed(options.seconds, || {
        linker.search(1, &queries[at % queries.len()], FIRST_PASS.max(options.k));
        at += 1;
        Ok(())
    })?;
    let manifest = &linker.bundle().manifest;
    Ok(Some(SumOfMaxRow {
        mentions: queries.len(),
        tokens: tokens as f64 / queries.len() as f64,
        token_vectors: manifest.token_vectors.as_ref().map_or(0, |info| info.tokens),
        bytes: manifest.files.get(names::TOKEN_VECTORS).map_or(0, |file| file.bytes),
        first_pass: FIRST_PASS.max(options.k),
        first_pass_ms,
        median_ms,
        agreement: same as f64 / asked as f64,
        searched_exactly: asked,
    }))
}

/// Names of concepts at equal steps, encoded, and how many tokens they have in all.
fn queries(options: &Options, linker: &Linker) -> Result<(Vec<Queries>, usize)> {
    let concepts = &linker.bundle().concepts;
    let step = (concepts.len() / options.queries).max(1);
    let (mut queries, mut tokens) = (Vec::new(), 0);
    for at in (0..concepts.len() as u32).step_by(step).take(options.queries) {
        interrupt::check()?;
        let concept = concepts.get(ConceptId(at))?;
        let text = format!("{} {}", concept.name, concept.definition.unwrap_or_default());
        let given = Detected::new(Span::new(0, concept.name.len()), Origin::Given);
        let prepared = linker.prepare(&text, vec![given])?;
        if let [sequence] = prepared.sequences() {
            tokens += sequence.ids.len();
            queries.push(linker.encode(&prepared, |_| Ok(()))?);
        }
    }
    Ok((queries, tokens))
}
