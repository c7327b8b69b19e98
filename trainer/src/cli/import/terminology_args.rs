//! Options of `pel import` for terminologies in their released layouts.

use super::concept_args::Fill;
use crate::data::import::Source;
use crate::data::terminologies::{Selection, Terminology, umls};
use clap::Args;
use std::path::PathBuf;

/// Inputs and output.
#[derive(Args, Clone, Debug)]
pub struct ReleaseArgs {
    /// Folders, ZIP archives or files of the release
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Output folder; created if missing, and files of an earlier import are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Values for missing fields.
    #[command(flatten)]
    pub fill: Fill,
}

impl ReleaseArgs {
    /// What to import.
    pub(super) fn source(&self, terminology: Terminology) -> Source {
        Source::Terminology {
            paths: self.inputs.clone(),
            terminology,
            defaults: self.fill.defaults(),
        }
    }
}

/// Options of `pel import umls`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  pel import umls 2026AA/META --out umls\n  \
    pel import umls umls-2026AA-metathesaurus-full.zip --languages ENG,GER --sources SNOMEDCT_US,MSH,RXNORM --out umls")]
pub struct UmlsArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ReleaseArgs,
    /// Languages of names (LAT), the preferred one first, or "all"
    #[arg(
        long,
        value_name = "LAT,...",
        value_delimiter = ',',
        default_value = "ENG"
    )]
    pub languages: Vec<String>,
    /// Source vocabularies (SAB) to read names from [default: all]
    #[arg(long, value_name = "SAB,...", value_delimiter = ',')]
    pub sources: Vec<String>,
    /// Semantic types to read, by TUI or name [default: all]
    #[arg(long, value_name = "TUI,...", value_delimiter = ',')]
    pub semantic_types: Vec<String>,
    /// Read suppressed names too (SUPPRESS = E or Y)
    #[arg(long)]
    pub suppressed: bool,
    /// Read obsolete names too (SUPPRESS = O)
    #[arg(long)]
    pub obsolete: bool,
    /// Count and skip invalid rows instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
}

impl UmlsArgs {
    pub(super) fn terminology(&self) -> Terminology {
        Terminology::Umls(umls::Options {
            selection: Selection {
                languages: languages(&self.languages),
                sources: self.sources.clone(),
                suppressed: self.suppressed,
                obsolete: self.obsolete,
                skip_bad: self.skip_bad,
            },
            semantic_types: self.semantic_types.clone(),
        })
    }
}

/// The chosen languages; none for "all".
pub(super) fn languages(given: &[String]) -> Vec<String> {
    match given.iter().any(|one| one.eq_ignore_ascii_case("all")) {
        true => Vec::new(),
        false => given.to_vec(),
    }
}
