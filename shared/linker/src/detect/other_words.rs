//! Leaves out detected words that are no mentions: letters, codes and headings.

use crate::linker::Linker;
use crate::options::LinkOptions;
use pel_kb::group::Group;
use pel_text::Span;
use pel_text::abbreviations::Abbreviations;
use pel_text::code_systems::is_coded;
use pel_text::context::Heading;
use pel_text::detect::{Detected, Origin};
use pel_text::markup::Readable;
use pel_text::senses::Senses;
use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

impl Linker {
    /// What the bundle detected, with the names of added concepts and without words that a sense
    /// takes for no mention.
    pub(crate) fn detected(
        &self,
        text: &str,
        options: &LinkOptions,
        found: Vec<Detected>,
    ) -> Vec<Detected> {
        let readable = Readable::new(text);
        let text = &*readable.text;
        let found = self.added.detect(text, found, &options.detect);
        readable.whole_mentions(self.without_other_words(text, found))
    }

    /// Leaves out detected short forms that stand for no concept here ("97 % on RA" is room air),
    /// single letters and codes that are no name ("m/r/g", "I10"), code systems with their codes
    /// ("SNOMED 22298006"), and headings ("Neck:", "Allergies:", "RENAL:").
    pub(crate) fn without_other_words(
        &self,
        text: &str,
        mut found: Vec<Detected>,
    ) -> Vec<Detected> {
        let reader = Senses::english().reader(text);
        let headings: HashMap<Span, Heading> = self.context_rules.headings(text).collect();
        let defined: LazyCell<HashSet<Span>, _> = LazyCell::new(|| {
            let abbreviations = Abbreviations::of(text);
            abbreviations.all().map(|(span, _)| span).collect()
        });
        found.retain(|detected| {
            let is_concept = || match reader.choose(detected.span) {
                // The text may define it otherwise.
                Some(sense) => sense.is_concept || defined.contains(&detected.span),
                None => {
                    let words = reader.text_of(detected.span).unwrap_or_default();
                    let is_bare = words.chars().nth(1).is_none() || is_code(words);
                    !is_bare || !self.named_concepts(words).is_empty()
                }
            };
            let is_heading = || {
                let Some(heading) = headings.get(&detected.span) else {
                    return false;
                };
                // "PE: lungs clear" is an examination.
                let words = reader.text_of(detected.span).unwrap_or_default();
                *heading == Heading::Section && !Senses::english().of(words).is_empty()
                    || is_no_mention(*heading, detected.group)
                    || detected.group == Some(Group::Problem) && self.is_body_part(words)
            };
            let is_coded = || {
                let is_name = detected.origin == Origin::Name;
                is_coded(text, detected.span, is_name)
            };
            detected.origin == Origin::Given || is_concept() && !is_heading() && !is_coded()
        });
        found
    }

    /// Whether a word is a name of parts of the body alone: "Pulm".
    fn is_body_part(&self, word: &str) -> bool {
        let concepts = self.named_concepts(word).into_iter();
        let mut groups = concepts
            .map(|id| Group::of(&self.concept(id).ok()?))
            .peekable();
        groups.peek().is_some() && groups.all(|group| group == Some(Group::Anatomy))
    }
}

/// Whether a word is a code of ICD-10: "I10", "M17.11". T10 to T12 are vertebrae.
fn is_code(word: &str) -> bool {
    let (category, rest) = word.split_once('.').unwrap_or((word, ""));
    let digits = category.strip_prefix(|c: char| c.is_ascii_uppercase());
    let is_category = digits.is_some_and(|d| d.len() == 2 && d.bytes().all(|b| b.is_ascii_digit()));
    is_category && !category.starts_with("T1") && rest.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether a heading states nothing of the patient. Headings of tests and procedures have their
/// result behind them ("EKG: sinus rhythm"), and those of habits their answer ("Tobacco: never").
fn is_no_mention(heading: Heading, group: Option<Group>) -> bool {
    match group {
        None | Some(Group::Measurement | Group::Procedure | Group::Device) => false,
        Some(Group::Anatomy) => true,
        Some(Group::Problem) => heading == Heading::Section,
        Some(_) => heading != Heading::Unknown,
    }
}
