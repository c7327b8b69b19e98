//! TF-IDF of character 3-grams: one vector for each name, cosine similarity, and the most similar
//! name of each concept.
//!
//! The weights equal scikit-learn's `TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3))` with
//! its defaults, fitted on all names of all concepts. A name of several concepts counts once for
//! each. Text is lower-cased and split at whitespace. Each word is padded with one space at both
//! ends and split into overlapping 3-grams. A gram's weight is its count times its inverse document
//! frequency ln((1 + n) / (1 + df)) + 1. Vectors have unit length. Grams of a query that no name
//! has do not count towards its length.

use super::postings::{Document, Postings, Scratch};
use pel_kb::score::Candidate;
use pel_kb::{ConceptId, KnowledgeBase};
use std::collections::HashMap;

/// A 3-gram: three code points of 21 bits each.
pub(super) type Gram = u64;

/// The distinct 3-grams of a text in ascending order, with counts.
pub(super) type Counts = Vec<(Gram, u32)>;

/// A TF-IDF index of all names.
#[derive(Clone, Debug)]
pub struct CharTfidf {
    vocabulary: HashMap<Gram, u32>,
    idf: Vec<f64>,
    postings: Postings,
}

impl CharTfidf {
    /// Indexes every name of a knowledge base.
    pub fn new(kb: &KnowledgeBase) -> Self {
        // Equal names have equal vectors, so they are one document of all their concepts.
        let mut names: HashMap<String, usize> = HashMap::new();
        let mut distinct: Vec<(Counts, Vec<ConceptId>)> = Vec::new();
        for (id, concept) in kb.iter() {
            for name in concept.names() {
                let name = name.to_lowercase();
                let at = *names.entry(name).or_insert_with_key(|name| {
                    distinct.push((count(name), Vec::new()));
                    distinct.len() - 1
                });
                let concepts = &mut distinct[at].1;
                if concepts.last() != Some(&id) {
                    concepts.push(id);
                }
            }
        }
        let total: usize = distinct.iter().map(|(_, concepts)| concepts.len()).sum();
        let mut vocabulary = HashMap::new();
        let mut frequency: Vec<usize> = Vec::new();
        for (grams, concepts) in &distinct {
            for (gram, _) in grams {
                let term = *vocabulary.entry(*gram).or_insert_with(|| {
                    frequency.push(0);
                    frequency.len() as u32 - 1
                });
                frequency[term as usize] += concepts.len();
            }
        }
        let idf: Vec<f64> = frequency
            .iter()
            .map(|df| ((1 + total) as f64 / (1 + df) as f64).ln() + 1.0)
            .collect();
        let documents = distinct.into_iter().map(|(grams, concepts)| {
            let terms = weigh(&grams, &vocabulary, &idf);
            Document { terms, concepts }
        });
        let postings = Postings::new(idf.len(), documents.collect());
        Self {
            vocabulary,
            idf,
            postings,
        }
    }

    /// The number of distinct 3-grams.
    pub fn grams(&self) -> usize {
        self.idf.len()
    }

    /// The best `k` concepts by the cosine similarity (0 to 1) of their most similar name. Concepts
    /// without a shared gram are left out.
    pub fn search(&self, surface: &str, k: usize, scratch: &mut Scratch) -> Vec<Candidate> {
        let query = weigh(&count(&surface.to_lowercase()), &self.vocabulary, &self.idf);
        self.postings.search(query, k, scratch)
    }
}

/// Counts the 3-grams of a lower-cased text.
pub(super) fn count(lower: &str) -> Counts {
    // Python's whitespace includes four separators that Unicode's White_Space property lacks.
    let is_space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    let mut grams = Vec::new();
    for word in lower.split(is_space).filter(|word| !word.is_empty()) {
        let mut window: Gram = ' '.into();
        for (at, c) in word.chars().chain([' ']).enumerate() {
            window = (window << 21 | Gram::from(u32::from(c))) & ((1 << 63) - 1);
            if at > 0 {
                grams.push(window);
            }
        }
    }
    grams.sort_unstable();
    let runs = grams.chunk_by(|a, b| a == b);
    runs.filter_map(|run| run.first().map(|gram| (*gram, run.len() as u32)))
        .collect()
}

/// Computes the unit vector of a text over the grams in the vocabulary.
fn weigh(grams: &[(Gram, u32)], vocabulary: &HashMap<Gram, u32>, idf: &[f64]) -> Vec<(u32, f32)> {
    let known = grams.iter().filter_map(|(gram, count)| {
        let term = *vocabulary.get(gram)?;
        Some((term, f64::from(*count) * idf.get(term as usize)?))
    });
    let weights: Vec<(u32, f64)> = known.collect();
    let length = weights
        .iter()
        .map(|(_, weight)| weight * weight)
        .sum::<f64>()
        .sqrt();
    weights
        .into_iter()
        .map(|(term, weight)| (term, (weight / length) as f32))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::Concept;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Golden {
        names: Vec<String>,
        queries: Vec<String>,
        /// The inverse document frequency of each gram.
        idf: std::collections::BTreeMap<String, f64>,
        /// The cosine similarity of each query with each name.
        cosine: Vec<Vec<f64>>,
    }

    fn one_concept_per_name(names: &[String]) -> KnowledgeBase {
        let mut kb = KnowledgeBase::new();
        for (at, name) in names.iter().enumerate() {
            kb.push(Concept {
                id: format!("D{at}"),
                name: name.clone(),
                ..Concept::default()
            })
            .expect("new");
        }
        kb
    }

    #[test]
    fn weights_and_similarities_equal_scikit_learn() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../../tests/goldens/tfidf.json"))
                .expect("the golden file");
        let index = CharTfidf::new(&one_concept_per_name(&golden.names));
        assert_eq!(index.grams(), golden.idf.len());
        for (gram, idf) in &golden.idf {
            let key = gram
                .chars()
                .fold(0, |key, c| key << 21 | Gram::from(u32::from(c)));
            let term = *index
                .vocabulary
                .get(&key)
                .unwrap_or_else(|| panic!("{gram:?} is missing"));
            assert!((index.idf[term as usize] - idf).abs() < 1e-12, "{gram:?}");
        }
        let mut scratch = Scratch::new();
        for (query, cosine) in golden.queries.iter().zip(&golden.cosine) {
            let ranked = index.search(query, golden.names.len(), &mut scratch);
            assert_eq!(
                ranked.len(),
                cosine.iter().filter(|cosine| **cosine > 0.0).count(),
                "{query:?}"
            );
            for Candidate { concept, score } in ranked {
                let at = concept.index();
                assert!(
                    (f64::from(score) - cosine[at]).abs() < 1e-6,
                    "{query:?} and name {at}"
                );
            }
        }
    }

    #[test]
    fn count_pads_words_and_counts_repeated_grams() {
        let spell = |text: &str| -> Vec<(String, u32)> {
            let letters = |gram: Gram| [gram >> 42, gram >> 21 & 0x1f_ffff, gram & 0x1f_ffff];
            let spelled = |gram| {
                letters(gram)
                    .into_iter()
                    .filter_map(|c| char::from_u32(c as u32))
                    .collect()
            };
            count(text)
                .into_iter()
                .map(|(gram, count)| (spelled(gram), count))
                .collect()
        };
        assert_eq!(spell("a"), [(" a ".into(), 1)]);
        assert_eq!(
            spell(" é  ab\u{1c}ab "),
            [(" ab".into(), 2), (" é ".into(), 1), ("ab ".into(), 2)]
        );
        assert_eq!(
            spell("aaaa"),
            [(" aa".into(), 1), ("aa ".into(), 1), ("aaa".into(), 2)]
        );
        assert_eq!(spell(" \u{a0}"), []);
    }

    #[test]
    fn search_ranks_a_concept_by_its_most_similar_name() {
        let mut kb = one_concept_per_name(&["fever".into(), "hay fever".into()]);
        let synonyms = vec!["pyrexia".into(), "FEVER".into(), "high fever".into()];
        kb.push(Concept {
            id: "E".into(),
            name: "heat".into(),
            synonyms,
            ..Concept::default()
        })
        .expect("new");
        let ranked = CharTfidf::new(&kb).search("Fever", 8, &mut Scratch::new());
        let ids: Vec<_> = ranked.iter().map(|found| found.concept.0).collect();
        assert_eq!(ids, [0, 2, 1]);
        assert!(
            (ranked[0].score - 1.0).abs() < 1e-6
                && ranked[0].score == ranked[1].score
                && ranked[2].score < 0.99
        );
    }
}
