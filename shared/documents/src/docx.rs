//! Word documents (DOCX): paragraphs and tables of the body, and its notes.
//!
//! A DOCX is a ZIP archive of XML. rawzip 0.5 finds its members (MIT, 2026, no dependencies, reads
//! slices, also in WebAssembly; PEL's other archives are read by it), flate2 unpacks them to a
//! bound, and `xml.rs` reads the elements. docx-rs builds the whole model of a document and has no
//! bound of the unpacked bytes. Headers, footers, comments and numbers of lists are not read.

use crate::decode;
use crate::document::Document;
use crate::flow::Flow;
use crate::inflate;
use crate::limits::Limits;
use crate::xml::{Part, Parts, Tag};
use pel_kb::error::{Context, Error, Result};
use rawzip::{CompressionMethod, ZipArchive};

/// The member with the text.
const BODY: &str = "word/document.xml";
/// The member with title and author.
const CORE: &str = "docProps/core.xml";
/// The members with notes, which stand behind the text.
const NOTES: [&str; 2] = ["word/footnotes.xml", "word/endnotes.xml"];
/// The first bytes of an encrypted document, which is no ZIP archive.
const COMPOUND: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// Reads a document.
///
/// # Errors
/// If it is not a whole DOCX, is encrypted, unpacks beyond the limit, or has no text.
pub(crate) fn read(bytes: &[u8], limits: Limits) -> Result<Document> {
    if bytes.starts_with(&COMPOUND) {
        return Err(Error::input(
            "this is an encrypted DOCX or an old DOC, not a readable DOCX; save it as DOCX without \
             a password",
        ));
    }
    let mut members = Members { bytes, limits };
    let Some(body) = members.read(BODY)? else {
        return Err(Error::input(format!(
            "the archive has no {BODY}, so it is not a DOCX"
        )));
    };
    let mut flow = Flow::default();
    Body::new(&mut flow)
        .read(&decode::xml(&body))
        .context(|| BODY.to_owned())?;
    for name in NOTES {
        if let Some(notes) = members.read(name)? {
            flow.block();
            Body::new(&mut flow)
                .read(&decode::xml(&notes))
                .context(|| name.to_owned())?;
        }
    }
    let (text, sections) = flow.finish();
    if text.is_empty() {
        return Err(Error::input(
            "the DOCX has no text; does it have pictures alone?",
        ));
    }
    let mut document = Document {
        text,
        sections,
        ..Document::default()
    };
    if let Some(core) = members.read(CORE)? {
        // A damaged property costs no text.
        let _ = properties(&decode::xml(&core), &mut document);
    }
    Ok(document)
}

/// The members of an archive, which unpack to a limit together.
struct Members<'b> {
    bytes: &'b [u8],
    limits: Limits,
}

impl Members<'_> {
    /// The content of the first member of a name; `None` if there is none.
    fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        let damaged = |cause| Error::input("expected a whole DOCX").caused_by(cause);
        let archive = ZipArchive::from_slice(self.bytes).map_err(damaged)?;
        let mut entries = archive.entries();
        while let Some(entry) = entries.next_entry().map_err(damaged)? {
            let path = entry.file_path();
            let own = String::from_utf8_lossy(path.as_bytes()).replace('\\', "/");
            if !own.trim_start_matches('/').eq_ignore_ascii_case(name) {
                continue;
            }
            if entry.flags().is_encrypted() {
                return Err(Error::input(format!("{name} of the DOCX is encrypted")));
            }
            let method = entry.compression_method();
            let member = archive.get_entry(entry.wayfinder()).map_err(damaged)?;
            let packed = member.data();
            let unpacked = match method {
                CompressionMethod::STORE if packed.len() <= self.limits.unpacked => packed.to_vec(),
                CompressionMethod::STORE => return Err(self.limits.exceeded(name)),
                CompressionMethod::DEFLATE => {
                    let inflated = inflate::raw(packed, self.limits.unpacked);
                    if inflated.exceeded {
                        return Err(self.limits.exceeded(name));
                    }
                    if inflated.damaged {
                        return Err(Error::input(format!("{name} of the DOCX is damaged")));
                    }
                    inflated.bytes
                }
                _ => {
                    return Err(Error::input(format!(
                        "{name} of the DOCX is packed by another method than Deflate"
                    )));
                }
            };
            self.limits.unpacked -= unpacked.len();
            return Ok(Some(unpacked));
        }
        Ok(None)
    }
}

/// Title and author.
fn properties(text: &str, document: &mut Document) -> Result<()> {
    let mut parts = Parts::new(text);
    while let Some(part) = parts.next()? {
        let Part::Start(tag) = part else { continue };
        if parts.depth() != 2 {
            continue;
        }
        let mut value = || -> Result<Option<String>> {
            let value = parts.text()?.trim().to_owned();
            Ok(Some(value).filter(|value| !value.is_empty()))
        };
        match &*tag.name {
            "title" => document.title = value()?,
            "creator" => document.author = value()?,
            // When the file was made is no date of the note: templates have old ones.
            _ => {}
        }
    }
    Ok(())
}

/// What is open in a body.
struct Body<'f> {
    flow: &'f mut Flow,
    /// The depth of the open run's properties, and whether they hide it.
    hidden: bool,
    /// Whether characters are those of a `<w:t>`.
    in_text: usize,
    /// The characters of the open heading.
    heading: Option<String>,
}

impl<'f> Body<'f> {
    fn new(flow: &'f mut Flow) -> Self {
        Self {
            flow,
            hidden: false,
            in_text: 0,
            heading: None,
        }
    }

    fn read(&mut self, text: &str) -> Result<()> {
        let mut parts = Parts::new(text);
        let mut open: Vec<String> = Vec::new();
        while let Some(part) = parts.next()? {
            match part {
                Part::Start(tag) if is_skipped(&tag) => parts.skip()?,
                Part::Start(tag) => {
                    self.start(&tag);
                    open.push(tag.name);
                }
                Part::End => {
                    if let Some(name) = open.pop() {
                        self.end(&name);
                    }
                }
                Part::Text(text) if self.in_text > 0 && !self.hidden => {
                    if let Some(title) = &mut self.heading {
                        title.push_str(&text);
                    }
                    self.flow.verbatim(&text);
                }
                Part::Text(_) => {}
            }
        }
        Ok(())
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match &*tag.name {
            "t" => self.in_text += 1,
            "p" => {
                self.flow.line();
                self.heading = None;
            }
            "r" => self.hidden = false,
            "pStyle" => {
                let style = tag.attribute("val").unwrap_or_default().to_lowercase();
                if style.starts_with("heading") || style.starts_with("berschrift") {
                    self.flow.block();
                    self.flow.section(None, String::new());
                    self.heading = Some(String::new());
                }
            }
            "vanish" | "webHidden" => {
                let value = tag.attribute("val");
                self.hidden = !value.is_some_and(|value| value == "0" || value == "false");
            }
            "tab" | "ptab" if !self.hidden => self.flow.verbatim("\t"),
            "br" | "cr" => self.flow.brk(),
            "noBreakHyphen" => self.flow.verbatim("-"),
            "sym" => self.symbol(tag),
            "tbl" | "txbxContent" => self.flow.line(),
            "tr" => self.flow.row(),
            "tc" => self.flow.cell(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.in_text = self.in_text.saturating_sub(1),
            "r" => self.hidden = false,
            "p" => {
                if let Some(title) = self.heading.take() {
                    self.flow.name_section(&title);
                }
                // An empty paragraph is an empty line.
                self.flow.brk();
            }
            "tbl" | "txbxContent" => self.flow.line(),
            "tr" => self.flow.end_row(),
            "tc" => self.flow.end_cell(),
            _ => {}
        }
    }

    /// A character of a font of symbols, whose codes begin at U+F000.
    fn symbol(&mut self, tag: &Tag<'_>) {
        let code = tag.attribute("char").unwrap_or_default();
        let font = tag.attribute("font").unwrap_or_default();
        let Ok(code) = u32::from_str_radix(&code, 16) else {
            return;
        };
        let c = match (font.as_str(), code & 0xff) {
            ("Wingdings", 0xfe | 0xfc) => Some('☑'),
            ("Wingdings", 0xa8 | 0x6f | 0x71 | 0x72) => Some('☐'),
            ("Wingdings", 0xfd | 0xfb | 0x78) => Some('☒'),
            ("Wingdings", 0xe0) => Some('→'),
            ("Symbol", low) => crate::pdf::symbol(low as u8),
            _ => char::from_u32(code).filter(|c| !('\u{e000}'..='\u{f8ff}').contains(c)),
        };
        if let Some(c) = c {
            self.flow.verbatim(c.encode_utf8(&mut [0; 4]));
        }
    }
}

/// Elements that are not shown, or are shown otherwise.
fn is_skipped(tag: &Tag<'_>) -> bool {
    match &*tag.name {
        // Moved or deleted by a tracked change.
        "moveFrom" | "del" => true,
        // The other form of what `Choice` has.
        "Fallback" => true,
        "instrText" | "delText" | "delInstrText" | "sectPr" | "tblPr" | "trPr" | "tcPr" => true,
        // The lines around notes.
        "footnote" | "endnote" => tag
            .attribute("type")
            .is_some_and(|kind| kind.contains("eparator") || kind == "continuationNotice"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::zipped;

    const NAMES: &str = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"";

    fn docx(body: &str) -> Vec<u8> {
        let body = format!("<w:document {NAMES}><w:body>{body}</w:body></w:document>");
        let core = "<cp:coreProperties><dc:title>Op note</dc:title><dc:creator>Ann Roe</dc:creator>\
                    <dcterms:created>2026-01-03T10:15:00Z</dcterms:created></cp:coreProperties>";
        zipped(&[(BODY, body.as_bytes()), (CORE, core.as_bytes())])
    }

    fn text(body: &str) -> String {
        read(&docx(body), Limits::default()).expect("readable").text
    }

    fn p(text: &str) -> String {
        format!("<w:p><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>")
    }

    #[test]
    fn paragraphs_runs_and_tables_are_read() {
        let cell = |text: &str| format!("<w:tc>{}</w:tc>", p(text));
        let body = format!(
            "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/></w:pPr><w:r><w:t>Labs</w:t></w:r></w:p>\
             <w:p><w:r><w:t>No fe</w:t></w:r><w:r><w:t xml:space=\"preserve\">ver, </w:t></w:r><w:r>\
             <w:br/><w:t>no</w:t><w:tab/><w:t>cough</w:t></w:r></w:p>\
             <w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>{}",
            cell("Test"),
            cell("Value"),
            cell("Na"),
            cell("140"),
            p("End &amp; out"),
        );
        let found = read(&docx(&body), Limits::default()).expect("readable");
        assert_eq!(
            found.text,
            "Labs\nNo fever,\nno\tcough\nTest\tValue\nNa\t140\nEnd & out"
        );
        assert_eq!(found.sections.len(), 1);
        assert_eq!(
            (found.sections[0].start, &*found.sections[0].title),
            (0, "Labs")
        );
        assert_eq!(found.title.as_deref(), Some("Op note"));
        assert_eq!(found.author.as_deref(), Some("Ann Roe"));
        assert_eq!(found.date, None);
    }

    #[test]
    fn hidden_and_deleted_text_is_left_out_and_inserted_kept() {
        let run = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
        let body = format!(
            "<w:p>{}<w:del><w:r><w:delText>b</w:delText></w:r></w:del><w:ins>{}</w:ins>\
             <w:r><w:rPr><w:vanish/></w:rPr><w:t>d</w:t></w:r>\
             <w:r><w:rPr><w:vanish w:val=\"0\"/></w:rPr><w:t>e</w:t></w:r>\
             <w:r><w:instrText>PAGE</w:instrText></w:r>\
             <w:r><w:sym w:font=\"Wingdings\" w:char=\"F0FE\"/></w:r></w:p>",
            run("a"),
            run("c")
        );
        assert_eq!(text(&body), "ace☑");
    }

    #[test]
    fn bombs_and_other_archives_are_refused() {
        let bomb = docx(&"<w:p/>".repeat(100_000));
        let limits = Limits {
            unpacked: 10_000,
            ..Limits::default()
        };
        for (bytes, why) in [
            (bomb, "unpacks to more than"),
            (zipped(&[("a", b"b")]), "not a DOCX"),
            (COMPOUND.to_vec(), "encrypted"),
            (b"PK\x03\x04 cut".to_vec(), "expected a whole DOCX"),
            (docx(""), "has no text"),
        ] {
            let error = read(&bytes, limits).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
