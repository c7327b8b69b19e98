//! LOINC: `Loinc.csv`, with successors of deprecated codes in `MapTo.csv` and names for consumers
//! in `ConsumerName.csv`.

use super::Sink;
use super::host::Host;
use super::parents::Place;
use super::redirects::Reason;
use super::release::{ReleaseFile, ReleaseFiles, one_named};
use crate::import::rows::{LONGEST_ROW, Quoting, for_each_row};
use crate::import::{Input, Longest};
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::BufRead;

/// The prefixes of identifiers in mappings.
pub const PREFIXES: &[&str] = &["LOINC", "LNC"];

/// The source of the concepts, if no other is given.
pub const SOURCE: &str = "LNC";
/// The note on a discouraged code that the options leave out.
pub const DISCOURAGED: &str = "discouraged code left out";
/// The note on a deprecated code: it has a redirect to its successor.
pub const DEPRECATED: &str = "deprecated code left out";
/// The note on a code with terms under the copyright of others.
pub const COPYRIGHT: &str = "code with a copyright notice of others (kept)";
/// The note on a deprecated code with several successors.
pub const SEVERAL: &str = "deprecated code with several successors (none used)";
/// The reason for skipping a row with a misplaced quote, or another number of cells than the
/// header.
pub const BAD_ROW: &str = "row is not valid";
/// The reason for skipping a row with an unknown status.
pub const STATUS: &str = "unknown status";

/// The names of `CLASSTYPE`, from 1.
const CLASS_TYPES: [&str; 4] = ["Laboratory", "Clinical", "Claims Attachment", "Survey"];

/// A column whose values become synonyms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Names {
    /// `DisplayName`: a shorter name for clinicians.
    Display,
    /// `SHORTNAME`: abbreviated parts, such as "Glucose SerPl-mCnc".
    Short,
    /// `CONSUMER_NAME`, and the names of `ConsumerName.csv`.
    Consumer,
    /// `COMPONENT`: what is measured. Many codes share it.
    Component,
    /// `RELATEDNAMES2`: words that help to find the code, most of which are not names of it.
    Related,
}

/// What to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The columns whose values become synonyms.
    pub names: BTreeSet<Names>,
    /// Whether discouraged codes are kept.
    pub discouraged: bool,
    /// Whether invalid rows are counted and skipped.
    pub skip_bad: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            names: [Names::Display, Names::Short, Names::Consumer].into(),
            discouraged: false,
            skip_bad: false,
        }
    }
}

/// The names of other files, by code. They are read before the table. A name may come twice.
#[derive(Debug, Default)]
pub struct Others {
    successors: HashMap<String, Vec<String>>,
    consumer_names: HashMap<String, Vec<String>>,
}

impl Others {
    /// Reads `MapTo.csv`: the successors of deprecated codes.
    ///
    /// # Errors
    /// If the file cannot be read or lacks a column.
    pub fn read_map(
        &mut self,
        name: &str,
        reader: &mut dyn BufRead,
        options: &Options,
        sink: &mut Sink<'_, '_>,
    ) -> Result<()> {
        let columns = ["LOINC", "MAP_TO"];
        pairs(name, reader, columns, &mut self.successors, options, sink)
    }

    /// Reads `ConsumerName.csv`.
    ///
    /// # Errors
    /// If the file cannot be read or lacks a column.
    pub fn read_consumer_names(
        &mut self,
        name: &str,
        reader: &mut dyn BufRead,
        options: &Options,
        sink: &mut Sink<'_, '_>,
    ) -> Result<()> {
        let columns = ["LoincNumber", "ConsumerName"];
        let into = &mut self.consumer_names;
        pairs(name, reader, columns, into, options, sink)
    }
}

/// Reads a release: `Loinc.csv` or `LoincTableCore.csv`, and if present `MapTo.csv` and
/// `ConsumerName.csv`.
///
/// # Errors
/// If the table is missing, or as [`read_table`].
pub fn read(release: &ReleaseFiles, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
    let files = &release.files;
    let (table, host) = (table_of(release)?, sink.host());
    // A release has a MapTo.csv in the folders of both tables.
    let folder = |file: &ReleaseFile| {
        let name = file.name();
        name.rsplit_once('/')
            .map_or("", |(folder, _)| folder)
            .to_owned()
    };
    let beside = |wanted: &str| {
        let named = || {
            let all = files.iter();
            all.filter(|file| file.plain_name().eq_ignore_ascii_case(wanted))
        };
        named()
            .find(|file| folder(file) == folder(table))
            .or_else(|| named().next())
    };
    let mut others = Others::default();
    if let Some(file) = beside("MapTo.csv") {
        with(host, file, |name, reader| {
            others.read_map(name, reader, options, sink)
        })?;
    }
    if let Some(file) = beside("ConsumerName.csv") {
        with(host, file, |name, reader| {
            others.read_consumer_names(name, reader, options, sink)
        })?;
    }
    with(host, table, |name, reader| {
        read_table(name, reader, &others, options, sink)
    })?;
    if !sink.wants_parents() {
        return Ok(());
    }
    let tree = TREES.iter().find_map(|name| beside(name)).ok_or_else(|| {
        Error::input(format!(
            "--hierarchy: expected {}, found neither; name the folder or ZIP archive of a release",
            TREES.join(" or ")
        ))
    })?;
    with(host, tree, |name, reader| {
        read_tree(name, reader, options, sink)
    })
}

/// The files with the multi-axial hierarchy, the newer one first.
const TREES: [&str; 2] = ["ComponentHierarchyBySystem.csv", "MultiAxialHierarchy.csv"];

/// Reads the multi-axial hierarchy. Its parts, such as LP7786-9, are codes of LOINC and no concepts.
///
/// # Errors
/// If the file cannot be read or lacks a column.
pub fn read_tree(
    name: &str,
    reader: &mut dyn BufRead,
    options: &Options,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    let needed = ["IMMEDIATE_PARENT", "CODE", "CODE_TEXT"];
    table(name, reader, &needed, options, sink, |sink, row, line| {
        let mut node = |code: &str, text: &str| -> String {
            if !code.starts_with("LP") {
                return code.to_owned();
            }
            let id = format!("LOINC:{code}");
            sink.parents().code(&id, text);
            id
        };
        let child = node(row.get("CODE").trim(), row.get("CODE_TEXT"));
        let parent = node(row.get("IMMEDIATE_PARENT").trim(), "");
        sink.parent(&child, &parent, Place { file: name, line });
        Ok(())
    })
}

/// The main table: `Loinc.csv`, else `LoincTableCore.csv`, else the only file.
fn table_of(release: &ReleaseFiles) -> Result<&ReleaseFile> {
    let files = &release.files;
    for name in ["Loinc.csv", "LoincTableCore.csv"] {
        if let Some(table) = one_named(files, name)? {
            return Ok(table);
        }
    }
    // A table may have been renamed.
    let others = ["MapTo.csv", "ConsumerName.csv"];
    let mut rest = files.iter().filter(|file| {
        !others
            .iter()
            .any(|other| file.plain_name().eq_ignore_ascii_case(other))
    });
    match (rest.next(), rest.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Error::input(format!(
            "{}: there is no Loinc.csv; name the file, or the folder or ZIP archive of a release",
            release.given.join(", ")
        ))),
    }
}

fn with(
    host: &dyn Host,
    file: &ReleaseFile,
    read: impl FnOnce(&str, &mut dyn BufRead) -> Result<()>,
) -> Result<()> {
    let label = file.label();
    let read = file
        .open_text()
        .and_then(|mut text| read(&label, &mut text));
    read.map_err(|error| host.read_error(&label, error))
}

/// A row whose cells have the names of the header.
struct Named<'a> {
    columns: &'a HashMap<String, usize>,
    cells: &'a [&'a str],
}

impl Named<'_> {
    /// The cell of a column; empty if the table lacks it.
    fn get(&self, column: &str) -> &str {
        let at = self.columns.get(&column.to_ascii_uppercase());
        at.and_then(|at| self.cells.get(*at)).copied().unwrap_or("")
    }
}

/// Calls `each` with the rows below the header, and their lines. The order of the columns, the case
/// of their names and further columns do not matter.
fn table<'a, 'c>(
    name: &str,
    reader: &mut dyn BufRead,
    needed: &[&str],
    options: &Options,
    sink: &mut Sink<'a, 'c>,
    mut each: impl FnMut(&mut Sink<'a, 'c>, Named<'_>, usize) -> Result<()>,
) -> Result<()> {
    let host = sink.host();
    let input = Input {
        name,
        reader,
        tick: &mut || host.check(),
        longest: Longest::default(),
    };
    let mut columns = HashMap::new();
    let mut header = false;
    let mut width = 0;
    for_each_row(input, (b',', Quoting::Csv), LONGEST_ROW, |line, cells| {
        sink.tick()?;
        if !header {
            header = true;
            let cells = cells.map_err(Error::input)?;
            width = cells.len();
            for (at, cell) in cells.iter().enumerate() {
                let column = cell.trim().to_ascii_uppercase();
                if let Some(first) = columns.insert(column, at).filter(|_| !cell.is_empty()) {
                    return Err(Error::input(format!(
                        "expected one column {}, found the columns {} and {} of this name",
                        cell.trim(),
                        first + 1,
                        at + 1
                    )));
                }
            }
            let missing = needed
                .iter()
                .find(|column| !columns.contains_key(&column.to_ascii_uppercase()));
            return match missing {
                None => Ok(()),
                Some(missing) => Err(Error::input(format!(
                    "expected a header with the column {missing}, found {}",
                    cells.join(", ").chars().take(200).collect::<String>()
                ))),
            };
        }
        let cells = cells.and_then(|cells| match cells.len() {
            found if found == width => Ok(cells),
            found => Err(format!(
                "expected {width} cells as in the header, found {found}"
            )),
        });
        match cells {
            Ok(cells) => {
                let (columns, cells) = (&columns, &cells[..]);
                each(sink, Named { columns, cells }, line)
            }
            Err(why) if options.skip_bad => {
                sink.report()
                    .skip(BAD_ROW, || format!("{name}:{line}: {why}"));
                Ok(())
            }
            Err(why) => Err(Error::input(why)),
        }
    })?;
    if header {
        return Ok(());
    }
    Err(Error::input(format!(
        "{name}: expected a header with the column {}, found an empty file",
        needed.first().copied().unwrap_or_default()
    )))
}

fn pairs(
    name: &str,
    reader: &mut dyn BufRead,
    columns: [&'static str; 2],
    into: &mut HashMap<String, Vec<String>>,
    options: &Options,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    table(name, reader, &columns, options, sink, |_, row, _| {
        let [from, to] = columns.map(|column| row.get(column).trim().to_owned());
        if !from.is_empty() && !to.is_empty() {
            into.entry(from).or_default().push(to);
        }
        Ok(())
    })
}

/// Reads `Loinc.csv`. Each row is passed on as soon as it is read.
///
/// # Errors
/// If the file cannot be read or lacks a column, or a row is invalid and the options do not skip
/// it. The errors of [`Sink::concept`].
pub fn read_table(
    name: &str,
    reader: &mut dyn BufRead,
    others: &Others,
    options: &Options,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    let needed = ["LOINC_NUM", "LONG_COMMON_NAME", "STATUS"];
    table(name, reader, &needed, options, sink, |sink, row, line| {
        let place = || format!("{name}:{line}");
        let id = row.get("LOINC_NUM").trim();
        match row.get("STATUS").trim() {
            "ACTIVE" | "TRIAL" => {}
            "DISCOURAGED" if options.discouraged => {}
            "DISCOURAGED" => {
                sink.report().note(DISCOURAGED, || id.to_owned());
                return Ok(());
            }
            "DEPRECATED" => {
                sink.report().note(DEPRECATED, || id.to_owned());
                retire(id, others, sink);
                return Ok(());
            }
            other if options.skip_bad => {
                let example = || format!("{other:?} of {id} at {}", place());
                sink.report().skip(STATUS, example);
                return Ok(());
            }
            other => {
                return Err(Error::input(format!(
                    "expected the status ACTIVE, TRIAL, DISCOURAGED or DEPRECATED, found {other:?}"
                )));
            }
        }
        if !row.get("EXTERNAL_COPYRIGHT_NOTICE").trim().is_empty() {
            sink.report().note(COPYRIGHT, || id.to_owned());
        }
        sink.concept(concept(&row, id, others, options), place)
    })
}

/// Adds a redirect from a deprecated code. One with several successors has none: the choice depends
/// on what was measured.
fn retire(id: &str, others: &Others, sink: &mut Sink<'_, '_>) {
    let all = others.successors.get(id).map_or(&[][..], Vec::as_slice);
    let mut seen = HashSet::new();
    let different: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|one| seen.insert(*one))
        .collect();
    match &different[..] {
        [one] => sink.retire(id, Some(one), Reason::Replaced),
        [] => sink.retire(id, None, Reason::Retired),
        several => {
            sink.report()
                .note(SEVERAL, || format!("{id}: {}", several.join(", ")));
            sink.retire(id, None, Reason::Split);
        }
    }
}

fn concept(row: &Named<'_>, id: &str, others: &Others, options: &Options) -> Concept {
    let mut synonyms = Vec::new();
    for names in &options.names {
        match names {
            Names::Display => synonyms.push(row.get("DisplayName").to_owned()),
            Names::Short => synonyms.push(row.get("SHORTNAME").to_owned()),
            Names::Consumer => {
                synonyms.push(row.get("CONSUMER_NAME").to_owned());
                synonyms.extend(others.consumer_names.get(id).into_iter().flatten().cloned());
            }
            Names::Component => synonyms.push(row.get("COMPONENT").to_owned()),
            Names::Related => {
                let related = row.get("RELATEDNAMES2").split(';');
                synonyms.extend(related.map(str::to_owned));
            }
        }
    }
    // An empty cell is no synonym that was left out.
    synonyms.retain(|name| !name.trim().is_empty());
    let class_type = row.get("CLASSTYPE").trim();
    let class_type = class_type
        .parse::<usize>()
        .ok()
        .and_then(|number| CLASS_TYPES.get(number.checked_sub(1)?));
    let types = class_type.copied().into_iter().chain([row.get("CLASS")]);
    let definition = row.get("DefinitionDescription");
    Concept {
        id: id.to_owned(),
        name: row.get("LONG_COMMON_NAME").to_owned(),
        synonyms,
        types: types.map(str::to_owned).collect(),
        definition: (!definition.trim().is_empty()).then(|| definition.to_owned()),
        ..Concept::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Plain;
    use crate::import::concepts::{Concepts, Defaults, single_spaced};
    use crate::import::report::Report;
    use crate::redirects::Redirects;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_rows_read_back_equal(
            names in prop::collection::vec("[a-z][ -~\n]{0,20}", 1..8),
            order in Just(vec!["LONG_COMMON_NAME", "extra", "STATUS", "LOINC_NUM"]).prop_shuffle(),
        ) {
            let mut table = csv::WriterBuilder::new()
                .quote_style(csv::QuoteStyle::Always)
                .from_writer(Vec::new());
            table.write_record(&order).expect("memory");
            for (at, name) in names.iter().enumerate() {
                let id = format!("{at}-0");
                let cell = |column: &&str| match *column {
                    "LONG_COMMON_NAME" => name.clone(),
                    "STATUS" => "ACTIVE".to_owned(),
                    "LOINC_NUM" => id.clone(),
                    _ => "\"x\",".to_owned(),
                };
                table.write_record(order.iter().map(cell)).expect("memory");
            }
            let text = table.into_inner().expect("memory");
            let (mut read, mut report) = (Vec::<Concept>::new(), Report::default());
            let mut take = |concept| {
                read.push(concept);
                Ok(())
            };
            let mut concepts = Concepts::new(&mut take, Defaults::default(), &mut report);
            let mut redirects = Redirects::default();
            let mut count = || ();
            let mut sink = Sink::new(&mut concepts, &mut redirects, &mut count, &Plain);
            let options = Options::default();
            let mut bytes = &text[..];
            read_table("a.csv", &mut bytes, &Others::default(), &options, &mut sink)
                .expect("a table");
            let found: Vec<String> = read.into_iter().map(|concept| concept.name).collect();
            let expected: Vec<String> = names.iter().map(|name| single_spaced(name)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
