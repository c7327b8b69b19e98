//! Percentile bootstrap confidence intervals (Efron and Tibshirani, 1993).

use super::{Share, macro_average};
use serde::Serialize;
use std::collections::BTreeMap;

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The 2.5th percentile.
    pub low: f64,
    /// The 97.5th percentile.
    pub high: f64,
}

/// The 95 % interval of a statistic over `resamples` bootstrap samples of `groups` groups.
///
/// `figure` computes the statistic from the positions of the sampled groups, with repeats. Samples
/// for which it returns `None` are left out. The same seed gives the same samples. `None` if no
/// sample has a value.
pub fn resample(
    groups: usize,
    resamples: usize,
    seed: u64,
    mut figure: impl FnMut(&[usize]) -> Option<f64>,
) -> Option<Interval> {
    let mut random = SplitMix64(seed);
    let mut drawn = vec![0; groups];
    let mut draw = || {
        drawn
            .iter_mut()
            .for_each(|group| *group = random.below(groups));
        figure(&drawn)
    };
    let mut values: Vec<f64> = (0..resamples).filter_map(|_| draw()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |part: f64| values.get((part * last as f64).round() as usize).copied();
    Some(Interval {
        low: at(0.025)?,
        high: at(0.975)?,
    })
}

/// The 95 % interval of the pooled (micro-averaged) proportion over all groups.
///
/// A group is a unit of sampling, such as a document: its mentions are correlated, so they are
/// drawn together (cluster bootstrap). Groups of one mention give the plain bootstrap. The same
/// seed gives the same interval. `None` if the groups are empty or `resamples` is 0.
fn bootstrap(groups: &[Share], resamples: usize, seed: u64) -> Option<Interval> {
    resample(groups.len(), resamples, seed, |drawn| {
        drawn
            .iter()
            .filter_map(|group| groups.get(*group))
            .copied()
            .sum::<Share>()
            .value()
    })
}

/// The 95 % interval of the macro-average over `domains` domains, with documents as groups.
///
/// Each document has a list of proportions with the positions of their domains. A domain without a
/// mention in a sample is left out of that sample's average.
fn bootstrap_macro(
    documents: &[Vec<(usize, Share)>],
    domains: usize,
    resamples: usize,
    seed: u64,
) -> Option<Interval> {
    let mut sums = vec![Share::default(); domains];
    resample(documents.len(), resamples, seed, |drawn| {
        sums.fill(Share::default());
        for (domain, share) in drawn
            .iter()
            .filter_map(|document| documents.get(*document))
            .flatten()
        {
            if let Some(sum) = sums.get_mut(*domain) {
                *sum += *share;
            }
        }
        macro_average(&sums)
    })
}

/// The pooled (micro-averaged) proportion of hits, with its 95 % bootstrap interval.
///
/// Each hit comes with its document. Documents are drawn as a whole (cluster bootstrap), because
/// their mentions are correlated. The same seed gives the same interval.
pub fn pooled_with_interval(
    hits: impl IntoIterator<Item = (usize, bool)>,
    resamples: usize,
    seed: u64,
) -> (Share, Option<Interval>) {
    let mut documents: BTreeMap<usize, Share> = BTreeMap::new();
    for (document, hit) in hits {
        *documents.entry(document).or_default() += Share::from_iter([hit]);
    }
    let documents: Vec<Share> = documents.into_values().collect();
    (
        documents.iter().copied().sum(),
        bootstrap(&documents, resamples, seed),
    )
}

/// The macro-average of hits over domains, with its 95 % bootstrap interval over documents.
///
/// Each hit comes with its document and its domain, a number below `domains`.
pub fn macro_with_interval(
    hits: impl IntoIterator<Item = (usize, usize, bool)>,
    domains: usize,
    resamples: usize,
    seed: u64,
) -> (Option<f64>, Option<Interval>) {
    let mut pooled = vec![Share::default(); domains];
    let mut documents: BTreeMap<usize, BTreeMap<usize, Share>> = BTreeMap::new();
    for (document, domain, hit) in hits {
        let hit = Share::from_iter([hit]);
        pooled[domain] += hit;
        *documents
            .entry(document)
            .or_default()
            .entry(domain)
            .or_default() += hit;
    }
    let documents: Vec<Vec<(usize, Share)>> = documents
        .into_values()
        .map(|shares| shares.into_iter().collect())
        .collect();
    (
        macro_average(&pooled),
        bootstrap_macro(&documents, domains, resamples, seed),
    )
}

/// The pseudo-random generator SplitMix64 (Steele, Lea and Flood, 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`. The bias is negligible for bounds of a corpus's size.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_equals_the_reference_values() {
        let mut random = SplitMix64(1234567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [
                6457827717110365317,
                3203168211198807973,
                9817491932198370423
            ]
        );
        assert!((0..1000).all(|_| random.below(3) < 3));
    }

    #[test]
    fn interval_of_independent_mentions_is_the_normal_one() {
        let groups: Vec<Share> = (0..1000)
            .map(|at| Share {
                hits: usize::from(at % 10 < 3),
                of: 1,
            })
            .collect();
        let interval = bootstrap(&groups, 2000, 7).expect("there are groups");
        // 0.3 ± 1.96 * sqrt(0.3 * 0.7 / 1000) = 0.3 ± 0.0284
        assert!(
            (interval.low - 0.2716).abs() < 0.004 && (interval.high - 0.3284).abs() < 0.004,
            "{interval:?}"
        );
        assert_eq!(bootstrap(&groups, 2000, 7), Some(interval));
    }

    #[test]
    fn correlated_mentions_widen_the_interval() {
        let independent: Vec<Share> = (0..400)
            .map(|at| Share {
                hits: at % 2,
                of: 1,
            })
            .collect();
        let correlated: Vec<Share> = (0..40)
            .map(|at| Share {
                hits: at % 2 * 10,
                of: 10,
            })
            .collect();
        let width = |groups: &[Share]| {
            bootstrap(groups, 1000, 1).map(|interval| interval.high - interval.low)
        };
        assert!(width(&correlated) > width(&independent).map(|width| 2.0 * width));
    }

    #[test]
    fn macro_interval_weighs_each_domain_once() {
        // Each document has 9 of 10 right in domain 0 and 0 of 1 in domain 1. Pooled that is 9/11,
        // the macro-average is 0.45.
        let document = vec![
            (0, Share { hits: 9, of: 10 }),
            (1, Share { hits: 0, of: 1 }),
        ];
        let interval =
            bootstrap_macro(&[document.clone(), document], 2, 50, 3).expect("there are documents");
        assert!((interval.low - 0.45).abs() < 1e-12 && (interval.high - 0.45).abs() < 1e-12);
        // One document a domain: a sample has both (1/2) or one (1 or 0). Domain 2 is always empty.
        let separate = [
            vec![(0, Share { hits: 1, of: 1 })],
            vec![(1, Share { hits: 0, of: 4 })],
        ];
        assert_eq!(
            bootstrap_macro(&separate, 3, 400, 3),
            Some(Interval {
                low: 0.0,
                high: 1.0
            })
        );
        assert_eq!(bootstrap_macro(&[], 3, 400, 3), None);
    }

    #[test]
    fn empty_groups_have_no_interval_and_constant_ones_have_width_zero() {
        assert_eq!(bootstrap(&[], 100, 1), None);
        assert_eq!(bootstrap(&[Share::default()], 100, 1), None);
        assert_eq!(bootstrap(&[Share { hits: 2, of: 2 }], 0, 1), None);
        let constant = [Share { hits: 2, of: 2 }, Share { hits: 0, of: 0 }];
        assert_eq!(
            bootstrap(&constant, 100, 1),
            Some(Interval {
                low: 1.0,
                high: 1.0
            })
        );
    }
}
