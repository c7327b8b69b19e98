//! The choice of the weights of templates and of spelling in a score.

use pel_io::text_tables::table;

/// The weights of templates to try.
pub const MIXES: [f32; 8] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];

/// The weights of spelling to try.
pub const SPELLINGS: [f32; 7] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3];

/// The largest loss of recall@1 for spelling.
const COST: f64 = 0.005;

/// The weight with the highest recall@1; the lower of equals.
pub fn best_mix(recalls: &[f64]) -> usize {
    (1..recalls.len()).fold(0, |best, at| {
        if recalls[at] > recalls[best] {
            at
        } else {
            best
        }
    })
}

/// The tolerance of floating-point differences: a loss of exactly [`COST`] is allowed.
const ROUNDING: f64 = 1e-9;

/// The largest weight whose recall@1 is at most `COST` below the best.
pub fn widest_spelling(recalls: &[f64]) -> usize {
    let best = recalls.iter().copied().fold(0.0, f64::max);
    recalls
        .iter()
        .rposition(|recall| best - recall <= COST + ROUNDING)
        .unwrap_or(0)
}

/// The table of the tried weights, and the choice.
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
    use pel_linker::bundle::Manifest;
    use std::path::Path;

    #[test]
    fn default_bundle_has_the_weights_chosen_by_its_figures() {
        // results/default-model.md, "Choices on dev": recall@1 by the weights that are tried.
        let spelling =
            [83.02, 83.19, 83.13, 82.94, 82.67, 82.47, 82.22].map(|percent: f64| percent / 100.0);
        let mix = [81.70, 83.04, 83.05, 83.06, 83.09, 83.10, 83.04, 82.98]
            .map(|percent: f64| percent / 100.0);
        let manifest =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bundle/default/manifest.json");
        let manifest =
            Manifest::from_bytes(&std::fs::read(manifest).expect("committed")).expect("whole");
        assert_eq!(
            manifest.view.spelling,
            SPELLINGS[widest_spelling(&spelling)]
        );
        assert_eq!(manifest.view.mix, MIXES[best_mix(&mix)]);
    }

    #[test]
    fn spelling_weight_is_the_largest_that_costs_at_most_half_a_point() {
        // Exactly half a point below the best, which floats make a little more; then a little more
        // in truth.
        assert_eq!(widest_spelling(&[0.500, 0.495]), 1);
        assert_eq!(widest_spelling(&[0.500, 0.4949]), 0);
        // The best is not the first, and what is lost may come back.
        assert_eq!(widest_spelling(&[0.700, 0.706, 0.700, 0.702, 0.690]), 3);
        assert_eq!(
            widest_spelling(&[0.700, 0.706, 0.702, 0.690, 0.702, 0.600]),
            4
        );
        assert_eq!(widest_spelling(&[0.5]), 0);
    }

    #[test]
    fn mix_has_the_highest_recall_and_is_the_lower_of_equals() {
        assert_eq!(best_mix(&[0.5, 0.7, 0.7]), 1);
        assert_eq!(best_mix(&[0.7, 0.5, 0.6]), 0);
        assert_eq!(best_mix(&[0.5, 0.6, 0.7]), 2);
        // Not the last rise, nor the first.
        assert_eq!(best_mix(&[0.5, 0.6, 0.4, 0.65, 0.3, 0.64]), 3);
    }

    #[test]
    fn table_has_each_weight_with_its_recall_and_the_choice() {
        let shown = tried("spelling", &[0.0, 0.05, 0.1], &[0.5, 0.61239, 0.6], 2);
        let lines: Vec<Vec<&str>> = shown
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let has = |cells: [&str; 2]| {
            lines
                .iter()
                .any(|line| cells.iter().all(|cell| line.contains(cell)))
        };
        assert!(
            shown.contains("Share of spelling") && shown.contains("Recall@1, %"),
            "{shown}"
        );
        assert!(
            [["0", "50.00"], ["0.05", "61.24"], ["0.1", "60.00"]]
                .into_iter()
                .all(has),
            "{shown}"
        );
        assert!(shown.ends_with("\nTaken: 0.1"), "{shown}");
    }
}
