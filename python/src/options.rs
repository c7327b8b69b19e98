//! The keyword options of linking.

use crate::errors;
use pel_kb::ConceptId;
use pel_kb::codes::System;
use pel_kb::error::{Context, Result};
use pel_linker::LinkOptions;
use pel_linker::bundle::Bundle;
use pel_notes::link::label_scheme;
use pel_notes::link::text_linker::{TextLinker, TextOptions};
use pel_text::detect::DetectOptions;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The most candidates of a mention, as in `pel link`.
pub const CANDIDATES: usize = 1000;

/// Reads the options that hold for all texts, and checks them against the bundle.
pub fn read(
    py: Python<'_>,
    given: Option<&Bound<'_, PyDict>>,
    linker: &TextLinker,
) -> PyResult<TextOptions> {
    let mut options = TextOptions::new(LinkOptions::default().k);
    let (mut threshold, mut labels) = (None::<f32>, None::<String>);
    let (mut overlapping, mut names_only) = (false, false);
    let (mut codes, mut under) = (None::<Vec<String>>, None::<Vec<String>>);
    for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
        let name: String = name.extract()?;
        if name == "k" {
            options.k = whole("k", &value, 1..=CANDIDATES)?;
            continue;
        }
        let read = match name.as_str() {
            "threshold" => take(&value, &mut threshold),
            "asserted" => take(&value, &mut options.asserted),
            "sets" => take(&value, &mut options.sets),
            "xrefs" if value.is_instance_of::<PyString>() => Err(PyTypeError::new_err(
                "expected a list of prefixes, found str",
            )),
            "xrefs" => take(&value, &mut options.xrefs),
            "codes" if value.is_instance_of::<PyString>() => Err(PyTypeError::new_err(
                "expected a list of code systems, found str",
            )),
            "codes" => take(&value, &mut codes),
            "under" if value.is_instance_of::<PyString>() => Err(PyTypeError::new_err(
                "expected a list of identifiers or codes, found str",
            )),
            "under" => take(&value, &mut under),
            "ancestors" => take(&value, &mut options.ancestors),
            "overlapping" => take(&value, &mut overlapping),
            "names_only" => take(&value, &mut names_only),
            "labels" => take(&value, &mut labels),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "expected an option of linking, found {name:?}"
                )));
            }
        };
        read.map_err(|error| errors::input(py, format!("{name}: {}", error.value(py))))?;
    }
    check_threshold(py, threshold, linker.linker.bundle())?;
    if options.xrefs.iter().flatten().any(String::is_empty) {
        return Err(errors::input(py, "xrefs: a prefix is empty"));
    }
    if names_only && labels.is_some() {
        return Err(errors::input(
            py,
            "labels: expected no names_only, which uses no detector",
        ));
    }
    let raised = |error| errors::raised(py, &error);
    options.codes = codes
        .map(|names| System::chosen(&names).context(|| "codes".to_owned()))
        .transpose()
        .map_err(raised)?;
    options.under = concepts_under(under, linker.linker.bundle()).map_err(raised)?;
    if options.ancestors {
        let hierarchy = linker.linker.bundle().needed_hierarchy();
        hierarchy
            .context(|| "ancestors".to_owned())
            .map_err(raised)?;
    }
    let scheme = label_scheme(labels.as_deref(), linker.linker.bundle()).map_err(raised)?;
    let reranked = linker.second.as_ref().map_or(0, |second| second.count);
    options.link = LinkOptions::default()
        .k(options.k.max(reranked))
        .threshold(threshold)
        .detect(DetectOptions {
            unknown_terms: !names_only,
            overlapping,
            names_only,
            scheme,
        });
    linker.check(&options).map_err(raised)?;
    Ok(options)
}

/// Refuses a threshold that no score or probability can have.
fn check_threshold(py: Python<'_>, threshold: Option<f32>, bundle: &Bundle) -> PyResult<()> {
    if let Some(value) = threshold.filter(|value| !value.is_finite()) {
        return Err(errors::input(
            py,
            format!("threshold: expected a number, found {value}"),
        ));
    }
    let by_probability = bundle.manifest.nil.probability.is_some();
    if let Some(value) = threshold.filter(|value| by_probability && !(0.0..=1.0).contains(value)) {
        return Err(errors::input(
            py,
            format!(
                "threshold: expected a probability from 0 to 1, found {value}; this bundle has \
                 probabilities"
            ),
        ));
    }
    Ok(())
}

/// The concepts of the option `under`, and those below.
fn concepts_under(
    given: Option<Vec<String>>,
    bundle: &Bundle,
) -> Result<Option<Arc<BTreeSet<ConceptId>>>> {
    let Some(ids) = given else {
        return Ok(None);
    };
    let mut all = BTreeSet::new();
    for id in &ids {
        all.extend(bundle.under(id.trim()).context(|| "under".to_owned())?);
    }
    Ok(Some(Arc::new(all)))
}

/// The code systems of names, as the option `codes` takes them.
#[pyfunction]
pub fn chosen_systems(py: Python<'_>, names: Vec<String>) -> PyResult<Vec<&'static str>> {
    let systems = System::chosen(&names).context(|| "codes".to_owned());
    let systems = systems.map_err(|error| errors::raised(py, &error))?;
    Ok(systems.into_iter().map(System::prefix).collect())
}

/// Reads an option that is a whole number within limits.
pub fn whole(
    name: &str,
    value: &Bound<'_, PyAny>,
    limits: RangeInclusive<usize>,
) -> PyResult<usize> {
    let py = value.py();
    let message = match value.extract::<usize>() {
        Ok(number) if limits.contains(&number) => return Ok(number),
        Err(error) if !error.is_instance_of::<PyOverflowError>(py) => {
            format!("{name}: {}", error.value(py))
        }
        _ => format!(
            "{name}: expected {} to {}, found {value}",
            limits.start(),
            limits.end()
        ),
    };
    Err(errors::input(py, message))
}

/// Converts a value from Python.
fn take<'a, 'py, T: FromPyObject<'a, 'py>>(
    value: &'a Bound<'py, PyAny>,
    into: &mut T,
) -> PyResult<()> {
    *into = value.extract().map_err(Into::into)?;
    Ok(())
}
