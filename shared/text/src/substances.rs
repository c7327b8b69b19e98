//! Whether a substance in a text is measured there or given: "potassium 5.1" is a result, and
//! "potassium chloride 20 mEq PO" is a drug.

use super::Span;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The substances that laboratories measure.
const ANALYTES: &str = include_str!("analytes.txt");

/// The bytes before and after a substance that are read.
const AROUND: usize = 80;

/// The words between a substance and its result or dose.
const BETWEEN: usize = 4;

/// Words between a substance and its result or dose, in lower case.
const LINKING: &str = "\
    : = - | ( ~ < > <= >= ≤ ≥ is was were are of at now still remains remained today then up down \
    to from not also again";

/// Words for a result, which stand behind what is measured.
const RESULTS: &str = "\
    neg negative pos positive normal abnormal wnl nl elevated raised high low undetectable \
    detectable pending stable unremarkable up down rising falling trending downtrending uptrending \
    increased decreased deranged ↑ ↓ ok fine borderline supratherapeutic subtherapeutic \
    therapeutic rose fell improved worsened peaked";

/// Words that make a substance what is measured: before it, and behind it.
const BEFORE: &str = "\
    serum plasma urine urinary blood csf fasting random elevated raised low high normal check \
    recheck repeat trend lab labs total free ionized ionised corrected";
const LEVELS: &str = "level levels trough troughs peak concentration concentrations assay test";

/// Words that make a substance what is given: before it, and behind it.
const GIVING: &str = "\
    start started starting give gave given giving take takes taking on received receiving hold \
    held holding continue continued continuing resume resumed add added stop stopped increase iv po im \
    oral replete repleted repletion supplement prescribed prescribe administer administered load \
    loaded begin began";
const GIVEN: &str = "\
    po iv ivp im sc sq subq sl pr gtt drip infusion bolus tablet tablets tab tabs capsule capsules \
    caps pill pills supplement supplements supplementation repletion replacement injection \
    injections patch gel cream ointment drops daily bid tid qid qd qhs qam qpm prn weekly monthly \
    nightly nebs neb inhaler sliding";

/// Units of doses.
const DOSES: &str = "\
    mg mgs mcg ug µg μg g gm gms gram grams u unit units iu meq meqs ml cc tab tabs tablet tablets \
    cap caps capsule capsules puff puffs amp amps gtt drop drops mg/day mg/d mcg/day mg/kg mcg/kg \
    mg/hr mg/h mcg/hr mcg/h units/hr units/h u/hr units/kg ml/hr ml/h mcg/min mcg/kg/min mg/kg/day \
    mg/kg/hr meq/hr";

/// What the words around a substance show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its level is taken.
    Measured,
    /// The patient is given it.
    Given,
}

/// How laboratories and clinicians know a substance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It is measured alone: creatinine.
    Measured,
    /// It is measured, and given: potassium.
    Either,
    /// It is taken for pleasure, and measured: alcohol.
    Used,
    /// Any other: it is given, unless its level is taken.
    Other,
}

impl Class {
    /// The class of a substance by the words of its mention and the names of its concepts.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        static CLASSES: LazyLock<HashMap<&'static str, Class>> = LazyLock::new(|| {
            let lines = ANALYTES.lines().filter_map(|line| line.split_once('\t'));
            let of_line = |(class, names): (&'static str, &'static str)| {
                let class = match class {
                    "measured" => Class::Measured,
                    "used" => Class::Used,
                    _ => Class::Either,
                };
                names.split(", ").map(move |name| (name, class))
            };
            lines.flat_map(of_line).collect()
        });
        let mut names = names.into_iter();
        names
            .find_map(|name| CLASSES.get(name.to_lowercase().as_str()).copied())
            .unwrap_or(Self::Other)
    }

    /// What the words around a substance of this class show of it. `None` if it may be measured and
    /// given, and nothing shows which.
    pub fn use_in(self, text: &str, span: Span) -> Option<Use> {
        match self {
            Self::Measured => Some(Use::Measured),
            Self::Either | Self::Used => shown(text, span, true),
            Self::Other => shown(text, span, false),
        }
    }
}

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|own| own == word)
}

/// Whether a unit is one of a concentration, a share or an activity: "mg/dL", "%", "K/uL".
fn is_concentration(unit: &str) -> bool {
    let volumes = [
        "/dl", "/l", "/ml", "/ul", "/µl", "/μl", "/mm3", "/cumm", "/cmm",
    ];
    // Solutions have strengths.
    let is_strength = ["mg/ml", "units/ml", "u/ml", "g/ml"].contains(&unit);
    !is_strength && volumes.iter().any(|volume| unit.ends_with(volume))
}

/// The words of a text in lower case, with marks as words of their own.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut joins = false;
    for c in text.chars() {
        let is_mark = matches!(
            c,
            ':' | '=' | '(' | ')' | '<' | '>' | '~' | ',' | ';' | '↑' | '↓'
        );
        if c.is_whitespace() || is_mark {
            joins = false;
            if is_mark {
                words.push(c.to_string());
            }
            continue;
        }
        match words.last_mut().filter(|_| joins) {
            Some(word) => word.extend(c.to_lowercase()),
            None => words.push(c.to_lowercase().collect()),
        }
        joins = true;
    }
    let trim = |word: String| word.trim_end_matches(['.', ']', '?', '!']).to_owned();
    words.into_iter().map(trim).collect()
}

/// The unit behind a number at the start of a word: "mg" of "40mg", and the empty string of "5.1".
/// `None` if the word begins with no number, or is a count ("x2").
fn after_number(word: &str) -> Option<&str> {
    let word = word.trim_start_matches(['[', '+', '-']);
    let unit =
        word.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '/'));
    let is_number = word.starts_with(|c: char| c.is_ascii_digit());
    (is_number || word.starts_with('.') && unit.len() + 1 < word.len()).then(|| {
        // "88/50", but "5/kg".
        unit.trim_end_matches([',', ';'])
    })
}

/// What the words around a substance show. `is_either` is whether it is measured like it is given.
fn shown(text: &str, span: Span, is_either: bool) -> Option<Use> {
    let to = text.ceil_char_boundary(text.len().min(span.end + AROUND));
    let after = text.get(span.end..to).unwrap_or_default();
    let after = after.split(['\n', '\r']).next().unwrap_or_default();
    if let Some(shown) = shown_behind(&words(after), is_either) {
        return Some(shown);
    }
    let from = text.floor_char_boundary(span.start.saturating_sub(AROUND));
    let before = text.get(from..span.start).unwrap_or_default();
    let clause = before.rsplit(['\n', '\r', '.', ';', ',']).next();
    let before = words(clause.unwrap_or_default());
    let last = before.last()?;
    if has(GIVING, last) {
        return Some(Use::Given);
    }
    (is_either && has(BEFORE, last)).then_some(Use::Measured)
}

/// What the words behind a substance show.
fn shown_behind(words: &[String], is_either: bool) -> Option<Use> {
    for (at, word) in words.iter().enumerate().take(BETWEEN + 1) {
        if has(LEVELS, word) {
            return Some(Use::Measured);
        }
        if has(GIVEN, word) {
            return Some(Use::Given);
        }
        if let Some(unit) = after_number(word) {
            let next = || words.get(at + 1).map_or("", String::as_str);
            let unit = if unit.is_empty() { next() } else { unit };
            let then = words.get(at + 1..).unwrap_or_default();
            return if is_concentration(unit) {
                Some(Use::Measured)
            } else if has(DOSES, unit) || then.iter().take(2).any(|word| has(GIVEN, word)) {
                Some(Use::Given)
            } else {
                is_either.then_some(Use::Measured)
            };
        }
        if is_either && has(RESULTS, word) {
            return Some(Use::Measured);
        }
        if !has(LINKING, word) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_in(text: &str, name: &str) -> Option<Use> {
        let start = text.find(name).expect("in the text");
        Class::of([name]).use_in(text, Span::new(start, start + name.len()))
    }

    #[test]
    fn a_result_shows_that_a_substance_is_measured() {
        for (text, name) in [
            ("creatinine 1.6 mg/dL", "creatinine"),
            ("K 5.1", "K"),
            ("troponin not raised", "troponin"),
            ("Potassium       4.1      mmol/L", "Potassium"),
            ("potassium | 3.2 |", "potassium"),
            ("glucose high today", "glucose"),
            ("vitamin D: 12 ng/mL", "vitamin D"),
            ("sodium was still 128", "sodium"),
            ("testosterone (low)", "testosterone"),
            ("serum potassium", "potassium"),
            ("vancomycin trough 22", "vancomycin"),
            ("digoxin 2.4 ng/mL", "digoxin"),
            ("lithium level was taken", "lithium"),
        ] {
            assert_eq!(shown_in(text, name), Some(Use::Measured), "{text}");
        }
    }

    #[test]
    fn a_dose_shows_that_a_substance_is_given() {
        for (text, name) in [
            ("potassium 40 mEq PO", "potassium"),
            ("magnesium 2g IV", "magnesium"),
            ("calcium supplement", "calcium"),
            ("start vitamin D", "vitamin D"),
            ("vitamin D 2000 units daily", "vitamin D"),
            ("on iron 325 mg daily", "iron"),
            ("folate daily", "folate"),
            ("furosemide 40", "furosemide"),
            ("propofol 10 mg/mL", "propofol"),
            ("insulin drip", "insulin"),
        ] {
            assert_eq!(
                shown_in(text, name).unwrap_or(Use::Given),
                Use::Given,
                "{text}"
            );
        }
        assert_eq!(shown_in("potassium and calcium", "potassium"), None);
        assert_eq!(shown_in("potassium\n40 mEq", "potassium"), None);
        assert_eq!(shown_in("furosemide 40", "furosemide"), None);
    }

    #[test]
    fn names_of_analytes_are_in_lower_case_and_once() {
        let lines = ANALYTES.lines().filter_map(|line| line.split_once('\t'));
        let mut names: Vec<&str> = lines.flat_map(|(_, names)| names.split(", ")).collect();
        assert!(names.iter().all(|name| *name == name.to_lowercase().trim()));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
