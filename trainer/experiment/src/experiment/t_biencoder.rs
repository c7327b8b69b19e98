//! The rows of T-Biencoder's tables, as settings over one configuration.

use super::{Row, TableId};
use pel_kb::score::Scorer;
use pel_trainer::train::config::{Config, NegativeKind, Transformation};

/// The bounds of the transformation that the paper tries (figure 3), and the layers of its encoder.
const EPSILONS: [f64; 14] = [
    1e-3, 1e-2, 1e-1, 1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0,
];
const LAYERS: [usize; 4] = [0, 1, 4, 8];

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TRow {
    /// The scorer.
    pub scorer: Scorer,
    /// Whether negatives are mined; otherwise they are random.
    pub hard: bool,
    /// Whether negatives are of the right entity's domain.
    pub inside: bool,
    /// The transformation; `None` for the plain bi-encoder.
    pub transformed: Option<Transformed>,
}

/// The settings of the transformation that a table varies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transformed {
    /// Whether the plain loss is added.
    pub plain: bool,
    /// K, scaled to this encoder's depth.
    pub layer: usize,
    /// ε.
    pub epsilon: f64,
}

/// The default configuration of all rows. A row sets the transformation and the domain of
/// negatives.
pub fn base() -> Config {
    Config {
        transformation: Transformation::default(),
        ..Config::t_biencoder()
    }
}

/// The rows of a table, for an encoder with `depth` layers.
pub fn rows(table: TableId, depth: usize) -> Vec<TRow> {
    let of = Rows { depth };
    match table {
        TableId::T2 => of.across_and_inside(),
        TableId::T3 => of.by_bound_and_layer(),
        TableId::T4 => SCORERS
            .into_iter()
            .flat_map(|scorer| [of.plain(scorer, false, true), of.best(scorer, false)])
            .collect(),
        TableId::T5 => [
            (Scorer::Dual, false),
            (Scorer::Dual, true),
            (Scorer::SumOfMax, false),
        ]
        .into_iter()
        .flat_map(|(scorer, hard)| {
            [
                of.plain(scorer, hard, false),
                of.plain(scorer, hard, true),
                of.best(scorer, hard),
            ]
        })
        .collect(),
        TableId::T6 => of.by_layer(),
        TableId::T7 => of.with_and_without_plain_loss(),
        _ => of.by_bound(),
    }
}

/// The scorers of the tables.
const SCORERS: [Scorer; 2] = [Scorer::Dual, Scorer::SumOfMax];

/// The rows for an encoder.
struct Rows {
    /// Its layers.
    depth: usize,
}

impl Rows {
    fn plain(&self, scorer: Scorer, hard: bool, inside: bool) -> TRow {
        TRow {
            scorer,
            hard,
            inside,
            transformed: None,
        }
    }

    fn with(&self, scorer: Scorer, hard: bool, transformed: Transformed) -> TRow {
        TRow {
            transformed: Some(transformed),
            ..self.plain(scorer, hard, true)
        }
    }

    /// The row with the transformation that the paper found best.
    fn best(&self, scorer: Scorer, hard: bool) -> TRow {
        self.with(scorer, hard, self.best_transformed(scorer, hard))
    }

    fn best_transformed(&self, scorer: Scorer, hard: bool) -> Transformed {
        let negatives = if hard {
            NegativeKind::Hard
        } else {
            NegativeKind::Random
        };
        let epsilon = Transformation::best_epsilon(scorer, negatives);
        Transformed {
            plain: true,
            layer: self.scaled(1),
            epsilon,
        }
    }

    fn scaled(&self, layer: usize) -> usize {
        Transformation::scaled_layer(layer, self.depth)
    }

    /// Table 2: negatives of other domains, and the transformation.
    fn across_and_inside(&self) -> Vec<TRow> {
        let across = SCORERS
            .into_iter()
            .flat_map(|scorer| [false, true].map(|hard| self.plain(scorer, hard, false)));
        let inside = SCORERS
            .into_iter()
            .flat_map(|scorer| [false, true].map(|hard| self.best(scorer, hard)));
        across.chain(inside).collect()
    }

    /// Table 3: ε by K, for each scorer and kind of negatives.
    fn by_bound_and_layer(&self) -> Vec<TRow> {
        let mut layers = LAYERS.map(|layer| self.scaled(layer)).to_vec();
        layers.dedup();
        let mut rows = Vec::new();
        for scorer in SCORERS {
            for hard in [false, true] {
                let best = self.best_transformed(scorer, hard);
                for epsilon in bounds(best.epsilon) {
                    rows.extend(layers.iter().map(|layer| {
                        let transformed = Transformed {
                            epsilon,
                            layer: *layer,
                            ..best
                        };
                        self.with(scorer, hard, transformed)
                    }));
                }
            }
        }
        rows
    }

    /// Table 6: K.
    fn by_layer(&self) -> Vec<TRow> {
        let at = |scorer, layer| {
            let transformed = Transformed {
                layer: self.scaled(layer),
                ..self.best_transformed(scorer, false)
            };
            self.with(scorer, false, transformed)
        };
        let mut rows: Vec<TRow> = SCORERS
            .into_iter()
            .flat_map(|scorer| LAYERS.map(|layer| at(scorer, layer)))
            .collect();
        rows.dedup();
        rows
    }

    /// Table 7: the bi-encoder, the transformation, and the transformation without the plain loss.
    fn with_and_without_plain_loss(&self) -> Vec<TRow> {
        SCORERS
            .into_iter()
            .flat_map(|scorer| {
                let without = Transformed {
                    plain: false,
                    ..self.best_transformed(scorer, false)
                };
                [
                    self.plain(scorer, false, true),
                    self.best(scorer, false),
                    self.with(scorer, false, without),
                ]
            })
            .collect()
    }

    /// Figure 3: ε.
    fn by_bound(&self) -> Vec<TRow> {
        SCORERS
            .into_iter()
            .flat_map(|scorer| {
                let best = self.best_transformed(scorer, false);
                bounds(best.epsilon)
                    .into_iter()
                    .map(move |epsilon| (scorer, Transformed { epsilon, ..best }))
            })
            .map(|(scorer, transformed)| self.with(scorer, false, transformed))
            .collect()
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
        if self.scorer == Scorer::Dual {
            "DUAL"
        } else {
            "SOM"
        }
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
            Some(Transformed {
                plain,
                layer,
                epsilon,
            }) => {
                let without = if plain { "" } else { "-without-l" };
                format!("t-{scorer}-{negatives}-k{layer}-e{epsilon}{without}")
            }
        }
    }

    fn settings(&self) -> Vec<String> {
        let Transformed {
            plain,
            layer,
            epsilon,
        } = self.transformed.unwrap_or(Transformed {
            plain: true,
            layer: 1,
            epsilon: 1.0,
        });
        vec![
            format!(
                "model.scorer={}",
                if self.scorer == Scorer::Dual {
                    "dual"
                } else {
                    "sum-of-max"
                }
            ),
            format!(
                "negatives.kind={}",
                if self.hard { "hard" } else { "random" }
            ),
            format!(
                "negatives.domain={}",
                if self.inside { "inside" } else { "trained" }
            ),
            format!(
                "transformation.weight={}",
                if self.transformed.is_some() {
                    "1.0"
                } else {
                    "0.0"
                }
            ),
            format!("transformation.plain={plain}"),
            format!("transformation.layer={layer}"),
            format!("transformation.epsilon={epsilon:?}"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_trainer::train::config::Domain;

    fn slugs(table: TableId, depth: usize) -> Vec<String> {
        rows(table, depth).iter().map(Row::slug).collect()
    }

    #[test]
    fn table_2_has_cross_domain_rows_and_the_transformation_by_scorer_and_negatives() {
        assert_eq!(
            slugs(TableId::T2, 12),
            [
                "b-dual-random-cd",
                "b-dual-hard-cd",
                "b-som-random-cd",
                "b-som-hard-cd",
                "t-dual-random-id-k1-e32",
                "t-dual-hard-id-k1-e42",
                "t-som-random-id-k1-e20",
                "t-som-hard-id-k1-e40"
            ]
        );
    }

    #[test]
    fn tables_4_5_and_7_compare_with_and_without_the_transformation() {
        let [dual, som] = ["dual", "som"].map(|scorer| format!("b-{scorer}-random-id"));
        let (t_dual, t_som) = ("t-dual-random-id-k1-e32", "t-som-random-id-k1-e20");
        assert_eq!(slugs(TableId::T4, 12), [&dual, t_dual, &som, t_som]);
        assert_eq!(
            slugs(TableId::T5, 12),
            [
                "b-dual-random-cd",
                &dual,
                t_dual,
                "b-dual-hard-cd",
                "b-dual-hard-id",
                "t-dual-hard-id-k1-e42",
                "b-som-random-cd",
                &som,
                t_som
            ]
        );
        let without = [t_dual, t_som].map(|slug| format!("{slug}-without-l"));
        assert_eq!(
            slugs(TableId::T7, 12),
            [&dual, t_dual, &without[0], &som, t_som, &without[1]]
        );
        let names: Vec<String> = rows(TableId::T7, 12)
            .iter()
            .take(3)
            .map(Row::name)
            .collect();
        assert_eq!(names, ["Biencoder", "T-Biencoder", "T-Biencoder without L"]);
    }

    #[test]
    fn table_6_varies_the_layer_as_deep_as_the_encoder_goes() {
        let at = |layers: &[usize]| -> Vec<String> {
            let of = |scorer: &str, epsilon: usize| {
                layers
                    .iter()
                    .map(|k| format!("t-{scorer}-random-id-k{k}-e{epsilon}"))
                    .collect::<Vec<_>>()
            };
            [of("dual", 32), of("som", 20)].concat()
        };
        assert_eq!(slugs(TableId::T6, 12), at(&[0, 1, 4, 8]));
        assert_eq!(slugs(TableId::T6, 6), at(&[0, 1, 2, 4]));
        // Of two layers 1 and 4 are the first: once.
        assert_eq!(slugs(TableId::T6, 2), at(&[0, 1]));
    }

    #[test]
    fn table_3_and_figure_3_try_the_bounds_of_the_paper_and_its_best() {
        let tried = |table, words: &str, layer: Option<usize>| -> Vec<f64> {
            let of = |row: &TRow| {
                row.transformed
                    .filter(|of| layer.is_none_or(|layer| of.layer == layer))
            };
            let wanted = |row: &&TRow| row.slug().starts_with(words);
            rows(table, 12)
                .iter()
                .filter(wanted)
                .filter_map(|row| Some(of(row)?.epsilon))
                .collect()
        };
        let paper = [
            1e-3, 1e-2, 1e-1, 1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0,
        ];
        let with = |best: f64| {
            let mut all = [&paper[..], &[best]].concat();
            all.sort_by(f64::total_cmp);
            all
        };
        let of_each = [
            ("t-dual-random-id-", with(32.0)),
            ("t-dual-hard-id-", with(42.0)),
            ("t-som-random-id-", paper.to_vec()),
            ("t-som-hard-id-", paper.to_vec()),
        ];
        for (words, bounds) in &of_each {
            for layer in LAYERS {
                assert_eq!(
                    tried(TableId::T3, words, Some(layer)),
                    *bounds,
                    "{words} {layer}"
                );
            }
        }
        assert_eq!(rows(TableId::T3, 12).len(), 4 * (15 + 15 + 14 + 14));
        assert_eq!(
            tried(TableId::TFigure3, "t-dual-random-id-k1-", None),
            with(32.0)
        );
        assert_eq!(tried(TableId::TFigure3, "t-som-random-id-k1-", None), paper);
        assert_eq!(rows(TableId::TFigure3, 12).len(), 15 + 14);
    }

    /// The row's settings over a configuration that differs in every setting of a row.
    fn contrary(row: &TRow) -> Config {
        let mut config = base();
        config.model.scorer = if row.scorer == Scorer::Dual {
            Scorer::SumOfMax
        } else {
            Scorer::Dual
        };
        config.negatives.kind = NegativeKind::Mixed;
        config.negatives.domain = Domain::Across;
        let transformed = row.transformed.is_some();
        let plain = row.transformed.is_none_or(|of| of.plain);
        config.transformation = Transformation {
            weight: if transformed { 0.0 } else { 1.0 },
            plain: !plain,
            layer: 11,
            epsilon: 123.0,
            ..Transformation::default()
        };
        config.read(None, &row.settings()).expect("settings")
    }

    #[test]
    fn rows_set_what_their_names_say() {
        use TableId::{T2, T3, T4, T5, T6, T7, TFigure3};
        for row in [T2, T3, T4, T5, T6, T7, TFigure3]
            .into_iter()
            .flat_map(|table| rows(table, 12))
        {
            let (slug, config) = (row.slug(), contrary(&row));
            // What the name says, word by word.
            let words: Vec<&str> = slug.split('-').collect();
            let scorer = if words[1] == "som" {
                Scorer::SumOfMax
            } else {
                Scorer::Dual
            };
            let kind = if words[2] == "hard" {
                NegativeKind::Hard
            } else {
                NegativeKind::Random
            };
            let domain = if words[3] == "id" {
                Domain::Inside
            } else {
                Domain::Trained
            };
            let found = (
                config.model.scorer,
                config.negatives.kind,
                config.negatives.domain,
            );
            assert_eq!(found, (scorer, kind, domain), "{slug}");
            let Transformation {
                weight,
                plain,
                layer,
                epsilon,
                ..
            } = config.transformation;
            match words[0] {
                "b" => assert_eq!((weight, plain), (0.0, true), "{slug}"),
                _ => {
                    let expected = (1.0, !slug.ends_with("-without-l"), words[4], words[5]);
                    let [layer, epsilon] = [format!("k{layer}"), format!("e{epsilon}")];
                    assert_eq!(
                        (weight, plain, layer.as_str(), epsilon.as_str()),
                        expected,
                        "{slug}"
                    );
                }
            }
        }
    }

    #[test]
    fn rows_have_the_settings_of_the_paper_and_no_transformation_of_their_own() {
        // T-Biencoder, sections 4.2 and 4.3.
        let row = rows(TableId::T5, 12)[0];
        let paper = base().read(None, &row.settings()).expect("settings");
        assert_eq!(
            (
                paper.negatives.count,
                paper.optimiser.batch,
                paper.optimiser.epochs
            ),
            (15, 64, 5.0)
        );
        assert!(paper.model.freeze_embeddings && base().transformation.weight == 0.0);
    }
}
