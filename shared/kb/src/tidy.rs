//! Normalises and checks a concept.

use super::report::Report;
use crate::Concept;
use crate::clean::breaks_line;
use std::collections::HashSet;

/// The note on a synonym that a concept has twice.
pub const REPEATED: &str = "repeated or blank synonym left out";
/// The reason for skipping a concept without an identifier.
pub const NO_ID: &str = "no id";
/// The reason for skipping a concept whose identifier has a control character, such as a line end.
pub const CONTROL_IN_ID: &str = "id with a control character";
/// The reason for skipping a concept without a name.
pub const NO_NAME: &str = "no name";

/// Trims the texts of a concept, collapses whitespace, and removes blank and repeated values.
/// `place` is its location, for the report.
///
/// # Errors
/// The reason why it is invalid: [`NO_ID`], [`CONTROL_IN_ID`] or [`NO_NAME`].
pub fn tidied(
    mut concept: Concept,
    report: &mut Report,
    place: impl Fn() -> String,
) -> std::result::Result<Concept, &'static str> {
    concept.id = concept.id.trim().to_owned();
    concept.name = single_spaced(&concept.name);
    if concept.id.is_empty() {
        return Err(NO_ID);
    }
    // A line break could forge a line of BRAT or PubTator; an escape sequence could control a
    // terminal.
    if concept.id.contains(breaks_line) {
        return Err(CONTROL_IN_ID);
    }
    if concept.name.is_empty() {
        return Err(NO_NAME);
    }
    for list in [
        &mut concept.types,
        &mut concept.type_ids,
        &mut concept.xrefs,
        &mut concept.sources,
    ] {
        once_each(list, None, |_| {});
    }
    once_each(&mut concept.synonyms, Some(&concept.name), |name| {
        report.note(REPEATED, || {
            format!("{name:?} of {} at {}", concept.id, place())
        });
    });
    concept.definition = concept
        .definition
        .map(|definition| single_spaced(&definition))
        .filter(|definition| !definition.is_empty());
    Ok(concept)
}

/// Collapses whitespace to single spaces and trims.
pub fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Collapses whitespace, and removes texts that are blank, repeated, or equal to `but`.
pub fn once_each(texts: &mut Vec<String>, but: Option<&str>, mut dropped: impl FnMut(&str)) {
    let mut seen = HashSet::new();
    *texts = std::mem::take(texts)
        .into_iter()
        .map(|text| single_spaced(&text))
        .filter(|text| {
            let kept = !text.is_empty() && Some(text.as_str()) != but && seen.insert(text.clone());
            if !kept {
                dropped(text);
            }
            kept
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidied_normalises_texts_and_requires_id_and_name() {
        let mut report = Report::default();
        let messy = Concept {
            id: " D1 ".into(),
            name: "common\n cold".into(),
            synonyms: vec![
                "cold ".into(),
                " ".into(),
                "common cold".into(),
                "cold".into(),
                "Cold".into(),
            ],
            definition: Some(" \t".into()),
            ..Concept::default()
        };
        let concept =
            tidied(messy, &mut report, || "line 7".into()).expect("it has an id and a name");
        assert_eq!(
            [concept.id.as_str(), concept.name.as_str()],
            ["D1", "common cold"]
        );
        assert_eq!(concept.synonyms, ["cold", "Cold"]);
        assert_eq!(concept.definition, None);
        assert_eq!(report.noted[REPEATED], 3);
        assert_eq!(
            report.examples[REPEATED][1],
            "\"common cold\" of D1 at line 7"
        );
        let mut reason = |id: &str, name: &str| {
            let concept = Concept {
                id: id.into(),
                name: name.into(),
                ..Concept::default()
            };
            tidied(concept, &mut report, String::new).expect_err("incomplete")
        };
        assert_eq!(reason("D1", " "), NO_NAME);
        assert_eq!(reason("", "cold"), NO_ID);
        for forged in [
            "D1\nT9\tSign 0 3\tfev",
            "D1\u{1b}[2J",
            "D\u{9b}1",
            "D\u{202e}1",
            "D\u{2028}1",
        ] {
            assert_eq!(reason(forged, "cold"), CONTROL_IN_ID, "{forged:?}");
        }
    }
}
