//! Mentions of a test and what it shows.

use super::Passes;
use super::places::is_acronym;
use crate::bundle::Bundle;
use pel_kb::group::Group;
use pel_text::Span;
use pel_text::detect::{Detected, Origin};
use pel_text::senses::Senses;

/// Words for findings that say nothing without what is before them: "ECG changes".
const UNSPECIFIC: [&str; 12] = [
    "abnormality",
    "abnormalities",
    "change",
    "changes",
    "disorder",
    "elevation",
    "finding",
    "findings",
    "problem",
    "problems",
    "sign",
    "symptom",
];

/// Divides mentions of a test and what it shows ("MRI infarct").
pub(crate) fn divide(passes: &Passes<'_>, detected: Vec<Detected>) -> Vec<Detected> {
    passes.bundle.divided(passes.text, detected)
}

impl Bundle {
    /// The mentions with those of a test and what it shows divided: "MRI infarct", "EKG STEMI". The
    /// test is a short form in capitals, and the rest ends with a name of a problem.
    fn divided(&self, text: &str, detected: Vec<Detected>) -> Vec<Detected> {
        let senses = Senses::english().reader(text);
        let group_of = |span: Span| {
            let words = senses.text_of(span)?;
            let concepts = match senses.choose(span) {
                Some(sense) if !sense.is_concept => Vec::new(),
                Some(sense) => self.dictionary.lookup_mention(&sense.name),
                None => self.named(words),
            };
            Group::of(&self.concepts.get(*concepts.first()?).ok()?)
        };
        let parts = |found: &Detected| {
            let span = found.span;
            let words = senses.text_of(span)?;
            let (test, _) = words.split_once(char::is_whitespace)?;
            let (_, last) = words.rsplit_once(char::is_whitespace)?;
            let place = Span::new(span.start, span.start + test.len());
            let is_whole = found.origin != Origin::Detector || !found.fragments.is_empty();
            let is_unspecific = UNSPECIFIC.contains(&last.to_lowercase().as_str());
            if is_whole || is_unspecific || !is_acronym(text, &place) {
                return None;
            }
            let group = group_of(place)?;
            let is_test = matches!(group, Group::Measurement | Group::Procedure);
            let end = Span::new(span.end - last.len(), span.end);
            if !is_test || group_of(end)? != Group::Problem || !self.named(words).is_empty() {
                return None;
            }
            let rest = words[test.len()..].trim_start();
            let part = |span, group| Detected {
                group: Some(group),
                ..Detected::new(span, Origin::Detector)
            };
            let finding = Span::new(span.end - rest.len(), span.end);
            Some(vec![part(place, group), part(finding, Group::Problem)])
        };
        let divide = |found: Detected| parts(&found).unwrap_or_else(|| vec![found]);
        detected.into_iter().flat_map(divide).collect()
    }
}
