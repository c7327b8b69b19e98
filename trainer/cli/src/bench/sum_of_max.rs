//! Sum-of-Max: the time of a search for an encoded mention over the bundle's concepts.

use crate::bench::{Options, timed};
use pel_artifacts::bundles;
use pel_artifacts::device::OpenDevice;
use pel_index::FIRST_PASS;
use pel_io::interrupt;
use pel_kb::ConceptId;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Scorer;
use pel_linker::bundle::names;
use pel_linker::{Linker, Queries};
use pel_text::Span;
use pel_text::detect::{Detected, Origin};
use serde::Serialize;

/// Mentions that are also searched exactly.
const EXACTLY: usize = 32;

/// The time of a mention.
#[derive(Serialize)]
pub(crate) struct SumOfMaxRow {
    /// Distinct mentions: names of concepts, with definitions as context.
    pub mentions: usize,
    /// The mean number of tokens of a mention.
    pub tokens: f64,
    /// Tokens of all texts of the bundle.
    pub token_vectors: usize,
    /// The size of the file of their vectors.
    pub bytes: u64,
    pub first_pass: usize,
    /// The time of the first pass for one mention.
    pub first_pass_ms: f64,
    /// The time of the whole search for one mention, including the first pass.
    pub median_ms: f64,
    /// The proportion of mentions with the same best concept as in an exact search.
    pub agreement: f64,
    /// Mentions that were also searched exactly.
    pub searched_exactly: usize,
}

/// Measures a bundle that has token vectors.
pub(crate) fn sum_of_max(options: &Options, device: &OpenDevice) -> Result<Option<SumOfMaxRow>> {
    let bundle = bundles::open(&options.bundle)?;
    if options.no_search || bundle.token_vectors.is_none() {
        return Ok(None);
    }
    let mut linker =
        Linker::new(bundle, &device.device).context(|| options.bundle.display().to_string())?;
    let (queries, tokens) = queries(options, &linker)?;
    if queries.is_empty() {
        return Err(Error::artifact(
            "expected a concept whose name can be read, found none",
        ));
    }
    let mut at = 0;
    let (median_ms, _) = timed(options.seconds, || {
        linker
            .steps()
            .search(1, &queries[at % queries.len()], options.k);
        at += 1;
        Ok(())
    })?;
    let step = queries.len().div_ceil(EXACTLY);
    let (mut same, mut asked) = (0, 0);
    for query in queries.iter().step_by(step) {
        interrupt::check()?;
        let best = |found: Vec<Vec<_>>| found.into_iter().flatten().next();
        same += usize::from(
            best(linker.steps().search(1, query, 1))
                == best(linker.steps().search_exact(1, query, 1)),
        );
        asked += 1;
    }
    // The first pass is a search by whole vectors for as many candidates.
    linker.settings().set_scorer(Scorer::Dual)?;
    let (first_pass_ms, _) = timed(options.seconds, || {
        linker
            .steps()
            .search(1, &queries[at % queries.len()], FIRST_PASS.max(options.k));
        at += 1;
        Ok(())
    })?;
    let manifest = &linker.bundle().manifest;
    Ok(Some(SumOfMaxRow {
        mentions: queries.len(),
        tokens: tokens as f64 / queries.len() as f64,
        token_vectors: manifest
            .token_vectors
            .as_ref()
            .map_or(0, |info| info.tokens),
        bytes: manifest
            .files
            .get(names::TOKEN_VECTORS)
            .map_or(0, |file| file.bytes),
        first_pass: FIRST_PASS.max(options.k),
        first_pass_ms,
        median_ms,
        agreement: same as f64 / asked as f64,
        searched_exactly: asked,
    }))
}

/// Encoded names of equally spaced concepts, and their number of tokens.
fn queries(options: &Options, linker: &Linker) -> Result<(Vec<Queries>, usize)> {
    let concepts = &linker.bundle().concepts;
    let step = (concepts.len() / options.queries).max(1);
    let (mut queries, mut tokens) = (Vec::new(), 0);
    for at in (0..concepts.len() as u32)
        .step_by(step)
        .take(options.queries)
    {
        interrupt::check()?;
        let concept = concepts.get(ConceptId(at))?;
        let text = format!(
            "{} {}",
            concept.name,
            concept.definition.unwrap_or_default()
        );
        let given = Detected::new(Span::new(0, concept.name.len()), Origin::Given);
        let prepared = linker.steps().prepare(&text, vec![given])?;
        if let [sequence] = prepared.sequences() {
            tokens += sequence.ids.len();
            queries.push(linker.steps().encode(&prepared, |_| Ok(()))?);
        }
    }
    Ok((queries, tokens))
}
