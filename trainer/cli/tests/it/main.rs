//! Whole commands: the program runs as a user runs it.

mod annotation_loop;
#[cfg(feature = "api")]
mod api;
mod artifacts;
mod bad_input;
mod bench;
mod calibrate;
mod cases;
mod codes;
mod common;
mod default_bundle;
mod detector;
mod documents;
mod experiment;
mod export;
#[cfg(target_os = "linux")]
mod faults;
mod graph;
mod guard;
mod hierarchy;
mod hostile_files;
mod hostile_text;
mod kept_index;
mod link;
mod link_tables;
mod map;
mod outputs;
mod phenopackets;
mod pretrained;
mod rank;
mod serve;
mod train;
mod update;
