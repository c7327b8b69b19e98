//! Words of side and severity around what a mention names. A link keeps them as
//! [`Context`](super::context::Context), so "left-sided pneumonia" names pneumonia.

/// Words of side and severity, in lower case.
const MODIFIERS: [&str; 26] = [
    "left",
    "right",
    "bilateral",
    "bilaterally",
    "bilat",
    "left-sided",
    "right-sided",
    "left-side",
    "right-side",
    "sided",
    "side",
    "lt",
    "rt",
    "l",
    "r",
    "b/l",
    "mild",
    "moderate",
    "severe",
    "marked",
    "slight",
    "mod",
    "mild-moderate",
    "moderate-severe",
    "mod-severe",
    "both",
];

/// Words that join a side to what is before it: "pain on the left".
const JOINING: [&str; 4] = ["on", "the", "in", "of"];

/// What a mention names without words of side and severity at its ends; `None` if it has no such
/// words, or no other ones.
pub fn without_modifiers(mention: &str) -> Option<&str> {
    let is_among = |word: &str, words: &[&str]| {
        let word = word.trim_matches(['.', ',', '(', ')']).to_lowercase();
        words.contains(&word.as_str())
    };
    let mut core = mention.trim();
    while let Some((word, rest)) = core.split_once(char::is_whitespace) {
        if !is_among(word, &MODIFIERS) {
            break;
        }
        core = rest.trim_start();
    }
    let mut has_side = false;
    while let Some((rest, word)) = core.rsplit_once(char::is_whitespace) {
        let joins = has_side && is_among(word, &JOINING);
        if !joins && !is_among(word, &MODIFIERS) {
            break;
        }
        has_side = true;
        core = rest.trim_end();
    }
    let core = core.trim_end_matches(',');
    let is_rest = core.len() < mention.trim().len() && !is_among(core, &MODIFIERS);
    (is_rest && !core.is_empty()).then_some(core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_side_and_severity_are_removed_at_the_ends() {
        for (mention, core) in [
            ("Left-sided pneumonia", "pneumonia"),
            ("severe left knee pain", "knee pain"),
            ("R TKA", "TKA"),
            ("right kidney stone", "kidney stone"),
            ("Mod. severe  asthma", "asthma"),
            ("knee pain on the left", "knee pain"),
            ("weakness, left side", "weakness"),
            ("B/L LE edema", "LE edema"),
        ] {
            assert_eq!(without_modifiers(mention), Some(core), "{mention}");
        }
        for mention in [
            "asthma",
            "left",
            "Rt.",
            "left right",
            "",
            " ",
            "pain on the",
            "lateral wall",
        ] {
            assert_eq!(without_modifiers(mention), None, "{mention:?}");
        }
    }
}
