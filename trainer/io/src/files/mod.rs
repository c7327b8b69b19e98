//! Reading and writing files.

mod atomic_folder;
mod atomic_write;
pub(crate) mod listing;
pub(crate) mod open;
mod standard_output;
mod text;
pub mod text_encoding;

pub use crate::errors::{io_error, walk_error};
pub use crate::lock::Lock;
pub use crate::no_follow::open_no_follow;
pub use crate::partial_files::is_partial;
pub use atomic_folder::{write_folder, write_in_folder};
pub use atomic_write::{copy_ownership, write_atomic, write_jsonl, write_no_follow};
pub use listing::{entries, list_files};
pub use open::{open, open_within};
pub use standard_output::{StandardOutput, print};
pub use text::{
    convert_read_error, for_each_line, for_each_line_in, for_each_line_within, read_text,
    record_limit,
};
