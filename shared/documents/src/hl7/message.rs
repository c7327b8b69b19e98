//! The document of one message.

use super::escapes::unescaped;
use super::segment::Segment;
use crate::base64::decoded;
use crate::dates;
use crate::document::Document;
use crate::flow::Flow;
use crate::kind::Kind;
use crate::limits::Limits;
use pel_kb::error::{Context, Error, Result};

/// Reads the text of observations (OBX) and comments (NTE) below their orders (OBR).
///
/// # Errors
/// If there is no text, or a packed content cannot be read.
pub(super) fn read(segments: &[Segment<'_>], limits: Limits) -> Result<Document> {
    let mut reader = Reader {
        limits,
        document: Document::default(),
        flow: Flow::default(),
        packed: Vec::new(),
        order: String::new(),
        heading: None,
    };
    for (at, segment) in segments.iter().enumerate() {
        match segment.name() {
            "MSH" => reader.header(segment),
            "PID" => {
                let first = [segment.component(3, 1), segment.component(2, 1)];
                reader.document.patient = first.into_iter().find_map(value);
                set(
                    &mut reader.document.encounter,
                    value(segment.component(18, 1)),
                );
            }
            "PV1" => {
                if let Some(visit) = value(segment.component(19, 1)) {
                    reader.document.encounter = Some(visit);
                }
            }
            "TXA" => reader.transcription(segment),
            "OBR" => reader.order(segment),
            "OBX" => {
                let near = [at.checked_sub(1), at.checked_add(1)];
                let near = near.into_iter().flatten().filter_map(|at| segments.get(at));
                let same = |other: &Segment<'_>| {
                    other.name() == "OBX" && other.field(3) == segment.field(3)
                };
                let continued = near.into_iter().any(same);
                reader.observation(segment, continued)?;
            }
            "NTE" => {
                reader.flow.line();
                reader.lines(segment, segment.field(3));
            }
            _ => {}
        }
    }
    reader.finish()
}

struct Reader {
    limits: Limits,
    document: Document,
    flow: Flow,
    /// Documents within the message.
    packed: Vec<Document>,
    /// The name of the open order.
    order: String,
    /// The identifier of the observation whose heading was written last.
    heading: Option<String>,
}

impl Reader {
    fn header(&mut self, segment: &Segment<'_>) {
        self.document.id = value(segment.component(10, 1));
        self.document.date = dates::iso(segment.component(7, 1));
    }

    /// The facts of a document (MDM).
    fn transcription(&mut self, segment: &Segment<'_>) {
        if let Some(id) = value(segment.component(12, 1)) {
            self.document.id = Some(id);
        }
        if let Some(date) = dates::iso(segment.component(4, 1)) {
            self.document.date = Some(date);
        }
        self.document.title = coded(segment, 2);
        self.document.author = [9, 5]
            .into_iter()
            .find_map(|field| person(&segment.components(field)));
    }

    fn order(&mut self, segment: &Segment<'_>) {
        let title = coded(segment, 4).unwrap_or_default();
        let is_first = self.order.is_empty() && self.heading.is_none();
        if is_first {
            let times = [segment.component(7, 1), segment.component(22, 1)];
            if let Some(date) = times.into_iter().find_map(dates::iso) {
                self.document.date = Some(date);
            }
            let interpreter: Vec<&str> = segment
                .component(32, 1)
                .split(segment.delimiters.sub)
                .collect();
            set(&mut self.document.author, person(&interpreter));
        }
        if !title.is_empty() {
            set(&mut self.document.title, Some(title.clone()));
            self.flow.block();
            self.flow.section(loinc(segment, 4), title.clone());
            self.flow.collapsed(&title);
            self.flow.line();
        }
        self.order = title;
        self.heading = None;
    }

    /// An observation. `continued` tells that another one has the same identifier.
    fn observation(&mut self, segment: &Segment<'_>, continued: bool) -> Result<()> {
        // Deleted, wrong, or without a result.
        if matches!(segment.field(11), "D" | "W" | "X") {
            return Ok(());
        }
        let kind = segment.field(2);
        match kind {
            "ED" => return self.packed(segment),
            "RP" => return Ok(()),
            _ => {}
        }
        let name = coded(segment, 3).unwrap_or_default();
        let is_text = match kind {
            "TX" | "FT" | "" => true,
            "ST" => continued || segment.field(5).len() > 200,
            _ => false,
        };
        self.flow.line();
        if is_text {
            self.head(segment, &name);
            self.lines(segment, segment.field(5));
            return Ok(());
        }
        let result = result(segment, kind);
        if !result.is_empty() {
            if !name.is_empty() {
                self.flow.collapsed(&format!("{name}: "));
            }
            self.flow.collapsed(&result);
        }
        Ok(())
    }

    /// Writes the name of an observation above its lines, unless it stands there already.
    fn head(&mut self, segment: &Segment<'_>, name: &str) {
        let own = segment.field(3).to_owned();
        let is_written = self.heading.as_ref() == Some(&own);
        let is_order = name == self.order || Some(name) == self.document.title.as_deref();
        if !is_written && !is_order && !name.is_empty() {
            self.flow.section(loinc(segment, 3), name.to_owned());
            self.flow.collapsed(name);
            self.flow.line();
        }
        self.heading = Some(own);
    }

    /// Lines of text. Repetitions are lines, too.
    fn lines(&mut self, segment: &Segment<'_>, field: &str) {
        for line in field.split(segment.delimiters.repetition) {
            let line = unescaped(line, &segment.delimiters);
            match line.is_empty() {
                true => self.flow.brk(),
                false => self.flow.verbatim(&line),
            }
            self.flow.line();
        }
    }

    /// A document within the message: source, type, subtype, encoding, data.
    fn packed(&mut self, segment: &Segment<'_>) -> Result<()> {
        let part = |number| segment.component(5, number);
        let data = part(5);
        if data.is_empty() {
            return Ok(());
        }
        let bytes = match part(4).to_lowercase().starts_with("base64") {
            true => {
                decoded(&unescaped(data, &segment.delimiters)).context(|| "OBX-5".to_owned())?
            }
            false => unescaped(data, &segment.delimiters).into_bytes(),
        };
        let kind = Kind::of_bytes(&bytes).unwrap_or_else(|| match &*part(3).to_lowercase() {
            "pdf" => Kind::Pdf,
            "rtf" => Kind::Rtf,
            "html" => Kind::Html,
            "docx" => Kind::Docx,
            _ => Kind::Text,
        });
        let pictures = ["jpeg", "jpg", "png", "gif", "tiff", "dicom"];
        if pictures.contains(&&*part(3).to_lowercase()) {
            return Ok(());
        }
        let found = crate::read_one(&bytes, kind, None, self.limits.within()?)
            .context(|| "OBX-5".to_owned())?;
        self.packed.push(found);
        Ok(())
    }

    fn finish(self) -> Result<Document> {
        let mut document = self.document;
        (document.text, document.sections) = self.flow.finish();
        for packed in self.packed {
            document.complete_from(&packed);
            document.append(packed);
        }
        match document.text.is_empty() {
            true => Err(Error::input("the message has no OBX or NTE with a text")),
            false => Ok(document),
        }
    }
}

/// The value of an observation that is no text, with unit, range and flag.
fn result(segment: &Segment<'_>, kind: &str) -> String {
    let delimiters = &segment.delimiters;
    let values = segment.field(5).split(delimiters.repetition).map(|value| {
        let parts: Vec<&str> = value.split(delimiters.component).collect();
        let shown = match kind {
            "CE" | "CWE" | "CNE" | "CF" | "IS" => {
                let known = [1, 8, 0].into_iter().filter_map(|at| parts.get(at));
                known
                    .copied()
                    .find(|part| !part.is_empty())
                    .unwrap_or_default()
                    .to_owned()
            }
            "SN" => parts.concat(),
            "DT" | "TS" | "DTM" => dates::iso(value).unwrap_or_else(|| value.to_owned()),
            _ => parts.join(" "),
        };
        unescaped(&shown, delimiters)
    });
    let values: Vec<String> = values.filter(|value| !value.is_empty()).collect();
    let mut shown = values.join(", ");
    if shown.is_empty() {
        return shown;
    }
    let unit = [segment.component(6, 1), segment.component(6, 2)];
    if let Some(unit) = unit.into_iter().find(|unit| !unit.is_empty()) {
        shown += &format!(" {}", unescaped(unit, delimiters));
    }
    if !segment.field(7).is_empty() {
        shown += &format!(" ({})", unescaped(segment.field(7), delimiters));
    }
    let flag = segment.component(8, 1);
    if !flag.is_empty() {
        shown += &format!(" {}", unescaped(flag, delimiters));
    }
    shown
}

/// The words of a coded field, else its code.
fn coded(segment: &Segment<'_>, field: usize) -> Option<String> {
    let parts = [2, 9, 5, 1].map(|part| segment.component(field, part));
    let words = parts.into_iter().find(|part| !part.trim().is_empty())?;
    value(&unescaped(words, &segment.delimiters))
}

/// The code of a field, if it is one of LOINC.
fn loinc(segment: &Segment<'_>, field: usize) -> Option<String> {
    let of = |code, system| {
        matches!(segment.component(field, system), "LN" | "LOINC")
            .then(|| value(segment.component(field, code)))
            .flatten()
    };
    of(1, 3).or_else(|| of(4, 6))
}

/// The name of a person: identifier, family, given, second, suffix, prefix.
fn person(parts: &[&str]) -> Option<String> {
    let names = [5, 2, 3, 1, 4].into_iter().filter_map(|at| parts.get(at));
    let names: Vec<&str> = names.map(|name| name.trim()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    value(&names.join(" "))
}

/// A text in one line; `None` if it is empty or HL7's null.
fn value(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty() && line != "\"\"").then_some(line)
}

/// Keeps the first value.
fn set(slot: &mut Option<String>, value: Option<String>) {
    if slot.is_none() {
        *slot = value;
    }
}
