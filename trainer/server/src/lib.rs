//! The page and the REST interface over HTTP.

#[cfg_attr(feature = "api", macro_use)]
extern crate pel_io;

pub mod serve;

#[cfg(feature = "api")]
pub mod api;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
