//! JSON: one mention per line, or a note as one object.

use super::about::About;
use super::relations::by_source;
use super::{DecidedBy, Named, NamedSet, Note, Record, RemovedMention, Review};
use pel_kb::clean::escaped;
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_model::nil::NilReason;
use pel_model::tokens::Cut;
use pel_text::attributes::{Attribute, AttributeName, Value};
use pel_text::context::{Allergy, Certainty, Experiencer, Laterality, Severity, Temporality};
use pel_text::detect::Origin;
use pel_text::relations::{Relation, RelationName};
use pel_text::{Offsets, Span};
use serde::Serialize;
use std::borrow::Cow;

/// A record as JSON.
#[derive(Serialize)]
pub struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<&'a str>,
    /// Bytes of the UTF-8 text.
    start: usize,
    end: usize,
    start_code_point: usize,
    end_code_point: usize,
    start_utf16: usize,
    end_utf16: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fragments: Vec<Place>,
    text: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_as: Option<&'a str>,
    origin: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Group>,
    negated: bool,
    certainty: Certainty,
    temporality: Temporality,
    experiencer: Experiencer,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    laterality: Option<Laterality>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allergy: Option<Allergy>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<Beside<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relations: Vec<To<'a>>,
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nil_reason: Option<NilReason>,
    #[serde(skip_serializing_if = "DecidedBy::is_machine")]
    decided_by: DecidedBy,
    #[serde(flatten)]
    review: Option<&'a Review>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f32>,
    concept: Option<&'a Named>,
    #[serde(skip_serializing_if = "is_none")]
    same_name: usize,
    candidates: &'a [Named],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    answer_sets: &'a [NamedSet],
    cut: Cut,
}

/// An attribute: what stands beside the mention.
#[derive(Serialize)]
struct Beside<'a> {
    name: AttributeName,
    #[serde(flatten)]
    place: Place,
    text: &'a str,
    /// The normal form; null if the text does not settle it.
    value: Option<&'a Value>,
    /// Whether it is an earlier value beside the present one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prior: bool,
}

impl<'a> Beside<'a> {
    fn new(note: &'a Note<'_>, offsets: &Offsets<'_>, attribute: &'a Attribute) -> Self {
        let Span { start, end } = attribute.span;
        Self {
            name: attribute.name,
            place: Place::new(attribute.span, offsets),
            text: note.text.get(start..end).unwrap_or_default(),
            value: attribute.value.as_ref(),
            prior: attribute.prior,
        }
    }
}

/// A relation to another mention of the note, of which this one is the source.
#[derive(Serialize)]
struct To<'a> {
    name: RelationName,
    /// The extent of the other mention.
    #[serde(flatten)]
    place: Place,
    text: Cow<'a, str>,
}

impl<'a> To<'a> {
    fn new(note: &'a Note<'_>, offsets: &Offsets<'_>, relation: &Relation) -> Self {
        let target = &note.records[relation.target];
        Self {
            name: relation.name,
            place: Place::new(target.span, offsets),
            text: note.mention(target),
        }
    }
}

/// The offsets of a fragment in each unit.
#[derive(Serialize)]
struct Place {
    start: usize,
    end: usize,
    start_code_point: usize,
    end_code_point: usize,
    start_utf16: usize,
    end_utf16: usize,
}

impl Place {
    fn new(Span { start, end }: Span, offsets: &Offsets<'_>) -> Self {
        Self {
            start,
            end,
            start_code_point: offsets.code_point(start),
            end_code_point: offsets.code_point(end),
            start_utf16: offsets.utf16(start),
            end_utf16: offsets.utf16(end),
        }
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

fn line<'a>(
    note: &'a Note<'_>,
    offsets: &Offsets<'_>,
    record: &'a Record,
    relations: &[Relation],
    doc: Option<&'a str>,
) -> Line<'a> {
    let Place {
        start,
        end,
        start_code_point,
        end_code_point,
        start_utf16,
        end_utf16,
    } = Place::new(record.span, offsets);
    Line {
        doc,
        start,
        end,
        start_code_point,
        end_code_point,
        start_utf16,
        end_utf16,
        fragments: record
            .fragments
            .iter()
            .map(|fragment| Place::new(*fragment, offsets))
            .collect(),
        text: note.mention(record),
        read_as: record.read_as.as_deref(),
        origin: record.origin,
        group: record.group,
        negated: record.context.negated,
        certainty: record.context.certainty,
        temporality: record.context.temporality,
        experiencer: record.context.experiencer,
        section: record.context.section.as_deref(),
        laterality: record.context.laterality,
        severity: record.context.severity,
        allergy: record.context.allergy,
        attributes: record
            .attributes
            .iter()
            .map(|attribute| Beside::new(note, offsets, attribute))
            .collect(),
        relations: relations
            .iter()
            .map(|relation| To::new(note, offsets, relation))
            .collect(),
        decision: if record.decision.is_ok() {
            "linked"
        } else {
            "nil"
        },
        nil_reason: record.decision.as_ref().err().copied(),
        decided_by: record.decided_by,
        review: record.review.as_ref(),
        probability: record.probability,
        concept: record.decision.as_ref().ok(),
        same_name: record.same_name,
        candidates: &record.candidates,
        answer_sets: &record.answer_sets,
        cut: record.cut,
    }
}

/// A value as JSON on one line.
///
/// # Errors
/// If it cannot be encoded.
pub(super) fn compact<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let json = serde_json::to_string(value)
        .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    Ok(escaped(&json).into_owned())
}

/// A record with what the document states of its patient, encounter and day.
#[derive(Serialize)]
struct StatedLine<'a> {
    #[serde(flatten)]
    line: Line<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patient: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encounter: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note_date: Option<&'a str>,
}

pub(super) fn lines(note: &Note<'_>, offsets: &Offsets<'_>, about: &About) -> Result<String> {
    let mut out = String::new();
    for (record, relations) in note.records.iter().zip(by_source(note.text, note.records)) {
        let line = line(note, offsets, record, &relations, Some(note.name));
        let json = match about.is_empty() {
            true => serde_json::to_string(&line),
            false => serde_json::to_string(&StatedLine {
                line,
                patient: about.patient.as_deref(),
                encounter: about.encounter.as_deref(),
                note_date: about.date.as_deref(),
            }),
        };
        let json = json.map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        out += &escaped(&json);
        out.push('\n');
    }
    Ok(out)
}

/// The JSON object of a note up to its first mention.
pub(super) fn head(note: &Note<'_>, about: &About) -> Result<String> {
    #[derive(Serialize)]
    struct Head<'a> {
        doc: &'a str,
        #[serde(flatten)]
        about: &'a About,
        text: &'a str,
        written_by: &'a str,
        encoder: &'a str,
        kb: &'a str,
        kb_blake3: &'a str,
    }
    let manifest = &note.linker.bundle().manifest;
    let head = Head {
        doc: note.name,
        about,
        text: note.text,
        written_by: concat!("pel ", env!("CARGO_PKG_VERSION")),
        encoder: &manifest.encoder.name,
        kb: &manifest.kb.name,
        kb_blake3: &manifest.kb.blake3,
    };
    let text = serde_json::to_string_pretty(&head)
        .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    // The mentions are its last member.
    let open = text.strip_suffix("\n}").unwrap_or(&text);
    Ok(format!("{},\n  \"mentions\": [", escaped(open)))
}

/// Mentions of the object. `before` mentions were written before these.
pub(super) fn members(note: &Note<'_>, offsets: &Offsets<'_>, before: usize) -> Result<String> {
    let mut out = String::new();
    let all = note.records.iter().zip(by_source(note.text, note.records));
    for (at, (record, relations)) in all.enumerate() {
        let line = line(note, offsets, record, &relations, None);
        let json = serde_json::to_string_pretty(&line)
            .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        out.push_str(if before + at == 0 {
            "\n    "
        } else {
            ",\n    "
        });
        // Line ends within a text are escaped, so these are those of the layout.
        out.push_str(&escaped(&json).replace('\n', "\n    "));
    }
    Ok(out)
}

/// The end of the object: the mentions that a reader removed, if any. `mentions` is the number of its
/// mentions.
///
/// # Errors
/// If JSON cannot be encoded.
pub(super) fn tail(
    note: &Note<'_>,
    offsets: &Offsets<'_>,
    mentions: usize,
    removed: &[RemovedMention],
) -> Result<String> {
    /// A removed mention as JSON.
    #[derive(Serialize)]
    struct Member<'a> {
        #[serde(flatten)]
        place: Place,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        fragments: Vec<Place>,
        text: Cow<'a, str>,
        #[serde(flatten)]
        review: &'a Review,
    }
    let close = if mentions == 0 { "]" } else { "\n  ]" };
    if removed.is_empty() {
        return Ok(format!("{close}\n}}\n"));
    }
    let members: Vec<Member<'_>> = removed
        .iter()
        .map(|one| Member {
            place: Place::new(one.span, offsets),
            fragments: one
                .fragments
                .iter()
                .map(|fragment| Place::new(*fragment, offsets))
                .collect(),
            text: one.words(note.text),
            review: &one.review,
        })
        .collect();
    let json = serde_json::to_string_pretty(&members)
        .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    // Line ends within a text are escaped, so these are those of the layout.
    let json = escaped(&json).replace('\n', "\n  ");
    Ok(format!("{close},\n  \"removed\": {json}\n}}\n"))
}
