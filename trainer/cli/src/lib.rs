//! The program `pel`: its command line and its measurements.

#[macro_use]
extern crate pel_io;

pub mod bench;
pub mod cli;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
