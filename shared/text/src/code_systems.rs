//! Coded lists: in "SNOMED CT 22298006" and "ICD-10: I21.9" neither the name of the code system nor
//! the code is a mention.

use super::Span;

/// Names of code systems in lower case, without hyphens and blanks.
const SYSTEMS: [&str; 32] = [
    "atc",
    "ccam",
    "cie10",
    "cim10",
    "cpt",
    "cpt4",
    "cui",
    "hcpcs",
    "icd",
    "icd10",
    "icd10cm",
    "icd10gm",
    "icd10pcs",
    "icd11",
    "icd9",
    "icd9cm",
    "icdo",
    "icdo3",
    "loinc",
    "meddra",
    "ndc",
    "omim",
    "ops",
    "rxcui",
    "rxnorm",
    "sct",
    "sctid",
    "snomed",
    "snomedct",
    "snomedctid",
    "snomedctus",
    "umls",
];

/// Of these, short forms that stand for something else, too: an implanted defibrillator, a
/// transplantation.
const AMBIGUOUS: [&str; 7] = ["atc", "cpt", "cui", "icd", "ndc", "ops", "sct"];

/// The most words of the name of a system.
const MAX_NAME: usize = 3;

/// The most bytes between the name of a system and a later code of its list.
const MAX_LIST: usize = 96;

/// Whether a mention is the name of a code system or a code behind one. `is_name` tells whether the
/// knowledge base has the mention as a name.
pub fn is_coded(text: &str, span: Span, is_name: bool) -> bool {
    let (Some(before), Some(words), Some(after)) = (
        text.get(..span.start),
        text.get(span.start..span.end),
        text.get(span.end..),
    ) else {
        return false;
    };
    if !words.is_ascii() || words.len() > MAX_LIST {
        return false;
    }
    // "ICD" of "ICD-10".
    let rest_of_word = after
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .unwrap_or(after.len());
    if let Some(system) = system_of(&format!("{words}{}", &after[..rest_of_word])) {
        let code = code_behind(&after[rest_of_word..]);
        return is_code_of(system, code) || !is_name && !AMBIGUOUS.contains(&system);
    }
    // "CT" of "SNOMED CT".
    let last = before.trim_end_matches([' ', '-']).rsplit(' ').next();
    if words.eq_ignore_ascii_case("ct") && last.is_some_and(|last| squashed(last) == "snomed") {
        return true;
    }
    let mut starts = words.match_indices([' ', ':', '#']).map(|(at, _)| at);
    let with_code = |at: usize| {
        let system = system_of(&words[..at]);
        system.is_some_and(|system| is_code_of(system, code_behind(&words[at..])))
    };
    starts.any(with_code) || is_listed_code(before, words)
}

/// Whether words are a code of a list that a code system's name begins: "ICD-10: I21.9, E11.9".
fn is_listed_code(before: &str, words: &str) -> bool {
    if !is_code_of("snomed", words) && !is_code_of("icd", words) {
        return false;
    }
    let from = before.ceil_char_boundary(before.len().saturating_sub(MAX_LIST));
    let line = before[from..]
        .rsplit(['\n', '\r'])
        .next()
        .unwrap_or_default();
    let is_separator = |c: char| matches!(c, ' ' | ':' | '#' | '=' | ',' | ';' | '/' | '(');
    let parts: Vec<&str> = line
        .split(is_separator)
        .filter(|part| !part.is_empty() && !is_filler(part))
        .collect();
    let is_code = |part: &&&str| {
        let looks = is_code_of("snomed", part) || is_code_of("icd", part);
        looks && system_of(part).is_none()
    };
    let codes = parts.iter().rev().take_while(is_code).count();
    let end = parts.len() - codes;
    (end.saturating_sub(MAX_NAME)..end).any(|start| {
        let system = system_of(&parts[start..end].concat());
        system.is_some_and(|system| is_code_of(system, words))
    })
}

/// Whether a word stands between the name of a system and a code.
fn is_filler(word: &str) -> bool {
    let fillers = ["cm", "code", "codes", "ct", "id", "us"];
    fillers
        .iter()
        .any(|filler| word.eq_ignore_ascii_case(filler))
}

/// The code behind the name of a system: "22298006" of " CT code: 22298006 (fever)".
fn code_behind(after: &str) -> &str {
    let mut rest = after;
    loop {
        rest = rest.trim_start_matches([' ', ':', '#', '=', '(', '[', '|']);
        let word = rest
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        if !is_filler(word) {
            break;
        }
        rest = &rest[word.len()..];
    }
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')))
        .unwrap_or(rest.len());
    rest[..end].trim_end_matches(['.', '-'])
}

/// Whether a word may be a code of a system.
fn is_code_of(system: &str, word: &str) -> bool {
    let count = |test: fn(&u8) -> bool| word.bytes().filter(test).count();
    let digits = count(u8::is_ascii_digit);
    let is_plain = word
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
    let begins = |letters: usize, digits: usize| {
        let bytes = word.as_bytes();
        bytes.len() >= letters + digits
            && bytes[..letters].iter().all(u8::is_ascii_uppercase)
            && bytes[letters..letters + digits]
                .iter()
                .all(u8::is_ascii_digit)
    };
    is_plain
        && match system {
            // "I21.9", "E10.A1"
            "icd" | "atc" | "icd10" | "icd10cm" | "icd10gm" | "icd11" | "cim10" | "cie10" => {
                begins(1, 2) || system == "icd11" && digits > 0 && word.len() > 3
            }
            "cpt" | "cpt4" | "hcpcs" => word.len() == 5 && digits >= 4,
            "cui" | "umls" => begins(1, 7),
            "ndc" => digits >= 8,
            "ops" => begins(0, 1) && word.as_bytes().get(1) == Some(&b'-') && digits >= 4,
            "sct" | "sctid" | "snomed" | "snomedct" | "snomedctid" | "snomedctus" => {
                digits >= 6 && digits == word.len()
            }
            _ => digits > 0,
        }
}

/// The code system with a name.
fn system_of(name: &str) -> Option<&'static str> {
    let name = squashed(name);
    SYSTEMS
        .binary_search(&name.as_str())
        .ok()
        .map(|at| SYSTEMS[at])
}

/// Letters and digits in lower case.
fn squashed(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coded(text: &str, words: &str, is_name: bool) -> bool {
        let start = text.find(words).expect("there");
        is_coded(text, Span::new(start, start + words.len()), is_name)
    }

    #[test]
    fn systems_are_in_order() {
        assert!(SYSTEMS.is_sorted() && AMBIGUOUS.is_sorted());
    }

    #[test]
    fn code_systems_and_codes_are_no_mentions() {
        for (text, words) in [
            ("SNOMED 22298006 infarction", "SNOMED"),
            ("SNOMED 22298006 infarction", "22298006"),
            ("SNOMED 22298006 infarction", "SNOMED 22298006"),
            ("Gout (SNOMED-CT: 90560007)", "SNOMED-CT"),
            ("Gout (SNOMED CT: 90560007)", "SNOMED"),
            ("Gout (SNOMED CT: 90560007)", "CT"),
            ("Gout (SNOMED CT: 90560007)", "SNOMED CT"),
            ("ICD-10: I21.9", "ICD-10"),
            ("ICD-10: I21.9", "ICD"),
            ("ICD-10: I21.9", "I21.9"),
            ("ICD-10 codes I21.9, E11.9", "E11.9"),
            ("ICD I21.9", "ICD"),
            ("CPT 99213", "CPT"),
            ("LOINC 1751-7 albumin", "LOINC"),
            ("RxNorm", "RxNorm"),
        ] {
            assert!(coded(text, words, false), "{words} in {text}");
        }
        assert!(coded("SNOMED 22298006", "SNOMED", true));
    }

    #[test]
    fn other_words_beside_numbers_are_mentions() {
        for (text, words) in [
            ("ICD placed in 2015", "ICD"),
            ("ICD 2015", "ICD"),
            ("SCT 2015", "SCT"),
            ("CPT II deficiency", "CPT"),
            ("CT 22298006", "CT"),
            ("I21.9 infarction", "infarction"),
            ("ICD-10: I21.9 infarction", "infarction"),
            ("vitamin B12", "B12"),
            ("SNOMED 22298006, C3", "C3"),
        ] {
            assert!(!coded(text, words, false), "{words} in {text}");
        }
        assert!(!coded("SNOMED is a terminology", "SNOMED", true));
    }
}
