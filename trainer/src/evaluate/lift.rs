//! What signs beside the score add to it before it is compared with the threshold of NIL, fitted on a split.

use crate::data::split::{NilOf, Split};
use pel_shared::error::{Error, Result};
use pel_shared::nil::{NilFeatures, NilModel};
use pel_shared::score::Candidate;

/// Fewer mentions of a kind say too little about signs.
const FEW: usize = 1_000;

/// What the signs of the split add to scores; nothing where scores are to stand alone. `wanted` is whether they are to, if somebody
/// says so; else they do where the split has enough mentions of either kind.
///
/// # Errors
/// If they are wanted, and on the split a higher score does not speak for a concept.
pub fn fit(split: &Split, signs: &[Option<NilFeatures>], of: NilOf, wanted: Option<bool>) -> Result<Option<NilModel>> {
    let known = split.mentions.iter().filter(|gold| gold.concept.is_some()).count();
    let nil = split.mentions.iter().filter(|gold| gold.concept.is_none() && of.takes(gold)).count();
    let enough = known.min(nil) >= FEW;
    if !wanted.unwrap_or(enough) || known == 0 || nil == 0 {
        return Ok(None);
    }
    let taken = split.mentions.iter().zip(signs).filter(|(gold, _)| of.takes(gold));
    let shown: Vec<(NilFeatures, bool)> =
        taken.filter_map(|(gold, signs)| Some((signs.clone()?, gold.concept.is_some()))).collect();
    match NilModel::fit(&shown) {
        None if wanted.is_some() => Err(Error::input(format!(
            "--by lifted-score: on the split {} a higher score does not speak for a concept",
            split.counts.split
        ))),
        lift => Ok(lift),
    }
}

/// Adds to the scores of each mention what its signs say.
pub fn add(ranked: &mut [Vec<Candidate>], signs: &[Option<NilFeatures>], lift: &NilModel) {
    for (ranked, signs) in ranked.iter_mut().zip(signs) {
        let lift = signs.as_ref().map_or(0.0, |signs| lift.offset(signs));
        ranked.iter_mut().for_each(|candidate| candidate.score += lift);
    }
}
