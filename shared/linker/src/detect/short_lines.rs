//! Names in lines and sentences of a few words, which the detector has seen little of.

use super::Passes;
use super::jargon::has_jargon;
use super::places::{has_number, highest_ends, is_acronym, is_whole_name};
use crate::bundle::Bundle;
use pel_kb::group::Group;
use pel_text::Span;
use pel_text::detect::Detected;

/// A line of at most this many words is short: an entry of a list, or telegraphic.
const SHORT_LINE: usize = 8;

/// A sentence of at most this many words is short.
const SHORT_SENTENCE: usize = 10;

/// Adds names that stand for a finding whatever is around them.
pub(crate) fn add(passes: &Passes<'_>, mut detected: Vec<Detected>) -> Vec<Detected> {
    let is_telegraphic = |name: &&Detected| passes.bundle.is_telegraphic_name(passes.text, name);
    let names: Vec<&Detected> = passes.names.iter().filter(is_telegraphic).collect();
    add_names_of_short_lines(passes.text, &names, &mut detected);
    detected
}

impl Bundle {
    /// Whether a name stands for a finding even if nothing around it says so. Names of body parts
    /// and tests are headings of an examination, unless they are all of an entry, or a number stands
    /// behind them.
    fn is_telegraphic_name(&self, text: &str, name: &Detected) -> bool {
        if !is_whole_name(name) {
            return false;
        }
        let words = text.get(name.span.start..name.span.end).unwrap_or_default();
        let concepts = self.named(words).into_iter();
        let mut groups = concepts.filter_map(|id| Group::of(&self.concepts.get(id).ok()?));
        groups.any(|group| match group {
            Group::Problem | Group::Drug => true,
            Group::Anatomy => is_whole_entry(text, &name.span),
            Group::Measurement if has_number(text, &name.span) => true,
            Group::Measurement | Group::Procedure => {
                is_acronym(text, &name.span) || words.contains(' ') || has_jargon(text, &name.span)
            }
            _ => is_acronym(text, &name.span),
        })
    }
}

/// Whether a name is all of an entry of a list or a cell of a table: "1. Heart", "| Liver | large |".
/// A word that has a line for itself is a heading.
fn is_whole_entry(text: &str, name: &Span) -> bool {
    let (before, _) = text.split_at_checked(name.start).unwrap_or_default();
    let after = text.get(name.end..).unwrap_or_default();
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let rest = after.split(['\n', '\r']).next().unwrap_or_default();
    let (line, rest) = (line.trim(), rest.trim_matches([' ', '\t', '.']));
    let number = line.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_marked = is_number || ["-", "*", "•"].contains(&line);
    let in_cell = (line.ends_with('|') || line.is_empty()) && rest.starts_with('|');
    is_marked && rest.is_empty() || in_cell || line.ends_with('|') && rest.is_empty()
}

/// Whether a name in capitals is all of a line: "PHYSICAL EXAM".
fn is_line_in_capitals(text: &str, name: &Span) -> bool {
    let (before, rest) = text.split_at_checked(name.start).unwrap_or_default();
    let (words, after) = rest
        .split_at_checked(name.end - name.start)
        .unwrap_or_default();
    let ends = |text: &str| text.is_empty() || text.starts_with(['\n', '\r']);
    let begins = before.is_empty() || before.ends_with(['\n', '\r']);
    let is_phrase = words.contains(' ') && !words.contains(char::is_lowercase);
    begins && is_phrase && ends(after.trim_start_matches([' ', '\t']))
}

/// The ends of the lines of a text, and of the sentences in them if asked for, with whether they
/// have a few words.
fn short_parts(text: &str, sentences: bool) -> Vec<(usize, bool)> {
    let most = if sentences {
        SHORT_SENTENCE
    } else {
        SHORT_LINE
    };
    let mut ends = Vec::new();
    let mut start = 0;
    let is_end = |at: usize, mark: char| match mark {
        '\n' | '\r' => true,
        '.' | '!' | '?' | ';' if sentences => {
            let after = text[at + 1..].strip_prefix(' ').unwrap_or_default();
            after.starts_with(char::is_uppercase) || mark == ';' && !after.is_empty()
        }
        _ => false,
    };
    for (at, mark) in text.char_indices() {
        if is_end(at, mark) {
            let end = at + mark.len_utf8();
            ends.push((end, is_short(&text[start..end], most)));
            start = end;
        }
    }
    ends.push((text.len(), is_short(&text[start..], most)));
    ends
}

fn is_short(sentence: &str, words: usize) -> bool {
    sentence.split_whitespace().take(words + 1).count() <= words
}

/// Adds the names in lines and sentences of a few words where nothing was found: entries of lists
/// and telegraphic notes, which the detector has seen little of. A name before a colon is a
/// heading. `detected` is in the order of the text, and so are `names`.
fn add_names_of_short_lines(text: &str, names: &[&Detected], detected: &mut Vec<Detected>) {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let (lines, sentences) = (short_parts(text, false), short_parts(text, true));
    let short = |parts: &[(usize, bool)], name: &Detected| {
        let at = parts.partition_point(|(end, _)| *end <= name.span.start);
        parts.get(at).is_some_and(|(_, is_short)| *is_short)
    };
    let mut added = Vec::new();
    for name in names {
        let (line, sentence) = (short(&lines, name), short(&sentences, name));
        let is_short = line || sentence && !is_acronym(text, &name.span);
        let after = text.get(name.span.end..).unwrap_or_default();
        let is_heading = after.trim_start_matches([' ', '\t']).starts_with(':')
            && !has_number(text, &name.span)
            || is_line_in_capitals(text, &name.span);
        let beside = ends.partition_point(|end| *end <= name.span.start);
        let is_taken = detected[beside..]
            .iter()
            .take_while(|found| found.span.start < name.span.end)
            .any(|found| found.overlaps(name));
        if is_short && !is_heading && !is_taken {
            added.push((*name).clone());
        }
    }
    detected.extend(added);
    detected.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::test_mentions::found;
    use pel_text::detect::Origin;

    #[test]
    fn names_in_short_lines_are_added_where_nothing_was_found() {
        let text = "Past history:\ngout\nFever: none\nknee pain\n\
                    He said that he has had no gout for a long time";
        let name = |word: &str, from: usize| {
            let start = from + text[from..].find(word).expect("there");
            Detected::new(Span::new(start, start + word.len()), Origin::Name)
        };
        let names = [
            name("gout", 0),
            name("Fever", 0),
            name("knee", 0),
            name("gout", 60),
        ];
        let mut detected = vec![found(31, 40)];
        assert_eq!(&text[31..40], "knee pain");
        add_names_of_short_lines(text, &names.iter().collect::<Vec<_>>(), &mut detected);
        assert_eq!(detected, [name("gout", 0), found(31, 40)]);
    }

    #[test]
    fn an_entry_or_a_cell_may_be_a_name_alone() {
        let alone = |text: &str, words: &str| {
            let start = text.find(words).expect("there");
            is_whole_entry(text, &Span::new(start, start + words.len()))
        };
        assert!(alone("1. Heart\n2. Lung", "Heart") && alone("Liver | large", "Liver"));
        assert!(alone("x | Spleen", "Spleen") && alone("| Knee | pain |", "Knee"));
        assert!(alone("- Skin.", "Skin") && alone("3) Neck", "Neck"));
        assert!(!alone("Heart\nregular", "Heart") && !alone("1. Heart failure", "Heart"));
        assert!(!alone("the heart", "heart") && !alone("1. Heart: regular", "Heart"));
    }
}
