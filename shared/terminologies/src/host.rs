//! What readers need of the program that they run in.

use super::groups::Sorter;
use crate::import::Longest;
use pel_kb::error::{Error, Result};

/// What readers need of the program that they run in.
pub trait Host {
    /// Whether reading goes on; readers ask at each line.
    ///
    /// # Errors
    /// After an interrupt.
    fn check(&self) -> Result<()>;

    /// The largest line or record.
    fn longest(&self) -> Longest<'static>;

    /// Replaces an error of reading the file `name` by its cause, if the program knows that: an
    /// interrupt, or a file beyond its limit.
    fn read_error(&self, name: &str, error: Error) -> Error;

    /// A sorter for more records than fit into memory.
    fn sorter(&self) -> Box<dyn Sorter>;
}

/// A host of tests without a sorter.
#[cfg(test)]
pub(super) struct Plain;

#[cfg(test)]
impl Host for Plain {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn longest(&self) -> Longest<'static> {
        Longest::default()
    }

    fn read_error(&self, _: &str, error: Error) -> Error {
        error
    }

    fn sorter(&self) -> Box<dyn Sorter> {
        unimplemented!("tests of single files sort nothing")
    }
}
