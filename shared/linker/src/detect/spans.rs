//! The spans that the detector takes for mentions.

use super::Passes;
use super::places::{is_acronym, is_in_number, is_whole_name};
use pel_kb::error::Result;
use pel_kb::group::Group;
use pel_model::detector::Scheme;
use pel_model::detector::decode::{ScoredSpan, without_overlap};
use pel_model::tokens::Words;
use pel_text::Span;
use pel_text::detect::{Detected, Origin, is_jargon};
use pel_text::modifiers::{without_last_number, without_last_results};
use pel_text::senses::Senses;
use std::collections::HashMap;

/// The share of the detector's threshold that a name of the knowledge base has to reach. Of 1, 0.5
/// and 0.25, a lower one finds more in texts unlike those of the training (ID-68) and more that is
/// wrong in abstracts; notes are alike with all.
const NAMED: f32 = 0.5;

/// The same for a name of several words ("heart block"), which has few other senses.
const LONG_NAME: f32 = 0.25;

/// The same for a name of a few capitals ("MS"), which has no other sense in everyday English, and
/// for short forms of the built-in table ("N/V/D"). The detector misses many in telegraphic
/// sentences.
pub(crate) const ACRONYM: f32 = 0.1;

/// A line with fewer characters was not wrapped.
const WRAPPED: usize = 40;

/// The spans that are probable enough, without their results, in the order of the text.
///
/// # Errors
/// If a name does not fit the text.
pub(crate) fn choose(
    passes: &Passes<'_>,
    labels: &Scheme,
    words: &Words,
    mut spans: Vec<ScoredSpan>,
) -> Result<Vec<Detected>> {
    let text = passes.text;
    // Windows come in any order.
    spans.sort_by_key(|span| (span.first, span.last));
    let thresholds = thresholds_of_names(passes, labels.threshold)?;
    let of_words = |first: usize, last: usize| {
        Span::new(words.words[first].span.start, words.words[last].span.end)
    };
    // A word is empty if another one has its only character ("…" may become "...").
    let is_there = |word: usize| !words.words[word].span.is_empty();
    let spans = spans
        .into_iter()
        .filter(|span| is_there(span.first) && is_there(span.last))
        .filter(|span| {
            let place = of_words(span.first, span.last);
            let least = match thresholds.get(&place) {
                Some(least) => *least,
                None if is_short_form(text, place) => ACRONYM * labels.threshold,
                None => labels.threshold,
            };
            span.probability >= least
                && passes.barriers.admit(&place)
                && !crosses_entry(text, &place)
                && !is_in_number(text, &place)
        })
        .collect();
    let chosen = match passes.overlapping {
        true => spans,
        false => {
            let is_name = |span: &ScoredSpan| {
                span.first < span.last && thresholds.contains_key(&of_words(span.first, span.last))
            };
            without_overlap(without_parts(spans, is_name))
        }
    };
    let mentions = chosen.into_iter().filter_map(|span| {
        let group = Group::of_label(labels.labels.get(span.label)?);
        let place = of_words(span.first, span.last);
        let place = match thresholds.contains_key(&place) {
            true => place,
            false => without_results(passes, place, group)?,
        };
        Some(Detected {
            group,
            ..Detected::new(place, Origin::Detector)
        })
    });
    Ok(mentions.collect())
}

/// The least probability of each span that is a name.
fn thresholds_of_names(passes: &Passes<'_>, threshold: f32) -> Result<HashMap<Span, f32>> {
    let text = passes.text;
    let names = passes.names.iter().filter(|name| is_whole_name(name));
    names
        .map(|name| {
            let words = name.span.of(text)?;
            let share = if is_acronym(text, &name.span) || is_jargon(words) {
                ACRONYM
            } else if words.contains(char::is_whitespace) {
                LONG_NAME
            } else {
                NAMED
            };
            Ok((name.span, share * threshold))
        })
        .collect()
}

/// A span without the results at its end; `None` if nothing is left.
fn without_results(passes: &Passes<'_>, place: Span, group: Option<Group>) -> Option<Span> {
    let text = passes.text;
    let mut kept = without_cut_word(text, without_last_results(place.of(text).ok()?), &place);
    // "ferritin 22", but not "trisomy 21".
    if matches!(group, Some(Group::Measurement | Group::Drug))
        && let Some(name) = without_last_number(kept)
        && (is_short_form(text, Span::new(place.start, place.start + name.len()))
            || !passes.bundle.named(name).is_empty())
    {
        kept = name;
    }
    (!kept.is_empty()).then(|| Span::new(place.start, place.start + kept.len()))
}

/// The spans without those that lie inside one that is a name: "epilepticus" in "status
/// epilepticus".
fn without_parts(spans: Vec<ScoredSpan>, is_name: impl Fn(&ScoredSpan) -> bool) -> Vec<ScoredSpan> {
    let mut names: Vec<(usize, usize)> = spans
        .iter()
        .filter(|span| is_name(span))
        .map(|span| (span.first, span.last))
        .collect();
    names.sort_unstable();
    // The names in a text do not overlap, so a span lies inside the last that begins before it, or
    // inside none.
    let is_part = |span: &ScoredSpan| {
        let before = names.partition_point(|(first, _)| *first <= span.first);
        let name = before.checked_sub(1).map(|at| names[at]);
        name.is_some_and(|(first, last)| {
            span.last <= last && (first, last) != (span.first, span.last)
        })
    };
    spans.into_iter().filter(|span| !is_part(span)).collect()
}

/// The words of a span without the last one if that is the first letter of "s/p", "w/" or the like.
fn without_cut_word<'t>(text: &'t str, words: &'t str, span: &Span) -> &'t str {
    let goes_on = span.start + words.len() == span.end
        && text
            .get(span.end..)
            .is_some_and(|after| after.starts_with('/'));
    match words.rsplit_once(char::is_whitespace) {
        Some((rest, word)) if goes_on && is_small_letter(word) => rest.trim_end(),
        _ => words,
    }
}

/// Whether a span is a short form that stands for a concept in English notes.
fn is_short_form(text: &str, span: Span) -> bool {
    Senses::english().is_concept(text.get(span.start..span.end).unwrap_or_default())
}

/// Whether a span goes on into another entry of a list: a line begins in it with a capital, or the
/// line before is too short to be wrapped.
pub(crate) fn crosses_entry(text: &str, span: &Span) -> bool {
    let inside = text.get(span.start..span.end).unwrap_or_default();
    inside.match_indices(['\n', '\r']).any(|(at, _)| {
        let (before, after) = text.split_at(span.start + at);
        let before = before.strip_suffix('\r').unwrap_or(before);
        let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
        let is_pair = after.starts_with("\r\n");
        let next = after.trim_start();
        let number = next.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = number.len() < next.len() && number.starts_with(['.', ')']);
        let begins = is_numbered || next.starts_with(char::is_uppercase);
        !is_pair && (begins || line.chars().take(WRAPPED).count() < WRAPPED)
    })
}

pub(crate) fn is_small_letter(word: &str) -> bool {
    word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_name_are_left_out() {
        let span = |first, last, probability| ScoredSpan {
            first,
            last,
            label: 0,
            probability,
        };
        // "status epilepticus" is a name, "severe status epilepticus" is none.
        let (name, part, longer, next) = (
            span(1, 2, 0.3),
            span(2, 2, 0.9),
            span(0, 2, 0.4),
            span(3, 3, 0.8),
        );
        let spans = vec![part, name, longer, next];
        let kept = without_parts(spans.clone(), |span| *span == name);
        assert_eq!(kept, [name, longer, next]);
        assert_eq!(without_parts(spans.clone(), |_| false), spans);
    }

    #[test]
    fn a_span_ends_with_a_numbered_entry() {
        let text = "10. primary open-angle glaucoma, both eyes, mild stage\n11. colon polyps";
        let start = text.find("stage").expect("there");
        assert!(crosses_entry(text, &Span::new(start, start + 8)));
    }

    #[test]
    fn a_span_ends_before_a_short_form_with_a_slash() {
        let text = "CAD s/p CABG, hepatitis B/C";
        let words = |start: usize, end: usize| {
            let span = Span::new(start, end);
            without_cut_word(text, &text[start..end], &span)
        };
        assert_eq!(words(0, 5), "CAD");
        assert_eq!(words(0, 3), "CAD");
        assert_eq!(words(8, 13), "CABG,");
        assert_eq!(words(14, 25), "hepatitis B");
    }

    #[test]
    fn a_span_ends_with_an_entry_of_a_list() {
        let crosses = |text: &str, words: &str| {
            let start = text.find(words).expect("there");
            crosses_entry(text, &Span::new(start, start + words.len()))
        };
        assert!(crosses("self harm\nHeadache", "harm\nHeadache"));
        assert!(crosses("thick skin\r\n  Rash", "skin\r\n  Rash"));
        assert!(crosses("jaundice\nascites", "jaundice\nascites"));
        let wrapped =
            "The patient was admitted with signs of chronic heart\n  failure and went home";
        assert!(!crosses(wrapped, "heart\n  failure"));
        assert!(!crosses(
            &wrapped.replace('\n', "\r\n"),
            "heart\r\n  failure"
        ));
        assert!(!crosses("Heart Failure", "Heart Failure") && !crosses("", ""));
    }
}
