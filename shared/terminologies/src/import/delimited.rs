//! Concept tables with delimited columns, such as CSV and TSV.

pub use super::columns::{Column, Columns, Role};
use super::columns::{Places, is_preferred};
use super::concepts::tidied;
use super::merging::ConceptTable;
use super::report::Report;
pub use super::rows::{BAD_QUOTE, LONGEST_ROW, Quoting};
use super::rows::{Row, Rows, cells_of};
use super::spreadsheet_ids::{Change, change_of};
use super::{Input, not_utf8};
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::rc::Rc;

/// The reason for skipping a row with more or fewer fields than the header.
pub const RAGGED: &str = "number of fields differs from the header";
/// The reason for skipping a row that is not UTF-8.
pub const NOT_UTF8: &str = "row is not UTF-8";
/// The note on a row over several lines: an unclosed quote can swallow many rows.
pub const SEVERAL_LINES: &str = "row over several lines (unclosed quote?)";
/// The note on a column without a role.
pub const UNUSED: &str = "unused column";
/// The note on a column that was found by an alias.
pub const OTHER_NAME: &str = "column found by an alias";
/// The note on a table whose delimiter differs from that of its file name.
pub const OTHER_DELIMITER: &str = "delimiter taken from the header";

/// The note on an identifier that a spreadsheet program changed.
pub const CHANGED_ID: &str = "id that a spreadsheet program may have changed";
/// The reason for skipping a row with such an identifier and another name than an earlier row.
pub const MERGED_ID: &str = "id that a spreadsheet program made equal to another";
/// The reason for skipping a row whose identifier is the value of a failed formula.
pub const FAILED_ID: &str = "no id: the value of a formula that failed in a spreadsheet";
/// What to do about changed identifiers.
const AS_TEXT: &str = "format the column as text in the spreadsheet, fill in the ids again, and \
                       export the table again";

/// The delimiters that are tried on a header, in this order.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The layout of a table.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The field delimiter. `None` tries the usual one and then others, until the header has its
    /// columns.
    pub delimiter: Option<u8>,
    /// The delimiter that is tried first. `None` takes that of the file name.
    pub usual_delimiter: Option<u8>,
    /// The quoting. `None` takes the usual one of the delimiter.
    pub quoting: Option<Quoting>,
    /// The separator of several values in a field.
    pub within: String,
    /// The columns that the user assigned. Column numbers mean that there is no header.
    pub columns: Columns,
    /// Whether there is a header although columns have numbers.
    pub header: bool,
    /// The marks of a preferred name in the column [`Role::Preferred`]; empty for the default
    /// marks.
    pub preferred: Vec<String>,
    /// The largest row in bytes.
    pub longest_row: usize,
    /// Whether invalid rows are counted and skipped instead of being errors.
    pub skip_bad: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            delimiter: None,
            usual_delimiter: None,
            quoting: None,
            within: "|".to_owned(),
            columns: Columns::default(),
            header: false,
            preferred: Vec::new(),
            longest_row: LONGEST_ROW,
            skip_bad: false,
        }
    }
}

impl Layout {
    /// The default layout with a usual delimiter. Invalid rows are skipped.
    pub fn lenient(usual_delimiter: u8) -> Self {
        Self {
            usual_delimiter: Some(usual_delimiter),
            skip_bad: true,
            ..Self::default()
        }
    }

    fn quoting(&self, delimiter: u8) -> Quoting {
        self.quoting.unwrap_or_else(|| Quoting::usual(delimiter))
    }

    /// The delimiter of the first line.
    fn delimiter_of_line(&self, name: &str, line: &[u8], headed: bool) -> u8 {
        let usual = self.usual_delimiter.unwrap_or_else(|| delimiter_of(name));
        if !headed {
            let count = |delimiter: u8| line.iter().filter(|byte| **byte == delimiter).count();
            let most = DELIMITERS
                .into_iter()
                .rev()
                .max_by_key(|delimiter| count(*delimiter))
                .unwrap_or(usual);
            return if count(usual) > 0 { usual } else { most };
        }
        let fits = |delimiter: &u8| {
            let cells = cells_of(line, *delimiter, self.quoting(*delimiter));
            cells
                .is_some_and(|cells| cells.len() > 1 && Places::find(&cells, &self.columns).is_ok())
        };
        std::iter::once(usual)
            .chain(DELIMITERS)
            .find(fits)
            .unwrap_or(usual)
    }
}

/// The delimiter of a file name, without the extensions of compressed files.
pub fn delimiter_of(name: &str) -> u8 {
    let name = name.to_lowercase();
    let packed = [".gz", ".xz", ".zst", ".bz2"];
    let bare = packed
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    if bare.ends_with(".tsv") || bare.ends_with(".tab") {
        b'\t'
    } else {
        b','
    }
}

/// The delimiter of a line `sep=;`, which Excel writes and reads before the header.
pub fn declared_delimiter(line: &[u8]) -> Option<u8> {
    let line = line
        .strip_prefix(b"\"")
        .and_then(|line| line.strip_suffix(b"\""))
        .unwrap_or(line);
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter] if delimiter.is_ascii() => {
            Some(*delimiter)
        }
        _ => None,
    }
}

/// The delimiter for messages.
fn in_words(delimiter: u8) -> String {
    if delimiter == b'\t' {
        "a tab".to_owned()
    } else {
        format!("{:?}", char::from(delimiter))
    }
}

/// Reads a table. Rows with the same identifier form one concept, with all their names.
///
/// # Errors
/// If the file cannot be read, a needed column is missing, a quote is not closed or is closed on a
/// later line inside a cell, or a row is too long. A row that has another number of fields, a
/// misplaced quote, no id or name, or is not UTF-8 is an error, too, or a counted skip if the
/// layout says so.
pub fn read(
    input: Input<'_>,
    layout: &Layout,
    table: &mut ConceptTable,
    report: &mut Report,
) -> Result<()> {
    // The layout has the limit on rows.
    let Input {
        name,
        reader,
        tick,
        longest: _,
    } = input;
    let headed = layout.header || !layout.columns.any_numbered();
    let mut rows = Rows::new(name, reader, layout.longest_row)?;
    let delimiter = find_delimiter(&mut rows, name, layout, headed, report)?;
    rows.set(delimiter, layout.quoting(delimiter));
    let mut row = Row::default();
    let columns = match headed {
        true => Some(read_header(&mut rows, &mut row, name, layout, report)?),
        false => None,
    };
    let mut reading = Reading {
        name,
        file: Rc::from(name),
        layout,
        delimiter,
        headed,
        columns,
        table,
        report,
    };
    loop {
        tick()?;
        if !rows.next(&mut row)? {
            return Ok(());
        }
        reading.add(&mut row)?;
    }
}

/// The delimiter: that of the layout, or that which the first line declares, which is skipped, or
/// that of the first line.
fn find_delimiter(
    rows: &mut Rows<'_>,
    name: &str,
    layout: &Layout,
    headed: bool,
    report: &mut Report,
) -> Result<u8> {
    let declared = rows.peek()?.and_then(declared_delimiter);
    if declared.is_some() {
        rows.skip_line();
    }
    let first = rows.peek()?.unwrap_or_default();
    if let Some(delimiter) = layout.delimiter.or(declared) {
        return Ok(delimiter);
    }
    let delimiter = layout.delimiter_of_line(name, first, headed);
    if delimiter != layout.usual_delimiter.unwrap_or_else(|| delimiter_of(name)) {
        report.note(OTHER_DELIMITER, || {
            format!("{name}: {}", in_words(delimiter))
        });
    }
    Ok(delimiter)
}

/// The columns of a table, and their number.
type WidthAndPlaces = (usize, Places);

/// Finds the columns in the header, and notes those that have no role or another name.
fn read_header(
    rows: &mut Rows<'_>,
    row: &mut Row,
    name: &str,
    layout: &Layout,
    report: &mut Report,
) -> Result<WidthAndPlaces> {
    let no_header = || {
        Error::input(format!(
            "{name}: the table has no header line with column names"
        ))
    };
    if !rows.next(row)? {
        return Err(no_header());
    }
    let at = row.line;
    if let Some(fault) = &row.fault {
        return Err(Error::input(format!("{name}: {fault}")));
    }
    let header = row
        .texts()
        .map_err(|bad| Error::input(format!("{name}: line {at}: {}", in_field(bad))))?;
    let header: Vec<String> = header.into_iter().map(str::to_owned).collect();
    if header.iter().all(|name| name.trim().is_empty()) {
        return Err(no_header());
    }
    let found =
        Places::find(&header, &layout.columns).map_err(|why| why.context(name.to_owned()))?;
    for (_, unused) in header.iter().enumerate().filter(|(at, _)| !found.uses(*at)) {
        report.note(UNUSED, || format!("{name}: {:?}", unused.trim()));
    }
    for (role, other) in &found.other_names {
        report.note(OTHER_NAME, || {
            format!("{name}: {other:?} for {}", role.word())
        });
    }
    Ok((header.len(), found))
}

/// The reading of the rows of a table.
struct Reading<'a> {
    name: &'a str,
    file: Rc<str>,
    layout: &'a Layout,
    delimiter: u8,
    headed: bool,
    /// Known from the header, or else from the first row.
    columns: Option<WidthAndPlaces>,
    table: &'a mut ConceptTable,
    report: &'a mut Report,
}

impl Reading<'_> {
    /// Adds a row to the concepts.
    fn add(&mut self, row: &mut Row) -> Result<()> {
        let line = row.line;
        if let Some(fault) = row.fault.take() {
            return self.refuse(BAD_QUOTE, fault);
        }
        let cells = match row.texts() {
            Ok(cells) => cells,
            Err(bad) => {
                return self.refuse(NOT_UTF8, format!("line {line}: {}", in_field(bad)));
            }
        };
        // Spreadsheets write blank rows at the end.
        if cells.len() > 1 && cells.iter().all(|cell| cell.trim().is_empty()) {
            return Ok(());
        }
        if self.columns.is_none() {
            self.columns = Some(self.numbered_columns(&cells, line)?);
        }
        let Some((width, places)) = &self.columns else {
            return Ok(());
        };
        if cells.len() != *width {
            let why = self.other_width(&cells, *width, line);
            return self.refuse(RAGGED, why);
        }
        if row.lines > 1 {
            self.report.note(SEVERAL_LINES, || {
                format!("{}:{line}, {} lines", self.name, row.lines)
            });
        }
        let (concept, mark) = places.concept(&cells, &self.layout.within);
        let preferred =
            mark.is_some_and(|mark| is_preferred(mark, &concept.name, &self.layout.preferred));
        self.add_concept(concept, preferred, line)
    }

    /// Refuses or skips a row.
    fn refuse(&mut self, reason: &str, why: String) -> Result<()> {
        let name = self.name;
        if !self.layout.skip_bad {
            return Err(Error::input(format!("{name}: {why}")));
        }
        self.report.skip(reason, || format!("{name}: {why}"));
        Ok(())
    }

    /// The columns by their numbers, checked against the first row.
    fn numbered_columns(&self, cells: &[&str], line: usize) -> Result<WidthAndPlaces> {
        let name = self.name;
        let found = Places::numbered(cells.len(), &self.layout.columns)
            .map_err(|why| why.context(format!("{name}: line {line}")))?;
        if found.is_header(cells) {
            return Err(Error::input(format!(
                "{name}: line {line}: expected a row, since columns have numbers, found a header: \
                 set --header"
            )));
        }
        Ok((cells.len(), found))
    }

    /// The message about a row with another number of fields than the header or the first row.
    fn other_width(&self, cells: &[&str], width: usize, line: usize) -> String {
        let found = cells.len();
        let of = if self.headed {
            "as in the header"
        } else {
            "as in the first row"
        };
        let hint = match self.layout.quoting(self.delimiter) {
            Quoting::Cells if cells.iter().any(|cell| cell.contains('"')) => {
                " (for quoted cells over several lines see --quotes)"
            }
            _ => "",
        };
        format!("line {line}: expected {width} fields {of}, found {found}{hint}")
    }

    /// Adds the concept of a row, unless a spreadsheet program changed its identifier or it lacks
    /// a part.
    fn add_concept(&mut self, concept: Concept, preferred: bool, line: usize) -> Result<()> {
        let name = self.name;
        let place = || format!("{name}:{line}");
        if let Some((reason, why)) = merged_by_spreadsheet(&concept, self.table) {
            if !self.layout.skip_bad {
                return Err(Error::input(format!(
                    "{name}: line {line}: {why}; {AS_TEXT}"
                )));
            }
            self.report.skip(reason, || format!("{}: {why}", place()));
            return Ok(());
        }
        match tidied(concept, self.report, place) {
            Ok(concept) => {
                if change_of(&concept.id).is_some() {
                    self.report
                        .note(CHANGED_ID, || format!("{} at {}", concept.id, place()));
                }
                self.table
                    .add(concept, preferred, (&self.file, line), self.report);
            }
            Err(reason) if self.layout.skip_bad => self.report.skip(reason, place),
            Err(reason) => {
                return Err(Error::input(format!(
                    "{name}: line {line}: the concept has {reason}"
                )));
            }
        }
        Ok(())
    }
}

/// Why a row cannot be kept if a spreadsheet program changed its identifier: the reason, and what
/// was found. A changed identifier may be that of another concept, too.
fn merged_by_spreadsheet(
    concept: &Concept,
    table: &ConceptTable,
) -> Option<(&'static str, String)> {
    let id = concept.id.trim();
    let how = match change_of(id)? {
        Change::Failed => {
            let why = format!("expected an id, found {id}, which a formula wrote that failed");
            return Some((FAILED_ID, why));
        }
        Change::Rounded => "to which a spreadsheet program rounded a long number",
        Change::Date => "to which a spreadsheet program changed a code that looks like a date",
    };
    let (name, file, line) = table.first_row(id)?;
    (name.to_lowercase() != concept.name.trim().to_lowercase()).then(|| {
        let why = format!(
            "expected an id of its own for {:?}, found {id}, {how}; {name:?} has the same id \
             ({file}:{line})",
            concept.name.trim()
        );
        (MERGED_ID, why)
    })
}

/// The message for a field that is not UTF-8: its column, bytes, and the invalid byte.
fn in_field((column, bytes, at): (usize, &[u8], usize)) -> String {
    not_utf8(bytes, at, &format!("of field {column}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Longest;
    use crate::import::concepts::{Concepts, Defaults};
    use crate::import::merging::JOINED;

    fn read_with(name: &str, text: &str, layout: &Layout) -> Result<(Vec<Concept>, Report)> {
        let mut table = ConceptTable::default();
        let mut report = Report::default();
        let mut read = Vec::new();
        let mut reader = text.as_bytes();
        let mut tick = || Ok(());
        let input = Input {
            name,
            reader: &mut reader,
            tick: &mut tick,
            longest: Longest::default(),
        };
        super::read(input, layout, &mut table, &mut report)?;
        let mut take = |concept| {
            read.push(concept);
            Ok(())
        };
        table.finish(&mut Concepts::new(
            &mut take,
            Defaults::default(),
            &mut report,
        ))?;
        Ok((read, report))
    }

    fn names(concepts: &[Concept]) -> Vec<String> {
        concepts
            .iter()
            .map(|concept| {
                format!(
                    "{}={}",
                    concept.id,
                    concept.names().collect::<Vec<_>>().join("/")
                )
            })
            .collect()
    }

    fn numbered(columns: &[(Role, usize)]) -> Layout {
        let mut layout = Layout::default();
        columns
            .iter()
            .for_each(|(role, number)| layout.columns.set(*role, Column::Numbered(*number)));
        layout
    }

    #[test]
    fn the_line_of_the_delimiter_may_be_quoted_and_in_capitals() {
        assert_eq!(declared_delimiter(b"sep=;"), Some(b';'));
        assert_eq!(declared_delimiter(b"\"SEP=\t\""), Some(b'\t'));
        assert_eq!(declared_delimiter(b"sep=;;"), None);
        assert_eq!(declared_delimiter(b"separator;term"), None);
    }

    #[test]
    fn file_name_determines_the_delimiter() {
        for name in ["a.tsv", "a.TSV.gz", "a.tab.xz", "b.tsv.bz2"] {
            assert_eq!(delimiter_of(name), b'\t', "{name}");
        }
        for name in ["a.csv", "a.csv.zst", "-", "tsv"] {
            assert_eq!(delimiter_of(name), b',', "{name}");
        }
    }

    #[test]
    fn header_determines_the_delimiter_if_the_file_name_is_wrong() {
        for (name, text, noted) in [
            ("a.csv", "id;name, full;name\nR50;x;fever\n", true),
            ("a.csv", "id\tname\nR50\tfever\n", true),
            ("a.tsv", "id,name\nR50,fever\n", true),
            ("a.txt", "id|name\nR50|fever\n", true),
            ("a.csv", "sep=;\r\nid;name\r\nR50;fever\r\n", false),
            ("a.csv", "\"sep=\t\"\nid\tname\nR50\tfever\n", false),
            ("a.csv", "id,name\nR50,fever\n", false),
            ("a.csv", "id,name\rR50,fever\r", false),
        ] {
            let (concepts, report) = read_with(name, text, &Layout::default()).expect(text);
            assert_eq!(names(&concepts), ["R50=fever"], "{text:?}");
            assert_eq!(
                report.noted.contains_key(OTHER_DELIMITER),
                noted,
                "{text:?}"
            );
        }
        // A given delimiter is used.
        let layout = Layout {
            delimiter: Some(b','),
            ..Layout::default()
        };
        let message = read_with("a.csv", "id;name\nR50;fever\n", &layout)
            .expect_err("no comma")
            .to_string();
        assert!(
            message.contains(r#"expected a column "id", found the columns "id;name""#),
            "{message}"
        );
    }

    #[test]
    fn rows_of_a_concept_are_merged_under_its_preferred_name() {
        let text = "cui,name,name_status\nC1,renal failure,A\nC2,tick fever,A\n\
                    C1,kidney failure,P\nC1,failure of kidneys|RF,A\nC2,Colorado tick fever,P\n\
                    C3,cough,A\nC3,tussis,A\n";
        let (concepts, report) = read_with("a.csv", text, &Layout::default()).expect("readable");
        let expected = [
            "C1=kidney failure/renal failure/failure of kidneys/RF",
            "C2=Colorado tick fever/tick fever",
            "C3=cough/tussis",
        ];
        assert_eq!(names(&concepts), expected);
        assert_eq!(report.noted[JOINED], 4);
        let layout = Layout {
            preferred: vec!["a".into()],
            ..Layout::default()
        };
        let (concepts, _) = read_with("a.csv", text, &layout).expect("readable");
        assert_eq!(concepts[0].name, "renal failure");
    }

    #[test]
    fn tables_without_a_header_are_read_by_column_numbers() {
        // The layout of UMLS's MRCONSO: vertical bars, one at the end, no quoting.
        let text = "C1|ENG|P|\"fever|SUPPRESS|\nC1|ENG|S|pyrexia|N|\nC2|ENG|S|5\" scar|N|\n";
        let mut layout = numbered(&[(Role::Id, 1), (Role::Name, 4), (Role::Preferred, 3)]);
        layout.delimiter = Some(b'|');
        let (concepts, _) = read_with("MRCONSO.RRF", text, &layout).expect("readable");
        assert_eq!(names(&concepts), ["C1=\"fever/pyrexia", "C2=5\" scar"]);
        layout.delimiter = None;
        let (concepts, report) = read_with("MRCONSO.RRF", text, &layout).expect("readable");
        assert_eq!(concepts.len(), 2);
        assert_eq!(report.noted[OTHER_DELIMITER], 1);
        let layout = numbered(&[(Role::Id, 1), (Role::Name, 2)]);
        assert_eq!(
            names(
                &read_with("a.csv", "R50,fever\nR05,cough", &layout)
                    .expect("readable")
                    .0
            ),
            ["R50=fever", "R05=cough"]
        );
        let message = read_with("a.csv", "id,name\nR05,cough", &layout)
            .expect_err("a header")
            .to_string();
        assert!(
            message.contains("a.csv: line 1: expected a row") && message.contains("--header"),
            "{message}"
        );
        let with_header = Layout {
            header: true,
            ..layout.clone()
        };
        assert_eq!(
            names(
                &read_with("a.csv", "code,text\nR05,cough", &with_header)
                    .expect("readable")
                    .0
            ),
            ["R05=cough"]
        );
        let message = read_with("a.csv", "R50,fever\nR05", &layout)
            .expect_err("ragged")
            .to_string();
        assert!(
            message.ends_with("line 2: expected 2 fields as in the first row, found 1"),
            "{message}"
        );
    }

    #[test]
    fn quotes_in_tab_separated_tables_are_ordinary_characters() {
        let text = "concept_id\tconcept_name\n1\t\"edoxaban\n2\twarfarin\r\n\
                    3\tcasters 5\" or greater\n4\t30GX1/2\"\n5\tstatus \"Deceased\"\n6\tapixaban\n";
        let (concepts, _) = read_with("CONCEPT.tsv", text, &Layout::default()).expect("readable");
        assert_eq!(concepts.len(), 6);
        assert_eq!(
            [concepts[0].name.as_str(), concepts[5].name.as_str()],
            ["\"edoxaban", "apixaban"]
        );
        // In a CSV file the same quote is an error that names its line.
        let csv = text.replace('\t', ",");
        for skip_bad in [false, true] {
            let layout = Layout {
                skip_bad,
                ..Layout::default()
            };
            let message = read_with("CONCEPT.csv", &csv, &layout)
                .expect_err("an open quote")
                .to_string();
            assert!(
                message.contains("CONCEPT.csv: line 2: expected a closing quote"),
                "{message}"
            );
        }
        let message = read_with("a.tsv", "id\tname\n1\t\"two\nlines\"\n", &Layout::default())
            .expect_err("cut")
            .to_string();
        assert!(message.contains("line 3: expected 2 fields"), "{message}");
        let layout = Layout {
            quoting: Some(Quoting::Csv),
            ..Layout::default()
        };
        let (concepts, _) =
            read_with("a.tsv", "id\tname\n1\t\"two\nlines\"\n", &layout).expect("readable");
        assert_eq!(names(&concepts), ["1=two lines"]);
    }

    #[test]
    fn row_above_the_limit_is_an_error() {
        let layout = Layout {
            longest_row: 1 << 20,
            skip_bad: true,
            ..Layout::default()
        };
        let endless = format!("id,name\n1,fever\n2,\"{}", "word\n".repeat(1 << 19));
        let message = read_with("a.csv", &endless, &layout)
            .expect_err("too long")
            .to_string();
        assert!(
            message.starts_with("a.csv: line 3: expected a row of at most 1 MiB")
                && message.contains("--max-row"),
            "{message}"
        );
        let long = format!("id,name\n1,{}\n", "x".repeat(2 << 20));
        let message = read_with("a.csv", &long, &layout)
            .expect_err("too long")
            .to_string();
        assert!(
            message.contains("line 2: expected at most 1048576 bytes in one line"),
            "{message}"
        );
    }

    #[test]
    fn ids_that_a_spreadsheet_made_equal_are_an_error() {
        for (rows, found) in [
            (
                "4.2E+14,gout\n4.2E+14,asthma\n",
                "a.csv: line 3: expected an id of its own",
            ),
            (
                "May-51,gout\nMay-51,asthma\n",
                "a code that looks like a date",
            ),
            (
                "4.2E+14,gout\n4.2E+14,asthma\n",
                "\"gout\" has the same id (a.csv:2)",
            ),
            (
                "1,gout\n#N/A,asthma\n",
                "a.csv: line 3: expected an id, found #N/A",
            ),
        ] {
            let text = format!("id,name\n{rows}");
            let message = read_with("a.csv", &text, &Layout::default());
            let message = message.expect_err(rows).to_string();
            assert!(message.contains(found), "{message}");
            assert!(message.contains("format the column as text"), "{message}");
        }
    }

    #[test]
    fn rows_whose_id_a_spreadsheet_made_equal_are_skipped_if_bad_rows_are() {
        let text = "id,name\n4.2E+14,gout\n4.2E+14,asthma\n#N/A,rash\n#REF!,cough\n5,fever\n";
        let layout = Layout {
            skip_bad: true,
            ..Layout::default()
        };
        let (concepts, report) = read_with("a.csv", text, &layout).expect("readable");
        assert_eq!(names(&concepts), ["4.2E+14=gout", "5=fever"]);
        assert_eq!(
            [report.skipped(MERGED_ID), report.skipped(FAILED_ID)],
            [1, 2]
        );
        assert_eq!(report.noted[CHANGED_ID], 1);
    }

    #[test]
    fn changed_ids_that_differ_are_noted() {
        let text = "id,name\n4.2E+14,gout\n4.2E+14,gout\n1751-07-01,asthma\n1751-7,rash\n";
        let (concepts, report) = read_with("a.csv", text, &Layout::default()).expect("readable");
        assert_eq!(
            names(&concepts),
            ["4.2E+14=gout", "1751-07-01=asthma", "1751-7=rash"]
        );
        assert_eq!(report.noted[CHANGED_ID], 3);
        assert_eq!(report.examples[CHANGED_ID][2], "1751-07-01 at a.csv:4");
    }

    #[test]
    fn blank_rows_are_ignored() {
        let (concepts, report) =
            read_with("a.csv", "id,name\nR50,fever\n,\n, \n", &Layout::default())
                .expect("readable");
        assert_eq!(names(&concepts), ["R50=fever"]);
        assert_eq!(report.skipped_in_all(), 0);
    }
}
