//! Reads tables of codes: text with tabs and a header.
//!
//! Codes of concepts have the columns `id`, `system`, `code` and `match`, the preferred code of a
//! concept first. Names of codes have the columns `system`, `code`, `display` and, if it is known,
//! `billable` (1 or 0). Names of LOINC may have the columns of LOINC's own table, `LOINC_NUM` and
//! `LONG_COMMON_NAME`. Other columns are ignored.

use super::{CodeList, Match, Name, System};
use crate::ConceptId;
use crate::clean;
use crate::error::{Error, Result};

/// The columns of a table by the names in its header.
#[derive(Clone, Debug, Default)]
struct Header(Vec<String>);

impl Header {
    fn read(line: &str) -> Self {
        Self(
            line.split('\t')
                .map(|name| name.trim().to_owned())
                .collect(),
        )
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|column| column == name)
    }

    /// The places of columns that the table must have.
    fn places<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N]> {
        let mut places = [0; N];
        for (place, name) in places.iter_mut().zip(names) {
            *place = self.find(name).ok_or_else(|| {
                Error::input(format!(
                    "expected a header with the columns {} between tabs, found {:?}",
                    names.join(", "),
                    self.0.join("\t")
                ))
            })?;
        }
        Ok(places)
    }
}

/// The fields of a line at these places.
fn fields<const N: usize>(line: &str, places: [usize; N]) -> Result<[&str; N]> {
    let all: Vec<&str> = line.split('\t').collect();
    let mut fields = [""; N];
    for (field, place) in fields.iter_mut().zip(places) {
        *field = all.get(place).ok_or_else(|| {
            let (expected, found) = (place + 1, all.len());
            Error::input(format!(
                "expected at least {expected} fields between tabs, found {found}; complete the \
                 line or take it out"
            ))
        })?;
    }
    Ok(fields)
}

fn system(field: &str) -> Result<System> {
    System::of_prefix(field).ok_or_else(|| {
        Error::input(format!(
            "expected a code system ({}), found {field:?}; correct it or take the line out",
            System::prefixes()
        ))
    })
}

fn check_code(code: &str) -> Result<()> {
    if code.is_empty() || code.contains(|c: char| c.is_whitespace() || clean::breaks_line(c)) {
        return Err(Error::input(format!(
            "expected a code without blanks, found {code:?}; correct it or take the line out"
        )));
    }
    Ok(())
}

/// Reads codes of concepts.
#[derive(Debug, Default)]
pub struct CodeReader {
    list: CodeList,
    places: Option<[usize; 4]>,
    unknown: usize,
    first_unknown: Option<String>,
    repeated: usize,
}

impl CodeReader {
    /// A reader before its first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a line; the first one is the header. Blank lines are skipped. `find` finds the concept
    /// of an identifier. Rows of other identifiers are counted ([`CodeReader::unknown`]).
    ///
    /// # Errors
    /// If a column is missing, the system or the match is unknown, the code has blanks, or `find`
    /// fails.
    pub fn read_line(
        &mut self,
        line: &str,
        find: &mut dyn FnMut(&str) -> Result<Option<ConceptId>>,
    ) -> Result<()> {
        let line = line.trim_end_matches(['\r', '\n']);
        if line.trim().is_empty() {
            return Ok(());
        }
        let Some(places) = self.places else {
            self.places = Some(Header::read(line).places(["id", "system", "code", "match"])?);
            return Ok(());
        };
        let [id, prefix, code, matches] = fields(line, places)?;
        let system = system(prefix)?;
        check_code(code)?;
        let matches = Match::of_name(matches).ok_or_else(|| {
            Error::input(format!(
                "expected a match (exact, broader, parts), found {matches:?}; correct it or take \
                 the line out"
            ))
        })?;
        match find(id)? {
            None => {
                self.unknown += 1;
                self.first_unknown.get_or_insert_with(|| id.to_owned());
            }
            Some(concept) => {
                let is_new = self.list.push(concept, system, code, matches);
                self.repeated += usize::from(!is_new);
            }
        }
        Ok(())
    }

    /// The number of rows whose identifier no concept has, and the first such identifier.
    pub fn unknown(&self) -> Option<(usize, &str)> {
        let first = self.first_unknown.as_deref()?;
        Some((self.unknown, first))
    }

    /// The number of rows that repeat a code of their concept. The first of them counts.
    pub fn repeated(&self) -> usize {
        self.repeated
    }

    /// The codes with their names.
    ///
    /// # Errors
    /// If no header was read.
    pub fn finish(self, names: NameReader) -> Result<CodeList> {
        if self.places.is_none() {
            return Err(Error::input(
                "expected a header with the columns id, system, code, match between tabs, found an \
                 empty file",
            ));
        }
        let mut list = self.list;
        list.names = names.names;
        Ok(list)
    }
}

/// Reads names of codes, from one table or several.
#[derive(Debug, Default)]
pub struct NameReader {
    names: std::collections::HashMap<(System, String), Name>,
    columns: Option<NameColumns>,
}

#[derive(Clone, Copy, Debug)]
enum NameColumns {
    /// System, code, display.
    Any([usize; 3], Option<usize>),
    /// LOINC's own columns: code, display.
    Loinc([usize; 2]),
}

impl NameReader {
    /// A reader before its first table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins another table, with a header of its own.
    pub fn begin(&mut self) {
        self.columns = None;
    }

    /// The name of a code, if one was read.
    pub fn display(&self, system: System, code: &str) -> Option<&str> {
        let name = self.names.get(&(system, code.to_owned()))?;
        Some(name.display.as_str()).filter(|display| !display.is_empty())
    }

    /// Reads a line; the first one of a table is the header. Blank lines are skipped.
    ///
    /// # Errors
    /// If a column is missing, the system is unknown, the code has blanks, or the name has control
    /// characters.
    pub fn read_line(&mut self, line: &str) -> Result<()> {
        let line = line.trim_end_matches(['\r', '\n']);
        if line.trim().is_empty() {
            return Ok(());
        }
        let Some(columns) = self.columns else {
            let header = Header::read(line);
            self.columns = Some(match header.find("LOINC_NUM") {
                Some(_) => NameColumns::Loinc(header.places(["LOINC_NUM", "LONG_COMMON_NAME"])?),
                None => NameColumns::Any(
                    header.places(["system", "code", "display"])?,
                    header.find("billable"),
                ),
            });
            return Ok(());
        };
        let (system, code, display, billable) = match columns {
            NameColumns::Loinc(places) => {
                let [code, display] = fields(line, places)?;
                (System::Loinc, code, display, "")
            }
            NameColumns::Any(places, billable) => {
                let [prefix, code, display] = fields(line, places)?;
                let billable = billable.and_then(|place| line.split('\t').nth(place));
                (system(prefix)?, code, display, billable.unwrap_or_default())
            }
        };
        check_code(code)?;
        if display.contains(clean::breaks_line) {
            return Err(Error::input(format!(
                "expected a name without control characters, found {display:?}"
            )));
        }
        let billable = match billable {
            "" => None,
            "0" => Some(false),
            "1" => Some(true),
            other => {
                return Err(Error::input(format!(
                    "expected 1, 0 or nothing in the column `billable`, found {other:?}"
                )));
            }
        };
        let display = display.trim().to_owned();
        let name = Name { display, billable };
        self.names.insert((system, code.to_owned()), name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "id\tsystem\tcode\tmatch\tsource";

    fn find(id: &str) -> Result<Option<ConceptId>> {
        Ok(id
            .strip_prefix('D')
            .and_then(|at| at.parse().ok())
            .map(ConceptId))
    }

    fn read(lines: &[&str]) -> Result<CodeReader> {
        let mut reader = CodeReader::new();
        for line in lines {
            reader.read_line(line, &mut find)?;
        }
        Ok(reader)
    }

    #[test]
    fn rows_of_unknown_identifiers_and_repeated_codes_are_counted() {
        let reader = read(&[
            HEADER,
            "D1\tICD10CM\tR05.9\texact\tmondo",
            "X7\tICD10CM\tR05.9\texact\tmondo",
            "D1\tICD10CM\tR05.9\tbroader\thand",
            "",
            "X8\tLOINC\t1-8\texact\thand",
        ])
        .expect("whole");
        assert_eq!(reader.unknown(), Some((2, "X7")));
        assert_eq!(reader.repeated(), 1);
        let list = reader.finish(NameReader::new()).expect("a header");
        assert_eq!((list.len(), list.has(System::Loinc)), (1, false));
        assert_eq!(list.rows[0].matches, Match::Exact);
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let reader = read(&["match\tnote\tcode\tid\tsystem", "parts\t\t1191\tD0\tRXNORM"]);
        let list = reader
            .expect("whole")
            .finish(NameReader::new())
            .expect("a header");
        assert_eq!(list.rows[0].code, "1191");
        assert_eq!(list.rows[0].matches, Match::Parts);
    }

    #[test]
    fn bad_rows_are_errors_that_say_what_to_do() {
        for (line, expected) in [
            ("D1\tOPCS4\tX1\texact", "expected a code system (SNOMEDCT"),
            (
                "D1\tICD10CM\tR05 .9\texact",
                "expected a code without blanks",
            ),
            ("D1\tICD10CM\t\texact", "expected a code without blanks"),
            (
                "D1\tICD10CM\tR05.9\tclose",
                "expected a match (exact, broader, parts)",
            ),
            ("D1\tICD10CM\tR05.9", "expected at least 4 fields"),
        ] {
            let message = read(&[HEADER, line]).expect_err(line).to_string();
            assert!(message.contains(expected), "{message}");
            assert!(message.contains("take"), "{message}");
        }
        let message = read(&["id\tcode"]).expect_err("no header").to_string();
        assert!(message.contains("id, system, code, match"), "{message}");
        let empty = CodeReader::new().finish(NameReader::new());
        assert!(empty.is_err());
    }

    #[test]
    fn names_are_read_from_tables_with_either_header() {
        let mut names = NameReader::new();
        for line in ["system\tcode\tdisplay\tbillable", "ICD10CM\tR05\tCough\t0"] {
            names.read_line(line).expect("whole");
        }
        names.begin();
        for line in ["LOINC_NUM\tLONG_COMMON_NAME", "8310-5\tBody temperature"] {
            names.read_line(line).expect("whole");
        }
        let of = |system, code: &str| names.names[&(system, code.to_owned())].clone();
        assert_eq!(of(System::Icd10Cm, "R05").billable, Some(false));
        assert_eq!(of(System::Loinc, "8310-5").display, "Body temperature");
        assert!(names.read_line("8310 5\tBody temperature").is_err());
    }
}
