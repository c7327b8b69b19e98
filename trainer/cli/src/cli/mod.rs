//! The commands of `pel`, one file each, with arguments and `run`.

pub mod bench;
pub mod calibrate;
pub mod candidates;
mod choices;
pub mod code_args;
mod compact;
mod compute;
mod conversion;
pub mod convert;
pub mod count;
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
mod link_args;
mod link_tables;
mod listening;
pub mod map;
pub mod pack;
pub mod pretrain;
mod program;
pub mod serve;
#[cfg(feature = "api")]
mod serve_api;
pub mod split;
pub mod train;
mod training;
mod under;
pub mod update;

pub use program::{exit_code, main};

use pel_kb::error::Error;
use pel_linker::bundle::Bundle;

/// Checks the threshold of `--threshold` for a bundle, as the linker has it: a bundle with
/// probabilities compares them with it.
fn check_threshold(threshold: Option<f32>, bundle: &Bundle) -> Result<(), Error> {
    match threshold.filter(|_| bundle.manifest.nil.probability.is_some()) {
        Some(threshold) if !(0.0..=1.0).contains(&threshold) => Err(Error::input(format!(
            "--threshold: expected a probability from 0 to 1, found {threshold}; this bundle has \
             probabilities"
        ))),
        _ => Ok(()),
    }
}

/// Parses a finite number.
fn finite(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("expected a number, found {text:?}")),
    }
}
