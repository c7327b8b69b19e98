//! How far a share could have come out otherwise: the percentile bootstrap.

use super::{Share, macro_average};
use serde::Serialize;

/// The middle 95 % of what resampling gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// 2.5 % of the resamples lie below.
    pub low: f64,
    /// 2.5 % of the resamples lie above.
    pub high: f64,
}

/// A 95 % interval of any figure, from `resamples` draws with replacement of as many groups as there are.
///
/// `figure` gets the groups drawn, by position, each as often as it was drawn; where it has no value the draw is left out.
/// The same seed gives the same draws. `None` if no draw has a value.
pub fn resample(
    groups: usize,
    resamples: usize,
    seed: u64,
    mut figure: impl FnMut(&[usize]) -> Option<f64>,
) -> Option<Interval> {
    let mut random = SplitMix64(seed);
    let mut drawn = vec![0; groups];
    let mut draw = || {
        drawn.iter_mut().for_each(|group| *group = random.below(groups));
        figure(&drawn)
    };
    let mut values: Vec<f64> = (0..resamples).filter_map(|_| draw()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |part: f64| values.get((part * last as f64).round() as usize).copied();
    Some(Interval { low: at(0.025)?, high: at(0.975)? })
}

/// A 95 % interval of the pooled share of all groups, from `resamples` draws of as many groups with replacement.
///
/// A group is what was sampled as one: a document with its mentions, which are alike and so worth less than as many
/// mentions from everywhere. Groups of one mention each give the plain bootstrap. The same seed gives the same interval.
/// `None` if there is nothing in the groups or nothing is drawn.
pub fn bootstrap(groups: &[Share], resamples: usize, seed: u64) -> Option<Interval> {
    resample(groups.len(), resamples, seed, |drawn| {
        drawn.iter().filter_map(|group| groups.get(*group)).copied().sum::<Share>().value()
    })
}

/// A 95 % interval of the macro-average of `domains` shares, from draws of documents with replacement.
///
/// Each document comes with its shares, each with the position of its domain. A domain without a mention in a draw is
/// left out of that draw's average.
pub fn bootstrap_macro(
    documents: &[Vec<(usize, Share)>],
    domains: usize,
    resamples: usize,
    seed: u64,
) -> Option<Interval> {
    let mut sums = vec![Share::default(); domains];
    resample(documents.len(), resamples, seed, |drawn| {
        sums.fill(Share::default());
        for (domain, share) in drawn.iter().filter_map(|document| documents.get(*document)).flatten() {
            if let Some(sum) = sums.get_mut(*domain) {
                *sum = *sum + *share;
            }
        }
        macro_average(&sums)
    })
}

/// The generator SplitMix64 (Steele, Lea and Flood 2014): a counter, and a hash that spreads it over 64 bits.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`; for bounds as small as a corpus the bias is out of sight.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut random = SplitMix64(1234567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
        assert!((0..1000).all(|_| random.below(3) < 3));
    }

    #[test]
    fn the_interval_is_that_of_the_normal_law_where_mentions_are_independent() {
        let groups: Vec<Share> = (0..1000).map(|at| Share { hits: usize::from(at % 10 < 3), of: 1 }).collect();
        let interval = bootstrap(&groups, 2000, 7).expect("there are groups");
        // 0.3 ± 1.96 * sqrt(0.3 * 0.7 / 1000) = 0.3 ± 0.0284
        assert!((interval.low - 0.2716).abs() < 0.004 && (interval.high - 0.3284).abs() < 0.004, "{interval:?}");
        assert_eq!(bootstrap(&groups, 2000, 7), Some(interval));
    }

    #[test]
    fn mentions_that_stand_or_fall_together_widen_it() {
        let alone: Vec<Share> = (0..400).map(|at| Share { hits: at % 2, of: 1 }).collect();
        let together: Vec<Share> = (0..40).map(|at| Share { hits: at % 2 * 10, of: 10 }).collect();
        let width = |groups: &[Share]| bootstrap(groups, 1000, 1).map(|interval| interval.high - interval.low);
        assert!(width(&together) > width(&alone).map(|width| 2.0 * width));
    }

    #[test]
    fn a_domain_counts_once_however_many_mentions_it_has() {
        // Every document has 9 of 10 right in domain 0 and none of 1 in domain 1: pooled 9/11, macro-averaged 0.45.
        let document = vec![(0, Share { hits: 9, of: 10 }), (1, Share { hits: 0, of: 1 })];
        let interval = bootstrap_macro(&[document.clone(), document], 2, 50, 3).expect("there are documents");
        assert!((interval.low - 0.45).abs() < 1e-12 && (interval.high - 0.45).abs() < 1e-12);
        // One document a domain: a draw has both (1/2) or one of them (1 or 0); the empty third is never counted.
        let apart = [vec![(0, Share { hits: 1, of: 1 })], vec![(1, Share { hits: 0, of: 4 })]];
        assert_eq!(bootstrap_macro(&apart, 3, 400, 3), Some(Interval { low: 0.0, high: 1.0 }));
        assert_eq!(bootstrap_macro(&[], 3, 400, 3), None);
    }

    #[test]
    fn nothing_has_no_interval_and_certainty_has_no_width() {
        assert_eq!(bootstrap(&[], 100, 1), None);
        assert_eq!(bootstrap(&[Share::default()], 100, 1), None);
        assert_eq!(bootstrap(&[Share { hits: 2, of: 2 }], 0, 1), None);
        let sure = [Share { hits: 2, of: 2 }, Share { hits: 0, of: 0 }];
        assert_eq!(bootstrap(&sure, 100, 1), Some(Interval { low: 1.0, high: 1.0 }));
    }
}
