//! The most frequent mistakes: mentions that were missed, reported without being annotated, or
//! linked to a wrong concept.

use super::counts::{Annotated, Reported, nearest};
use pel_kb::error::Result;
use pel_kb::{Concept, ConceptId};
use pel_text::Span;
use serde::Serialize;
use std::collections::HashMap;

/// The counts of all mistakes. Texts are in lower case.
#[derive(Clone, Debug, Default)]
pub struct MistakeCounts {
    missed: HashMap<String, usize>,
    spurious: HashMap<String, usize>,
    wrong: HashMap<Confusion, usize>,
}

/// A mention that was found and not linked to a right concept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Confusion {
    text: String,
    /// One of the right concepts.
    right: ConceptId,
    /// The concept of the nearest mention; `None` for NIL.
    reported: Option<ConceptId>,
}

/// The most frequent mistakes.
#[derive(Clone, Debug, Serialize)]
pub struct Mistakes {
    /// Annotated mentions that no reported one overlaps.
    pub missed: Vec<Frequent>,
    /// Reported mentions that overlap no annotated one.
    pub spurious: Vec<Frequent>,
    /// Mentions that were found and have a concept of the knowledge base, but no overlapping link
    /// to it.
    pub wrong: Vec<WrongLink>,
}

/// A text with its frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frequent {
    /// The text in lower case.
    pub text: String,
    /// How often.
    pub count: usize,
}

/// A wrong link with its frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongLink {
    /// The text of the annotated mention in lower case.
    pub text: String,
    /// One of the right concepts.
    pub right: NamedConcept,
    /// The concept that was reported instead; `None` for NIL.
    pub reported: Option<NamedConcept>,
    /// How often.
    pub count: usize,
}

/// An identifier with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedConcept {
    /// The identifier.
    pub id: String,
    /// The preferred name.
    pub name: String,
}

impl MistakeCounts {
    /// Counts the mistakes in a document.
    pub fn add(&mut self, text: &str, annotated: &[Annotated], reported: &[Reported]) {
        for found in reported {
            if !annotated.iter().any(|one| one.span.overlaps(&found.span)) {
                *self.spurious.entry(words(text, found.span)).or_default() += 1;
            }
        }
        for one in annotated {
            let here = reported
                .iter()
                .filter(|found| found.span.overlaps(&one.span));
            let Some(nearest) = nearest(one, reported) else {
                *self.missed.entry(words(text, one.span)).or_default() += 1;
                continue;
            };
            for item in one.items() {
                let mut linked = here.clone().filter_map(|found| found.concept);
                let Some(right) = item.first() else {
                    continue;
                };
                if !linked.any(|concept| item.contains(&concept)) {
                    let confusion = Confusion {
                        text: words(text, one.span),
                        right: *right,
                        reported: nearest.concept,
                    };
                    *self.wrong.entry(confusion).or_default() += 1;
                }
            }
        }
    }

    /// The `show` most frequent mistakes of each kind. `concept` reads a concept.
    ///
    /// # Errors
    /// If a concept cannot be read.
    pub fn most_frequent(
        &self,
        show: usize,
        concept: impl Fn(ConceptId) -> Result<Concept>,
    ) -> Result<Mistakes> {
        let named = |id: ConceptId| -> Result<NamedConcept> {
            let Concept { id, name, .. } = concept(id)?;
            Ok(NamedConcept { id, name })
        };
        let texts = |counts: &HashMap<String, usize>| {
            first(counts, show)
                .into_iter()
                .map(|(text, count)| Frequent { text, count })
                .collect()
        };
        let wrong = |(confusion, count): (Confusion, usize)| -> Result<WrongLink> {
            Ok(WrongLink {
                text: confusion.text,
                right: named(confusion.right)?,
                reported: confusion.reported.map(named).transpose()?,
                count,
            })
        };
        Ok(Mistakes {
            missed: texts(&self.missed),
            spurious: texts(&self.spurious),
            wrong: first(&self.wrong, show)
                .into_iter()
                .map(wrong)
                .collect::<Result<_>>()?,
        })
    }
}

/// The text of a span in lower case. Spans were checked when they were read.
fn words(text: &str, span: Span) -> String {
    span.of(text).unwrap_or_default().to_lowercase()
}

/// The `show` most frequent entries; equally frequent ones in their own order.
fn first<K: Clone + Ord>(counts: &HashMap<K, usize>, show: usize) -> Vec<(K, usize)> {
    let mut all: Vec<(&K, usize)> = counts.iter().map(|(key, count)| (key, *count)).collect();
    all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    all.into_iter()
        .take(show)
        .map(|(key, count)| (key.clone(), count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn mistakes_equal_hand_counts() {
        let text = "Fever, cough, MS, rash";
        let annotated = |start, end, concept: Option<u32>| Annotated {
            span: Span::new(start, end),
            concepts: concept.map(ConceptId).into_iter().collect(),
            parts: Vec::new(),
            types: BTreeSet::new(),
            context: None,
        };
        let reported = |start, end, concept: Option<u32>| Reported {
            span: Span::new(start, end),
            concept: concept.map(ConceptId),
            context: BTreeSet::new(),
        };
        let mut counts = MistakeCounts::default();
        // "rash" has no concept, so its link is not a wrong one here.
        let right = [
            annotated(0, 5, Some(1)),
            annotated(7, 12, Some(2)),
            annotated(14, 16, Some(3)),
            annotated(18, 22, None),
        ];
        counts.add(
            text,
            &right,
            &[reported(14, 16, Some(4)), reported(18, 22, Some(5))],
        );
        counts.add(text, &right[..2], &[reported(7, 12, None)]);
        counts.add(text, &[], &[reported(7, 12, Some(2))]);
        let concept = |id: ConceptId| -> Result<Concept> {
            Ok(Concept {
                id: format!("D{}", id.0),
                name: format!("name {}", id.0),
                ..Default::default()
            })
        };
        let all = counts.most_frequent(9, concept).expect("readable");
        let texts = |frequent: &[Frequent]| {
            frequent
                .iter()
                .map(|one| (one.text.clone(), one.count))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(&all.missed),
            [("fever".to_owned(), 2), ("cough".to_owned(), 1)]
        );
        assert_eq!(texts(&all.spurious), [("cough".to_owned(), 1)]);
        let wrong: Vec<_> = all
            .wrong
            .iter()
            .map(|one| {
                let reported = one.reported.as_ref().map(|concept| concept.id.as_str());
                (one.text.as_str(), one.right.id.as_str(), reported)
            })
            .collect();
        assert_eq!(wrong, [("cough", "D2", None), ("ms", "D3", Some("D4"))]);
        let one = counts.most_frequent(1, concept).expect("readable");
        assert_eq!((one.missed.len(), one.wrong.len()), (1, 1));
    }
}
