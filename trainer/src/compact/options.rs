//! The options of making a model smaller.

use clap::Args;
use std::path::PathBuf;

/// Which model is made smaller by which texts; `pel compact` reads it from its command line.
#[derive(Debug, Args)]
pub struct Options {
    /// The model: a folder that `pel train` wrote
    pub model: PathBuf,
    /// The concept tables whose texts must keep their pieces; the projection keeps the first one's similarities
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
    /// Project vectors to so many dimensions
    #[arg(long)]
    pub dim: Option<usize>,
    /// Only measure what an index over the first concept table loses with so many dimensions, in each precision
    #[arg(long, value_delimiter = ',', requires = "corpus", conflicts_with_all = ["out", "dim"])]
    pub curve: Vec<usize>,
    /// The split of the first corpus on which the curve is measured
    #[arg(long, default_value = "dev")]
    pub split: String,
    /// Measure the curve on so many mentions, at equal steps
    #[arg(long, default_value_t = 2500)]
    pub mentions: usize,
    /// Encode in bfloat16: much faster on a processor with AMX or AVX-512 BF16
    #[arg(long)]
    pub bf16: bool,
}
