//! A link as a row of flat columns, for tables.

use pel_kb::codes::{Match, System};
use pel_kb::error::Result;
use pel_kb::group::Group;
use pel_output::Record;
use pel_text::context::{Allergy, Laterality, Severity};
use pel_text::{Offsets, Span, text_of};
use serde::Serialize;

/// A mention with its decision. Names are those of JSONL output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkRow {
    /// The name of the note.
    pub doc: String,
    /// Bytes of the UTF-8 text.
    pub start: usize,
    /// Its end in bytes.
    pub end: usize,
    /// In code points.
    pub start_code_point: usize,
    /// Its end in code points.
    pub end_code_point: usize,
    /// In UTF-16 units.
    pub start_utf16: usize,
    /// Its end in UTF-16 units.
    pub end_utf16: usize,
    /// The fragments of a discontinuous mention in code points, as in BRAT: `7 11;27 35`.
    pub fragments: Option<String>,
    /// The mention.
    pub text: String,
    /// The long form that was encoded.
    pub read_as: Option<String>,
    /// How it was found.
    pub origin: String,
    /// What kind of thing it is.
    pub group: Option<&'static str>,
    /// Whether the text says that it is absent.
    pub negated: bool,
    /// How certain the text is.
    pub certainty: &'static str,
    /// When it is.
    pub temporality: &'static str,
    /// Of whom it is said.
    pub experiencer: &'static str,
    /// The section of the note.
    pub section: Option<String>,
    /// The side of the body.
    pub laterality: Option<&'static str>,
    /// The severity.
    pub severity: Option<&'static str>,
    /// What it is to an allergy: `allergen` or `reaction`.
    pub allergy: Option<&'static str>,
    /// `linked` or `nil`.
    pub decision: &'static str,
    /// Why it is NIL.
    pub nil_reason: Option<String>,
    /// The probability that the best candidate is right.
    pub probability: Option<f32>,
    /// The identifier of the concept.
    pub id: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its primary type.
    pub kind: Option<String>,
    /// Its score.
    pub score: Option<f32>,
    /// Its cross-references with `|` between them.
    pub xrefs: Option<String>,
    /// Its attributes and relations, in the order of [`pel_output::beside_columns`]; empty cells for
    /// what is not said.
    pub beside: Vec<String>,
    /// Its code in each chosen code system, those of parts with `|` between them, and how the
    /// meaning of the code stands to that of the concept.
    pub codes: Vec<Option<(String, Match)>>,
}

impl LinkRow {
    /// The rows of a note, with codes of these systems.
    ///
    /// # Errors
    /// If a span does not lie in the text.
    pub fn of_note(
        name: &str,
        text: &str,
        records: &[Record],
        systems: &[System],
    ) -> Result<Vec<Self>> {
        let offsets = Offsets::new(text);
        let beside = pel_output::beside_cells(text, records);
        let rows = records.iter().zip(beside).map(|(record, beside)| {
            let row = Self::new(name, text, &offsets, record, systems)?;
            Ok(Self { beside, ..row })
        });
        rows.collect()
    }

    fn new(
        name: &str,
        text: &str,
        offsets: &Offsets<'_>,
        record: &Record,
        systems: &[System],
    ) -> Result<Self> {
        let Span { start, end } = record.span;
        let context = &record.context;
        let concept = record.decision.as_ref().ok();
        let code_cell = |system: &System| concept.and_then(|concept| concept.code_cell(*system));
        let fragment = |span: &Span| {
            let (start, end) = (offsets.code_point(span.start), offsets.code_point(span.end));
            format!("{start} {end}")
        };
        let fragments: Vec<String> = record.fragments.iter().map(fragment).collect();
        Ok(Self {
            doc: name.to_owned(),
            start,
            end,
            start_code_point: offsets.code_point(start),
            end_code_point: offsets.code_point(end),
            start_utf16: offsets.utf16(start),
            end_utf16: offsets.utf16(end),
            fragments: Some(fragments.join(";")).filter(|all| !all.is_empty()),
            text: text_of(text, record.pieces())?.into_owned(),
            read_as: record.read_as.clone(),
            origin: word(record.origin).unwrap_or_default(),
            group: record.group.map(Group::name),
            negated: context.negated,
            certainty: context.certainty.name(),
            temporality: context.temporality.name(),
            experiencer: context.experiencer.name(),
            section: context.section.clone(),
            laterality: context.laterality.map(Laterality::name),
            severity: context.severity.map(Severity::name),
            allergy: context.allergy.map(Allergy::name),
            decision: if concept.is_some() { "linked" } else { "nil" },
            nil_reason: record.decision.as_ref().err().and_then(word),
            probability: record.probability,
            id: concept.map(|concept| concept.id.clone()),
            name: concept.map(|concept| concept.name.clone()),
            kind: concept.map(|concept| concept.kind().to_owned()),
            score: concept.map(|concept| concept.score),
            xrefs: concept
                .map(|concept| concept.xrefs.join("|"))
                .filter(|all| !all.is_empty()),
            beside: Vec::new(),
            codes: systems.iter().map(code_cell).collect(),
        })
    }
}

/// The word of a value in JSON.
fn word(value: impl Serialize) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Some(word),
        _ => None,
    }
}
