//! People's names: a disease, symptom or body part that is a surname is no mention.
//!
//! A name is known by the title before it ("Mr. Parkinson", "Drs. Hand and Foot", "Nurse Burns"), or by a given name or
//! initials before and a degree after it ("J. Hand, MD"). Titles that are abbreviations of something else are told by
//! their case and their neighbours: "MS" is multiple sclerosis, "mild MR." mitral regurgitation, "12 Heart Dr" a drive.

use super::lexicon::Lexicon;
use super::normalise::{Gap, Kind, Token};
use super::scan::Scan;

/// Most words of a name, initials not counted.
const MAX_WORDS: usize = 3;
/// Most tokens of a name, with initials, particles and full stops.
const MAX_TOKENS: usize = 16;
/// Most people behind one plural title.
const MAX_PEOPLE: usize = 8;
/// Tokens before "Dr" that are looked at for a house number.
const ADDRESS: usize = 4;

const PARTICLES: &[&str] = &[
    "al", "bin", "da", "de", "del", "den", "der", "di", "du", "el", "la", "le", "mac", "mc", "o", "st", "ter", "van",
    "vd", "von",
];

/// Words before "the Dr." that make it no title.
const ARTICLES: &[&str] =
    &["a", "an", "another", "any", "her", "his", "its", "my", "no", "our", "that", "the", "their", "this", "your"];

/// Words before "mr." that make it mitral regurgitation.
const DEGREES: &[&str] = &[
    "chronic",
    "mild",
    "minimal",
    "mod",
    "moderate",
    "no",
    "severe",
    "significant",
    "slight",
    "some",
    "trace",
    "trivial",
];

const DEGREES_OF_STUDY: &[&str] = &[
    "aprn", "bsn", "cna", "cnm", "crna", "crnp", "dds", "dnp", "do", "dpm", "dpt", "facc", "facp", "facs", "fnp",
    "frcp", "frcs", "lcsw", "lpn", "lvn", "mbbs", "mbchb", "md", "mph", "msw", "np", "pa", "pharmd", "phd", "psyd",
    "rn",
];

/// How a title is used.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Title {
    /// Several people follow.
    plural: bool,
    /// A name in lower case may follow.
    any_case: bool,
}

/// Where a person's name is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    /// Its first token, or the title before it.
    pub first: usize,
    /// One past its last token.
    pub end: usize,
    /// Whether its last word stands after "J." and may as well begin a sentence.
    pub after_initial: bool,
}

/// The person's name that begins after the title at a token, or with the token itself.
pub(super) fn person_at(scan: &mut Scan, at: usize) -> Option<Person> {
    let token = scan.token(at).filter(|token| token.kind == Kind::Word)?;
    if let Some(title) = title(scan, at, &token) {
        let first = at + 1 + usize::from(is_stop(scan, at + 1));
        return names_after(scan, at, first, title);
    }
    signed(scan, at, &token)
}

fn title(scan: &mut Scan, at: usize, token: &Token) -> Option<Title> {
    let key = scan.key(token);
    if !(2..=9).contains(&key.len()) {
        return None;
    }
    let (lower, capital) = (token.upper == 0, token.upper == 1);
    let one = Title { plural: false, any_case: true };
    match key {
        "mrs" | "mx" | "mme" | "mlle" => Some(one),
        "messrs" => Some(Title { plural: true, ..one }),
        "mr" | "ms" if capital => Some(one),
        "mr" if lower => {
            (is_stop(scan, at + 1) && !follows(scan, at, DEGREES) && !follows_number(scan, at)).then_some(one)
        }
        // "MS. GOUT" is a person at the start of a sentence alone.
        "mr" | "ms" => (is_stop(scan, at + 1) && begins_sentence(scan, at)).then_some(one),
        "dr" | "drs" | "prof" => {
            let (plural, is_drive) = (key == "drs", key == "dr" && is_drive(scan, at));
            let any_case = lower && !follows(scan, at, ARTICLES);
            (!is_drive).then_some(Title { plural, any_case })
        }
        "doctor" | "professor" | "miss" | "nurse" | "sir" | "madam" | "dame" | "lord" | "lady" | "rev" | "reverend"
        | "judge" | "captain" | "sergeant" | "sgt" | "officer"
            if capital =>
        {
            Some(Title { plural: false, any_case: false })
        }
        _ => None,
    }
}

fn names_after(scan: &mut Scan, at: usize, first: usize, title: Title) -> Option<Person> {
    let (before, token) = (scan.token(first - 1)?, scan.token(first)?);
    // Two blanks after a full stop are no border.
    let meets = token.gap == Gap::Space || token.gap == Gap::Cell && first > at + 1 && !has_tab(scan, &before, &token);
    let particle = PARTICLES.contains(&scan.key(&token));
    if token.kind != Kind::Word || !meets || !(is_capitalised(&token) || title.any_case || particle) {
        return None;
    }
    // "MS. GOUT": the title is no mention either.
    let mut person = Person { first: at, ..name(scan, first)? };
    for _ in 1..MAX_PEOPLE {
        if !title.plural {
            break;
        }
        let mut next = person.end;
        // ", and" at most.
        for _ in 0..2 {
            next += usize::from(matches!(key(scan, next).as_deref(), Some("," | "and" | "&")));
        }
        let Some(further) = scan.token(next).filter(|token| next > person.end && is_capitalised(token)) else { break };
        if further.kind != Kind::Word || further.gap.parts() {
            break;
        }
        person = Person { first: at, ..name(scan, next)? };
    }
    Some(person)
}

/// The name that begins at a token: initials, given names and a surname.
fn name(scan: &mut Scan, first: usize) -> Option<Person> {
    let lexicon = Lexicon::get();
    let lower = !is_capitalised(&scan.token(first)?);
    let (mut end, mut words, mut after_initial) = (first, 0, false);
    let mut hyphen = false;
    while let Some(token) = scan.token(end).filter(|token| token.kind == Kind::Word && end - first < MAX_TOKENS) {
        let apart = end > first && (token.gap.parts() || has_newline(scan, end));
        let key = scan.key(&token).to_owned();
        let particle = PARTICLES.contains(&key.as_str());
        let fits = is_capitalised(&token) || lower && words == 0 || particle || hyphen;
        if apart || !fits || !key.starts_with(char::is_alphabetic) || words > 0 && is_degree(scan, end) {
            break;
        }
        let initial = key.chars().nth(1).is_none();
        if particle && !initial && !is_next_capitalised(scan, end + 1) && end > first {
            break;
        }
        end += 1;
        if initial {
            let stop = is_stop(scan, end);
            end += usize::from(stop);
            after_initial = stop;
            hyphen = false;
            continue;
        }
        hyphen = scan.token(end).is_some_and(|next| next.gap == Gap::Hyphen && next.kind == Kind::Word);
        if particle || hyphen {
            after_initial = false;
            continue;
        }
        words += 1;
        let is_given = lexicon.given.contains(&key);
        let more = is_given || words == 1 && !lexicon.surnames.contains(&key);
        if lower || token.possessive || words == MAX_WORDS || !more {
            break;
        }
        if is_next_capitalised(scan, end) {
            after_initial = false;
        }
    }
    (end > first).then_some(Person { first, end, after_initial })
}

/// "J. Hand, MD": a name that begins at a token and has a degree after it.
fn signed(scan: &mut Scan, at: usize, token: &Token) -> Option<Person> {
    if !is_capitalised(token) {
        return None;
    }
    let initial = token.end - token.start == 1 && is_stop(scan, at + 1);
    let begins = initial || Lexicon::get().given.contains(scan.key(token)) || follows(scan, at, &[":", "by"]);
    if !begins {
        return None;
    }
    let person = name(scan, at)?;
    let degree = person.end + usize::from(key(scan, person.end).as_deref() == Some(","));
    is_degree(scan, degree).then_some(Person { after_initial: false, ..person })
}

fn is_degree(scan: &mut Scan, at: usize) -> bool {
    let Some(token) = scan.token(at).filter(|token| token.kind == Kind::Word && !has_newline(scan, at)) else {
        return false;
    };
    let key = scan.key(&token).to_owned();
    if token.upper.count_ones() >= 2 && DEGREES_OF_STUDY.contains(&key.as_str()) {
        return true;
    }
    let spaced = ["m", "d", "r", "n", "p"];
    token.upper == 1
        && spaced.contains(&key.as_str())
        && is_stop(scan, at + 1)
        && scan.token(at + 2).is_some_and(|next| next.upper & 1 == 1 && next.start == token.end + 1)
}

fn key(scan: &mut Scan, at: usize) -> Option<String> {
    let token = scan.token(at)?;
    Some(scan.key(&token).to_owned())
}

fn is_capitalised(token: &Token) -> bool {
    token.upper & 1 == 1
}

fn is_next_capitalised(scan: &mut Scan, at: usize) -> bool {
    scan.token(at).is_some_and(|token| token.kind == Kind::Word && is_capitalised(&token))
}

/// Whether a full stop stands right after the token before.
fn is_stop(scan: &mut Scan, at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| scan.token(before)) else { return false };
    scan.token(at).is_some_and(|token| scan.key(&token) == "." && token.start == before.end)
}

fn has_newline(scan: &mut Scan, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| scan.token(before));
    let (Some(before), Some(token)) = (before, scan.token(at)) else { return false };
    scan.text().get(before.end..token.start).is_some_and(|between| between.contains(['\n', '\r']))
}

fn has_tab(scan: &Scan, before: &Token, after: &Token) -> bool {
    scan.text().get(before.end..after.start).is_some_and(|between| between.contains('\t'))
}

fn follows(scan: &mut Scan, at: usize, words: &[&str]) -> bool {
    at.checked_sub(1).and_then(|before| key(scan, before)).is_some_and(|key| words.contains(&key.as_str()))
}

/// "1+ mr."
fn follows_number(scan: &mut Scan, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| key(scan, before));
    before.is_some_and(|key| key == "+" || key.starts_with(|c: char| c.is_ascii_digit()))
}

fn begins_sentence(scan: &mut Scan, at: usize) -> bool {
    let Some(token) = scan.token(at) else { return false };
    token.gap.parts() || has_newline(scan, at) || follows(scan, at, &[".", "!", "?"])
}

/// "12 Heart Dr, Springfield": a capital word before it, and a house number before that.
fn is_drive(scan: &mut Scan, at: usize) -> bool {
    let mut before = at;
    while let Some(previous) = before.checked_sub(1).filter(|previous| at - previous <= ADDRESS) {
        let Some(token) = scan.token(previous).filter(|token| token.kind == Kind::Word) else { return false };
        if has_newline(scan, before) {
            return false;
        }
        if scan.key(&token).bytes().all(|b| b.is_ascii_digit()) {
            return before < at;
        }
        if !is_capitalised(&token) {
            return false;
        }
        before = previous;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dictionary, found};
    use super::super::{Dictionary, Origin};

    fn organs() -> Dictionary {
        let names = [
            "Parkinson",
            "gout",
            "brain",
            "hand",
            "foot",
            "stroke",
            "burns",
            "heart",
            "heart failure",
            "hand pain",
            "rash",
            "MS",
        ];
        let concepts: Vec<(&str, &[&str])> = names.iter().map(|name| (*name, &[][..])).collect();
        dictionary(&concepts, "")
    }

    fn names(text: &str) -> Vec<&str> {
        found(&organs(), text, Origin::Name)
    }

    #[test]
    fn a_surname_after_a_title_is_no_mention() {
        for text in [
            "Mr. Parkinson has no tremor",
            "Mr Parkinson has no tremor",
            "Ms. Gout",
            "mr. gout was seen",
            "Dr. Brain",
            "Dr.  Brain",
            "Dr Brain's note",
            "DR. BRAIN WAS CALLED",
            "dr. brain",
            "Dr. J. Hand",
            "Dr. J.K. Hand",
            "Prof. Dr. Hand",
            "Professor Heart",
            "Mrs. Mary Stroke phoned",
            "Mrs. Mary-Ann Stroke",
            "Nurse Burns",
            "Mr and Mrs Heart",
            "Mr. & Mrs. Heart",
            "Drs. Hand and Foot",
            "Drs. Hand, Brain, and Foot",
            "Miss Rash",
            "Dr. van der Heart",
            "Ms. Burns-Hand",
            "seen by J. Hand, MD",
            "seen by J. Hand, M.D.",
            "Mary Stroke, RN",
            "Signed: Hand MD",
            "MS. GOUT WAS SEEN",
        ] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_is_said_of_a_person_is_a_mention() {
        for (text, mentions) in [
            ("Mr. Burns has gout", &["gout"][..]),
            ("Mr. Smith: Gout", &["Gout"]),
            ("Dr. Smith\nHeart: regular", &["Heart"]),
            ("Mr. Smith Gout", &["Gout"]),
            ("Dr. Heart saw a heart", &["heart"]),
            ("Mr. B. Heart failure was found", &["Heart failure"]),
            ("the dr. heart sounds", &["heart"]),
            ("Ms. Gout has MS", &["MS"]),
            ("MS gout", &["MS", "gout"]),
            ("Hx of MS. Gout too", &["MS", "Gout"]),
            ("mild mr. heart normal", &["heart"]),
            ("MR brain", &["brain"]),
            ("12 Oak Dr, heart", &["heart"]),
            ("12 Oak Dr Heart", &["Heart"]),
            ("Pt. Brain normal", &["Brain"]),
            ("nurse heart check", &["heart"]),
            ("A. Gout, known", &["Gout"]),
            ("Right hand, MD aware", &["hand"]),
        ] {
            assert_eq!(names(text), mentions, "{text}");
        }
    }
}
