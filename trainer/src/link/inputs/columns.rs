//! The columns of a table of notes.

use clap::Args;
use pel_shared::error::{Error, Result};

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
    /// Finds the columns among those of a table.
    ///
    /// # Errors
    /// If there is no column for the texts, none of the name that the user has given, or several
    /// of a name.
    pub fn find(names: &[&str], args: &ColumnArgs) -> Result<Self> {
        let text = match &args.text_column {
            Some(name) => Some(named(names, name, "--text-column")?),
            None => known(names, &TEXT)?,
        };
        let id = match &args.id_column {
            Some(name) => Some(named(names, name, "--id-column")?),
            None => known(names, &ID)?,
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

fn named(names: &[&str], name: &str, option: &str) -> Result<usize> {
    let exact = only(names, name, |own| own == name)?;
    let found = match exact {
        Some(at) => Some(at),
        None => only(names, name, |own| own.trim().eq_ignore_ascii_case(name))?,
    };
    found.ok_or_else(|| {
        Error::input(format!(
            "expected the column {name} ({option}), found {}",
            listed(names)
        ))
    })
}

fn known(names: &[&str], wanted: &[&str]) -> Result<Option<usize>> {
    for name in wanted {
        let found = only(names, name, |own| own.trim().eq_ignore_ascii_case(name))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The only column that matches; `None` if there is none.
fn only(names: &[&str], name: &str, matches: impl Fn(&str) -> bool) -> Result<Option<usize>> {
    let mut found = (0..names.len()).filter(|at| matches(names[*at]));
    match (found.next(), found.next()) {
        (Some(one), Some(other)) => Err(Error::input(format!(
            "expected one column {name}, found two: columns {} and {}; rename one of them",
            one + 1,
            other + 1
        ))),
        (found, _) => Ok(found),
    }
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
    fn two_columns_of_one_name_are_an_error() {
        let find = |names: &[&str], args: &ColumnArgs| {
            Columns::find(names, args).map_err(|error| error.to_string())
        };
        let usual = ColumnArgs::default();
        for names in [&["id", "text", "text"], &["id", "Text", "text "]] {
            let expected =
                "expected one column text, found two: columns 2 and 3; rename one of them";
            assert_eq!(find(names, &usual), Err(expected.to_owned()));
        }
        let given = ColumnArgs {
            text_column: Some("text".to_owned()),
            id_column: None,
        };
        assert!(find(&["text", "text"], &given).is_err());
        assert!(find(&["Text", "text"], &given).is_ok_and(|found| found.text == 1));
        assert!(find(&["id", "ID", "text"], &usual).is_err());
        assert!(find(&["note", "note", "text"], &usual).is_ok());
    }

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
        let empty = Columns::find(&[], &ColumnArgs::default()).expect_err("no column");
        assert!(empty.to_string().ends_with("found none"), "{empty}");
    }
}
