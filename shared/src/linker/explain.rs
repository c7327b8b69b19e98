//! Which text of a candidate met a mention.

use super::{Link, Linker};
use crate::error::Result;
use crate::kb::Concept;
use crate::model::encode::Encodings;
use crate::score::Candidate;
use crate::tokens::Encoded;
use serde::Serialize;

/// A candidate with the text of its concept that met the mention.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Met {
    /// The identifier.
    pub id: String,
    /// The preferred name.
    pub name: String,
    /// Its score in the index.
    pub score: f32,
    /// `the name "..."` or `its template`.
    pub best_text: String,
    /// The score of that text alone, from vectors that are not rounded.
    pub best_text_score: f32,
    /// Where Sum-of-Max compares: what met each token of the mention that is compared, in its order; the similarities add up to the score.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenMet>,
}

/// A token of a mention with the token of a text that is nearest to it (T-Biencoder, eq. 5).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenMet {
    /// The mention's, as the vocabulary writes it.
    pub mention: String,
    /// The text's; the first of equals.
    pub text: String,
    /// Their dot product.
    pub similarity: f32,
}

/// The texts of a mention's candidates, to be encoded as entities.
pub struct Texts {
    candidates: Vec<(Candidate, Concept, usize)>,
    rows: Vec<Encoded>,
}

impl Texts {
    /// Their token sequences.
    pub fn rows(&self) -> Vec<&Encoded> {
        self.rows.iter().collect()
    }
}

impl Linker {
    /// The texts of a link's candidates.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn texts(&self, link: &Link) -> Result<Texts> {
        let (mut candidates, mut all) = (Vec::new(), Vec::new());
        for candidate in &link.candidates {
            let concept = self.concept(candidate.concept)?;
            let rows = self.bundle.manifest.view.rows(&self.bundle.tokens, &concept)?;
            candidates.push((*candidate, concept, rows.len()));
            all.extend(rows);
        }
        Ok(Texts { candidates, rows: all })
    }

    /// Says for each candidate which of its texts is nearest to the mention, and where Sum-of-Max compares, by which tokens.
    ///
    /// # Shapes
    /// vectors of the mention `[1]` and of the texts `[rows]`, as [`Linker::encodings`] gives them
    pub fn met(&self, texts: &Texts, mention: &Encoded, own: &Encodings, vectors: &Encodings) -> Vec<Met> {
        let (mut first, compared) = (0, self.encoder.compared(mention));
        let met = |(candidate, concept, count): &(Candidate, Concept, usize)| {
            let rows = first..first + count;
            first = rows.end;
            let scored = rows.map(|row| (row, score(own, vectors, row)));
            // The first of equals, as in the index.
            let best = scored.reduce(|best, other| if other.1 > best.1 { other } else { best });
            let (id, name, score) = (concept.id.clone(), concept.name.clone(), candidate.score);
            let Some((row, best_text_score)) = best else {
                return Met {
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
                sequence.ids.get(at).map_or(String::new(), |id| self.bundle.tokens.token(*id))
            };
            let tokens = nearest(own, vectors, row).enumerate().map(|(at, (other, similarity))| TokenMet {
                mention: word(mention, compared.start + at),
                text: word(text, other),
                similarity,
            });
            Met { id, name, score, best_text: self.said(concept, text), best_text_score, tokens: tokens.collect() }
        };
        texts.candidates.iter().map(met).collect()
    }

    /// The name behind a row.
    fn said(&self, concept: &Concept, row: &Encoded) -> String {
        let (tokens, view) = (&self.bundle.tokens, &self.bundle.manifest.view);
        let is_row = |name: &&str| tokens.name(name, view.name_tokens).is_ok_and(|found| found.as_ref() == Some(row));
        concept.names().find(is_row).map_or_else(|| "its template".to_owned(), |name| format!("the name {name:?}"))
    }
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The score of a mention with a text, from floats.
fn score(mention: &Encodings, texts: &Encodings, row: usize) -> f32 {
    match mention.tokens {
        Some(_) => nearest(mention, texts, row).map(|(_, similarity)| similarity).sum(),
        None => {
            let vector = texts.pooled.chunks_exact(mention.pooled.len().max(1)).nth(row);
            vector.map_or(f32::NAN, |vector| dot(&mention.pooled, vector))
        }
    }
}

/// For each token of a mention the place of the text's nearest one, the first of equals, and their dot product.
fn nearest<'a>(
    mention: &'a Encodings,
    texts: &'a Encodings,
    row: usize,
) -> impl Iterator<Item = (usize, f32)> + use<'a> {
    let dim = mention.pooled.len().max(1);
    let of = |all: &'a Encodings, at: usize| all.tokens.iter().flatten().nth(at).map_or(&[][..], Vec::as_slice);
    let (tokens, others) = (of(mention, 0), of(texts, row));
    tokens.chunks_exact(dim).filter_map(move |token| {
        let met = others.chunks_exact(dim).map(|other| dot(token, other)).enumerate();
        met.reduce(|best, other| if other.1 > best.1 { other } else { best })
    })
}
