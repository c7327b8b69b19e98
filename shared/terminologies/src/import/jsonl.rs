//! Concept tables as JSON lines.

use super::Input;
use super::concepts::tidied;
use super::merging::ConceptTable;
use super::records::record;
use super::report::Report;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use serde::Deserialize;
use std::rc::Rc;

/// The reason for skipping a line that is not a valid concept.
pub const BAD_LINE: &str = "line is not a concept";

/// A line of the table: the fields of [`Concept`], which may be `null`. Unknown fields are ignored.
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

/// Reads a table. Blank lines are ignored. Lines with the same identifier form one concept.
///
/// # Errors
/// If the file cannot be read or is not UTF-8. A line that is not a concept is an error with file,
/// line and field, or a counted skip if `skip_bad`.
pub fn read(
    mut input: Input<'_>,
    skip_bad: bool,
    table: &mut ConceptTable,
    report: &mut Report,
) -> Result<()> {
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
