//! Short forms in capitals that the detector missed.

use super::Passes;
use super::places::{highest_ends, is_in_number};
use crate::bundle::Bundle;
use pel_kb::group::Group;
use pel_text::detect::{Barriers, Detected, Origin};
use pel_text::senses::Senses;

/// Adds short forms in capitals that stand for a concept.
pub(crate) fn add(passes: &Passes<'_>, mut detected: Vec<Detected>) -> Vec<Detected> {
    let barriers = &passes.barriers;
    passes
        .bundle
        .add_short_forms(passes.text, barriers, &mut detected);
    detected
}

impl Bundle {
    /// Adds short forms in capitals that stand for a concept where nothing was found. The detector
    /// misses many beside numbers and other short forms. `detected` is in the order of the text.
    fn add_short_forms(&self, text: &str, barriers: &Barriers, detected: &mut Vec<Detected>) {
        let ends = highest_ends(detected.iter().map(|found| &found.span));
        let mut added = Vec::new();
        for (span, sense) in Senses::english().reader(text).in_capitals() {
            let beside = detected.get(ends.partition_point(|end| *end <= span.start));
            let is_taken = beside.is_some_and(|found| found.span.start < span.end);
            let is_heading = text
                .get(span.end..)
                .is_some_and(|after| after.starts_with(':'));
            if is_taken || is_heading || !barriers.admit(&span) || is_in_number(text, &span) {
                continue;
            }
            let concepts = self.dictionary.lookup_mention(&sense.name).into_iter();
            let mut concepts = concepts.filter_map(|id| self.concepts.get(id).ok());
            if let Some(concept) = concepts.next() {
                added.push(Detected {
                    group: Group::of(&concept),
                    ..Detected::new(span, Origin::Detector)
                });
            }
        }
        detected.extend(added);
        detected.sort_unstable();
    }
}
