//! Targets: readers of documents.

use pel_documents::{Kind, Limits, read};

/// Reads documents within a small limit. Sections begin on characters of the text, in order.
fn check(kind: Kind, data: &[u8]) {
    for entry in read(data, kind, None, Limits::of_unpacked(1 << 18)) {
        match entry.document {
            Ok(document) => {
                assert!(!document.text.is_empty() || kind == Kind::Text || kind.is_collection());
                let mut before = 0;
                for section in &document.sections {
                    assert!(section.start >= before, "{section:?}");
                    before = section.start;
                    assert!(document.text.get(before..).is_some(), "{section:?}");
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Documents whose format is text: HTML, RTF, CDA, HL7 v2, FHIR; and the recognition of formats.
pub fn documents(data: &[u8]) {
    let _ = Kind::of("", data);
    for kind in [
        Kind::Text,
        Kind::Html,
        Kind::Rtf,
        Kind::Cda,
        Kind::Hl7,
        Kind::Fhir,
        Kind::FhirLines,
    ] {
        check(kind, data);
    }
}

/// A Word document.
pub fn docx(data: &[u8]) {
    check(Kind::Docx, data);
}

/// A PDF.
pub fn pdf(data: &[u8]) {
    check(Kind::Pdf, data);
}
