//! The retrievers of a bundle: its encoder and index alone, and the whole pipeline of `pel link`.

use crate::retrieve::dense::MentionEncoder;
use crate::retrieve::{BundleRetrievers, CandidateLists, Retriever, SearchKind, Tick};
use crate::split::MentionQuery;
use pel_artifacts::bundles;
use pel_artifacts::concept_table::KbFile;
use pel_artifacts::device::{DeviceArgs, OpenDevice, Work};
use pel_index::FIRST_PASS;
use pel_io::interrupt;
use pel_kb::error::{Context, Result};
use pel_kb::score::{Candidate, Scorer};
use pel_linker::bundle::Bundle;
use pel_linker::{Link, LinkOptions, Linker, Prepared};
use pel_model::nil::{NilPolicy, SetLimits};
use pel_text::detect::{Detected, Origin};
use std::path::Path;
use std::rc::Rc;

/// Mentions that are linked together, at least.
const AT_ONCE: usize = 4096;

/// A bundle on a device.
struct Opened {
    linker: Linker,
    device: OpenDevice,
}

/// Searches with the encoder and the index alone.
struct DenseRetriever(Rc<Opened>);

/// Links as `pel link` does: concepts whose name the dictionary finds are candidates too.
struct LinkRetriever(Rc<Opened>);

/// Opens a bundle for an evaluation.
///
/// # Errors
/// If the bundle cannot be read, or the device cannot be started.
pub fn open(path: &Path, device: &DeviceArgs) -> Result<BundleRetrievers> {
    // A damaged bundle is reported before a GPU is started.
    let bundle = bundles::open(path)?;
    on(path, bundle, device.open(Work::Long)?)
}

/// As [`open`], on a device that is open already.
///
/// # Errors
/// As [`open`].
pub fn open_on(path: &Path, device: OpenDevice) -> Result<BundleRetrievers> {
    on(path, bundles::open(path)?, device)
}

fn on(path: &Path, bundle: Bundle, device: OpenDevice) -> Result<BundleRetrievers> {
    let linker = Linker::new(bundle, &device.device).context(|| path.display().to_string())?;
    let bundle = linker.bundle();
    let concepts = KbFile {
        kb: bundle.knowledge_base()?,
        blake3: bundle.manifest.kb.blake3.clone(),
    };
    let abbreviations = bundle.manifest.view.abbreviations;
    let trained = bundle
        .trained_concepts()
        .context(|| path.display().to_string())?;
    let opened = Rc::new(Opened { linker, device });
    let dense = Box::new(DenseRetriever(opened.clone()));
    Ok(BundleRetrievers {
        concepts,
        dense,
        link: Box::new(LinkRetriever(opened)),
        abbreviations,
        trained,
    })
}

/// Mentions in groups of some thousands. The mentions of a text stay together.
pub fn batches<'a, 'b>(queries: &'a [MentionQuery<'b>]) -> Vec<&'a [MentionQuery<'b>]> {
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

/// Prepares given mentions for linking. The mentions of a text stand together.
pub fn prepare(linker: &Linker, queries: &[MentionQuery<'_>]) -> Result<Prepared> {
    let given = |query: &MentionQuery<'_>| Detected::new(query.span, Origin::Given);
    let given: Vec<Detected> = queries.iter().map(given).collect();
    prepare_detected(linker, queries, &given)
}

/// As [`prepare`], for mentions that were detected as told.
pub fn prepare_detected(
    linker: &Linker,
    queries: &[MentionQuery<'_>],
    mut detected: &[Detected],
) -> Result<Prepared> {
    let mut prepared = Vec::new();
    for text in queries.chunk_by(|a, b| std::ptr::eq(a.text, b.text)) {
        let (own, rest) = detected.split_at(text.len());
        prepared.push(linker.steps().prepare(text[0].text, own.to_vec())?);
        detected = rest;
    }
    Ok(Prepared::join(prepared))
}

impl Opened {
    fn policy(&self) -> &NilPolicy {
        &self.linker.bundle().manifest.nil
    }

    fn protocol(&self) -> String {
        search_protocol(&self.linker, &self.device)
    }

    fn search_kind(&self) -> SearchKind {
        match (
            self.linker.bundle().index.info().hnsw,
            self.linker.steps().scorer(),
        ) {
            (Some(_), _) => SearchKind::Graph,
            (None, Scorer::SumOfMax) => SearchKind::FirstPass(FIRST_PASS),
            (None, Scorer::Dual) => SearchKind::Exact,
        }
    }
}

fn search_protocol(linker: &Linker, device: &OpenDevice) -> String {
    let bundle = linker.bundle();
    let (view, index, encoder) = (
        &bundle.manifest.view,
        bundle.index.info(),
        &bundle.manifest.encoder,
    );
    let search = if index.hnsw.is_some() {
        "HNSW"
    } else {
        "exact search"
    };
    let search = match linker.steps().scorer() {
        Scorer::Dual => search.to_owned(),
        Scorer::SumOfMax => format!("Sum-of-Max over the best {FIRST_PASS} of {search}"),
    };
    format!(
        "{}: {:?} mention of at most {} tokens{} against {:?}, {} vectors, best per concept{}, \
         {:?} over {:?} pooling, {:?}, {search}, on {}",
        encoder.name,
        view.mention_template,
        view.mention_tokens,
        if view.abbreviations {
            ", short forms written out,"
        } else {
            ""
        },
        view.concepts,
        index.rows,
        if view.mix > 0.0 {
            format!(" and {} of its template", view.mix)
        } else {
            String::new()
        },
        encoder.reduction.score,
        encoder.reduction.pooling,
        index.precision,
        device.name
    )
}

/// The protocol of `LinkRetriever` with a policy.
pub fn protocol(linker: &Linker, device: &OpenDevice, policy: &NilPolicy) -> String {
    let spelling = linker.bundle().manifest.view.spelling;
    format!(
        "as in `pel link`: with names of the dictionary{} and candidates shared in a document; NIL \
         by {}: {}",
        if spelling > 0.0 {
            format!(", {spelling} of spelling in a score")
        } else {
            String::new()
        },
        match &policy.probability {
            Some(_) => "the probability that the best concept is right",
            None => "the score alone, unless the mention is a name of its best concept",
        },
        search_protocol(linker, device)
    )
}

/// The candidates of a link with the scores that decide NIL. All scores of a mention shift alike,
/// so the order stays.
fn ranked(link: &Link) -> Vec<Candidate> {
    let best = link.candidates.first().map_or(0.0, |best| best.score);
    let value = |score: f32| match link.probability {
        Some(probability) => score - best + probability,
        None => score,
    };
    let shifted = |found: &Candidate| Candidate::new(found.concept, value(found.score));
    link.candidates.iter().map(shifted).collect()
}

/// As `ranked`. The first candidate has an infinite score if it is linked at any score: without a
/// probability, one with the mention as a name is.
pub fn judged(link: &Link) -> Vec<Candidate> {
    let mut ranked = ranked(link);
    let at_any_score = link.named && link.probability.is_none();
    if let (true, Some(first)) = (at_any_score, ranked.first_mut()) {
        first.score = f32::INFINITY;
    }
    ranked
}

impl Retriever for DenseRetriever {
    fn name(&self) -> &str {
        "dense"
    }

    fn protocol(&self) -> String {
        self.0.protocol()
    }

    fn search_kind(&self) -> SearchKind {
        self.0.search_kind()
    }

    fn threshold(&self) -> Option<f32> {
        // A threshold that was chosen for other scores does not apply to similarities.
        let policy = self.0.policy();
        let alone =
            policy.probability.is_none() && self.0.linker.bundle().manifest.view.spelling == 0.0;
        policy.threshold.filter(|_| alone)
    }

    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        let linker = &self.0.linker;
        let Bundle {
            manifest, tokens, ..
        } = linker.bundle();
        let (encoder, scorer, view) = (
            linker.steps().encoder(),
            linker.steps().scorer(),
            &manifest.view,
        );
        let mentions = MentionEncoder {
            encoder,
            scorer,
            tokens,
            view,
        };
        mentions.search(queries, done, |vectors, sequences| {
            linker.steps().search(sequences, vectors, k)
        })
    }
}

impl Retriever for LinkRetriever {
    fn name(&self) -> &str {
        "link"
    }

    fn protocol(&self) -> String {
        protocol(&self.0.linker, &self.0.device, self.0.policy())
    }

    fn search_kind(&self) -> SearchKind {
        self.0.search_kind()
    }

    fn threshold(&self) -> Option<f32> {
        self.0.policy().threshold
    }

    fn decides(&self) -> bool {
        true
    }

    fn sets(&self) -> Option<&[SetLimits]> {
        let policy = self.0.policy();
        policy.probability.is_some().then_some(&policy.sets[..])
    }

    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        self.linked(queries, k, done, ranked)
    }

    fn judged(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        self.linked(queries, k, done, judged)
    }
}

impl LinkRetriever {
    fn linked(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
        of: fn(&Link) -> Vec<Candidate>,
    ) -> Result<CandidateLists> {
        let linker = &self.0.linker;
        let options = LinkOptions::default().k(k);
        let mut found = Vec::with_capacity(queries.len());
        for some in batches(queries) {
            interrupt::check()?;
            let prepared = prepare(linker, some)?;
            let vectors = linker.steps().encode(&prepared, |_| interrupt::check())?;
            found.extend(
                linker
                    .steps()
                    .finish(&prepared, &vectors, &options)
                    .iter()
                    .map(of),
            );
            done(some.len())?;
        }
        Ok(found)
    }
}
