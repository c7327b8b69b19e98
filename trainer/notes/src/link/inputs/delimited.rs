//! Tables with delimiters: CSV and TSV.

use super::columns::{ColumnArgs, Columns};
use super::{Each, NoteRow, ReadOptions, Stated, note_name, numbered};
use pel_io::files::{convert_read_error, record_limit};
use pel_io::interrupt;
use pel_io::limits::Bound;
use pel_io::text_encoding::{open_text, read_error};
use pel_kb::error::{Error, Result};
use pel_terminologies::import::Input;
use pel_terminologies::import::delimited::declared_delimiter;
use pel_terminologies::import::rows::{Quoting, for_each_exact_row};
use std::path::Path;

/// Delimiters that are tried on a header.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Reads the rows of a table. Its first row has the names of the columns. Quotes are those of
/// RFC 4180; line ends in a quoted cell stay as they are.
///
/// # Errors
/// If the table cannot be read, has no header or not the columns, has a quote that is never closed,
/// or a row beyond its limit.
pub(super) fn read(
    path: &Path,
    usual: u8,
    options: &ReadOptions,
    each: &mut Each<'_>,
) -> Result<()> {
    let name = path.display().to_string();
    let mut reader = open_text(path, &options.encoding, Bound::Stream)?;
    let head = reader.fill_buf().map_err(|cause| read_error(path, cause))?;
    let declared = declared_delimiter(first_line(head));
    let delimiter = declared.unwrap_or_else(|| delimiter(head, usual, &options.columns));
    let longest = record_limit();
    let input = Input {
        name: &name,
        reader: &mut reader,
        tick: &mut interrupt::check,
        longest,
    };
    // The line `sep=;` is no row.
    let mut skip = declared.is_some();
    let mut header: Option<(Columns, Vec<String>)> = None;
    let mut row = 0;
    let done = for_each_exact_row(
        input,
        (delimiter, Quoting::Csv),
        longest.bytes,
        |line, cells| {
            if std::mem::take(&mut skip) {
                return Ok(());
            }
            let Some((columns, names)) = &header else {
                let names = cells.map_err(Error::input)?;
                let columns = Columns::find(&names, &options.columns)?;
                header = Some((columns, names.into_iter().map(str::to_owned).collect()));
                return Ok(());
            };
            row += 1;
            let place = format!("{name}: line {line}");
            let note = cells
                .map_err(Error::input)
                .and_then(|cells| note(&cells, *columns, names, || numbered(path, row), &place));
            each(note.map_err(|error| error.context(place)))
        },
    );
    done.map_err(|error| convert_read_error(path, error))?;
    match header {
        Some(_) => Ok(()),
        None => Err(Error::input(format!(
            "{name}: the table is empty; its first row must name the columns"
        ))),
    }
}

fn note(
    cells: &[&str],
    columns: Columns,
    names: &[String],
    unnamed: impl FnOnce() -> String,
    place: &str,
) -> Result<NoteRow> {
    if cells.len() != names.len() {
        return Err(Error::input(format!(
            "expected {} cells as in the first row, found {}",
            names.len(),
            cells.len()
        )));
    }
    let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
    let name = match columns.id {
        None => unnamed(),
        Some(at) => note_name(cell(at)).map_err(|error| {
            error.context(format!(
                "column {}",
                names.get(at).map_or("", String::as_str)
            ))
        })?,
    };
    Ok(NoteRow {
        name,
        text: cell(columns.text).to_owned(),
        place: place.to_owned(),
        stated: Stated::default(),
    })
}

/// The first line that is not empty, without a byte order mark.
fn first_line(head: &[u8]) -> &[u8] {
    head.strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(head)
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

/// The delimiter with which the first line has the columns; the usual one if there is none.
fn delimiter(head: &[u8], usual: u8, args: &ColumnArgs) -> u8 {
    let first = String::from_utf8_lossy(first_line(head));
    let fits = |delimiter: &u8| {
        let names: Vec<&str> = first
            .split(char::from(*delimiter))
            .map(|name| name.trim().trim_matches('"'))
            .collect();
        names.len() > 1 && Columns::are_in(&names, args)
    };
    std::iter::once(usual)
        .chain(DELIMITERS)
        .find(fits)
        .unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Found, read_as};
    use super::*;
    use crate::link::inputs::Kind;

    fn read(text: &str) -> Found {
        read_as(
            "notes.csv",
            text.as_bytes(),
            Kind::Delimited(b','),
            &ReadOptions::default(),
        )
    }

    #[test]
    fn cells_keep_their_line_ends_and_quotes() {
        let found = read("id,text,age\r\n7,\"He said \"\"no\"\".\r\nFever.\",40\r\n8,,41\r\n");
        assert_eq!(
            found.notes,
            [("7", "He said \"no\".\r\nFever."), ("8", "")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
        assert_eq!(found.places[0], "notes.csv: line 2");
        assert_eq!(found.places[1], "notes.csv: line 4");
    }

    #[test]
    fn delimiter_is_that_of_the_header() {
        for delimiter in [",", ";", "\t", "|"] {
            let table = ["\u{feff}row", "\"note_text\"", "note_id"].join(delimiter)
                + "\n"
                + &["1", "fever", "a"].join(delimiter)
                + "\n";
            let found = read(&table);
            assert_eq!(
                found.notes,
                [("a".to_owned(), "fever".to_owned())],
                "{table}"
            );
        }
    }

    #[test]
    fn delimiter_of_a_first_line_is_followed() {
        for table in [
            "sep=;\nid;text\n1;fever, cough\n",
            "\u{feff}sep=;\r\nid;text\r\n1;fever, cough\r\n",
        ] {
            let found = read(table);
            assert_eq!(
                found.notes,
                [("1".to_owned(), "fever, cough".to_owned())],
                "{table}"
            );
        }
    }

    #[test]
    fn bad_rows_are_passed_on_and_others_read() {
        let found = read("id,text\n1,fever\n2\n3,\"a\" b\n,cough\n5,pain\n\u{1},rash\n");
        let names: Vec<&str> = found.notes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["1", "5"]);
        let expected = [
            "notes.csv: line 3: expected 2 cells as in the first row, found 1",
            "notes.csv: line 4: expected the end of the cell after its closing quote",
            "notes.csv: line 5: column id: the note has no identifier",
            "notes.csv: line 7: column id: the note has no identifier",
        ];
        assert_eq!(found.errors.len(), expected.len(), "{:?}", found.errors);
        for (error, expected) in found.errors.iter().zip(expected) {
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn table_without_the_columns_or_with_an_open_quote_is_refused() {
        for (table, expected) in [
            ("", "the table is empty"),
            ("a,b\n1,2\n", "found a, b"),
            (
                "id,text\n1,\"fever\n2,cough\n",
                "line 2: expected a closing quote",
            ),
        ] {
            let found = read(table);
            let error = found.stopped.expect(table);
            assert!(
                error.contains("notes.csv") && error.contains(expected),
                "{error}"
            );
        }
    }

    #[test]
    fn limited_number_of_rows_is_read() {
        let table = "id,text\n1,fever\n2\n3,cough\n4,\"open\n";
        for (limit, notes, errors, stopped) in [(1, 1, 0, false), (3, 2, 1, false), (4, 2, 1, true)]
        {
            let options = ReadOptions {
                limit: std::num::NonZeroU64::new(limit),
                ..ReadOptions::default()
            };
            let kind = Kind::Delimited(b',');
            let found = read_as("notes.csv", table.as_bytes(), kind, &options);
            let counts = (found.notes.len(), found.errors.len());
            assert_eq!(
                (counts, found.stopped.is_some()),
                ((notes, errors), stopped)
            );
        }
    }

    #[test]
    fn rows_without_identifiers_are_numbered() {
        let found = read("text,x\nfever,1\ncough,2\n");
        let names: Vec<&str> = found.notes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["notes:1", "notes:2"]);
    }
}
