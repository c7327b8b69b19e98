//! A bundle as a system under measurement: its encoder and index alone, and the whole road of `pel link`.

use super::{Dense, NilOf, Query, Retriever, Split};
use crate::bundles;
use crate::device::{DeviceArgs, OpenDevice, Work};
use crate::interrupt;
use crate::kb_file::KbFile;
use crate::progress::Progress;
use pel_shared::bundle::Bundle;
use pel_shared::detect::{Detected, Origin};
use pel_shared::error::{Context, Result};
use pel_shared::index::FIRST_PASS;
use pel_shared::lexical::Ranked;
use pel_shared::linker::{LinkOptions, Linker, Prepared};
use pel_shared::nil::{NilPolicy, Signs};
use pel_shared::score::{Candidate, Scorer};
use pel_shared::tokens::{Encoded, by_length};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// Tokens of one encoder batch, padding included.
const BATCH_TOKENS: usize = 2048;
/// Mentions that go down the road of `pel link` together.
const MENTIONS_AT_ONCE: usize = 4096;

/// A bundle on a device.
struct Opened {
    linker: Linker,
    device: OpenDevice,
}

/// Its encoder and index alone.
struct Search(Rc<Opened>);

/// The whole road of `pel link`: also the concepts whose name the dictionary recognises in the mention.
struct Road(Rc<Opened>);

/// What is tried instead of what a bundle says.
#[derive(Clone, Debug, Default)]
pub struct Instead {
    /// The mix of views.
    pub mix: Option<f32>,
    /// When a mention is NIL.
    pub nil: Option<NilPolicy>,
}

/// Opens a bundle for an evaluation.
///
/// # Errors
/// If the bundle cannot be read, has no such mix, or the device cannot be started.
pub fn open(path: &Path, device: &DeviceArgs, instead: &Instead) -> Result<Dense> {
    // A damaged bundle is said before a GPU is started.
    let bundle = bundles::open(path)?;
    on(path, bundle, device.open(Work::Long)?, instead)
}

/// As [`open`], on a device that is open already.
///
/// # Errors
/// As [`open`].
pub fn open_on(path: &Path, device: OpenDevice, instead: &Instead) -> Result<Dense> {
    on(path, bundles::open(path)?, device, instead)
}

fn on(path: &Path, bundle: Bundle, device: OpenDevice, instead: &Instead) -> Result<Dense> {
    let linker = linker(path, bundle, &device, instead)?;
    let bundle = linker.bundle();
    let concepts = KbFile { kb: bundle.concepts.to_knowledge_base()?, blake3: bundle.manifest.kb.blake3.clone() };
    let opened = Rc::new(Opened { linker, device });
    Ok(Dense { concepts, search: Box::new(Search(opened.clone())), road: Box::new(Road(opened)) })
}

fn linker(path: &Path, mut bundle: Bundle, device: &OpenDevice, instead: &Instead) -> Result<Linker> {
    let context = || path.display().to_string();
    instead.nil.iter().for_each(|nil| bundle.manifest.nil = nil.clone());
    let mut linker = Linker::new(bundle, &device.device).context(context)?;
    instead.mix.map_or(Ok(()), |mix| linker.set_mix(mix)).context(context)?;
    Ok(linker)
}

/// What the mentions of a split show beside their scores, as `pel link` links, and whether the concept of each is known; mentions
/// without a candidate are left out.
///
/// # Errors
/// As [`open`], or if a mention cannot be encoded.
pub fn signs(
    path: &Path,
    device: &DeviceArgs,
    instead: &Instead,
    split: &Split,
    nil: NilOf,
) -> Result<Vec<(Signs, bool)>> {
    let linker = linker(path, bundles::open(path)?, &device.open(Work::Long)?, instead)?;
    let golds: Vec<_> = split.mentions.iter().filter(|gold| nil.takes(gold)).collect();
    let options = LinkOptions { k: 2, ..LinkOptions::default() };
    let mut all = Vec::with_capacity(golds.len());
    let mut progress = Progress::new("reading signs of NIL", golds.len() as u64, "mentions");
    for golds in golds.chunks(MENTIONS_AT_ONCE) {
        interrupt::check()?;
        let queries: Vec<Query<'_>> = golds.iter().map(|gold| split.query(gold)).collect();
        let prepared = prepare(&linker, &queries)?;
        let links = linker.finish(&prepared, &linker.encode(&prepared)?, &options);
        for ((gold, query), link) in golds.iter().zip(&queries).zip(&links) {
            let mention = link.read_as.as_deref().unwrap_or(query.surface());
            let signs = linker.signs(mention, &link.candidates)?;
            all.extend(signs.map(|signs| (signs, gold.concept.is_some())));
        }
        progress.advance(golds.len() as u64);
    }
    Ok(all)
}

/// The share of mentions whose concept comes first, for each of these mixes of views, as `pel link` links; each mention is encoded
/// once.
///
/// # Errors
/// As [`open`], or if a mention cannot be encoded.
pub fn recall_by_mix(path: &Path, device: &DeviceArgs, split: &Split, mixes: &[f32]) -> Result<Vec<f64>> {
    let device = device.open(Work::Long)?;
    let mut linker = Linker::new(bundles::open(path)?, &device.device).context(|| path.display().to_string())?;
    let queries: Vec<Query<'_>> = split.queries().collect();
    let golds: Vec<_> = split.mentions.iter().map(|gold| gold.concept).collect();
    let options = LinkOptions { k: 1, ..LinkOptions::default() };
    let (mut right, mut progress) =
        (vec![0usize; mixes.len()], Progress::new("trying mixes", queries.len() as u64, "mentions"));
    for (queries, golds) in queries.chunks(MENTIONS_AT_ONCE).zip(golds.chunks(MENTIONS_AT_ONCE)) {
        let prepared = prepare(&linker, queries)?;
        let vectors = linker.encode(&prepared)?;
        for (mix, right) in mixes.iter().zip(&mut right) {
            interrupt::check()?;
            linker.set_mix(*mix).context(|| path.display().to_string())?;
            let links = linker.finish(&prepared, &vectors, &options);
            let found = links.iter().map(|link| link.candidates.first().map(|best| best.concept));
            *right += found.zip(golds).filter(|(found, gold)| gold.is_some() && found == *gold).count();
        }
        progress.advance(queries.len() as u64);
    }
    let known = golds.iter().flatten().count().max(1);
    Ok(right.into_iter().map(|right| right as f64 / known as f64).collect())
}

/// Given mentions on the road of `pel link`; those of a text stand together.
fn prepare(linker: &Linker, queries: &[Query<'_>]) -> Result<Prepared> {
    let given = |query: &Query<'_>| Detected { span: query.span, origin: Origin::Given };
    let texts = queries.chunk_by(|a, b| std::ptr::eq(a.text, b.text));
    let prepared = texts.map(|text| linker.prepare(text[0].text, text.iter().map(given).collect()));
    Ok(Prepared::join(prepared.collect::<Result<Vec<_>>>()?))
}

impl Opened {
    fn policy(&self) -> &NilPolicy {
        &self.linker.bundle().manifest.nil
    }

    fn protocol(&self) -> String {
        let bundle = self.linker.bundle();
        let (view, index, encoder) = (&bundle.manifest.view, bundle.index.info(), &bundle.manifest.encoder);
        let search = if index.hnsw.is_some() { "HNSW" } else { "exact search" };
        let search = match self.linker.scorer() {
            Scorer::Dual => search.to_owned(),
            Scorer::SumOfMax => format!("Sum-of-Max over the best {FIRST_PASS} of {search}"),
        };
        format!(
            "{}: {:?} mention of at most {} tokens{} against {:?}, {} vectors, best per concept{}, {:?} over {:?} pooling, {:?}, {search}, on {}",
            encoder.name,
            view.mention_template,
            view.mention_tokens,
            if view.abbreviations { ", short forms written out," } else { "" },
            view.concepts,
            index.rows,
            if view.mix > 0.0 { format!(" and {} of its template", view.mix) } else { String::new() },
            encoder.reduction.score,
            encoder.reduction.pooling,
            index.precision,
            self.device.name
        )
    }
}

fn ranked(candidates: &[Candidate]) -> Ranked {
    candidates.iter().map(|candidate| (candidate.concept, candidate.score)).collect()
}

impl Retriever for Search {
    fn name(&self) -> &str {
        "dense"
    }

    fn protocol(&self) -> String {
        self.0.protocol()
    }

    fn threshold(&self) -> Option<f32> {
        // One that was chosen for more than scores says nothing about these.
        self.0.policy().threshold.filter(|_| self.0.policy().lift.is_none())
    }

    fn search(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        let bundle = self.0.linker.bundle();
        let view = &bundle.manifest.view;
        let mut known: HashMap<Encoded, usize> = HashMap::new();
        let mut sequences: Vec<Encoded> = Vec::new();
        // The mentions of each sequence; a mention of which nothing is left has no candidate.
        let mut mentions: Vec<Vec<usize>> = Vec::new();
        let (mut reader, mut empty) = (view.reader(), 0);
        for (query_at, query) in queries.iter().enumerate() {
            let mention = reader.mention(query.text, query.span)?;
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
            let vectors = self.0.linker.encode_some(&rows)?;
            for (at, candidates) in places.iter().zip(self.0.linker.search(rows.len(), &vectors, k)) {
                for mention in &mentions[*at] {
                    found[*mention] = ranked(&candidates);
                }
                done(mentions[*at].len())?;
            }
        }
        Ok(found)
    }
}

impl Retriever for Road {
    fn name(&self) -> &str {
        "link"
    }

    fn protocol(&self) -> String {
        format!(
            "as `pel link` does it, names that the dictionary recognises included, NIL by {}: {}",
            if self.0.policy().lift.is_some() { "the lifted score" } else { "score alone" },
            self.0.protocol()
        )
    }

    fn threshold(&self) -> Option<f32> {
        self.0.policy().threshold
    }

    fn search(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        let linker = &self.0.linker;
        let options = LinkOptions { k, ..LinkOptions::default() };
        let mut found = Vec::with_capacity(queries.len());
        for some in queries.chunks(MENTIONS_AT_ONCE) {
            interrupt::check()?;
            let prepared = prepare(linker, some)?;
            let vectors = linker.encode(&prepared)?;
            found.extend(linker.finish(&prepared, &vectors, &options).iter().map(|link| {
                // By these NIL is judged; all of a mention move together, so that their order stays.
                let mut ranked = ranked(&link.candidates);
                ranked.iter_mut().for_each(|(_, score)| *score += link.lift);
                ranked
            }));
            done(some.len())?;
        }
        Ok(found)
    }
}
