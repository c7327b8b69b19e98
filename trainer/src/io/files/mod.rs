//! Reading and writing files.

mod atomic_folder;
mod atomic_write;
pub(in crate::io) mod errors;
pub(in crate::io) mod listing;
pub(in crate::io) mod open;
pub(in crate::io) mod partial_files;
mod standard_output;
mod text;

pub use atomic_folder::{write_folder, write_in_folder};
pub use atomic_write::{hand_on, open_own, write_jsonl, write_own, write_whole};
pub use errors::{io_error, walk_error};
pub use listing::{entries, files_of};
pub use open::open;
pub use partial_files::is_partial;
pub use standard_output::{StandardOutput, print};
pub use text::{for_each_line, for_each_line_in, for_each_line_within, longest_record, read_text, reading_error};
