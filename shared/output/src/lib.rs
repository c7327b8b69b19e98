//! Writes links in the formats of other tools: one [`Record`] per mention.
//!
//! The records of a note are those of the linker, or those that a user has edited in the page.

mod about;
mod attributes;
mod bioc;
mod brat;
mod cas;
mod codes;
mod combined;
mod csv;
mod facts;
mod fhir;
mod html;
mod json;
mod moment;
mod omop;
mod parts;
mod phenopackets;
mod pubtator;
mod relations;
mod review;
mod spacy;

use pel_kb::error::Result;
use pel_kb::group::Group;
use pel_kb::hierarchy::Node;
use pel_kb::score::Candidate;
use pel_kb::{Concept, ConceptId};
use pel_linker::{Link, Linker};
use pel_model::nil::{Decision, NilReason};
use pel_model::tokens::Cut;
use pel_text::Span;
use pel_text::attributes::Attribute;
use pel_text::context::Context;
use pel_text::detect::Origin;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

pub use about::About;
pub use attributes::{ATTRIBUTE_COLUMNS, beside_cells, beside_columns};
pub use codes::NamedCode;
pub use combined::combine_codes;
pub use json::Line;
pub use moment::Moment;
pub use omop::{RowIds, note_id as omop_note_id};
pub use parts::NoteWriter;
pub use relations::relations;
pub use review::{FormerAnswer, RemovedMention, Review, ReviewOutcome};

/// The output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Form {
    /// One mention per line, as JSON, with offsets in bytes, code points and UTF-16 units.
    Jsonl,
    /// The note with its mentions as one JSON object.
    Json,
    /// One mention per row, offsets in code points.
    Csv,
    /// BRAT standoff.
    Brat,
    /// PubTator: title, abstract, mentions.
    Pubtator,
    /// An HTML page with coloured mentions.
    Html,
    /// A FHIR R4 bundle of unconfirmed resources, offsets in code points.
    Fhir,
    /// Rows of NOTE_NLP of the OMOP Common Data Model 5.4, as CSV, offsets in code points. Needs a
    /// date ([`NoteWriter::dated`]).
    Omop,
    /// A BioC collection as XML, offsets in code points.
    BiocXml,
    /// A BioC collection as JSON, offsets in code points.
    BiocJson,
    /// A document of spaCy as JSON, offsets in code points.
    SpacyJson,
    /// A UIMA CAS as JSON, offsets in UTF-16 units.
    CasJson,
    /// A Phenopacket of version 2 with the phenotypic features, offsets in code points.
    Phenopackets,
}

impl Form {
    /// All forms, in the order of their declaration.
    pub const ALL: [Self; 13] = [
        Self::Jsonl,
        Self::Json,
        Self::Csv,
        Self::Brat,
        Self::Pubtator,
        Self::Html,
        Self::Fhir,
        Self::Omop,
        Self::BiocXml,
        Self::BiocJson,
        Self::SpacyJson,
        Self::CasJson,
        Self::Phenopackets,
    ];
}

/// A mention with its decision, its concepts with identifiers and names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The extent of the mention, from its first fragment to its last.
    pub span: Span,
    /// The fragments of a discontinuous mention in the order of the text; empty for a continuous
    /// one.
    pub fragments: Vec<Span>,
    /// The source of the mention.
    pub origin: Origin,
    /// What kind of thing the mention is, if it is known.
    pub group: Option<Group>,
    /// Whether the text says that it is absent, past, uncertain or someone else's.
    pub context: Context,
    /// What stands beside the mention, in the order of the text.
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    /// The long form of an abbreviation that the text defines, or that the words around it show.
    pub read_as: Option<String>,
    /// The concept, or the reason for NIL.
    pub decision: std::result::Result<Named, NilReason>,
    /// Who made the decision.
    pub decided_by: DecidedBy,
    /// What a reader said of the decision; `None` if nobody has reviewed it.
    #[serde(default)]
    pub review: Option<Review>,
    /// The best candidates, best first.
    pub candidates: Vec<Named>,
    /// The probability that the best candidate is right; `None` without a model of it, and where the
    /// user decided.
    pub probability: Option<f32>,
    /// The number of concepts that bear the mention as a name, if it is two or more and one of them
    /// is the best candidate; otherwise 0.
    pub same_name: usize,
    /// Sets of answers that hold the right one with a stated probability. Empty unless they were
    /// asked for ([`Record::add_sets`]).
    pub answer_sets: Vec<NamedSet>,
    /// What the encoder's window truncated.
    pub cut: Cut,
}

/// Who decided what a mention is linked to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The linker.
    #[default]
    Machine,
    /// The user, in place of the linker.
    Reader,
}

impl DecidedBy {
    /// Whether it is [`DecidedBy::Machine`], which outputs leave out.
    pub fn is_machine(&self) -> bool {
        *self == Self::Machine
    }
}

/// A set of answers with the identifiers of its concepts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedSet {
    /// The share of mentions whose set holds the right answer, for mentions like those of the
    /// calibration.
    pub coverage: f32,
    /// The identifiers of the concepts, best first.
    pub concepts: Vec<String>,
    /// Whether NIL is among the answers.
    pub nil: bool,
}

impl Record {
    /// The fragments of the mention, one or more.
    pub fn pieces(&self) -> &[Span] {
        pel_text::pieces(&self.span, &self.fragments)
    }

    /// Removes the cross-references of its concepts without one of these prefixes, such as
    /// `ICD10CM` or `SNOMED`. Case is ignored. `ICD10:` with the colon selects that vocabulary
    /// alone.
    pub fn keep_xrefs(&mut self, prefixes: &[String]) {
        self.decision
            .iter_mut()
            .chain(&mut self.candidates)
            .for_each(|named| {
                named
                    .xrefs
                    .retain(|xref| prefixes.iter().any(|prefix| has_prefix(xref, prefix)));
            });
    }
}

/// Whether a cross-reference begins with a prefix. Case is ignored.
pub fn has_prefix(xref: &str, prefix: &str) -> bool {
    xref.get(..prefix.len())
        .is_some_and(|begins| begins.eq_ignore_ascii_case(prefix))
}

/// A candidate with the fields of its concept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// The identifier.
    pub id: String,
    /// The preferred name.
    pub name: String,
    /// The semantic types, the primary one first.
    #[serde(default)]
    pub types: Vec<String>,
    /// The vocabularies that the concept comes from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Cross-references: the concept in other vocabularies, such as `ICD10CM:R50.9`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xrefs: Vec<String>,
    /// The code that comes first for a reader of the concept; `None` for a candidate that is not
    /// linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<NamedCode>,
    /// Codes in standard code systems, if the bundle has any; empty for a candidate that is not
    /// linked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<NamedCode>,
    /// The concepts and codes above it, the nearest first. Empty unless they were asked for
    /// ([`Record::add_ancestors`]), and for a candidate that is not linked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Ancestor>,
    /// Its similarity to the mention.
    pub score: f32,
    /// The score of the cross-encoder that ordered the candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranker_score: Option<f32>,
    /// Whether the user added the concept to the bundle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
}

/// A concept or a code above a concept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// The identifier of the concept, or the code with its system, such as `ICD10CM:E08-E13`.
    pub id: String,
    /// The name, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Ancestor {
    /// The concepts and codes above a concept, the nearest first; empty without a hierarchy.
    ///
    /// # Errors
    /// If a concept or the hierarchy is damaged.
    pub fn of_concept(linker: &Linker, concept: ConceptId) -> Result<Vec<Self>> {
        let bundle = linker.bundle();
        let of_node = |node: Node<'_>| {
            Ok(match node {
                Node::Concept(concept) => {
                    let Concept { id, name, .. } = linker.concept(concept)?;
                    let name = Some(name);
                    Self { id, name }
                }
                Node::Code(id) => Self {
                    id: id.to_owned(),
                    name: bundle.display(id).map(str::to_owned),
                },
            })
        };
        bundle
            .ancestors(concept)?
            .into_iter()
            .map(of_node)
            .collect()
    }
}

/// A note with its records.
pub struct Note<'a> {
    /// The name of the note.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// The records, in the order of the text.
    pub records: &'a [Record],
    /// The linker of the records.
    pub linker: &'a Linker,
}

impl Named {
    /// A candidate of a linker with the fields of its concept.
    ///
    /// # Errors
    /// If the concept is damaged.
    pub fn new(linker: &Linker, candidate: &Candidate) -> Result<Self> {
        let Concept {
            id,
            name,
            types,
            sources,
            xrefs,
            ..
        } = linker.concept(candidate.concept)?;
        let added = linker.steps().added_concepts().has(candidate.concept);
        Ok(Self {
            id,
            name,
            types,
            sources,
            xrefs,
            code: None,
            codes: Vec::new(),
            ancestors: Vec::new(),
            score: linker.steps().shown_score(candidate.score),
            ranker_score: None,
            added,
        })
    }

    /// The primary type.
    pub fn kind(&self) -> &str {
        self.types.first().map_or("Concept", String::as_str)
    }
}

impl Record {
    /// A link of a linker with the fields of its concepts.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn new(linker: &Linker, link: &Link) -> Result<Self> {
        let named = |candidate: &Candidate| Named::new(linker, candidate);
        let mut candidates = link
            .candidates
            .iter()
            .map(named)
            .collect::<Result<Vec<_>>>()?;
        let scored = candidates.iter_mut().zip(&link.ranker_scores);
        scored.for_each(|(candidate, score)| {
            candidate.ranker_score = Some(*score).filter(|score| score.is_finite())
        });
        let decision = match link.decision {
            // The concept is the first candidate, unless the list is empty.
            Decision::Linked { best } => Ok(candidates
                .first()
                .cloned()
                .map_or_else(|| named(&best), Ok)?),
            Decision::Nil { reason, .. } => Err(reason),
        };
        let mut record = Record {
            span: link.span,
            fragments: link.fragments.clone(),
            origin: link.origin,
            group: link.group,
            context: link.context.clone(),
            attributes: link.attributes.clone(),
            read_as: link.read_as.clone(),
            decision,
            decided_by: DecidedBy::Machine,
            review: None,
            candidates,
            probability: link.probability,
            same_name: if link.same_name() < 2 {
                0
            } else {
                link.same_name()
            },
            answer_sets: Vec::new(),
            cut: link.cut,
        };
        if let (Some(concept), Some(codes)) = (Self::linked(link), &linker.bundle().codes) {
            record.set_codes(codes.of(concept));
        }
        Ok(record)
    }

    /// The concept that a link has; `None` for NIL. It is the first candidate, unless the list is
    /// empty.
    pub fn linked(link: &Link) -> Option<ConceptId> {
        match &link.decision {
            Decision::Linked { best } => Some(link.candidates.first().unwrap_or(best).concept),
            Decision::Nil { .. } => None,
        }
    }

    /// Adds the concepts and codes above the linked concept, if the bundle has a hierarchy.
    ///
    /// # Errors
    /// If a concept or the hierarchy is damaged.
    pub fn add_ancestors(&mut self, linker: &Linker, link: &Link) -> Result<()> {
        let (Some(concept), Ok(named)) = (Self::linked(link), &mut self.decision) else {
            return Ok(());
        };
        named.ancestors = Ancestor::of_concept(linker, concept)?;
        Ok(())
    }

    /// Adds the sets of answers of its link ([`Steps::answer_sets`](pel_linker::Steps::answer_sets)).
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn add_sets(&mut self, linker: &Linker, link: &Link) -> Result<()> {
        for set in linker.steps().answer_sets(link) {
            let ids = set
                .concepts
                .iter()
                .map(|concept| Ok(linker.concept(*concept)?.id));
            self.answer_sets.push(NamedSet {
                coverage: set.coverage,
                concepts: ids.collect::<Result<_>>()?,
                nil: set.nil,
            });
        }
        Ok(())
    }
}

impl Note<'_> {
    /// The text of a mention. Fragments are joined by a space.
    pub fn mention(&self, record: &Record) -> Cow<'_, str> {
        pel_text::text_of(self.text, record.pieces()).unwrap_or_default()
    }

    /// The concept of a record; `None` if the linker has no such concept.
    fn concept(&self, named: &Named) -> Result<Option<Concept>> {
        self.linker
            .find(&named.id)?
            .map(|at| self.linker.concept(at))
            .transpose()
    }

    /// The note in a format, without a date.
    ///
    /// # Errors
    /// If a concept of the bundle is damaged, or the format needs a date ([`NoteWriter::dated`]).
    pub fn write(&self, form: Form) -> Result<String> {
        let mut parts = NoteWriter::new(form, self.name, self.text, self.linker);
        Ok(parts.head()? + &parts.part(self.records)? + &parts.tail()?)
    }
}

/// The source of a mention, in words.
pub fn origin_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Name | Origin::Detector => "found",
        Origin::UnknownTerm => "unknown word",
        Origin::Given => "given",
    }
}

/// The reason for NIL, or that the user chose the concept, in words; `None` for a concept that the
/// linker chose.
fn decision_words(record: &Record) -> Option<String> {
    match (&record.decision, record.decided_by) {
        (Ok(_), DecidedBy::Machine) => None,
        (Ok(_), DecidedBy::Reader) => Some("Linked: chosen by the user".to_owned()),
        (Err(reason), _) => Some(format!("NIL: {}", reason.words())),
    }
}

/// The text with each run of white space replaced by a space.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod testing {
    use super::{Context, Cut, DecidedBy, NilReason, Origin, Record, Span};

    /// The record of a mention without candidates.
    pub fn record(span: Span) -> Record {
        Record {
            span,
            fragments: Vec::new(),
            origin: Origin::Name,
            group: None,
            context: Context::default(),
            attributes: Vec::new(),
            read_as: None,
            decision: Err(NilReason::NoCandidate),
            decided_by: DecidedBy::Machine,
            review: None,
            candidates: Vec::new(),
            probability: None,
            same_name: 0,
            answer_sets: Vec::new(),
            cut: Cut::default(),
        }
    }
}
