//! Detection of the mentions of a text: by the detector of the bundle, or by its names alone.

use super::Bundle;
use crate::error::Result;
use crate::kb::group::Group;
use crate::model::detector::decode::without_overlap;
use crate::model::detector::{Detector, Features};
use crate::text::Span;
use crate::text::abbreviations::Abbreviations;
use crate::text::detect::{DetectOptions, Detected, Origin};
use std::collections::HashMap;

/// The share of the detector's threshold that a name of the knowledge base has to reach. Of 1, 0.5
/// and 0.25, a lower one finds more in texts unlike those of the training (ID-68) and more that is
/// wrong in abstracts; notes are alike with all.
const NAMED: f32 = 0.5;

/// The same for a name of a few capitals ("MS"), which has no other sense in everyday English. The
/// detector misses many in telegraphic sentences.
const ACRONYM: f32 = 0.1;

/// The earlier mentions that are searched for one that overlaps a position.
const BESIDE: usize = 32;

impl Bundle {
    /// Detects the mentions of a text, ordered by start, then end. With a detector: the spans that
    /// it takes for mentions, less probable ones if they are names of the dictionary. Without one,
    /// or with [`DetectOptions::names_only`]: names of the dictionary, and abbreviations whose long
    /// form in the text is such a name.
    ///
    /// # Errors
    /// If the text cannot be tokenized, or a concept is damaged.
    pub fn detect(&self, text: &str, options: &DetectOptions) -> Result<Vec<Detected>> {
        match self.detector.as_ref().filter(|_| !options.names_only) {
            Some(detector) => self.detect_with(detector, text, options),
            None => Ok(self.detect_names(text, options)),
        }
    }

    fn detect_with(
        &self,
        detector: &Detector,
        text: &str,
        options: &DetectOptions,
    ) -> Result<Vec<Detected>> {
        let words = self.tokens.words(text)?;
        detector.check_tokens(&self.tokens, &words)?;
        let features = Features::new(text, &words, &self.dictionary, &self.concepts)?;
        let scheme = options.scheme.min(detector.info().schemes.len() - 1);
        let labels = &detector.info().schemes[scheme];
        let least = ACRONYM * labels.threshold;
        let spans = detector.spans(&self.tokens, &words, &features, scheme, least);
        let names = self.dictionary.detect(text, options);
        let mut thresholds: HashMap<Span, f32> = HashMap::new();
        for name in &names {
            if name.origin == Origin::Name && name.fragments.is_empty() {
                let share = match is_acronym(text, &name.span) {
                    true => ACRONYM,
                    false => NAMED,
                };
                thresholds.insert(name.span, share * labels.threshold);
            }
        }
        let barriers = self.dictionary.barriers(text);
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
                let least = thresholds.get(&place).unwrap_or(&labels.threshold);
                span.probability >= *least && barriers.admit(&place) && !begins_line(text, &place)
            })
            .collect();
        let chosen = match options.overlapping {
            true => spans,
            false => without_overlap(spans),
        };
        let groups: Vec<Option<Group>> = labels
            .labels
            .iter()
            .map(|label| Group::of_label(label))
            .collect();
        let mut detected: Vec<Detected> = chosen
            .into_iter()
            .map(|span| Detected {
                group: groups[span.label],
                ..Detected::new(of_words(span.first, span.last), Origin::Detector)
            })
            .collect();
        add_coordinations(names, options.overlapping, &mut detected);
        detected.sort_unstable();
        detected.dedup();
        Ok(detected)
    }

    /// Detects the names of the dictionary, and abbreviations whose long form in the text is such a
    /// name.
    fn detect_names(&self, text: &str, options: &DetectOptions) -> Vec<Detected> {
        let mut detected = self.dictionary.detect(text, options);
        if !self.manifest.view.abbreviations {
            return detected;
        }
        let abbreviations = Abbreviations::of(text);
        let mut named: Vec<Span> = Vec::new();
        for (span, long) in abbreviations.all() {
            let whole = Detected::new(span, Origin::Name);
            // A discontinuous mention may end after later ones.
            let to = detected.partition_point(|found| found.span.start < span.end);
            let mut beside = detected[..to].iter().rev().take(BESIDE);
            let taken = !options.overlapping
                && beside.any(|found| found.origin == Origin::Name && found.overlaps(&whole));
            if !taken && !self.dictionary.lookup_mention(long).is_empty() {
                named.push(span);
            }
        }
        detected.retain(|found| {
            let beside = named.get(named.partition_point(|span| span.end <= found.span.start));
            found.origin == Origin::Name || beside.is_none_or(|span| !span.overlaps(&found.span))
        });
        detected.extend(
            named
                .into_iter()
                .map(|span| Detected::new(span, Origin::Name)),
        );
        detected.sort_unstable();
        detected.dedup();
        detected
    }
}

/// Adds names that coordinated mentions share words of ("breast cancer" in "breast and ovarian
/// cancer") if the detector found a mention at the shared words. Mentions inside the other words
/// are removed, unless mentions may overlap. `detected` is in the order of the text.
fn add_coordinations(names: Vec<Detected>, overlapping: bool, detected: &mut Vec<Detected>) {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let mut shared = Vec::new();
    for name in names {
        let Some(last) = name.fragments.last() else {
            continue;
        };
        // The first mention that ends after the start of the shared words.
        let beside = detected.get(ends.partition_point(|end| *end <= last.start));
        if let Some(found) = beside.filter(|found| found.span.overlaps(last)) {
            let group = found.group;
            shared.push(Detected { group, ..name });
        }
    }
    if !overlapping {
        let mut own: Vec<Span> = shared
            .iter()
            .filter_map(|name| name.fragments.split_last())
            .flat_map(|(_, own)| own.iter().copied())
            .collect();
        own.sort_unstable();
        let ends = highest_ends(own.iter());
        detected.retain(|found| {
            let before = own.partition_point(|piece| piece.start <= found.span.start);
            let end = before.checked_sub(1).map_or(0, |last| ends[last]);
            found.span.end > end
        });
    }
    detected.extend(shared);
}

/// For each span, the largest end of it and those before it.
fn highest_ends<'s>(spans: impl Iterator<Item = &'s Span>) -> Vec<usize> {
    let mut highest = 0;
    spans
        .map(|span| {
            highest = highest.max(span.end);
            highest
        })
        .collect()
}

/// Whether a name is a few capitals, which texts use without saying what they stand for.
fn is_acronym(text: &str, name: &Span) -> bool {
    let name = text.get(name.start..name.end).unwrap_or_default();
    (2..=5).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase())
}

/// Whether a line begins inside a span with a capital: an entry of a list, not a wrapped line.
fn begins_line(text: &str, span: &Span) -> bool {
    let words = text.get(span.start..span.end).unwrap_or_default();
    let is_capital = |line: &str| line.trim_start().starts_with(char::is_uppercase);
    words.split(['\n', '\r']).skip(1).any(is_capital)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(start: usize, end: usize) -> Detected {
        Detected {
            group: Some(Group::Problem),
            ..Detected::new(Span::new(start, end), Origin::Detector)
        }
    }

    fn coordinated(pieces: [(usize, usize); 2]) -> Detected {
        let pieces = pieces.map(|(start, end)| Span::new(start, end)).to_vec();
        Detected::of_pieces(pieces, Origin::Name).expect("it has pieces")
    }

    /// "breast and ovarian cancer"
    #[test]
    fn a_coordinated_name_replaces_its_own_words() {
        let name = coordinated([(0, 6), (19, 25)]);
        let with_group = Detected {
            group: Some(Group::Problem),
            ..name.clone()
        };
        let (part, other) = (found(0, 6), found(11, 25));
        for (overlapping, before, after) in [
            (
                false,
                vec![part.clone(), other.clone()],
                vec![other.clone(), with_group.clone()],
            ),
            (
                true,
                vec![part.clone(), other.clone()],
                vec![part.clone(), other, with_group],
            ),
            // Nothing was found at the shared word.
            (false, vec![part.clone()], vec![part]),
        ] {
            let mut detected = before;
            add_coordinations(vec![name.clone()], overlapping, &mut detected);
            assert_eq!(detected, after);
        }
    }

    #[test]
    fn a_capital_after_a_line_end_begins_a_line() {
        let begins = |text: &str| begins_line(text, &Span::new(0, text.len()));
        assert!(begins("self harm\nHeadache") && begins("thick skin\r\n  Rash"));
        assert!(!begins("chronic heart\n  failure") && !begins("Heart Failure") && !begins(""));
    }

    /// With a search through all mentions for each name this took minutes.
    #[test]
    fn many_coordinated_names_take_little_time() {
        let count = 100_000;
        let names =
            (0..count).map(|at| coordinated([(at * 10, at * 10 + 2), (at * 10 + 4, at * 10 + 6)]));
        let parts = (0..count)
            .flat_map(|at| [found(at * 10, at * 10 + 2), found(at * 10 + 4, at * 10 + 6)]);
        let mut detected: Vec<Detected> = parts.collect();
        let start = std::time::Instant::now();
        add_coordinations(names.collect(), false, &mut detected);
        assert!(start.elapsed().as_secs() < 20);
        assert_eq!(detected.len(), 2 * count);
    }
}
