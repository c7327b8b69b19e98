//! What format a document has: by its first bytes, its name, or its media type.

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Plain text.
    Text,
    /// HTML or XHTML.
    Html,
    /// Rich Text Format.
    Rtf,
    /// A Word document in Office Open XML.
    Docx,
    /// PDF.
    Pdf,
    /// HL7 CDA, such as C-CDA.
    Cda,
    /// Messages of HL7 v2 in the encoding with delimiters.
    Hl7,
    /// A FHIR resource or Bundle in JSON.
    Fhir,
    /// FHIR resources on lines (NDJSON).
    FhirLines,
}

/// The bytes at the start that tell the format.
const HEAD: usize = 4096;

/// Segments that begin a message of HL7 v2, a batch or a part of one.
const SEGMENTS: [&str; 15] = [
    "BHS", "EVN", "FHS", "MSH", "NK1", "NTE", "OBR", "OBX", "ORC", "PID", "PV1", "PV2", "RXA",
    "SFT", "TXA",
];

impl Kind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::Html,
        Self::Rtf,
        Self::Docx,
        Self::Pdf,
        Self::Cda,
        Self::Hl7,
        Self::Fhir,
        Self::FhirLines,
    ];

    /// The name of the format, for messages.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Text => "plain text",
            Self::Html => "HTML",
            Self::Rtf => "RTF",
            Self::Docx => "DOCX",
            Self::Pdf => "PDF",
            Self::Cda => "CDA",
            Self::Hl7 => "HL7 v2",
            Self::Fhir => "FHIR",
            Self::FhirLines => "FHIR NDJSON",
        }
    }

    /// Whether a file of this kind can have several documents.
    #[must_use]
    pub fn is_collection(self) -> bool {
        matches!(self, Self::Hl7 | Self::Fhir | Self::FhirLines)
    }

    /// The format of a document: that of its bytes, else that of its name; `None` if neither tells.
    #[must_use]
    pub fn of(name: &str, bytes: &[u8]) -> Option<Self> {
        let named = Self::of_name(name);
        match Self::of_bytes(bytes) {
            // A Bundle on one line looks like a line.
            Some(Self::Fhir) if named == Some(Self::FhirLines) => named,
            Some(found) => Some(found),
            None => named,
        }
    }

    /// The format that a file name states by its extension; `None` for extensions of several
    /// formats, such as `.xml` and `.json`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        Some(match &*extension.to_ascii_lowercase() {
            "txt" | "text" => Self::Text,
            "htm" | "html" | "xhtml" => Self::Html,
            "rtf" => Self::Rtf,
            "docx" | "docm" | "dotx" => Self::Docx,
            "pdf" => Self::Pdf,
            "cda" | "ccda" | "ccd" => Self::Cda,
            "hl7" | "hl7v2" | "oru" | "mdm" => Self::Hl7,
            "ndjson" => Self::FhirLines,
            _ => return None,
        })
    }

    /// The format that the first bytes show; `None` if they may be plain text.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let head = &bytes[..bytes.len().min(HEAD)];
        if find(&head[..head.len().min(1024)], b"%PDF-").is_some() {
            return Some(Self::Pdf);
        }
        if head.starts_with(b"PK\x03\x04") {
            let has = |name: &[u8]| find(bytes, name).is_some();
            return has(b"word/document.xml").then_some(Self::Docx);
        }
        if head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
            // Its reader says what to do.
            return Some(Self::Docx);
        }
        let text = crate::decode::lenient(head, None);
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{b}');
        if text.starts_with("{\\rtf") {
            return Some(Self::Rtf);
        }
        if text.starts_with('<') {
            return of_markup(text);
        }
        if text.starts_with('{') {
            return of_json(text);
        }
        is_segment(text).then_some(Self::Hl7)
    }

    /// The format of a media type, with or without parameters; `None` if PEL reads none such.
    #[must_use]
    pub fn of_media_type(media: &str) -> Option<Self> {
        let media = media.split(';').next().unwrap_or_default();
        Some(match &*media.trim().to_ascii_lowercase() {
            "text/plain" => Self::Text,
            "text/html" | "application/xhtml+xml" => Self::Html,
            "text/rtf" | "application/rtf" | "text/richtext" | "application/x-rtf" => Self::Rtf,
            "application/pdf" | "application/x-pdf" => Self::Pdf,
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => Self::Docx,
            "application/hl7-cda+xml" | "application/cda+xml" | "text/xml" | "application/xml" => {
                Self::Cda
            }
            "application/hl7-v2"
            | "application/hl7-v2+er7"
            | "x-application/hl7-v2+er7"
            | "application/edi-hl7"
            | "text/hl7v2" => Self::Hl7,
            "application/fhir+json" | "application/json+fhir" => Self::Fhir,
            "application/fhir+ndjson" | "application/ndjson" | "application/x-ndjson" => {
                Self::FhirLines
            }
            _ => return None,
        })
    }
}

/// The position of some bytes in others.
pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// HTML, or CDA, if a text begins with a tag of either.
fn of_markup(text: &str) -> Option<Kind> {
    let lower = text.to_ascii_lowercase();
    if lower.contains("<clinicaldocument") || lower.contains(":clinicaldocument") {
        return Some(Kind::Cda);
    }
    ["<!doctype html", "<html", "<head", "<body"]
        .iter()
        .any(|tag| lower.contains(tag))
        .then_some(Kind::Html)
}

/// FHIR, if an object names the type of its resource.
fn of_json(text: &str) -> Option<Kind> {
    if !text.contains("\"resourceType\"") {
        return None;
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim();
    let second = lines.next().unwrap_or_default().trim_start();
    let several = first.len() > 1 && first.ends_with('}') && second.starts_with('{');
    Some(if several { Kind::FhirLines } else { Kind::Fhir })
}

/// Whether a text begins with a segment of HL7 v2.
pub(crate) fn is_segment(text: &str) -> bool {
    let Some((name, fields)) = text.split_at_checked(3) else {
        return false;
    };
    if name == "MSH" || name == "FHS" || name == "BHS" {
        let mut marks = fields.chars().take(4);
        return marks.by_ref().count() == 4
            && fields.chars().take(4).all(|c| c.is_ascii_punctuation());
    }
    let first = fields.split(['\n', '\r']).next().unwrap_or_default();
    SEGMENTS.contains(&name) && first.starts_with('|') && first.matches('|').count() > 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_segments_are_in_order() {
        assert!(SEGMENTS.is_sorted());
    }

    #[test]
    fn bytes_take_precedence_over_the_name() {
        for (name, bytes, kind) in [
            ("a.txt", &b"%PDF-1.4\n"[..], Some(Kind::Pdf)),
            ("a.doc", b"{\\rtf1 x}", Some(Kind::Rtf)),
            (
                "a.xml",
                b"<?xml version='1.0'?>\n<ClinicalDocument>",
                Some(Kind::Cda),
            ),
            ("a.xml", b"<collection>", None),
            ("a.txt", b"\xef\xbb\xbf<!DOCTYPE html><p>", Some(Kind::Html)),
            ("a.html", b"<p>x", Some(Kind::Html)),
            ("a.dat", b"\x0bMSH|^~\\&|LAB", Some(Kind::Hl7)),
            ("a.dat", b"PID|1||7^^^MRN||Doe", Some(Kind::Hl7)),
            ("a.txt", b"PID 12", Some(Kind::Text)),
            (
                "a.json",
                b"{\"resourceType\": \"Bundle\"}",
                Some(Kind::Fhir),
            ),
            (
                "a.ndjson",
                b"{\"resourceType\": \"Binary\"}",
                Some(Kind::FhirLines),
            ),
            (
                "a.json",
                b"{\"resourceType\":\"Binary\"}\n{\"resourceType\":\"Binary\"}",
                Some(Kind::FhirLines),
            ),
            ("a.json", b"{\"text\": 1}", None),
            ("a.docx", b"PK\x03\x04", Some(Kind::Docx)),
            ("a", b"", None),
        ] {
            assert_eq!(Kind::of(name, bytes), kind, "{name} {bytes:?}");
        }
    }

    #[test]
    fn media_types_are_known_with_parameters() {
        let kind = Kind::of_media_type("Text/HTML; charset=utf-8");
        assert_eq!(kind, Some(Kind::Html));
        assert_eq!(Kind::of_media_type("image/png"), None);
    }
}
