//! The shares of templates and of spelling in a score: which are tried on a split, and which is taken.

use crate::tables::table;

/// The shares of templates that are tried.
pub const MIXES: [f32; 8] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];

/// The shares of spelling that are tried.
pub const SPELLINGS: [f32; 7] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3];

/// What spelling may cost of recall@1.
const COST: f64 = 0.005;

/// The share with the highest recall@1, the lower of equals.
pub fn best_mix(recalls: &[f64]) -> usize {
    (1..recalls.len()).fold(0, |best, at| if recalls[at] > recalls[best] { at } else { best })
}

/// The largest share whose recall@1 is at most [`COST`] below the best.
pub fn widest_spelling(recalls: &[f64]) -> usize {
    let best = recalls.iter().copied().fold(0.0, f64::max);
    recalls.iter().rposition(|recall| best - recall <= COST).unwrap_or(0)
}

/// The table of what was tried, with what was taken.
pub fn tried(of: &str, shares: &[f32], recalls: &[f64], taken: usize) -> String {
    let share = format!("Share of {of}");
    let mut shown = table([share.as_str(), "Recall@1, %"]);
    for (share, recall) in shares.iter().zip(recalls) {
        shown.add_row([share.to_string(), format!("{:.2}", 100.0 * recall)]);
    }
    format!("{shown}\nTaken: {}", shares[taken])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_chosen_as_they_are_for_the_default_bundle() {
        // RESULTS.md, "The default model".
        let spelling = [83.02, 83.19, 83.13, 82.94, 82.67, 82.47, 82.22].map(|percent: f64| percent / 100.0);
        assert_eq!(SPELLINGS[widest_spelling(&spelling)], 0.15);
        let mix = [81.70, 83.04, 83.05, 83.06, 83.09, 83.10, 83.04, 82.98];
        assert_eq!((MIXES[best_mix(&mix)], best_mix(&[0.5, 0.7, 0.7])), (0.5, 1));
    }
}
