//! Detection of people's names: a disease, symptom or body part as a surname is no mention.
//!
//! A name follows a title ("Mr. Parkinson", "Drs. Hand and Foot", "Nurse Burns"), or precedes an
//! academic degree and has initials or a given name ("J. Hand, MD"). Case and context resolve
//! ambiguous titles: "MS" is multiple sclerosis, "mild MR." mitral regurgitation, "12 Heart Dr" a
//! street.

use super::lexicon::Lexicon;
use super::normalise::{Gap, Kind, Token};
use super::scan::Scan;

/// The largest number of words of a name, without initials.
const MAX_WORDS: usize = 3;
/// The largest number of tokens of a name, with initials, particles and full stops.
const MAX_TOKENS: usize = 16;
/// The largest number of people after a plural title.
const MAX_PEOPLE: usize = 8;
/// The number of tokens before "Dr" that are searched for a house number.
const ADDRESS_TOKENS: usize = 4;

const PARTICLES: &[&str] = &[
    "al", "bin", "da", "de", "del", "den", "der", "di", "du", "el", "la", "le", "mac", "mc", "o",
    "st", "ter", "van", "vd", "von",
];

/// Words before "dr." that make it no title.
const ARTICLES: &[&str] = &[
    "a", "an", "another", "any", "her", "his", "its", "my", "no", "our", "that", "the", "their",
    "this", "your",
];

/// Words before "mr." that make it mitral regurgitation.
const SEVERITIES: &[&str] = &[
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

/// Academic degrees and licences after a name.
const ACADEMIC_DEGREES: &[&str] = &[
    "aprn", "bsn", "cna", "cnm", "crna", "crnp", "dds", "dnp", "do", "dpm", "dpt", "facc", "facp",
    "facs", "fnp", "frcp", "frcs", "lcsw", "lpn", "lvn", "mbbs", "mbchb", "md", "mph", "msw", "np",
    "pa", "pharmd", "phd", "psyd", "rn",
];

/// The properties of a title.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Title {
    /// Whether several people may follow.
    plural: bool,
    /// Whether a name in lower case may follow.
    any_case: bool,
}

/// The token range of a person's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    /// The first token of the name, or its title.
    pub first: usize,
    /// One past the last token.
    pub end: usize,
    /// Whether the last word follows an initial such as "J." and may also start a sentence.
    pub after_initial: bool,
}

/// The person's name that starts at a token, or after a title at that token.
pub(super) fn person_at(scan: &mut Scan, at: usize) -> Option<Person> {
    let token = scan.token(at).filter(|token| token.kind == Kind::Word)?;
    if let Some(title) = title(scan, at, &token) {
        let first = at + 1 + usize::from(is_stop(scan, at + 1));
        return names_after(scan, at, first, title);
    }
    signature(scan, at, &token)
}

fn title(scan: &mut Scan, at: usize, token: &Token) -> Option<Title> {
    let key = scan.key(token);
    if !(2..=9).contains(&key.len()) {
        return None;
    }
    let lower = token.upper == 0;
    let capital = token.upper == 1;
    let single = Title {
        plural: false,
        any_case: true,
    };
    match key {
        "mrs" | "mx" | "mme" | "mlle" => Some(single),
        "messrs" => Some(Title {
            plural: true,
            ..single
        }),
        "mr" | "ms" if capital => Some(single),
        "mr" if lower => {
            let is_title = is_stop(scan, at + 1)
                && !follows(scan, at, SEVERITIES)
                && !follows_number(scan, at);
            is_title.then_some(single)
        }
        // "MS. GOUT" is a person only at the start of a sentence.
        "mr" | "ms" => (is_stop(scan, at + 1) && starts_sentence(scan, at)).then_some(single),
        "dr" | "drs" | "prof" => {
            let plural = key == "drs";
            let is_drive = key == "dr" && is_drive(scan, at);
            let any_case = lower && !follows(scan, at, ARTICLES);
            (!is_drive).then_some(Title { plural, any_case })
        }
        "doctor" | "professor" | "miss" | "nurse" | "sir" | "madam" | "dame" | "lord" | "lady"
        | "rev" | "reverend" | "judge" | "captain" | "sergeant" | "sgt" | "officer"
            if capital =>
        {
            Some(Title {
                plural: false,
                any_case: false,
            })
        }
        _ => None,
    }
}

/// The names of one or more people from the token `first` on, after the title at `at`.
fn names_after(scan: &mut Scan, at: usize, first: usize, title: Title) -> Option<Person> {
    let before = scan.token(first - 1)?;
    let token = scan.token(first)?;
    // Two blanks after a full stop are no border between cells.
    let is_wide_space = token.gap == Gap::Cell && first > at + 1 && !has_tab(scan, &before, &token);
    let adjacent = token.gap == Gap::Space || is_wide_space;
    let particle = PARTICLES.contains(&scan.key(&token));
    if token.kind != Kind::Word
        || !adjacent
        || !(is_capitalised(&token) || title.any_case || particle)
    {
        return None;
    }
    // The range includes the title: in "MS. GOUT" it is no mention either.
    let mut person = Person {
        first: at,
        ..name(scan, first)?
    };
    for _ in 1..MAX_PEOPLE {
        if !title.plural {
            break;
        }
        let mut next = person.end;
        // At most ", and" separates two names.
        for _ in 0..2 {
            next += usize::from(matches!(
                key(scan, next).as_deref(),
                Some("," | "and" | "&")
            ));
        }
        let Some(further) = scan
            .token(next)
            .filter(|token| next > person.end && is_capitalised(token))
        else {
            break;
        };
        if further.kind != Kind::Word || further.gap.parts() {
            break;
        }
        person = Person {
            first: at,
            ..name(scan, next)?
        };
    }
    Some(person)
}

/// The name that starts at a token: initials, given names and a surname.
fn name(scan: &mut Scan, first: usize) -> Option<Person> {
    let lexicon = Lexicon::get();
    let lower = !is_capitalised(&scan.token(first)?);
    let mut end = first;
    let mut words = 0;
    let mut after_initial = false;
    let mut hyphen = false;
    while let Some(token) = scan
        .token(end)
        .filter(|token| token.kind == Kind::Word && end - first < MAX_TOKENS)
    {
        let separated = end > first && (token.gap.parts() || has_newline(scan, end));
        let key = scan.key(&token).to_owned();
        let particle = PARTICLES.contains(&key.as_str());
        let fits = is_capitalised(&token) || lower && words == 0 || particle || hyphen;
        if separated
            || !fits
            || !key.starts_with(char::is_alphabetic)
            || words > 0 && is_degree(scan, end)
        {
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
        hyphen = scan
            .token(end)
            .is_some_and(|next| next.gap == Gap::Hyphen && next.kind == Kind::Word);
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
    (end > first).then_some(Person {
        first,
        end,
        after_initial,
    })
}

/// A name with a degree after it, as in a signature: "J. Hand, MD".
fn signature(scan: &mut Scan, at: usize, token: &Token) -> Option<Person> {
    if !is_capitalised(token) {
        return None;
    }
    let initial = token.end - token.start == 1 && is_stop(scan, at + 1);
    let may_start = initial
        || Lexicon::get().given.contains(scan.key(token))
        || follows(scan, at, &[":", "by"]);
    if !may_start {
        return None;
    }
    let person = name(scan, at)?;
    let degree = person.end + usize::from(key(scan, person.end).as_deref() == Some(","));
    is_degree(scan, degree).then_some(Person {
        after_initial: false,
        ..person
    })
}

fn is_degree(scan: &mut Scan, at: usize) -> bool {
    let Some(token) = scan
        .token(at)
        .filter(|token| token.kind == Kind::Word && !has_newline(scan, at))
    else {
        return false;
    };
    let key = scan.key(&token).to_owned();
    if token.upper.count_ones() >= 2 && ACADEMIC_DEGREES.contains(&key.as_str()) {
        return true;
    }
    let letters = ["m", "d", "r", "n", "p"];
    token.upper == 1
        && letters.contains(&key.as_str())
        && is_stop(scan, at + 1)
        && scan
            .token(at + 2)
            .is_some_and(|next| next.upper & 1 == 1 && next.start == token.end + 1)
}

fn key(scan: &mut Scan, at: usize) -> Option<String> {
    let token = scan.token(at)?;
    Some(scan.key(&token).to_owned())
}

fn is_capitalised(token: &Token) -> bool {
    token.upper & 1 == 1
}

fn is_next_capitalised(scan: &mut Scan, at: usize) -> bool {
    scan.token(at)
        .is_some_and(|token| token.kind == Kind::Word && is_capitalised(&token))
}

/// Whether the token is a full stop directly after its predecessor.
fn is_stop(scan: &mut Scan, at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| scan.token(before)) else {
        return false;
    };
    scan.token(at)
        .is_some_and(|token| scan.key(&token) == "." && token.start == before.end)
}

fn has_newline(scan: &mut Scan, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| scan.token(before));
    let (Some(before), Some(token)) = (before, scan.token(at)) else {
        return false;
    };
    scan.text()
        .get(before.end..token.start)
        .is_some_and(|between| between.contains(['\n', '\r']))
}

fn has_tab(scan: &Scan, before: &Token, after: &Token) -> bool {
    scan.text()
        .get(before.end..after.start)
        .is_some_and(|between| between.contains('\t'))
}

/// Whether one of the words precedes a token.
fn follows(scan: &mut Scan, at: usize, words: &[&str]) -> bool {
    at.checked_sub(1)
        .and_then(|before| key(scan, before))
        .is_some_and(|key| words.contains(&key.as_str()))
}

/// Whether a number or "+" precedes a token, as in "1+ mr."
fn follows_number(scan: &mut Scan, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| key(scan, before));
    before.is_some_and(|key| key == "+" || key.starts_with(|c: char| c.is_ascii_digit()))
}

fn starts_sentence(scan: &mut Scan, at: usize) -> bool {
    let Some(token) = scan.token(at) else {
        return false;
    };
    token.gap.parts() || has_newline(scan, at) || follows(scan, at, &[".", "!", "?"])
}

/// Whether "Dr" at a token is a street: capitalised words precede it, and a house number before
/// them, as in "12 Heart Dr, Springfield".
fn is_drive(scan: &mut Scan, at: usize) -> bool {
    let mut before = at;
    while let Some(previous) = before
        .checked_sub(1)
        .filter(|previous| at - previous <= ADDRESS_TOKENS)
    {
        let Some(token) = scan
            .token(previous)
            .filter(|token| token.kind == Kind::Word)
        else {
            return false;
        };
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
    fn surname_is_no_mention() {
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
    fn findings_of_a_person_are_mentions() {
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
