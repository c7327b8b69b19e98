//! Links notes from files, maps lists of names, and stores of vectors.

#[macro_use]
extern crate pel_io;

pub mod count;
pub mod link;
pub mod map;
pub mod stores;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
