//! A bundle as a system under measurement: its encoder and index alone, and the whole road of `pel link`.

use crate::data::concept_table::KbFile;
use crate::data::split::Query;
use crate::io::bundles;
use crate::io::device::{DeviceArgs, OpenDevice, Work};
use crate::io::interrupt;
use crate::retrieve::{Compared, Dense, Retriever};
use pel_shared::bundle::Bundle;
use pel_shared::error::{Context, Result};
use pel_shared::index::{FIRST_PASS, Queries};
use pel_shared::lexical::Ranked;
use pel_shared::linker::{Link, LinkOptions, Linker, Prepared};
use pel_shared::model::encode::{BatchSize, SequenceInterner};
use pel_shared::model::tower::Side;
use pel_shared::nil::NilPolicy;
use pel_shared::score::{Candidate, Scorer};
use pel_shared::text::detect::{Detected, Origin};
use pel_shared::tokens::Encoded;
use std::path::Path;
use std::rc::Rc;

/// Tokens of one encoder batch, padding included.
const BATCH_TOKENS: usize = 2048;
/// Mentions that go down the road of `pel link` together.
const AT_ONCE: usize = 4096;

/// A bundle on a device.
struct Opened {
    linker: Linker,
    device: OpenDevice,
}

/// Its encoder and index alone.
struct Search(Rc<Opened>);

/// The whole road of `pel link`: also the concepts whose name the dictionary recognises in the mention.
struct Road(Rc<Opened>);

/// Opens a bundle for an evaluation.
///
/// # Errors
/// If the bundle cannot be read, or the device cannot be started.
pub fn open(path: &Path, device: &DeviceArgs) -> Result<Dense> {
    // A damaged bundle is said before a GPU is started.
    let bundle = bundles::open(path)?;
    on(path, bundle, device.open(Work::Long)?)
}

/// As [`open`], on a device that is open already.
///
/// # Errors
/// As [`open`].
pub fn open_on(path: &Path, device: OpenDevice) -> Result<Dense> {
    on(path, bundles::open(path)?, device)
}

fn on(path: &Path, bundle: Bundle, device: OpenDevice) -> Result<Dense> {
    let linker = Linker::new(bundle, &device.device).context(|| path.display().to_string())?;
    let bundle = linker.bundle();
    let concepts = KbFile { kb: bundle.concepts.to_knowledge_base()?, blake3: bundle.manifest.kb.blake3.clone() };
    let abbreviations = bundle.manifest.view.abbreviations;
    let opened = Rc::new(Opened { linker, device });
    Ok(Dense { concepts, search: Box::new(Search(opened.clone())), road: Box::new(Road(opened)), abbreviations })
}

/// Mentions in groups of some thousands that part no text.
pub(crate) fn batches<'a, 'b>(queries: &'a [Query<'b>]) -> Vec<&'a [Query<'b>]> {
    let (mut batches, mut start, mut end) = (Vec::new(), 0, 0);
    for text in queries.chunk_by(|a, b| std::ptr::eq(a.text, b.text)) {
        end += text.len();
        if end - start >= AT_ONCE {
            batches.push(&queries[start..end]);
            start = end;
        }
    }
    batches.extend((start < end).then(|| &queries[start..end]));
    batches
}

/// Given mentions on the road of `pel link`; those of a text stand together.
pub(crate) fn prepare(linker: &Linker, queries: &[Query<'_>]) -> Result<Prepared> {
    let given = |query: &Query<'_>| Detected::new(query.span, Origin::Given);
    let texts = queries.chunk_by(|a, b| std::ptr::eq(a.text, b.text));
    let prepared = texts.map(|text| linker.prepare(text[0].text, text.iter().map(given).collect()));
    Ok(Prepared::join(prepared.collect::<Result<Vec<_>>>()?))
}

impl Opened {
    fn policy(&self) -> &NilPolicy {
        &self.linker.bundle().manifest.nil
    }

    fn protocol(&self) -> String {
        search_protocol(&self.linker, &self.device)
    }

    fn compared(&self) -> Compared {
        match (self.linker.bundle().index.info().hnsw, self.linker.scorer()) {
            (Some(_), _) => Compared::Graph,
            (None, Scorer::SumOfMax) => Compared::Best(FIRST_PASS),
            (None, Scorer::Dual) => Compared::All,
        }
    }
}

fn search_protocol(linker: &Linker, device: &OpenDevice) -> String {
    let bundle = linker.bundle();
    let (view, index, encoder) = (&bundle.manifest.view, bundle.index.info(), &bundle.manifest.encoder);
    let search = if index.hnsw.is_some() { "HNSW" } else { "exact search" };
    let search = match linker.scorer() {
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
        device.name
    )
}

/// What the whole road compares with what.
pub(crate) fn protocol(linker: &Linker, device: &OpenDevice, lifted: bool) -> String {
    let spelling = linker.bundle().manifest.view.spelling;
    format!(
        "as `pel link` does it, names that the dictionary recognises{} and companions included, NIL by {} unless the mention bears its best concept's name: {}",
        if spelling > 0.0 { format!(", {spelling} of spelling in a score") } else { String::new() },
        if lifted { "the lifted score" } else { "score alone" },
        search_protocol(linker, device)
    )
}

/// The candidates of a link by the scores that NIL is judged by; all of a mention move together, so that their order stays.
pub(super) fn ranked(link: &Link) -> Ranked {
    link.candidates.iter().map(|candidate| (candidate.concept, candidate.score + link.nil_offset)).collect()
}

/// As [`ranked`], with an infinite score for the first where the decision is to link it at any.
pub(crate) fn judged(link: &Link) -> Ranked {
    let mut ranked = ranked(link);
    if let (true, Some(first)) = (link.named, ranked.first_mut()) {
        first.1 = f32::INFINITY;
    }
    ranked
}

fn scored(candidates: &[Candidate]) -> Ranked {
    candidates.iter().map(|candidate| (candidate.concept, candidate.score)).collect()
}

impl Retriever for Search {
    fn name(&self) -> &str {
        "dense"
    }

    fn protocol(&self) -> String {
        self.0.protocol()
    }

    fn compared(&self) -> Compared {
        self.0.compared()
    }

    fn threshold(&self) -> Option<f32> {
        // One that was chosen for more than similarities says nothing about these.
        let alone = self.0.policy().model.is_none() && self.0.linker.bundle().manifest.view.spelling == 0.0;
        self.0.policy().threshold.filter(|_| alone)
    }

    fn search(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        let bundle = self.0.linker.bundle();
        let view = &bundle.manifest.view;
        let mut interner = SequenceInterner::default();
        // The sequence of each mention; one of which nothing is left has no candidate.
        let mut sequence_of: Vec<Option<usize>> = Vec::with_capacity(queries.len());
        let mut reader = view.reader();
        for query in queries {
            let mention = reader.mention(query.text, query.span)?;
            sequence_of.push(view.mention(&bundle.tokens, &mention)?.map(|encoded| interner.intern(encoded)));
        }
        let sequences = interner.into_sequences();
        let mut mentions = vec![0; sequences.len()];
        sequence_of.iter().flatten().for_each(|at| mentions[*at] += 1);
        done(sequence_of.iter().filter(|at| at.is_none()).count())?;
        let linker = &self.0.linker;
        let rows: Vec<&Encoded> = sequences.iter().collect();
        let batches = BatchSize::of_tokens(BATCH_TOKENS).batches(&rows);
        let mut found: Vec<Ranked> = vec![Vec::new(); sequences.len()];
        linker.encoder().encode_batches(linker.scorer(), Side::Mention, &rows, &batches, |part, vectors| {
            interrupt::check()?;
            let places = part.places();
            let candidates = linker.search(places.len(), &Queries::new(linker.encoder().dim(), vectors), k);
            for (at, candidates) in places.into_iter().zip(candidates) {
                found[at] = scored(&candidates);
                done(mentions[at])?;
            }
            Ok(())
        })?;
        Ok(sequence_of.into_iter().map(|at| at.map_or_else(Vec::new, |at| found[at].clone())).collect())
    }
}

impl Retriever for Road {
    fn name(&self) -> &str {
        "link"
    }

    fn protocol(&self) -> String {
        protocol(&self.0.linker, &self.0.device, self.0.policy().model.is_some())
    }

    fn compared(&self) -> Compared {
        self.0.compared()
    }

    fn threshold(&self) -> Option<f32> {
        self.0.policy().threshold
    }

    fn decides(&self) -> bool {
        true
    }

    fn search(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        self.linked(queries, k, done, ranked)
    }

    fn judged(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        self.linked(queries, k, done, judged)
    }
}

impl Road {
    fn linked(
        &self,
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
        of: fn(&Link) -> Ranked,
    ) -> Result<Vec<Ranked>> {
        let linker = &self.0.linker;
        let options = LinkOptions::default().k(k);
        let mut found = Vec::with_capacity(queries.len());
        for some in batches(queries) {
            interrupt::check()?;
            let prepared = prepare(linker, some)?;
            let vectors = linker.encode(&prepared, |_| interrupt::check())?;
            found.extend(linker.finish(&prepared, &vectors, &options).iter().map(of));
            done(some.len())?;
        }
        Ok(found)
    }
}
