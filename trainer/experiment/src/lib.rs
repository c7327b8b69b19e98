//! Evaluates models and bundles, and repeats the tables of the papers.

#[macro_use]
extern crate pel_io;

pub mod evaluate;
pub mod experiment;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
