//! The fuzz targets: one function per reader of untrusted bytes.
//!
//! A target takes any bytes and panics if a property fails: no panic in readers, written data reads
//! back equal, spans end on character boundaries. `tests/fuzz` has a libFuzzer program per target.
//! The test `replay` runs each target on the seeds in `seeds/NAME` and on mutated copies with a
//! stable compiler. `cargo run -p pel-fuzzed --example seeds` writes the binary seeds.

mod artifacts;
mod checksums;
mod codes;
mod documents;
mod hierarchy;
mod mutations;
#[cfg(feature = "native")]
mod native;
#[cfg(feature = "native")]
mod notes;
pub mod seeds;
mod tables;
#[cfg(feature = "native")]
mod terminologies;

pub use artifacts::{
    bundle, config, container, context, detector, dictionary, index, manifest, note, tokenizer,
    weights,
};
pub use codes::codes;
pub use documents::{documents, docx, pdf};
pub use hierarchy::hierarchy;
#[cfg(feature = "native")]
pub use native::{
    archive, brat, candidates, compressed, corpus, http, pubtator, rxnorm, settings, snomed, spans,
    sssom, torch, umls,
};
#[cfg(feature = "native")]
pub use notes::{bioc, fhir, notes, parquet};
pub use tables::{concepts, delimited, obo, redirects};
#[cfg(feature = "native")]
pub use terminologies::{icd10cm, loinc, mesh, obograph, owl};

/// The body of a target.
pub type Body = fn(&[u8]);

/// Every target by name, which is also the name of its seed folder and program.
pub fn targets() -> Vec<(&'static str, Body)> {
    let shared: [(&str, Body); 20] = [
        ("bundle", bundle),
        ("codes", codes),
        ("concepts", concepts),
        ("config", config),
        ("container", container),
        ("context", context),
        ("delimited", delimited),
        ("detector", detector),
        ("dictionary", dictionary),
        ("documents", documents),
        ("docx", docx),
        ("hierarchy", hierarchy),
        ("index", index),
        ("manifest", manifest),
        ("note", note),
        ("obo", obo),
        ("pdf", pdf),
        ("redirects", redirects),
        ("tokenizer", tokenizer),
        ("weights", weights),
    ];
    #[cfg(not(feature = "native"))]
    let native: [(&str, Body); 0] = [];
    #[cfg(feature = "native")]
    let native: [(&str, Body); 23] = [
        ("archive", archive),
        ("bioc", bioc),
        ("brat", brat),
        ("candidates", candidates),
        ("compressed", compressed),
        ("corpus", corpus),
        ("fhir", fhir),
        ("http", http),
        ("icd10cm", icd10cm),
        ("loinc", loinc),
        ("mesh", mesh),
        ("notes", notes),
        ("obograph", obograph),
        ("owl", owl),
        ("parquet", parquet),
        ("pubtator", pubtator),
        ("rxnorm", rxnorm),
        ("settings", settings),
        ("snomed", snomed),
        ("spans", spans),
        ("sssom", sssom),
        ("torch", torch),
        ("umls", umls),
    ];
    shared.into_iter().chain(native).collect()
}
