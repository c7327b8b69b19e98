//! Which text of a candidate met a mention.

use super::{Link, Linker};
use crate::error::Result;
use crate::kb::Concept;
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

    /// Says for each candidate which of its texts is nearest to the mention.
    ///
    /// # Shapes
    /// mention `[dim]`, vectors of the texts `[rows, dim]`
    pub fn met(&self, texts: &Texts, mention: &[f32], vectors: &[f32]) -> Vec<Met> {
        let score = |vector: &[f32]| vector.iter().zip(mention).map(|(a, b)| a * b).sum::<f32>();
        let mut rest = texts.rows.iter().zip(vectors.chunks_exact(mention.len().max(1)).map(score));
        let met = |(candidate, concept, count): &(Candidate, Concept, usize)| {
            let own = rest.by_ref().take(*count);
            // The first of equals, as in the index.
            let best = own.reduce(|best, other| if other.1 > best.1 { other } else { best });
            let (best_text, best_text_score) =
                best.map_or((String::new(), f32::NAN), |(row, score)| (self.said(concept, row), score));
            let (id, name) = (concept.id.clone(), concept.name.clone());
            Met { id, name, score: candidate.score, best_text, best_text_score }
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
