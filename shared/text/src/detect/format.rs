//! The file format of a dictionary, as it is written and read.

use pel_kb::container::Format;
use serde::{Deserialize, Serialize};

pub(super) const FORMAT: Format = Format {
    magic: b"PELNAMES",
    version: 1,
    name: "dictionary",
};

/// The largest normalised word in bytes. Names with longer words are left out.
pub(super) const MAX_WORD: usize = 256;
/// The largest number of words and symbols of a name. Longer names are left out.
pub(super) const MAX_TOKENS: usize = 255;

/// The header fields of a dictionary.
#[derive(Serialize, Deserialize)]
pub(super) struct Fields {
    /// The number of words and symbols of the longest name.
    pub longest_name: usize,
}
