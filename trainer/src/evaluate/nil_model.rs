//! Fits the NIL model on a split and adds its offsets to candidate scores.

use crate::data::split::{NilOf, Split};
use pel_shared::error::{Error, Result};
use pel_shared::nil::{NilFeatures, NilModel};
use pel_shared::score::Candidate;

/// The fewest mentions of each class from which a model is fitted by default.
const MIN_MENTIONS: usize = 1_000;

/// Fits a NIL model. `features` are those of the split's mentions. `wanted` is the choice of the
/// user. Without a choice a model is fitted if the split has 1,000 of each class.
/// Returns `None` if the score decides alone.
///
/// # Errors
/// If a model is wanted, and a higher score does not make a concept more likely on the split.
pub fn fit(
    split: &Split,
    features: &[Option<NilFeatures>],
    of: NilOf,
    wanted: Option<bool>,
) -> Result<Option<NilModel>> {
    let known = split
        .mentions
        .iter()
        .filter(|gold| gold.concept.is_some())
        .count();
    let nil = split
        .mentions
        .iter()
        .filter(|gold| gold.concept.is_none() && of.takes(gold))
        .count();
    let enough = known.min(nil) >= MIN_MENTIONS;
    if !wanted.unwrap_or(enough) || known == 0 || nil == 0 {
        return Ok(None);
    }
    let taken = split
        .mentions
        .iter()
        .zip(features)
        .filter(|(gold, _)| of.takes(gold));
    let examples: Vec<(NilFeatures, bool)> = taken
        .filter_map(|(gold, features)| Some((features.clone()?, gold.concept.is_some())))
        .collect();
    match NilModel::fit(&examples) {
        None if wanted.is_some() => Err(Error::input(format!(
            "--by nil-model: expected scores that are higher for mentions with a concept, found the opposite on the split {}",
            split.counts.split
        ))),
        model => Ok(model),
    }
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
