//! Given spans: BRAT standoff or JSONL, in bytes, code points or UTF-16 units.

use pel_io::corpus_files::unpacked;
use pel_io::files::for_each_line_in;
use pel_io::limits::Bound;
use pel_io::text_encoding::TextEncoding;
use pel_kb::clean::breaks_line;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::report::Report;
use pel_text::detect::{Detected, Origin};
use pel_text::{Offsets, Span, in_order, text_of};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;

/// Note on a repeated annotation.
pub const DOUBLED: &str = "annotation that stands twice (read once)";
/// Note on a mention with several different annotations.
pub const SEVERAL: &str = "mention with several annotations (linked once)";

/// The given spans of a text.
#[derive(Debug, Default)]
pub struct Spans {
    /// The mentions in text order, without duplicates.
    pub mentions: Vec<Detected>,
    /// Notes with line numbers.
    pub report: Report,
}

/// The unit of a JSONL span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "api", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Unicode code points, as in Python and BRAT.
    #[default]
    CodePoints,
    /// Bytes of UTF-8.
    Bytes,
    /// UTF-16 code units, as in JavaScript.
    Utf16,
}

/// A fragment in JSONL: `[3, 9]` or `{"start": 3, "end": 9}`.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a fragment as [start, end] or {\"start\": .., \"end\": ..}"
)]
enum Fragment {
    Pair(usize, usize),
    Named { start: usize, end: usize },
}

#[derive(Deserialize)]
struct JsonRow {
    start: Option<usize>,
    end: Option<usize>,
    fragments: Option<Vec<Fragment>>,
    #[serde(default)]
    unit: Unit,
    text: Option<String>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// An annotation as in its file.
pub(crate) struct Row {
    /// Start and end of its fragments, in file order.
    pieces: Vec<(usize, usize)>,
    unit: Unit,
    text: Option<String>,
    /// Its type, concept or other fields, to tell annotations apart.
    pub label: String,
}

/// Reads the spans of one text. A file named `.ann` is BRAT standoff in code points: `T1<tab>Type 3
/// 9<tab>text`, or `0 4;10 18` for a discontinuous mention. Other files are JSONL: `{"start": 3,
/// "end": 9}` or `{"fragments": [[0, 4], [10, 18]]}`, with an optional `"unit"` (`"code_points"`,
/// the default, `"bytes"` or `"utf16"`) and an optional `"text"`, which is checked.
///
/// Fragments may have any order. Overlapping and adjacent fragments are joined, as are fragments
/// separated only by a line end, which is how BRAT writes a mention across lines.
///
/// # Errors
/// If a line is invalid, a span is out of range, or its text differs. The error names the line.
pub fn read(path: &Path, encoding: &TextEncoding, text: &str) -> Result<Spans> {
    let offsets = Offsets::new(text);
    let brat = is_brat(path);
    let mut spans = Spans::default();
    let mut seen: HashMap<Vec<Span>, Vec<String>> = HashMap::new();
    for_each_line_in(path, encoding, Bound::Spans, |number, line| {
        let Some(row) = (if brat {
            brat_row(line)?
        } else {
            json_row(line)?
        }) else {
            return Ok(());
        };
        let pieces = pieces(&row, text, &offsets)?;
        let place = || format!("{}: line {number}", path.display());
        match seen.get_mut(&pieces) {
            Some(labels) if labels.contains(&row.label) => spans.report.note(DOUBLED, place),
            Some(labels) => {
                spans.report.note(SEVERAL, place);
                labels.push(row.label);
            }
            None => {
                seen.insert(pieces.clone(), vec![row.label]);
                spans
                    .mentions
                    .extend(Detected::of_pieces(pieces, Origin::Given));
            }
        }
        Ok(())
    })?;
    spans.mentions.sort_unstable();
    Ok(spans)
}

/// Whether the file name ends in `.ann`, compressed or not.
fn is_brat(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    unpacked(&name).ends_with(".ann")
}

fn json_row(line: &str) -> Result<Option<Row>> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let row: JsonRow = serde_json::from_str(line)
        .map_err(|cause| Error::input("expected a span as JSON").caused_by(cause))?;
    let JsonRow {
        start,
        end,
        fragments,
        unit,
        text,
        more,
    } = row;
    let label = Value::Object(more).to_string();
    let extent = match (start, end) {
        (Some(start), Some(end)) => Some((start, end)),
        (None, None) => None,
        (Some(_), None) => {
            return Err(Error::input("the span has a `start` and no `end`"));
        }
        (None, Some(_)) => {
            return Err(Error::input("the span has an `end` and no `start`"));
        }
    };
    let pieces: Vec<(usize, usize)> = match (fragments, extent) {
        (Some(fragments), _) if !fragments.is_empty() => {
            let pair = |fragment| match fragment {
                Fragment::Pair(start, end) | Fragment::Named { start, end } => (start, end),
            };
            fragments.into_iter().map(pair).collect()
        }
        (_, Some(extent)) => vec![extent],
        _ => {
            return Err(Error::input(
                "the span has neither `start` and `end` nor `fragments`",
            ));
        }
    };
    let (first, last) = (
        pieces.iter().map(|piece| piece.0).min(),
        pieces.iter().map(|piece| piece.1).max(),
    );
    if let (Some((start, end)), Some(first), Some(last)) = (extent, first, last)
        && (start, end) != (first, last)
    {
        return Err(Error::input(format!(
            "expected fragments from `start` {start} to `end` {end}, found them from {first} to \
             {last}"
        )));
    }
    Ok(Some(Row {
        pieces,
        unit,
        text,
        label,
    }))
}

/// Parses a text-bound annotation. Other annotations (relations, notes) are not spans.
pub(crate) fn brat_row(line: &str) -> Result<Option<Row>> {
    if !line.starts_with('T') {
        return Ok(None);
    }
    let refuse = || {
        Error::input(format!(
            "expected `T1<tab>Type start end<tab>text`, several fragments as `start end;start \
             end`, found {line:?}"
        ))
    };
    let mut fields = line.splitn(3, '\t');
    let (_, place, text) = (
        fields.next(),
        fields.next().ok_or_else(refuse)?,
        fields.next(),
    );
    let (kind, places) = place.trim().split_once(' ').ok_or_else(refuse)?;
    let number = |number: &str| {
        number
            .parse::<usize>()
            .map_err(|cause| refuse().caused_by(cause))
    };
    let pieces =
        places.split(';').map(
            |piece| match piece.split_whitespace().collect::<Vec<_>>()[..] {
                [start, end] => Ok((number(start)?, number(end)?)),
                _ => Err(refuse()),
            },
        );
    let (pieces, text) = (pieces.collect::<Result<_>>()?, text.map(str::to_owned));
    Ok(Some(Row {
        pieces,
        unit: Unit::CodePoints,
        text,
        label: kind.to_owned(),
    }))
}

/// The given mention with these fragments, which may have any order.
///
/// # Errors
/// If there is no fragment, or one is empty, out of range or not on character borders.
pub fn mention(
    fragments: Vec<(usize, usize)>,
    unit: Unit,
    text: &str,
    offsets: &Offsets<'_>,
) -> Result<Detected> {
    let row = Row {
        pieces: fragments,
        unit,
        text: None,
        label: String::new(),
    };
    Detected::of_pieces(pieces(&row, text, offsets)?, Origin::Given)
        .ok_or_else(|| Error::input("the mention has no span"))
}

/// The fragments of a mention in bytes and text order.
pub(crate) fn pieces(row: &Row, text: &str, offsets: &Offsets<'_>) -> Result<Vec<Span>> {
    let byte = |at: usize| match row.unit {
        Unit::Bytes => Some(at),
        Unit::CodePoints => offsets.byte_of_code_point(at),
        Unit::Utf16 => offsets.byte_of_utf16(at),
    };
    let mut given = Vec::with_capacity(row.pieces.len());
    for (start, end) in &row.pieces {
        let (Some(first), Some(last)) = (byte(*start), byte(*end)) else {
            return Err(Error::input(format!(
                "expected a span within the text and on character borders, found {start}..{end}"
            )));
        };
        let span = Span::new(first, last);
        span.of(text)?;
        given.push(span);
    }
    let pieces = over_line_ends(text, in_order(given.clone()));
    if let Some(expected) = &row.text {
        check_text(expected, text, &given, &pieces).map_err(|why| {
            let places = row
                .pieces
                .iter()
                .map(|(start, end)| format!("{start}..{end}"))
                .collect::<Vec<_>>()
                .join(";");
            Error::input(format!("the span {places}: {why}"))
        })?;
    }
    Ok(pieces)
}

/// Joins fragments that are separated only by a line end and white space.
fn over_line_ends(text: &str, pieces: Vec<Span>) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let gap = joined
            .last()
            .and_then(|last| text.get(last.end..piece.start))
            .unwrap_or_default();
        let is_line_end =
            gap.contains(breaks_line) && gap.chars().all(|c| breaks_line(c) || c.is_whitespace());
        match joined.last_mut() {
            Some(last) if is_line_end => last.end = piece.end,
            _ => joined.push(piece),
        }
    }
    joined
}

/// Compares the text of an annotation with the document, up to white space. For several fragments,
/// tools write their texts in file or text order, perhaps with dots between, or the whole extent.
fn check_text(expected: &str, text: &str, given: &[Span], pieces: &[Span]) -> Result<()> {
    let words = |text: &str| {
        let words = text
            .split(|c: char| c.is_whitespace() || breaks_line(c))
            .filter(|word| !word.is_empty());
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let found = text_of(text, pieces)?;
    let mut sorted = given.to_vec();
    sorted.sort_unstable();
    let extent = pieces
        .first()
        .zip(pieces.last())
        .map(|(first, last)| vec![Span::new(first.start, last.end)]);
    let forms = [
        Some(pieces.to_vec()),
        Some(given.to_vec()),
        Some(sorted),
        extent,
    ];
    let dots = ["...", "…", "[...]"];
    let wanted = words(expected);
    let undotted: Vec<&String> = wanted
        .iter()
        .filter(|word| !dots.contains(&word.as_str()))
        .collect();
    for form in forms.into_iter().flatten() {
        let form_words = words(&text_of(text, &form)?);
        if form_words == wanted
            || pieces.len() > 1 && form_words.iter().eq(undotted.iter().copied())
        {
            return Ok(());
        }
    }
    Err(Error::input(format!(
        "expected {expected:?}, found {found:?}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans_of(name: &str, lines: &str, text: &str) -> Result<Spans> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, lines).expect("written");
        read(&path, &TextEncoding::default(), text)
    }

    fn read_as(name: &str, lines: &str, text: &str) -> Result<Vec<(usize, usize)>> {
        let spans = spans_of(name, lines, text)?;
        Ok(spans
            .mentions
            .iter()
            .map(|detected| (detected.span.start, detected.span.end))
            .collect())
    }

    /// The fragments of each mention, joined by `|`.
    fn texts(name: &str, lines: &str, text: &str) -> Vec<String> {
        let spans = spans_of(name, lines, text).expect(lines);
        let pieces = |found: &Detected| {
            found
                .pieces()
                .iter()
                .map(|piece| piece.of(text).expect("it fits").to_owned())
                .collect::<Vec<_>>()
                .join("|")
        };
        spans.mentions.iter().map(pieces).collect()
    }

    #[test]
    fn every_unit_finds_the_same_bytes() {
        let text = "😷 has fever"; // the emoji: 4 bytes, 1 code point, 2 UTF-16 units
        for (name, lines) in [
            (
                "a.ann",
                "T1\tSign 6 11\tfever\nR1\tx Arg1:T1\n#1\tnote T1\tx\n",
            ),
            ("A.ANN.gz", "\u{feff}T1\tSign 6 11\r\n"),
            (
                "a.jsonl",
                "{\"start\": 6, \"end\": 11, \"text\": \"fever\"}\n\n",
            ),
            (
                "b.jsonl",
                "{\"start\": 9, \"end\": 14, \"unit\": \"bytes\"}",
            ),
            (
                "c.jsonl",
                "{\"start\": 7, \"end\": 12, \"unit\": \"utf16\"}",
            ),
            ("d.jsonl", "{\"fragments\": [[7, 12]], \"unit\": \"utf16\"}"),
        ] {
            assert_eq!(read_as(name, lines, text).expect(name), [(9, 14)], "{name}");
        }
    }

    #[test]
    fn invalid_span_is_located() {
        for (name, lines, message) in [
            ("a.ann", "T1\tSign 5 10\tfever\n", "expected \"fever\""),
            ("a.ann", "T1\tSign 6\n", "T1<tab>"),
            ("a.ann", "T1\tSign 6 6\t\n", "it is empty"),
            ("a.ann", "T1\tSign x 9\tfever\n", "T1<tab>"),
            ("a.ann", "T1\tSign 2 5;6\thas fever\n", "T1<tab>"),
            ("a.ann", "T1\tSign 2 5;6 99\thas fever\n", "found 6..99"),
            (
                "a.ann",
                "T1\tSign 2 5;6 11\thas cough\n",
                "expected \"has cough\", found \"has fever\"",
            ),
            (
                "a.jsonl",
                "{\"start\": 6, \"end\": 99}",
                "expected a span within the text",
            ),
            (
                "a.jsonl",
                "{\"start\": 1, \"end\": 3, \"unit\": \"utf16\"}",
                "on character borders",
            ),
            ("a.jsonl", "{\"start\": 6}", "no `end`"),
            ("a.jsonl", "{\"fragments\": []}", "has neither"),
            (
                "a.jsonl",
                "{\"fragments\": [[2, 5, 7]]}",
                "expected a fragment as [start, end]",
            ),
            (
                "a.jsonl",
                "{\"start\": 2, \"end\": 9, \"fragments\": [[2, 5], [6, 11]]}",
                "them from 2 to 11",
            ),
        ] {
            let error = read_as(name, lines, "😷 has fever")
                .expect_err(lines)
                .to_string();
            assert!(
                error.contains(message) && error.contains("line 1"),
                "{error}"
            );
        }
    }

    const NOTE: &str = "Severe lung and left heart injuries; pain in the left knee.";

    #[test]
    fn fragments_may_have_any_order_and_adjacent_ones_are_joined() {
        for (line, found) in [
            ("T1\tDisorder 7 11;27 35\tlung injuries", "lung|injuries"),
            ("T1\tDisorder 27 35;7 11\tinjuries lung", "lung|injuries"),
            ("T1\tDisorder 27 35;7 11\tlung injuries", "lung|injuries"),
            (
                "T1\tDisorder 7 11;27 35\tlung ... injuries",
                "lung|injuries",
            ),
            (
                "T1\tDisorder 7 11;27 35\tlung and left heart injuries",
                "lung|injuries",
            ),
            ("T1\tDisorder 54 58;37 41\tknee pain", "pain|knee"),
            (
                "T1\tDisorder 21 35;27 35\theart injuries injuries",
                "heart injuries",
            ),
            (
                "T1\tDisorder 21 26;26 35\theart  injuries",
                "heart injuries",
            ),
        ] {
            assert_eq!(texts("a.ann", line, NOTE), [found], "{line}");
        }
        for line in [
            r#"{"fragments": [[27, 35], [7, 11]], "text": "lung injuries"}"#,
            r#"{"start": 7, "end": 35, "fragments": [{"start": 7, "end": 11}, {"start": 27, "end": 35}]}"#,
        ] {
            assert_eq!(texts("a.jsonl", line, NOTE), ["lung|injuries"], "{line}");
        }
    }

    #[test]
    fn fragments_around_a_line_end_are_joined() {
        let (lf, crlf) = ("Known heart\nfailure.", "Known heart \r\n failure.");
        assert_eq!(
            texts("a.ann", "T1\tD 6 11;12 19\theart failure", lf),
            ["heart\nfailure"]
        );
        assert_eq!(
            texts("a.ann", "T1\tD 6 11;15 22\theart failure", crlf),
            ["heart \r\n failure"]
        );
        assert_eq!(
            texts("a.ann", "T1\tD 6 19\theart failure", lf),
            ["heart\nfailure"]
        );
        // A space within a line separates fragments.
        assert_eq!(
            texts("a.ann", "T1\tD 0 5;6 11\tKnown heart", lf),
            ["Known|heart"]
        );
    }

    #[test]
    fn duplicate_annotations_are_noted_and_read_once() {
        for (name, lines) in [
            (
                "a.ann",
                "T1\tDisorder 7 11;27 35\tlung injuries\nT2\tDisorder 27 35;7 11\tlung injuries\n\
                 T3\tFinding 7 11;27 35\tlung injuries\nT4\tDisorder 21 26\theart\n",
            ),
            (
                "a.jsonl",
                "{\"fragments\": [[7, 11], [27, 35]], \"id\": \"D1\"}\n\
                 {\"fragments\": [[27, 35], [7, 11]], \"id\": \"D1\"}\n\
                 {\"start\": 7, \"end\": 35, \"fragments\": [[7, 11], [27, 35]], \"id\": \"D2\"}\n\
                 {\"start\": 21, \"end\": 26}\n",
            ),
        ] {
            assert_eq!(
                texts(name, lines, NOTE),
                ["lung|injuries", "heart"],
                "{name}"
            );
            let report = spans_of(name, lines, NOTE).expect("read").report;
            assert_eq!(
                (report.noted[DOUBLED], report.noted[SEVERAL]),
                (1, 1),
                "{name}"
            );
            assert!(
                report.examples[DOUBLED][0].ends_with(&format!("{name}: line 2")),
                "{:?}",
                report.examples
            );
            assert!(
                report.examples[SEVERAL][0].ends_with(&format!("{name}: line 3")),
                "{:?}",
                report.examples
            );
        }
    }
}
