//! Options of `pel import` for annotated corpora.

use super::concept_args::Common;
use clap::Args;
use pel_corpora::import::splits::SplitFiles;
use pel_corpora::import::tac;
use pel_kb::error::{Error, Result};
use std::path::PathBuf;

/// Options of `pel import pubtator`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    pel import pubtator corpus_pubtator.txt.gz \\\n      \
    --train pmids_trng.txt --dev pmids_dev.txt --test pmids_test.txt --out corpus\n  \
    pel import pubtator mine.txt --out mine")]
pub struct PubtatorArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: Common,
    /// Document ids of the training split, one per line
    #[arg(long, value_name = "FILE")]
    pub train: Option<PathBuf>,
    /// Document ids of the validation split
    #[arg(long, value_name = "FILE")]
    pub dev: Option<PathBuf>,
    /// Document ids of the test split
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,
    /// Prefix to remove from concept ids
    #[arg(long, value_name = "TEXT", default_value = "UMLS:")]
    pub prefix: String,
}

impl PubtatorArgs {
    /// The lists of document ids.
    pub(super) fn lists(&self) -> SplitFiles {
        SplitFiles {
            train: self.train.clone(),
            dev: self.dev.clone(),
            test: self.test.clone(),
        }
    }
}

/// Options of `pel import zeshel`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  pel import zeshel zeshel --out corpus\n  \
    pel evaluate --corpus corpus --kb corpus/kb.jsonl --split test --within-domain --by domain")]
pub struct ZeshelArgs {
    /// Folder with documents and mentions
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Output folder; created if missing, and files of an earlier import are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Files by split; at least one.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = true)]
pub struct MentionFiles {
    /// File of the training split
    #[arg(long, value_name = "FILE")]
    pub train: Option<PathBuf>,
    /// File of the validation split
    #[arg(long, value_name = "FILE")]
    pub dev: Option<PathBuf>,
    /// File of the test split
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,
}

impl MentionFiles {
    pub(super) fn files(&self) -> SplitFiles {
        SplitFiles {
            train: self.train.clone(),
            dev: self.dev.clone(),
            test: self.test.clone(),
        }
    }
}

/// Options of `pel import blink`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  \
    pel import blink --entities entity.jsonl --train train.jsonl --dev valid.jsonl \
    --test test.jsonl --out corpus")]
pub struct BlinkArgs {
    /// Entity tables named after their world, or folders of them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub entities: Vec<PathBuf>,
    /// The mentions of each split.
    #[command(flatten)]
    pub mentions: MentionFiles,
    /// Output folder; created if missing, and files of an earlier import are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Options of `pel import wikilinks`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  pel import wikilinks --train train.jsonl --dev dev.jsonl \
         --test test.jsonl --out corpus"
)]
pub struct WikilinksArgs {
    /// The mentions of each split.
    #[command(flatten)]
    pub mentions: MentionFiles,
    /// Output folder; created if missing, and files of an earlier import are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Options of `pel import tac`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  pel import tac --kb TAC_KB/data --documents TAC_sources/data \
    \\\n      \
    --train training_queries.xml --train-answers training_KB_links.tab \\\n      \
    --test evaluation_queries.xml --test-answers evaluation_KB_links.tab --out corpus"
)]
pub struct TacArgs {
    /// Knowledge base: files of <knowledge_base>, or folders with such .xml files
    #[arg(long, value_name = "PATH", required = true)]
    pub kb: Vec<PathBuf>,
    /// Folders with source documents (ID.xml, ID.sgm or ID.txt); documents without a query are
    /// skipped
    #[arg(long, value_name = "DIR", required = true)]
    pub documents: Vec<PathBuf>,
    /// The queries of each split.
    #[command(flatten)]
    pub queries: MentionFiles,
    /// Answers to the queries of --train
    #[arg(long, value_name = "FILE", requires = "train")]
    pub train_answers: Option<PathBuf>,
    /// Answers to the queries of --dev
    #[arg(long, value_name = "FILE", requires = "dev")]
    pub dev_answers: Option<PathBuf>,
    /// Answers to the queries of --test
    #[arg(long, value_name = "FILE", requires = "test")]
    pub test_answers: Option<PathBuf>,
    /// Output folder; created if missing, and files of an earlier import are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

impl TacArgs {
    /// The files of the task.
    ///
    /// # Errors
    /// If queries have no answers.
    pub(super) fn files(&self) -> Result<tac::TaskFiles> {
        let answers = |split: &str| match split {
            "train" => self.train_answers.clone(),
            "dev" => self.dev_answers.clone(),
            _ => self.test_answers.clone(),
        };
        let questions = self.queries.files();
        let files = questions
            .given()
            .map(|(split, queries)| match answers(split) {
                Some(answers) => Ok(tac::QuerySet {
                    split,
                    queries: queries.to_owned(),
                    answers,
                }),
                None => Err(Error::input(format!(
                    "--{split}: give the answers too, with --{split}-answers"
                ))),
            });
        let questions = files.collect::<Result<_>>()?;
        Ok(tac::TaskFiles {
            kb: self.kb.clone(),
            documents: self.documents.clone(),
            questions,
        })
    }
}
