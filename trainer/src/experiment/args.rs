//! The command line of `pel experiment`, and the tables that it knows.

use crate::data::domain::OwnDomain;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Train and measure the rows of the papers' tables, and write the tables
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples, at the papers' own sizes:\n  \
    pel experiment --table pel-2,pel-3 --encoder SapBERT --kb kb.jsonl --corpus corpus --out tables\n  \
    pel experiment --table t-2,t-5 --encoder bert-base-uncased --kb kb.jsonl --corpus worlds --seeds 0,1,2 --out t-tables\n  \
    pel experiment --table blink-2,blink-9,blink-figure-3 --encoder bert-base-uncased --kb kb.jsonl --corpus corpus --out blink\n\n\
    Table 4 of PEL wants a corpus with held-out types: see `pel split okb`. Those of T-Biencoder (t-2 to t-7) want one whose \
    splits share no domain: see `pel split domains` and `pel import zeshel`.\n\
    Stopped half-way, the same command goes on where it was.")]
pub struct ExperimentArgs {
    /// The tables and figures
    #[arg(long, value_enum, value_delimiter = ',', required = true)]
    pub table: Vec<TableId>,
    /// The configuration that all rows share, as for `pel train`
    #[arg(long)]
    pub config: Option<PathBuf>,
    /// Sets one option of it; what the rows of a table differ in is theirs to set
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// The encoder to begin with
    #[arg(long)]
    pub encoder: PathBuf,
    /// The concept table
    #[arg(long)]
    pub kb: PathBuf,
    /// The corpus folder
    #[arg(long)]
    pub corpus: PathBuf,
    /// The folder of runs, results and tables
    #[arg(long)]
    pub out: PathBuf,
    /// Seeds; every row is trained once with each
    #[arg(long, value_delimiter = ',', default_value = "0")]
    pub seeds: Vec<u64>,
    /// The two numbers of negatives of PEL's table 2; tables 3 and 4 have the first
    #[arg(long, value_delimiter = ',', default_value = "32,64")]
    pub counts: Vec<usize>,
    /// Train only rows whose file name is one of these words, or contains it where none is; a table has every row that has been
    /// measured, with all its seeds
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// The split to measure on; thresholds of NIL are chosen on the validation split
    #[arg(long, default_value = "test")]
    pub split: String,
    /// Search each mention among the concepts of its own domain alone (ZESHEL's protocol): that of its document, or, as an oracle, of its right concept [without OF: document]
    #[arg(long, value_enum, value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "document")]
    pub within_domain: Option<OwnDomain>,
    /// Measure only every N-th mention
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub every: u32,
    /// Tables with a cross-encoder: list candidates for every N-th mention of the training split only
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub train_every: u32,
    /// Tables with a cross-encoder: the configuration of the cross-encoder
    #[arg(long, value_name = "FILE")]
    pub ranker_config: Option<PathBuf>,
    /// Tables with a cross-encoder: sets one option of the cross-encoder's configuration
    #[arg(long = "ranker-set", value_name = "KEY=VALUE")]
    pub ranker_settings: Vec<String>,
    /// Tables with a cross-encoder: how many candidates the cross-encoder sees; of several the best on the validation split counts
    /// [default: 1,2,4,8,16, and 32,64 in BLINK's tables]
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=200))]
    pub rerank: Vec<u32>,
    /// PEL's table 5: retrievers of which the best at recall@16 on the validation split gives the candidates, by the names of their
    /// runs, such as pb-32-mixed [default: the rows of table 3 with mixed negatives]
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    pub retrievers: Vec<String>,
    /// Cross-validation of the bi-encoder: an option with the values to try; several options are combined [default: BLINK's table 10]
    #[arg(long, value_name = "KEY=VALUE,VALUE",
        default_values = ["optimiser.learning_rate=2e-6,5e-6,1e-5,2e-5", "optimiser.batch=128,256", "view.mention_tokens=32,64,128"],
        hide_default_value = true)]
    pub grid: Vec<String>,
    /// Cross-validation of the cross-encoder: as --grid
    #[arg(long, value_name = "KEY=VALUE,VALUE",
        default_values = ["optimiser.learning_rate=2e-6,5e-6,1e-5,2e-5", "optimiser.batch=1,5"], hide_default_value = true)]
    pub ranker_grid: Vec<String>,
    /// Cross-validation: the number of folds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..))]
    pub folds: u32,
    /// BLINK's tables 4 and 6: a bi-encoder of another corpus (a model of `pel train`), to compare with and to fine-tune
    #[arg(long, value_name = "MODEL", requires = "pretrained_ranker")]
    pub pretrained: Option<PathBuf>,
    /// BLINK's tables 4 and 6: the cross-encoder of that corpus (a model of `pel train --stage rank`)
    #[arg(long, value_name = "MODEL", requires = "pretrained")]
    pub pretrained_ranker: Option<PathBuf>,
    /// BLINK's table 4: another concept table, to search for the same mentions; the paper has all of Wikipedia
    #[arg(long, value_name = "FILE")]
    pub other_kb: Option<PathBuf>,
    /// BLINK's table 7: how many vectors are searched; mixtures of the knowledge base's own make up the number
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub search_rows: u32,
    /// BLINK's table 9: the weight of the student's own loss, from 0 to less than 1; the teacher has what is left
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share)]
    pub own_share: f64,
}

impl ExperimentArgs {
    /// The options that were given and that none of these tables reads.
    pub fn idle(&self, tables: &[TableId]) -> Vec<&'static str> {
        use TableId::{Blink1, Blink4, Blink6, Blink7, Blink9, BlinkFolds, BlinkFoldsRanker, Pel5};
        let any = |of: &dyn Fn(TableId) -> bool| tables.iter().any(|table| of(*table));
        let (ranks, listed) = (any(&TableId::ranks), any(&|table| table.ranks() || table == Blink1));
        let one_of = |some: &[TableId]| any(&|table| some.contains(&table));
        let all = [
            ("--counts", self.counts != [32, 64], any(&|table| table.family() == Family::Pel)),
            ("--train-every", self.train_every != 1, listed),
            ("--ranker-config", self.ranker_config.is_some(), ranks),
            ("--ranker-set", !self.ranker_settings.is_empty(), ranks),
            ("--rerank", !self.rerank.is_empty(), ranks),
            ("--retrievers", !self.retrievers.is_empty(), one_of(&[Pel5])),
            ("--folds", self.folds != 10, one_of(&[BlinkFolds, BlinkFoldsRanker])),
            ("--pretrained", self.pretrained.is_some(), one_of(&[Blink4, Blink6])),
            ("--other-kb", self.other_kb.is_some(), one_of(&[Blink4])),
            ("--search-rows", self.search_rows != 1_000_000, one_of(&[Blink7])),
            ("--own-share", self.own_share != 0.5, one_of(&[Blink9])),
        ];
        all.into_iter().filter(|(_, given, read)| *given && !read).map(|(flag, ..)| flag).collect()
    }

    /// How many candidates a cross-encoder sees in the tables of a family, each number once, the smallest first.
    pub fn ks(&self, family: Family) -> Vec<usize> {
        let mut ks = match (self.rerank.as_slice(), family) {
            ([], Family::Blink) => vec![1, 2, 4, 8, 16, 32, 64],
            ([], _) => vec![1, 2, 4, 8, 16],
            (given, _) => given.iter().map(|k| *k as usize).collect(),
        };
        ks.sort_unstable();
        ks.dedup();
        ks
    }
}

fn share(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to less than 1".into()),
    }
}

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
    /// The bound and the layer that are best on the validation split (T-Biencoder, table 3); of so many trainings `--only` takes some
    #[value(name = "t-3")]
    T3,
    /// Each domain apart (T-Biencoder, table 4)
    #[value(name = "t-4")]
    T4,
    /// Negatives of the own and of all domains, with the transformation and without (T-Biencoder, table 5)
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
    /// Accuracy of both stages by the number of candidates, on the validation split (BLINK, figure 3)
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
        use TableId::{Blink2, Blink3, Blink4, Blink6, Blink8, Blink9, BlinkFigure3, BlinkFoldsRanker, Pel5};
        matches!(self, Pel5 | Blink2 | Blink3 | Blink4 | Blink6 | Blink8 | Blink9 | BlinkFigure3 | BlinkFoldsRanker)
    }

    /// Whether its models are stages of one another, no rows that are trained apart.
    pub fn has_stages(self) -> bool {
        self == Self::Pel5 || self.family() == Family::Blink && !self.folds()
    }

    /// Whether it is a cross-validation.
    pub fn folds(self) -> bool {
        matches!(self, Self::BlinkFolds | Self::BlinkFoldsRanker)
    }

    /// Its name in files.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Pel2 => "pel-2",
            Self::Pel3 => "pel-3",
            Self::Pel4 => "pel-4",
            Self::Pel5 => "pel-5",
            Self::T2 => "t-2",
            Self::T3 => "t-3",
            Self::T4 => "t-4",
            Self::T5 => "t-5",
            Self::T6 => "t-6",
            Self::T7 => "t-7",
            Self::TFigure3 => "t-figure-3",
            Self::Blink1 => "blink-1",
            Self::Blink2 => "blink-2",
            Self::Blink3 => "blink-3",
            Self::Blink4 => "blink-4",
            Self::Blink5 => "blink-5",
            Self::Blink6 => "blink-6",
            Self::Blink7 => "blink-7",
            Self::Blink8 => "blink-8",
            Self::Blink9 => "blink-9",
            Self::BlinkFolds => "blink-folds",
            Self::BlinkFoldsRanker => "blink-folds-ranker",
            Self::BlinkFigure2 => "blink-figure-2",
            Self::BlinkFigure3 => "blink-figure-3",
        }
    }

    /// What it shows.
    pub fn title(self) -> &'static str {
        match self {
            Self::Pel2 => "Candidate retrieval (PEL, table 2)",
            Self::Pel3 => "Candidate retrieval under random and mixed negatives (PEL, table 3)",
            Self::Pel4 => "NIL detection (PEL, table 4)",
            Self::Pel5 => "Accuracy of both stages (PEL, table 5)",
            Self::T2 => "Candidate generation on unseen domains, recall@64 (T-Biencoder, table 2)",
            Self::T3 => "The best bound and layer by the validation split, recall@64 (T-Biencoder, table 3)",
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
            Self::BlinkFigure2 => "Recall on the validation split by the number of candidates (BLINK, figure 2)",
            Self::BlinkFigure3 => "Accuracy on the validation split by the number of candidates (BLINK, figure 3)",
        }
    }

    /// Whose it is.
    pub fn family(self) -> Family {
        match self {
            Self::Pel2 | Self::Pel3 | Self::Pel4 | Self::Pel5 => Family::Pel,
            Self::T2 | Self::T3 | Self::T4 | Self::T5 | Self::T6 | Self::T7 | Self::TFigure3 => Family::TBiencoder,
            _ => Family::Blink,
        }
    }
}
