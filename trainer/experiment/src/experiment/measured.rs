//! The figures of a row, as stored in a file.

use crate::evaluate::Figures;
use crate::evaluate::hits::Hits;
use crate::evaluate::ranks::Value;
use pel_index::metrics::CurvePoint;
use pel_trainer::train::Kept;
use serde::{Deserialize, Serialize};

/// The figures of a row, or of a system without training.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Its name in tables.
    pub name: String,
    /// Its protocol; `None` in files of an earlier version.
    #[serde(default)]
    pub protocol: Option<String>,
    /// The seed of its training.
    pub seed: Option<u64>,
    /// Steps of its training.
    pub steps: Option<usize>,
    /// The weights that are measured; `None` in files of an earlier version, which measured the
    /// last ones.
    #[serde(default)]
    pub kept: Option<Kept>,
    /// Seconds in steps, without mining and measuring.
    pub step_seconds: Option<f64>,
    /// Seconds of mining.
    pub mining_seconds: Option<f64>,
    /// The norms of A_m and A_e at its end, if it had a transformation.
    #[serde(default)]
    pub transformation: Option<[f64; 2]>,
    /// Epochs.
    #[serde(default)]
    pub epochs: Option<f64>,
    /// Recall at 1, 8 and 64: all, seen, zero-shot.
    pub recall: Vec<RecallOf>,
    /// NIL detection, an entry for each kind.
    pub nil: Vec<NilResult>,
    /// Recall on further splits, and in each domain of every split.
    #[serde(default)]
    pub splits: Vec<SplitRecall>,
    /// The hits of each document of the test split at 1 and 64, over the mentions with a concept;
    /// empty in files of an earlier version.
    #[serde(default)]
    pub hits: Vec<HitsAt>,
    /// The hash of the measured model; `None` without training and in files of an earlier version.
    #[serde(default)]
    pub weights: Option<String>,
    /// The version of the program that measured it; `None` in files of an earlier version.
    #[serde(default)]
    pub program: Option<String>,
}

/// The hits of each document at a k.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HitsAt {
    /// k.
    pub k: usize,
    /// The hits.
    pub documents: Hits,
}

/// The ks whose hits are stored.
const KS_OF_HITS: [usize; 2] = [1, 64];

/// Recall on a split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SplitRecall {
    /// The split.
    pub split: String,
    /// All, seen, zero-shot.
    pub recall: Vec<RecallOf>,
    /// Each domain, the one with the most mentions first.
    pub domains: Vec<RecallOf>,
}

/// Recall over some mentions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecallOf {
    /// `all`, `seen` or `zero-shot`, or a domain.
    pub mentions: String,
    /// By k.
    pub at: Vec<Value>,
}

/// NIL detection at the threshold of the validation split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NilResult {
    /// `all`, `held out` or `natural`.
    pub kind: String,
    /// Average precision.
    pub au_pr: Option<f64>,
    /// Precision of NIL.
    pub precision: Option<f64>,
    /// Recall of NIL.
    pub recall: Option<f64>,
    /// Recall over all classes, with NIL as a class.
    pub all_classes: Vec<Value>,
    /// Points of the curve: recall and precision.
    pub curve: Vec<(f64, f64)>,
    /// The hits of each document at 1 over all classes; empty in files of an earlier version.
    #[serde(default)]
    pub hits: Hits,
}

impl RecallOf {
    fn all(recall: &[crate::evaluate::Recall]) -> Vec<Self> {
        let one = |recall: &crate::evaluate::Recall| Self {
            mentions: recall.mentions.clone(),
            at: recall.at.iter().map(Value::of).collect(),
        };
        recall.iter().map(one).collect()
    }
}

impl Measured {
    /// The figures of a system on the test split.
    pub fn new(name: String, figures: &Figures) -> Self {
        let nil = figures
            .nil
            .iter()
            .filter(|nil| nil.chosen_on != "bundle")
            .map(|nil| NilResult {
                kind: nil.nil.words().to_owned(),
                au_pr: nil.au_pr,
                precision: nil.precision,
                recall: nil.recall,
                all_classes: nil.all_classes.iter().map(Value::of).collect(),
                curve: nil
                    .curve
                    .iter()
                    .map(|point: &CurvePoint| (point.recall, point.precision))
                    .collect(),
                hits: nil
                    .all_classes
                    .iter()
                    .find(|at| at.k == 1)
                    .map_or_else(Hits::default, |at| at.documents.clone()),
            });
        let hits = figures
            .recall
            .iter()
            .filter(|recall| recall.mentions == "all")
            .flat_map(|recall| &recall.at)
            .filter(|at| KS_OF_HITS.contains(&at.k))
            .map(|at| HitsAt {
                k: at.k,
                documents: at.documents.clone(),
            });
        let protocol = Some(figures.protocol.clone());
        Self {
            name,
            protocol,
            recall: RecallOf::all(&figures.recall),
            nil: nil.collect(),
            hits: hits.collect(),
            program: Some(env!("CARGO_PKG_VERSION").to_owned()),
            ..Self::default()
        }
    }

    /// Recall at k over some mentions.
    pub fn recall(&self, mentions: &str, k: usize) -> Option<&Value> {
        at(&self.recall, mentions, k)
    }

    /// The hits of each document of the test split at 1 or 64.
    pub fn hits(&self, k: usize) -> Option<&Hits> {
        Some(&self.hits.iter().find(|at| at.k == k)?.documents)
    }

    /// Recall at k over some mentions of a split.
    pub fn recall_on(&self, split: &str, mentions: &str, k: usize) -> Option<&Value> {
        at(&self.split(split)?.recall, mentions, k)
    }

    /// The recall on a split.
    pub fn split(&self, split: &str) -> Option<&SplitRecall> {
        self.splits.iter().find(|other| other.split == split)
    }

    /// Minutes of an epoch, including mining.
    pub fn minutes_per_epoch(&self) -> Option<f64> {
        Some(
            (self.step_seconds? + self.mining_seconds.unwrap_or(0.0))
                / 60.0
                / self.epochs.filter(|epochs| *epochs > 0.0)?,
        )
    }
}

impl SplitRecall {
    /// The recall of a system on a split.
    pub fn new(split: &str, figures: &Figures) -> Self {
        let domains = figures
            .domains
            .first()
            .map_or_else(Vec::new, |domains| RecallOf::all(&domains.each));
        Self {
            split: split.to_owned(),
            recall: RecallOf::all(&figures.recall),
            domains,
        }
    }

    /// Recall at k in a domain.
    pub fn domain(&self, domain: &str, k: usize) -> Option<&Value> {
        at(&self.domains, domain, k)
    }
}

fn at<'a>(recall: &'a [RecallOf], mentions: &str, k: usize) -> Option<&'a Value> {
    recall
        .iter()
        .find(|recall| recall.mentions == mentions)?
        .at
        .iter()
        .find(|at| at.k == k)
}
