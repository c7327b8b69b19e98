//! The commands of `pel`, one file each, with arguments and `run`.

pub mod bench;
pub mod calibrate;
pub mod candidates;
mod choices;
pub mod compact;
mod conversion;
pub mod devices;
pub mod diff;
pub mod evaluate;
pub mod experiment;
pub mod explain;
pub mod export;
pub mod export_corpus;
pub mod export_vectors;
pub mod import;
pub mod index;
pub mod inspect;
pub mod link;
pub mod map;
pub mod pack;
pub mod pretrain;
pub mod serve;
pub mod split;
pub mod train;
mod training;
pub mod update;

/// Parses a finite number.
fn finite(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("expected a number, found {text:?}")),
    }
}
