//! Bounds of what a document may unpack to. Input itself is bounded by the caller.

use pel_kb::error::{Error, Result};

/// The largest number of bytes that packed parts of a document unpack to together, if the caller
/// sets no other: a text of this size has 30,000 pages.
const UNPACKED: usize = 64 << 20;

/// The largest number of open elements, groups or objects.
pub(crate) const DEEPEST: usize = 200;

/// Documents within documents, such as a PDF within a CDA within a FHIR resource.
pub(crate) const NESTED: usize = 4;

/// What reading a document may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of bytes that packed parts of one document unpack to together.
    pub unpacked: usize,
    /// How many documents may still be in one another.
    pub(crate) nested: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unpacked: UNPACKED,
            nested: NESTED,
        }
    }
}

impl Limits {
    /// The usual limits, but for the bytes that packed parts unpack to.
    #[must_use]
    pub fn of_unpacked(bytes: usize) -> Self {
        Self {
            unpacked: bytes,
            ..Self::default()
        }
    }

    /// The limits of a document within this one.
    ///
    /// # Errors
    /// If too many documents are in one another.
    pub(crate) fn within(self) -> Result<Self> {
        match self.nested.checked_sub(1) {
            Some(nested) => Ok(Self { nested, ..self }),
            None => Err(Error::input(format!(
                "expected at most {NESTED} documents within one another, found more"
            ))),
        }
    }

    /// The error of packed parts that unpack to more.
    pub(crate) fn exceeded(self, what: &str) -> Error {
        Error::input(format!(
            "{what} unpacks to more than {} bytes, as archives made to fill the memory do; it is \
             not read",
            self.unpacked
        ))
    }
}
