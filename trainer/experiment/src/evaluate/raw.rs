//! Evaluation on raw text: detection, linking and decision together.
//!
//! Mentions are detected and linked as by `pel link`, and compared with the annotated ones. The
//! other figures of [`evaluate`](super::evaluate) are of given mentions.

pub mod counts;
pub mod documents;
pub mod mistakes;
pub mod report;

use super::{Intervals, KbCounts};
use counts::{Counts, Reported, values_of};
use documents::{AnnotatedText, AnnotatedTexts, Source};
use mistakes::MistakeCounts;
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_io::provenance::Run;
use pel_kb::error::{Context, Result};
use pel_kb::{Concept, ConceptId};
use pel_linker::{Link, LinkOptions, Linker, Prepared};
use pel_model::nil::Decision;
use pel_notes::link::second_stage::SecondStage;
use pel_text::detect::join;
use rayon::prelude::*;
use report::{MentionCounts, RawEvaluation, RawFigures};
use std::collections::HashMap;

/// Documents whose mentions are detected at once.
const DOCUMENTS: usize = 64;

/// Mentions that are linked at once, which bounds the memory. A document with more is linked alone.
const MENTIONS: usize = 1 << 14;

/// Which reported mentions are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Types of concepts.
    pub types: Vec<String>,
    /// Sources of concepts.
    pub sources: Vec<String>,
}

impl Filter {
    /// Whether all mentions are counted.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.sources.is_empty()
    }

    /// Whether a concept has one of the types or comes from one of the sources.
    pub fn accepts(&self, concept: &Concept) -> bool {
        let has = |own: &[String], wanted: &[String]| own.iter().any(|name| wanted.contains(name));
        self.is_empty() || has(&concept.types, &self.types) || has(&concept.sources, &self.sources)
    }
}

/// What links the documents, and how.
pub struct Pipeline {
    /// The linker.
    pub linker: Linker,
    /// The cross-encoder, if any.
    pub second: Option<SecondStage>,
    /// Options of the linker; `k` covers the candidates for the cross-encoder.
    pub options: LinkOptions,
    /// Which reported mentions are counted.
    pub filter: Filter,
}

/// Links the documents of a source and measures the links. `show` is the number of mistakes of each
/// kind to list; 0 lists none.
///
/// # Errors
/// If the documents cannot be read, the device fails, or after an interrupt.
pub fn measure(source: &Source, pipeline: &Pipeline, show: usize) -> Result<RawEvaluation> {
    let bundle = pipeline.linker.bundle();
    let AnnotatedTexts {
        documents,
        unit,
        with_concept,
        composite: [composite, parts],
        skipped,
    } = source.read(&|id| Ok(bundle.resolve(id)?.concept()))?;
    let mut counts = Vec::with_capacity(documents.len());
    let (mut mistakes, mut left_out) = (MistakeCounts::default(), 0);
    let mut accepted = HashMap::new();
    let mut progress = Progress::new("linking", documents.len() as u64, "documents");
    for window in documents.chunks(DOCUMENTS) {
        for (document, links) in window.iter().zip(pipeline.link(window)?) {
            let reported = pipeline.reported(&links, &mut accepted)?;
            left_out += links.len() - reported.len();
            counts.push(Counts::of(&document.annotated, &reported, unit));
            if show > 0 {
                mistakes.add(&document.text, &document.annotated, &reported);
            }
            progress.advance(1);
        }
    }
    drop(progress);
    let figures = RawFigures::new(&counts);
    let counts = MentionCounts {
        documents: documents.len(),
        annotated: figures.spans_strict.recall.share.of,
        with_concept,
        composite,
        parts,
        in_kb: figures.concepts_strict.recall.share.of,
        reported: figures.spans_strict.precision.share.of,
        linked: figures.concepts_strict.precision.share.of,
        left_out,
        skipped: skipped.reasons(),
    };
    if counts.in_kb == 0 {
        eprintln!(
            "warning: no annotated mention has its concept in this knowledge base: are its \
             identifiers of another vocabulary?"
        );
    }
    let mistakes = match show {
        0 => None,
        show => Some(mistakes.most_frequent(show, |id| pipeline.linker.concept(id))?),
    };
    Ok(RawEvaluation {
        run: Run::here(),
        input: source.path().display().to_string(),
        split: source.split().map(str::to_owned),
        kb: KbCounts {
            concepts: bundle.concepts.len(),
            blake3: bundle.manifest.kb.blake3.clone(),
        },
        detection: pipeline.detection(),
        reranked: pipeline.second.as_ref().map(|second| second.count),
        types: pipeline.filter.types.clone(),
        sources: pipeline.filter.sources.clone(),
        counts,
        intervals: Intervals::default(),
        figures,
        mistakes,
    })
}

impl Pipeline {
    /// How mentions are detected.
    fn detection(&self) -> String {
        let detect = &self.options.detect;
        let nested = match detect.overlapping {
            true => ", nested and overlapping mentions too",
            false => "",
        };
        match &self.linker.bundle().detector {
            Some(detector) if !detect.names_only => {
                let scheme = detector.info().schemes.get(detect.scheme);
                let labels = scheme.map_or("", |scheme| scheme.name.as_str());
                format!("by the detector of the bundle (labels {labels}){nested}")
            }
            _ => format!("by the dictionary alone{nested}"),
        }
    }

    /// Links documents, each as a text of its own.
    fn link(&self, documents: &[AnnotatedText]) -> Result<Vec<Vec<Link>>> {
        interrupt::check()?;
        let prepare = |document: &AnnotatedText| {
            self.linker
                .detect(&document.text, &self.options)
                // `pel link` orders mentions by joining them with given ones.
                .map(|found| join(Vec::new(), found))
                .and_then(|mentions| self.linker.steps().prepare(&document.text, mentions))
                .context(|| document.name.clone())
        };
        let prepared: Vec<Prepared> = documents
            .par_iter()
            .map(prepare)
            .collect::<Result<Vec<_>>>()?;
        let mut links = Vec::with_capacity(documents.len());
        let (mut together, mut mentions) = (Vec::new(), 0);
        for one in prepared {
            if !together.is_empty() && mentions + one.mentions() > MENTIONS {
                links.extend(self.link_together(std::mem::take(&mut together))?);
                mentions = 0;
            }
            mentions += one.mentions();
            together.push(one);
        }
        links.extend(self.link_together(together)?);
        if let Some(second) = &self.second {
            for (document, links) in documents.iter().zip(&mut links) {
                second
                    .rerank(&self.linker, &document.text, links)
                    .context(|| document.name.clone())?;
            }
        }
        Ok(links)
    }

    /// Links prepared documents in one batch.
    fn link_together(&self, prepared: Vec<Prepared>) -> Result<Vec<Vec<Link>>> {
        let counts: Vec<usize> = prepared.iter().map(Prepared::mentions).collect();
        let joined = Prepared::join(prepared);
        let queries = self
            .linker
            .steps()
            .encode(&joined, |_| interrupt::check())?;
        let mut links = self
            .linker
            .steps()
            .finish(&joined, &queries, &self.options)
            .into_iter();
        Ok(counts
            .iter()
            .map(|count| links.by_ref().take(*count).collect())
            .collect())
    }

    /// The mentions of links that the filter accepts. `accepted` remembers its answers.
    fn reported(
        &self,
        links: &[Link],
        accepted: &mut HashMap<ConceptId, bool>,
    ) -> Result<Vec<Reported>> {
        let mut reported = Vec::with_capacity(links.len());
        for link in links {
            let nearest = link.candidates.first().map(|best| best.concept);
            let concept = match link.decision {
                Decision::Linked { best } => nearest.or(Some(best.concept)),
                Decision::Nil { .. } => None,
            };
            if self.is_counted(concept.or(nearest), accepted)? {
                reported.push(Reported {
                    span: link.span,
                    concept,
                    context: values_of(&link.context),
                });
            }
        }
        Ok(reported)
    }

    /// Whether a mention with this concept or nearest candidate is counted.
    fn is_counted(
        &self,
        concept: Option<ConceptId>,
        accepted: &mut HashMap<ConceptId, bool>,
    ) -> Result<bool> {
        if self.filter.is_empty() {
            return Ok(true);
        }
        let Some(id) = concept else {
            return Ok(false);
        };
        if let Some(known) = accepted.get(&id) {
            return Ok(*known);
        }
        let accepts = self.filter.accepts(&self.linker.concept(id)?);
        accepted.insert(id, accepts);
        Ok(accepts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_accepts_a_type_or_a_source() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let concept = Concept {
            types: words(&["Disease", "Finding"]),
            sources: words(&["MONDO"]),
            ..Default::default()
        };
        let accepts = |types: &[&str], sources: &[&str]| {
            let filter = Filter {
                types: words(types),
                sources: words(sources),
            };
            filter.accepts(&concept)
        };
        assert!(accepts(&[], &[]));
        assert!(accepts(&["Finding"], &[]));
        assert!(accepts(&["Chemical"], &["HPO", "MONDO"]));
        assert!(!accepts(&["Chemical"], &["HPO"]));
        assert!(!accepts(&["disease"], &[]));
    }
}
