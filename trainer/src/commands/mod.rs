//! The commands of `pel`, one file each.

pub mod bench;
pub mod devices;
pub mod explain;
pub mod index;
pub mod inspect;
pub mod link;
