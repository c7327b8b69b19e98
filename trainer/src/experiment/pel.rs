//! The rows of the PEL paper's tables, as settings over one configuration.

use super::{Row, TableId};
use serde::{Deserialize, Serialize};

/// The trainings of a table; `counts` are the numbers of negatives, the paper's 32 and 64.
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

/// One training of a table.
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

    #[test]
    fn the_rows_are_the_papers() {
        let names = |table: TableId| -> Vec<String> { rows(table, [32, 64]).iter().map(Row::slug).collect() };
        assert_eq!(
            names(TableId::Pel2),
            [
                "ce-32-mixed",
                "ce-64-mixed",
                "ce-64-random",
                "pb-32-mixed",
                "pb-64-mixed",
                "pb-64-random",
                "ce-fgsm-32-mixed",
                "pb-fgsm-32-mixed"
            ]
        );
        assert_eq!(names(TableId::Pel3).len(), 8);
        assert_eq!(
            names(TableId::Pel4),
            ["pb-m0-32-mixed", "pb-m0.01-32-mixed", "pb-m0.05-32-mixed", "pb-m0.1-32-mixed", "ce-32-mixed"]
        );
        assert!(rows(TableId::Pel4, [4, 8])[2].settings().contains(&"loss.delta=0.05".to_owned()));
    }

    #[test]
    fn rows_train_what_they_are_called() {
        let config = |table, slug: &str| {
            let rows = rows(table, [32, 64]);
            let row = rows.iter().find(|row| row.slug() == slug).expect("in the table");
            Config::default().read(None, &row.settings()).expect("settings")
        };
        let of =
            |config: &Config| (config.loss.kind, config.negatives.kind, config.negatives.count, config.fgsm.lambda);
        let (ce, pb) = (LossKind::CrossEntropy, LossKind::Proxy);
        let (random, mixed) = (NegativeKind::Random, NegativeKind::Mixed);
        assert_eq!(of(&config(TableId::Pel2, "ce-64-random")), (ce, random, 64, 0.0));
        assert_eq!(of(&config(TableId::Pel2, "pb-32-mixed")), (pb, mixed, 32, 0.0));
        assert_eq!(of(&config(TableId::Pel3, "ce-fgsm-32-mixed")), (ce, mixed, 32, 1.0));
        assert_eq!(of(&config(TableId::Pel3, "pb-fgsm-32-random")), (pb, random, 32, 1.0));
        assert_eq!(config(TableId::Pel4, "pb-m0.05-32-mixed").loss.delta, 0.05);
        // Scores follow the loss (PEL, section 5.4), half of the mixed ones are hard.
        let pb = config(TableId::Pel4, "pb-m0-32-mixed");
        assert_eq!((pb.loss.delta, pb.reduction().score, pb.negatives.hard_count()), (0.0, Score::Cosine, 16));
        assert_eq!(config(TableId::Pel4, "ce-32-mixed").reduction().score, Score::Dot);
    }
}
