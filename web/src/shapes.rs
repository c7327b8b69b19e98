//! The JSON between Rust and JavaScript. Its offsets are UTF-16 units.

use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_linker::MatchedText;
use pel_model::nil::NilReason;
use pel_model::tokens::{Cut, Encoded};
use pel_output::{DecidedBy, Named, NamedCode, NamedSet, Note, Record, RemovedMention, Review};
use pel_text::attributes::{Attribute, AttributeName, Value};
use pel_text::context::{
    Allergy, Certainty, Context, Experiencer, Laterality, Severity, Temporality,
};
use pel_text::detect::{Detected, Origin};
use pel_text::relations::RelationName;
use pel_text::{Offsets, Span, text_of};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;

/// A span in UTF-16 units.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Place {
    start: usize,
    end: usize,
}

impl Place {
    /// A span in bytes, in UTF-16 units.
    fn of(span: Span, offsets: &Offsets<'_>) -> Self {
        Self {
            start: offsets.utf16(span.start),
            end: offsets.utf16(span.end),
        }
    }

    /// The span in bytes.
    pub fn span(self, text: &str, offsets: &Offsets<'_>) -> Result<Span> {
        let Self { start, end } = self;
        let (Some(first), Some(last)) = (offsets.byte_of_utf16(start), offsets.byte_of_utf16(end))
        else {
            return Err(Error::input(format!(
                "the span {start}..{end} (UTF-16 units) lies outside the text or inside a character"
            )));
        };
        let span = Span::new(first, last);
        span.of(text)?;
        Ok(span)
    }
}

/// A given mention: its extent, and its fragments if it is discontinuous.
#[derive(Clone, Deserialize)]
pub struct GivenMention {
    #[serde(flatten)]
    place: Place,
    #[serde(default)]
    fragments: Vec<Place>,
}

impl GivenMention {
    /// The mention in a text.
    pub fn detected(&self, text: &str, offsets: &Offsets<'_>) -> Result<Detected> {
        let span = self.place.span(text, offsets)?;
        let fragments = spans(&self.fragments, text, offsets)?;
        let found = Detected::of_pieces(fragments, Origin::Given)
            .unwrap_or(Detected::new(span, Origin::Given));
        match found.span == span {
            true => Ok(found),
            false => Err(Error::input(format!(
                "the fragments of the span {}..{} do not go from its start to its end",
                self.place.start, self.place.end
            ))),
        }
    }
}

fn spans(places: &[Place], text: &str, offsets: &Offsets<'_>) -> Result<Vec<Span>> {
    places
        .iter()
        .map(|place| place.span(text, offsets))
        .collect()
}

/// The options for linking a text.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct LinkRequest {
    pub spans: Vec<GivenMention>,
    pub spans_only: bool,
    pub overlapping: bool,
    pub k: Option<usize>,
    pub threshold: Option<f32>,
    /// The code systems of the codes to keep, in their order; `None` keeps all.
    pub codes: Option<Vec<String>>,
}

/// Token sequences on their way to another worker.
#[derive(Serialize, Deserialize)]
pub struct Rows(Vec<Row>);

#[derive(Serialize, Deserialize)]
struct Row {
    ids: Vec<u32>,
    own: Range<usize>,
    second: usize,
}

impl Rows {
    pub fn of<'a>(sequences: impl IntoIterator<Item = &'a Encoded>) -> Self {
        let rows = sequences.into_iter().map(|sequence| Row {
            ids: sequence.ids.clone(),
            own: sequence.own.clone(),
            second: sequence.second,
        });
        Self(rows.collect())
    }

    /// The sequences, without what was cut.
    pub fn sequences(self) -> Vec<Encoded> {
        let rows = self.0.into_iter().map(|row| Encoded {
            ids: row.ids,
            own: row.own,
            second: row.second,
            cut: Cut::default(),
        });
        rows.collect()
    }
}

/// A link.
#[derive(Serialize, Deserialize)]
pub struct JsLink {
    start: usize,
    end: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fragments: Vec<Place>,
    #[serde(default)]
    text: String,
    origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<Group>,
    #[serde(default)]
    negated: bool,
    #[serde(default)]
    certainty: Certainty,
    #[serde(default)]
    temporality: Temporality,
    #[serde(default)]
    experiencer: Experiencer,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    laterality: Option<Laterality>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allergy: Option<Allergy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<JsAttribute>,
    /// They follow from the mentions, so those of a page's link are not read.
    #[serde(default, skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    relations: Vec<JsRelation>,
    decision: JsDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nil_reason: Option<NilReason>,
    #[serde(default, skip_serializing_if = "DecidedBy::is_machine")]
    decided_by: DecidedBy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    review: Option<Review>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probability: Option<f32>,
    #[serde(default, skip_serializing_if = "is_none")]
    same_name: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answer_sets: Vec<NamedSet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_as: Option<String>,
    concept: Option<Named>,
    candidates: Vec<Named>,
    #[serde(default)]
    cut: Cut,
}

/// What stands beside a mention.
#[derive(Serialize, Deserialize)]
struct JsAttribute {
    name: AttributeName,
    start: usize,
    end: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    prior: bool,
}

/// A relation to another mention, of which this one is the source.
#[derive(Serialize)]
struct JsRelation {
    name: RelationName,
    start: usize,
    end: usize,
}

impl JsAttribute {
    fn of(attribute: Attribute, offsets: &Offsets<'_>) -> Self {
        Self {
            name: attribute.name,
            start: offsets.utf16(attribute.span.start),
            end: offsets.utf16(attribute.span.end),
            value: attribute.value,
            prior: attribute.prior,
        }
    }

    fn attribute(self, text: &str, offsets: &Offsets<'_>) -> Result<Attribute> {
        let place = Place {
            start: self.start,
            end: self.end,
        };
        Ok(Attribute {
            name: self.name,
            span: place.span(text, offsets)?,
            value: self.value,
            prior: self.prior,
        })
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JsDecision {
    Linked,
    Nil,
}

impl JsLink {
    /// Converts a record of a text.
    fn of(record: Record, text: &str, offsets: &Offsets<'_>) -> Self {
        let text = text_of(text, record.pieces())
            .unwrap_or_default()
            .into_owned();
        let Record {
            span,
            fragments,
            origin,
            group,
            context,
            attributes,
            read_as,
            decision,
            decided_by,
            review,
            candidates,
            probability,
            same_name,
            answer_sets,
            cut,
        } = record;
        let place = |span: Span| Place::of(span, offsets);
        let (Place { start, end }, fragments) =
            (place(span), fragments.into_iter().map(place).collect());
        let (decision, nil_reason, concept) = match decision {
            Ok(concept) => (JsDecision::Linked, None, Some(concept)),
            Err(reason) => (JsDecision::Nil, Some(reason), None),
        };
        Self {
            start,
            end,
            fragments,
            text,
            origin,
            group,
            negated: context.negated,
            certainty: context.certainty,
            temporality: context.temporality,
            experiencer: context.experiencer,
            section: context.section,
            laterality: context.laterality,
            severity: context.severity,
            allergy: context.allergy,
            attributes: attributes
                .into_iter()
                .map(|attribute| JsAttribute::of(attribute, offsets))
                .collect(),
            relations: Vec::new(),
            decision,
            nil_reason,
            decided_by,
            review,
            probability,
            same_name,
            answer_sets,
            read_as,
            concept,
            candidates,
            cut,
        }
    }

    /// Converts the records of a note, with their relations.
    pub fn all(note: &Note<'_>, offsets: &Offsets<'_>) -> Vec<Self> {
        let records = note.records.iter().cloned();
        let mut links: Vec<Self> = records
            .map(|record| Self::of(record, note.text, offsets))
            .collect();
        for relation in pel_output::relations(note.text, note.records) {
            let Place { start, end } = Place::of(note.records[relation.target].span, offsets);
            links[relation.source].relations.push(JsRelation {
                name: relation.name,
                start,
                end,
            });
        }
        links
    }

    /// Converts a link of the page to a record.
    pub fn record(self, text: &str, offsets: &Offsets<'_>) -> Result<Record> {
        let span = Place {
            start: self.start,
            end: self.end,
        }
        .span(text, offsets)?;
        let decision = match (self.decision, self.concept) {
            (JsDecision::Linked, Some(concept)) => Ok(concept),
            (JsDecision::Linked, None) => {
                return Err(Error::input(format!(
                    "the link {}..{} is linked to no concept",
                    self.start, self.end
                )));
            }
            (JsDecision::Nil, _) => Err(self.nil_reason.unwrap_or(NilReason::Reader)),
        };
        let decided_by = match decision {
            Err(NilReason::Reader) => DecidedBy::Reader,
            _ => self.decided_by,
        };
        // They are about what the linker would have decided.
        let of_machine = decided_by.is_machine();
        let fragments = spans(&self.fragments, text, offsets)?;
        let Self {
            origin,
            group,
            negated,
            certainty,
            temporality,
            experiencer,
            section,
            laterality,
            severity,
            allergy,
            attributes,
            review,
            read_as,
            candidates,
            probability,
            same_name,
            answer_sets,
            cut,
            ..
        } = self;
        let attributes = attributes
            .into_iter()
            .map(|attribute| attribute.attribute(text, offsets))
            .collect::<Result<_>>()?;
        Ok(Record {
            span,
            fragments,
            origin,
            group,
            context: Context {
                negated,
                certainty,
                temporality,
                experiencer,
                section,
                laterality,
                severity,
                allergy,
                cues: Vec::new(),
            },
            attributes,
            read_as,
            decision,
            decided_by,
            review,
            candidates,
            probability: probability.filter(|_| of_machine),
            same_name,
            answer_sets: if of_machine { answer_sets } else { Vec::new() },
            cut,
        })
    }
}

/// A mention that a reader removed.
#[derive(Deserialize)]
pub struct JsRemoved {
    start: usize,
    end: usize,
    #[serde(default)]
    fragments: Vec<Place>,
    review: Review,
}

impl JsRemoved {
    /// The mention in a text.
    pub fn mention(self, text: &str, offsets: &Offsets<'_>) -> Result<RemovedMention> {
        Ok(RemovedMention {
            span: Place {
                start: self.start,
                end: self.end,
            }
            .span(text, offsets)?,
            fragments: spans(&self.fragments, text, offsets)?,
            review: self.review,
        })
    }
}

/// A note to be written.
#[derive(Deserialize)]
pub struct JsNote {
    pub name: String,
    pub text: String,
    pub links: Vec<JsLink>,
    /// The mentions that a reader removed; `None` if nobody reviews the note.
    #[serde(default)]
    pub removed: Option<Vec<JsRemoved>>,
    /// The code systems of the codes to write, in their order; `None` writes all, and CSV none.
    #[serde(default)]
    pub codes: Option<Vec<String>>,
}

/// A concept with all its fields and its codes in standard systems.
#[derive(Serialize)]
pub struct JsConcept {
    #[serde(flatten)]
    concept: Concept,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<NamedCode>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    codes: Vec<NamedCode>,
}

impl JsConcept {
    /// A concept with its codes. The primary one is what a reader of its group expects.
    pub fn new(concept: Concept, codes: Vec<NamedCode>) -> Self {
        let mut types = concept.types.iter();
        let group = types.find_map(|name| Group::of_label(name));
        let code = NamedCode::primary(&codes, group);
        Self {
            concept,
            code,
            codes,
        }
    }
}

/// The steps to the decision on a mention.
#[derive(Serialize)]
pub struct JsExplanation<'a> {
    pub text: Cow<'a, str>,
    pub tokens: Vec<String>,
    pub decision: &'static str,
    pub threshold: Option<f32>,
    pub margin: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answer_sets: Vec<NamedSet>,
    pub candidates: Vec<JsMatchedText>,
}

/// A candidate with the text of its concept that is most similar to the mention.
#[derive(Serialize)]
pub struct JsMatchedText {
    #[serde(flatten)]
    named: Named,
    through: String,
    through_score: f32,
}

impl JsMatchedText {
    pub fn new(named: Named, matched: MatchedText) -> Self {
        Self {
            named,
            through: matched.best_text,
            through_score: matched.best_text_score,
        }
    }
}
