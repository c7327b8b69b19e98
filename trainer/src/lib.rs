//! The native side of PEL: files, devices, commands. Every computation on text, vectors or
//! decisions is in `pel-shared`.

#[macro_use]
pub mod io;

#[cfg(feature = "api")]
pub mod api;
pub mod bench;
pub mod cli;
pub mod compact;
pub mod data;
pub mod evaluate;
pub mod experiment;
pub mod indexing;
pub mod link;
pub mod map;
pub mod plots;
pub mod retrieve;
pub mod serve;
pub mod stores;
pub mod train;
