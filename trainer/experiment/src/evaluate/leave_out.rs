//! What each side of the candidates and each feature of the probability gives: the figures without
//! it.
//!
//! The probability is fitted again without it on four fifths of the documents and measured on the
//! others, each fifth in turn. So a feature that fits noise alone does not look useful.

use super::Trial;
use super::probability::{FOLDS, Judged, Sample, cross_fit};
use pel_corpora::retrieve::CandidateLists;
use pel_corpora::split::{NilOf, Split};
use pel_index::metrics::{BINS, Forecast, Share, brier, calibration_error, log_loss, reliability};
use pel_io::text_tables::percent;
use pel_kb::error::{Context, Result};
use pel_linker::CandidateSource;
use pel_model::nil::{Evidence, Feature};
use serde::Serialize;

/// Features that say nearly the same.
const GROUPS: [(&str, &[Feature]); 4] = [
    ("both scores", &[Feature::Score, Feature::InexactScore]),
    (
        "all of names",
        &[
            Feature::ExactMatch,
            Feature::PreferredName,
            Feature::SharedSynonym,
            Feature::Names,
        ],
    ),
    (
        "all of the text's sources and types",
        &[
            Feature::SourceFit,
            Feature::InexactSourceFit,
            Feature::InexactTypeFit,
        ],
    ),
    (
        "all of the mention's form",
        &[
            Feature::Expanded,
            Feature::ShortMention,
            Feature::UnknownWord,
        ],
    ),
];

/// A source of candidates or of their scores, or none.
#[derive(Clone, Copy, Debug)]
enum Source {
    Nothing,
    Candidates(CandidateSource),
    Spelling,
    NameVectors,
    TemplateVectors,
}

impl Source {
    /// The sources of bundles in which spelling has a weight, and the vectors of names and
    /// templates are apart.
    fn all(with_spelling: bool, views_apart: bool) -> Vec<Self> {
        let mut all = vec![Self::Nothing];
        all.extend(CandidateSource::ALL.map(Self::Candidates));
        if with_spelling {
            all.push(Self::Spelling);
        }
        if views_apart {
            all.extend([Self::NameVectors, Self::TemplateVectors]);
        }
        all
    }

    fn words(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Candidates(CandidateSource::Names) => "exact names",
            Self::Candidates(CandidateSource::Edits) => "edit distance",
            Self::Candidates(CandidateSource::Search) => "search by vectors",
            Self::Candidates(CandidateSource::Coherence) => "coherence of the text",
            Self::Spelling => "n-grams in the score",
            Self::NameVectors => "vectors of names",
            Self::TemplateVectors => "vectors of templates",
        }
    }

    /// The candidates and the evidence without it.
    fn evidence(self, trial: &mut Trial) -> Result<(CandidateLists, Vec<Option<Evidence>>)> {
        let by_views = |trial: &mut Trial, mix: f32| {
            let before = trial.mix();
            trial.set_mix(mix)?;
            let found = trial.evidence(None);
            trial.set_mix(before)?;
            found
        };
        match self {
            Self::Nothing => trial.evidence(None),
            Self::Candidates(source) => trial.evidence(Some(source)),
            Self::Spelling => {
                let before = trial.spelling();
                trial.set_spelling(0.0)?;
                let found = trial.evidence(None);
                trial.set_spelling(before)?;
                found
            }
            Self::NameVectors => by_views(trial, 1.0),
            Self::TemplateVectors => by_views(trial, 0.0),
        }
    }
}

/// The samples of a calibration, once for each source that is left out.
pub struct Samples<'a> {
    views_apart: bool,
    without: Vec<(Source, Vec<Sample<'a>>)>,
}

impl<'a> Samples<'a> {
    /// No samples. Spelling and the vectors of views are left out only where that is possible.
    pub fn new(with_spelling: bool, views_apart: bool) -> Self {
        let sources = Source::all(with_spelling, views_apart).into_iter();
        Self {
            views_apart,
            without: sources.map(|source| (source, Vec::new())).collect(),
        }
    }

    /// Adds a split whose mentions the trial has encoded.
    ///
    /// # Errors
    /// If the run is interrupted.
    pub fn add(&mut self, trial: &mut Trial, split: &'a Split) -> Result<()> {
        for (source, samples) in &mut self.without {
            let (searched, evidence) = source.evidence(trial)?;
            samples.push(Sample::new(split, searched, evidence));
        }
        Ok(())
    }

    /// The figures of the first split without each source and feature.
    ///
    /// # Errors
    /// If a model cannot be fitted, or the run is interrupted.
    pub fn measure(&self, nil: NilOf, threshold: f32) -> Result<LeaveOut> {
        let row = |kind: Kind,
                   words: &'static str,
                   samples: &[Sample<'a>],
                   features: &[Feature]|
         -> Result<Row> {
            let models =
                cross_fit(samples, nil, features).context(|| format!("leaving out {words}"))?;
            let judged = samples
                .first()
                .map_or(Vec::new(), |first| first.cross_judged(&models));
            Ok(Row {
                kind,
                left_out: words,
                figures: Figures::new(&judged, nil, threshold),
            })
        };
        let mut rows = Vec::new();
        for (source, samples) in &self.without {
            let kind = match source {
                Source::Nothing => Kind::Nothing,
                _ => Kind::Source,
            };
            rows.push(row(kind, source.words(), samples, &Feature::ALL)?);
        }
        let whole = self.without.first().map_or(&[][..], |(_, samples)| samples);
        let groups = GROUPS.map(|(words, features)| (Kind::Features, words, features.to_vec()));
        let single = Feature::ALL.map(|feature| (Kind::Feature, feature.words(), vec![feature]));
        for (kind, words, left_out) in groups.into_iter().chain(single) {
            let kept: Vec<Feature> = Feature::ALL
                .into_iter()
                .filter(|feature| !left_out.contains(feature))
                .collect();
            rows.push(row(kind, words, whole, &kept)?);
        }
        Ok(LeaveOut {
            folds: FOLDS,
            threshold,
            views_apart: self.views_apart,
            rows,
        })
    }
}

/// The figures without each part.
#[derive(Clone, Debug, Serialize)]
pub struct LeaveOut {
    /// The parts of the documents that were measured in turn.
    pub folds: usize,
    /// The lowest probability that is linked.
    pub threshold: f32,
    /// Whether the vectors of names and of templates are apart. If not, there are no rows for them.
    pub views_apart: bool,
    /// The whole, then the sides, then groups of features, then each feature.
    pub rows: Vec<Row>,
}

/// What kind of part is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Nothing: the whole.
    Nothing,
    /// A source of candidates or scores.
    Source,
    /// Several features.
    Features,
    /// A feature.
    Feature,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Source => "source: ",
            Self::Features => "features: ",
            Self::Feature => "feature: ",
        }
    }
}

/// The figures without a part.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What kind of part it is.
    pub kind: Kind,
    /// The part.
    pub left_out: &'static str,
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Links, probabilities and candidates of a split.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Of the mentions with a concept, those that are linked to it.
    pub right: Share,
    /// Those that are linked to another.
    pub wrong: Share,
    /// Those that are NIL.
    pub nil: Share,
    /// Of the mentions without a concept, those that are NIL.
    pub nil_without_concept: Share,
    /// The Brier score of all mentions.
    pub brier: Option<f64>,
    /// The log loss of all mentions.
    pub log_loss: Option<f64>,
    /// The expected calibration error of all mentions.
    pub calibration_error: Option<f64>,
    /// Of the mentions with a concept, those whose first candidate is right.
    pub recall_at_1: Share,
    /// Those with a right one among the first 64.
    pub recall_at_64: Share,
}

impl Figures {
    fn new(judged: &[Judged<'_>], nil: NilOf, threshold: f32) -> Self {
        let taken: Vec<&Judged<'_>> = judged.iter().filter(|one| nil.takes(one.gold)).collect();
        let (known, unknown): (Vec<&Judged<'_>>, Vec<&Judged<'_>>) = taken
            .iter()
            .copied()
            .partition(|one| one.gold.concept.is_some());
        let is_linked = |one: &Judged<'_>| one.probability.is_some_and(|value| value >= threshold);
        let is_first = |one: &Judged<'_>| one.rank == Some(0);
        let within = |one: &Judged<'_>| one.rank.is_some_and(|rank| rank < super::TOP);
        let share = |all: &[&Judged<'_>], is: &dyn Fn(&Judged<'_>) -> bool| {
            all.iter().map(|one| is(one)).collect::<Share>()
        };
        let forecasts: Vec<Forecast> = taken
            .iter()
            .map(|one| Forecast {
                probability: one.probability.unwrap_or(0.0),
                right: is_first(one),
            })
            .collect();
        Self {
            right: share(&known, &|one| is_linked(one) && is_first(one)),
            wrong: share(&known, &|one| is_linked(one) && !is_first(one)),
            nil: share(&known, &|one| !is_linked(one)),
            nil_without_concept: share(&unknown, &|one| !is_linked(one)),
            brier: brier(&forecasts),
            log_loss: log_loss(&forecasts),
            calibration_error: calibration_error(&reliability(&forecasts, BINS)),
            recall_at_1: share(&known, &is_first),
            recall_at_64: share(&known, &within),
        }
    }
}

impl LeaveOut {
    /// A table in Markdown, shares in percent.
    pub fn markdown(&self) -> String {
        let mut out =
            "| left out | right | wrong | NIL | NIL, without a concept | Brier | log loss | ECE | \
             recall@1 | recall@64 |\n"
                .to_owned();
        out += &format!("| --- |{}\n", " ---: |".repeat(9));
        for Row {
            kind,
            left_out,
            figures,
        } in &self.rows
        {
            let share = |share: Share| percent(share.value());
            let number = |value: Option<f64>| value.map_or("-".to_owned(), |it| format!("{it:.4}"));
            let cells = [
                share(figures.right),
                share(figures.wrong),
                share(figures.nil),
                share(figures.nil_without_concept),
                number(figures.brier),
                number(figures.log_loss),
                number(figures.calibration_error),
                share(figures.recall_at_1),
                share(figures.recall_at_64),
            ];
            out += &format!("| {}{left_out} | {} |\n", kind.prefix(), cells.join(" | "));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_corpora::split::Gold;
    use pel_kb::ConceptId;
    use pel_text::Span;

    #[test]
    fn figures_by_hand() {
        let gold = |concept: Option<u32>| Gold {
            document: 0,
            span: Span::new(0, 1),
            concept: concept.map(ConceptId),
            seen: None,
            held_out: false,
            part: 0,
        };
        let [known, unknown] = [gold(Some(1)), gold(None)];
        let judged = |gold, rank, probability| Judged {
            gold,
            rank,
            probability,
        };
        let all = [
            judged(&known, Some(0), Some(0.75)),
            judged(&known, Some(3), Some(0.75)),
            judged(&known, Some(0), Some(0.25)),
            judged(&known, None, None),
            judged(&unknown, None, Some(0.5)),
            judged(&unknown, None, Some(0.25)),
        ];
        let found = Figures::new(&all, NilOf::All, 0.5);
        let share = |hits, of| Share { hits, of };
        assert_eq!(
            [found.right, found.wrong, found.nil],
            [share(1, 4), share(1, 4), share(2, 4)]
        );
        assert_eq!(found.nil_without_concept, share(1, 2));
        assert_eq!(
            [found.recall_at_1, found.recall_at_64],
            [share(2, 4), share(3, 4)]
        );
        // (0.25² + 0.75² + 0.75² + 0 + 0.5² + 0.25²) / 6
        assert_eq!(found.brier, Some(1.5 / 6.0));
        let table = LeaveOut {
            folds: FOLDS,
            threshold: 0.5,
            views_apart: true,
            rows: vec![Row {
                kind: Kind::Source,
                left_out: "exact names",
                figures: found,
            }],
        }
        .markdown();
        let last = table.lines().last().expect("a row");
        assert!(
            last.starts_with("| source: exact names | 25.0 | 25.0 | 50.0 | 50.0 | 0.2500 | "),
            "{table}"
        );
    }

    #[test]
    fn each_group_has_other_features() {
        let mut all: Vec<Feature> = GROUPS
            .iter()
            .flat_map(|(_, features)| features.to_vec())
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
