//! The rows of the PEL paper's tables, as settings over one configuration.

use super::{Row, TableId};
use pel_trainer::train::config::{LossKind, NegativeKind};

/// The rows of a table. `counts` are the numbers of negatives; the paper has 32 and 64.
pub fn rows(table: TableId, counts: [usize; 2]) -> Vec<PelRow> {
    let [few, many] = counts;
    match table {
        TableId::Pel2 => {
            let plain = [LossKind::CrossEntropy, LossKind::Proxy]
                .into_iter()
                .flat_map(|loss| {
                    [
                        (few, NegativeKind::Mixed),
                        (many, NegativeKind::Mixed),
                        (many, NegativeKind::Random),
                    ]
                    .map(|(count, sampling)| PelRow {
                        loss,
                        count,
                        sampling,
                        fgsm: false,
                        delta: None,
                    })
                });
            let regularised = [LossKind::CrossEntropy, LossKind::Proxy].map(|loss| PelRow {
                loss,
                count: few,
                sampling: NegativeKind::Mixed,
                fgsm: true,
                delta: None,
            });
            plain.chain(regularised).collect()
        }
        TableId::Pel3 => {
            let kinds = [
                (LossKind::CrossEntropy, false),
                (LossKind::Proxy, false),
                (LossKind::CrossEntropy, true),
                (LossKind::Proxy, true),
            ];
            let both = [NegativeKind::Random, NegativeKind::Mixed];
            let row = |(loss, fgsm), sampling| PelRow {
                loss,
                count: few,
                sampling,
                fgsm,
                delta: None,
            };
            kinds
                .into_iter()
                .flat_map(|kind| both.map(|sampling| row(kind, sampling)))
                .collect()
        }
        _ => {
            let row = |loss, delta| PelRow {
                loss,
                count: few,
                sampling: NegativeKind::Mixed,
                fgsm: false,
                delta,
            };
            let margins = [0.0, 0.01, 0.05, 0.1].map(|delta| row(LossKind::Proxy, Some(delta)));
            margins
                .into_iter()
                .chain([row(LossKind::CrossEntropy, None)])
                .collect()
        }
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PelRow {
    /// The loss.
    pub loss: LossKind,
    /// N: negatives of a mention.
    pub count: usize,
    /// Random negatives, or half of them hard.
    pub sampling: NegativeKind,
    /// Whether FGSM regularises.
    pub fgsm: bool,
    /// δ, where the table varies it.
    pub delta: Option<f64>,
}

impl PelRow {
    /// The name of its negatives.
    pub fn sampling_name(&self) -> &'static str {
        if self.sampling == NegativeKind::Random {
            "random"
        } else {
            "mixed"
        }
    }
}

impl Row for PelRow {
    fn name(&self) -> String {
        let loss = if self.loss == LossKind::CrossEntropy {
            "PEL-CE"
        } else {
            "PEL-Pb"
        };
        let fgsm = if self.fgsm { " + FGSM" } else { "" };
        let delta = self
            .delta
            .map_or(String::new(), |delta| format!(" (m = {delta})"));
        format!("{loss}{fgsm}{delta}")
    }

    fn slug(&self) -> String {
        let loss = if self.loss == LossKind::CrossEntropy {
            "ce"
        } else {
            "pb"
        };
        let fgsm = if self.fgsm { "-fgsm" } else { "" };
        let delta = self
            .delta
            .map_or(String::new(), |delta| format!("-m{delta}"));
        format!(
            "{loss}{fgsm}{delta}-{}-{}",
            self.count,
            self.sampling_name()
        )
    }

    /// λ is 1 as in table 6.
    fn settings(&self) -> Vec<String> {
        let loss = if self.loss == LossKind::CrossEntropy {
            "cross-entropy"
        } else {
            "proxy"
        };
        let mut settings = vec![
            format!("loss.kind={loss}"),
            format!("negatives.kind={}", self.sampling_name()),
            format!("negatives.count={}", self.count),
            format!("fgsm.lambda={}", if self.fgsm { "1.0" } else { "0.0" }),
        ];
        settings.extend(self.delta.map(|delta| format!("loss.delta={delta:?}")));
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_kb::score::Similarity;
    use pel_trainer::train::config::Config;

    /// A row: its name in files and in tables, loss, negatives and λ.
    type Expected<'a> = (&'a str, &'a str, LossKind, NegativeKind, usize, f64);

    /// The δ of [`contrary`], unless the row sets it.
    const OTHER: f64 = 0.4;

    /// The row's settings over a configuration that differs in every setting of a row.
    fn contrary(row: &PelRow) -> Config {
        let mut base = Config::default();
        base.loss.kind = if row.loss == LossKind::CrossEntropy {
            LossKind::Proxy
        } else {
            LossKind::CrossEntropy
        };
        base.negatives.kind = NegativeKind::Hard;
        (base.negatives.count, base.fgsm.lambda, base.loss.delta) = (7, 9.0, OTHER);
        base.read(None, &row.settings()).expect("settings")
    }

    /// Compares every row of a table, in its order, and the δ of each.
    fn check<const N: usize>(table: TableId, expected: [Expected<'_>; N], deltas: [f64; N]) {
        let found: Vec<(String, String, Config)> = rows(table, [32, 64])
            .iter()
            .map(|row| (row.slug(), row.name(), contrary(row)))
            .collect();
        let found: Vec<(Expected<'_>, f64)> = found
            .iter()
            .map(|(slug, name, config)| {
                let Config {
                    loss,
                    negatives,
                    fgsm,
                    ..
                } = config;
                (
                    (
                        &slug[..],
                        &name[..],
                        loss.kind,
                        negatives.kind,
                        negatives.count,
                        fgsm.lambda,
                    ),
                    loss.delta,
                )
            })
            .collect();
        let expected: Vec<(Expected<'_>, f64)> = expected.into_iter().zip(deltas).collect();
        assert_eq!(found, expected, "{table:?}");
    }

    const CE: LossKind = LossKind::CrossEntropy;
    const PB: LossKind = LossKind::Proxy;
    const RANDOM: NegativeKind = NegativeKind::Random;
    const MIXED: NegativeKind = NegativeKind::Mixed;

    #[test]
    fn table_2_has_both_losses_by_negatives_and_with_fgsm() {
        check(
            TableId::Pel2,
            [
                ("ce-32-mixed", "PEL-CE", CE, MIXED, 32, 0.0),
                ("ce-64-mixed", "PEL-CE", CE, MIXED, 64, 0.0),
                ("ce-64-random", "PEL-CE", CE, RANDOM, 64, 0.0),
                ("pb-32-mixed", "PEL-Pb", PB, MIXED, 32, 0.0),
                ("pb-64-mixed", "PEL-Pb", PB, MIXED, 64, 0.0),
                ("pb-64-random", "PEL-Pb", PB, RANDOM, 64, 0.0),
                ("ce-fgsm-32-mixed", "PEL-CE + FGSM", CE, MIXED, 32, 1.0),
                ("pb-fgsm-32-mixed", "PEL-Pb + FGSM", PB, MIXED, 32, 1.0),
            ],
            [OTHER; 8],
        );
    }

    #[test]
    fn table_3_has_every_method_under_random_and_mixed_negatives() {
        check(
            TableId::Pel3,
            [
                ("ce-32-random", "PEL-CE", CE, RANDOM, 32, 0.0),
                ("ce-32-mixed", "PEL-CE", CE, MIXED, 32, 0.0),
                ("pb-32-random", "PEL-Pb", PB, RANDOM, 32, 0.0),
                ("pb-32-mixed", "PEL-Pb", PB, MIXED, 32, 0.0),
                ("ce-fgsm-32-random", "PEL-CE + FGSM", CE, RANDOM, 32, 1.0),
                ("ce-fgsm-32-mixed", "PEL-CE + FGSM", CE, MIXED, 32, 1.0),
                ("pb-fgsm-32-random", "PEL-Pb + FGSM", PB, RANDOM, 32, 1.0),
                ("pb-fgsm-32-mixed", "PEL-Pb + FGSM", PB, MIXED, 32, 1.0),
            ],
            [OTHER; 8],
        );
    }

    #[test]
    fn table_4_varies_the_margin_of_the_proxy_based_loss() {
        check(
            TableId::Pel4,
            [
                ("pb-m0-32-mixed", "PEL-Pb (m = 0)", PB, MIXED, 32, 0.0),
                ("pb-m0.01-32-mixed", "PEL-Pb (m = 0.01)", PB, MIXED, 32, 0.0),
                ("pb-m0.05-32-mixed", "PEL-Pb (m = 0.05)", PB, MIXED, 32, 0.0),
                ("pb-m0.1-32-mixed", "PEL-Pb (m = 0.1)", PB, MIXED, 32, 0.0),
                ("ce-32-mixed", "PEL-CE", CE, MIXED, 32, 0.0),
            ],
            [0.0, 0.01, 0.05, 0.1, OTHER],
        );
    }

    #[test]
    fn scores_follow_the_loss_and_half_of_the_mixed_negatives_are_hard() {
        // PEL, sections 5.4 and 4.2.
        for row in rows(TableId::Pel3, [32, 64]) {
            let config = contrary(&row);
            let score = if row.loss == LossKind::CrossEntropy {
                Similarity::Dot
            } else {
                Similarity::Cosine
            };
            let hard = if row.sampling == NegativeKind::Mixed {
                16
            } else {
                0
            };
            assert_eq!(
                (config.reduction().score, config.negatives.hard_count()),
                (score, hard),
                "{}",
                row.slug()
            );
        }
    }
}
