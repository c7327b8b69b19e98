//! Whether two systems differ on the same documents: a paired bootstrap.
//!
//! Documents are drawn and not mentions, because the mentions of one document are not independent.

use super::hits::Hits;
use super::outcomes::{RESAMPLES, SEED};
use pel_index::metrics::{Interval, Share, resample};
use std::collections::BTreeMap;

/// The difference of two proportions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// The two-sided p-value.
    pub p: f64,
}

/// How the test is done.
pub fn method() -> String {
    format!(
        "Paired bootstrap over documents ({RESAMPLES} samples, seed {SEED}): 95 % interval and \
         two-sided p, with all seeds of a row together. The p-values are not corrected for the \
         number of comparisons."
    )
}

/// The proportion of hits of a system minus that of a reference, each with one or several seeds.
/// Both are drawn with the same documents. `None` if one has no mention.
///
/// The p-value is twice the share of samples whose difference has the other sign or is 0, where the
/// measured data count as one more sample.
pub fn difference(system: &[Hits], reference: &[Hits]) -> Option<Difference> {
    let mut documents: BTreeMap<usize, [Share; 2]> = BTreeMap::new();
    for (side, seeds) in [system, reference].into_iter().enumerate() {
        for [document, hits, of] in seeds.iter().flat_map(|hits| hits.0.iter().copied()) {
            documents.entry(document).or_default()[side] += Share { hits, of };
        }
    }
    let documents: Vec<[Share; 2]> = documents.into_values().collect();
    let of = |drawn: &[usize]| -> Option<f64> {
        let share = |side: usize| {
            drawn
                .iter()
                .filter_map(|document| documents.get(*document))
                .map(|shares| shares[side])
                .sum::<Share>()
                .value()
        };
        Some(share(0)? - share(1)?)
    };
    let all: Vec<usize> = (0..documents.len()).collect();
    let value = of(&all)?;
    let (mut below, mut above, mut samples) = (0_usize, 0_usize, 0_usize);
    let interval = resample(documents.len(), RESAMPLES, SEED, |drawn| {
        let found = of(drawn)?;
        below += usize::from(found <= 0.0);
        above += usize::from(found >= 0.0);
        samples += 1;
        Some(found)
    })?;
    let other_sign = below.min(above) + 1;
    Some(Difference {
        value,
        interval,
        p: (2.0 * other_sign as f64 / (samples + 1) as f64).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_systems_differ_by_nothing() {
        let hits = [Hits(vec![[0, 1, 2], [1, 3, 4], [5, 0, 1]])];
        let found = difference(&hits, &hits).expect("there are mentions");
        assert_eq!((found.value, found.p), (0.0, 1.0));
        assert_eq!((found.interval.low, found.interval.high), (0.0, 0.0));
    }

    #[test]
    fn a_system_that_is_better_in_every_document_has_the_least_p() {
        let of = |hits| [Hits((0..4).map(|document| [document, hits, 2]).collect())];
        let found = difference(&of(2), &of(1)).expect("there are mentions");
        // Every sample differs by a half, so only the measured data count: 2 (0 + 1) / (1000 + 1).
        assert_eq!(found.value, 0.5);
        assert_eq!((found.interval.low, found.interval.high), (0.5, 0.5));
        assert!((found.p - 2.0 / 1001.0).abs() < 1e-12);
        assert!(difference(&of(1), &of(2)).is_some_and(|found| found.value == -0.5));
    }

    #[test]
    fn the_seeds_of_a_row_are_averaged() {
        let seeds = [Hits(vec![[0, 2, 2]]), Hits(vec![[0, 1, 2]])];
        let found = difference(&seeds, &[Hits(vec![[0, 1, 2]])]).expect("there are mentions");
        assert_eq!(found.value, 0.25);
        assert_eq!(difference(&seeds, &[]), None);
        assert_eq!(difference(&[], &[]), None);
    }

    #[test]
    fn a_difference_in_one_document_of_two_is_no_evidence() {
        // A quarter of the samples lacks the document that differs.
        let [one, other] = [[[0, 1, 1], [1, 0, 1]], [[0, 0, 1], [1, 0, 1]]]
            .map(|documents| [Hits(documents.to_vec())]);
        let found = difference(&one, &other).expect("there are mentions");
        assert_eq!(found.value, 0.5);
        assert!((found.p - 0.5).abs() < 0.1, "{}", found.p);
    }
}
