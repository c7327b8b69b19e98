//! HL7 CDA and C-CDA: the narrative of each section, with its LOINC code.
//!
//! The narrative is what an author signs and a reader sees; coded entries repeat it and are not
//! read. No crate reads CDA; `xml.rs` reads its elements.

use crate::base64::decoded;
use crate::dates;
use crate::decode;
use crate::document::Document;
use crate::flow::Flow;
use crate::html::{edge, raised};
use crate::kind::Kind;
use crate::limits::Limits;
use crate::xml::{Part, Parts, Tag};
use pel_kb::error::{Context, Error, Result};

/// The code system of LOINC.
const LOINC: &str = "2.16.840.1.113883.6.1";

/// Reads a document.
///
/// # Errors
/// If it is not CDA, is malformed, or has no body or no text.
pub(crate) fn read(bytes: &[u8], limits: Limits) -> Result<Document> {
    let text = decode::xml(bytes);
    let mut parts = Parts::new(&text);
    let root = loop {
        match parts.next()? {
            Some(Part::Start(tag)) => break tag,
            Some(_) => {}
            None => return Err(Error::input("expected XML, found no element")),
        }
    };
    if root.name != "ClinicalDocument" {
        return Err(Error::input(format!(
            "expected CDA, whose root is <ClinicalDocument>, found <{}>",
            root.name
        )));
    }
    let mut reader = Reader {
        limits,
        document: Document::default(),
        flow: Flow::default(),
        unstructured: None,
        has_body: false,
    };
    children(&mut parts, &mut |tag, parts| reader.header(&tag, parts))?;
    // What follows the root must be well-formed, too.
    while parts.next()?.is_some() {}
    reader.finish()
}

/// Passes each child of the open element on. What `each` does not read of it is passed over.
fn children<'x>(
    parts: &mut Parts<'x>,
    each: &mut dyn FnMut(Tag<'x>, &mut Parts<'x>) -> Result<()>,
) -> Result<()> {
    let outside = parts.depth().saturating_sub(1);
    while parts.depth() > outside {
        match parts.next()? {
            Some(Part::Start(tag)) => {
                let own = parts.depth();
                each(tag, parts)?;
                while parts.depth() >= own && parts.next()?.is_some() {}
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}

struct Reader {
    limits: Limits,
    document: Document,
    flow: Flow,
    /// The document of a body that is not XML.
    unstructured: Option<Document>,
    has_body: bool,
}

impl Reader {
    /// A child of the root.
    fn header(&mut self, tag: &Tag<'_>, parts: &mut Parts<'_>) -> Result<()> {
        match &*tag.name {
            "id" => set(&mut self.document.id, identifier(tag)),
            "title" => set(&mut self.document.title, words(&parts.text()?)),
            "effectiveTime" => {
                let time = tag.attribute("value").and_then(|stamp| dates::iso(&stamp));
                set(&mut self.document.date, time);
            }
            "recordTarget" => set(
                &mut self.document.patient,
                identifier_in(parts, "patientRole")?,
            ),
            "author" => set(&mut self.document.author, author(parts)?),
            "componentOf" => set(
                &mut self.document.encounter,
                identifier_in(parts, "encompassingEncounter")?,
            ),
            "component" => children(parts, &mut |tag, parts| self.body(&tag, parts))?,
            _ => {}
        }
        Ok(())
    }

    fn body(&mut self, tag: &Tag<'_>, parts: &mut Parts<'_>) -> Result<()> {
        match &*tag.name {
            "structuredBody" => {
                self.has_body = true;
                self.sections(parts)
            }
            "nonXMLBody" => {
                self.has_body = true;
                children(parts, &mut |tag, parts| match &*tag.name {
                    "text" => self.unstructured(&tag, parts),
                    _ => Ok(()),
                })
            }
            _ => Ok(()),
        }
    }

    /// A body that is a document of its own.
    fn unstructured(&mut self, tag: &Tag<'_>, parts: &mut Parts<'_>) -> Result<()> {
        let content = parts.text()?;
        let packed = tag.attribute("representation").as_deref() == Some("B64");
        let bytes = match packed {
            true => decoded(&content).context(|| "nonXMLBody".to_owned())?,
            false => content.into_bytes(),
        };
        if bytes.is_empty() {
            return Err(Error::input(
                "the nonXMLBody of the CDA has no content; PEL does not fetch what a reference names",
            ));
        }
        let media = tag.attribute("mediaType").unwrap_or_default();
        let kind = Kind::of_media_type(&media)
            .or_else(|| Kind::of_bytes(&bytes))
            .unwrap_or(Kind::Text);
        let found = crate::read_one(&bytes, kind, None, self.limits.within()?)
            .context(|| "nonXMLBody".to_owned())?;
        self.unstructured = Some(found);
        Ok(())
    }

    /// The sections below `<component>` elements.
    fn sections(&mut self, parts: &mut Parts<'_>) -> Result<()> {
        children(parts, &mut |tag, parts| match &*tag.name {
            "component" => children(parts, &mut |tag, parts| match &*tag.name {
                "section" => self.section(parts),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })
    }

    fn section(&mut self, parts: &mut Parts<'_>) -> Result<()> {
        let (mut code, mut display, mut has_title) = (None, String::new(), false);
        children(parts, &mut |tag, parts| {
            match &*tag.name {
                "code" => {
                    let system = tag.attribute("codeSystem");
                    let is_loinc = system.is_none_or(|system| system == LOINC);
                    code = tag.attribute("code").filter(|_| is_loinc);
                    display = tag.attribute("displayName").unwrap_or_default();
                }
                "title" => {
                    let title = words(&parts.text()?).unwrap_or_default();
                    if !title.is_empty() {
                        has_title = true;
                        self.flow.block();
                        self.flow.section(code.take(), title.clone());
                        self.flow.collapsed(&title);
                        self.flow.line();
                    }
                }
                "text" => {
                    if !has_title {
                        self.flow.block();
                        self.flow.section(code.take(), display.clone());
                    }
                    narrative(&mut self.flow, parts)?;
                }
                "component" => {
                    children(parts, &mut |tag, parts| match &*tag.name {
                        "section" => self.section(parts),
                        _ => Ok(()),
                    })?;
                }
                _ => {}
            }
            Ok(())
        })
    }

    fn finish(self) -> Result<Document> {
        let mut document = self.document;
        if !self.has_body {
            return Err(Error::input(
                "the CDA has no body: neither structuredBody nor nonXMLBody",
            ));
        }
        (document.text, document.sections) = self.flow.finish();
        if let Some(found) = self.unstructured {
            document.complete_from(&found);
            document.append(found);
        }
        match document.text.is_empty() {
            true => Err(Error::input("the sections of the CDA have no text")),
            false => Ok(document),
        }
    }
}

/// The narrative of a section, up to the end of its element.
fn narrative(flow: &mut Flow, parts: &mut Parts<'_>) -> Result<()> {
    let mut open: Vec<String> = Vec::new();
    let mut raising = 0_usize;
    // Text without any element keeps its lines.
    let mut plain = Some(String::new());
    loop {
        match parts.next()? {
            Some(Part::Start(tag)) => {
                if let Some(before) = plain.take() {
                    flow.collapsed(&before);
                }
                let revised = tag.attribute("revised");
                if revised.as_deref() == Some("delete") || tag.name == "renderMultiMedia" {
                    parts.skip()?;
                    continue;
                }
                match &*tag.name {
                    "br" => flow.brk(),
                    "sup" => raising += 1,
                    name => tagged(flow, name, true),
                }
                open.push(tag.name);
            }
            Some(Part::End) => match open.pop().as_deref() {
                Some("sup") => raising -= 1,
                Some("br") => {}
                Some(name) => tagged(flow, name, false),
                None => break,
            },
            Some(Part::Text(text)) => match &mut plain {
                Some(plain) => plain.push_str(&text),
                None if raising > 0 && flow.last().is_some_and(|c| c.is_ascii_digit()) => {
                    flow.collapsed(&raised(&text));
                }
                None => flow.collapsed(&text),
            },
            None => break,
        }
    }
    if let Some(plain) = plain {
        flow.verbatim(plain.trim());
    }
    Ok(())
}

/// The start or end of an element of a narrative.
fn tagged(flow: &mut Flow, name: &str, starts: bool) {
    match name {
        "paragraph" => flow.block(),
        "list" | "item" | "footnote" => flow.line(),
        name => edge(flow, name, starts),
    }
}

/// The name of the first author: of the person, else of the organisation.
fn author(parts: &mut Parts<'_>) -> Result<Option<String>> {
    let (mut person, mut organisation) = (None, None);
    children(parts, &mut |tag, parts| {
        if tag.name != "assignedAuthor" {
            return Ok(());
        }
        children(parts, &mut |tag, parts| {
            let name = match &*tag.name {
                "assignedPerson" => &mut person,
                "representedOrganization" => &mut organisation,
                _ => return Ok(()),
            };
            children(parts, &mut |tag, parts| {
                if tag.name == "name" && name.is_none() {
                    *name = name_of(parts)?;
                }
                Ok(())
            })
        })
    })?;
    Ok(person.or(organisation))
}

/// The words of a name, whose parts can be elements.
fn name_of(parts: &mut Parts<'_>) -> Result<Option<String>> {
    let (mut text, outside) = (String::new(), parts.depth().saturating_sub(1));
    while parts.depth() > outside {
        match parts.next()? {
            Some(Part::Text(part)) => text.push_str(&part),
            Some(_) => text.push(' '),
            None => break,
        }
    }
    Ok(words(&text))
}

/// The identifier of the first child of this name.
fn identifier_in(parts: &mut Parts<'_>, name: &str) -> Result<Option<String>> {
    let mut found = None;
    children(parts, &mut |tag, parts| {
        if tag.name != name {
            return Ok(());
        }
        children(parts, &mut |tag, _| {
            if tag.name == "id" {
                set(&mut found, identifier(&tag));
            }
            Ok(())
        })
    })?;
    Ok(found)
}

/// The extension of an identifier, else its root.
fn identifier(tag: &Tag<'_>) -> Option<String> {
    let value = |name| tag.attribute(name).and_then(|value| words(&value));
    value("extension").or_else(|| value("root"))
}

/// Keeps the first value.
fn set(slot: &mut Option<String>, value: Option<String>) {
    if slot.is_none() {
        *slot = value;
    }
}

/// A text in one line; `None` if it is empty.
fn words(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cda(body: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><ClinicalDocument xmlns=\"urn:hl7-org:v3\">\
             <id root=\"2.16.1\" extension=\"D7\"/><title>Discharge Summary</title>\
             <effectiveTime value=\"20260103101500-0500\"/><recordTarget><patientRole>\
             <id extension=\"998991\" root=\"2.16.2\"/><id extension=\"x\"/></patientRole>\
             </recordTarget><author><assignedAuthor><id/><assignedPerson><name><given>Ann</given>\
             <family>Roe</family></name></assignedPerson></assignedAuthor></author><componentOf>\
             <encompassingEncounter><id extension=\"V12\"/></encompassingEncounter></componentOf>\
             {body}</ClinicalDocument>"
        )
    }

    fn structured(sections: &str) -> String {
        cda(&format!(
            "<component><structuredBody>{sections}</structuredBody></component>"
        ))
    }

    fn section(code: &str, title: &str, text: &str) -> String {
        format!(
            "<component><section><code code=\"{code}\" codeSystem=\"{LOINC}\" displayName=\"d\"/>\
             <title>{title}</title><text>{text}</text>\
             <entry><observation><text>not read</text></observation></entry></section></component>"
        )
    }

    fn read(text: &str) -> Result<Document> {
        super::read(text.as_bytes(), Limits::default())
    }

    #[test]
    fn sections_have_codes_and_the_header_its_facts() {
        let text = structured(
            &(section(
                "11450-4",
                "Problems",
                "<list><item>CHF</item><item>DM</item></list>",
            ) + &section(
                "30954-2",
                "Results",
                "<table><thead><tr><th>Test</th><th>Value</th></tr></thead><tbody><tr><td>\
                     Na</td><td><content>140</content></td></tr></tbody></table>\
                     <paragraph>Seen.</paragraph>",
            )),
        );
        let found = read(&text).expect("readable");
        assert_eq!(
            found.text,
            "Problems\nCHF\nDM\n\nResults\nTest\tValue\nNa\t140\n\nSeen."
        );
        let sections: Vec<_> = found
            .sections
            .iter()
            .map(|one| (one.start, one.code.as_deref(), &*one.title))
            .collect();
        assert_eq!(
            sections,
            [
                (0, Some("11450-4"), "Problems"),
                (17, Some("30954-2"), "Results")
            ]
        );
        assert_eq!(found.id.as_deref(), Some("D7"));
        assert_eq!(found.title.as_deref(), Some("Discharge Summary"));
        assert_eq!(found.date.as_deref(), Some("2026-01-03T10:15:00-05:00"));
        assert_eq!(found.author.as_deref(), Some("Ann Roe"));
        assert_eq!(found.patient.as_deref(), Some("998991"));
        assert_eq!(found.encounter.as_deref(), Some("V12"));
    }

    #[test]
    fn nested_sections_and_plain_narratives_are_read() {
        let inner = section("8716-3", "Vital signs", "BP 120/80\n  HR 70");
        let text = structured(&format!(
            "<component><section><code code=\"29545-1\"/><title>Exam</title>{inner}</section>\
             </component>"
        ));
        let found = read(&text).expect("readable");
        assert_eq!(found.text, "Exam\n\nVital signs\nBP 120/80\n  HR 70");
        let codes: Vec<_> = found
            .sections
            .iter()
            .map(|one| one.code.as_deref())
            .collect();
        assert_eq!(codes, [Some("29545-1"), Some("8716-3")]);
    }

    #[test]
    fn deleted_content_is_left_out_and_powers_are_read() {
        let narrative = "a<content revised=\"delete\"> b</content> 10<sup>9</sup>/L<br/>c";
        let found = read(&structured(&section("x", "T", narrative))).expect("readable");
        assert_eq!(found.text, "T\na 10⁹/L\nc");
    }

    #[test]
    fn body_of_another_format_is_read() {
        let body = "<component><nonXMLBody><text mediaType=\"text/rtf\" representation=\"B64\">\
                    e1xydGYxIEdvdXQufQ==</text></nonXMLBody></component>";
        assert_eq!(read(&cda(body)).expect("readable").text, "Gout.");
    }

    #[test]
    fn documents_without_a_text_are_errors() {
        for (text, why) in [
            (cda(""), "has no body"),
            (structured(""), "have no text"),
            ("<a/>".to_owned(), "found <a>"),
            (
                structured("").replace("</structuredBody>", ""),
                "well-formed",
            ),
            (
                cda("<component><nonXMLBody><text/></nonXMLBody></component>"),
                "no content",
            ),
        ] {
            let error = read(&text).expect_err(&text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
