//! Concept tables with one JSON object a line.

use super::Input;
use super::concepts::tidied;
use super::merging::ConceptTable;
use super::records::record;
use super::report::Report;
use crate::error::{Error, Result};
use crate::kb::Concept;
use serde::Deserialize;
use std::rc::Rc;

/// The reason for skipping a line that cannot be read as a concept.
pub const BAD_LINE: &str = "the line is no concept";

/// A line of the table: the fields of [`Concept`], where `null` is as good as absent. Unknown fields are ignored.
#[derive(Deserialize)]
struct Row {
    id: String,
    name: String,
    synonyms: Option<Vec<String>>,
    types: Option<Vec<String>>,
    type_ids: Option<Vec<String>>,
    definition: Option<String>,
    xrefs: Option<Vec<String>>,
    sources: Option<Vec<String>>,
}

impl From<Row> for Concept {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            synonyms: row.synonyms.unwrap_or_default(),
            types: row.types.unwrap_or_default(),
            type_ids: row.type_ids.unwrap_or_default(),
            definition: row.definition,
            xrefs: row.xrefs.unwrap_or_default(),
            sources: row.sources.unwrap_or_default(),
        }
    }
}

/// Reads one table behind those before it. Blank lines are no records; lines of one identifier are one concept.
///
/// # Errors
/// If the file cannot be read or is not UTF-8. A line that is no concept is an error that names file, line and field,
/// or a counted skip if `skip_bad`.
pub fn read(mut input: Input<'_>, skip_bad: bool, table: &mut ConceptTable, report: &mut Report) -> Result<()> {
    let name = input.name;
    let file = Rc::<str>::from(name);
    input.for_each_line(|number, line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        let place = || format!("{name}:{number}");
        let concept = record::<Row>(line).and_then(|row| {
            let concept = tidied(row.into(), report, place);
            concept.map_err(|reason| Error::input(format!("the concept has {reason}")))
        });
        match concept {
            Ok(concept) => {
                table.add(concept, false, (&file, number), report);
                Ok(())
            }
            Err(why) if skip_bad => {
                report.skip(BAD_LINE, || format!("{}: {why}", place()));
                Ok(())
            }
            Err(why) => Err(why),
        }
    })
}
