//! Rows of tables whose columns are separated by one character: CSV, TSV and their kin.
//!
//! The `csv` crate is not used for reading, because it takes malformed quotes in silence: an opened quote swallows the rows
//! behind it, and a field may grow until memory ends. Here a quote that is not closed where it should be is an error with
//! its line, and a row has a limit.

use super::lines::{Lines, Longest};
use crate::error::{Error, Result};
use std::io::BufRead;

/// The longest row that is read unless a layout says otherwise, in bytes.
pub const LONGEST_ROW: usize = 16 << 20;

/// The reason for skipping a row in which a quoted cell goes on behind its closing quote.
pub const BAD_QUOTE: &str = "a quoted cell that goes on behind its closing quote";

/// What quotation marks mean in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// A cell that begins with a quote ends at the next single one, maybe lines later; two are one (RFC 4180).
    Csv,
    /// Quotes are letters, but a cell that is in quotes as a whole, inner ones doubled, is read without them. No cell goes
    /// over the end of a line.
    Cells,
    /// Quotes are letters.
    None,
}

impl Quoting {
    /// How tables with a delimiter are quoted unless the user says otherwise: CSV as RFC 4180 has it; tables with tabs
    /// or bars (Athena, RF2, UMLS) have names with lone quotes in them.
    #[must_use]
    pub fn usual(delimiter: u8) -> Self {
        match delimiter {
            b'\t' | b'|' => Self::Cells,
            _ => Self::Csv,
        }
    }
}

/// One row: its cells, one after the other.
#[derive(Debug, Default)]
pub(super) struct Row {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The line that it begins on, from 1.
    pub line: usize,
    /// How many lines it takes.
    pub lines: usize,
    /// Why it is not to be used, where the rows behind it can be.
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
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The cells as texts.
    ///
    /// # Errors
    /// The column of a cell that is not UTF-8, from 1, its bytes, and the byte in it.
    pub fn texts(&self) -> std::result::Result<Vec<&str>, (usize, &[u8], usize)> {
        let text =
            |at| std::str::from_utf8(self.cell(at)).map_err(|error| (at + 1, self.cell(at), error.valid_up_to()));
        (0..self.len()).map(text).collect()
    }
}

/// Where in a quoted row a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first byte of a cell.
    Start,
    /// In a cell without quotes.
    Bare,
    /// Between quotes.
    Quoted,
    /// Right behind a quote that closes, unless another follows.
    Closed,
    /// Behind a closed quote and blanks.
    Over,
}

/// The rows of a table.
pub(super) struct Rows<'a> {
    name: &'a str,
    lines: Lines<'a>,
    longest: usize,
    delimiter: u8,
    quoting: Quoting,
    line: Vec<u8>,
    /// The line is yet to be taken.
    peeked: bool,
}

impl<'a> Rows<'a> {
    /// The rows of a reader, none longer than so many bytes.
    ///
    /// # Errors
    /// If its beginning cannot be read.
    pub fn new(name: &'a str, reader: &'a mut dyn BufRead, longest: usize) -> Result<Self> {
        let lines = Lines::new(name, reader, Longest { bytes: longest, remedy: " (see --max-row)" })?;
        let (delimiter, quoting) = (b',', Quoting::Csv);
        Ok(Self { name, lines, longest, delimiter, quoting, line: Vec::new(), peeked: false })
    }

    /// How the rows from here on are separated and quoted.
    pub fn set(&mut self, delimiter: u8, quoting: Quoting) {
        (self.delimiter, self.quoting) = (delimiter, quoting);
    }

    /// The next line that is not empty, without taking it; `None` at the end.
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

    /// Drops the line that was peeked at.
    pub fn skip_line(&mut self) {
        self.peeked = false;
    }

    /// Reads the next row; `false` at the end. Empty lines are no rows.
    ///
    /// # Errors
    /// If the text cannot be read, the row is too long, a quote is never closed, or one is closed in the midst of a cell some
    /// lines later.
    pub fn next(&mut self, row: &mut Row) -> Result<bool> {
        row.clear();
        if self.peek()?.is_none() {
            return Ok(false);
        }
        self.peeked = false;
        (row.line, row.lines) = (self.lines.number(), 1);
        if self.quoting != Quoting::Csv {
            split_cells(&self.line, self.delimiter, self.quoting, row);
            return Ok(true);
        }
        let mut state = State::Start;
        loop {
            if let Err(column) = take_quoted(&self.line, self.delimiter, &mut state, row) {
                let (name, line, last) = (self.name, row.line, row.line + row.lines - 1);
                if row.lines == 1 {
                    row.fault = Some(format!(
                        "line {line}: in column {column} a quoted cell goes on behind its closing quote; expected two quotes for one inside a cell (if quotes are letters here, see --no-quotes)"
                    ));
                    return Ok(true);
                }
                return Err(Error::input(format!(
                    "{name}: line {line}: a quote is opened in this row and closed in the midst of a cell in line {last} (if quotes are letters here, see --no-quotes)"
                )));
            }
            if state != State::Quoted {
                row.end_cell();
                return Ok(true);
            }
            row.bytes.push(b'\n');
            let begins = row.line;
            if row.bytes.len() > self.longest {
                let (name, most) = (self.name, self.longest >> 20);
                return Err(Error::input(format!(
                    "{name}: line {begins}: the row is longer than {most} MiB; is the quote that is opened in it never closed? (see --no-quotes and --max-row)"
                )));
            }
            if !self.lines.next(&mut self.line)? {
                return Err(Error::input(format!(
                    "{}: line {begins}: a quote is opened in this row and never closed (if quotes are letters here, see --no-quotes)",
                    self.name
                )));
            }
            row.lines += 1;
        }
    }
}

/// Takes in one line of a row with quoting as CSV has it; fails with the column in which a quote is misplaced.
fn take_quoted(line: &[u8], delimiter: u8, state: &mut State, row: &mut Row) -> std::result::Result<(), usize> {
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

/// What stands in a cell that is in quotes as a whole, inner quotes doubled; `None` for other cells.
fn unquoted(cell: &[u8]) -> Option<Vec<u8>> {
    let inner = cell.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let (mut text, mut bytes) = (Vec::with_capacity(inner.len()), inner.iter());
    while let Some(&byte) = bytes.next() {
        if byte == b'"' && bytes.next() != Some(&b'"') {
            return None;
        }
        text.push(byte);
    }
    Some(text)
}

/// The cells of one line as texts; `None` if it is not UTF-8 or is not a whole row.
pub(super) fn cells_of(line: &[u8], delimiter: u8, quoting: Quoting) -> Option<Vec<String>> {
    let mut row = Row::default();
    if quoting == Quoting::Csv {
        let mut state = State::Start;
        take_quoted(line, delimiter, &mut state, &mut row).ok()?;
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

    fn rows(text: &str, delimiter: u8, quoting: Quoting, longest: usize) -> Result<Vec<(usize, Vec<String>)>> {
        let mut reader = text.as_bytes();
        let mut rows = Rows::new("a.csv", &mut reader, longest)?;
        rows.set(delimiter, quoting);
        let (mut row, mut all) = (Row::default(), Vec::new());
        while rows.next(&mut row)? {
            match &row.fault {
                Some(fault) => all.push((row.line, vec!["fault".into(), fault.clone()])),
                None => all.push((row.line, row.texts().expect("UTF-8").into_iter().map(str::to_owned).collect())),
            }
        }
        Ok(all)
    }

    fn read(text: &str, delimiter: u8, quoting: Quoting) -> Vec<(usize, Vec<String>)> {
        rows(text, delimiter, quoting, 1000).expect("readable")
    }

    #[test]
    fn csv_rows_are_split_as_rfc_4180_has_it() {
        let text = "a,\"b,c\"\r\n\r\n\"two\nlines\",\"5\"\" long\"\n,\"\" ,x\"y\n";
        let expected = [(1, vec!["a", "b,c"]), (3, vec!["two\nlines", "5\" long"]), (5, vec!["", "", "x\"y"])];
        let found = read(text, b',', Quoting::Csv);
        assert_eq!(found.len(), 3);
        for ((line, cells), (at, row)) in expected.iter().zip(&found) {
            assert_eq!((line, cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()), (at, row.clone()));
        }
    }

    #[test]
    fn misplaced_quotes_are_named_and_swallow_nothing() {
        let found = read("1,\"dry\" cough\n2,fever\n", b',', Quoting::Csv);
        assert!(found[0].1[1].contains("line 1: in column 2"), "{found:?}");
        assert_eq!(found[1], (2, vec!["2".into(), "fever".into()]));
        let said = |text: &str| rows(text, b',', Quoting::Csv, 100).expect_err(text).to_string();
        assert!(
            said("x,y\n1,\"a\n2,b\n3,say \"c\"\n")
                .contains("a.csv: line 2: a quote is opened in this row and closed in the midst of a cell in line 4")
        );
        assert!(said("x,y\n1,\"a\n2,b\n").contains("a.csv: line 2: a quote is opened in this row and never closed"));
        let long = format!("x,y\n1,\"{}", "word\n".repeat(40));
        assert!(said(&long).contains("a.csv: line 2: the row is longer than"));
    }

    #[test]
    fn quotes_are_letters_in_tables_with_tabs() {
        let text = "1\t\"edoxaban\n2\t30GX1/2\"\n3\tstatus \"Deceased\"\n4\t\"fever\"\n5\t\"5\"\" long\"\n6\t\"\n7\t\"a\"b\"\n";
        let names: Vec<_> = read(text, b'\t', Quoting::Cells).into_iter().map(|(_, row)| row[1].clone()).collect();
        assert_eq!(names, ["\"edoxaban", "30GX1/2\"", "status \"Deceased\"", "fever", "5\" long", "\"", "\"a\"b\""]);
        let bare: Vec<_> = read(text, b'\t', Quoting::None).into_iter().map(|(_, row)| row[1].clone()).collect();
        assert_eq!((bare[3].as_str(), bare[4].as_str()), ("\"fever\"", "\"5\"\" long\""));
    }

    proptest! {
        #[test]
        fn quoted_rows_round_trip(cells in prop::collection::vec("[a\", \n\té]{0,6}", 1..5)) {
            let line: Vec<String> = cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            let found = read(&format!("{}\nlast", line.join(",")), b',', Quoting::Csv);
            prop_assert_eq!(&found[0].1, &cells);
            prop_assert_eq!(&found[1].1, &vec!["last".to_owned()]);
        }

        #[test]
        fn no_line_of_a_table_with_tabs_is_swallowed(lines in prop::collection::vec("[a\"]{1,6}\t[a\" ]{0,6}", 1..8)) {
            let found = read(&lines.join("\n"), b'\t', Quoting::Cells);
            prop_assert_eq!(found.len(), lines.len());
            prop_assert!(found.iter().all(|(_, row)| row.len() == 2));
        }
    }
}
