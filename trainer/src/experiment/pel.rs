//! The rows of the PEL paper's tables, as settings over one configuration.

use super::{Row, TableId};
use serde::{Deserialize, Serialize};

/// The rows of a table. `counts` are the numbers of negatives; the paper has 32 and 64.
pub fn rows(table: TableId, counts: [usize; 2]) -> Vec<PelRow> {
    let [few, many] = counts;
    match table {
        TableId::Pel2 => {
            let plain = [LossName::Ce, LossName::Pb].into_iter().flat_map(|loss| {
                [(few, Sampling::Mixed), (many, Sampling::Mixed), (many, Sampling::Random)]
                    .map(|(count, sampling)| PelRow { loss, count, sampling, fgsm: false, delta: None })
            });
            let regularised = [LossName::Ce, LossName::Pb].map(|loss| PelRow {
                loss,
                count: few,
                sampling: Sampling::Mixed,
                fgsm: true,
                delta: None,
            });
            plain.chain(regularised).collect()
        }
        TableId::Pel3 => {
            let kinds = [(LossName::Ce, false), (LossName::Pb, false), (LossName::Ce, true), (LossName::Pb, true)];
            let both = [Sampling::Random, Sampling::Mixed];
            let row = |(loss, fgsm), sampling| PelRow { loss, count: few, sampling, fgsm, delta: None };
            kinds.into_iter().flat_map(|kind| both.map(|sampling| row(kind, sampling))).collect()
        }
        _ => {
            let row = |loss, delta| PelRow { loss, count: few, sampling: Sampling::Mixed, fgsm: false, delta };
            let margins = [0.0, 0.01, 0.05, 0.1].map(|delta| row(LossName::Pb, Some(delta)));
            margins.into_iter().chain([row(LossName::Ce, None)]).collect()
        }
    }
}

/// A loss by the paper's abbreviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LossName {
    /// Cross-entropy, by the dot product.
    Ce,
    /// The proxy-based loss, by cosine.
    Pb,
}

/// How negatives are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Uniformly.
    Random,
    /// Half of them hard.
    Mixed,
}

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PelRow {
    /// The loss.
    pub loss: LossName,
    /// N: negatives of a mention.
    pub count: usize,
    /// How they are drawn.
    pub sampling: Sampling,
    /// Whether FGSM regularises.
    pub fgsm: bool,
    /// δ, where the table varies it.
    pub delta: Option<f64>,
}

impl Row for PelRow {
    fn name(&self) -> String {
        let loss = match self.loss {
            LossName::Ce => "PEL-CE",
            LossName::Pb => "PEL-Pb",
        };
        let fgsm = if self.fgsm { " + FGSM" } else { "" };
        let delta = self.delta.map_or(String::new(), |delta| format!(" (m = {delta})"));
        format!("{loss}{fgsm}{delta}")
    }

    fn slug(&self) -> String {
        let loss = if self.loss == LossName::Ce { "ce" } else { "pb" };
        let sampling = if self.sampling == Sampling::Random { "random" } else { "mixed" };
        let fgsm = if self.fgsm { "-fgsm" } else { "" };
        let delta = self.delta.map_or(String::new(), |delta| format!("-m{delta}"));
        format!("{loss}{fgsm}{delta}-{}-{sampling}", self.count)
    }

    /// λ is 1 as in table 6.
    fn settings(&self) -> Vec<String> {
        let loss = if self.loss == LossName::Ce { "cross-entropy" } else { "proxy" };
        let sampling = if self.sampling == Sampling::Random { "random" } else { "mixed" };
        let mut settings = vec![
            format!("loss.kind={loss}"),
            format!("negatives.kind={sampling}"),
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
    use crate::train::config::{Config, LossKind, NegativeKind};
    use pel_shared::score::Score;

    /// An expected row: its name in files and in tables, loss, negatives, λ and δ.
    type Expected = (&'static str, &'static str, LossKind, NegativeKind, usize, f64, f64);

    /// The δ of [`contrary`], unless the row sets it.
    const OTHER: f64 = 0.4;

    /// The row's settings over a configuration that differs in every setting of a row.
    fn contrary(row: &PelRow) -> Config {
        let mut base = Config::default();
        base.loss.kind = if row.loss == LossName::Ce { LossKind::Proxy } else { LossKind::CrossEntropy };
        base.negatives.kind = NegativeKind::Hard;
        (base.negatives.count, base.fgsm.lambda, base.loss.delta) = (7, 9.0, OTHER);
        base.read(None, &row.settings()).expect("settings")
    }

    /// Every row of a table, in its order.
    fn check(table: TableId, expected: &[Expected]) {
        let rows = rows(table, [32, 64]);
        let found: Vec<_> = rows
            .iter()
            .map(|row| {
                let Config { loss, negatives, fgsm, .. } = contrary(row);
                (row.slug(), row.name(), loss.kind, negatives.kind, negatives.count, fgsm.lambda, loss.delta)
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(slug, name, loss, kind, count, lambda, delta)| {
                ((*slug).to_owned(), (*name).to_owned(), *loss, *kind, *count, *lambda, *delta)
            })
            .collect();
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
            &[
                ("ce-32-mixed", "PEL-CE", CE, MIXED, 32, 0.0, OTHER),
                ("ce-64-mixed", "PEL-CE", CE, MIXED, 64, 0.0, OTHER),
                ("ce-64-random", "PEL-CE", CE, RANDOM, 64, 0.0, OTHER),
                ("pb-32-mixed", "PEL-Pb", PB, MIXED, 32, 0.0, OTHER),
                ("pb-64-mixed", "PEL-Pb", PB, MIXED, 64, 0.0, OTHER),
                ("pb-64-random", "PEL-Pb", PB, RANDOM, 64, 0.0, OTHER),
                ("ce-fgsm-32-mixed", "PEL-CE + FGSM", CE, MIXED, 32, 1.0, OTHER),
                ("pb-fgsm-32-mixed", "PEL-Pb + FGSM", PB, MIXED, 32, 1.0, OTHER),
            ],
        );
    }

    #[test]
    fn table_3_has_every_method_under_random_and_mixed_negatives() {
        check(
            TableId::Pel3,
            &[
                ("ce-32-random", "PEL-CE", CE, RANDOM, 32, 0.0, OTHER),
                ("ce-32-mixed", "PEL-CE", CE, MIXED, 32, 0.0, OTHER),
                ("pb-32-random", "PEL-Pb", PB, RANDOM, 32, 0.0, OTHER),
                ("pb-32-mixed", "PEL-Pb", PB, MIXED, 32, 0.0, OTHER),
                ("ce-fgsm-32-random", "PEL-CE + FGSM", CE, RANDOM, 32, 1.0, OTHER),
                ("ce-fgsm-32-mixed", "PEL-CE + FGSM", CE, MIXED, 32, 1.0, OTHER),
                ("pb-fgsm-32-random", "PEL-Pb + FGSM", PB, RANDOM, 32, 1.0, OTHER),
                ("pb-fgsm-32-mixed", "PEL-Pb + FGSM", PB, MIXED, 32, 1.0, OTHER),
            ],
        );
    }

    #[test]
    fn table_4_varies_the_margin_of_the_proxy_based_loss() {
        check(
            TableId::Pel4,
            &[
                ("pb-m0-32-mixed", "PEL-Pb (m = 0)", PB, MIXED, 32, 0.0, 0.0),
                ("pb-m0.01-32-mixed", "PEL-Pb (m = 0.01)", PB, MIXED, 32, 0.0, 0.01),
                ("pb-m0.05-32-mixed", "PEL-Pb (m = 0.05)", PB, MIXED, 32, 0.0, 0.05),
                ("pb-m0.1-32-mixed", "PEL-Pb (m = 0.1)", PB, MIXED, 32, 0.0, 0.1),
                ("ce-32-mixed", "PEL-CE", CE, MIXED, 32, 0.0, OTHER),
            ],
        );
    }

    #[test]
    fn scores_follow_the_loss_and_half_of_the_mixed_negatives_are_hard() {
        // PEL, sections 5.4 and 4.2.
        for row in rows(TableId::Pel3, [32, 64]) {
            let config = contrary(&row);
            let score = if row.loss == LossName::Ce { Score::Dot } else { Score::Cosine };
            let hard = if row.sampling == Sampling::Mixed { 16 } else { 0 };
            assert_eq!((config.reduction().score, config.negatives.hard_count()), (score, hard), "{}", row.slug());
        }
    }
}
