//! Rows of tables with one delimiter character, such as CSV and TSV.
//!
//! The `csv` crate does not report malformed quotes: an unclosed quote swallows the following rows,
//! and a field grows without a limit. Here a misplaced or unclosed quote is an error with its line,
//! and rows have a limit.

use super::{Input, Longest, not_utf8};
use pel_kb::error::{Context, Error, Result};
use pel_kb::lines::Lines;
use std::io::BufRead;

/// The default limit of a row in bytes.
pub const LONGEST_ROW: usize = 16 << 20;

/// The reason for skipping a row with text after the closing quote of a cell.
pub const BAD_QUOTE: &str = "text after the closing quote of a cell";

/// The meaning of quotation marks in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// A quoted cell may span lines; two quotes in it are one quote (RFC 4180).
    Csv,
    /// A cell that is quoted as a whole is unquoted; other quotes are ordinary characters. No cell
    /// spans lines.
    Cells,
    /// Quotes are ordinary characters.
    None,
}

impl Quoting {
    /// The default quoting of a delimiter. Tables with tabs or vertical bars (Athena, RF2, UMLS)
    /// have names with unpaired quotes; others follow RFC 4180.
    #[must_use]
    pub fn usual(delimiter: u8) -> Self {
        match delimiter {
            b'\t' | b'|' => Self::Cells,
            _ => Self::Csv,
        }
    }
}

/// A row: the bytes of its cells, concatenated.
#[derive(Debug, Default)]
pub(super) struct Row {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The number of its first line, from 1.
    pub line: usize,
    /// The number of lines that it spans.
    pub lines: usize,
    /// Why the row is invalid, if the following rows can still be read.
    pub fault: Option<String>,
}

impl Row {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.fault = None;
    }

    fn end_cell(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    fn cell(&self, at: usize) -> &[u8] {
        let start = at
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The cells as strings.
    ///
    /// # Errors
    /// For a cell that is not UTF-8: its column from 1, its bytes, and the offset of the invalid
    /// byte.
    pub fn texts(&self) -> std::result::Result<Vec<&str>, (usize, &[u8], usize)> {
        let text = |at| {
            std::str::from_utf8(self.cell(at))
                .map_err(|error| (at + 1, self.cell(at), error.valid_up_to()))
        };
        (0..self.len()).map(text).collect()
    }
}

/// The state of the parser of quoted rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a cell.
    Start,
    /// In an unquoted cell.
    Bare,
    /// In quotes.
    Quoted,
    /// After a quote, which closes the cell unless another follows.
    Closed,
    /// After a closing quote and blanks.
    Over,
}

/// The rows of a table.
pub(super) struct Rows<'a> {
    name: &'a str,
    lines: Lines<'a>,
    longest: usize,
    delimiter: u8,
    quoting: Quoting,
    /// Whether line ends in cells stay as they are, instead of becoming LF.
    exact: bool,
    line: Vec<u8>,
    /// Whether `line` has not been consumed yet.
    peeked: bool,
}

impl<'a> Rows<'a> {
    /// The rows of a reader, each of at most `longest` bytes.
    ///
    /// # Errors
    /// If the first bytes cannot be read.
    pub fn new(name: &'a str, reader: &'a mut dyn BufRead, longest: usize) -> Result<Self> {
        let lines = Lines::new(
            name,
            reader,
            Longest {
                bytes: longest,
                remedy: " (see --max-row)",
            },
        )?;
        Ok(Self {
            name,
            lines,
            longest,
            delimiter: b',',
            quoting: Quoting::Csv,
            exact: false,
            line: Vec::new(),
            peeked: false,
        })
    }

    /// Sets the delimiter and quoting of the following rows.
    pub fn set(&mut self, delimiter: u8, quoting: Quoting) {
        self.delimiter = delimiter;
        self.quoting = quoting;
    }

    /// The next line that is not empty, without consuming it; `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read or is too long.
    pub fn peek(&mut self) -> Result<Option<&[u8]>> {
        while !self.peeked {
            if !self.lines.next(&mut self.line)? {
                return Ok(None);
            }
            self.peeked = !self.line.is_empty();
        }
        Ok(Some(&self.line))
    }

    /// Consumes the line of [`Rows::peek`].
    pub fn skip_line(&mut self) {
        self.peeked = false;
    }

    /// Reads the next row; `false` at the end. Empty lines are ignored.
    ///
    /// # Errors
    /// If the text cannot be read, the row is too long, or a quote is not closed or is closed on a
    /// later line inside a cell.
    pub fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        if self.peek()?.is_none() {
            return Ok(false);
        }
        self.peeked = false;
        row.line = self.lines.number();
        row.lines = 1;
        if self.quoting != Quoting::Csv {
            split_cells(&self.line, self.delimiter, self.quoting, row);
            return Ok(true);
        }
        let mut state = State::Start;
        loop {
            if let Err(column) = parse_quoted(&self.line, self.delimiter, &mut state, row) {
                let name = self.name;
                let line = row.line;
                let last = row.line + row.lines - 1;
                if row.lines == 1 {
                    row.fault = Some(format!(
                        "line {line}: expected the end of the cell after its closing quote in \
                         column {column}, found more text: double a quote inside a cell, or set \
                         --no-quotes if quotes are ordinary characters"
                    ));
                    return Ok(true);
                }
                return Err(Error::input(format!(
                    "{name}: line {line}: expected a closing quote at the end of a cell, found it \
                     inside a cell in line {last}: set --no-quotes if quotes are ordinary \
                     characters"
                )));
            }
            if state != State::Quoted {
                row.end_cell();
                return Ok(true);
            }
            row.bytes.extend_from_slice(match self.exact {
                true => self.lines.end(),
                false => b"\n",
            });
            let start = row.line;
            if row.bytes.len() > self.longest {
                let name = self.name;
                let limit = self.longest >> 20;
                return Err(Error::input(format!(
                    "{name}: line {start}: expected a row of at most {limit} MiB, found more: is a \
                     quote in it never closed? See --no-quotes and --max-row"
                )));
            }
            if !self.lines.next(&mut self.line)? {
                return Err(Error::input(format!(
                    "{}: line {start}: expected a closing quote for this row, found the end of the \
                     file: set --no-quotes if quotes are ordinary characters",
                    self.name
                )));
            }
            row.lines += 1;
        }
    }
}

/// Calls `each` with the line number and the cells of every row, and the input's `tick` before it.
/// Empty lines are ignored. Instead of the cells, `each` is given the reason why a row is invalid
/// if the following rows can still be read. A line end within a cell becomes LF.
///
/// # Errors
/// If the text cannot be read, a row exceeds `longest` bytes, or a quote is not closed or is closed
/// on a later line inside a cell. The errors of `tick`, and of `each` with name and line.
pub fn for_each_row(
    input: Input<'_>,
    layout: (u8, Quoting),
    longest: usize,
    each: impl FnMut(usize, std::result::Result<Vec<&str>, String>) -> Result<()>,
) -> Result<()> {
    each_row(input, layout, longest, false, each)
}

/// As [`for_each_row`], but line ends within cells stay as they are, so that offsets in a cell are
/// those of the file.
///
/// # Errors
/// As [`for_each_row`].
pub fn for_each_exact_row(
    input: Input<'_>,
    layout: (u8, Quoting),
    longest: usize,
    each: impl FnMut(usize, std::result::Result<Vec<&str>, String>) -> Result<()>,
) -> Result<()> {
    each_row(input, layout, longest, true, each)
}

fn each_row(
    input: Input<'_>,
    (delimiter, quoting): (u8, Quoting),
    longest: usize,
    exact: bool,
    mut each: impl FnMut(usize, std::result::Result<Vec<&str>, String>) -> Result<()>,
) -> Result<()> {
    let Input {
        name, reader, tick, ..
    } = input;
    let mut rows = Rows::new(name, reader, longest)?;
    rows.set(delimiter, quoting);
    rows.exact = exact;
    let mut row = Row::default();
    while rows.next(&mut row)? {
        tick()?;
        let line = row.line;
        let cells = match row.fault.take() {
            // The line is added below.
            Some(fault) => Err(fault
                .strip_prefix(&format!("line {line}: "))
                .unwrap_or(&fault)
                .to_owned()),
            None => row
                .texts()
                .map_err(|(column, bytes, at)| not_utf8(bytes, at, &format!("of column {column}"))),
        };
        each(line, cells).context(|| format!("{name}: line {line}"))?;
    }
    Ok(())
}

/// Parses one line of a row with CSV quoting. The error is the column of a misplaced quote.
fn parse_quoted(
    line: &[u8],
    delimiter: u8,
    state: &mut State,
    row: &mut Row,
) -> std::result::Result<(), usize> {
    for &byte in line {
        *state = match *state {
            State::Quoted if byte == b'"' => State::Closed,
            State::Quoted => {
                row.bytes.push(byte);
                State::Quoted
            }
            _ if byte == delimiter => {
                row.end_cell();
                State::Start
            }
            State::Start if byte == b'"' => State::Quoted,
            State::Start | State::Bare => {
                row.bytes.push(byte);
                State::Bare
            }
            State::Closed if byte == b'"' => {
                row.bytes.push(byte);
                State::Quoted
            }
            State::Closed | State::Over if matches!(byte, b' ' | b'\t') => State::Over,
            State::Closed | State::Over => return Err(row.len() + 1),
        };
    }
    Ok(())
}

fn split_cells(line: &[u8], delimiter: u8, quoting: Quoting, row: &mut Row) {
    for cell in line.split(|byte| *byte == delimiter) {
        match unquoted(cell).filter(|_| quoting == Quoting::Cells) {
            Some(inner) => row.bytes.extend_from_slice(&inner),
            None => row.bytes.extend_from_slice(cell),
        }
        row.end_cell();
    }
}

/// The content of a cell that is quoted as a whole; `None` for other cells.
fn unquoted(cell: &[u8]) -> Option<Vec<u8>> {
    let inner = cell.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(&byte) = bytes.next() {
        if byte == b'"' && bytes.next() != Some(&b'"') {
            return None;
        }
        text.push(byte);
    }
    Some(text)
}

/// The cells of one line as strings; `None` if it is not UTF-8 or not a complete row.
pub(super) fn cells_of(line: &[u8], delimiter: u8, quoting: Quoting) -> Option<Vec<String>> {
    let mut row = Row::default();
    if quoting == Quoting::Csv {
        let mut state = State::Start;
        parse_quoted(line, delimiter, &mut state, &mut row).ok()?;
        row.end_cell();
        if state == State::Quoted {
            return None;
        }
    } else {
        split_cells(line, delimiter, quoting, &mut row);
    }
    Some(row.texts().ok()?.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(
        text: &str,
        delimiter: u8,
        quoting: Quoting,
        longest: usize,
    ) -> Result<Vec<(usize, Vec<String>)>> {
        let mut reader = text.as_bytes();
        let mut rows = Rows::new("a.csv", &mut reader, longest)?;
        rows.set(delimiter, quoting);
        let mut row = Row::default();
        let mut all = Vec::new();
        while rows.next(&mut row)? {
            match &row.fault {
                Some(fault) => all.push((row.line, vec!["fault".into(), fault.clone()])),
                None => all.push((
                    row.line,
                    row.texts()
                        .expect("UTF-8")
                        .into_iter()
                        .map(str::to_owned)
                        .collect(),
                )),
            }
        }
        Ok(all)
    }

    fn read(text: &str, delimiter: u8, quoting: Quoting) -> Vec<(usize, Vec<String>)> {
        rows(text, delimiter, quoting, 1000).expect("readable")
    }

    #[test]
    fn csv_rows_follow_rfc_4180() {
        let text = "a,\"b,c\"\r\n\r\n\"two\nlines\",\"5\"\" long\"\n,\"\" ,x\"y\n";
        let expected = [
            (1, vec!["a", "b,c"]),
            (3, vec!["two\nlines", "5\" long"]),
            (5, vec!["", "", "x\"y"]),
        ];
        let found = read(text, b',', Quoting::Csv);
        assert_eq!(found.len(), 3);
        for ((line, cells), (at, row)) in expected.iter().zip(&found) {
            assert_eq!(
                (
                    line,
                    cells
                        .iter()
                        .map(|cell| (*cell).to_owned())
                        .collect::<Vec<_>>()
                ),
                (at, row.clone())
            );
        }
    }

    #[test]
    fn line_ends_within_cells_become_lf_unless_rows_are_exact() {
        let cells = |exact| {
            let (mut all, mut bytes) = (Vec::new(), "a,\"1\r\n2\n3\"\r\n".as_bytes());
            let input = Input {
                name: "a.csv",
                reader: &mut bytes,
                tick: &mut || Ok(()),
                longest: Longest::default(),
            };
            each_row(input, (b',', Quoting::Csv), 1000, exact, |_, row| {
                all.extend(row.expect("valid").into_iter().map(str::to_owned));
                Ok(())
            })
            .expect("readable");
            all
        };
        assert_eq!(cells(false), ["a", "1\n2\n3"]);
        assert_eq!(cells(true), ["a", "1\r\n2\n3"]);
    }

    #[test]
    fn misplaced_and_unclosed_quotes_are_reported_with_their_line() {
        let found = read("1,\"dry\" cough\n2,fever\n", b',', Quoting::Csv);
        assert!(
            found[0].1[1].contains("line 1: expected the end of the cell")
                && found[0].1[1].contains("column 2")
        );
        assert_eq!(found[1], (2, vec!["2".into(), "fever".into()]));
        let error = |text: &str| {
            rows(text, b',', Quoting::Csv, 100)
                .expect_err(text)
                .to_string()
        };
        let message = error("x,y\n1,\"a\n2,b\n3,say \"c\"\n");
        assert!(
            message.contains("a.csv: line 2: expected a closing quote at the end of a cell"),
            "{message}"
        );
        assert!(
            message.contains("found it inside a cell in line 4"),
            "{message}"
        );
        let message = error("x,y\n1,\"a\n2,b\n");
        assert!(
            message.contains("a.csv: line 2: expected a closing quote for this row"),
            "{message}"
        );
        let message = error(&format!("x,y\n1,\"{}", "word\n".repeat(40)));
        assert!(
            message.contains("a.csv: line 2: expected a row of at most"),
            "{message}"
        );
    }

    #[test]
    fn quotes_in_tab_separated_tables_are_ordinary_characters() {
        let text = "1\t\"edoxaban\n2\t30GX1/2\"\n3\tstatus \"Deceased\"\n4\t\"fever\"\n\
                    5\t\"5\"\" long\"\n6\t\"\n7\t\"a\"b\"\n";
        let names: Vec<_> = read(text, b'\t', Quoting::Cells)
            .into_iter()
            .map(|(_, row)| row[1].clone())
            .collect();
        assert_eq!(
            names,
            [
                "\"edoxaban",
                "30GX1/2\"",
                "status \"Deceased\"",
                "fever",
                "5\" long",
                "\"",
                "\"a\"b\""
            ]
        );
        let bare: Vec<_> = read(text, b'\t', Quoting::None)
            .into_iter()
            .map(|(_, row)| row[1].clone())
            .collect();
        assert_eq!(
            [bare[3].as_str(), bare[4].as_str()],
            ["\"fever\"", "\"5\"\" long\""]
        );
    }

    proptest! {
        #[test]
        fn quoted_rows_round_trip(cells in prop::collection::vec("[a\", \n\té]{0,6}", 1..5)) {
            let line: Vec<String> = cells
                .iter()
                .map(|cell| format!("\"{}\"", cell.replace('"', "\"\"")))
                .collect();
            let found = read(&format!("{}\nlast", line.join(",")), b',', Quoting::Csv);
            prop_assert_eq!(&found[0].1, &cells);
            prop_assert_eq!(&found[1].1, &vec!["last".to_owned()]);
        }

        #[test]
        fn tab_separated_rows_are_single_lines(
            lines in prop::collection::vec("[a\"]{1,6}\t[a\" ]{0,6}", 1..8)
        ) {
            let found = read(&lines.join("\n"), b'\t', Quoting::Cells);
            prop_assert_eq!(found.len(), lines.len());
            prop_assert!(found.iter().all(|(_, row)| row.len() == 2));
        }
    }
}
