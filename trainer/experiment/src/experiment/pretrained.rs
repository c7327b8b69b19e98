//! Models of another corpus (BLINK, sections 5.2.2 and 5.2.3), which are measured and fine-tuned.

use super::Bench;
use pel_artifacts::models::{ModelSettings, TOWERS};
use pel_kb::error::{Context, Error, Result};
use pel_trainer::train::config::Config;
use std::path::Path;

/// The folders of the bi-encoder and of the ranker.
///
/// # Errors
/// If they are not given.
pub fn models<'a>(bench: &Bench<'a>) -> Result<[&'a Path; 2]> {
    let options = bench.options;
    match (
        options.pretrained.as_deref(),
        options.pretrained_ranker.as_deref(),
    ) {
        (Some(bi_encoder), Some(ranker)) => Ok([bi_encoder, ranker]),
        _ => Err(Error::input(
            "expected the models of another corpus: --pretrained and --pretrained-ranker",
        )),
    }
}

/// As [`models`], and checks the models before anything is trained.
///
/// # Errors
/// If they are not given, or one is not a model of `pel train`, or is of the other stage.
pub fn checked<'a>(bench: &Bench<'a>) -> Result<[&'a Path; 2]> {
    let [bi_encoder, ranker] = models(bench)?;
    settings(bi_encoder, false).context(|| "--pretrained".into())?;
    settings(ranker, true).context(|| "--pretrained-ranker".into())?;
    Ok([bi_encoder, ranker])
}

/// The configuration with a bi-encoder's own windows, towers and scores.
///
/// # Errors
/// If it is not a bi-encoder of `pel train`.
pub fn as_trained(folder: &Path, config: &Config) -> Result<Config> {
    let ModelSettings {
        view,
        reduction,
        scorer,
        ..
    } = settings(folder, false)?;
    let mut own = config.clone();
    own.view = view.into();
    own.model.tied = !folder.join(TOWERS[0]).is_dir();
    own.model.score = Some(reduction.score);
    own.model.pooling = reduction.pooling;
    own.model.scorer = scorer;
    Ok(own)
}

/// The settings of a model, if it is of the stage.
fn settings(folder: &Path, ranker: bool) -> Result<ModelSettings> {
    let found = match ModelSettings::read(folder)? {
        Some(settings) if settings.ranker == ranker => return Ok(settings),
        Some(_) if ranker => "a bi-encoder",
        Some(_) => "a ranker",
        None => "no pel.json",
    };
    let stage = if ranker { " --stage rank" } else { "" };
    Err(Error::input(format!(
        "{}: expected the model of `pel train{stage}`, found {found}",
        folder.display()
    )))
}
