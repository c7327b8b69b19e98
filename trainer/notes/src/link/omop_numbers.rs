//! The numbers of notes and rows in NOTE_NLP of OMOP, over all notes that are linked together.

use pel_kb::error::{Error, Result};
use pel_output::{RowIds, omop_note_id};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// Hands out the identifiers of rows, and sees to it that two notes have different ones.
#[derive(Debug)]
pub struct OmopNumbers(Mutex<State>);

#[derive(Debug)]
struct State {
    rows: RowIds,
    /// The hash of the name that has a number.
    notes: HashMap<u32, u64>,
}

impl OmopNumbers {
    /// Identifiers of rows from the given ones on.
    pub fn new(rows: RowIds) -> Self {
        Self(Mutex::new(State {
            rows,
            notes: HashMap::new(),
        }))
    }

    /// The identifiers for the next rows.
    pub fn rows(&self) -> RowIds {
        self.lock().rows
    }

    /// Goes on, or back, to these identifiers.
    pub fn set_rows(&self, rows: RowIds) {
        self.lock().rows = rows;
    }

    /// Identifiers for the rows of a note, which has this many or whose number is told later by
    /// [`OmopNumbers::skip`].
    ///
    /// # Errors
    /// If another note has the number of this one, or there are too many rows.
    pub fn take(&self, name: &str, rows: usize) -> Result<RowIds> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let (id, hash) = (omop_note_id(name), hasher.finish());
        let mut state = self.lock();
        if *state.notes.entry(id).or_insert(hash) != hash {
            return Err(Error::input(format!(
                "note_id: another note has the number {id} too; name the notes by whole numbers up \
                 to {}",
                i32::MAX
            )));
        }
        let first = state.rows;
        state.rows.skip(rows)?;
        Ok(first)
    }

    /// Leaves out the identifiers of rows that were written.
    ///
    /// # Errors
    /// If there are too many rows.
    pub fn skip(&self, rows: usize) -> Result<()> {
        self.lock().rows.skip(rows)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_on_and_notes_of_one_number_are_refused() {
        let numbers = OmopNumbers::new(RowIds::new(5, 1));
        assert_eq!(numbers.take("a", 3).expect("free").next(), 5);
        assert_eq!(numbers.take("b", 0).expect("free").next(), 8);
        numbers.skip(2).expect("free");
        // The same note again.
        assert_eq!(numbers.take("a", 1).expect("its own").next(), 10);
        let of_a = omop_note_id("a").to_string();
        let error = numbers.take(&of_a, 1).expect_err("of another note");
        assert!(error.to_string().contains(&of_a), "{error}");
        assert_eq!(numbers.rows().next(), 11);
    }
}
