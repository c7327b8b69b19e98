//! Names inside mentions.

use super::Passes;
use super::places::{highest_ends, is_whole_name};
use pel_text::Span;
use pel_text::detect::Detected;
use std::collections::HashSet;

/// Adds the names inside mentions, if mentions may overlap.
pub(crate) fn add(passes: &Passes<'_>, mut detected: Vec<Detected>) -> Vec<Detected> {
    if passes.overlapping {
        let whole = passes.names.iter().filter(|name| is_whole_name(name));
        add_nested(whole.cloned().collect(), &mut detected);
    }
    detected
}

/// Adds the names that lie in a mention, or in a piece of one ("lung" in "lung cancer"). A place
/// that is a mention already stays as it is.
fn add_nested(names: Vec<Detected>, detected: &mut Vec<Detected>) {
    let mut pieces: Vec<Span> = detected
        .iter()
        .flat_map(Detected::pieces)
        .copied()
        .collect();
    pieces.sort_unstable();
    let ends = highest_ends(pieces.iter());
    let whole: HashSet<Span> = detected
        .iter()
        .filter(|found| found.fragments.is_empty())
        .map(|found| found.span)
        .collect();
    detected.extend(names.into_iter().filter(|name| {
        let before = pieces.partition_point(|piece| piece.start <= name.span.start);
        let end = before.checked_sub(1).map_or(0, |last| ends[last]);
        name.span.end <= end && !whole.contains(&name.span)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::test_mentions::{coordinated, found};
    use pel_text::detect::Origin;

    /// "breast and left ovarian cancer, knee": a name across the end of a mention, one that is a
    /// mention already and one outside are not added.
    #[test]
    fn names_inside_mentions_are_added_once() {
        let name = |start, end| Detected::new(Span::new(start, end), Origin::Name);
        let coordinated = coordinated([(0, 6), (24, 30)]);
        let mut detected = vec![coordinated.clone(), found(16, 30), found(24, 30)];
        let names = vec![
            name(0, 6),
            name(11, 23),
            name(16, 23),
            name(24, 30),
            name(32, 36),
        ];
        add_nested(names, &mut detected);
        let expected = [
            coordinated,
            found(16, 30),
            found(24, 30),
            name(0, 6),
            name(16, 23),
        ];
        assert_eq!(detected, expected);
        let mut nothing = Vec::new();
        add_nested(vec![name(0, 6)], &mut nothing);
        assert!(nothing.is_empty());
    }
}
