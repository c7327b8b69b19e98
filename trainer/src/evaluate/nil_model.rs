//! Fits the NIL model on a split and adds its offsets to candidate scores.

use crate::data::split::{NilOf, Split};
use pel_shared::error::{Error, Result};
use pel_shared::nil::{NilFeatures, NilModel};
use pel_shared::score::Candidate;

/// Fits a NIL model. `features` are those of the split's mentions.
///
/// # Errors
/// If the split has mentions of one class alone, or a higher score does not make a concept more
/// likely on it.
pub fn fit(split: &Split, features: &[Option<NilFeatures>], of: NilOf) -> Result<NilModel> {
    let taken = split
        .mentions
        .iter()
        .zip(features)
        .filter(|(gold, _)| of.takes(gold));
    let examples: Vec<(NilFeatures, bool)> = taken
        .filter_map(|(gold, features)| Some((features.clone()?, gold.concept.is_some())))
        .collect();
    NilModel::fit(&examples).ok_or_else(|| {
        Error::input(format!(
            "--by nil-model: expected scores that are higher for mentions with a concept, found \
             the opposite on the split {}",
            split.counts.split
        ))
    })
}

/// Adds the model's offset to all candidate scores of each mention.
pub fn add_offsets(
    ranked: &mut [Vec<Candidate>],
    features: &[Option<NilFeatures>],
    model: &NilModel,
) {
    for (ranked, features) in ranked.iter_mut().zip(features) {
        let offset = features
            .as_ref()
            .map_or(0.0, |features| model.offset(features));
        ranked
            .iter_mut()
            .for_each(|candidate| candidate.score += offset);
    }
}
