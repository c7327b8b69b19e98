//! JSON texts.

use pel_shared::error::{Error, Result};
use serde::Serialize;

/// A value as JSON on one line.
///
/// # Errors
/// If it cannot be encoded.
pub fn compact(value: &(impl Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(value).map_err(|cause| Error::io("encoding JSON").caused_by(cause))
}

/// A value as indented JSON.
///
/// # Errors
/// If it cannot be encoded.
pub fn pretty(value: &(impl Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string_pretty(value).map_err(|cause| Error::io("encoding JSON").caused_by(cause))
}
