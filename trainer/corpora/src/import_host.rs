//! The program as the host of readers of terminologies.

use super::external_sort::ExternalSorter;
use pel_io::files::{convert_read_error, record_limit};
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use pel_terminologies::groups::Sorter;
use pel_terminologies::host::Host;
use pel_terminologies::import::Longest;
use std::path::Path;

/// An import with a folder for temporary files, which exists if a reader sorts.
#[derive(Clone, Copy, Debug)]
pub struct ImportHost<'a> {
    /// The folder.
    pub scratch: &'a Path,
}

impl Host for ImportHost<'_> {
    fn check(&self) -> Result<()> {
        interrupt::check()
    }

    fn longest(&self) -> Longest<'static> {
        record_limit()
    }

    fn read_error(&self, name: &str, error: Error) -> Error {
        convert_read_error(Path::new(name), error)
    }

    fn sorter(&self) -> Box<dyn Sorter> {
        Box::new(ExternalSorter::new(self.scratch))
    }
}
