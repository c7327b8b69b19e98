//! Local tables: maps the terms of a spreadsheet to concepts, and reads back what a reviewer
//! decided.

pub mod linking;
pub mod output;
pub mod query;
pub mod review;
pub mod sheet;
