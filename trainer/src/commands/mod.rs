//! The commands of `pel`, one file each.

pub mod bench;
pub mod calibrate;
pub mod candidates;
pub mod devices;
pub mod explain;
pub mod export;
pub mod index;
pub mod inspect;
pub mod link;
pub mod serve;
pub mod split;
pub mod train;
