//! The columns of a table of notes.

use clap::Args;
use pel_kb::error::{Error, Result};

/// Names of the column with the text, in order of preference. Case is ignored.
const TEXT: [&str; 6] = ["text", "note_text", "note", "content", "body", "report"];

/// Names of the column with the identifier, in order of preference. Case is ignored.
const ID: [&str; 6] = ["note_id", "id", "doc_id", "document_id", "row_id", "doc"];

/// Columns that a message lists.
const LISTED: usize = 20;

/// The columns that the user has named.
#[derive(Args, Clone, Debug, Default)]
pub struct ColumnArgs {
    /// Column with the texts of a table of notes [default: text, note_text, note, content, body or
    /// report]
    #[arg(long, value_name = "NAME")]
    pub text_column: Option<String>,
    /// Column with the identifiers of the notes, which become their names [default: note_id, id,
    /// doc_id, document_id, row_id or doc; without one the number of the row]
    #[arg(long, value_name = "NAME")]
    pub id_column: Option<String>,
}

/// The positions of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub text: usize,
    /// `None` for a table without identifiers.
    pub id: Option<usize>,
}

impl Columns {
    /// Whether the columns are among these, be it several times.
    pub fn are_in(names: &[&str], args: &ColumnArgs) -> bool {
        let has = |wanted: &str| {
            let mut own = names.iter();
            own.any(|own| own.trim().eq_ignore_ascii_case(wanted))
        };
        let text = args.text_column.as_deref();
        text.map_or_else(|| TEXT.iter().any(|name| has(name)), has)
            && args.id_column.as_deref().is_none_or(has)
    }

    /// Finds the columns among those of a table.
    ///
    /// # Errors
    /// If there is no column for the texts, or none of the name that the user has given, or several
    /// of a name.
    pub fn find(names: &[&str], args: &ColumnArgs) -> Result<Self> {
        let text = match &args.text_column {
            Some(name) => Some(named(names, name, "--text-column")?),
            None => known(names, &TEXT, "--text-column")?,
        };
        let id = match &args.id_column {
            Some(name) => Some(named(names, name, "--id-column")?),
            None => known(names, &ID, "--id-column")?,
        };
        match text {
            Some(text) => Ok(Self { text, id }),
            None => Err(Error::input(format!(
                "expected a column {} (or --text-column NAME), found {}",
                TEXT.join(", "),
                listed(names)
            ))),
        }
    }
}

/// The column that the user names: in its own case, else in any.
fn named(names: &[&str], name: &str, option: &str) -> Result<usize> {
    let exact = places(names, |own| own == name);
    let found = match exact.is_empty() {
        true => places(names, |own| own.trim().eq_ignore_ascii_case(name)),
        false => exact,
    };
    only(names, &found, option)?.ok_or_else(|| {
        Error::input(format!(
            "expected the column {name} ({option}), found {}",
            listed(names)
        ))
    })
}

/// The column of the first name that there is.
fn known(names: &[&str], wanted: &[&str], option: &str) -> Result<Option<usize>> {
    for name in wanted {
        let found = places(names, |own| own.trim().eq_ignore_ascii_case(name));
        if !found.is_empty() {
            return only(names, &found, option);
        }
    }
    Ok(None)
}

fn places(names: &[&str], is_wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    (0..names.len())
        .filter(|at| names.get(*at).is_some_and(|own| is_wanted(own)))
        .collect()
}

/// The only one of some columns; `None` if there is none.
fn only(names: &[&str], found: &[usize], option: &str) -> Result<Option<usize>> {
    let [first, second, ..] = found else {
        return Ok(found.first().copied());
    };
    let name = |at: usize| names.get(at).copied().unwrap_or_default();
    let remedy = match name(*first) == name(*second) {
        true => "rename one".to_owned(),
        false => format!("choose one with {option}, or rename one"),
    };
    Err(Error::input(format!(
        "expected one column {}, found column {} ({}) and column {} ({}): {remedy}",
        name(*first).trim(),
        first + 1,
        name(*first),
        second + 1,
        name(*second)
    )))
}

/// The names of columns for a message. They are cut, because a table without a header has texts
/// there.
fn listed(names: &[&str]) -> String {
    let some: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|name| name.trim().chars().take(24).collect())
        .collect();
    let more = names.len().saturating_sub(LISTED);
    match more {
        0 if some.is_empty() => "none".to_owned(),
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_found_in_any_case_and_given_ones_first() {
        let names = ["ROW_ID", "note_id", "Text", "comment"];
        let find = |args: &ColumnArgs| Columns::find(&names, args);
        let usual = find(&ColumnArgs::default()).expect("usual names");
        assert_eq!((usual.text, usual.id), (2, Some(1)));
        let given = ColumnArgs {
            text_column: Some("comment".to_owned()),
            id_column: Some("row_id".to_owned()),
        };
        let given = find(&given).expect("given names");
        assert_eq!((given.text, given.id), (3, Some(0)));
        let missing = ColumnArgs {
            text_column: Some("body".to_owned()),
            id_column: None,
        };
        let message = find(&missing).expect_err("no such column").to_string();
        assert_eq!(
            message,
            "expected the column body (--text-column), found ROW_ID, note_id, Text, comment"
        );
        assert!(Columns::find(&["a", "b"], &ColumnArgs::default()).is_err());
        let exact = ColumnArgs {
            text_column: Some("Report".to_owned()),
            id_column: None,
        };
        let found = Columns::find(&["report", "Report", "REPORT"], &exact).expect("its case");
        assert_eq!(found.text, 1);
        let empty = Columns::find(&[], &ColumnArgs::default()).expect_err("no column");
        assert!(empty.to_string().ends_with("found none"), "{empty}");
    }

    #[test]
    fn two_columns_of_a_name_are_refused_with_both() {
        let named = |text: &str, id: &str| ColumnArgs {
            text_column: Some(text.to_owned()),
            id_column: Some(id.to_owned()),
        };
        for (names, args, expected) in [
            (
                ["note_id", "note_text", "note_text"],
                ColumnArgs::default(),
                "expected one column note_text, found column 2 (note_text) and column 3 \
                 (note_text): rename one",
            ),
            (
                ["Text", "text ", "id"],
                ColumnArgs::default(),
                "expected one column Text, found column 1 (Text) and column 2 (text ): choose one \
                 with --text-column, or rename one",
            ),
            (
                ["id", "text", "ID"],
                ColumnArgs::default(),
                "expected one column id, found column 1 (id) and column 3 (ID): choose one with \
                 --id-column, or rename one",
            ),
            (
                ["a", "b", "b"],
                named("a", "b"),
                "found column 2 (b) and column 3 (b): rename one",
            ),
            (
                ["Body", "BODY", "b"],
                named("body", "b"),
                "found column 1 (Body) and column 2 (BODY): choose one with --text-column",
            ),
        ] {
            let message = Columns::find(&names, &args)
                .expect_err("two of a name")
                .to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
