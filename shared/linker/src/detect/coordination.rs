//! Names that coordinated mentions share words of.

use super::Passes;
use super::places::highest_ends;
use pel_text::Span;
use pel_text::detect::Detected;

/// The most bytes of a letter or number that names share the words before: "hepatitis B and C".
const DESIGNATOR: usize = 3;

/// Adds the names of coordinated mentions ([`add_coordinations`]).
pub(crate) fn add(passes: &Passes<'_>, mut detected: Vec<Detected>) -> Vec<Detected> {
    add_coordinations(passes.names, passes.overlapping, &mut detected);
    detected
}

/// Adds names that coordinated mentions share words of ("breast cancer" in "breast and ovarian
/// cancer") if the detector found a mention at the shared words. Mentions inside the other words
/// are removed, unless mentions may overlap. `detected` is in the order of the text.
fn add_coordinations(names: &[Detected], overlapping: bool, detected: &mut Vec<Detected>) {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let mut shared = Vec::new();
    for name in names {
        let Some(last) = name.fragments.last() else {
            continue;
        };
        // A mention that overlaps the shared words: the first that ends after their start.
        let group_at = |place: &Span| {
            let beside = detected.get(ends.partition_point(|end| *end <= place.start))?;
            beside.span.overlaps(place).then_some(beside.group)
        };
        // "C" of "hepatitis A, B and C" shares the words before it.
        let is_letter = last.end - last.start <= DESIGNATOR;
        let before = || group_at(name.fragments.first().filter(|_| is_letter)?);
        if let Some(group) = group_at(last).or_else(before) {
            shared.push(Detected {
                group,
                ..name.clone()
            });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::test_mentions::{coordinated, found};
    use pel_kb::group::Group;

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
            add_coordinations(std::slice::from_ref(&name), overlapping, &mut detected);
            assert_eq!(detected, after);
        }
    }

    /// "hepatitis A, B and C"
    #[test]
    fn a_letter_shares_the_words_before_it() {
        let name = coordinated([(0, 9), (19, 20)]);
        let mut detected = vec![found(0, 11)];
        add_coordinations(std::slice::from_ref(&name), false, &mut detected);
        let group = Some(Group::Problem);
        assert_eq!(detected, [found(0, 11), Detected { group, ..name }]);
    }

    /// With a search through all mentions for each name this took minutes.
    #[test]
    fn many_coordinated_names_take_little_time() {
        let count = 100_000;
        let names: Vec<Detected> = (0..count)
            .map(|at| coordinated([(at * 10, at * 10 + 2), (at * 10 + 4, at * 10 + 6)]))
            .collect();
        let parts = (0..count)
            .flat_map(|at| [found(at * 10, at * 10 + 2), found(at * 10 + 4, at * 10 + 6)]);
        let mut detected: Vec<Detected> = parts.collect();
        let start = std::time::Instant::now();
        add_coordinations(&names, false, &mut detected);
        assert!(start.elapsed().as_secs() < 20);
        assert_eq!(detected.len(), 2 * count);
    }
}
