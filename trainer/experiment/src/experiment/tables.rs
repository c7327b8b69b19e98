//! The tables and figures of the papers.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A table or figure of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableId {
    /// Losses, numbers of negatives and FGSM (PEL, table 2)
    #[value(name = "pel-2")]
    Pel2,
    /// Losses and FGSM, under random and mixed negatives; figure 3 (PEL, table 3)
    #[value(name = "pel-3")]
    Pel3,
    /// NIL by margin; figure 2 (PEL, table 4)
    #[value(name = "pel-4")]
    Pel4,
    /// Rankers with FGSM and without (PEL, table 5)
    #[value(name = "pel-5")]
    Pel5,
    /// Scorers and negatives, with the time of an epoch (T-Biencoder, table 2)
    #[value(name = "t-2")]
    T2,
    /// The bound and the layer that are best on the validation split (T-Biencoder, table 3); of so
    /// many trainings `--only` takes some
    #[value(name = "t-3")]
    T3,
    /// Each domain apart (T-Biencoder, table 4)
    #[value(name = "t-4")]
    T4,
    /// Negatives of the own and of all domains, with the transformation and without (T-Biencoder,
    /// table 5)
    #[value(name = "t-5")]
    T5,
    /// The layer that is transformed (T-Biencoder, table 6)
    #[value(name = "t-6")]
    T6,
    /// Without the plain loss (T-Biencoder, table 7)
    #[value(name = "t-7")]
    T7,
    /// The bound of the transformation (T-Biencoder, figure 3)
    #[value(name = "t-figure-3")]
    TFigure3,
    /// Recall@64 of BM25 and the bi-encoder (BLINK, table 1)
    #[value(name = "blink-1")]
    Blink1,
    /// Both stages, averaged over domains (BLINK, table 2)
    #[value(name = "blink-2")]
    Blink2,
    /// The cross-encoder on BM25's candidates (BLINK, table 3)
    #[value(name = "blink-3")]
    Blink3,
    /// Accuracy of both stages, also over another knowledge base (BLINK, table 4)
    #[value(name = "blink-4")]
    Blink4,
    /// Recall@100 (BLINK, table 5)
    #[value(name = "blink-5")]
    Blink5,
    /// Accuracy beside simple methods, by what was trained on (BLINK, table 6)
    #[value(name = "blink-6")]
    Blink6,
    /// Exact search and HNSW (BLINK, table 7)
    #[value(name = "blink-7")]
    Blink7,
    /// Examples that the stages decide differently (BLINK, table 8)
    #[value(name = "blink-8")]
    Blink8,
    /// Distillation (BLINK, table 9)
    #[value(name = "blink-9")]
    Blink9,
    /// The choice of the bi-encoder's hyper-parameters by cross-validation (BLINK, appendix A)
    #[value(name = "blink-folds")]
    BlinkFolds,
    /// The choice of the cross-encoder's hyper-parameters by cross-validation (BLINK, appendix A)
    #[value(name = "blink-folds-ranker")]
    BlinkFoldsRanker,
    /// Recall by the number of candidates, on the validation split (BLINK, figure 2)
    #[value(name = "blink-figure-2")]
    BlinkFigure2,
    /// Accuracy of both stages by the number of candidates, on the validation split (BLINK, figure
    /// 3)
    #[value(name = "blink-figure-3")]
    BlinkFigure3,
}

/// The tables that share a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// PEL's.
    Pel,
    /// T-Biencoder's.
    TBiencoder,
    /// BLINK's.
    Blink,
}

impl TableId {
    /// Whether a cross-encoder is trained for it.
    pub fn ranks(self) -> bool {
        use TableId::{
            Blink2, Blink3, Blink4, Blink6, Blink8, Blink9, BlinkFigure3, BlinkFoldsRanker, Pel5,
        };
        matches!(
            self,
            Pel5 | Blink2
                | Blink3
                | Blink4
                | Blink6
                | Blink8
                | Blink9
                | BlinkFigure3
                | BlinkFoldsRanker
        )
    }

    /// Whether its models are stages of one another, and not independent rows.
    pub fn has_stages(self) -> bool {
        self == Self::Pel5 || self.family() == Family::Blink && !self.folds()
    }

    /// Whether it is a cross-validation.
    pub fn folds(self) -> bool {
        matches!(self, Self::BlinkFolds | Self::BlinkFoldsRanker)
    }

    /// Its name on the command line and in files.
    pub fn slug(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Pel2 => "Candidate retrieval (PEL, table 2)",
            Self::Pel3 => "Candidate retrieval under random and mixed negatives (PEL, table 3)",
            Self::Pel4 => "NIL detection (PEL, table 4)",
            Self::Pel5 => "Accuracy of both stages (PEL, table 5)",
            Self::T2 => "Candidate generation on unseen domains, recall@64 (T-Biencoder, table 2)",
            Self::T3 => {
                "The best bound and layer by the validation split, recall@64 (T-Biencoder, table 3)"
            }
            Self::T4 => "Recall@64 in each domain (T-Biencoder, table 4)",
            Self::T5 => "In-domain and cross-domain negatives, recall@64 (T-Biencoder, table 5)",
            Self::T6 => "The layer that is transformed, recall@64 (T-Biencoder, table 6)",
            Self::T7 => "Without the plain loss, recall@64 (T-Biencoder, table 7)",
            Self::TFigure3 => "The bound of the transformation, recall@64 (T-Biencoder, figure 3)",
            Self::Blink1 => "Recall@64 (BLINK, table 1)",
            Self::Blink2 => "Unnormalised accuracy (BLINK, table 2)",
            Self::Blink3 => "Normalised accuracy on BM25's candidates (BLINK, table 3)",
            Self::Blink4 => "Accuracy (BLINK, table 4)",
            Self::Blink5 => "Candidate retrieval (BLINK, table 5)",
            Self::Blink6 => "Accuracy beside simple methods (BLINK, table 6)",
            Self::Blink7 => "Exact and approximate search (BLINK, table 7)",
            Self::Blink8 => "What the stages decide differently (BLINK, table 8)",
            Self::Blink9 => "Distillation, accuracy (BLINK, table 9)",
            Self::BlinkFolds => "Cross-validation of the bi-encoder (BLINK, appendix A)",
            Self::BlinkFoldsRanker => "Cross-validation of the cross-encoder (BLINK, appendix A)",
            Self::BlinkFigure2 => {
                "Recall on the validation split by the number of candidates (BLINK, figure 2)"
            }
            Self::BlinkFigure3 => {
                "Accuracy on the validation split by the number of candidates (BLINK, figure 3)"
            }
        }
    }

    /// The paper.
    pub fn family(self) -> Family {
        match self {
            Self::Pel2 | Self::Pel3 | Self::Pel4 | Self::Pel5 => Family::Pel,
            Self::T2 | Self::T3 | Self::T4 | Self::T5 | Self::T6 | Self::T7 | Self::TFigure3 => {
                Family::TBiencoder
            }
            _ => Family::Blink,
        }
    }
}
