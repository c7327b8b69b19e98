//! The options of an experiment.

use super::{Family, TableId};
use clap::Args;
use pel_corpora::domain::OwnDomain;
use pel_kb::error::{Error, Result};
use std::path::PathBuf;

/// What is trained and measured for which tables; `pel experiment` reads it from its command line.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The tables and figures [default with --preset: its own]
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        required_unless_present = "preset"
    )]
    pub table: Vec<TableId>,
    /// The configuration that all rows share, as for `pel train`
    #[arg(long)]
    pub config: Option<PathBuf>,
    /// Sets one option of it; what the rows of a table differ in is theirs to set
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Settings of a preset, which those of the call override
    #[arg(skip)]
    pub base: Vec<String>,
    /// The encoder to begin with
    #[arg(skip)]
    pub encoder: PathBuf,
    /// The concept table
    #[arg(skip)]
    pub kb: PathBuf,
    /// The corpus folder
    #[arg(skip)]
    pub corpus: PathBuf,
    /// The folder of runs, results and tables
    #[arg(skip)]
    pub out: PathBuf,
    /// Seeds; every row is trained once with each
    #[arg(long, value_delimiter = ',', default_value = "0")]
    pub seeds: Vec<u64>,
    /// The two numbers of negatives of PEL's table 2; tables 3 and 4 have the first
    #[arg(long, value_delimiter = ',', default_value = "32,64")]
    pub counts: Vec<usize>,
    /// Train only rows whose file name is one of these words, or contains it where none is; a table
    /// has every row that has been measured, with all its seeds
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// The split to measure on; thresholds of NIL are chosen on the validation split
    #[arg(long, default_value = "test")]
    pub split: String,
    /// Search each mention among the concepts of its own domain alone (ZESHEL's protocol): that of
    /// its document, or, as an oracle, of its right concept [without OF: document]
    #[arg(
        long,
        value_enum,
        value_name = "OF",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "document",
    )]
    pub within_domain: Option<OwnDomain>,
    /// Measure only every N-th mention
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    pub every: u32,
    /// Tables with a cross-encoder: list candidates for every N-th mention of the training split
    /// only
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    pub train_every: u32,
    /// Tables with a cross-encoder: the configuration of the cross-encoder
    #[arg(long, value_name = "FILE")]
    pub ranker_config: Option<PathBuf>,
    /// Tables with a cross-encoder: sets one option of the cross-encoder's configuration
    #[arg(long = "ranker-set", value_name = "KEY=VALUE")]
    pub ranker_settings: Vec<String>,
    /// Settings of a preset for the cross-encoder
    #[arg(skip)]
    pub ranker_base: Vec<String>,
    /// Tables with a cross-encoder: how many candidates the cross-encoder sees; of several the best
    /// on the validation split counts [default: 1,2,4,8,16, and 32,64 in BLINK's tables]
    #[arg(
        long,
        value_name = "K",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=200),
    )]
    pub rerank: Vec<u32>,
    /// PEL's table 5: retrievers by the names of their runs, such as pb-32-mixed; the one with the
    /// best validation recall@16 gives the candidates [default: table 3's with mixed negatives]
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    pub retrievers: Vec<String>,
    /// Cross-validation of the bi-encoder: an option with the values to try; several options are
    /// combined [default: BLINK's table 10]
    #[arg(
        long,
        value_name = "KEY=VALUE,VALUE",
        default_values = [
            "optimiser.learning_rate=2e-6,5e-6,1e-5,2e-5", "optimiser.batch=128,256",
            "view.mention_tokens=32,64,128",
        ],
        hide_default_value = true,
    )]
    pub grid: Vec<String>,
    /// Cross-validation of the cross-encoder: as --grid
    #[arg(
        long,
        value_name = "KEY=VALUE,VALUE",
        default_values = ["optimiser.learning_rate=2e-6,5e-6,1e-5,2e-5", "optimiser.batch=1,5"],
        hide_default_value = true,
    )]
    pub ranker_grid: Vec<String>,
    /// Cross-validation: the number of folds
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(2..),
    )]
    pub folds: u32,
    /// BLINK's tables 4 and 6: a bi-encoder of another corpus (a model of `pel train`), to compare
    /// with and to fine-tune
    #[arg(long, value_name = "MODEL", requires = "pretrained_ranker")]
    pub pretrained: Option<PathBuf>,
    /// BLINK's tables 4 and 6: the cross-encoder of that corpus (a model of `pel train --stage
    /// rank`)
    #[arg(long, value_name = "MODEL", requires = "pretrained")]
    pub pretrained_ranker: Option<PathBuf>,
    /// BLINK's table 4: another concept table, to search for the same mentions; the paper has all
    /// of Wikipedia
    #[arg(long, value_name = "FILE")]
    pub other_kb: Option<PathBuf>,
    /// BLINK's table 7: how many vectors are searched; mixtures of the knowledge base's own make up
    /// the number
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub search_rows: u32,
    /// BLINK's table 9: the weight of the student's own loss, from 0 to less than 1; the teacher
    /// has what is left
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share)]
    pub own_share: f64,
}

impl Options {
    /// The two numbers of negatives.
    ///
    /// # Errors
    /// If there are not two.
    pub fn pair_of_counts(&self) -> Result<[usize; 2]> {
        self.counts.as_slice().try_into().map_err(|_| {
            Error::input(format!(
                "--counts: expected two numbers, such as 32,64, found {}",
                self.counts.len()
            ))
        })
    }

    /// The options that were given and that none of these tables reads.
    pub fn idle(&self, tables: &[TableId]) -> Vec<&'static str> {
        use TableId::{Blink1, Blink4, Blink6, Blink7, Blink9, BlinkFolds, BlinkFoldsRanker, Pel5};
        let any = |of: &dyn Fn(TableId) -> bool| tables.iter().any(|table| of(*table));
        let (ranks, listed) = (
            any(&TableId::ranks),
            any(&|table| table.ranks() || table == Blink1),
        );
        let one_of = |some: &[TableId]| any(&|table| some.contains(&table));
        let all = [
            (
                "--counts",
                self.counts != [32, 64],
                any(&|table| table.family() == Family::Pel),
            ),
            ("--train-every", self.train_every != 1, listed),
            ("--ranker-config", self.ranker_config.is_some(), ranks),
            ("--ranker-set", !self.ranker_settings.is_empty(), ranks),
            ("--rerank", !self.rerank.is_empty(), ranks),
            ("--retrievers", !self.retrievers.is_empty(), one_of(&[Pel5])),
            (
                "--folds",
                self.folds != 10,
                one_of(&[BlinkFolds, BlinkFoldsRanker]),
            ),
            (
                "--pretrained",
                self.pretrained.is_some(),
                one_of(&[Blink4, Blink6]),
            ),
            ("--other-kb", self.other_kb.is_some(), one_of(&[Blink4])),
            (
                "--search-rows",
                self.search_rows != 1_000_000,
                one_of(&[Blink7]),
            ),
            ("--own-share", self.own_share != 0.5, one_of(&[Blink9])),
        ];
        all.into_iter()
            .filter(|(_, given, read)| *given && !read)
            .map(|(flag, ..)| flag)
            .collect()
    }

    /// How many candidates a cross-encoder sees in the tables of a family, each number once, the
    /// smallest first.
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

fn share(word: &str) -> std::result::Result<f64, String> {
    match word.parse::<f64>() {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to less than 1".into()),
    }
}
