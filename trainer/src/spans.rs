//! Spans that a user brings: BRAT standoff or JSONL, in their own units.

use crate::files::for_each_line_in;
use crate::text_encoding::TextEncoding;
use pel_shared::detect::{Detected, Origin};
use pel_shared::error::{Error, Result};
use pel_shared::text::{Offsets, Span};
use serde::Deserialize;
use std::path::Path;

/// What a JSONL span counts in.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unit {
    #[default]
    CodePoints,
    Bytes,
    Utf16,
}

#[derive(Deserialize)]
struct Row {
    start: usize,
    end: usize,
    #[serde(default)]
    unit: Unit,
    text: Option<String>,
}

/// Reads the spans of one text. A name that ends in `.ann` is BRAT standoff (`T1<tab>Type 3 9<tab>text`, code points),
/// anything else is JSONL: `{"start": 3, "end": 9}`, with `"unit": "code_points"` (the default), `"bytes"` or `"utf16"`,
/// and optionally the `"text"` that should stand there.
///
/// # Errors
/// If a line has another form, a span lies outside the text, or the text under it is another one: the line is named.
pub fn read(path: &Path, encoding: &TextEncoding, text: &str) -> Result<Vec<Detected>> {
    let offsets = Offsets::new(text);
    let brat = path.extension().is_some_and(|extension| extension == "ann");
    let mut found = Vec::new();
    for_each_line_in(path, encoding, |_, line| {
        let row = if brat { brat_row(line)? } else { json_row(line)? };
        if let Some(row) = row {
            found.push(Detected { span: span(&row, text, &offsets)?, origin: Origin::Given });
        }
        Ok(())
    })?;
    found.sort_unstable_by_key(|detected| (detected.span.start, detected.span.end));
    found.dedup();
    Ok(found)
}

fn json_row(line: &str) -> Result<Option<Row>> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let row = serde_json::from_str(line).map_err(|cause| Error::input("expected a span as JSON").caused_by(cause))?;
    Ok(Some(row))
}

/// A text-bound annotation; other kinds of lines (relations, notes) are not spans. Of a discontinuous one the whole
/// extent is taken.
fn brat_row(line: &str) -> Result<Option<Row>> {
    if !line.starts_with('T') {
        return Ok(None);
    }
    let refuse = || Error::input("expected `T1<tab>Type start end<tab>text`");
    let mut fields = line.splitn(3, '\t');
    let (_, place, text) = (fields.next(), fields.next().ok_or_else(refuse)?, fields.next());
    let numbers: Vec<usize> = place
        .split([' ', ';'])
        .skip(1)
        .map(|number| number.parse().map_err(|cause: std::num::ParseIntError| refuse().caused_by(cause)))
        .collect::<Result<_>>()?;
    let [start, .., end] = numbers.as_slice() else { return Err(refuse()) };
    let text = text.filter(|_| numbers.len() == 2).map(str::to_owned);
    Ok(Some(Row { start: *start, end: *end, unit: Unit::CodePoints, text }))
}

fn span(row: &Row, text: &str, offsets: &Offsets<'_>) -> Result<Span> {
    let byte = |at: usize| match row.unit {
        Unit::Bytes => Some(at),
        Unit::CodePoints => offsets.byte_of_code_point(at),
        Unit::Utf16 => offsets.byte_of_utf16(at),
    };
    let (Some(start), Some(end)) = (byte(row.start), byte(row.end)) else {
        return Err(Error::input(format!(
            "the span {}..{} lies outside the text or inside a character",
            row.start, row.end
        )));
    };
    let span = Span::new(start, end);
    let found = span.of(text)?;
    // BRAT writes line breaks inside a mention as blanks.
    let flat = |text: &str| text.replace(['\n', '\r'], " ");
    match &row.text {
        Some(expected) if flat(expected) != flat(found) => Err(Error::input(format!(
            "the span {}..{}: expected {expected:?}, the text has {found:?}",
            row.start, row.end
        ))),
        _ => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(name: &str, lines: &str, text: &str) -> Result<Vec<(usize, usize)>> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, lines).expect("written");
        Ok(read(&path, &TextEncoding::default(), text)?
            .iter()
            .map(|detected| (detected.span.start, detected.span.end))
            .collect())
    }

    #[test]
    fn every_unit_finds_the_same_bytes() {
        let text = "😷 has fever"; // the emoji: 4 bytes, 1 code point, 2 UTF-16 units
        for (name, lines) in [
            ("a.ann", "T1\tSign 6 11\tfever\nR1\tx Arg1:T1\n#1\tnote T1\tx\n"),
            ("a.jsonl", "{\"start\": 6, \"end\": 11, \"text\": \"fever\"}\n\n"),
            ("b.jsonl", "{\"start\": 9, \"end\": 14, \"unit\": \"bytes\"}"),
            ("c.jsonl", "{\"start\": 7, \"end\": 12, \"unit\": \"utf16\"}"),
        ] {
            assert_eq!(read_as(name, lines, text).expect(name), [(9, 14)], "{name}");
        }
    }

    #[test]
    fn a_span_that_does_not_fit_is_named() {
        for (name, lines, said) in [
            ("a.ann", "T1\tSign 5 10\tfever\n", "expected \"fever\""),
            ("a.ann", "T1\tSign 6\n", "T1<tab>"),
            ("a.ann", "T1\tSign 6 6\t\n", "it is empty"),
            ("a.ann", "T1\tSign x 9\tfever\n", "T1<tab>"),
            ("a.jsonl", "{\"start\": 6, \"end\": 99}", "outside the text"),
            ("a.jsonl", "{\"start\": 1, \"end\": 3, \"unit\": \"utf16\"}", "inside a character"),
            ("a.jsonl", "{\"start\": 6}", "end"),
        ] {
            let error = read_as(name, lines, "😷 has fever").expect_err(lines).to_string();
            assert!(error.contains(said) && error.contains("line 1"), "{error}");
        }
    }
}
