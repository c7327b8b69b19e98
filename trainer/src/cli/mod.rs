//! The commands of `pel`, one file each.

pub mod bench;
pub mod calibrate;
pub mod candidates;
pub mod devices;
pub mod explain;
pub mod export;
pub mod index;
pub mod inspect;
pub mod link;
pub mod score_weights;
pub mod serve;
pub mod split;
pub mod train;

/// Reads a score: any number but those that compare with nothing or with everything.
fn finite(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("expected a number, found {text:?}")),
    }
}
