//! Given mentions, in code points.

use crate::errors;
use pel_kb::error::{Error, Result};
use pel_text::detect::{Detected, Origin};
use pel_text::{Offsets, Span};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString};

/// The given mentions of a text: start and end of the fragments of each.
pub type Given = Vec<Vec<(usize, usize)>>;

const EXPECTED: &str = "(start, end), or a list of such pairs, in code points";

/// Reads the given mentions of several texts from Python.
pub fn read(spans: &Bound<'_, PyAny>) -> PyResult<Vec<Given>> {
    let all = items(spans)?
        .enumerate()
        .map(|(at, of_text)| read_text(at, &of_text?));
    all.collect()
}

fn read_text(at: usize, spans: &Bound<'_, PyAny>) -> PyResult<Given> {
    let mentions = items(spans)?.map(|mention| {
        let mention = mention?;
        fragments(&mention).map_err(|_| {
            errors::input(
                mention.py(),
                format!("spans: text {at}: expected mentions as {EXPECTED}"),
            )
        })
    });
    mentions.collect()
}

fn fragments(mention: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, usize)>> {
    if let Ok(pair) = pair(mention) {
        return Ok(vec![pair]);
    }
    items(mention)?.map(|fragment| pair(&fragment?)).collect()
}

fn pair(value: &Bound<'_, PyAny>) -> PyResult<(usize, usize)> {
    let [start, end] = value.extract::<Vec<usize>>()?[..] else {
        return Err(errors::input(
            value.py(),
            format!("spans: expected {EXPECTED}"),
        ));
    };
    Ok((start, end))
}

/// Iterates over a value that is no string.
fn items<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    if value.is_instance_of::<PyString>() {
        return Err(errors::input(
            value.py(),
            format!("spans: expected mentions as {EXPECTED}, found a string"),
        ));
    }
    value.try_iter()
}

/// The given mentions of texts in bytes, in the order of each text and without duplicates.
///
/// # Errors
/// If a span is empty or not within its text.
pub fn detected(texts: &[String], given: Vec<Given>) -> Result<Vec<Vec<Detected>>> {
    if texts.len() != given.len() {
        return Err(Error::input(format!(
            "spans: expected one list for each of {} texts, found {} lists",
            texts.len(),
            given.len()
        )));
    }
    let one = |(at, (text, given)): (usize, (&String, Given))| {
        let offsets = Offsets::new(text);
        let mut mentions = Vec::with_capacity(given.len());
        for fragments in given {
            let pieces = fragments
                .iter()
                .map(|span| in_bytes(*span, &offsets))
                .collect::<Option<Vec<_>>>()
                .and_then(|pieces| Detected::of_pieces(pieces, Origin::Given));
            mentions.push(pieces.ok_or_else(|| {
                Error::input(format!(
                    "spans: text {at}: expected code points of a text of {}, found {fragments:?}",
                    offsets.code_point(text.len())
                ))
            })?);
        }
        mentions.sort_unstable();
        mentions.dedup();
        Ok(mentions)
    };
    texts.iter().zip(given).enumerate().map(one).collect()
}

fn in_bytes((start, end): (usize, usize), offsets: &Offsets<'_>) -> Option<Span> {
    let span = Span::new(
        offsets.byte_of_code_point(start)?,
        offsets.byte_of_code_point(end)?,
    );
    (start < end).then_some(span)
}
