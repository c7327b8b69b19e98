//! What of a curve is drawn: the parts inside the frame, no more of them than can be seen.

/// A place in the frame: both 0 to 1, y upwards; in pixels after scaling.
pub(super) type Place = (f64, f64);

/// Cuts a curve at the unit square and at its gaps. A point that has no neighbour is a part by itself.
pub(super) fn inside(places: impl IntoIterator<Item = Option<Place>>) -> Vec<Vec<Place>> {
    let mut parts: Vec<Vec<Place>> = Vec::new();
    let mut before: Option<Place> = None;
    for place in places {
        if let Some(to) = place {
            match before {
                None if is_inside(to) => parts.push(vec![to]),
                None => {}
                Some(from) => {
                    if let Some((start, end)) = cut(from, to) {
                        match parts.last_mut() {
                            Some(part) if is_inside(from) => part.push(end),
                            _ => parts.push(vec![start, end]),
                        }
                    }
                }
            }
        }
        before = place;
    }
    parts
}

/// Whether a place lies in the unit square.
pub(super) fn is_inside((x, y): Place) -> bool {
    (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y)
}

/// The part of a line inside the unit square (Liang and Barsky's way).
fn cut(from: Place, to: Place) -> Option<(Place, Place)> {
    let (mut enters, mut leaves) = (0.0f64, 1.0f64);
    for (start, end) in [(from.0, to.0), (from.1, to.1)] {
        let along = end - start;
        if along == 0.0 {
            if !(0.0..=1.0).contains(&start) {
                return None;
            }
            continue;
        }
        let (low, high) = (-start / along, (1.0 - start) / along);
        enters = enters.max(low.min(high));
        leaves = leaves.min(low.max(high));
    }
    let at = |t: f64| ((from.0 + t * (to.0 - from.0)).clamp(0.0, 1.0), (from.1 + t * (to.1 - from.1)).clamp(0.0, 1.0));
    // Ends that need no cutting stay as they are, to the last bit.
    let start = if is_inside(from) { from } else { at(enters) };
    let end = if is_inside(to) { to } else { at(leaves) };
    (enters <= leaves).then_some((start, end))
}

/// Of neighbours in one column of `width` keeps the first, the lowest, the highest and the last, which looks the same.
pub(super) fn thinned(part: &[Place], width: f64) -> Vec<Place> {
    let mut kept = Vec::new();
    for column in part.chunk_by(|a, b| (a.0 / width).floor() == (b.0 / width).floor()) {
        let extreme = |better: fn(f64, f64) -> bool| {
            (1..column.len()).fold(0, |best, at| if better(column[at].1, column[best].1) { at } else { best })
        };
        let mut chosen = [0, extreme(|a, b| a < b), extreme(|a, b| a > b), column.len() - 1];
        chosen.sort_unstable();
        let repeated = |n: usize| n > 0 && chosen[n] == chosen[n - 1];
        kept.extend((0..4).filter(|&n| !repeated(n)).map(|n| column[chosen[n]]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_curve_is_cut_at_the_frame_and_at_gaps() {
        // Up through the roof at x = 0.5, back through it at 0.75, a gap, a point alone.
        let curve = [Some((0.0, 0.0)), Some((0.5, 1.0)), Some((0.625, 1.5)), Some((0.75, 1.0)), Some((1.0, 0.0)), None];
        let parts = inside(curve.into_iter().chain([Some((0.25, 0.5)), None, Some((2.0, 2.0))]));
        assert_eq!(
            parts,
            [vec![(0.0, 0.0), (0.5, 1.0), (0.5, 1.0)], vec![(0.75, 1.0), (0.75, 1.0), (1.0, 0.0)], vec![(0.25, 0.5)]]
        );
        // Both ends outside, the middle inside; and a line that passes by the corner.
        assert_eq!(inside([Some((-1.0, 0.5)), Some((2.0, 0.5))]), [[(0.0, 0.5), (1.0, 0.5)]]);
        assert!(inside([Some((-1.0, 0.5)), Some((0.5, 3.0))]).is_empty());
    }

    #[test]
    fn a_column_keeps_its_ends_and_extremes_in_order() {
        let part = [(0.0, 5.0), (0.1, 6.0), (0.2, 9.0), (0.3, 1.0), (0.4, 2.0), (0.5, 3.0), (1.0, 4.0)];
        assert_eq!(thinned(&part, 1.0), [(0.0, 5.0), (0.2, 9.0), (0.3, 1.0), (0.5, 3.0), (1.0, 4.0)]);
        assert!(thinned(&[], 1.0).is_empty());
    }

    proptest! {
        #[test]
        fn nothing_leaves_the_frame(curve in proptest::collection::vec(proptest::option::of((-1e9..1e9, -2.0..2.0)), 0..30)) {
            for part in inside(curve) {
                prop_assert!(!part.is_empty() && part.into_iter().all(is_inside));
            }
        }
    }
}
