//! Rows of the table NOTE_NLP of the OMOP Common Data Model 5.4, as CSV.

use super::facts::{code_points, facts, hash};
use super::moment::Moment;
use super::{Note, Record, has_prefix};
use pel_kb::clean::field;
use pel_kb::error::{Error, Result};
use pel_text::Offsets;
use pel_text::context::{Certainty, Context, Experiencer, Temporality};
use std::fmt::Write;

const HEAD: [&str; 14] = [
    "note_nlp_id",
    "note_id",
    "section_concept_id",
    "snippet",
    "offset",
    "lexical_variant",
    "note_nlp_concept_id",
    "note_nlp_source_concept_id",
    "nlp_system",
    "nlp_date",
    "nlp_datetime",
    "term_exists",
    "term_temporal",
    "term_modifiers",
];

/// The most code points of the columns `snippet`, `lexical_variant` and `nlp_system`.
const SHORT: usize = 250;

/// The most code points of the column `term_modifiers`.
const LONG: usize = 2000;

/// The largest identifier: the columns of the Common Data Model are integers of 32 bits.
const MOST: u32 = i32::MAX as u32;

/// The identifiers `note_nlp_id` of the next rows: a first one, and a step from each to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowIds {
    next: u32,
    step: u32,
}

impl RowIds {
    /// Identifiers from `next` on with a step between them. Several processes that write into one
    /// table begin at different numbers and have their count as step.
    pub fn new(next: u32, step: u32) -> Self {
        Self { next, step }
    }

    /// The next identifier.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The distance between two identifiers.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Leaves out the identifiers of some rows.
    ///
    /// # Errors
    /// If there are no more identifiers.
    pub fn skip(&mut self, rows: usize) -> Result<()> {
        let next = u32::try_from(rows)
            .ok()
            .and_then(|rows| rows.checked_mul(self.step))
            .and_then(|rows| rows.checked_add(self.next));
        // The one after the last row need not be an identifier.
        self.next = next
            .filter(|next| *next <= MOST.saturating_add(self.step))
            .ok_or_else(|| {
                Error::usage(format!(
                    "note_nlp_id: the rows go beyond the largest identifier, {MOST}; begin at a \
                     smaller one, or link fewer notes into a table"
                ))
            })?;
        Ok(())
    }
}

impl Default for RowIds {
    /// 1, 2, 3.
    fn default() -> Self {
        Self::new(1, 1)
    }
}

/// The names of the columns.
pub(super) fn head() -> String {
    format!("{}\n", HEAD.join(","))
}

/// The rows of a note. `offset` is the code point at which the mention begins.
///
/// # Errors
/// If there is no moment: the column `nlp_date` must not be empty.
pub(super) fn write(
    note: &Note<'_>,
    offsets: &Offsets<'_>,
    ids: &mut RowIds,
    moment: Option<&Moment>,
) -> Result<String> {
    let failed = |cause| Error::io("writing a table").caused_by(cause);
    let moment = moment
        .ok_or_else(|| Error::input("expected the date of the links for NOTE_NLP, found none"))?;
    let (note_id, system) = (note_id(note.name), system(note));
    let mut table = csv::WriterBuilder::new()
        .terminator(csv::Terminator::Any(b'\n'))
        .from_writer(Vec::new());
    for record in note.records {
        let id = ids.next();
        ids.skip(1)?;
        let (start, _) = code_points(offsets, &record.span);
        table
            .write_record([
                id.to_string().as_str(),
                &note_id.to_string(),
                "0",
                &field(snippet(note.text, record)),
                &start.to_string(),
                &field(first(&note.mention(record), SHORT)),
                &concept_id(record).to_string(),
                "0",
                &system,
                moment.date(),
                &moment.date_time(),
                if exists(&record.context) { "Y" } else { "N" },
                temporal(record.context.temporality),
                &modifiers(note.name, note.text, record, offsets),
            ])
            .map_err(failed)?;
    }
    let bytes = table
        .into_inner()
        .map_err(|cause| Error::io("writing a table").caused_by(cause.to_string()))?;
    String::from_utf8(bytes).map_err(|cause| Error::io("writing a table").caused_by(cause))
}

/// The identifier `note_id` of a note: its name if that is a number from 0 to 2147483647 without
/// further zeros or signs, else 31 bits of the name's hash. So `7` and `007` are different notes.
/// Two names can have the same number.
pub fn note_id(name: &str) -> u32 {
    number(name).unwrap_or_else(|| {
        let mut first = [0; 4];
        first.copy_from_slice(&hash(&[name.as_bytes()]).as_bytes()[..4]);
        u32::from_le_bytes(first) & MOST
    })
}

/// The number that a name is.
fn number(name: &str) -> Option<u32> {
    let number = name.parse::<u32>().ok()?;
    (number <= MOST && number.to_string() == name).then_some(number)
}

/// The program, the bundle and the knowledge base.
fn system(note: &Note<'_>) -> String {
    let manifest = &note.linker.bundle().manifest;
    let system = format!(
        "pel {}; bundle {}; knowledge base {}",
        env!("CARGO_PKG_VERSION"),
        manifest.digest,
        manifest.kb.name
    );
    field(first(&system, SHORT)).into_owned()
}

/// The OMOP concept of a record, if a cross-reference gives it, else 0.
fn concept_id(record: &Record) -> u32 {
    let Ok(named) = &record.decision else {
        return 0;
    };
    let mut numbers = named
        .xrefs
        .iter()
        .chain([&named.id])
        .filter(|xref| has_prefix(xref, "OMOP:"))
        .filter_map(|xref| xref.get("OMOP:".len()..)?.parse().ok());
    numbers.next().unwrap_or(0)
}

/// Whether the patient has or had it. A doubt counts as no, because it includes what is to be ruled
/// out. So does what belongs to an allergy: an allergen is no exposure, its reaction no condition.
fn exists(context: &Context) -> bool {
    !context.negated
        && context.certainty == Certainty::Certain
        && context.experiencer == Experiencer::Patient
        && context.temporality != Temporality::Future
        && context.allergy.is_none()
}

fn temporal(temporality: Temporality) -> &'static str {
    match temporality {
        Temporality::Current => "present",
        Temporality::Historical => "past",
        Temporality::Future => "future",
    }
}

/// `key=value` pairs with `;` between them. Pairs that do not fit into the column are left out. A
/// note whose name is no number has its name here.
fn modifiers(name: &str, text: &str, record: &Record, offsets: &Offsets<'_>) -> String {
    let mut pairs = Vec::new();
    if let Ok(named) = &record.decision {
        pairs.push(("concept_code", named.id.clone()));
        pairs.push(("concept_name", named.name.clone()));
    }
    if number(name).is_none() {
        pairs.push(("note", name.to_owned()));
    }
    if !record.fragments.is_empty() {
        let places: Vec<String> = record
            .fragments
            .iter()
            .map(|fragment| {
                let (start, end) = code_points(offsets, fragment);
                format!("{start} {end}")
            })
            .collect();
        pairs.push(("fragments", places.join("|")));
    }
    pairs.extend(facts(text, record));
    let (mut out, mut letters) = (String::new(), 0);
    for (key, value) in pairs {
        let value = field(&value).replace(';', ",");
        let more = key.len() + 2 + value.chars().count();
        if letters + more > LONG {
            continue;
        }
        letters += more;
        let separator = if out.is_empty() { "" } else { ";" };
        // Writing to a String cannot fail.
        let _ = write!(out, "{separator}{key}={value}");
    }
    out
}

/// The first code points of a text.
fn first(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The mention with as many code points around it as the column holds, on both sides alike if the
/// text has them. Of a longer mention, its beginning.
fn snippet<'a>(text: &'a str, record: &Record) -> &'a str {
    let words = record.span.of(text).unwrap_or_default();
    let Some(free) = SHORT.checked_sub(words.chars().count()) else {
        return first(words, SHORT);
    };
    let before = text.get(..record.span.start).unwrap_or_default();
    let after = text.get(record.span.end..).unwrap_or_default();
    let (left, right) = (
        before.chars().rev().take(free).count(),
        after.chars().take(free).count(),
    );
    let left = left.min((free / 2).max(free - right));
    let begins = before.char_indices().rev().take(left).last();
    let begins = begins.map_or(record.span.start, |(at, _)| at);
    let ends = record.span.end + first(after, free - left).len();
    text.get(begins..ends).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::testing::record;
    use super::*;
    use pel_text::Span;
    use pel_text::context::Allergy;

    #[test]
    fn snippet_has_at_most_250_code_points_around_the_mention() {
        let text = format!("{}fever{}", "é".repeat(300), "😷".repeat(300));
        let at = text.find("fever").expect("it is there");
        let cut = snippet(&text, &record(Span::new(at, at + 5)));
        assert_eq!(cut, format!("{}fever{}", "é".repeat(122), "😷".repeat(123)));
        let text = format!("a fever{}", "b".repeat(400));
        let cut = snippet(&text, &record(Span::new(2, 7)));
        assert_eq!(cut, format!("a fever{}", "b".repeat(243)));
        let text = format!("{}fever", "b".repeat(400));
        let cut = snippet(&text, &record(Span::new(400, 405)));
        assert_eq!(cut, format!("{}fever", "b".repeat(245)));
        assert_eq!(snippet("a fever.", &record(Span::new(2, 7))), "a fever.");
        let long = "x".repeat(300);
        assert_eq!(snippet(&long, &record(Span::new(0, 300))).len(), 250);
    }

    #[test]
    fn note_is_numbered_by_its_name_or_its_hash() {
        assert_eq!(note_id("1042"), 1042);
        assert!(note_id("ward/1042") > 0 && note_id("ward/1042") != note_id("ward/1043"));
        assert_eq!((note_id("0"), note_id("7")), (0, 7));
        for name in ["-7", "007", "+7", "-0", "7.0", " 7"] {
            assert!(note_id(name) > 7, "{name}");
        }
        assert_ne!(note_id("007"), note_id("07"));
        assert_eq!(note_id("2147483647"), MOST);
        for name in ["2147483648", "4294967296", "18446744073709551617"] {
            assert!(note_id(name) <= MOST, "{name}");
        }
        let most = (0..1000).map(|at| note_id(&format!("note {at}"))).max();
        assert!(most.is_some_and(|id| id > MOST / 2 && id <= MOST));
    }

    #[test]
    fn identifiers_of_rows_follow_each_other_and_fit_into_32_bits() {
        let mut ids = RowIds::new(3, 4);
        ids.skip(2).expect("there are more");
        assert_eq!(ids.next(), 11);
        let mut ids = RowIds::new(MOST - 1, 1);
        ids.skip(2).expect("two fit");
        let error = ids.skip(1).expect_err("no more");
        assert!(error.to_string().contains("2147483647"), "{error}");
        assert!(RowIds::new(1, 2).skip(usize::MAX).is_err());
        assert!(RowIds::new(1, 2).skip(1 << 31).is_err());
    }

    #[test]
    fn only_what_the_patient_has_or_had_exists() {
        let certain = Context::default();
        assert!(exists(&certain));
        let past = Context {
            temporality: Temporality::Historical,
            ..certain.clone()
        };
        assert!(exists(&past));
        for context in [
            Context {
                negated: true,
                ..certain.clone()
            },
            Context {
                certainty: Certainty::Uncertain,
                ..certain.clone()
            },
            Context {
                certainty: Certainty::Hypothetical,
                ..certain.clone()
            },
            Context {
                experiencer: Experiencer::Family,
                ..certain.clone()
            },
            Context {
                temporality: Temporality::Future,
                ..certain.clone()
            },
            Context {
                allergy: Some(Allergy::Allergen),
                ..certain.clone()
            },
            Context {
                allergy: Some(Allergy::Reaction),
                ..certain.clone()
            },
        ] {
            assert!(!exists(&context), "{context:?}");
        }
    }

    #[test]
    fn modifiers_that_do_not_fit_are_left_out_whole() {
        let mut record = record(Span::new(0, 5));
        record.read_as = Some("x".repeat(3000));
        record.context.section = Some("plan; old".to_owned());
        let written = modifiers("7", "fever", &record, &Offsets::new("fever"));
        assert_eq!(
            written,
            "origin=name;negated=false;certainty=certain;temporality=current;experiencer=patient;\
             section=plan, old;nil_reason=no_candidate"
        );
        let written = modifiers("ward;7", "fever", &record, &Offsets::new("fever"));
        assert!(written.starts_with("note=ward,7;origin=name;"), "{written}");
    }
}
