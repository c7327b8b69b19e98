//! Errors of PEL as Python exceptions. Their classes are in `pel_linker/_errors.py`.

use pel_kb::error::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The exception of an error.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error.kind() {
        Kind::Usage => "UsageError",
        Kind::Input => "InputError",
        Kind::Artifact => "ArtifactError",
        Kind::Device => "DeviceError",
        Kind::Io => "FileError",
        Kind::Interrupted => "Interrupted",
        _ => "Error",
    };
    exception(py, name, error.to_string())
}

/// The exception of a panic. `place` is a source file and line.
pub fn internal(py: Python<'_>, place: &str) -> PyErr {
    let message = format!("internal error at {place}, please report it");
    exception(py, "InternalError", message)
}

/// Invalid input.
pub fn input(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raised(py, &Error::input(message))
}

fn exception(py: Python<'_>, name: &str, message: String) -> PyErr {
    let class = py
        .import("pel_linker._errors")
        .and_then(|module| module.getattr(name))
        .and_then(|class| Ok(class.cast_into::<PyType>()?));
    match class {
        Ok(class) => PyErr::from_type(class, message),
        Err(error) => error,
    }
}
