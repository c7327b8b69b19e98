//! Segments, fields and components of a message.

use crate::kind::is_segment;

/// The characters that separate the parts of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delimiters {
    pub field: char,
    pub component: char,
    pub repetition: char,
    pub escape: char,
    pub sub: char,
}

impl Default for Delimiters {
    fn default() -> Self {
        Self {
            field: '|',
            component: '^',
            repetition: '~',
            escape: '\\',
            sub: '&',
        }
    }
}

impl Delimiters {
    /// Those that a header states behind its name.
    fn of_header(line: &str) -> Self {
        let mut marks = line.chars().skip(3);
        let usual = Self::default();
        let field = marks.next().unwrap_or(usual.field);
        let mut next = |usual: char| marks.next().filter(|c| *c != field).unwrap_or(usual);
        Self {
            field,
            component: next(usual.component),
            repetition: next(usual.repetition),
            escape: next(usual.escape),
            sub: next(usual.sub),
        }
    }
}

/// A segment with the lines that belong to its last field.
#[derive(Debug)]
pub(super) struct Segment<'t> {
    text: &'t str,
    pub delimiters: Delimiters,
}

impl<'t> Segment<'t> {
    /// The name, such as `OBX`.
    pub fn name(&self) -> &'t str {
        self.text.get(..3).unwrap_or_default()
    }

    /// A field by its number, as it stands; empty if it is missing.
    pub fn field(&self, number: usize) -> &'t str {
        // The first field of a header is the separator.
        let at = number - usize::from(is_header(self.name()));
        self.text
            .split(self.delimiters.field)
            .nth(at)
            .unwrap_or_default()
    }

    /// The components of the first repetition of a field.
    pub fn components(&self, number: usize) -> Vec<&'t str> {
        let field = self.field(number);
        let first = field.split(self.delimiters.repetition).next();
        let first = first.unwrap_or_default();
        first.split(self.delimiters.component).collect()
    }

    /// A component of the first repetition of a field; empty if it is missing.
    pub fn component(&self, number: usize, component: usize) -> &'t str {
        let components = self.components(number);
        components.get(component - 1).copied().unwrap_or_default()
    }
}

/// Whether a segment states delimiters.
fn is_header(name: &str) -> bool {
    matches!(name, "MSH" | "FHS" | "BHS")
}

/// Cuts a text into segments. A line that begins none belongs to the segment before it.
pub(super) fn segments(text: &str) -> Vec<Segment<'_>> {
    let mut starts: Vec<(usize, Delimiters)> = Vec::new();
    let mut delimiters = Delimiters::default();
    let mut at = 0;
    for line in text.split_inclusive(['\r', '\n']) {
        let own = line.trim_start_matches(['\u{b}', '\u{1c}', '\u{feff}', ' ']);
        let start = at + (line.len() - own.len());
        at += line.len();
        let name = own.get(..3).unwrap_or_default();
        let begins = if is_header(name) {
            is_segment(own)
        } else {
            let rest = own.get(3..).unwrap_or_default();
            name.len() == 3
                && name.starts_with(|c: char| c.is_ascii_uppercase())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
                && rest.starts_with(delimiters.field)
        };
        if begins {
            if is_header(name) {
                delimiters = Delimiters::of_header(own);
            }
            starts.push((start, delimiters));
        }
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start);
    let ends: Vec<usize> = ends.chain([text.len()]).collect();
    let all = starts.iter().zip(ends);
    all.map(|((start, delimiters), end)| Segment {
        text: text[*start..end].trim_end_matches(['\r', '\n', '\u{b}', '\u{1c}', ' ']),
        delimiters: *delimiters,
    })
    .collect()
}

/// The character set that a header names, as the web names it.
pub(super) fn charset(segment: &Segment<'_>) -> Option<String> {
    if segment.name() != "MSH" {
        return None;
    }
    let name = segment.component(18, 1).trim().to_uppercase();
    Some(match name.strip_prefix("8859/") {
        Some(part) => format!("iso-8859-{part}"),
        None if name.starts_with("UNICODE") => "utf-8".to_owned(),
        None if name.starts_with("GB") => "gb18030".to_owned(),
        None if name.is_empty() => return None,
        None => name,
    })
}
