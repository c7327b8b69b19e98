//! Codes of concepts in standard code systems: SNOMED CT, ICD-10-CM, RxNorm, LOINC and others.
//!
//! [`CodeReader`] and [`NameReader`] read rows of tables into a [`CodeList`]. A bundle has it as a
//! [`CodeTable`].

mod list;
mod rows;
mod system;
mod table;

pub use list::{CodeList, Name};
pub use rows::{CodeReader, NameReader};
pub use system::{Match, System};
pub use table::{Code, CodeTable, SystemCounts};

/// The notice that a product with codes of LOINC must have.
pub const LOINC_NOTICE: &str = include_str!("loinc_notice.txt");
