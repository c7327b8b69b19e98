//! Linking files of notes: which are read, and what is printed of them.

pub mod notes;
pub mod render;
pub mod second_stage;
pub mod table;
