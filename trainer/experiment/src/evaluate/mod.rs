//! Evaluation: recall at k, and NIL detection.
//!
//! Every system is a [`Retriever`]. A run measures all systems on the same mentions.

pub mod bundle_settings;
mod calibration;
mod decisions;
mod figures;
pub mod hits;
pub mod leave_out;
mod nil_figures;
mod options;
mod outcomes;
pub mod paired;
pub mod probability;
mod probability_figures;
pub mod ranks;
pub mod raw;
mod report;
pub mod score_weights;
mod trial;

pub use calibration::{Calibration, Probabilities, Rule, TOP};
pub use decisions::{Decisions, WithConcept, WithoutConcept};
pub use figures::{DomainFigures, Figures, MacroAt, Ranking, Recall};
pub use nil_figures::NilFigures;
pub use options::Options;
pub use outcomes::At;
use pel_corpora::mention_domains::{By, Domains, of_documents};
use pel_corpora::retrieve::lexical::{System, chosen, lexical, needs_bundle};
use pel_corpora::retrieve::{BundleRetrievers, Retriever, judged};
use pel_corpora::split::{Reading, SeenBy, Split, TrainingSplit};
use pel_io::provenance::Run;
pub use probability_figures::{GroupForecasts, ProbabilityFigures, SetFigures};
pub use report::{Evaluation, Intervals, KbCounts, TrainedCounts};
pub use trial::Trial;

use nil_figures::Thresholds;
use pel_artifacts::concept_table;
use pel_artifacts::concept_table::KbFile;
use pel_corpora::retrieve::domain_filter::Within;
use pel_corpora::retrieve::rerank::{Reranked, Reranker, Scored};
use pel_corpora::split::has_split;
use pel_io::interrupt;
use pel_kb::KnowledgeBase;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::TrainedConcepts;
use pel_model::cross_encoder::Ranker;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Instant;

/// The default split to choose thresholds on.
const DEV: &str = "dev";

/// The default training split.
const TRAIN: &str = "train";

/// A ranker to measure.
pub struct Second {
    /// The ranker.
    pub ranker: Ranker,
    /// The numbers of candidates that it reorders, each measured.
    pub ks: Vec<usize>,
}

/// What an evaluation measures, and what its systems are built from.
struct Material {
    concepts: KbFile,
    training: Option<TrainingSplit>,
    /// The split that is measured.
    measured: Split,
    /// The split on which thresholds are chosen; `None` if it is the measured one.
    calibration: Option<Split>,
    domains: Vec<Domains>,
}

/// The part of a bundle in an evaluation; that of no bundle by default.
#[derive(Default)]
struct Bundled {
    concepts: Option<KbFile>,
    dense: Option<Box<dyn Retriever>>,
    link: Option<Box<dyn Retriever>>,
    trained: Option<TrainedConcepts>,
}

/// Measures systems. `open` opens the bundle, if one is given.
///
/// # Errors
/// If an option does not fit the corpus, or anything cannot be read or encoded.
pub fn evaluate(
    args: &Options,
    open: impl FnOnce(&Path) -> Result<BundleRetrievers>,
    second: Option<&Second>,
) -> Result<Evaluation> {
    let train_split = args.train_split.as_deref().unwrap_or(TRAIN);
    let has_training = has_split(&args.corpus, train_split);
    let systems = chosen(args.systems.as_deref(), has_training, args.bundle.is_some())?;
    let (mut bundled, abbreviations) = open_bundle(args, open)?;
    let concepts = concepts(args.kb.as_deref(), bundled.concepts.take())?;
    let training = match has_training || systems.contains(&System::Majority) {
        true => Some(
            TrainingSplit::read(&args.corpus, train_split)
                .context(|| "the training split".into())?,
        ),
        false => None,
    };
    let trained = bundled
        .trained
        .take()
        .filter(|_| args.train_split.is_none())
        .map(|trained| current_ids(&trained, &concepts.kb))
        .transpose()?;
    let of_model = trained.as_ref().map(|(ids, _)| (ids, SeenBy::Model));
    let of_split = training
        .as_ref()
        .map(|training| (&training.concepts, SeenBy::TrainingSplit));
    let reading = Reading {
        every: args.every as usize,
        seen: of_model.or(of_split),
        by_part: true,
    };
    let (measured, calibration) = splits(args, &concepts.kb, reading)?;
    let domains = domains(args, &measured, &concepts)?;
    let material = Material {
        concepts,
        training,
        measured,
        calibration,
        domains,
    };
    let mut rows = Vec::new();
    for system in systems {
        interrupt::check()?;
        let began = Instant::now();
        let retriever = build(system, &mut bundled, &material, abbreviations)?;
        let build_seconds = began.elapsed().as_secs_f64();
        material.measure(args, retriever.as_ref(), build_seconds, second, &mut rows)?;
    }
    warn_of_thresholds(&rows);
    let Material {
        concepts,
        training,
        measured,
        calibration,
        ..
    } = material;
    warn_without_gold(&measured);
    Ok(Evaluation {
        run: Run::here(),
        corpus: args.corpus.display().to_string(),
        kb: KbCounts {
            concepts: concepts.kb.len(),
            blake3: concepts.blake3,
        },
        top: args.top as usize,
        abbreviations,
        split: measured.counts,
        training: training.map(|training| training.counts),
        trained: trained.map(|(_, counts)| counts),
        calibration: calibration.map(|split| split.counts),
        intervals: Intervals::default(),
        by: args.by.clone().unwrap_or_default(),
        systems: rows,
    })
}

/// Opens the bundle, if one is given, and tells whether systems expand the short forms that a text
/// defines.
fn open_bundle(
    args: &Options,
    open: impl FnOnce(&Path) -> Result<BundleRetrievers>,
) -> Result<(Bundled, bool)> {
    let Some(opened) = args.bundle.as_deref().map(open).transpose()? else {
        return Ok((Bundled::default(), !args.keep_abbreviations));
    };
    if opened.abbreviations && args.keep_abbreviations {
        return Err(Error::input(
            "--keep-abbreviations: expected a bundle that reads short forms as they stand \
             (`pel index --keep-abbreviations`), found one that writes them out",
        ));
    }
    let bundled = Bundled {
        concepts: Some(opened.concepts),
        dense: Some(opened.dense),
        link: Some(opened.link),
        trained: opened.trained,
    };
    Ok((bundled, opened.abbreviations))
}

/// Reads the split that is measured, and the one on which thresholds are chosen if it is another.
fn splits(
    args: &Options,
    kb: &KnowledgeBase,
    reading: Reading<'_>,
) -> Result<(Split, Option<Split>)> {
    let read = |split: &str| {
        Split::read_as(&args.corpus, split, kb, reading)?.in_own_domain(args.within_domain, kb)
    };
    let measured = read(&args.split)?.not_empty()?;
    let calibration = match &args.calibrate_split {
        Some(split) if *split == args.split => None,
        Some(split) => match read(split)? {
            read if read.counts.nil == 0 => {
                return Err(Error::input(format!(
                    "the split {split} has no NIL mention to choose a threshold by"
                )));
            }
            read => Some(read),
        },
        None if has_split(&args.corpus, DEV) && args.split != DEV => {
            Some(read(DEV)?).filter(|read| read.counts.nil > 0)
        }
        None => None,
    };
    Ok((measured, calibration))
}

/// Builds a system. Those of the bundle are taken from it.
fn build(
    system: System,
    bundled: &mut Bundled,
    material: &Material,
    abbreviations: bool,
) -> Result<Box<dyn Retriever>> {
    match system {
        System::Dense => bundled.dense.take().ok_or_else(|| needs_bundle(system)),
        System::Link => bundled.link.take().ok_or_else(|| needs_bundle(system)),
        other => Ok(Box::new(lexical(
            other,
            &material.concepts.kb,
            material.training.as_ref(),
            abbreviations,
        )?)),
    }
}

impl Material {
    /// Measures a system, then its candidates as the ranker reorders them.
    fn measure(
        &self,
        args: &Options,
        retriever: &dyn Retriever,
        build_seconds: f64,
        second: Option<&Second>,
        rows: &mut Vec<Figures>,
    ) -> Result<()> {
        let kb = &self.concepts.kb;
        let within = args
            .within_domain
            .map(|own| Within::new(retriever, kb, own));
        let retriever: &dyn Retriever = within.as_ref().map_or(retriever, |within| within);
        let top = args.top as usize;
        let measure = |retriever: &dyn Retriever| {
            let calibration = self.calibration.as_ref();
            measure(retriever, &self.measured, calibration, &self.domains, top)
        };
        rows.push(Figures {
            build_seconds,
            ..measure(retriever)?
        });
        let Some(Second { ranker, ks }) = second else {
            return Ok(());
        };
        let reranker = Reranker::new(ranker, kb);
        let most = ks.iter().copied().max().unwrap_or(0);
        let began = Instant::now();
        let scored = Scored::new(retriever, &reranker, &self.measured, most, top)?;
        let search_seconds = began.elapsed().as_secs_f64();
        for k in ks {
            rows.push(Figures {
                search_seconds,
                ..measure(&Reranked::new(retriever, &scored, *k))?
            });
        }
        Ok(())
    }
}

/// Warns of thresholds that reject every mention.
fn warn_of_thresholds(rows: &[Figures]) {
    for (figures, nil) in rows
        .iter()
        .flat_map(|figures| figures.nil.iter().map(move |nil| (figures, nil)))
        .filter(|(_, nil)| nil.rejects_all)
    {
        let NilFigures {
            threshold,
            chosen_on,
            ..
        } = nil;
        if chosen_on == Thresholds::BUNDLE {
            eprintln!(
                "warning: {}: the bundle's threshold ({threshold:.4}) rejects every mention that a \
                 threshold can: was it chosen for other scores? `pel calibrate` chooses one",
                figures.system
            );
            continue;
        }
        eprintln!(
            "warning: {}: the threshold with the best F1 of NIL on the split {chosen_on} \
             ({threshold:.4}) rejects every mention there that a threshold can; its figures say \
             nothing about the system. A split with more mentions of either kind chooses better: \
             --calibrate-split",
            figures.system
        );
    }
}

/// Warns if the knowledge base has the concept of no mention.
fn warn_without_gold(measured: &Split) {
    if measured.counts.in_kb == 0 {
        let split = &measured.counts.split;
        eprintln!(
            "no mention of the split {split} has its concept in this knowledge base: are its \
             identifiers of another vocabulary?"
        );
    }
}

/// Measures one system: searches for the mentions of a split, chooses NIL thresholds, and computes
/// the figures. The thresholds are chosen on `calibration`, or without it on the same split.
///
/// # Errors
/// If a mention cannot be encoded, or the user interrupts.
pub fn measure(
    retriever: &dyn Retriever,
    split: &Split,
    calibration: Option<&Split>,
    domains: &[Domains],
    top: usize,
) -> Result<Figures> {
    let began = Instant::now();
    let mut ranked = judged(retriever, split, top, "searching")?;
    split.unify_gold(&mut ranked);
    let seconds = began.elapsed().as_secs_f64();
    let thresholds = match calibration {
        Some(other) => {
            // A ranker does not change the best score.
            let by_score = retriever
                .first_stage()
                .map_or(retriever, |(first, _)| first);
            Thresholds::new(
                retriever,
                split,
                other,
                &judged(by_score, other, 1, "calibrating")?,
                false,
            )
        }
        None => Thresholds::new(retriever, split, split, &ranked, true),
    };
    Ok(Figures::new(
        retriever,
        split,
        domains,
        &ranked,
        top,
        &thresholds,
        [0.0, seconds],
    ))
}

/// The domains of `--by`; by default semantic types if the knowledge base has any.
fn domains(args: &Options, measured: &Split, concepts: &KbFile) -> Result<Vec<Domains>> {
    let says_domain = measured
        .documents
        .iter()
        .any(|document| document.domain.is_some());
    // By default, without types, the domains of documents are used.
    let has_types = concepts
        .kb
        .iter()
        .any(|(_, concept)| !concept.types.is_empty() || !concept.type_ids.is_empty());
    let by = if !has_types && says_domain {
        By::Domain
    } else {
        By::Type
    };
    let mut asked = args.by.clone().unwrap_or_else(|| vec![by]);
    asked.dedup();
    let of_document = match asked.contains(&By::Domain) {
        true => of_documents(&args.corpus)?,
        false => HashMap::new(),
    };
    let domains = asked
        .into_iter()
        .map(|by| Domains::new(by, measured, &concepts.kb, &of_document));
    let domains: Vec<Domains> = domains
        .filter(|domains| args.by.is_some() || !domains.names.is_empty())
        .collect();
    match domains.iter().find(|domains| domains.names.is_empty()) {
        Some(none) if measured.counts.in_kb > 0 => {
            let (by, split) = (none.by.plural(), &args.split);
            Err(Error::input(format!(
                "--by: no mention of the split {split} has {by} to group figures by"
            )))
        }
        _ => Ok(domains),
    }
}

/// The identifiers of the concepts whose mentions a model was trained on, with those of the
/// successors of retired ones. Warns if none is in the knowledge base.
fn current_ids(
    trained: &TrainedConcepts,
    kb: &KnowledgeBase,
) -> Result<(HashSet<String>, TrainedCounts)> {
    let mut ids: HashSet<String> = trained.iter().map(str::to_owned).collect();
    let mut in_kb = 0;
    for id in trained.iter() {
        if kb.find(id).is_some() {
            in_kb += 1;
        } else if let Some(successor) = kb.successor(id)?.and_then(|at| kb.get(at)) {
            in_kb += 1;
            ids.insert(successor.id.clone());
        }
    }
    let concepts = trained.len();
    if in_kb == 0 && concepts > 0 {
        eprintln!(
            "warning: none of the {concepts} concepts that the bundle's model was trained on is in \
             this knowledge base: are its identifiers of another vocabulary? --train-split takes \
             those of a split instead"
        );
    }
    Ok((ids, TrainedCounts { concepts, in_kb }))
}

/// The concepts: those of the table, or else the bundle's. Both must be equal if both are given.
fn concepts(table: Option<&Path>, bundled: Option<KbFile>) -> Result<KbFile> {
    let Some(path) = table else {
        return bundled.ok_or_else(|| Error::input("expected the concepts: give --kb or --bundle"));
    };
    let mut concepts = concept_table::read(path)?;
    if let Some(bundled) = &bundled {
        concepts.kb.set_redirects(bundled.kb.redirects().cloned());
    }
    let ids = |file: &KbFile| {
        file.kb
            .iter()
            .map(|(_, concept)| concept.id.clone())
            .collect::<Vec<_>>()
    };
    if bundled.is_some_and(|bundled| ids(&bundled) != ids(&concepts)) {
        let why = "expected the bundle's concepts in the bundle's order; leave --kb out to use the \
                   bundle's own";
        return Err(Error::input(format!("{}: {why}", path.display())));
    }
    Ok(concepts)
}

#[cfg(test)]
mod tests;
