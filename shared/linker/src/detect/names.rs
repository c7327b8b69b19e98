//! Names of the knowledge base in a text, and paraphrases of them.

use super::wordings::add_wordings;
use crate::bundle::Bundle;
use pel_kb::ConceptId;
use pel_text::Span;
use pel_text::abbreviations::Abbreviations;
use pel_text::detect::{DetectOptions, Detected, Origin};
use pel_text::markup::Readable;

/// The earlier mentions that are searched for one that overlaps a position.
const BESIDE: usize = 32;

impl Bundle {
    /// The concepts of a mention in ascending order: those with this name, else those with a name
    /// that it is a wording of, else those with a regular variant of it.
    pub(crate) fn named(&self, mention: &str) -> Vec<ConceptId> {
        let stated = self.dictionary.lookup(mention);
        if !stated.is_empty() {
            return stated;
        }
        let names = self.wordings().names_of(mention);
        let mut concepts: Vec<ConceptId> = names
            .flat_map(|name| self.dictionary.lookup_mention(name))
            .collect();
        if concepts.is_empty() {
            return self.dictionary.lookup_forms(mention);
        }
        concepts.sort_unstable();
        concepts.dedup();
        concepts
    }

    /// The names of the dictionary and the wordings of such names in a text, in its order, and the
    /// wordings alone.
    pub(crate) fn names_and_wordings(
        &self,
        text: &str,
        options: &DetectOptions,
    ) -> (Vec<Detected>, Vec<Detected>) {
        let names = self.dictionary.detect(text, options);
        let mut wordings = self.wordings().detect(text, options);
        wordings.retain(|wording| {
            let words = wording.span.of(text).unwrap_or_default();
            let mut meant = self.wordings().names_of(words);
            meant.any(|name| !self.dictionary.lookup_mention(name).is_empty())
        });
        add_wordings(names, wordings, options.overlapping)
    }

    /// Detects the names of the dictionary, wordings of them, and abbreviations whose long form in
    /// the text is such a name.
    pub(crate) fn detect_names(&self, text: &str, options: &DetectOptions) -> Vec<Detected> {
        let readable = Readable::new(text);
        let text = &*readable.text;
        let (mut detected, _) = self.names_and_wordings(text, options);
        if !self.manifest.view.abbreviations {
            return readable.whole_mentions(detected);
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
        readable.whole_mentions(detected)
    }
}
