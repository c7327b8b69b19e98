//! BM25 over words. A document is a concept: all its names and optionally its definition.
//!
//! The variant is Lucene's: idf = ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative. A
//! term's weight in a document is idf * tf / (tf + k1 * (1 - b + b * length / mean length)),
//! without the constant factor k1 + 1. Document lengths are exact. Repeated words of a query count
//! repeatedly.

use super::postings::{Document, Postings, Scratch};
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;
use pel_kb::{Concept, KnowledgeBase};
use std::collections::{BTreeMap, HashMap};

/// The parameters of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25Config {
    /// Saturation of the term frequency: at 0, repeats of a word have no effect.
    pub k1: f32,
    /// Length normalisation, from 0 (none) to 1 (full).
    pub b: f32,
    /// Whether documents include the definitions.
    pub definitions: bool,
}

impl Default for Bm25Config {
    /// k1 = 1.2 and b = 0.75 over names alone.
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.75,
            definitions: false,
        }
    }
}

/// A BM25 index of all concepts.
#[derive(Clone, Debug)]
pub struct Bm25 {
    vocabulary: HashMap<String, u32>,
    postings: Postings,
}

impl Bm25 {
    /// Indexes every concept of a knowledge base.
    ///
    /// # Errors
    /// If k1 is negative or not finite, or b is outside 0 to 1.
    pub fn new(kb: &KnowledgeBase, config: Bm25Config) -> Result<Self> {
        if !config.k1.is_finite() || config.k1 < 0.0 {
            return Err(Error::input(format!(
                "BM25: expected k1 of at least 0, found {}",
                config.k1
            )));
        }
        if !(0.0..=1.0).contains(&config.b) {
            return Err(Error::input(format!(
                "BM25: expected b from 0 to 1, found {}",
                config.b
            )));
        }
        let mut vocabulary: HashMap<String, u32> = HashMap::new();
        let mut frequency: Vec<u32> = Vec::new();
        let mut counts: Vec<BTreeMap<u32, u32>> = Vec::with_capacity(kb.len());
        for (_, concept) in kb.iter() {
            let mut counted: BTreeMap<u32, u32> = BTreeMap::new();
            for word in texts(concept, config.definitions).flat_map(words) {
                let term = *vocabulary.entry(word).or_insert_with(|| {
                    frequency.push(0);
                    frequency.len() as u32 - 1
                });
                *counted.entry(term).or_default() += 1;
            }
            counted
                .keys()
                .for_each(|term| frequency[*term as usize] += 1);
            counts.push(counted);
        }
        let length = |counted: &BTreeMap<u32, u32>| {
            counted.values().map(|count| f64::from(*count)).sum::<f64>()
        };
        let mean = counts.iter().map(length).sum::<f64>() / counts.len().max(1) as f64;
        let n = counts.len() as f64;
        let k1 = f64::from(config.k1);
        let b = f64::from(config.b);
        let idf = |df: u32| (1.0 + (n - f64::from(df) + 0.5) / (f64::from(df) + 0.5)).ln();
        let documents = kb.iter().zip(&counts).map(|((id, _), counted)| {
            let saturation = k1 * (1.0 - b + b * length(counted) / mean);
            let weight = |(term, tf): (&u32, &u32)| {
                let tf = f64::from(*tf);
                (
                    *term,
                    (idf(frequency[*term as usize]) * tf / (tf + saturation)) as f32,
                )
            };
            Document {
                terms: counted.iter().map(weight).collect(),
                concepts: vec![id],
            }
        });
        let postings = Postings::new(frequency.len(), documents.collect());
        Ok(Self {
            vocabulary,
            postings,
        })
    }

    /// The best `k` concepts that share a word with the query.
    pub fn search(&self, surface: &str, k: usize, scratch: &mut Scratch) -> Vec<Candidate> {
        let mut query: BTreeMap<u32, f32> = BTreeMap::new();
        for term in words(surface).filter_map(|word| self.vocabulary.get(&word)) {
            *query.entry(*term).or_default() += 1.0;
        }
        self.postings.search(query, k, scratch)
    }
}

fn texts(concept: &Concept, definitions: bool) -> impl Iterator<Item = &str> {
    concept
        .names()
        .chain(concept.definition.as_deref().filter(|_| definitions))
}

/// Runs of letters and digits, lower-cased.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::ConceptId;

    fn kb() -> KnowledgeBase {
        let mut kb = KnowledgeBase::new();
        for (id, name, synonyms, definition) in [
            (
                "D0",
                "Lung cancer",
                vec!["cancer of lung"],
                Some("a tumour of the lung"),
            ),
            ("D1", "lung", vec![], None),
            ("D2", "tumour", vec![], None),
        ] {
            let synonyms = synonyms.into_iter().map(str::to_owned).collect();
            let concept = Concept {
                id: id.into(),
                name: name.into(),
                synonyms,
                definition: definition.map(str::to_owned),
                ..Concept::default()
            };
            kb.push(concept).expect("new");
        }
        kb
    }

    #[test]
    fn scores_equal_the_formula() {
        let index = Bm25::new(&kb(), Bm25Config::default()).expect("good parameters");
        // The lengths are 5, 1 and 1, the mean is 7/3. "lung" is in 2 of 3 documents: idf ln(1 +
        // 1.5/2.5) = ln 1.6. "cancer" is in 1: idf ln(1 + 2.5/1.5) = ln(8/3).
        let saturation = |length: f64| 1.2 * (0.25 + 0.75 * length / (7.0 / 3.0));
        let close = |found: f32, expected: f64| (f64::from(found) - expected).abs() < 1e-6;
        let ranked = index.search("LUNG", 8, &mut Scratch::new());
        assert_eq!(
            ranked
                .iter()
                .map(|found| found.concept.0)
                .collect::<Vec<_>>(),
            [1, 0]
        );
        assert!(close(
            ranked[0].score,
            1.6f64.ln() / (1.0 + saturation(1.0))
        ));
        assert!(close(
            ranked[1].score,
            1.6f64.ln() * 2.0 / (2.0 + saturation(5.0))
        ));
        // The query repeats "cancer".
        let ranked = index.search("cancer-cancer, lung", 1, &mut Scratch::new());
        let both = (2.0 * (8.0f64 / 3.0).ln() + 1.6f64.ln()) * 2.0 / (2.0 + saturation(5.0));
        assert!(ranked[0].concept == ConceptId(0) && close(ranked[0].score, both));
        assert_eq!(index.search("the heart", 8, &mut Scratch::new()), []);
    }

    #[test]
    fn definitions_are_indexed_on_request() {
        let with = Bm25::new(
            &kb(),
            Bm25Config {
                definitions: true,
                ..Bm25Config::default()
            },
        )
        .expect("good parameters");
        let without = Bm25::new(&kb(), Bm25Config::default()).expect("good parameters");
        let found = |index: &Bm25| -> Vec<u32> {
            index
                .search("tumour", 8, &mut Scratch::new())
                .iter()
                .map(|found| found.concept.0)
                .collect()
        };
        assert_eq!((found(&with), found(&without)), (vec![2, 0], vec![2]));
    }

    #[test]
    fn parameters_out_of_range_are_errors() {
        let error = |k1, b| {
            Bm25::new(
                &kb(),
                Bm25Config {
                    k1,
                    b,
                    definitions: false,
                },
            )
            .expect_err("out of range")
            .to_string()
        };
        assert!(
            error(-1.0, 0.75).contains("found -1")
                && error(1.2, f32::NAN).contains("b from 0 to 1")
        );
    }
}
