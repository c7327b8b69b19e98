//! The kinds of lines in a PubTator file.

/// One line, told by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Between two documents.
    Blank,
    /// `ID|t|text`.
    Title(&'a str, &'a str),
    /// `ID|a|text`.
    Abstract(&'a str, &'a str),
    /// `ID start end text type concept`, between tabs.
    Mention(Annotation<'a>),
    /// `ID kind argument argument`, between tabs: it has no offsets.
    Relation,
    /// None of these.
    Other,
}

/// The fields of a mention line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// The document.
    pub doc_id: &'a str,
    /// First code point of title, one separator and abstract.
    pub start: usize,
    /// One past the last code point.
    pub end: usize,
    /// The text that should stand there.
    pub text: &'a str,
    /// Semantic types, separated by commas.
    pub types: &'a str,
    /// The concept, or several, or none.
    pub concept: &'a str,
}

impl<'a> Line<'a> {
    /// Tells what a line (without its end) is.
    pub fn read(line: &'a str) -> Self {
        if line.trim().is_empty() {
            return Self::Blank;
        }
        let mut parts = line.splitn(3, '|');
        if let (Some(id), Some(kind), Some(text)) = (parts.next(), parts.next(), parts.next())
            && !id.contains('\t')
        {
            match kind {
                "t" => return Self::Title(id.trim(), text),
                "a" => return Self::Abstract(id.trim(), text),
                _ => {}
            }
        }
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            [doc_id, start, end, text, rest @ ..] => match (start.parse(), end.parse()) {
                (Ok(start), Ok(end)) => {
                    let (types, concept) =
                        (rest.first().copied().unwrap_or_default(), rest.get(1).copied().unwrap_or_default());
                    Self::Mention(Annotation { doc_id: doc_id.trim(), start, end, text, types, concept })
                }
                // A negative or broken number was meant as an offset; a word begins a relation.
                _ if start.starts_with(|c: char| c.is_alphabetic()) => Self::Relation,
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// What a concept field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gold<'a> {
    /// One concept.
    One(&'a str),
    /// `-`, `-1` or nothing: the annotators found none that fits.
    None,
    /// Several, which is an answer that a linker of single mentions cannot give.
    Several,
}

impl<'a> Gold<'a> {
    /// Reads a concept field; `prefix` is taken off its front.
    pub fn read(field: &'a str, prefix: &str) -> Self {
        let field = field.trim();
        match field {
            "" | "-" | "-1" => Self::None,
            several if several.contains(['|', ';', ',', '+']) => Self::Several,
            // A prefix alone is no concept either.
            one => match one.strip_prefix(prefix).unwrap_or(one).trim() {
                "" => Self::None,
                id => Self::One(id),
            },
        }
    }
}

/// Splits a type field into names and UMLS type identifiers (`T` and three digits).
pub fn types_and_ids(field: &str) -> (Vec<String>, Vec<String>) {
    let is_id = |part: &String| {
        part.strip_prefix('T')
            .is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let parts = field.split([',', ';']).map(|part| part.trim().to_owned()).filter(|part| !part.is_empty());
    let (ids, names) = parts.partition(is_id);
    (names, ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_line_is_told() {
        assert_eq!(Line::read("12|t|A|B\tC"), Line::Title("12", "A|B\tC"));
        assert_eq!(Line::read("12|a|"), Line::Abstract("12", ""));
        let Line::Mention(mention) = Line::read("12\t0\t5\tfe|t|r\tT038\tUMLS:C1") else { panic!("a mention") };
        assert_eq!((mention.doc_id, mention.start, mention.end, mention.text), ("12", 0, 5, "fe|t|r"));
        assert_eq!((mention.types, mention.concept), ("T038", "UMLS:C1"));
        let Line::Mention(bare) = Line::read("12\t0\t5\tfever") else { panic!("a mention") };
        assert_eq!((bare.types, bare.concept), ("", ""));
        assert_eq!(Line::read("12\tCID\tD1\tD2"), Line::Relation);
        assert_eq!(Line::read(" "), Line::Blank);
        for other in ["12\t-1\t5\tfever\tT038\tC1", "12|x|text", "plain words", "12\t0\t5"] {
            assert_eq!(Line::read(other), Line::Other, "{other}");
        }
    }

    #[test]
    fn concepts_and_types_are_read() {
        assert_eq!(Gold::read("UMLS:C0015967", "UMLS:"), Gold::One("C0015967"));
        assert_eq!(Gold::read("D005334", "UMLS:"), Gold::One("D005334"));
        assert_eq!(["-1", "-", "", "UMLS:"].map(|field| Gold::read(field, "UMLS:")), [Gold::None; 4]);
        assert_eq!(["D1|D2", "D1+D2", "1;2"].map(|field| Gold::read(field, "")), [Gold::Several; 3]);
        let strings = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        assert_eq!(types_and_ids("T116, T123,Disease"), (strings(&["Disease"]), strings(&["T116", "T123"])));
        assert_eq!(types_and_ids(""), (vec![], vec![]));
    }
}
