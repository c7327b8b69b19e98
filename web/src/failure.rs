//! Errors as JavaScript sees them: an `Error` with a sentence and a `code`.

use js_sys::{Error as JsError, Reflect};
use pel_kb::error::{Error, Kind};
use wasm_bindgen::JsValue;

/// What a call to the engine gives.
pub type Outcome<T> = Result<T, Failure>;

/// An error on its way to JavaScript.
#[derive(Debug)]
pub struct Failure {
    code: &'static str,
    message: String,
}

impl Failure {
    /// WebGPU was asked for and is not there.
    pub fn no_webgpu(cause: impl std::fmt::Display) -> Self {
        Self {
            code: "no-webgpu",
            message: format!("WebGPU cannot be used here: {cause}"),
        }
    }

    /// The bundle is of a later version of PEL.
    pub fn newer_bundle(cause: Error) -> Self {
        Self {
            code: "newer-bundle",
            message: cause.to_string(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            Kind::Artifact => "bundle",
            Kind::Device => "device",
            Kind::Interrupted => "cancelled",
            _ => "input",
        };
        Self {
            code,
            message: error.to_string(),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self {
            code: "input",
            message: format!("expected another shape: {error}"),
        }
    }
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        let error = JsError::new(&failure.message);
        // Setting a property of a fresh object cannot fail.
        let _ = Reflect::set(&error, &"code".into(), &failure.code.into());
        error.into()
    }
}
