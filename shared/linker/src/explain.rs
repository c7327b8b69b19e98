//! The text of each candidate that is most similar to a mention, with its aligned tokens.

use crate::link::Link;
use crate::linker::{Linker, Steps};
use pel_kb::Concept;
use pel_kb::error::Result;
use pel_kb::score::Candidate;
use pel_model::encode::Encodings;
use pel_model::tokens::Encoded;
use serde::Serialize;

/// A candidate with the text of its concept that is most similar to the mention.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MatchedText {
    /// The identifier of the concept.
    pub id: String,
    /// The preferred name.
    pub name: String,
    /// The score of the candidate.
    pub score: f32,
    /// `the name "..."` or `its template`.
    pub best_text: String,
    /// The score of that text alone, from vectors that are not quantised.
    pub best_text_score: f32,
    /// For Sum-of-Max, the alignment of each compared token of the mention, in its order. The
    /// similarities add up to `best_text_score`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenAlignment>,
}

/// A token of a mention with the most similar token of a text (T-Biencoder, eq. 5).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TokenAlignment {
    /// The token of the mention, as the vocabulary spells it.
    pub mention: String,
    /// The token of the text. Of equally similar ones it is the first.
    pub text: String,
    /// Their dot product.
    pub similarity: f32,
}

/// The texts of a mention's candidates, to be encoded as entities.
pub struct CandidateTexts {
    candidates: Vec<(Candidate, Concept, usize)>,
    rows: Vec<Encoded>,
}

impl CandidateTexts {
    /// The token sequences of the texts.
    pub fn rows(&self) -> Vec<&Encoded> {
        self.rows.iter().collect()
    }
}

impl<'l> Steps<'l> {
    /// The texts of a link's candidates.
    ///
    /// # Errors
    /// If a concept is damaged, or a text cannot be tokenized.
    pub fn candidate_texts(&self, link: &Link) -> Result<CandidateTexts> {
        let (mut candidates, mut all) = (Vec::new(), Vec::new());
        for candidate in &link.candidates {
            let concept = self.linker.concept(candidate.concept)?;
            let rows = self
                .linker
                .bundle
                .manifest
                .view
                .rows(&self.linker.bundle.tokens, &concept)?;
            candidates.push((*candidate, concept, rows.len()));
            all.extend(rows);
        }
        Ok(CandidateTexts {
            candidates,
            rows: all,
        })
    }

    /// The most similar text of each candidate, and for Sum-of-Max the alignment of its tokens.
    ///
    /// `mention` is the mention's token sequence and `own` its vectors. `vectors` are those of the
    /// texts, encoded as entities for [`Steps::scorer`].
    ///
    /// # Shapes
    /// own `[1]`, vectors `[rows]`
    pub fn matched_texts(
        &self,
        texts: &CandidateTexts,
        mention: &Encoded,
        own: &Encodings,
        vectors: &Encodings,
    ) -> Vec<MatchedText> {
        let (mut first, compared) = (0, self.linker.encoder.compared(mention));
        let matched = |(candidate, concept, count): &(Candidate, Concept, usize)| {
            let rows = first..first + count;
            first = rows.end;
            let scored = rows.map(|row| (row, score(own, vectors, row)));
            // Of equally similar texts the first one, as in the index.
            let best = scored.reduce(|best, other| if other.1 > best.1 { other } else { best });
            let (id, name, score) = (concept.id.clone(), concept.name.clone(), candidate.score);
            let Some((row, best_text_score)) = best else {
                return MatchedText {
                    id,
                    name,
                    score,
                    best_text: String::new(),
                    best_text_score: f32::NAN,
                    tokens: Vec::new(),
                };
            };
            let text = &texts.rows[row];
            let word = |sequence: &Encoded, at: usize| {
                sequence
                    .ids
                    .get(at)
                    .map_or(String::new(), |id| self.linker.bundle.tokens.token(*id))
            };
            let tokens = nearest(own, vectors, row)
                .enumerate()
                .map(|(at, (other, similarity))| TokenAlignment {
                    mention: word(mention, compared.start + at),
                    text: word(text, other),
                    similarity,
                });
            let best_text = self.linker.describe(concept, text);
            MatchedText {
                id,
                name,
                score,
                best_text,
                best_text_score,
                tokens: tokens.collect(),
            }
        };
        texts.candidates.iter().map(matched).collect()
    }
}

impl Linker {
    /// The name or template that a token sequence was made of, in words.
    fn describe(&self, concept: &Concept, row: &Encoded) -> String {
        let (tokens, view) = (&self.bundle.tokens, &self.bundle.manifest.view);
        let is_row = |name: &&str| {
            tokens
                .name(name, view.name_tokens)
                .is_ok_and(|found| found.as_ref() == Some(row))
        };
        concept.names().find(is_row).map_or_else(
            || "its template".to_owned(),
            |name| format!("the name {name:?}"),
        )
    }
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The score of a mention with a text, from vectors that are not quantised.
fn score(mention: &Encodings, texts: &Encodings, row: usize) -> f32 {
    match mention.tokens {
        Some(_) => nearest(mention, texts, row)
            .map(|(_, similarity)| similarity)
            .sum(),
        None => {
            let vector = texts
                .pooled
                .chunks_exact(mention.pooled.len().max(1))
                .nth(row);
            vector.map_or(f32::NAN, |vector| dot(&mention.pooled, vector))
        }
    }
}

/// For each token of a mention the position of the most similar token of the text, and their dot
/// product.
fn nearest<'a>(
    mention: &'a Encodings,
    texts: &'a Encodings,
    row: usize,
) -> impl Iterator<Item = (usize, f32)> + use<'a> {
    let dim = mention.pooled.len().max(1);
    let of = |all: &'a Encodings, at: usize| {
        all.tokens
            .iter()
            .flatten()
            .nth(at)
            .map_or(&[][..], Vec::as_slice)
    };
    let (tokens, others) = (of(mention, 0), of(texts, row));
    tokens.chunks_exact(dim).filter_map(move |token| {
        let products = others
            .chunks_exact(dim)
            .map(|other| dot(token, other))
            .enumerate();
        products.reduce(|best, other| if other.1 > best.1 { other } else { best })
    })
}
