//! Options of `pel import` for terminologies in their released layouts.

use super::concept_args::{Fill, MapArgs, ParentArgs};
use clap::Args;
use pel_corpora::import::Source;
use pel_terminologies::{Selection, Terminology, rf2, rxnorm, snomed, umls};
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
    /// The mapping that merges concepts.
    #[command(flatten)]
    pub map: MapArgs,
    /// The parents of concepts.
    #[command(flatten)]
    pub parents: ParentArgs,
}

impl ReleaseArgs {
    /// What to import.
    pub(super) fn source(&self, terminology: Terminology) -> Source {
        Source::Terminology {
            paths: self.inputs.clone(),
            terminology,
            defaults: self.fill.defaults(),
            hierarchy: self.parents.hierarchy,
        }
    }
}

/// Languages of a release in Rich Release Format.
#[derive(Args, Clone, Debug)]
pub struct RrfLanguages {
    /// Languages of names (LAT), the preferred one first, or "all"
    #[arg(
        long,
        value_name = "LAT,...",
        value_delimiter = ',',
        default_value = "ENG"
    )]
    pub languages: Vec<String>,
}

/// Rows of a release in Rich Release Format.
#[derive(Args, Clone, Debug)]
pub struct RrfRows {
    /// Read suppressed names too (SUPPRESS = E or Y)
    #[arg(long)]
    pub suppressed: bool,
    /// Read obsolete names too (SUPPRESS = O)
    #[arg(long)]
    pub obsolete: bool,
    /// Count and skip invalid rows instead of stopping at the first, and accept tables with fewer
    /// rows than MRFILES gives
    #[arg(long)]
    pub skip_bad: bool,
}

impl RrfRows {
    /// The rows to read, in these languages and from these sources.
    fn selection(&self, given: &RrfLanguages, sources: &[String]) -> Selection {
        Selection {
            languages: languages(&given.languages),
            sources: sources.to_vec(),
            suppressed: self.suppressed,
            obsolete: self.obsolete,
            skip_bad: self.skip_bad,
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
    /// Languages of names.
    #[command(flatten)]
    pub languages: RrfLanguages,
    /// Source vocabularies (SAB) to read names from [default: all]
    #[arg(long, value_name = "SAB,...", value_delimiter = ',')]
    pub sources: Vec<String>,
    /// Semantic types to read, by TUI or name [default: all]
    #[arg(long, value_name = "TUI,...", value_delimiter = ',')]
    pub semantic_types: Vec<String>,
    /// Which rows to read.
    #[command(flatten)]
    pub rows: RrfRows,
}

impl UmlsArgs {
    pub(super) fn terminology(&self) -> Terminology {
        Terminology::Umls(umls::Options {
            selection: self.rows.selection(&self.languages, &self.sources),
            semantic_types: self.semantic_types.clone(),
        })
    }
}

/// Options of `pel import snomed`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  pel import snomed SnomedCT_InternationalRF2/Snapshot --out snomed\n  \
    pel import snomed International.zip UnitedKingdom.zip --dialect GB --out snomed\n  \
    pel import snomed Snapshot --languages es,en --dialect 448879004 --out snomed"
)]
pub struct SnomedArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ReleaseArgs,
    /// Languages of names (languageCode), the preferred one first, or "all"
    #[arg(
        long,
        value_name = "CODE,...",
        value_delimiter = ',',
        default_value = "en"
    )]
    pub languages: Vec<String>,
    /// Language reference sets that say which names are preferred, the first one first: US, GB, or
    /// the identifier of another [default: US for English, else all of the release]
    #[arg(long, value_name = "SET,...", value_delimiter = ',', value_parser = dialect)]
    pub dialect: Vec<u64>,
    /// Read inactive concepts too
    #[arg(long)]
    pub inactive: bool,
    /// Count and skip invalid rows instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
}

impl SnomedArgs {
    pub(super) fn terminology(&self) -> Terminology {
        Terminology::Snomed(snomed::Options {
            selection: Selection {
                languages: languages(&self.languages),
                obsolete: self.inactive,
                skip_bad: self.skip_bad,
                ..Selection::default()
            },
            dialects: self.dialect.clone(),
        })
    }
}

/// Parses `US`, `GB` or the identifier of a reference set.
fn dialect(text: &str) -> Result<u64, String> {
    match text.trim().to_lowercase().as_str() {
        "us" | "en-us" => Ok(snomed::US_ENGLISH),
        "gb" | "en-gb" | "uk" => Ok(snomed::GB_ENGLISH),
        other => rf2::sctid(other).map_err(|_| {
            format!("expected US, GB or the identifier of a language reference set, found {text:?}")
        }),
    }
}

/// Options of `pel import rxnorm`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  pel import rxnorm RxNorm_full/rrf --out rxnorm\n  \
    pel import rxnorm RxNorm_full.zip --term-types IN,PIN,BN --out ingredients"
)]
pub struct RxnormArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ReleaseArgs,
    /// Term types of the concepts to read, the preferred one first
    #[arg(long, value_name = "TTY,...", value_delimiter = ',', default_values_t = rxnorm::TERM_TYPES.iter().map(|tty| (*tty).to_owned()))]
    pub term_types: Vec<String>,
    /// Languages of names.
    #[command(flatten)]
    pub languages: RrfLanguages,
    /// Source vocabularies (SAB) to read cross-references from [default: all]
    #[arg(long, value_name = "SAB,...", value_delimiter = ',')]
    pub sources: Vec<String>,
    /// Which rows to read.
    #[command(flatten)]
    pub rows: RrfRows,
}

impl RxnormArgs {
    pub(super) fn terminology(&self) -> Terminology {
        Terminology::Rxnorm(rxnorm::Options {
            selection: self.rows.selection(&self.languages, &self.sources),
            term_types: self.term_types.clone(),
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
