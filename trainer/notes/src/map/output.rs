//! The mapped table: the columns of the input, then what was found, then a column to fill in.

use super::linking::{MappedTerm, Outcome, Query};
use super::sheet::TermTable;
use pel_kb::Concept;
use pel_kb::clean::{breaks_line, cell, field};
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_output::{Named, has_prefix};
use std::collections::HashMap;
use std::io::Write;

/// The column that a reviewer fills in.
pub const REVIEW: &str = "review";
/// The column of the concept that a term was linked to.
pub const ID: &str = "pel_id";

/// The columns before those of candidates.
const FIXED: [&str; 9] = [
    "pel_query",
    "pel_decision",
    "pel_reason",
    ID,
    "pel_name",
    "pel_types",
    "pel_group",
    "pel_probability",
    "pel_score",
];

/// The column of the identifier of a candidate, from 1.
pub fn candidate_id(number: usize) -> String {
    format!("pel_{number}_id")
}

/// How to write a mapped table.
#[derive(Clone, Debug)]
pub struct MappedForm {
    /// The character between columns.
    pub delimiter: u8,
    /// Candidates of each term.
    pub candidates: usize,
    /// Prefixes of the cross-references to write; none if empty.
    pub xrefs: Vec<String>,
    /// Whether the terms whose decision is most doubtful come first.
    pub uncertain_first: bool,
}

/// Rows by decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Totals {
    /// Rows.
    pub rows: usize,
    /// Different terms.
    pub terms: usize,
    /// Linked rows, without ambiguous ones.
    pub linked: usize,
    /// Linked rows whose name several concepts have.
    pub ambiguous: usize,
    /// Rows without a concept.
    pub nil: usize,
    /// Rows without a term.
    pub empty: usize,
}

/// Refuses a table that has a column of the output already.
///
/// # Errors
/// If it has one.
pub fn check_columns(table: &TermTable, form: &MappedForm) -> Result<()> {
    match added(form).iter().find(|name| table.named(name).is_some()) {
        Some(name) => Err(Error::input(format!(
            "{}: the table has the column {name:?}, which `pel map` adds; map the original table, \
             or rename the column",
            table.name
        ))),
        None => Ok(()),
    }
}

fn added(form: &MappedForm) -> Vec<String> {
    let mut names: Vec<String> = FIXED.map(str::to_owned).to_vec();
    for number in 1..=form.candidates {
        names.push(candidate_id(number));
        names.push(format!("pel_{number}_name"));
        names.push(format!("pel_{number}_score"));
    }
    if !form.xrefs.is_empty() {
        names.push("pel_xrefs".to_owned());
    }
    names.push(REVIEW.to_owned());
    names
}

/// Counts the rows by decision.
pub fn totals(queries: &[Option<Query>], mapped: &HashMap<&Query, MappedTerm>) -> Totals {
    let mut totals = Totals {
        rows: queries.len(),
        terms: mapped.len(),
        ..Totals::default()
    };
    for query in queries {
        let found = query.as_ref().and_then(|query| mapped.get(query));
        *match found.map(|term| term.outcome) {
            None => &mut totals.empty,
            Some(Outcome::Linked) => &mut totals.linked,
            Some(Outcome::Ambiguous) => &mut totals.ambiguous,
            Some(Outcome::Nil) => &mut totals.nil,
        } += 1;
    }
    totals
}

/// Writes the table.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    out: &mut dyn Write,
    table: &TermTable,
    queries: &[Option<Query>],
    mapped: &HashMap<&Query, MappedTerm>,
    form: &MappedForm,
) -> Result<()> {
    if table.marked {
        out.write_all("\u{feff}".as_bytes())
            .map_err(|cause| Error::io("writing the table").caused_by(cause))?;
    }
    let failed = |cause| Error::io("writing the table").caused_by(cause);
    let mut writer = csv::WriterBuilder::new()
        .delimiter(form.delimiter)
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    let clean = |text: &str| guarded(text, form.delimiter);
    let header = table.header.iter().cloned().chain(added(form));
    writer
        .write_record(header.map(|name| clean(&name)))
        .map_err(failed)?;
    let mut order: Vec<usize> = (0..table.rows.len()).collect();
    let of_row = |at: usize| {
        let query = queries.get(at).and_then(Option::as_ref)?;
        mapped.get(query)
    };
    if form.uncertain_first {
        let doubt = |at: usize| of_row(at).map_or(f32::MIN, |term| term.doubt);
        order.sort_by(|one, other| doubt(*other).total_cmp(&doubt(*one)));
    }
    for at in order {
        let Some(row) = table.rows.get(at) else {
            continue;
        };
        let mut cells: Vec<String> = row.cells.iter().map(|cell| clean(cell)).collect();
        cells.extend(found(of_row(at), form).iter().map(|cell| clean(cell)));
        writer.write_record(&cells).map_err(failed)?;
    }
    writer
        .flush()
        .map_err(|cause| Error::io("writing the table").caused_by(cause))
}

/// The cells that follow those of the input.
fn found(term: Option<&MappedTerm>, form: &MappedForm) -> Vec<String> {
    let width = added(form).len();
    let mut cells = match term {
        None => vec![String::new(), "empty".to_owned()],
        Some(term) => of_term(term, form),
    };
    cells.resize(width, String::new());
    cells
}

fn of_term(term: &MappedTerm, form: &MappedForm) -> Vec<String> {
    let record = &term.record;
    let linked = record.decision.as_ref().ok();
    let (decision, reason) = match (&record.decision, term.outcome) {
        (Err(reason), _) => ("NIL", reason.words().to_owned()),
        (Ok(_), Outcome::Ambiguous) => (
            "ambiguous",
            format!("{} concepts have this name", record.same_name),
        ),
        (Ok(_), _) if term.named => ("linked", "name".to_owned()),
        (Ok(_), _) => ("linked", "similar".to_owned()),
    };
    let group = linked.and_then(|named| {
        Group::of(&Concept {
            types: named.types.clone(),
            ..Concept::default()
        })
    });
    let number = |value: Option<f32>| value.map_or(String::new(), |value| format!("{value:.3}"));
    let best = record.candidates.first();
    let mut cells = vec![
        term.read_as.clone(),
        decision.to_owned(),
        reason,
        linked.map_or(String::new(), |named| named.id.clone()),
        linked.map_or(String::new(), |named| named.name.clone()),
        linked.map_or(String::new(), |named| named.types.join("|")),
        group.map_or(String::new(), |group| group.name().to_owned()),
        number(record.probability),
        number(best.map(|best| best.score)),
    ];
    for at in 0..form.candidates {
        let candidate = record.candidates.get(at);
        let text = |of: fn(&Named) -> &str| candidate.map_or(String::new(), |one| of(one).into());
        cells.push(text(|one| &one.id));
        cells.push(text(|one| &one.name));
        cells.push(number(candidate.map(|one| one.score)));
    }
    if !form.xrefs.is_empty() {
        let chosen = linked.map_or(Vec::new(), |named| {
            let is_chosen = |xref: &&String| form.xrefs.iter().any(|one| has_prefix(xref, one));
            named.xrefs.iter().filter(is_chosen).cloned().collect()
        });
        cells.push(chosen.join("|"));
    }
    cells
}

/// A cell that no spreadsheet evaluates. Between tabs a cell has one line.
fn guarded(text: &str, delimiter: u8) -> String {
    let text = cell(text);
    match delimiter == b'\t' && text.contains(breaks_line) {
        true => field(&text).into_owned(),
        false => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_guarded_and_numbers_are_not() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("-5", "-5"),
            ("+3.2", "+3.2"),
            ("-", "-"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("Na+", "Na+"),
            ("two\nlines", "two\nlines"),
        ] {
            assert_eq!(guarded(text, b','), expected);
        }
        assert_eq!(guarded("two\nlines", b'\t'), "two lines");
    }
}
