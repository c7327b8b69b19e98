//! What is fuzzed: one function for each reader of bytes that a stranger may send.
//!
//! Each takes any bytes, and panics where a promise is broken: a reader panics, what was read and written out reads back
//! otherwise, or a span is cut inside a character. `tests/fuzz` has a program of libFuzzer for each; the test `replay` gives
//! them the seeds in `seeds/NAME` and damaged copies of them, on a stable compiler. `cargo run -p pel-fuzzed --example seeds`
//! writes those seeds that are binary.

mod artifacts;
pub mod base;
mod edits;
mod mend;
#[cfg(feature = "native")]
mod native;
mod tables;

pub use artifacts::{bundle, config, container, dictionary, index, manifest, note, tokenizer, weights};
#[cfg(feature = "native")]
pub use native::{brat, candidates, compressed, corpus, http, pubtator, settings, spans};
pub use tables::{concepts, delimited, obo};

/// The body of a target.
pub type Body = fn(&[u8]);

/// Every target by its name, which is also that of its seeds' folder and of its program.
pub fn targets() -> Vec<(&'static str, Body)> {
    let shared: [(&str, Body); 12] = [
        ("bundle", bundle),
        ("concepts", concepts),
        ("config", config),
        ("container", container),
        ("delimited", delimited),
        ("dictionary", dictionary),
        ("index", index),
        ("manifest", manifest),
        ("note", note),
        ("obo", obo),
        ("tokenizer", tokenizer),
        ("weights", weights),
    ];
    #[cfg(not(feature = "native"))]
    let native: [(&str, Body); 0] = [];
    #[cfg(feature = "native")]
    let native: [(&str, Body); 8] = [
        ("brat", brat),
        ("candidates", candidates),
        ("compressed", compressed),
        ("corpus", corpus),
        ("http", http),
        ("pubtator", pubtator),
        ("settings", settings),
        ("spans", spans),
    ];
    shared.into_iter().chain(native).collect()
}
