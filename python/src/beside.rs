//! Attributes and relations of links as Python objects.

use pel_kb::error::{Error, Result};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;

/// What stands beside a mention.
#[pyclass(frozen, eq, module = "pel_linker")]
#[derive(Clone, PartialEq, Deserialize)]
pub struct Attribute {
    name: String,
    #[serde(rename = "start_code_point")]
    start: usize,
    #[serde(rename = "end_code_point")]
    end: usize,
    text: String,
    value: Value,
    #[serde(default)]
    prior: bool,
}

/// A relation to another mention.
#[pyclass(frozen, eq, module = "pel_linker")]
#[derive(Clone, PartialEq, Deserialize)]
pub struct Relation {
    name: String,
    #[serde(rename = "start_code_point")]
    start: usize,
    #[serde(rename = "end_code_point")]
    end: usize,
    text: String,
}

/// The attributes and relations of a link.
#[derive(Default, Deserialize)]
pub struct Beside {
    /// In the order of the text.
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    /// In the order of their targets.
    #[serde(default)]
    pub relations: Vec<Relation>,
}

impl Beside {
    /// Those of a link as a line of JSON.
    ///
    /// # Errors
    /// If the line is not that of a link.
    pub fn of(line: &str) -> Result<Self> {
        serde_json::from_str(line).map_err(|cause| Error::io("reading JSON").caused_by(cause))
    }
}

#[pymethods]
impl Attribute {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn start(&self) -> usize {
        self.start
    }

    #[getter]
    fn end(&self) -> usize {
        self.end
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::links::parsed(py, Ok(self.value.to_string()))
    }

    #[getter]
    fn prior(&self) -> bool {
        self.prior
    }

    /// Without the words, which may be a patient's.
    fn __repr__(&self) -> String {
        format!(
            "<pel_linker.Attribute {} {}:{}>",
            self.name, self.start, self.end
        )
    }
}

#[pymethods]
impl Relation {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn start(&self) -> usize {
        self.start
    }

    #[getter]
    fn end(&self) -> usize {
        self.end
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Without the words, which may be a patient's.
    fn __repr__(&self) -> String {
        format!(
            "<pel_linker.Relation {} {}:{}>",
            self.name, self.start, self.end
        )
    }
}
