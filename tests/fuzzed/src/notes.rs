//! Targets: readers of notes in tables, FHIR resources and BioC collections.

use crate::native::file;
use pel_kb::clean::breaks_line;
use pel_notes::link::inputs::{Kind, ReadOptions, Stopped, Wanted, read};

/// Reads notes, whose names fit into a line. Nothing interrupts it.
fn check(name: &str, kind: Kind, data: &[u8]) {
    let path = file(name, data);
    let place = path.display().to_string();
    let mut each = |note: pel_kb::error::Result<_>| {
        match note {
            Ok(pel_notes::link::inputs::NoteRow {
                name, place: at, ..
            }) => {
                assert!(!name.contains(breaks_line), "{name:?}");
                assert!(at.starts_with(&place), "{at}");
            }
            Err(error) => assert!(error.to_string().starts_with(&place), "{error}"),
        }
        Ok(())
    };
    match read(&path, kind, &ReadOptions::default(), &mut each) {
        Ok(()) => {}
        Err(Stopped::Unreadable(error)) => {
            assert!(error.to_string().contains(&place), "{error}");
        }
        Err(Stopped::Ended(error)) => panic!("nobody has stopped it: {error}"),
    }
}

/// A table with delimiters, and the same bytes as JSON on lines.
pub fn notes(data: &[u8]) {
    check("notes.csv", Kind::Delimited(b','), data);
    check("notes.jsonl", Kind::Lines(Wanted::Any), data);
}

/// A table in Parquet.
pub fn parquet(data: &[u8]) {
    check("notes.parquet", Kind::Parquet, data);
}

/// FHIR as one value, and on lines.
pub fn fhir(data: &[u8]) {
    check("fhir.json", Kind::Document(Wanted::Any), data);
    check("fhir.ndjson", Kind::Lines(Wanted::Fhir), data);
}

/// BioC in XML or JSON.
pub fn bioc(data: &[u8]) {
    check("bioc.json", Kind::Document(Wanted::Bioc), data);
    check("bioc.xml", Kind::Xml, data);
}
