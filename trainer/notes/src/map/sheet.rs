//! A spreadsheet of local terms: its rows as they are, and the columns with a meaning.

use pel_io::files::convert_read_error;
use pel_io::interrupt;
use pel_io::limits::Bound;
use pel_io::text_encoding::{TextEncoding, open_text, read_error};
use pel_kb::error::{Error, Result};
use pel_terminologies::import::columns::Column;
use pel_terminologies::import::delimited::declared_delimiter;
use pel_terminologies::import::delimited::{LONGEST_ROW, Quoting, delimiter_of};
use pel_terminologies::import::rows::for_each_row;
use pel_terminologies::import::{Input, Longest};
use std::io::Read;
use std::path::Path;

/// The names of a column of terms, if none is given. The first one that the header has counts.
pub const TERM_NAMES: [&str; 12] = [
    "term",
    "local_term",
    "local_name",
    "name",
    "label",
    "text",
    "test_name",
    "test",
    "problem",
    "diagnosis",
    "drug",
    "medication",
];

/// The delimiters that are tried on the first line.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The byte order mark of UTF-8.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// A row with the number of its first line, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetRow {
    /// The line.
    pub line: usize,
    /// The cells.
    pub cells: Vec<String>,
}

/// The rows of a spreadsheet, each with the same number of cells.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The file, for messages.
    pub name: String,
    /// The rows; the first may be a header.
    pub rows: Vec<SheetRow>,
    /// Whether the file begins with a byte order mark of UTF-8, which Excel needs.
    pub marked: bool,
}

/// How a spreadsheet is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct SheetForm {
    /// The delimiter; `None` takes that of a line `sep=;`, of the file name, or of the first line.
    pub delimiter: Option<u8>,
    /// Whether quotes are ordinary characters.
    pub no_quotes: bool,
}

/// Which columns have a meaning.
#[derive(Clone, Debug, Default)]
pub struct SheetColumns {
    /// The terms.
    pub term: Option<Column>,
    /// Their local identifiers.
    pub id: Option<Column>,
    /// Text around each term.
    pub context: Option<Column>,
    /// Whether the first row is a header although a column has a number.
    pub header: bool,
}

/// A table of local terms.
#[derive(Clone, Debug)]
pub struct TermTable {
    /// The file, for messages.
    pub name: String,
    /// The names of the columns; made up if the file has no header.
    pub header: Vec<String>,
    /// The rows without the header.
    pub rows: Vec<SheetRow>,
    /// The column of terms, from 0.
    pub term: usize,
    /// The column of local identifiers, from 0.
    pub id: Option<usize>,
    /// The column of text around a term, from 0.
    pub context: Option<usize>,
    /// Whether the file begins with a byte order mark of UTF-8.
    pub marked: bool,
}

impl Sheet {
    /// Reads a spreadsheet: CSV, TSV, or a list with one term a line.
    ///
    /// # Errors
    /// If it cannot be read or decoded, has no row, or a row has a misplaced quote or another
    /// number of cells than the first. The error names file and line.
    pub fn read(path: &Path, encoding: &TextEncoding, form: SheetForm) -> Result<Self> {
        let name = path.display().to_string();
        let mut bytes = Vec::new();
        open_text(path, encoding, Bound::Records)?
            .read_to_end(&mut bytes)
            .map_err(|cause| convert_read_error(path, read_error(path, cause)))?;
        let marked = bytes.starts_with(BOM);
        let text = bytes.strip_prefix(BOM).unwrap_or(&bytes);
        let first = first_line(text);
        // The line stays in the text, so that the numbers of lines are right.
        let declared = declared_delimiter(first);
        let delimiter = form
            .delimiter
            .or(declared)
            .unwrap_or_else(|| delimiter_of_line(&name, first));
        let quoting = match form.no_quotes {
            true => Quoting::None,
            false => Quoting::usual(delimiter),
        };
        let mut rows: Vec<SheetRow> = Vec::new();
        let mut reader = text;
        let input = Input {
            name: &name,
            reader: &mut reader,
            tick: &mut interrupt::check,
            longest: Longest::default(),
        };
        let mut skip = declared.is_some();
        for_each_row(input, (delimiter, quoting), LONGEST_ROW, |line, cells| {
            if std::mem::take(&mut skip) {
                return Ok(());
            }
            let cells: Vec<String> = cells
                .map_err(Error::input)?
                .into_iter()
                .map(str::to_owned)
                .collect();
            if let Some(before) = rows.first()
                && before.cells.len() != cells.len()
            {
                let hint = match before.cells.len() {
                    1 => "; quote terms with a delimiter, or set --delimiter",
                    _ => "",
                };
                return Err(Error::input(format!(
                    "expected {} cells as in line {}, found {}{hint}",
                    before.cells.len(),
                    before.line,
                    cells.len()
                )));
            }
            rows.push(SheetRow { line, cells });
            Ok(())
        })?;
        if rows.is_empty() {
            return Err(Error::input(format!("{name}: the table is empty")));
        }
        Ok(Self { name, rows, marked })
    }

    /// Finds the columns. With a column by number there is no header, unless `header` is set.
    ///
    /// Without a column of terms it is the one with a usual name ([`TERM_NAMES`]). A table of one
    /// column without such a name has no header.
    ///
    /// # Errors
    /// If a column is missing or occurs twice, or there is no row below the header.
    pub fn into_table(self, columns: &SheetColumns) -> Result<TermTable> {
        let Self {
            name,
            mut rows,
            marked,
        } = self;
        let first: &[String] = rows.first().map_or(&[], |row| &row.cells[..]);
        let given = [&columns.term, &columns.id, &columns.context];
        let numbered = given
            .iter()
            .any(|column| matches!(column, Some(Column::Numbered(_))));
        let usual = usual_term(first);
        let single = first.len() == 1 && usual.is_none() && columns.term.is_none();
        let headed = columns.header || !(numbered || single);
        let header: Option<Vec<String>> = headed.then(|| first.to_vec());
        let width = first.len();
        let find = |option: &str, column: &Option<Column>| -> Result<Option<usize>> {
            let Some(column) = column else {
                return Ok(None);
            };
            place(column, header.as_deref(), width)
                .map(Some)
                .map_err(|why| Error::input(format!("{name}: {option}: {why}")))
        };
        let (id, context) = (
            find("--id-column", &columns.id)?,
            find("--context-column", &columns.context)?,
        );
        let term = match find("--column", &columns.term)? {
            Some(term) => term,
            None if width == 1 => 0,
            None => usual.filter(|_| headed).ok_or_else(|| {
                Error::input(format!(
                    "{name}: expected --column with the column of terms, one of {}",
                    listed(first)
                ))
            })?,
        };
        let header = match header {
            Some(header) => {
                rows.remove(0);
                header
            }
            // Read back, the column of terms has a usual name.
            None => (0..width)
                .map(|at| match at == term {
                    true => "term".to_owned(),
                    false => format!("column_{}", at + 1),
                })
                .collect(),
        };
        if rows.is_empty() {
            return Err(Error::input(format!(
                "{name}: the table has a header and no rows"
            )));
        }
        Ok(TermTable {
            name,
            header,
            rows,
            term,
            id,
            context,
            marked,
        })
    }
}

impl TermTable {
    /// The column with this name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|own| own.trim() == name)
    }
}

/// The cell as it was before a spreadsheet was guarded against formulas
/// ([`cell`](pel_kb::clean::cell)).
pub fn unguarded(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(inner) if pel_kb::clean::cell(inner).starts_with('\'') => inner,
        _ => cell,
    }
}

/// The first line that is not empty.
fn first_line(text: &[u8]) -> &[u8] {
    text.split(|byte| matches!(byte, b'\n' | b'\r'))
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

/// The delimiter that the file name says, or the one that the first line of a table has most often
/// outside of quotes. A file of another name is a list with one term a line, unless it has tabs.
fn delimiter_of_line(name: &str, line: &[u8]) -> u8 {
    let lower = name.to_lowercase();
    let is_table = [".csv", ".tsv", ".tab"]
        .iter()
        .any(|ending| lower.contains(ending));
    if !is_table {
        return b'\t';
    }
    let usual = delimiter_of(name);
    let count = |delimiter: u8| {
        let mut quoted = false;
        line.iter()
            .filter(|byte| {
                quoted ^= **byte == b'"';
                !quoted && **byte == delimiter
            })
            .count()
    };
    if count(usual) > 0 {
        return usual;
    }
    DELIMITERS
        .into_iter()
        .rev()
        .filter(|delimiter| count(*delimiter) > 0)
        .max_by_key(|delimiter| count(*delimiter))
        .unwrap_or(usual)
}

fn usual_term(header: &[String]) -> Option<usize> {
    TERM_NAMES.iter().find_map(|usual| {
        header.iter().position(|name| {
            name.trim()
                .replace([' ', '-'], "_")
                .eq_ignore_ascii_case(usual)
        })
    })
}

/// The place of a column, from 0.
fn place(
    column: &Column,
    header: Option<&[String]>,
    width: usize,
) -> std::result::Result<usize, String> {
    match (column, header) {
        (Column::Numbered(number), _) => match (1..=width).contains(number) {
            true => Ok(number - 1),
            false => Err(format!(
                "expected a column from 1 to {width}, found {number}"
            )),
        },
        (Column::Named(wanted), None) => Err(format!(
            "expected a column number, since columns have numbers, found {wanted:?}; set --header"
        )),
        (Column::Named(wanted), Some(header)) => {
            let same = |name: &String| name.trim().eq_ignore_ascii_case(wanted.trim());
            let mut found = header.iter().enumerate().filter(|(_, name)| same(name));
            match (found.next(), found.next()) {
                (Some((at, _)), None) => Ok(at),
                (Some(_), Some(_)) => Err(format!("expected one column {wanted:?}, found several")),
                (None, _) => Err(format!(
                    "expected one of {}, found {wanted:?}",
                    listed(header)
                )),
            }
        }
    }
}

fn listed(header: &[String]) -> String {
    let names: Vec<String> = header
        .iter()
        .take(20)
        .map(|name| format!("{:?}", name.trim()))
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(name: &str, bytes: &[u8]) -> Result<Sheet> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        Sheet::read(&path, &TextEncoding::default(), SheetForm::default())
    }

    fn cells(sheet: &Sheet) -> Vec<Vec<&str>> {
        sheet
            .rows
            .iter()
            .map(|row| row.cells.iter().map(String::as_str).collect())
            .collect()
    }

    #[test]
    fn delimiter_quotes_and_mark_are_recognised() {
        for (name, text, marked) in [
            (
                "a.csv",
                "\u{feff}code,term\r\n1,\"GLUCOSE, SERUM\"\r\n",
                true,
            ),
            ("a.csv", "code;term\n1;GLUCOSE, SERUM\n", false),
            ("a.csv", "sep=;\ncode;term\n1;GLUCOSE, SERUM\n", false),
            ("a.tsv", "code\tterm\n1\tGLUCOSE, SERUM\n", false),
            ("a.txt", "code\tterm\n1\tGLUCOSE, SERUM\n", false),
        ] {
            let read = sheet(name, text.as_bytes()).expect(text);
            assert_eq!(
                cells(&read),
                [["code", "term"], ["1", "GLUCOSE, SERUM"]],
                "{text:?}"
            );
            assert_eq!(read.marked, marked);
        }
        // A list of terms has no delimiter.
        let list = sheet("a.txt", b"GLUCOSE, SERUM\nHTN\n").expect("a list");
        assert_eq!(cells(&list), [["GLUCOSE, SERUM"], ["HTN"]]);
    }

    #[test]
    fn ragged_row_is_located() {
        let error = sheet("a.csv", b"a,b\n1,2\n\n3\n")
            .expect_err("ragged")
            .to_string();
        assert!(
            error.contains("a.csv: line 4: expected 2 cells as in line 1, found 1"),
            "{error}"
        );
        let error = sheet("a.csv", b"term\nGLUCOSE, SERUM\n")
            .expect_err("comma")
            .to_string();
        assert!(error.contains("found 2; quote terms"), "{error}");
        assert!(sheet("a.csv", b"\n").is_err());
    }

    #[test]
    fn columns_are_found_by_name_number_or_usual_name() {
        let table = |name: &str, text: &str, columns: &SheetColumns| {
            sheet(name, text.as_bytes())
                .expect(text)
                .into_table(columns)
        };
        let by = |term: Column| SheetColumns {
            term: Some(term),
            ..SheetColumns::default()
        };
        let found = table("a.csv", "code,Test Name\n1,Na+\n", &SheetColumns::default());
        let found = found.expect("a usual name");
        assert_eq!((found.term, found.rows.len()), (1, 1));
        let found = table(
            "a.csv",
            "code,beschreibung\n1,Na+\n",
            &by("Beschreibung".into()),
        );
        assert_eq!(found.expect("by name").term, 1);
        let found = table("a.csv", "1,Na+\n2,K+\n", &by(Column::Numbered(2))).expect("by number");
        assert_eq!((found.term, found.rows.len()), (1, 2));
        assert_eq!(found.header, ["column_1", "term"]);
        let found = table("a.txt", "Na+\nK+\n", &SheetColumns::default()).expect("a list");
        assert_eq!(
            (found.term, found.rows.len(), &found.header[..]),
            (0, 2, &["term".to_owned()][..])
        );
        for (text, columns, message) in [
            (
                "code,beschreibung\n1,Na+\n",
                SheetColumns::default(),
                "expected --column with the column of terms",
            ),
            (
                "a,b\n1,2\n",
                by("c".into()),
                "expected one of \"a\", \"b\", found \"c\"",
            ),
            ("a,a\n1,2\n", by("a".into()), "found several"),
            (
                "a,b\n1,2\n",
                by(Column::Numbered(3)),
                "from 1 to 2, found 3",
            ),
            (
                "term,b\n",
                SheetColumns::default(),
                "has a header and no rows",
            ),
        ] {
            let error = table("a.csv", text, &columns).expect_err(text).to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn guard_of_a_formula_is_removed() {
        for (cell, term) in [
            ("'=1+1", "=1+1"),
            ("'fever", "'fever"),
            ("Na+", "Na+"),
            ("'-dimer", "-dimer"),
        ] {
            assert_eq!(unguarded(cell), term);
        }
    }
}
