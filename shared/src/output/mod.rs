//! Links for other tools and for readers: one [`Record`] a mention, written in the forms that others read.
//!
//! The records of a note are what the linker found, or what a reader made of it in a page.

mod brat;
mod csv;
mod html;
mod json;
mod parts;
mod pubtator;

use crate::error::Result;
use crate::kb::{Concept, ConceptId};
use crate::linker::{Link, Linker};
use crate::nil::{Decision, NilReason};
use crate::score::Candidate;
use crate::text;
use crate::text::Span;
use crate::text::detect::Origin;
use crate::tokens::Cut;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

pub use json::Line;
pub use parts::Parts;

/// The forms that records are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// One mention a line, as JSON, with offsets in bytes, code points and UTF-16 units.
    Jsonl,
    /// The note with its mentions as one JSON object.
    Json,
    /// One mention a row, offsets in code points.
    Csv,
    /// BRAT standoff.
    Brat,
    /// PubTator: title, abstract, mentions.
    Pubtator,
    /// A page of its own, with the mentions coloured.
    Html,
}

/// A mention with what became of it, its concepts by identifier and name.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Where it stands, from its first piece to its last.
    pub span: Span,
    /// Its pieces in the order of the text, if it is in several; else none.
    pub fragments: Vec<Span>,
    /// Who says that it is a mention.
    pub origin: Origin,
    /// What a short form was read as.
    pub read_as: Option<String>,
    /// The concept, or why there is none.
    pub decision: std::result::Result<Named, NilReason>,
    /// The best candidates, best first.
    pub candidates: Vec<Named>,
    /// What the NIL model added to the best score before the comparison with the threshold; 0 without a NIL model.
    pub nil_offset: f32,
    /// What did not fit into the encoder's window.
    pub cut: Cut,
}

impl Record {
    /// The pieces of the text that the mention consists of, one or more.
    pub fn pieces(&self) -> &[Span] {
        text::pieces(&self.span, &self.fragments)
    }

    /// Leaves the cross-references of its concepts that begin with one of the prefixes, in any case of letters: `ICD10CM`,
    /// `SNOMED`; `ICD10:` with the colon means that vocabulary alone.
    pub fn keep_xrefs(&mut self, prefixes: &[String]) {
        self.decision.iter_mut().chain(&mut self.candidates).for_each(|named| {
            named.xrefs.retain(|xref| prefixes.iter().any(|prefix| has_prefix(xref, prefix)));
        });
    }
}

/// Whether a cross-reference begins with a prefix, in any case of letters.
pub fn has_prefix(xref: &str, prefix: &str) -> bool {
    xref.get(..prefix.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(prefix))
}

/// A candidate by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// The identifier.
    pub id: String,
    /// The preferred name.
    pub name: String,
    /// Semantic types, the primary one first.
    #[serde(default)]
    pub types: Vec<String>,
    /// The vocabularies that it comes from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The same concept in other vocabularies: `ICD10CM:R50.9`, `MESH:D005334`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xrefs: Vec<String>,
    /// Its similarity to the mention.
    pub score: f32,
    /// What a ranker gave it, by which candidates are then in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranker_score: Option<f32>,
    /// Whether a user has added it to the bundle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
}

impl Named {
    /// The primary type.
    pub fn kind(&self) -> &str {
        self.types.first().map_or("Concept", String::as_str)
    }
}

/// A note with its records.
pub struct Note<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Its records, in the order of the text.
    pub records: &'a [Record],
    /// Who made them.
    pub linker: &'a Linker,
}

impl Linker {
    /// A candidate by name.
    ///
    /// # Errors
    /// If its concept is damaged.
    pub fn named(&self, candidate: &Candidate) -> Result<Named> {
        let Concept { id, name, types, sources, xrefs, .. } = self.concept(candidate.concept)?;
        let added = self.is_added(candidate.concept);
        Ok(Named { id, name, types, sources, xrefs, score: candidate.score, ranker_score: None, added })
    }

    fn is_added(&self, concept: ConceptId) -> bool {
        self.added().has(concept)
    }

    /// A link with its concepts by name.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn record(&self, link: &Link) -> Result<Record> {
        let mut candidates =
            link.candidates.iter().map(|candidate| self.named(candidate)).collect::<Result<Vec<_>>>()?;
        let scored = candidates.iter_mut().zip(&link.ranker_scores);
        scored.for_each(|(candidate, score)| candidate.ranker_score = Some(*score).filter(|score| score.is_finite()));
        let decision = match link.decision {
            // The best is the first candidate, unless none is listed.
            Decision::Linked { best } => Ok(candidates.first().cloned().map_or_else(|| self.named(&best), Ok)?),
            Decision::Nil { reason, .. } => Err(reason),
        };
        Ok(Record {
            span: link.span,
            fragments: link.fragments.clone(),
            origin: link.origin,
            read_as: link.read_as.clone(),
            decision,
            candidates,
            nil_offset: link.nil_offset,
            cut: link.cut,
        })
    }
}

impl Note<'_> {
    /// The text of a mention; of one in pieces, their texts with a blank between them.
    pub fn mention(&self, record: &Record) -> Cow<'_, str> {
        text::text_of(self.text, record.pieces()).unwrap_or_default()
    }

    /// All that is known of a record's concept; nothing if it is not one of the linker's.
    fn concept(&self, named: &Named) -> Result<Option<Concept>> {
        self.linker.find(&named.id)?.map(|at| self.linker.concept(at)).transpose()
    }

    /// The note in a form.
    ///
    /// # Errors
    /// If a concept of the bundle is damaged.
    pub fn write(&self, form: Form) -> Result<String> {
        let mut parts = Parts::new(form, self.name, self.text, self.linker);
        Ok(parts.head()? + &parts.part(self.records)? + &parts.tail()?)
    }
}

/// Who says that something is a mention, in words.
pub fn origin_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Name => "found",
        Origin::UnknownTerm => "unknown word",
        Origin::Given => "given",
    }
}

/// Text in one line, its white space single.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
