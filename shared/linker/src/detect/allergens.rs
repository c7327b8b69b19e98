//! Foods and materials that a text tells allergies to.

use super::Passes;
use super::places::highest_ends;
use pel_kb::group::Group;
use pel_text::allergens;
use pel_text::detect::{Detected, Origin};

/// Adds the foods and materials that a text tells allergies to, where nothing was found. `detected`
/// is in the order of the text.
pub(crate) fn add(passes: &Passes<'_>, mut detected: Vec<Detected>) -> Vec<Detected> {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let mut added = allergens::find(passes.text);
    added.retain(|span| {
        let beside = detected.get(ends.partition_point(|end| *end <= span.start));
        beside.is_none_or(|found| found.span.start >= span.end) && passes.barriers.admit(span)
    });
    detected.extend(added.into_iter().map(|span| Detected {
        group: Some(Group::Drug),
        ..Detected::new(span, Origin::Detector)
    }));
    detected.sort_unstable();
    detected
}
