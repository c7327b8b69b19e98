//! Character classes, and folding of single characters (compatibility forms, case, accents).

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The class of a character for tokenization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter or digit, or a compatibility form of some (a ligature, a full-width form).
    Letter,
    /// A combining accent.
    Accent,
    /// A character without a glyph: soft hyphen, zero-width joiner, variation selector, direction
    /// mark.
    Invisible,
    /// A space or tab of any width.
    Space,
    /// A line end.
    Newline,
    /// A hyphen, dash or minus of any length.
    Dash,
    /// Another word separator: a slash, an underscore, a trade mark sign.
    Separator,
    /// An apostrophe, single quotation mark or prime.
    Apostrophe,
    /// Any other symbol, which is significant in comparisons of names.
    Mark,
}

/// Classifies a character. Appends the folded form of a letter or symbol to `folded`.
pub(super) fn fold(c: char, folded: &mut String) -> Class {
    let class = match c {
        'a'..='z' | '0'..='9' => Class::Letter,
        'A'..='Z' => {
            folded.push(c.to_ascii_lowercase());
            return Class::Letter;
        }
        '\n' => Class::Newline,
        '\0'..=' ' | '\x7f' => Class::Space,
        '-' => Class::Dash,
        '/' | '\\' | '_' => Class::Separator,
        '\'' | '`' => Class::Apostrophe,
        '!'..='~' => Class::Mark,
        _ => return fold_beyond_ascii(c, folded),
    };
    if matches!(class, Class::Letter | Class::Mark) {
        folded.push(c);
    }
    class
}

fn fold_beyond_ascii(c: char, folded: &mut String) -> Class {
    match c {
        '\u{2010}'..='\u{2015}'
        | '\u{2043}'
        | '\u{2212}'
        | '\u{fe58}'
        | '\u{fe63}'
        | '\u{ff0d}' => Class::Dash,
        '\u{2044}' | '\u{2215}' | '\u{29f8}' | '©' | '®' | '\u{2120}' | '\u{2122}' => {
            Class::Separator
        }
        '\u{b4}' | '\u{2b9}'..='\u{2bc}' | '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' => {
            Class::Apostrophe
        }
        '\u{85}' | '\u{2028}' | '\u{2029}' => Class::Newline,
        _ if is_invisible(c) => Class::Invisible,
        _ if is_accent(c) => Class::Accent,
        _ if c.is_whitespace() || c.is_control() => Class::Space,
        _ => decompose(c, folded),
    }
}

fn decompose(c: char, folded: &mut String) -> Class {
    let start = folded.len();
    let mut parts = 0;
    let mut letters = 0;
    let mut last = c;
    decompose_compatible(c, |part| {
        if !is_accent(part) {
            parts += 1;
            last = part;
            letters += usize::from(part.is_alphanumeric() || is_combining_mark(part));
            fold_case(part, folded);
        }
    });
    if parts == 0 {
        return Class::Accent;
    }
    if letters == parts {
        return Class::Letter;
    }
    folded.truncate(start);
    if parts == 1 && last != c {
        return fold(last, folded); // a full-width comma, a superscript plus
    }
    folded.push(c); // the parts of "½" would be words that share a character
    Class::Mark
}

/// Appends the lower-case form. Letters without a Unicode decomposition are transliterated.
fn fold_case(c: char, folded: &mut String) {
    match c {
        'ß' | 'ẞ' => folded.push_str("ss"),
        'æ' | 'Æ' => folded.push_str("ae"),
        'œ' | 'Œ' => folded.push_str("oe"),
        'þ' | 'Þ' => folded.push_str("th"),
        'ø' | 'Ø' => folded.push('o'),
        'ð' | 'Ð' | 'đ' | 'Đ' => folded.push('d'),
        'ħ' | 'Ħ' => folded.push('h'),
        'ı' => folded.push('i'),
        'ł' | 'Ł' => folded.push('l'),
        'ς' => folded.push('σ'),
        _ => folded.extend(c.to_lowercase().filter(|lower| !is_accent(*lower))),
    }
}

/// Whether a combining mark is dropped. Vowel signs of other scripts are kept: they carry meaning.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether `c` is a Greek letter or the micro sign.
pub(super) fn is_greek(c: char) -> bool {
    matches!(c, '\u{b5}' | '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}')
}

/// The name of a folded Greek letter: "beta" for "β".
pub(super) fn greek_name(folded: &str) -> Option<&'static str> {
    const NAMES: [&str; 25] = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
        "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon",
        "phi", "chi", "psi", "omega",
    ];
    let mut chars = folded.chars();
    let (first, None) = (chars.next()?, chars.next()) else {
        return None;
    };
    NAMES
        .get((first as usize).checked_sub('α' as usize)?)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(c: char) -> (Class, String) {
        let mut folded = String::new();
        (fold(c, &mut folded), folded)
    }

    #[test]
    fn letters_fold_to_ascii() {
        for (c, expected) in [
            ('É', "e"),
            ('ß', "ss"),
            ('ﬁ', "fi"),
            ('Ａ', "a"),
            ('İ', "i"),
            ('Ł', "l"),
            ('²', "2"),
            ('㎎', "mg"),
        ] {
            assert_eq!(folded(c), (Class::Letter, expected.to_owned()), "{c}");
        }
    }

    #[test]
    fn symbols_have_their_classes() {
        for (c, expected) in [
            ('\u{2011}', Class::Dash),
            ('－', Class::Dash),
            ('’', Class::Apostrophe),
            ('\u{a0}', Class::Space),
            ('\u{3000}', Class::Space),
            ('／', Class::Separator),
            ('™', Class::Separator),
            ('\u{ad}', Class::Invisible),
            ('\u{200d}', Class::Invisible),
            ('\u{301}', Class::Accent),
        ] {
            assert_eq!(folded(c), (expected, String::new()), "{c:?}");
        }
        for (c, expected) in [
            ('，', ","),
            ('⁺', "+"),
            ('½', "½"),
            ('😷', "😷"),
            ('+', "+"),
        ] {
            assert_eq!(folded(c), (Class::Mark, expected.to_owned()), "{c}");
        }
    }

    #[test]
    fn greek_letters_have_names() {
        assert_eq!(greek_name("β"), Some("beta"));
        assert_eq!(greek_name("ω"), Some("omega"));
        assert_eq!(greek_name("b"), None);
        assert_eq!(greek_name("ββ"), None);
        assert_eq!(greek_name(""), None);
        assert!(is_greek('µ') && is_greek('Ω') && !is_greek('u'));
    }
}
