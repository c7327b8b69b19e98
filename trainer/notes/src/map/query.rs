//! What a local term is read as: forms of it without units, doses, states and inversions.
//!
//! Local terms have parts that no name of a knowledge base has: "GLUCOSE, SERUM (MG/DL)",
//! "HTN - controlled", "METFORMIN 500 MG TAB". [`forms`] gives the term as it is and then shorter
//! forms, each after one more step. The first form that is a name counts; without one it is the
//! last. The steps are few and shown to the reviewer, because each can lose something.

use pel_terminologies::import::concepts::single_spaced;

/// Units of measurement, in lower case, that no bracket with a slash or per cent shows.
const UNITS: [&str; 41] = [
    "ul",
    "mg",
    "mcg",
    "ug",
    "µg",
    "μg",
    "ng",
    "pg",
    "g",
    "gm",
    "kg",
    "ml",
    "dl",
    "l",
    "fl",
    "mmol",
    "umol",
    "nmol",
    "pmol",
    "mol",
    "meq",
    "meq/l",
    "u",
    "iu",
    "miu",
    "unit",
    "units",
    "mmhg",
    "cm",
    "mm",
    "bpm",
    "sec",
    "s",
    "min",
    "hr",
    "k",
    "ratio",
    "calc",
    "calculated",
    "ph",
    "c",
];

/// States of a problem, in lower case. A word that changes which concept is meant ("chronic",
/// "unstable", "acute") is not among them.
const STATES: [&str; 33] = [
    "controlled",
    "uncontrolled",
    "well controlled",
    "well-controlled",
    "poorly controlled",
    "poorly-controlled",
    "not controlled",
    "stable",
    "resolved",
    "resolving",
    "active",
    "inactive",
    "improving",
    "improved",
    "worsening",
    "worse",
    "ongoing",
    "unchanged",
    "at goal",
    "not at goal",
    "on meds",
    "on medication",
    "on treatment",
    "treated",
    "untreated",
    "monitor",
    "monitoring",
    "follow up",
    "follow-up",
    "f/u",
    "new",
    "nos",
    "unspecified",
];

/// What precedes a problem or procedure in a list, in lower case.
const BEFORE: [&str; 9] = [
    "h/o ",
    "hx of ",
    "hx ",
    "s/p ",
    "status post ",
    "history of ",
    "pmh: ",
    "dx: ",
    "known ",
];

/// Forms and routes of drugs, in lower case.
const DOSE_FORMS: [&str; 44] = [
    "tab",
    "tabs",
    "tablet",
    "tablets",
    "cap",
    "caps",
    "capsule",
    "capsules",
    "inj",
    "injection",
    "soln",
    "solution",
    "susp",
    "suspension",
    "syrup",
    "cream",
    "oint",
    "ointment",
    "gel",
    "patch",
    "drops",
    "spray",
    "inhaler",
    "neb",
    "supp",
    "suppository",
    "vial",
    "pen",
    "po",
    "iv",
    "im",
    "sc",
    "sq",
    "sl",
    "pr",
    "oral",
    "er",
    "xr",
    "sr",
    "dr",
    "ec",
    "odt",
    "daily",
    "prn",
];

/// Electrolytes by their symbol, which a charge follows.
const IONS: [(&str, &str); 8] = [
    ("na", "sodium"),
    ("k", "potassium"),
    ("ca", "calcium"),
    ("cl", "chloride"),
    ("mg", "magnesium"),
    ("hco3", "bicarbonate"),
    ("po4", "phosphate"),
    ("li", "lithium"),
];

/// The forms of a term, the term itself first. Each follows from the one before by one step; none
/// is blank or occurs twice.
pub fn forms(term: &str) -> Vec<String> {
    let mut all = vec![single_spaced(term)];
    let mut add = |form: Option<String>| {
        let form = form.map(|form| single_spaced(form.trim_matches([' ', ',', ';', ':', '-'])));
        if let Some(form) = form.filter(|form| form.chars().any(char::is_alphanumeric))
            && !all.contains(&form)
        {
            all.push(form);
        }
        all.last().cloned().unwrap_or_default()
    };
    let mut last = single_spaced(term);
    if !last.contains(' ') && last.contains('_') {
        last = add(Some(last.replace('_', " ")));
    }
    for step in [without_unit, without_state, without_before, without_dose] {
        last = add(step(&last));
    }
    if let Some(symbol) = uncharged(&last) {
        last = add(Some(symbol));
        last = add(ion(&last));
    }
    add(turned(&last));
    all
}

/// "GLUCOSE (MG/DL)" and "Glucose [mmol/L]" without the unit; "glucose mg/dL" too.
fn without_unit(term: &str) -> Option<String> {
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some(rest) = term.strip_suffix(close)
            && let Some((before, inner)) = rest.rsplit_once(open)
            && is_unit(inner)
        {
            return Some(before.to_owned());
        }
    }
    let (before, last) = term.rsplit_once(' ')?;
    let is_amount = last.contains('/') && last.split('/').all(is_unit_word);
    (is_amount || last == "%").then(|| before.to_owned())
}

fn is_unit(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    // "(C)" and "(K)" are parts of names.
    text == "%" || text.chars().count() > 1 && text.split(['/', ' ', '*', '^']).all(is_unit_word)
}

fn is_unit_word(word: &str) -> bool {
    let word = word.trim().to_lowercase();
    word == "%"
        || UNITS.contains(&word.as_str())
        || !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
        || word
            .strip_prefix("10")
            .is_some_and(|power| power.chars().all(|c| c.is_ascii_digit()))
}

/// "HTN - controlled", "asthma (stable)" and "DM2, resolved" without the state.
fn without_state(term: &str) -> Option<String> {
    let is_state = |text: &str| STATES.contains(&text.trim().to_lowercase().as_str());
    let mut core = term;
    loop {
        let bracketed = core
            .strip_suffix(')')
            .and_then(|rest| rest.rsplit_once('('));
        // "Depression NOS" has no mark before the state.
        let unmarked = core
            .len()
            .checked_sub(4)
            .and_then(|at| core.split_at_checked(at))
            .filter(|(_, end)| end.eq_ignore_ascii_case(" nos"));
        let cut = [
            bracketed,
            unmarked,
            core.rsplit_once(" - "),
            core.rsplit_once(" – "),
            core.rsplit_once(','),
            core.rsplit_once(';'),
            core.rsplit_once(':'),
        ]
        .into_iter()
        .flatten()
        .find(|(before, state)| is_state(state) && !before.trim().is_empty());
        match cut {
            Some((before, _)) => core = before.trim_end(),
            None => return (core.len() < term.len()).then(|| core.to_owned()),
        }
    }
}

/// "h/o breast cancer" without "h/o".
fn without_before(term: &str) -> Option<String> {
    let lower = term.to_lowercase();
    // Lower case must not change the places of bytes.
    if lower.len() != term.len() {
        return None;
    }
    let found = BEFORE.iter().find(|before| lower.starts_with(**before))?;
    term.get(found.len()..).map(str::to_owned)
}

/// "METFORMIN 500 MG TAB" without all from the strength on, if only strengths, forms and routes
/// follow.
fn without_dose(term: &str) -> Option<String> {
    let words: Vec<&str> = term.split(' ').collect();
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '/'))
    };
    let is_strength = |word: &str| {
        let lower = word.to_lowercase();
        let unit =
            lower.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-'));
        unit.len() < lower.len() && !unit.is_empty() && unit.split('/').all(is_unit_word)
    };
    let begins = |at: usize| {
        let word = words[at];
        is_strength(word)
            || is_number(word)
                && words
                    .get(at + 1)
                    .is_some_and(|next| next.split('/').all(is_unit_word))
    };
    let at = (1..words.len()).find(|at| begins(*at))?;
    let is_rest = |word: &&str| {
        let lower = word.to_lowercase();
        let lower = lower.trim_matches([',', '.', '(', ')', ';']);
        is_number(lower)
            || is_strength(lower)
            || lower.split('/').all(is_unit_word)
            || DOSE_FORMS.contains(&lower)
    };
    words[at..]
        .iter()
        .all(is_rest)
        .then(|| without_dose_forms(&words[..at].join(" ")))
}

fn without_dose_forms(core: &str) -> String {
    let mut words: Vec<&str> = core.split(' ').collect();
    while words.len() > 1
        && words
            .last()
            .is_some_and(|word| DOSE_FORMS.contains(&word.to_lowercase().as_str()))
    {
        words.pop();
    }
    words.join(" ")
}

/// "Na+", "Ca++" and "Mg2+" without the charge.
fn uncharged(term: &str) -> Option<String> {
    let core = term.trim_end_matches(['+', '-']);
    (core.len() < term.len() && core.len() <= 6 && !core.contains(' ')).then(|| core.to_owned())
}

/// "Na" as sodium. It is for a symbol that had a charge: "K" alone has too many meanings.
fn ion(term: &str) -> Option<String> {
    let symbol = term.to_lowercase();
    let symbol = symbol.strip_suffix('2').unwrap_or(&symbol);
    IONS.iter()
        .find(|(own, _)| *own == symbol)
        .map(|(_, name)| (*name).to_owned())
}

/// "GLUCOSE, SERUM" as "SERUM GLUCOSE": one comma, and at most three words on either side.
fn turned(term: &str) -> Option<String> {
    let (head, rest) = term.split_once(',')?;
    let words = |text: &str| text.split_whitespace().count();
    let fits = |text: &str| (1..=3).contains(&words(text));
    (fits(head) && fits(rest) && !rest.contains(','))
        .then(|| format!("{} {}", rest.trim(), head.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_states_doses_and_inversions_are_removed_step_by_step() {
        for (term, expected) in [
            (
                "GLUCOSE, SERUM (MG/DL)",
                &["GLUCOSE, SERUM (MG/DL)", "GLUCOSE, SERUM", "SERUM GLUCOSE"][..],
            ),
            ("HTN - controlled", &["HTN - controlled", "HTN"]),
            (
                "asthma (stable), resolved",
                &["asthma (stable), resolved", "asthma"],
            ),
            ("Depression NOS", &["Depression NOS", "Depression"]),
            ("Na+", &["Na+", "Na", "sodium"]),
            ("Ca2+", &["Ca2+", "Ca2", "calcium"]),
            (
                "METFORMIN 500 MG TAB",
                &["METFORMIN 500 MG TAB", "METFORMIN"],
            ),
            (
                "aspirin tablet 81mg PO daily",
                &["aspirin tablet 81mg PO daily", "aspirin"],
            ),
            (
                "insulin 100 units/ml pen",
                &["insulin 100 units/ml pen", "insulin"],
            ),
            ("h/o breast cancer", &["h/o breast cancer", "breast cancer"]),
            ("HEMOGLOBIN_A1C", &["HEMOGLOBIN_A1C", "HEMOGLOBIN A1C"]),
            ("WBC [10^3/uL]", &["WBC [10^3/uL]", "WBC"]),
            ("Hematocrit %", &["Hematocrit %", "Hematocrit"]),
        ] {
            assert_eq!(forms(term), expected, "{term}");
        }
    }

    #[test]
    fn other_terms_stay_as_they_are() {
        for term in [
            "Glucose [Mass/volume] in Serum or Plasma",
            "unstable angina",
            "chronic kidney disease",
            "type 2 diabetes",
            "vitamin B12",
            "Hepatitis (C)",
            "cancer of lung, right upper lobe, status unknown",
            "K",
            "COVID-19",
            "T4",
            "",
        ] {
            assert_eq!(forms(term), [term], "{term}");
        }
    }

    #[test]
    fn any_text_has_at_least_one_form() {
        for term in [
            "+",
            "-",
            "(MG/DL)",
            "İ h/o x",
            "500 mg",
            ", ,",
            "Na++ - controlled",
        ] {
            assert!(!forms(term).is_empty(), "{term}");
        }
    }
}
