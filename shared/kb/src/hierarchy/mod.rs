//! The hierarchy of a bundle: is-a between its concepts and codes of standard systems.
//!
//! [`HierarchyReader`] reads rows of a table into a [`HierarchyList`]. A bundle has it as a
//! [`Hierarchy`]. A node is a concept of the bundle, or a code such as `ICD10CM:A00-A09`.

mod list;
mod roll_up;
mod table;

pub use list::{HierarchyList, HierarchyReader};
pub use roll_up::{Levels, RollUp};
pub use table::{Hierarchy, Node};
