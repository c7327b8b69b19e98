//! The options of compacting a model.

use clap::Args;
use std::path::PathBuf;

/// The options of `pel compact`.
#[derive(Debug, Args)]
pub struct Options {
    /// The model: a folder that `pel train` wrote
    pub model: PathBuf,
    /// The concept tables whose texts must keep their pieces; the projection keeps the first one's
    /// similarities
    #[arg(long, required = true)]
    pub kb: Vec<PathBuf>,
    /// Corpora whose documents must keep their pieces
    #[arg(long)]
    pub corpus: Vec<PathBuf>,
    /// Text files whose lines must keep their pieces
    #[arg(long)]
    pub text: Vec<PathBuf>,
    /// Drop pieces that these texts use fewer times than this; 0 keeps the whole vocabulary
    #[arg(long, default_value_t = 1)]
    pub min_count: u32,
    /// Project vectors to this number of dimensions
    #[arg(long)]
    pub dim: Option<usize>,
    /// Only measure indexes over the first concept table with these numbers of dimensions, in each
    /// precision
    #[arg(long, value_delimiter = ',', requires = "corpus", conflicts_with_all = ["out", "dim"])]
    pub curve: Vec<usize>,
    /// Split of the first corpus to measure the curve on
    #[arg(long, default_value = "dev")]
    pub split: String,
    /// Mentions to measure the curve on, equally spaced
    #[arg(long, default_value_t = 2500)]
    pub mentions: usize,
    /// Encode in bfloat16: much faster on a processor with AMX or AVX-512 BF16
    #[arg(long)]
    pub bf16: bool,
}
