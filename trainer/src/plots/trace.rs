//! Clips and thins curves before drawing.

/// A position: 0 to 1 in the frame with y upwards; pixels after scaling.
pub(super) type Place = (f64, f64);

/// Clips a curve to the unit square and splits it at gaps. An isolated point is a part of its own.
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

/// Whether a position is in the unit square.
pub(super) fn is_inside((x, y): Place) -> bool {
    (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y)
}

/// Clips a line to the unit square (Liang-Barsky).
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
    let at = |t: f64| {
        (
            (from.0 + t * (to.0 - from.0)).clamp(0.0, 1.0),
            (from.1 + t * (to.1 - from.1)).clamp(0.0, 1.0),
        )
    };
    // Ends inside the square stay exactly equal.
    let start = if is_inside(from) { from } else { at(enters) };
    let end = if is_inside(to) { to } else { at(leaves) };
    (enters <= leaves).then_some((start, end))
}

/// Keeps the first, lowest, highest and last point of each column of `width`, which looks the same.
pub(super) fn thinned(part: &[Place], width: f64) -> Vec<Place> {
    let mut kept = Vec::new();
    for column in part.chunk_by(|a, b| (a.0 / width).floor() == (b.0 / width).floor()) {
        let extreme = |better: fn(f64, f64) -> bool| {
            (1..column.len()).fold(0, |best, at| {
                if better(column[at].1, column[best].1) {
                    at
                } else {
                    best
                }
            })
        };
        let mut chosen = [
            0,
            extreme(|a, b| a < b),
            extreme(|a, b| a > b),
            column.len() - 1,
        ];
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
    fn curve_is_clipped_and_split_at_gaps() {
        // Leaves at the top at x = 0.5, returns at 0.75, then a gap and an isolated point.
        let curve = [
            Some((0.0, 0.0)),
            Some((0.5, 1.0)),
            Some((0.625, 1.5)),
            Some((0.75, 1.0)),
            Some((1.0, 0.0)),
            None,
        ];
        let parts = inside(
            curve
                .into_iter()
                .chain([Some((0.25, 0.5)), None, Some((2.0, 2.0))]),
        );
        assert_eq!(
            parts,
            [
                vec![(0.0, 0.0), (0.5, 1.0), (0.5, 1.0)],
                vec![(0.75, 1.0), (0.75, 1.0), (1.0, 0.0)],
                vec![(0.25, 0.5)]
            ]
        );
        // Both ends outside with the middle inside, and a line that misses the corner.
        assert_eq!(
            inside([Some((-1.0, 0.5)), Some((2.0, 0.5))]),
            [[(0.0, 0.5), (1.0, 0.5)]]
        );
        assert!(inside([Some((-1.0, 0.5)), Some((0.5, 3.0))]).is_empty());
    }

    #[test]
    fn column_keeps_its_ends_and_extremes() {
        let part = [
            (0.0, 5.0),
            (0.1, 6.0),
            (0.2, 9.0),
            (0.3, 1.0),
            (0.4, 2.0),
            (0.5, 3.0),
            (1.0, 4.0),
        ];
        assert_eq!(
            thinned(&part, 1.0),
            [(0.0, 5.0), (0.2, 9.0), (0.3, 1.0), (0.5, 3.0), (1.0, 4.0)]
        );
        assert!(thinned(&[], 1.0).is_empty());
    }

    proptest! {
        #[test]
        fn clipped_curves_stay_in_the_frame(
            curve in proptest::collection::vec(proptest::option::of((-1e9..1e9, -2.0..2.0)), 0..30),
        ) {
            for part in inside(curve) {
                prop_assert!(!part.is_empty() && part.into_iter().all(is_inside));
            }
        }
    }
}
