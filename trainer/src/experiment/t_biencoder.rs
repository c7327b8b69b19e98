//! The rows of T-Biencoder's tables, as settings over one configuration.

use super::{Row, TableId};
use crate::train::config::{Config, NegativeKind, Transformation};
use pel_shared::score::Scorer;

/// The bounds of the transformation that the paper chose among (figure 3), and the layers of its encoder.
const EPSILONS: [f64; 14] = [1e-3, 1e-2, 1e-1, 1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0];
const LAYERS: [usize; 4] = [0, 1, 4, 8];

/// One training of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TRow {
    /// What is compared.
    pub scorer: Scorer,
    /// Whether negatives are mined, not drawn uniformly.
    pub hard: bool,
    /// Whether they are of the right entity's domain.
    pub inside: bool,
    /// The transformation; `None` for the plain bi-encoder.
    pub transformed: Option<Transformed>,
}

/// What a table varies of the transformation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transformed {
    /// Whether the plain loss is there too.
    pub plain: bool,
    /// K, of this encoder's layers.
    pub layer: usize,
    /// ε.
    pub epsilon: f64,
}

/// What all rows have unless the configuration says otherwise; a row says itself what is transformed, and where negatives are from.
pub fn base() -> Config {
    Config { transformation: Transformation::default(), ..Config::t_biencoder() }
}

/// The trainings of a table, for an encoder with so many layers.
pub fn rows(table: TableId, depth: usize) -> Vec<TRow> {
    let scaled = |layer: usize| Transformation::scaled_layer(layer, depth);
    let of = |scorer: Scorer, hard: bool| {
        let negatives = if hard { NegativeKind::Hard } else { NegativeKind::Random };
        let epsilon = Transformation::best_epsilon(scorer, negatives);
        Transformed { plain: true, layer: scaled(1), epsilon }
    };
    let plain = |scorer, hard, inside| TRow { scorer, hard, inside, transformed: None };
    let t = |scorer, hard| TRow { transformed: Some(of(scorer, hard)), ..plain(scorer, hard, true) };
    let (dual, som) = (Scorer::Dual, Scorer::SumOfMax);
    let both = [dual, som];
    match table {
        TableId::T2 => {
            let across = both.into_iter().flat_map(|scorer| [false, true].map(|hard| plain(scorer, hard, false)));
            let inside = both.into_iter().flat_map(|scorer| [false, true].map(|hard| t(scorer, hard)));
            across.chain(inside).collect()
        }
        TableId::T4 => both.into_iter().flat_map(|scorer| [plain(scorer, false, true), t(scorer, false)]).collect(),
        TableId::T5 => [(dual, false), (dual, true), (som, false)]
            .into_iter()
            .flat_map(|(scorer, hard)| [plain(scorer, hard, false), plain(scorer, hard, true), t(scorer, hard)])
            .collect(),
        TableId::T6 => {
            let at = |scorer, layer| {
                let transformed = Some(Transformed { layer: scaled(layer), ..of(scorer, false) });
                TRow { transformed, ..plain(scorer, false, true) }
            };
            let mut rows: Vec<TRow> =
                both.into_iter().flat_map(|scorer| LAYERS.map(|layer| at(scorer, layer))).collect();
            rows.dedup();
            rows
        }
        TableId::T7 => both
            .into_iter()
            .flat_map(|scorer| {
                let without = Transformed { plain: false, ..of(scorer, false) };
                [plain(scorer, false, true), t(scorer, false), TRow { transformed: Some(without), ..t(scorer, false) }]
            })
            .collect(),
        TableId::T3 => {
            let mut layers = LAYERS.map(scaled).to_vec();
            layers.dedup();
            let grid = |scorer, hard| {
                let at = |epsilon, layer| TRow {
                    transformed: Some(Transformed { epsilon, layer, ..of(scorer, hard) }),
                    ..plain(scorer, hard, true)
                };
                let bounds = bounds(of(scorer, hard).epsilon);
                bounds.into_iter().flat_map(|epsilon| layers.iter().map(move |layer| at(epsilon, *layer))).collect()
            };
            let of_each =
                both.into_iter().flat_map(|scorer| [false, true].map(|hard| -> Vec<TRow> { grid(scorer, hard) }));
            of_each.flatten().collect()
        }
        _ => {
            let at = |scorer, epsilon| {
                let transformed = Some(Transformed { epsilon, ..of(scorer, false) });
                TRow { transformed, ..plain(scorer, false, true) }
            };
            let grid = |scorer| bounds(of(scorer, false).epsilon).into_iter().map(move |epsilon| at(scorer, epsilon));
            both.into_iter().flat_map(grid).collect()
        }
    }
}

/// The bounds that the paper tries and the one that it found best, the smallest first.
fn bounds(best: f64) -> Vec<f64> {
    let mut bounds = [EPSILONS.as_slice(), &[best]].concat();
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    bounds
}

impl TRow {
    /// DUAL or SOM.
    pub fn scorer_name(&self) -> &'static str {
        if self.scorer == Scorer::Dual { "DUAL" } else { "SOM" }
    }

    /// Random-CD, Hard-ID ...
    pub fn negatives(&self) -> String {
        let kind = if self.hard { "Hard" } else { "Random" };
        format!("{kind}-{}", if self.inside { "ID" } else { "CD" })
    }
}

impl Row for TRow {
    fn name(&self) -> String {
        match self.transformed {
            None => "Biencoder".into(),
            Some(Transformed { plain: true, .. }) => "T-Biencoder".into(),
            Some(_) => "T-Biencoder without L".into(),
        }
    }

    fn slug(&self) -> String {
        let negatives = self.negatives().to_lowercase();
        let scorer = self.scorer_name().to_lowercase();
        match self.transformed {
            None => format!("b-{scorer}-{negatives}"),
            Some(Transformed { plain, layer, epsilon }) => {
                let without = if plain { "" } else { "-without-l" };
                format!("t-{scorer}-{negatives}-k{layer}-e{epsilon}{without}")
            }
        }
    }

    fn settings(&self) -> Vec<String> {
        let Transformed { plain, layer, epsilon } =
            self.transformed.unwrap_or(Transformed { plain: true, layer: 1, epsilon: 1.0 });
        vec![
            format!("model.scorer={}", if self.scorer == Scorer::Dual { "dual" } else { "sum-of-max" }),
            format!("negatives.kind={}", if self.hard { "hard" } else { "random" }),
            format!("negatives.domain={}", if self.inside { "inside" } else { "trained" }),
            format!("transformation.weight={}", if self.transformed.is_some() { "1.0" } else { "0.0" }),
            format!("transformation.plain={plain}"),
            format!("transformation.layer={layer}"),
            format!("transformation.epsilon={epsilon:?}"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::config::Domain;

    #[test]
    fn the_rows_are_the_papers() {
        let slugs = |table| -> Vec<String> { rows(table, 12).iter().map(Row::slug).collect() };
        assert_eq!(
            slugs(TableId::T5),
            [
                "b-dual-random-cd",
                "b-dual-random-id",
                "t-dual-random-id-k1-e32",
                "b-dual-hard-cd",
                "b-dual-hard-id",
                "t-dual-hard-id-k1-e42",
                "b-som-random-cd",
                "b-som-random-id",
                "t-som-random-id-k1-e20"
            ]
        );
        assert_eq!((rows(TableId::T2, 12).len(), rows(TableId::T4, 12).len(), rows(TableId::T7, 12).len()), (8, 4, 6));
        let layers: Vec<usize> = rows(TableId::T6, 6).iter().filter_map(|row| Some(row.transformed?.layer)).collect();
        assert_eq!(layers, [0, 1, 2, 4, 0, 1, 2, 4]);
        let tried = slugs(TableId::T3);
        assert_eq!(tried.len(), 4 * (15 + 15 + 14 + 14));
        assert!(
            ["t-dual-hard-id-k1-e42", "t-som-random-id-k8-e0.001"].iter().all(|slug| tried.iter().any(|t| t == slug))
        );
        // The paper's best bound stands among the others.
        let bounds: Vec<f64> =
            rows(TableId::TFigure3, 12).iter().filter_map(|row| Some(row.transformed?.epsilon)).collect();
        assert_eq!(bounds[..9], [1e-3, 1e-2, 1e-1, 1.0, 10.0, 20.0, 30.0, 32.0, 40.0]);
        assert_eq!(bounds.len(), 15 + 14);
    }

    #[test]
    fn rows_train_what_they_are_called() {
        let config = |table, slug: &str| {
            let rows = rows(table, 12);
            let row = rows.iter().find(|row| row.slug() == slug).expect("in the table");
            base().read(None, &row.settings()).expect("settings")
        };
        let of = |config: &Config| {
            let Transformation { weight, plain, layer, epsilon, .. } = config.transformation;
            let negatives = &config.negatives;
            (config.model.scorer, negatives.kind, negatives.domain, (weight, plain, layer, epsilon))
        };
        let (dual, som) = (Scorer::Dual, Scorer::SumOfMax);
        let (random, hard) = (NegativeKind::Random, NegativeKind::Hard);
        let (inside, across) = (Domain::Inside, Domain::Trained);
        assert_eq!(of(&config(TableId::T5, "b-dual-hard-cd")), (dual, hard, across, (0.0, true, 1, 1.0)));
        assert_eq!(of(&config(TableId::T5, "t-dual-hard-id-k1-e42")), (dual, hard, inside, (1.0, true, 1, 42.0)));
        assert_eq!(
            of(&config(TableId::T7, "t-som-random-id-k1-e20-without-l")),
            (som, random, inside, (1.0, false, 1, 20.0))
        );
        let paper = config(TableId::T2, "b-som-random-cd");
        assert_eq!((paper.negatives.count, paper.optimiser.batch, paper.optimiser.epochs), (15, 64, 5.0));
    }
}
