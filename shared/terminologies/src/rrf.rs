//! Tables in Rich Release Format: UTF-8, `|` after every field, no header and no quoting.

use super::release::{ReleaseFile, Row, slots};
use super::{Sink, release};
use pel_kb::error::{Error, Result};
use std::collections::HashMap;

/// The columns of MRCONSO and RXNCONSO.
pub const NAMES: &[&str] = &[
    "CUI", "LAT", "TS", "LUI", "STT", "SUI", "ISPREF", "AUI", "SAUI", "SCUI", "SDUI", "SAB", "TTY",
    "CODE", "STR", "SRL", "SUPPRESS", "CVF",
];

/// The columns of the tables of a release, as its MRFILES gives them.
#[derive(Debug, Default)]
pub struct Layouts(HashMap<String, Layout>);

#[derive(Debug)]
struct Layout {
    columns: Vec<String>,
    /// The number of rows, if given.
    rows: Option<usize>,
}

impl Layouts {
    /// Reads MRFILES.RRF: the file, its description, its columns separated by commas, and the
    /// numbers of columns and rows.
    ///
    /// # Errors
    /// If it cannot be read, or a row has fewer than 5 fields and `skip_bad` is not set.
    pub fn read(file: &ReleaseFile, sink: &mut Sink<'_, '_>, skip_bad: bool) -> Result<Self> {
        let mut layouts = HashMap::new();
        file.for_each_row(sink, skip_bad, |_, row| {
            let mut fields = row.text.split('|');
            let name = fields.next();
            let columns = fields.nth(1);
            let rows = fields.nth(1);
            let (Some(name), Some(columns), Some(rows)) = (name, columns, rows) else {
                let found = row.text.split('|').count();
                return Err(Error::input(format!(
                    "expected at least 5 fields, found {found}"
                )));
            };
            let columns = columns.split(',').map(|name| name.trim().to_owned());
            let layout = Layout {
                columns: columns.collect(),
                rows: rows.trim().parse().ok(),
            };
            layouts.insert(name.trim().to_uppercase(), layout);
            Ok(())
        })?;
        Ok(Self(layouts))
    }

    /// The positions of columns in a table, by the release or, if that does not name the table, as
    /// in `usual`.
    ///
    /// # Errors
    /// If the table has no such column.
    pub fn fields<const N: usize>(
        &self,
        table: &str,
        usual: &[&str],
        wanted: [&str; N],
    ) -> Result<Fields<N>> {
        let named = self.0.get(table);
        let columns: Vec<&str> = match named {
            Some(layout) => layout.columns.iter().map(String::as_str).collect(),
            None => usual.to_vec(),
        };
        let slots = slots(&columns, &wanted).map_err(|name| {
            Error::input(format!(
                "MRFILES.RRF: expected a column {name} of {table}, found {}",
                columns.join(", ")
            ))
        })?;
        Ok(Fields { slots })
    }

    /// The number of rows of a table that the release gives.
    #[must_use]
    pub fn rows(&self, table: &str) -> Option<usize> {
        self.0.get(table).and_then(|layout| layout.rows)
    }
}

/// Some fields of the rows of a table.
#[derive(Debug)]
pub struct Fields<const N: usize> {
    /// For each column, the place of its field in the result.
    slots: Vec<Option<usize>>,
}

impl<const N: usize> Fields<N> {
    /// The fields of a row.
    ///
    /// # Errors
    /// If the row has another number of fields, or does not end with `|`: it is cut then.
    pub fn of<'a>(&self, row: &'a str) -> Result<[&'a str; N]> {
        let closed = row.strip_suffix('|');
        let inner = closed.unwrap_or(row);
        let mut values = [""; N];
        let mut count = 0;
        for field in inner.split('|') {
            if let Some(Some(slot)) = self.slots.get(count)
                && let Some(value) = values.get_mut(*slot)
            {
                *value = field.trim();
            }
            count += 1;
        }
        let expected = self.slots.len();
        if count != expected {
            return Err(Error::input(format!(
                "expected {expected} columns, found {count}"
            )));
        }
        if closed.is_none() {
            return Err(Error::input(format!(
                "expected {expected} columns with `|` after each, found the last one without"
            )));
        }
        Ok(values)
    }
}

/// The tables of a release.
#[derive(Debug)]
pub struct Tables<'f> {
    /// All files of the release.
    pub files: &'f [ReleaseFile],
    /// The columns that the release gives.
    pub layouts: Layouts,
    /// Whether to skip rows that cannot be read.
    pub skip_bad: bool,
}

impl Tables<'_> {
    /// Reads some columns of a table, or nothing without the file. `usual` are all columns of the
    /// table, unless the release gives them. Notes more rows than MRFILES gives.
    ///
    /// # Errors
    /// Errors of reading and of `each`, or a row with another number of fields, with file and line;
    /// or if the table has no such column, or fewer rows than MRFILES gives and bad rows are not
    /// skipped: it has been cut at the end of a row.
    pub fn read<'a, 'c, const N: usize>(
        &self,
        name: &str,
        usual: &[&str],
        wanted: [&str; N],
        sink: &mut Sink<'a, 'c>,
        mut each: impl FnMut(&mut Sink<'a, 'c>, Row<'_>, [&str; N]) -> Result<()>,
    ) -> Result<()> {
        let fields = self.layouts.fields(name, usual, wanted)?;
        let Some(file) = release::one_named(self.files, name)? else {
            return Ok(());
        };
        let mut found = 0;
        file.for_each_row(sink, self.skip_bad, |sink, row| {
            found += 1;
            each(sink, row, fields.of(row.text)?)
        })?;
        let expected = self.layouts.rows(name);
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            let message = format!(
                "{}: expected {expected} rows as in MRFILES.RRF, found {found}",
                file.label()
            );
            if found < expected && !self.skip_bad {
                return Err(Error::input(format!(
                    "{message}: is the file whole? For a table that was shortened on purpose use \
                     --skip-bad"
                )));
            }
            sink.report().note(OTHER_COUNT, || message);
        }
        Ok(())
    }
}

/// The note on a table with another number of rows than the release gives.
pub const OTHER_COUNT: &str = "table with another number of rows than MRFILES gives";

/// Fails if a release has none of the files of a layout.
///
/// # Errors
/// If `name` is missing. The error names the first files that were found.
pub fn required<'a>(files: &'a [ReleaseFile], name: &str, advice: &str) -> Result<&'a ReleaseFile> {
    release::one_named(files, name)?.ok_or_else(|| {
        let some: Vec<&str> = files.iter().take(5).map(ReleaseFile::file_name).collect();
        let found = match some.is_empty() {
            true => "no files".to_owned(),
            false => format!("{} files ({} ...)", files.len(), some.join(", ")),
        };
        Error::input(format!("expected {name}, found {found}; {advice}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_by_column() {
        let layouts = Layouts::default();
        let fields = layouts
            .fields("T.RRF", &["A", "B", "C"], ["C", "A"])
            .expect("known");
        assert_eq!(fields.of("1|2|3|").expect("three"), ["3", "1"]);
        assert_eq!(fields.of("\"1|\"2\"| 3|").expect("three"), ["3", "\"1"]);
        for (row, found) in [("1|2|", 2), ("1|2|3|4|", 4), ("1", 1)] {
            let message = fields.of(row).expect_err(row).to_string();
            assert_eq!(message, format!("expected 3 columns, found {found}"));
        }
        let message = fields.of("1|2|3").expect_err("cut").to_string();
        assert!(message.contains("found the last one without"), "{message}");
        let message = layouts
            .fields("T.RRF", &["A"], ["B"])
            .expect_err("unknown")
            .to_string();
        assert!(
            message.contains("expected a column B of T.RRF, found A"),
            "{message}"
        );
    }
}
