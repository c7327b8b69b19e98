//! Allergies: what an AllergyIntolerance says, and statements that no allergy is known.

use super::codes::{Source, code, coded};
use crate::Note;
use crate::Record;
use pel_text::context::{Certainty, Context, Effect, Experiencer};
use serde_json::{Value, json};

/// What is said of allergies as a whole.
const NO_KNOWN: [(&str, (&str, &str)); 4] = [
    ("", ("716186003", "No known allergy")),
    ("drug", ("409137002", "No known drug allergy")),
    ("food", ("429625007", "No known food allergy")),
    (
        "environmental",
        ("428607008", "No known environmental allergy"),
    ),
];

/// The words of drugs in names of allergies.
const DRUGS: [&str; 14] = [
    "drug",
    "drugs",
    "medication",
    "medications",
    "medicine",
    "medicines",
    "medicinal",
    "medicament",
    "medikamente",
    "medikamentenallergie",
    "medikamentenallergien",
    "medicamentosa",
    "medicamentosas",
    "medicamenteuse",
];

/// Other words in "no known allergies".
const FILLERS: [&str; 24] = [
    "allergy",
    "allergies",
    "allergic",
    "reaction",
    "reactions",
    "allergie",
    "allergien",
    "alergia",
    "alergias",
    "nka",
    "any",
    "no",
    "known",
    "other",
    "to",
    "a",
    "significant",
    "connue",
    "connues",
    "conocida",
    "conocidas",
    "bekannt",
    "bekannte",
    "bekannten",
];

/// The code of "no known drug allergies" and its name, if a mention with these words says so of the
/// patient.
pub(super) fn none_known(words: &str, context: &Context) -> Option<(&'static str, &'static str)> {
    let states = context.negated
        && context.certainty == Certainty::Certain
        && context.experiencer == Experiencer::Patient
        && context.allergy.is_none();
    if !states {
        return None;
    }
    let (mut of, mut names_allergy) = ("", false);
    for word in words.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        names_allergy |= word.contains("allerg") || word.contains("alerg") || word == "nka";
        match word {
            "" => {}
            "nkda" => (of, names_allergy) = ("drug", true),
            "nkfa" => (of, names_allergy) = ("food", true),
            word if DRUGS.contains(&word) => of = "drug",
            "food" | "foods" => of = "food",
            "environmental" => of = "environmental",
            word if FILLERS.contains(&word) => {}
            _ => return None,
        }
    }
    let code = NO_KNOWN.iter().find(|(known, _)| *known == of);
    code.filter(|_| names_allergy).map(|(_, code)| *code)
}

/// Words that name an allergy without its substance.
const KINDS_OF_ALLERGY: [&str; 8] = [
    "seasonal",
    "environmental",
    "perennial",
    "sinus",
    "nasal",
    "skin",
    "food",
    "multiple",
];

/// Whether the words of a problem name an allergy with its substance: "penicillin allergy",
/// "allergic to latex", "adverse reaction to sulfa".
pub(super) fn names_substance(words: &str) -> bool {
    let words = words.to_lowercase();
    let words: Vec<&str> = words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let noun = |word: &&str| {
        [
            "allergy",
            "allergies",
            "allergie",
            "allergien",
            "alergia",
            "alergias",
        ]
        .iter()
        .any(|noun| word.ends_with(noun))
    };
    let to = words
        .windows(2)
        .any(|two| ["allergic", "reaction", "reactions"].contains(&two[0]) && two[1] == "to");
    let is_substance = |word: &&str| {
        !FILLERS.contains(word)
            && !DRUGS.contains(word)
            && !KINDS_OF_ALLERGY.contains(word)
            && !["adverse", "of", "the", "and"].contains(word)
    };
    (to || words.iter().any(noun)) && words.iter().any(is_substance)
}

/// The fields of an AllergyIntolerance besides its code. With `none` it says that none is known.
pub(super) fn fields(
    note: &Note<'_>,
    source: &Source<'_>,
    record: &Record,
    reactions: &[&Record],
    none: bool,
) -> Vec<(&'static str, Value)> {
    let context = &record.context;
    let refuted = context.negated && !none;
    let status = if refuted { "refuted" } else { "unconfirmed" };
    let mut fields = vec![(
        "verificationStatus",
        coded(
            "http://terminology.hl7.org/CodeSystem/allergyintolerance-verification",
            status,
        ),
    )];
    // A refuted allergy has no clinical status.
    if !refuted {
        let active = coded(
            "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical",
            "active",
        );
        fields.push(("clinicalStatus", active));
    }
    fields.extend(kind(note, context).map(|kind| ("type", kind.into())));
    if !reactions.is_empty() {
        let reactions = reactions.iter().map(|reaction| {
            let mut fields = json!({ "manifestation": [code(note, source, reaction)] });
            if let Some(severity) = reaction.context.severity {
                fields["severity"] = severity.name().into();
            }
            fields
        });
        fields.push(("reaction", reactions.collect()));
    }
    fields
}

/// Words of cues that say which of both it is, as they begin.
const KINDS: [(&str, &[&str]); 2] = [
    (
        "allergy",
        &["allerg", "alerg", "alérg", "anaphyl", "anafil"],
    ),
    ("intolerance", &["intol", "unvertr"]),
];

/// `allergy` or `intolerance`, if the cue says which. A section "Allergies" may have both.
fn kind(note: &Note<'_>, context: &Context) -> Option<&'static str> {
    let mut cues = context.cues.iter();
    let cue = cues.find(|cue| cue.effect == Effect::Allergen)?;
    let rule = note.linker.steps().context_rules().rule(cue.rule)?;
    if rule.heading.starts_with("prior ") {
        return None;
    }
    let words = cue.span.of(note.text).ok()?.to_lowercase();
    let mut said = KINDS
        .iter()
        .filter(|(_, stems)| stems.iter().any(|stem| words.contains(stem)));
    let kind = said.next().map(|(kind, _)| *kind);
    kind.filter(|_| said.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allergy_by_name_has_its_substance() {
        for words in [
            "Penicillin allergy",
            "Allergic to latex",
            "adverse reactions to sulfa",
            "Penicillinallergie",
            "alergia a penicilina",
        ] {
            assert!(names_substance(words), "{words}");
        }
        for words in [
            "seasonal allergies",
            "drug allergies",
            "allergic rhinitis",
            "allergic reaction",
            "fever",
            "NKDA",
        ] {
            assert!(!names_substance(words), "{words}");
        }
    }

    #[test]
    fn no_known_allergy_is_told_from_other_denied_problems() {
        let denied = Context {
            negated: true,
            ..Context::default()
        };
        let code = |words| none_known(words, &denied).map(|(code, _)| code);
        assert_eq!(code("NKDA"), Some("409137002"));
        assert_eq!(code("drug allergies"), Some("409137002"));
        assert_eq!(code("allergies to medications"), Some("409137002"));
        assert_eq!(code("Allergies"), Some("716186003"));
        assert_eq!(code("food allergies"), Some("429625007"));
        assert_eq!(code("Allergien"), Some("716186003"));
        for other in [
            "seasonal allergies",
            "penicillin allergy",
            "drug",
            "fever",
            "",
        ] {
            assert_eq!(code(other), None, "{other}");
        }
        assert_eq!(none_known("allergies", &Context::default()), None);
        let doubted = Context {
            certainty: Certainty::Uncertain,
            ..denied.clone()
        };
        assert_eq!(none_known("NKDA", &doubted), None);
        let of_mother = Context {
            experiencer: Experiencer::Family,
            ..denied
        };
        assert_eq!(none_known("NKDA", &of_mother), None);
    }
}
