//! Trains encoders, rankers and detectors, and makes trained models smaller.

#[macro_use]
extern crate pel_io;

pub mod compact;
pub mod plots;
pub mod train;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
