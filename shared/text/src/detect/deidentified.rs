//! De-identification placeholders and tags: `[**Known lastname 5827**]`, `<NAME>`, `{{PATIENT}}`,
//! `@@@Smith@@@`, `XXXXXX`. They replace names of people, places and dates, and contain no mention.
//!
//! Delimiters without another use (`[**`, `{{`, `@@`) suffice. Between other delimiters the words
//! decide: `[NAME 3]` is a placeholder, `[heart failure]` is text in brackets.

/// The largest placeholder in bytes, without its delimiters.
const MAX_INSIDE: usize = 96;
/// The largest tag, or placeholder with unambiguous delimiters, in bytes.
const MAX_TAG: usize = 256;
/// The fewest letters of a name that was overwritten with "x".
const MIN_CROSSES: usize = 2;

/// Words that name what a placeholder replaces.
#[rustfmt::skip]
const PLACEHOLDERS: &[&str] = &[
    "account", "address", "age", "ages", "anonymised", "anonymized", "attending", "author", "bed",
    "birth", "birthdate", "birthday", "building", "city", "clinic", "clinician", "company",
    "confidential", "contact", "country", "county", "date", "dates", "datetime", "day",
    "deidentified", "deleted", "dob", "doctor", "doctors", "dod", "email", "employer", "facility",
    "fax", "firstname", "fname", "fullname", "gpe", "holiday", "hospital", "id", "identifier",
    "ids", "initials", "institution", "ip", "lastname", "licence", "license", "lname", "loc",
    "location", "mail", "masked", "mobile", "month", "mrn", "name", "names", "nhs", "nurse",
    "occupation", "org", "organisation", "organization", "pager", "patient", "patients", "people",
    "per", "person", "persons", "phi", "phone", "physician", "pii", "place", "postcode",
    "profession", "provider", "redacted", "relative", "removed", "room", "salutation", "school",
    "signature", "ssn", "state", "stitle", "street", "surname", "surnames", "telephone", "time",
    "title", "town", "url", "user", "username", "ward", "website", "year", "years", "zip",
    "zipcode",
];

/// Words that may accompany those.
const FILLERS: &[&str] = &[
    "a", "and", "at", "code", "first", "for", "full", "in", "initial", "known", "last", "maiden",
    "middle", "no", "num", "number", "of", "or", "plate", "pt", "s", "serial", "the", "to", "un",
    "unit", "unknown", "us",
];

/// Placeholders and elements that contain the name of a person.
const IDENTITIES: &[&str] = &[
    "doctor",
    "firstname",
    "fullname",
    "hospital",
    "lastname",
    "name",
    "patient",
    "per",
    "person",
    "phi",
    "surname",
];

/// Words that replace a name without delimiters.
const OVERWRITTEN: &[&str] = &[
    "firstname",
    "fname",
    "lastname",
    "lname",
    "redacted",
    "stitle",
];

/// Whether a normalised word replaces a name: "xxxxxx", "redacted".
pub(super) fn is_placeholder_word(word: &str) -> bool {
    word.len() >= MIN_CROSSES && word.bytes().all(|b| b == b'x') || OVERWRITTEN.contains(&word)
}

/// One past the placeholder or tag that starts at a byte. Reads a bounded part of the text.
pub(super) fn placeholder_at(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let sign = *rest.as_bytes().first()?;
    let end = match sign {
        b'[' => delimited(rest, "[**", "**]").or_else(|| bracketed(rest, '[', ']')),
        b'{' => delimited(rest, "{{", "}}").or_else(|| bracketed(rest, '{', '}')),
        b'(' => bracketed(rest, '(', ')').filter(|end| is_spelt_out(&rest[..*end])),
        b'<' => tag(rest).or_else(|| bracketed(rest, '<', '>')),
        b'$' if rest.starts_with("${") => delimited(rest, "${", "}"),
        b'@' | b'%' | b'#' | b'$' | b'*' | b'_' | b'~' | b'^' => {
            // A run of delimiters is read only from its start.
            let first = at == 0 || text.as_bytes()[at - 1] != sign;
            first.then(|| fenced(rest, char::from(sign))).flatten()
        }
        _ => None,
    };
    end.map(|end| at + end)
}

/// Whether text in parentheses is in capitals and has a word of more than 3 letters: "(NAME)" but
/// not "(LOC)".
fn is_spelt_out(bracketed: &str) -> bool {
    let mut long = false;
    each_word(bracketed, |word| long |= word.len() > 3);
    long && !bracketed.contains(char::is_lowercase)
}

/// The first bytes of a text, down to a character boundary.
fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A placeholder with unambiguous delimiters. It may span a line end, but not an empty line.
fn delimited(rest: &str, open: &str, close: &str) -> Option<usize> {
    let inside = head(rest, MAX_TAG).strip_prefix(open)?;
    let length = inside.find(close)?;
    let inside = &inside[..length];
    (!inside.contains(open) && inside.matches('\n').count() < 2)
        .then_some(open.len() + length + close.len())
}

/// A placeholder in single or repeated brackets.
fn bracketed(rest: &str, open: char, close: char) -> Option<usize> {
    let depth = rest.chars().take(3).take_while(|c| *c == open).count();
    let inside = head(&rest[depth..], MAX_INSIDE);
    let length = inside
        .find([open, close, '\n'])
        .filter(|length| inside[*length..].starts_with(close))?;
    let closed = inside[length..].chars().take_while(|c| *c == close).count();
    let inside = &inside[..length];
    (closed >= depth && (is_placeholder(inside) || names_somebody(inside)))
        .then_some(depth + length + depth)
}

/// A placeholder between equal delimiters: `@NAME@`, `**NAME**`, `@@@Smith@@@`. Also
/// `**NAME[Smith]`, the format of De-ID.
fn fenced(rest: &str, sign: char) -> Option<usize> {
    let depth = head(rest, MAX_INSIDE)
        .chars()
        .take_while(|c| *c == sign)
        .count();
    let inside = head(&rest[depth..], MAX_INSIDE);
    if sign == '*' && depth == 2 {
        let word = inside
            .find(|c: char| !c.is_ascii_uppercase() && c != '-')
            .unwrap_or(inside.len());
        if is_placeholder(&inside[..word]) {
            let value = inside[word..]
                .strip_prefix('[')
                .and_then(|value| value.find([']', '\n']));
            let value = value.filter(|length| inside[word + 1 + length..].starts_with(']'));
            if let Some(length) = value {
                return Some(depth + word + length + 2);
            }
            if !inside[word..].starts_with("**") {
                return Some(depth + word);
            }
        }
    }
    let length = inside
        .find([sign, '\n'])
        .filter(|length| inside[*length..].starts_with(sign))?;
    let closed = inside[length..].chars().take_while(|c| *c == sign).count();
    let inside = &inside[..length];
    let tight = !inside.is_empty() && inside.trim() == inside;
    let unambiguous = depth >= 2 && matches!(sign, '@' | '%' | '$');
    (closed >= depth && tight && (unambiguous || is_placeholder(inside)))
        .then_some(depth + length + depth)
}

/// An HTML or XML tag. An element for a person includes its content.
fn tag(rest: &str) -> Option<usize> {
    if rest.starts_with("<!--") {
        return head(rest, MAX_TAG).find("-->").map(|at| at + 3);
    }
    let window = head(rest, MAX_TAG);
    let inside = window[1..]
        .strip_prefix(['/', '!', '?'])
        .unwrap_or(&window[1..]);
    let start = window.len() - inside.len();
    let name_length =
        inside.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, ':' | '-' | '_' | '.'))?;
    let name = &inside[..name_length];
    let length = inside
        .find(['<', '>'])
        .filter(|length| inside[*length..].starts_with('>'))?;
    let attributes = &inside[name_length..length];
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && (attributes.is_empty()
            || attributes == "/"
            || attributes.trim() == "/"
            || attributes.contains('='));
    if !is_tag {
        return None;
    }
    let end = start + length + 1;
    let opens = start == 1 && !attributes.ends_with('/');
    if opens && IDENTITIES.contains(&name.to_ascii_lowercase().as_str()) {
        let content = head(&rest[end..], MAX_INSIDE);
        let closing = content
            .find(['<', '\n'])
            .filter(|at| content[*at..].starts_with("</"));
        if let Some(at) = closing
            && let Some(after) = content.get(at + 2..at + 2 + name.len())
            && after.eq_ignore_ascii_case(name)
            && content[at + 2 + name.len()..].starts_with('>')
        {
            return Some(end + at + 2 + name.len() + 1);
        }
    }
    Some(end)
}

/// Whether all words name what is replaced: "Patient Name 2", "LAST_NAME", "DateOfBirth".
fn is_placeholder(inside: &str) -> bool {
    let mut placeholders = 0;
    let mut others = 0;
    each_word(inside, |word| {
        if PLACEHOLDERS.contains(&word) || is_placeholder_word(word) {
            placeholders += 1;
        } else if !FILLERS.contains(&word) && !word.bytes().all(|b| b.is_ascii_digit()) {
            others += 1;
        }
    });
    placeholders > 0 && others == 0
}

/// Whether a person's name follows its label: "NAME: John Hand", "PERSON John Hand".
fn names_somebody(inside: &str) -> bool {
    let length = inside
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(inside.len());
    let (word, after) = inside.split_at(length);
    let is_label =
        after.starts_with([':', '=']) || !word.contains(|c: char| c.is_ascii_lowercase());
    let mut is_identity = false;
    each_word(word, |word| is_identity |= IDENTITIES.contains(&word));
    is_label && is_identity && is_placeholder(word)
}

/// Calls `with` for each word in lower case. Camel case and digits start a word.
fn each_word(text: &str, mut with: impl FnMut(&str)) {
    let mut word = String::new();
    let mut before = ' ';
    let starts = |before: char, c: char| {
        before.is_lowercase() && c.is_uppercase() || before.is_alphabetic() && c.is_ascii_digit()
    };
    for c in text.chars().chain([' ']) {
        if !word.is_empty() && (!c.is_alphanumeric() || starts(before, c)) {
            with(&word);
            word.clear();
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The placeholder at the start of a text.
    fn placeholder(text: &str) -> &str {
        placeholder_at(text, 0).map_or("", |end| &text[..end])
    }

    #[test]
    fn placeholders_and_tags_are_found() {
        for marked in [
            "[**Known lastname 5827**]",
            "[**2151-3-14**]",
            "[**Last Name (STitle) **]",
            "[**First Name3 (LF)\n1234**]",
            "[NAME]",
            "[Patient Name 2]",
            "[LAST_NAME]",
            "[[DateOfBirth]]",
            "[REDACTED]",
            "[NAME: John Hand]",
            "[PERSON John Hand]",
            "(NAME)",
            "<NAME>",
            "<<PATIENT>>",
            "<DATE_TIME>",
            "<PATIENT NAME>",
            "<US_SSN>",
            "<br/>",
            "</p>",
            "<b>",
            "<a href=\"heart.html\">",
            "<!-- heart failure -->",
            "<PHI TYPE=\"PATIENT\">Gout</PHI>",
            "<NAME>Hand</NAME>",
            "{{PATIENT}}",
            "{{ patient.heart }}",
            "{NAME}",
            "${heart}",
            "@@@Heart Burns@@@",
            "@NAME@",
            "%%NAME%%",
            "%NAME%",
            "##DATE##",
            "**NAME**",
            "**NAME[Heart, Burns]",
            "**INSTITUTION",
            "**ID-NUM",
            "__NAME__",
        ] {
            assert_eq!(placeholder(&format!("{marked} heart")), marked);
        }
    }

    #[test]
    fn other_brackets_and_symbols_are_text() {
        for text in [
            "[heart failure]",
            "[patient denies pain]",
            "[HTN]",
            "(heart)",
            "(patient)",
            "(LOC)",
            "(name of the drug)",
            "<5 mg>",
            "<b and c>",
            "< heart >",
            "<heart failure>",
            "{heart}",
            "**Heart failure**",
            "**HEART FAILURE**",
            "*heart*",
            "~~heart~~",
            "# Heart",
            "##Heart##",
            "5% name",
            "%heart%",
            "@heart@",
            "_heart_",
            "$5 and $6",
            "[",
            "[**",
            "[**a\n\nb**]",
            "<",
            "<a",
            "@@@",
            "@@@@",
            "",
        ] {
            assert_eq!(placeholder(text), "", "{text}");
        }
    }

    #[test]
    fn overwritten_names_are_placeholder_words() {
        assert!(
            ["xx", "xxx", "xxxxxxxx", "redacted", "stitle"]
                .into_iter()
                .all(is_placeholder_word)
        );
        assert!(
            !["x", "xxy", "fragile x", "", "name"]
                .into_iter()
                .any(is_placeholder_word)
        );
    }

    proptest! {
        #[test]
        fn placeholders_end_at_character_boundaries(
            pieces in proptest::collection::vec(
                proptest::sample::select(
                    &["[", "]", "**", "<", ">", "/", "{", "}", "@", "%", "NAME", "é", " ", "\n", "=", "$", "_"][..]
                ),
                0..12,
            ),
        ) {
            let text = pieces.concat();
            for (at, _) in text.char_indices() {
                if let Some(end) = placeholder_at(&text, at) {
                    prop_assert!(
                        end > at + 1 && text.get(at..end).is_some(),
                        "{text:?} {at} {end}"
                    );
                }
            }
        }
    }
}
