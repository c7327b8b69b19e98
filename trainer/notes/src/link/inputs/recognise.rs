//! The kind of a file of notes: by the option `--input-format`, its name and its first bytes.

use clap::ValueEnum;
use pel_documents::Kind as DocumentKind;
use pel_kb::error::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The input formats that a user can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Each file is one note
    Text,
    /// A table with commas, or with the semicolons, tabs or vertical bars of its header
    Csv,
    /// A table with tabs
    Tsv,
    /// A JSON object per line
    Jsonl,
    /// An Apache Parquet table
    Parquet,
    /// FHIR: a DocumentReference, a Bundle with some, or NDJSON
    Fhir,
    /// BioC in XML or JSON
    Bioc,
    /// HTML or XHTML: each file is one note
    Html,
    /// Rich Text Format: each file is one note
    Rtf,
    /// A Word document: each file is one note
    Docx,
    /// PDF with a text layer: each file is one note
    Pdf,
    /// HL7 CDA, such as C-CDA: each file is one note
    Cda,
    /// Messages of HL7 v2 (ORU, MDM), each a note
    Hl7,
}

impl InputFormat {
    /// The format of documents that are one note each; `None` for others.
    fn document(self) -> Option<DocumentKind> {
        Some(match self {
            Self::Html => DocumentKind::Html,
            Self::Rtf => DocumentKind::Rtf,
            Self::Docx => DocumentKind::Docx,
            Self::Pdf => DocumentKind::Pdf,
            Self::Cda => DocumentKind::Cda,
            _ => return None,
        })
    }
}

/// What a JSON file must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// What it is recognised as.
    Any,
    /// Rows of a table, each with a text.
    Table,
    /// FHIR resources.
    Fhir,
    /// BioC.
    Bioc,
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As one note.
    Text,
    /// As one note in the format of a document.
    File(DocumentKind),
    /// As messages of HL7 v2.
    Messages,
    /// As a table with delimiters; this one is tried first.
    Delimited(u8),
    /// As JSON values, one on each line.
    Lines(Wanted),
    /// As one JSON value.
    Document(Wanted),
    /// As BioC in XML.
    Xml,
    /// As Parquet.
    Parquet,
}

/// The extensions of documents that PEL does not read.
const UNREAD: [&str; 4] = ["doc", "odt", "pages", "wpd"];

/// The first bytes of an XML file that tell whether it is CDA.
const HEAD: u64 = 4096;

/// The extensions of compressed files.
const PACKED: [&str; 5] = [".gz", ".bz2", ".xz", ".zst", ".zstd"];

/// A file name in lower case, without the extension of its compression.
fn plain_name(name: &str) -> String {
    let name = name.to_lowercase();
    let bare = PACKED.iter().find_map(|packed| name.strip_suffix(packed));
    bare.unwrap_or(&name).to_owned()
}

/// A file name without its extension and that of its compression.
pub(crate) fn bare_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let packed = PACKED.iter().find(|packed| lower.ends_with(**packed));
    // Other letters can have another length in lower case; these extensions have not.
    let bare = packed
        .and_then(|packed| name.get(..name.len().saturating_sub(packed.len())))
        .unwrap_or(name);
    match bare.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => bare.to_owned(),
    }
}

/// The kind that a file name has; `None` if it is not that of a table or collection.
pub(crate) fn kind_of_name(name: &str) -> Option<Kind> {
    let name = plain_name(name);
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "csv" => Kind::Delimited(b','),
        "tsv" | "tab" => Kind::Delimited(b'\t'),
        "jsonl" | "ndjson" => Kind::Lines(Wanted::Any),
        "json" => Kind::Document(Wanted::Any),
        "xml" => Kind::Xml,
        "parquet" | "pq" => Kind::Parquet,
        "hl7" => Kind::Messages,
        _ => return None,
    })
}

/// The format of documents with a file name: one that is a note by itself and no plain text.
pub(crate) fn document_of_name(name: &str) -> Option<DocumentKind> {
    let kind = DocumentKind::of_name(name)?;
    (kind != DocumentKind::Text && !kind.is_collection()).then_some(kind)
}

/// Whether an XML file begins as CDA.
pub(crate) fn is_cda(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && DocumentKind::of_bytes(&head) == Some(DocumentKind::Cda)
}

/// Whether a file of this kind can have the format that the user has named.
pub(crate) fn fits(kind: Kind, format: InputFormat) -> bool {
    match format {
        InputFormat::Text => kind == Kind::Text,
        InputFormat::Csv => kind == Kind::Delimited(b','),
        InputFormat::Tsv => kind == Kind::Delimited(b'\t'),
        InputFormat::Jsonl => matches!(kind, Kind::Lines(_)),
        InputFormat::Parquet => kind == Kind::Parquet,
        InputFormat::Fhir => matches!(kind, Kind::Lines(_) | Kind::Document(_)),
        InputFormat::Bioc => matches!(kind, Kind::Lines(_) | Kind::Document(_) | Kind::Xml),
        InputFormat::Hl7 => kind == Kind::Messages,
        InputFormat::Html
        | InputFormat::Rtf
        | InputFormat::Docx
        | InputFormat::Pdf
        | InputFormat::Cda => false,
    }
}

/// The kind of a file: that of the format that the user has named, else that of its name. A file
/// without a known name is a text, but for Parquet, which its first bytes show.
///
/// # Errors
/// If the file is by its name a document that is no plain text. If Parquet is asked for from
/// standard input, which cannot be read from its end.
pub fn kind_of(path: &Path, format: Option<InputFormat>) -> Result<Kind> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named = match path.as_os_str() == "-" {
        true => None,
        false => kind_of_name(&name),
    };
    let Some(format) = format else {
        return match named {
            Some(Kind::Xml) if is_cda(path) => Ok(Kind::File(DocumentKind::Cda)),
            Some(kind) => Ok(kind),
            None if is_unread(&name) => Err(Error::input(format!(
                "{}: PEL does not read this format; save it as DOCX, PDF or plain text, or read it \
                 as it is with --input-format text",
                path.display()
            ))),
            None if is_parquet(path) => Ok(Kind::Parquet),
            None => Ok(document_of_name(&plain_name(&name)).map_or(Kind::Text, Kind::File)),
        };
    };
    Ok(match format {
        InputFormat::Text => Kind::Text,
        InputFormat::Csv => Kind::Delimited(b','),
        InputFormat::Tsv => Kind::Delimited(b'\t'),
        InputFormat::Jsonl => Kind::Lines(Wanted::Table),
        InputFormat::Parquet if path.as_os_str() == "-" => {
            return Err(Error::input(
                "standard input: Parquet is read from its end, so standard input cannot have it; \
                 name a file",
            ));
        }
        InputFormat::Parquet => Kind::Parquet,
        InputFormat::Fhir => match named {
            Some(Kind::Lines(_)) => Kind::Lines(Wanted::Fhir),
            _ => Kind::Document(Wanted::Fhir),
        },
        InputFormat::Hl7 => Kind::Messages,
        InputFormat::Html
        | InputFormat::Rtf
        | InputFormat::Docx
        | InputFormat::Pdf
        | InputFormat::Cda => Kind::File(format.document().unwrap_or(DocumentKind::Text)),
        InputFormat::Bioc => match named {
            Some(Kind::Lines(_)) => Kind::Lines(Wanted::Bioc),
            Some(Kind::Xml) => Kind::Xml,
            _ => Kind::Document(Wanted::Bioc),
        },
    })
}

/// Whether a file name is that of a document that PEL does not read.
fn is_unread(name: &str) -> bool {
    let name = plain_name(name);
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| UNREAD.contains(&extension))
}

/// Whether a file begins like Parquet. What cannot be read is reported by its reader.
fn is_parquet(path: &Path) -> bool {
    // Opening a pipe would wait for its writer.
    if !path.is_file() {
        return false;
    }
    let mut head = [0; 4];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .is_ok_and(|()| head == *b"PAR1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_that_of_the_name_without_compression() {
        for (name, kind) in [
            ("notes.csv", Kind::Delimited(b',')),
            ("NOTES.TSV.GZ", Kind::Delimited(b'\t')),
            ("a.b.ndjson.zst", Kind::Lines(Wanted::Any)),
            ("bundle.json", Kind::Document(Wanted::Any)),
            ("pmc.xml.xz", Kind::Xml),
            ("part-0.snappy.parquet", Kind::Parquet),
        ] {
            assert_eq!(kind_of_name(name), Some(kind), "{name}");
            assert_eq!(kind_of(Path::new(name), None).expect("known"), kind);
        }
        for name in ["note.txt", "csv", "note", "patient.1", "note.txt.gz"] {
            assert_eq!(kind_of_name(name), None, "{name}");
            assert_eq!(kind_of(Path::new(name), None).expect("a text"), Kind::Text);
        }
    }

    #[test]
    fn documents_have_the_kind_of_their_name_or_format() {
        for (name, kind) in [
            ("note.html", DocumentKind::Html),
            ("NOTE.PDF", DocumentKind::Pdf),
            ("note.htm.gz", DocumentKind::Html),
            ("note.docx", DocumentKind::Docx),
            ("note.rtf", DocumentKind::Rtf),
        ] {
            let found = kind_of(Path::new(name), None).expect(name);
            assert_eq!(found, Kind::File(kind), "{name}");
            let found = kind_of(Path::new(name), Some(InputFormat::Text));
            assert_eq!(found.expect("a text"), Kind::Text);
        }
        let found = kind_of(Path::new("-"), Some(InputFormat::Pdf)).expect("a PDF");
        assert_eq!(found, Kind::File(DocumentKind::Pdf));
        let found = kind_of(Path::new("a.hl7"), None).expect("messages");
        assert_eq!(found, Kind::Messages);
        let error = kind_of(Path::new("a.odt"), None).expect_err("unread");
        assert!(error.to_string().starts_with("a.odt: PEL does not read"));
    }

    #[test]
    fn format_of_the_user_takes_precedence() {
        let kind = |name: &str, format| kind_of(Path::new(name), Some(format)).expect("a kind");
        assert_eq!(kind("notes.csv", InputFormat::Text), Kind::Text);
        assert_eq!(kind("-", InputFormat::Csv), Kind::Delimited(b','));
        assert_eq!(
            kind("a.ndjson", InputFormat::Fhir),
            Kind::Lines(Wanted::Fhir)
        );
        assert_eq!(
            kind("a.txt", InputFormat::Fhir),
            Kind::Document(Wanted::Fhir)
        );
        assert_eq!(kind("a.xml", InputFormat::Bioc), Kind::Xml);
        assert!(kind_of(Path::new("-"), Some(InputFormat::Parquet)).is_err());
    }

    #[test]
    fn bare_name_has_neither_extension_nor_compression() {
        for (name, bare) in [
            ("notes.csv.gz", "notes"),
            ("part-0.snappy.parquet", "part-0.snappy"),
            ("notes", "notes"),
            (".csv", ".csv"),
        ] {
            assert_eq!(bare_name(name), bare);
        }
    }
}
