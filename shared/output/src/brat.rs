//! BRAT standoff: a text-bound annotation per mention, its attributes and relations, a reference to
//! its concept, and a note with the reason for NIL or that the user chose the concept, and the
//! probability.

use super::relations::by_source;
use super::{ATTRIBUTE_COLUMNS, Note, Record, RemovedMention, Review, decision_words};
use pel_kb::clean::{breaks_line, field};
use pel_text::context::{Certainty, Context, Experiencer, Temporality};
use pel_text::{Offsets, Span};
use std::fmt::Write;

/// The annotations of a note. Offsets are code points. A mention has one fragment for each of its
/// fragments and lines: BRAT refuses a fragment with a line end. `before` mentions of the note were
/// written before these.
pub(super) fn write(note: &Note<'_>, offsets: &Offsets<'_>, before: usize) -> String {
    let mut out = String::new();
    let relations = by_source(note.text, note.records);
    for (at, record) in note.records.iter().enumerate() {
        let number = before + at + 1;
        let kind = record
            .decision
            .as_ref()
            .map_or("NIL", |concept| concept.kind());
        let kind = kind.replace(|c: char| !c.is_alphanumeric(), "_");
        let kind = if kind.is_empty() { "Concept" } else { &kind };
        let fragments = in_lines(note.text, record.pieces());
        let place = |fragment: &Span| {
            format!(
                "{} {}",
                offsets.code_point(fragment.start),
                offsets.code_point(fragment.end)
            )
        };
        let places: Vec<String> = fragments.iter().map(place).collect();
        let words: Vec<&str> = fragments
            .iter()
            .filter_map(|fragment| fragment.of(note.text).ok())
            .collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "T{number}\t{kind} {}\t{}",
            places.join(";"),
            field(&words.join(" "))
        );
        out += &attributes(number, note.text, record);
        if let Ok(concept) = &record.decision {
            // A space would end the reference.
            let id = field(&concept.id).replace(char::is_whitespace, "_");
            let _ = writeln!(
                out,
                "N{number}\tReference T{number} KB:{id}\t{}",
                field(&concept.name)
            );
        }
        // BRAT shows one note of an annotator for a mention.
        let decision = decision_words(record);
        let probability = record.probability;
        let probability = probability.map(|value| format!("Probability: {value:.4}"));
        let review = record.review.as_ref().map(Review::words);
        let words: Vec<String> = decision
            .into_iter()
            .chain(probability)
            .chain(review)
            .collect();
        if !words.is_empty() {
            let words = words.join("; ");
            let _ = writeln!(out, "#{number}\tAnnotatorNotes T{number}\t{words}");
        }
        for (place, relation) in relations[at].iter().take(MOST_ATTRIBUTES).enumerate() {
            let id = MOST_ATTRIBUTES * number + place;
            let name = capitalised(relation.name.name());
            let target = before + relation.target + 1;
            let _ = writeln!(out, "R{id}\t{name} Arg1:T{number} Arg2:T{target}");
        }
    }
    out
}

/// The mentions that a reader removed, as comments. `before` mentions of the note were written.
pub(super) fn removed(
    note: &Note<'_>,
    offsets: &Offsets<'_>,
    before: usize,
    removed: &[RemovedMention],
) -> String {
    let lines = removed.iter().enumerate();
    lines
        .map(|(at, one)| one.brat_line(before + at + 1, note.text, offsets))
        .collect()
}

/// The most attributes of a mention, so that their numbers follow from its own.
const MOST_ATTRIBUTES: usize = 1000;

/// The attributes of a mention: what is not the default of its context, and what the text says
/// beside it. BRAT reads a value up to the next space, so values have `_` for spaces.
fn attributes(number: usize, text: &str, record: &Record) -> String {
    let Context {
        negated,
        certainty,
        temporality,
        experiencer,
        laterality,
        severity,
        allergy,
        ..
    } = &record.context;
    let mut all = Vec::new();
    if *negated {
        all.push(format!("Negated T{number}"));
    }
    if *certainty != Certainty::default() {
        all.push(format!("Certainty T{number} {}", certainty.name()));
    }
    if *temporality != Temporality::default() {
        all.push(format!("Temporality T{number} {}", temporality.name()));
    }
    if *experiencer != Experiencer::default() {
        all.push(format!("Experiencer T{number} {}", experiencer.name()));
    }
    if let Some(laterality) = laterality {
        all.push(format!("Laterality T{number} {}", laterality.name()));
    }
    if let Some(severity) = severity {
        all.push(format!("Severity T{number} {}", severity.name()));
    }
    if let Some(allergy) = allergy {
        all.push(format!("Allergy T{number} {}", allergy.name()));
    }
    for name in ATTRIBUTE_COLUMNS {
        let cell = record.attribute_cell(text, name);
        all.extend(valued(name.name(), number, &cell));
    }
    all.extend(valued("earlier", number, &record.earlier_cell(text)));
    all.iter()
        .take(MOST_ATTRIBUTES)
        .enumerate()
        .map(|(place, words)| format!("A{}\t{words}\n", MOST_ATTRIBUTES * number + place))
        .collect()
}

/// An attribute with a value: "Strength T1 20_mg". `None` without a value.
fn valued(name: &str, number: usize, value: &str) -> Option<String> {
    let value = field(value).replace(char::is_whitespace, "_");
    (!value.is_empty()).then(|| format!("{} T{number} {value}", capitalised(name)))
}

/// A name with a capital.
fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The fragments of a mention, split at line ends, tabs and control characters. White space beside
/// these is left out.
fn in_lines(text: &str, pieces: &[Span]) -> Vec<Span> {
    let mut fragments = Vec::new();
    for piece in pieces {
        let words = piece.of(text).unwrap_or_default();
        if !words.contains(breaks_line) {
            fragments.push(*piece);
            continue;
        }
        let mut at = piece.start;
        for line in words.split_inclusive(breaks_line) {
            let kept = line.trim_matches(|c: char| breaks_line(c) || c.is_whitespace());
            if !kept.is_empty() {
                let begins = at
                    + (line.len()
                        - line
                            .trim_start_matches(|c: char| breaks_line(c) || c.is_whitespace())
                            .len());
                fragments.push(Span::new(begins, begins + kept.len()));
            }
            at += line.len();
        }
    }
    // A mention without a visible character stays as it is.
    if fragments.is_empty() {
        pieces.to_vec()
    } else {
        fragments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_split_at_line_breaks() {
        let cut = |text: &str| {
            let fragments = in_lines(text, &[Span::new(0, text.len())]);
            fragments
                .iter()
                .map(|fragment| text[fragment.start..fragment.end].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(cut("heart failure"), ["heart failure"]);
        for parted in [
            "heart\nfailure",
            "heart \r\n  failure",
            "heart\rfailure",
            "heart\t\u{b}failure",
            "heart\u{2028}failure",
        ] {
            assert_eq!(cut(parted), ["heart", "failure"], "{parted:?}");
        }
        assert_eq!(cut("\u{1b}heart\u{202e} failure\n"), ["heart", "failure"]);
        assert_eq!(cut("\n"), ["\n"]);
    }
}
