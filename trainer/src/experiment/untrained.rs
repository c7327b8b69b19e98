//! How an encoder is searched that was not trained.

use crate::train::config::Config;
use pel_shared::score::Similarity;

/// The configuration with cosines, whatever trained rows compare: raw dot products of vectors that were never trained for them say nothing.
pub(super) fn by_cosine(mut config: Config) -> Config {
    config.model.score = Some(Similarity::Cosine);
    config
}
