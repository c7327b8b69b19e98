//! Notes in documents: HTML, RTF, DOCX, PDF and CDA, one in a file, and messages of HL7 v2.

use super::{Each, NoteRow, note_name, numbered};
use pel_documents::{Document, Kind, Limits, read_one};
use pel_io::files::open_within;
use pel_io::limits::Bound;
use pel_io::text_encoding::read_error;
use pel_kb::error::{Context, Error, Result};
use pel_output::About;
use pel_text::Span;
use pel_text::context::StatedSection;
use std::io::Read;
use std::path::Path;

/// What a document states of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// The patient, the encounter, the day, the author and the title.
    pub about: About,
    /// The day and the sections, for the rules of context.
    pub context: pel_text::context::Stated,
}

/// The text of a document, and what it states.
pub(crate) fn stated_of(document: Document) -> (String, Stated) {
    let sections = document.sections.iter().map(|section| {
        let shown = document.text.get(section.start..).unwrap_or_default();
        let has_heading = !section.title.is_empty() && shown.starts_with(&section.title);
        let end = section.start + if has_heading { section.title.len() } else { 0 };
        StatedSection::of_code(Span::new(section.start, end), section.code.as_deref())
    });
    let stated = Stated {
        context: pel_text::context::Stated {
            day: document.date.clone(),
            sections: sections.collect(),
        },
        about: About {
            patient: document.patient,
            encounter: document.encounter,
            date: document.date,
            author: document.author,
            title: document.title,
        },
    };
    (document.text, stated)
}

/// A document that a client has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadDocument {
    /// Its identifier, without control characters.
    pub id: Option<String>,
    /// Its text.
    pub text: String,
    /// What it states.
    pub stated: Stated,
}

/// Reads the documents of a body. `charset` is the declared character set of a text or HTML, and
/// `unpacked` the bytes that packed parts may unpack to.
///
/// # Errors
/// If one of them cannot be read, or there is none.
pub fn read_body(
    bytes: &[u8],
    kind: Kind,
    charset: Option<&str>,
    unpacked: usize,
) -> Result<Vec<ReadDocument>> {
    let entries = pel_documents::read(bytes, kind, charset, Limits::of_unpacked(unpacked));
    if entries.is_empty() {
        return Err(Error::input(format!(
            "the {} has no document: a DocumentReference, DiagnosticReport, Composition or Binary",
            kind.label()
        )));
    }
    let documents = entries.into_iter().map(|entry| {
        let document = match entry.place.is_empty() {
            true => entry.document?,
            false => entry.document.context(|| entry.place)?,
        };
        let id = document.id.as_deref().map(note_name).transpose()?;
        let (text, stated) = stated_of(document);
        Ok(ReadDocument { id, text, stated })
    });
    documents.collect()
}

/// Reads a file that is one document, packed or not.
///
/// # Errors
/// If it cannot be read, exceeds the limit of a text, or is not a readable document of this kind.
/// The error names the file.
pub(crate) fn file(path: &Path, kind: Kind) -> Result<(String, Stated)> {
    let bytes = bytes_of(path)?;
    // What the bytes are counts, as for a page that is named .doc.html and is RTF.
    let kind = match Kind::of_bytes(&bytes) {
        Some(found) if !found.is_collection() => found,
        _ => kind,
    };
    let document = read_one(&bytes, kind, None, limits());
    document
        .map(stated_of)
        .context(|| path.display().to_string())
}

/// Reads the messages of a file.
///
/// # Errors
/// If it cannot be read, or `each` fails. A message that cannot be read is passed on as an error.
pub(super) fn read_messages(path: &Path, each: &mut Each<'_>) -> Result<()> {
    let bytes = bytes_of(path)?;
    let name = path.display().to_string();
    for (at, entry) in pel_documents::read(&bytes, Kind::Hl7, None, limits())
        .into_iter()
        .enumerate()
    {
        let place = match entry.place.is_empty() {
            true => name.clone(),
            false => format!("{name}: {}", entry.place),
        };
        let row = |document: Document| {
            let named = document.id.clone();
            let (text, stated) = stated_of(document);
            Ok(NoteRow {
                name: match named {
                    Some(id) => note_name(&id)?,
                    None => numbered(path, at as u64 + 1),
                },
                text,
                place: place.clone(),
                stated,
            })
        };
        let note = entry.document.and_then(row);
        each(note.map_err(|error| error.context(place)))?;
    }
    Ok(())
}

/// What documents may unpack to: as much as a text may have.
pub(super) fn limits() -> Limits {
    Limits::of_unpacked(usize::try_from(Bound::Text.bytes()).unwrap_or(usize::MAX))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_within(path, Bound::Text)?
        .read_to_end(&mut bytes)
        .map_err(|cause| read_error(path, cause))?;
    match bytes.is_empty() {
        true => Err(Error::input(format!(
            "{}: the file is empty",
            path.display()
        ))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_as;
    use super::super::{Kind as InputKind, ReadOptions};
    use super::*;

    #[test]
    fn messages_have_names_and_other_ones_are_errors() {
        let text = "MSH|^~\\&|A|B|C|D|20260103||ORU^R01|M1|P|2.3\rNTE|1||Gout.\r\
                    MSH|^~\\&|A|B|C|D|20260103||ADT^A01|M2|P|2.3\rPID|1\r\
                    MSH|^~\\&|A|B|C|D|20260103||ORU^R01||P|2.3\rNTE|1||Fever.\r";
        let options = ReadOptions::default();
        let found = read_as("in.hl7", text.as_bytes(), InputKind::Messages, &options);
        let expected = [("M1", "Gout."), ("in:3", "Fever.")];
        assert_eq!(
            found.notes,
            expected.map(|(name, text)| (name.into(), text.into()))
        );
        assert_eq!(found.errors.len(), 1);
        assert!(
            found.errors[0].starts_with("in.hl7: message 2: "),
            "{:?}",
            found.errors
        );
    }

    #[test]
    fn file_has_its_text_and_what_it_states() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.html");
        std::fs::write(&path, "<title>Visit</title><p>Gout.").expect("written");
        let (text, stated) = file(&path, Kind::Html).expect("readable");
        assert_eq!(text, "Gout.");
        assert_eq!(stated.about.title.as_deref(), Some("Visit"));
        std::fs::write(&path, "%PDF-1.4").expect("written");
        let error = file(&path, Kind::Html).expect_err("damaged").to_string();
        assert!(error.contains("a.html: expected a whole PDF"), "{error}");
    }

    #[test]
    fn headings_of_sections_are_those_of_the_text() {
        let section = |start, title: &str| pel_documents::Section {
            start,
            code: Some("10160-0".into()),
            title: title.into(),
        };
        let (_, stated) = stated_of(Document {
            text: "Drugs\nASA\n\nASA".into(),
            sections: vec![section(0, "Drugs"), section(11, "not shown")],
            ..Document::default()
        });
        let headings: Vec<Span> = stated
            .context
            .sections
            .iter()
            .map(|section| section.heading)
            .collect();
        assert_eq!(headings, [Span::new(0, 5), Span::new(11, 11)]);
    }
}
