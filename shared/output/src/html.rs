//! An HTML page: the note with coloured mentions, and a table of the decisions.

use super::{DecidedBy, Note, Record, origin_words};
use crate::Named;
use askama::Template;
use askama::filters::Escaper;
use pel_kb::clean;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::Manifest;
use pel_text::Span;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;

/// The rows of a page's table, and the marks of its note.
///
/// The page begins with the number of records and the marked note, so it is written after all
/// records are known.
#[derive(Default)]
pub(super) struct PageRows {
    html: String,
    marks: Vec<Mark>,
    mentions: usize,
    nil: usize,
    /// Which of [`SIGNS`] the marks have.
    signs: [bool; SIGNS.len()],
}

/// How a value of a context is shown in the text.
struct Sign {
    /// The words of [`Context::words`](pel_text::context::Context::words) for the value.
    words: &'static str,
    /// The class of the style sheet; empty if a sign above the mention shows the value.
    class: &'static str,
    /// The sign above the mention.
    sign: &'static str,
    /// What it means.
    meaning: &'static str,
}

const fn sign(
    words: &'static str,
    class: &'static str,
    sign: &'static str,
    meaning: &'static str,
) -> Sign {
    Sign {
        words,
        class,
        sign,
        meaning,
    }
}

/// The lines and signs of contexts, as in the page of `pel serve`.
const SIGNS: [Sign; 15] = [
    sign("negated", "negated", "", "said to be absent"),
    sign("uncertain", "uncertain", "?", "possible or suspected"),
    sign("hypothetical", "hypothetical", "", "under a condition"),
    sign("historical", "", "\u{2190}", "over"),
    sign("future", "", "\u{2192}", "planned"),
    sign("family", "", "F", "of a relative"),
    sign("someone else", "", "S", "of someone else"),
    sign("allergy", "", "A", "not tolerated by the patient"),
    sign("allergic reaction", "", "a", "a reaction to an allergen"),
    sign("left", "", "L", "on the left side"),
    sign("right", "", "R", "on the right side"),
    sign("bilateral", "", "B", "on both sides"),
    sign("mild", "", "\u{25d4}", "mild or slight"),
    sign("moderate", "", "\u{25d1}", "moderate"),
    sign("severe", "", "\u{25cf}", "severe"),
];

/// A marked fragment of a mention, with a link to the mention's row.
struct Mark {
    span: Span,
    row: usize,
    /// `None` for NIL.
    hue: Option<u32>,
    title: String,
    /// The classes of its context, each after a blank.
    classes: String,
    /// The signs above it.
    signs: String,
    /// What the text says of it, in words.
    context: String,
}

/// A segment of the note, marked or plain.
struct Piece<'a> {
    text: &'a str,
    mark: Option<&'a Mark>,
}

#[derive(Template)]
#[template(path = "note.html")]
struct Page<'a> {
    name: &'a str,
    mentions: usize,
    nil: usize,
    pieces: Vec<Piece<'a>>,
    /// The signs that the marks have.
    legend: Vec<&'static Sign>,
    rows: &'a str,
    manifest: &'a Manifest,
    written_by: &'static str,
}

#[derive(Template)]
#[template(path = "row.html")]
struct Row<'a> {
    number: usize,
    mention: &'a str,
    linked: Option<&'a Named>,
    kind: &'a str,
    /// `None` without a kind.
    hue: Option<u32>,
    definition: Option<String>,
    score: String,
    why: String,
    others: Vec<String>,
}

impl PageRows {
    /// Adds the records of `note`.
    ///
    /// # Errors
    /// If a concept of the bundle is damaged.
    pub(super) fn add(&mut self, note: &Note<'_>) -> Result<()> {
        note.records
            .iter()
            .try_for_each(|record| self.add_record(note, record))
    }

    fn add_record(&mut self, note: &Note<'_>, record: &Record) -> Result<()> {
        self.mentions += 1;
        let linked = record.decision.as_ref().ok();
        let mention = note.mention(record);
        let why = why(record);
        let mut title = match linked {
            Some(named) => format!("{} ({})", named.name, named.id),
            None => format!("NIL: {why}"),
        };
        if !record.fragments.is_empty() {
            title = format!("{mention}: {title}");
        }
        let hue = linked.map(|named| hue(named.kind()));
        let context = record.context.words();
        if !context.is_empty() {
            title += &format!("; {context}");
        }
        let (mut classes, mut signs) = (String::new(), String::new());
        for word in context.split(", ") {
            if let Some(at) = SIGNS.iter().position(|sign| sign.words == word) {
                self.signs[at] = true;
                if !SIGNS[at].class.is_empty() {
                    classes += " ";
                    classes += SIGNS[at].class;
                }
                signs += SIGNS[at].sign;
            }
        }
        // Each fragment of a mention is marked. Another mention may lie between them.
        self.marks.extend(record.pieces().iter().map(|span| Mark {
            span: *span,
            row: self.mentions,
            hue,
            title: title.clone(),
            classes: classes.clone(),
            signs: signs.clone(),
            context: context.clone(),
        }));
        self.nil += usize::from(linked.is_none());
        let concept = linked
            .map(|named| note.concept(named))
            .transpose()?
            .flatten();
        let kind = linked.map_or("", |named| named.kind());
        let is_other = |other: &&Named| linked.is_none_or(|linked| linked.id != other.id);
        let others = record.candidates.iter().filter(is_other).take(4);
        let row = Row {
            number: self.mentions,
            mention: &mention,
            linked,
            kind,
            hue: hue.filter(|_| !kind.is_empty()),
            definition: concept
                .and_then(|concept| concept.definition)
                .filter(|words| !words.is_empty()),
            score: linked
                .or(record.candidates.first())
                .map_or(String::new(), |best| format!("{:.3}", best.score)),
            why,
            others: others
                .map(|other| format!("{} ({}) {:.3}", other.name, other.id, other.score))
                .collect(),
        };
        row.render_into(&mut self.html).map_err(failed)
    }

    /// The page of a note with all records that were added. The records of `note` are ignored.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub(super) fn page(&self, note: &Note<'_>) -> Result<String> {
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by_key(|mark| (mark.span.start, Reverse(mark.span.end), mark.row));
        let plain = |text| Piece { text, mark: None };
        let (mut pieces, mut at) = (Vec::new(), 0);
        for mark in marks {
            let Span { start, end } = mark.span;
            // Of overlapping mentions the text shows the first, of those that start together the
            // longest. The table has all.
            if start < at {
                continue;
            }
            pieces.push(plain(note.text.get(at..start).unwrap_or_default()));
            pieces.push(Piece {
                text: note.text.get(start..end).unwrap_or_default(),
                mark: Some(mark),
            });
            at = end;
        }
        pieces.push(plain(note.text.get(at..).unwrap_or_default()));
        let page = Page {
            name: note.name,
            mentions: self.mentions,
            nil: self.nil,
            pieces,
            legend: SIGNS
                .iter()
                .zip(self.signs)
                .filter_map(|(sign, has)| has.then_some(sign))
                .collect(),
            rows: &self.html,
            manifest: &note.linker.bundle().manifest,
            written_by: concat!("pel ", env!("CARGO_PKG_VERSION")),
        };
        let page = page.render().map_err(failed)?;
        Ok(match clean::page(&page) {
            Cow::Borrowed(_) => page,
            Cow::Owned(cleaned) => cleaned,
        })
    }
}

fn failed(cause: askama::Error) -> Error {
    Error::io("writing the page").caused_by(cause)
}

/// The source of a mention, its long form, the reason for NIL and the probability, in words.
fn why(record: &Record) -> String {
    let mut why = origin_words(record.origin).to_owned();
    if let Some(read_as) = &record.read_as {
        why += &format!(", read as {read_as:?}");
    }
    let context = record.context.words();
    if !context.is_empty() {
        why += &format!("; {context}");
    }
    match (&record.decision, record.decided_by) {
        (Err(reason), _) => why += &format!("; {}", reason.words()),
        (Ok(_), DecidedBy::Reader) => why += "; chosen by the user",
        (Ok(_), DecidedBy::Machine) => {}
    }
    if let Some(review) = &record.review {
        why += &format!("; {}", review.words());
    }
    if let Some(probability) = record.probability {
        why += &format!("; probability {probability:.3}");
    }
    why
}

/// The hue of a type in degrees. Equal types have equal hues.
fn hue(kind: &str) -> u32 {
    let spread = kind.bytes().fold(0u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    // Orange is the colour of NIL.
    70 + spread % 270
}

/// Escapes text for elements and for attributes in quotes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Escape;

impl Escaper for Escape {
    fn write_escaped_str<W: fmt::Write>(&self, mut out: W, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'', '/']) {
            out.write_str(&rest[..at])?;
            out.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                b'/' => "&#x2f;",
                _ => "&#x27;",
            })?;
            rest = &rest[at + 1..];
        }
        out.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word of a context has a sign, or the note would show it as a fact.
    #[test]
    fn each_value_of_a_context_has_a_sign() {
        use pel_text::context::{
            Allergy, Certainty, Context, Experiencer, Laterality, Severity, Temporality,
        };
        let all = |certainty, temporality, experiencer, laterality, severity| Context {
            negated: true,
            allergy: Some(match severity {
                Severity::Mild => Allergy::Allergen,
                _ => Allergy::Reaction,
            }),
            certainty,
            temporality,
            experiencer,
            laterality: Some(laterality),
            severity: Some(severity),
            ..Context::default()
        };
        let (left, mild) = (Laterality::Left, Severity::Mild);
        for context in [
            all(
                Certainty::Uncertain,
                Temporality::Historical,
                Experiencer::Family,
                left,
                mild,
            ),
            all(
                Certainty::Hypothetical,
                Temporality::Future,
                Experiencer::Other,
                Laterality::Right,
                Severity::Moderate,
            ),
            all(
                Certainty::Certain,
                Temporality::Current,
                Experiencer::Patient,
                Laterality::Bilateral,
                Severity::Severe,
            ),
        ] {
            for word in context.words().split(", ") {
                let found = SIGNS.iter().find(|sign| sign.words == word);
                let shown = found.map(|sign| sign.class.len() + sign.sign.len());
                assert!(shown.is_some_and(|shown| shown > 0), "{word}");
            }
        }
    }

    #[test]
    fn text_is_escaped_for_elements_and_attributes() {
        let mut out = String::new();
        Escape
            .write_escaped_str(&mut out, "</a> & \"é\" 'x'")
            .expect("written");
        assert_eq!(out, "&lt;&#x2f;a&gt; &amp; &quot;é&quot; &#x27;x&#x27;");
        let row = Row {
            number: 1,
            mention: "<b>",
            linked: None,
            kind: "",
            hue: None,
            definition: None,
            score: String::new(),
            why: "'".to_owned(),
            others: Vec::new(),
        };
        let html = row.render().expect("rendered");
        assert!(
            html.contains("<td>&lt;b&gt;</td>") && html.contains("<td>&#x27;</td>"),
            "{html}"
        );
    }
}
