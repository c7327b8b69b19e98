//! Options of `pel import` for notes that someone has annotated or corrected.

use super::concept_args::Common;
use clap::Args;
use pel_corpora::import::Source;
use pel_corpora::import::brat::Folders;
use pel_corpora::import::links::LinkFiles;
use pel_corpora::import::shares::Shares;
use std::path::PathBuf;

/// The splits of the corpus.
#[derive(Args, Clone, Copy, Debug)]
pub struct ShareArgs {
    /// Share of the notes for the validation split, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub dev: f64,
    /// Share of the notes for the test split, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub test: f64,
    /// Seed of the draw of the splits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// Parses a share that leaves notes for training.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("expected a share from 0 to 1, found {text:?}")),
    }
}

impl ShareArgs {
    fn shares(self) -> Shares {
        Shares {
            dev: self.dev,
            test: self.test,
            seed: self.seed,
        }
    }
}

/// Options of `pel import brat`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    pel link --bundle bundle notes/ --format brat --out linked    # then correct linked/*.ann in \
    BRAT\n  \
    pel import brat linked --texts notes --bundle bundle --dev 0.2 --test 0.2 --out corpus\n  \
    pel calibrate bundle --corpus corpus\n  \
    pel evaluate --raw --notes corpus/notes.test.jsonl --bundle bundle")]
pub struct BratArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: Common,
    /// Folder of the texts, if they are not beside the annotations
    #[arg(long, value_name = "DIR")]
    pub texts: Option<PathBuf>,
    /// Prefix to remove from concept ids, besides KB:
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub prefix: String,
    /// Bundle that must have the concepts: another concept is an error, a retired one becomes its
    /// successor
    #[arg(long, value_name = "BUNDLE")]
    pub bundle: Option<PathBuf>,
    /// The splits.
    #[command(flatten)]
    pub shares: ShareArgs,
}

impl BratArgs {
    pub(super) fn source(&self) -> Source {
        let texts = self.common.texts();
        Source::Brat {
            folders: Folders {
                folders: texts.paths,
                texts: self.texts.clone(),
                prefix: self.prefix.clone(),
            },
            encoding: texts.encoding,
            shares: self.shares.shares(),
            bundle: self.bundle.clone(),
        }
    }
}

/// Options of `pel import links`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    pel import links exported/ --dev 0.2 --test 0.2 --out corpus\n  \
    pel import links linked.jsonl --texts notes --out corpus")]
pub struct LinksArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: Common,
    /// Folder of the texts, for JSONL
    #[arg(long, value_name = "DIR")]
    pub texts: Option<PathBuf>,
    /// Take only the mentions that a reader of the page has confirmed or changed
    #[arg(long)]
    pub reviewed: bool,
    /// Bundle that must have the concepts: another concept is an error, a retired one becomes its
    /// successor
    #[arg(long, value_name = "BUNDLE")]
    pub bundle: Option<PathBuf>,
    /// The splits.
    #[command(flatten)]
    pub shares: ShareArgs,
}

impl LinksArgs {
    pub(super) fn source(&self) -> Source {
        let texts = self.common.texts();
        Source::Links {
            files: LinkFiles {
                paths: texts.paths,
                texts: self.texts.clone(),
                reviewed: self.reviewed,
            },
            encoding: texts.encoding,
            shares: self.shares.shares(),
            bundle: self.bundle.clone(),
        }
    }
}
