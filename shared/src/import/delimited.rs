//! Concept tables with a header line and separated columns: CSV, TSV and their kin.

use super::concepts::{Concepts, tidied};
use super::unix_lines::UnixLines;
use super::{Input, read_error};
use crate::error::{Error, Result};
use crate::kb::Concept;
use csv::{ErrorKind, StringRecord};
use std::io::Read;

/// The reason for skipping a row with more or fewer fields than the header.
pub const RAGGED: &str = "the row has another number of fields than the header";
/// The reason for skipping a row that is not UTF-8.
pub const NOT_UTF8: &str = "the row is not UTF-8";
/// The reason under which rows over several lines are noted: an open quote can swallow half a file that way.
pub const SEVERAL_LINES: &str = "one row over several lines (is a quote left open?)";
/// The reason under which a column is noted that is none of those that are looked for.
pub const UNUSED: &str = "column that is not used";

/// Put behind the last line, so that a quote that is left open at the end is seen: it then swallows this.
const END: &str = "\n\0";

/// Where a table keeps the parts of a concept. A name that is `None` means the default one, which may then be absent
/// (but for `id` and `name`).
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The identifier; by default `id`.
    pub id: Option<String>,
    /// The preferred name; by default `name`.
    pub name: Option<String>,
    /// Other names, by default `synonyms`.
    pub synonyms: Option<String>,
    /// Names of semantic types, by default `types`.
    pub types: Option<String>,
    /// Identifiers of semantic types, by default `type_ids`.
    pub type_ids: Option<String>,
    /// The description, by default `definition`.
    pub definition: Option<String>,
    /// The same concept elsewhere, by default `xrefs`.
    pub xrefs: Option<String>,
    /// The vocabularies, by default `sources`.
    pub sources: Option<String>,
}

/// How a table is to be read.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The byte between fields; `None` means a tab for `.tsv` and `.tab`, else a comma.
    pub delimiter: Option<u8>,
    /// Quotes are letters like any other.
    pub no_quotes: bool,
    /// What separates several values in one field.
    pub within: String,
    /// Which column is what.
    pub columns: Columns,
    /// Rows that cannot be read are counted instead of ending the import.
    pub skip_bad: bool,
}

impl Layout {
    /// The default columns with a delimiter; rows that cannot be read are counted.
    pub fn lenient(delimiter: u8) -> Self {
        let (within, columns) = ("|".to_owned(), Columns::default());
        Self { delimiter: Some(delimiter), no_quotes: false, within, columns, skip_bad: true }
    }
}

/// The delimiter that a file's name tells, behind the endings of compressed files.
pub fn delimiter_of(name: &str) -> u8 {
    let name = name.to_lowercase();
    let bare = [".gz", ".xz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    if bare.ends_with(".tsv") || bare.ends_with(".tab") { b'\t' } else { b',' }
}

/// Column numbers; the optional ones may be missing.
struct Places {
    id: usize,
    name: usize,
    synonyms: Option<usize>,
    types: Option<usize>,
    type_ids: Option<usize>,
    definition: Option<usize>,
    xrefs: Option<usize>,
    sources: Option<usize>,
}

impl Places {
    /// Finds the columns by their names, whatever their case.
    fn find(header: &StringRecord, columns: &Columns) -> Result<Self> {
        let found = || header.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let place = |asked: &Option<String>, default: &str, needed: bool| {
            let name = asked.as_deref().unwrap_or(default).trim().to_lowercase();
            let mut matching = header.iter().enumerate().filter(|(_, found)| found.trim().to_lowercase() == name);
            match (matching.next(), matching.next()) {
                (Some(_), Some(_)) => Err(Error::input(format!("the column {name:?} stands twice: {}", found()))),
                (Some((at, _)), None) => Ok(Some(at)),
                (None, _) if needed || asked.is_some() => Err(Error::input(format!(
                    "no column {name:?}; the columns are {} (is the delimiter right? see --delimiter and the --*-column options)",
                    found()
                ))),
                (None, _) => Ok(None),
            }
        };
        let needed = |asked: &Option<String>, default| {
            place(asked, default, true)?.ok_or_else(|| Error::input(format!("no column {default:?}")))
        };
        Ok(Self {
            id: needed(&columns.id, "id")?,
            name: needed(&columns.name, "name")?,
            synonyms: place(&columns.synonyms, "synonyms", false)?,
            types: place(&columns.types, "types", false)?,
            type_ids: place(&columns.type_ids, "type_ids", false)?,
            definition: place(&columns.definition, "definition", false)?,
            xrefs: place(&columns.xrefs, "xrefs", false)?,
            sources: place(&columns.sources, "sources", false)?,
        })
    }

    fn all(&self) -> [Option<usize>; 8] {
        let Self { id, name, synonyms, types, type_ids, definition, xrefs, sources } = *self;
        [Some(id), Some(name), synonyms, types, type_ids, definition, xrefs, sources]
    }

    fn concept(&self, row: &StringRecord, within: &str) -> Concept {
        let field = |at: usize| row.get(at).unwrap_or_default().to_owned();
        let list = |at: Option<usize>| {
            let cell = at.and_then(|at| row.get(at)).unwrap_or_default();
            let values = if within.is_empty() { vec![cell] } else { cell.split(within).collect() };
            values.into_iter().filter(|value| !value.trim().is_empty()).map(str::to_owned).collect()
        };
        Concept {
            id: field(self.id),
            name: field(self.name),
            synonyms: list(self.synonyms),
            types: list(self.types),
            type_ids: list(self.type_ids),
            definition: self.definition.map(field),
            xrefs: list(self.xrefs),
            sources: list(self.sources),
        }
    }
}

/// Reads one table.
///
/// # Errors
/// If the file cannot be read, a needed column is missing (the columns found are listed), a quote is never closed, or a row has
/// another number of fields, is not UTF-8, or has no id or name; rows are counted skips instead if the layout says so.
pub fn read(input: Input<'_>, layout: &Layout, concepts: &mut Concepts<'_>) -> Result<()> {
    let Input { name, reader, tick } = input;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(layout.delimiter.unwrap_or_else(|| delimiter_of(name)))
        .quoting(!layout.no_quotes)
        .flexible(true)
        .from_reader(UnixLines::new(Read::chain(reader, END.as_bytes())));
    let header = reader.headers().map_err(|cause| bad_row(name, 1, cause).1)?;
    if header.iter().all(|name| name.trim().is_empty()) {
        return Err(Error::input(format!("{name}: expected a header line with column names, found none")));
    }
    let places = Places::find(header, &layout.columns).map_err(|why| why.context(name.to_owned()))?;
    let columns = header.len();
    for (_, unused) in header.iter().enumerate().filter(|(at, _)| !places.all().contains(&Some(*at))) {
        concepts.report.note(UNUSED, || format!("{name}: {:?}", unused.trim()));
    }
    let mut row = StringRecord::new();
    loop {
        tick()?;
        match reader.read_record(&mut row) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(cause) => {
                refuse(bad_row(name, reader.position().line().saturating_sub(1), cause), layout, concepts)?;
                continue;
            }
        }
        if row.len() == 1 && row[0] == END[1..] {
            return Ok(());
        }
        let breaks = row.iter().map(|field| field.bytes().filter(|byte| *byte == b'\n').count()).sum::<usize>();
        // Counted from the end, because the row's own position is before the blank lines that were passed over.
        let line = reader.position().line().saturating_sub(1 + breaks as u64);
        if row.iter().next_back().is_some_and(|last| last.trim_end_matches('\n').ends_with('\0')) {
            let begins = line + 1;
            return Err(Error::input(format!(
                "{name}: line {begins}: a quote is opened in this row and never closed (if quotes are letters here, see --no-quotes)"
            )));
        }
        if row.len() != columns {
            let found = row.len();
            let why =
                Error::input(format!("{name}: line {line}: expected {columns} fields as in the header, found {found}"));
            refuse((Some(RAGGED), why), layout, concepts)?;
            continue;
        }
        let place = || format!("{name}:{line}");
        if breaks > 0 {
            concepts.report.note(SEVERAL_LINES, || format!("{}, {} lines", place(), breaks + 1));
        }
        match tidied(places.concept(&row, &layout.within), concepts.report, place) {
            Ok(concept) => concepts.push(concept, place)?,
            Err(reason) if layout.skip_bad => concepts.report.skip(reason, place),
            Err(reason) => {
                return Err(Error::input(format!("{name}: line {line}: the concept has {reason}")));
            }
        }
    }
}

/// Counts a bad row where the layout lets it be skipped.
fn refuse((reason, why): (Option<&str>, Error), layout: &Layout, concepts: &mut Concepts<'_>) -> Result<()> {
    match reason {
        Some(reason) if layout.skip_bad => concepts.report.skip(reason, || why.to_string()),
        _ => return Err(why),
    }
    Ok(())
}

/// The reason for which a row that ends at a line may be skipped, if it may, and the error if it must not.
fn bad_row(name: &str, line: u64, cause: csv::Error) -> (Option<&'static str>, Error) {
    let at = format!("{name}: line {line}");
    match cause.into_kind() {
        ErrorKind::Utf8 { err, .. } => {
            let field = err.field() + 1;
            (Some(NOT_UTF8), Error::input(format!("{at}: expected UTF-8, found another encoding in field {field}")))
        }
        ErrorKind::Io(cause) => (None, read_error(name, cause)),
        other => (None, Error::input(format!("{at}: {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_delimiter() {
        let of = delimiter_of;
        assert_eq!((of("a.tsv"), of("a.TSV.gz"), of("a.tab.xz")), (b'\t', b'\t', b'\t'));
        assert_eq!((of("a.csv"), of("a.csv.zst"), of("-"), of("tsv")), (b',', b',', b',', b','));
    }

    #[test]
    fn columns_are_found_by_name_in_any_case() {
        let header = StringRecord::from(vec!["Preferred", "Code ", "SYNONYMS"]);
        let columns = Columns { id: Some("code".into()), name: Some("preferred".into()), ..Columns::default() };
        let places = Places::find(&header, &columns).expect("they are there");
        let row = StringRecord::from(vec!["fever", "R50", "pyrexia|febris"]);
        let concept = places.concept(&row, "|");
        assert_eq!((concept.id.as_str(), concept.name.as_str()), ("R50", "fever"));
        assert_eq!((concept.synonyms, concept.definition), (vec!["pyrexia".to_owned(), "febris".to_owned()], None));
        let say = |columns: &Columns| Places::find(&header, columns).err().expect("missing").to_string();
        assert!(
            say(&Columns::default()).contains(r#"no column "id"; the columns are "Preferred", "Code ", "SYNONYMS""#)
        );
        // An optional column that is asked for by name must be there.
        assert!(say(&Columns { definition: Some("gloss".into()), ..columns }).contains(r#"no column "gloss""#));
    }
}
