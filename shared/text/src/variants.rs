//! Other forms of a name that mean the same: with "type" before a number or without, with "of" or
//! without, inverted at a comma, as in the lists of terminologies, and with the noun of an organ for
//! its adjective.

/// The most words of a text that has variants.
const MOST_WORDS: usize = 8;

/// Adjectives of organs with their nouns.
const ORGANS: [(&str, &str); 47] = [
    ("abdominal", "abdomen"),
    ("adrenal", "adrenal gland"),
    ("aortic", "aorta"),
    ("arterial", "artery"),
    ("bronchial", "bronchus"),
    ("cardiac", "heart"),
    ("cerebral", "brain"),
    ("colonic", "colon"),
    ("corneal", "cornea"),
    ("cutaneous", "skin"),
    ("dermal", "skin"),
    ("duodenal", "duodenum"),
    ("esophageal", "esophagus"),
    ("facial", "face"),
    ("femoral", "femur"),
    ("gastric", "stomach"),
    ("hepatic", "liver"),
    ("humeral", "humerus"),
    ("intestinal", "intestine"),
    ("laryngeal", "larynx"),
    ("lingual", "tongue"),
    ("mammary", "breast"),
    ("muscular", "muscle"),
    ("nasal", "nose"),
    ("ocular", "eye"),
    ("osseous", "bone"),
    ("ovarian", "ovary"),
    ("pancreatic", "pancreas"),
    ("penile", "penis"),
    ("pharyngeal", "pharynx"),
    ("pituitary", "pituitary gland"),
    ("prostatic", "prostate"),
    ("pulmonary", "lung"),
    ("rectal", "rectum"),
    ("renal", "kidney"),
    ("retinal", "retina"),
    ("scrotal", "scrotum"),
    ("splenic", "spleen"),
    ("sternal", "sternum"),
    ("testicular", "testis"),
    ("tibial", "tibia"),
    ("tracheal", "trachea"),
    ("ureteral", "ureter"),
    ("ureteric", "ureter"),
    ("urethral", "urethra"),
    ("uterine", "uterus"),
    ("venous", "vein"),
];

/// The variants of a text, which need not be names: what is looked up must only be used if it is
/// one. The order is that in which they should be tried. A text of one word has none.
pub fn variants(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if !(2..=MOST_WORDS).contains(&words.len()) {
        return Vec::new();
    }
    let mut found = numbered(&words);
    found.extend(turned(&words));
    found.extend(of_organs(&words));
    found
}

/// "penile pain" is also "penis pain", "pain of penis", "pain of the penis" and "pain in penis", and
/// "lung fibrosis" is "pulmonary fibrosis".
fn of_organs(words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let word = word.to_lowercase();
        for (adjective, noun) in ORGANS {
            let other = match word.as_str() {
                own if own == adjective => noun,
                own if own == noun => adjective,
                _ => continue,
            };
            let (before, after) = (&words[..at], &words[at + 1..]);
            found.push([before, &[other], after].concat().join(" "));
            if before.is_empty() && other == noun {
                let rest = after.join(" ");
                found.extend(["of", "of the", "in"].map(|joint| format!("{rest} {joint} {noun}")));
            }
        }
    }
    found
}

/// "long QT syndrome type 1" is also "long QT syndrome 1"; "type 1 neurofibromatosis" is
/// "neurofibromatosis type 1" and "neurofibromatosis 1".
fn numbered(words: &[&str]) -> Vec<String> {
    let is_type = |word: &str| word.eq_ignore_ascii_case("type");
    let (rest, number, is_stated) = match words {
        [rest @ .., word, number] if is_type(word) && is_number(number) => (rest, number, true),
        [word, number, rest @ ..] if is_type(word) && is_number(number) => (rest, number, true),
        [rest @ .., number] if is_number(number) => (rest, number, false),
        _ => return Vec::new(),
    };
    let rest = rest.join(" ");
    let rest = rest.trim_end_matches(',');
    if rest.is_empty() || is_type(rest) {
        return Vec::new();
    }
    let mut found = vec![
        format!("{rest} type {number}"),
        format!("{rest}, type {number}"),
    ];
    found.extend(is_stated.then(|| format!("{rest} {number}")));
    found
}

/// Whether a word is a number of a type: "1", "2b", "IV", "IIA".
fn is_number(word: &str) -> bool {
    let number = word.strip_suffix(|c: char| c.is_ascii_alphabetic());
    let is_arabic = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let is_roman = |word: &str| !word.is_empty() && word.bytes().all(|b| b"IVX".contains(&b));
    is_arabic(word) || is_roman(word) || number.is_some_and(|n| is_arabic(n) || is_roman(n))
}

/// "agenesis of the corpus callosum" is also "agenesis of corpus callosum", "corpus callosum
/// agenesis" and "corpus callosum, agenesis of"; "transient neonatal cyanosis" is "cyanosis,
/// transient neonatal", and "testis atrophy" is "atrophy of testis".
fn turned(words: &[&str]) -> Vec<String> {
    let mut parts = words.splitn(2, |word| word.eq_ignore_ascii_case("of"));
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    let mut found = Vec::new();
    match second {
        Some(second) if !first.is_empty() => {
            let second = match second {
                [the, rest @ ..] if the.eq_ignore_ascii_case("the") => rest,
                _ => second,
            };
            if second.is_empty() {
                return found;
            }
            let (first, second) = (first.join(" "), second.join(" "));
            found.push(format!("{first} of {second}"));
            found.push(format!("{first} of the {second}"));
            found.push(format!("{second}, {first} of"));
            found.push(format!("{second} {first}"));
        }
        Some(_) => {}
        None => {
            for at in (1..words.len()).rev() {
                let (first, last) = (words[..at].join(" "), words[at..].join(" "));
                found.push(format!("{last}, {first}"));
                found.push(format!("{last} of {first}"));
                found.push(format!("{last} of the {first}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, variant: &str) -> bool {
        variants(text).iter().any(|found| found == variant)
    }

    #[test]
    fn types_are_written_in_several_ways() {
        for (text, variant) in [
            ("long QT syndrome type 1", "long QT syndrome 1"),
            ("long QT syndrome 1", "long QT syndrome type 1"),
            ("glycogenosis, type IIb", "glycogenosis type IIb"),
            ("glycogenosis type II", "glycogenosis, type II"),
            ("type 1 neurofibromatosis", "neurofibromatosis 1"),
            ("type I tyrosinemia", "tyrosinemia type I"),
        ] {
            assert!(has(text, variant), "{text}: {:?}", variants(text));
        }
        assert!(numbered(&["blood", "type"]).is_empty());
        assert!(numbered(&["type", "2"]).is_empty());
        assert!(numbered(&["hepatitis", "virus"]).is_empty());
    }

    #[test]
    fn names_are_turned_at_of_and_at_commas() {
        for (text, variant) in [
            (
                "agenesis of the corpus callosum",
                "corpus callosum, agenesis of",
            ),
            (
                "agenesis of the corpus callosum",
                "agenesis of corpus callosum",
            ),
            ("atrophy of testis", "testis atrophy"),
            ("testis atrophy", "atrophy of testis"),
            ("femoral neck fracture", "fracture of the femoral neck"),
            (
                "transient neonatal cyanosis",
                "cyanosis, transient neonatal",
            ),
        ] {
            assert!(has(text, variant), "{text}: {:?}", variants(text));
        }
    }

    #[test]
    fn adjectives_of_organs_are_their_nouns() {
        for (text, variant) in [
            ("Penile pain", "pain in penis"),
            ("renal papillary necrosis", "kidney papillary necrosis"),
            ("lung fibrosis", "pulmonary fibrosis"),
            ("acute renal injury", "acute kidney injury"),
        ] {
            assert!(has(text, variant), "{text}: {:?}", variants(text));
        }
        assert!(ORGANS.is_sorted());
    }

    #[test]
    fn a_word_and_long_texts_have_none() {
        for text in ["", "fever", "of", "of the", "pain of", "a b c d e f g h i"] {
            assert!(variants(text).is_empty(), "{text:?}: {:?}", variants(text));
        }
    }
}
