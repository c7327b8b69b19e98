//! Recognition of file formats by their first lines, to name the right command in error messages.

/// The number of bytes that are enough to recognise a format.
pub const HEAD: usize = 64 << 10;

/// A file format that can be recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An ontology in OBO.
    Obo,
    /// Concepts as JSON lines.
    JsonLines,
    /// An ontology in OWL, as RDF/XML.
    OwlXml,
    /// An ontology in OWL, in functional or Manchester syntax.
    OwlText,
    /// Turtle or N-Triples.
    Turtle,
    /// OBO Graphs.
    OboGraphs,
    /// Another JSON document.
    Json,
    /// Annotated texts in PubTator format.
    Pubtator,
    /// Other XML.
    Xml,
    /// An HTML page, often a failed download.
    Html,
}

impl Format {
    /// Recognises the format of a file from its first bytes; `None` if it is uncertain.
    #[must_use]
    pub fn recognise(head: &[u8]) -> Option<Self> {
        let head = head.get(..HEAD.min(head.len())).unwrap_or_default();
        let text = String::from_utf8_lossy(head);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if is_turtle(text) {
            return Some(Self::Turtle);
        }
        let lower = text
            .get(..text.floor_char_boundary(2000))
            .unwrap_or(text)
            .to_lowercase();
        if text.starts_with('<') {
            return Some(match () {
                () if lower.starts_with("<!doctype html") || lower.starts_with("<html") => {
                    Self::Html
                }
                () if lower.contains("<rdf:rdf")
                    || lower.contains("owl#")
                    || lower.contains("<ontology") =>
                {
                    Self::OwlXml
                }
                () => Self::Xml,
            });
        }
        if text.starts_with('{')
            || text.starts_with('[') && !text.starts_with("[Term]") && is_json_list(text)
        {
            // JSON lines may be truncated or have other fields; their reader reports that.
            let is_line = text.starts_with('{')
                && text.lines().next().is_some_and(|first| first.trim() != "{");
            let is_graphs = text.starts_with('{')
                && lower.contains("\"graphs\"")
                && !lower.starts_with("{\"id\"");
            return Some(match () {
                () if is_graphs => Self::OboGraphs,
                () if is_line => Self::JsonLines,
                () => Self::Json,
            });
        }
        let mut lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('!'));
        let first = lines.next().unwrap_or_default();
        // PubTator: a title and an abstract with the same document id.
        let is_pubtator = |title: &str, next: &str| {
            let id = title.split_once("|t|").map_or("", |(id, _)| id);
            !id.is_empty()
                && !id.contains([' ', '|'])
                && next
                    .strip_prefix(id)
                    .is_some_and(|rest| rest.starts_with("|a|"))
        };
        let second = lines.clone().next().unwrap_or_default();
        match () {
            () if first.starts_with("format-version:") || first == "[Term]" => Some(Self::Obo),
            () if lines.any(|line| line == "[Term]") => Some(Self::Obo),
            () if text.starts_with("Prefix(")
                || text.starts_with("Ontology(")
                || text.starts_with("Prefix:") =>
            {
                Some(Self::OwlText)
            }
            () if is_pubtator(first, second) => Some(Self::Pubtator),
            () => None,
        }
    }

    /// Recognises the format of a file from its first bytes, and Turtle and N-Triples also from its
    /// name.
    #[must_use]
    pub fn of_file(name: &str, head: &[u8]) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let packed = [".gz", ".bz2", ".xz", ".zst"];
        let plain = packed.iter().find_map(|end| name.strip_suffix(end));
        let by_name = [".ttl", ".turtle", ".nt"]
            .iter()
            .any(|end| plain.unwrap_or(&name).ends_with(end));
        let text = String::from_utf8_lossy(head.get(..HEAD.min(head.len())).unwrap_or_default());
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let is_xml = ["<?", "<!", "<rdf:RDF"]
            .iter()
            .any(|start| text.starts_with(start));
        match by_name && !is_xml && !text.is_empty() {
            true => Some(Self::Turtle),
            false => Self::recognise(head),
        }
    }

    /// A description of the format and how PEL reads it, to follow "found".
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::Obo => "an ontology in OBO, which `pel import obo` reads",
            Self::JsonLines => "concepts as JSON lines, which `pel import jsonl` reads",
            Self::OwlXml => "an ontology in OWL, which `pel import owl` reads as RDF/XML",
            Self::OwlText => {
                "an ontology in a syntax of OWL that PEL does not read: convert it (`robot convert \
                 --input a.ofn --output a.owl`), and use `pel import owl`"
            }
            Self::Turtle => "RDF as Turtle or N-Triples, which `pel import owl` reads",
            Self::OboGraphs => "an ontology as OBO Graphs JSON, which `pel import obograph` reads",
            Self::Json => {
                "a JSON document; `pel import jsonl` reads one object with id and name on each line"
            }
            Self::Pubtator => "texts in PubTator format, which `pel import pubtator` reads",
            Self::Xml => "XML, which PEL reads only as MeSH, ICD-10-CM or for `pel import tac`",
            Self::Html => "a web page, perhaps from a failed download",
        }
    }
}

/// Whether a text begins as Turtle or N-Triples do, after comments: with the declaration of a prefix
/// or of the base, or with an IRI or blank node as the subject.
fn is_turtle(mut text: &str) -> bool {
    while let Some(comment) = text.strip_prefix('#') {
        text = comment
            .split_once('\n')
            .map_or("", |(_, rest)| rest.trim_start());
    }
    // In both cases: `@prefix`, and `PREFIX` of SPARQL.
    let (word, rest) = text
        .split_once(char::is_whitespace)
        .map_or((text, ""), |(word, rest)| (word, rest.trim_start()));
    match word.to_ascii_lowercase().as_str() {
        "@prefix" | "prefix" => {
            return rest.split_once('<').is_some_and(|(name, _)| {
                let name = name.trim_end();
                name.ends_with(':') && !name.contains(char::is_whitespace)
            });
        }
        "@base" | "base" => return rest.starts_with('<'),
        _ => {}
    }
    // What may follow a subject.
    let is_predicate = |text: &str| {
        let text = text.trim_start();
        let name = text.split_once(':').is_some_and(|(name, _)| is_name(name));
        text.starts_with("a ") || text.starts_with('<') || name
    };
    if word.starts_with("_:") {
        return is_predicate(rest);
    }
    if let Some(node) = text.strip_prefix('[') {
        let node = node.trim_start();
        return node.starts_with("a ") || node.strip_prefix(']').is_some_and(is_predicate);
    }
    let Some((iri, after)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
        return false;
    };
    // The first tag of XML with a colon in its name declares the prefix, after a space.
    let is_tag = iri == "rdf:RDF"
        || iri.starts_with(['!', '?'])
        || iri.contains(|c: char| c.is_whitespace() || c == '"');
    let is_iri = iri.is_empty() || iri.starts_with('#') || iri.contains(':');
    !is_tag && is_iri && after.starts_with(|c: char| c.is_whitespace() || c == '<')
}

/// Whether a text is a short name, such as a prefix.
fn is_name(text: &str) -> bool {
    text.len() < 40
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

/// Whether a text that starts with a bracket is JSON, not an OBO stanza or a table row.
fn is_json_list(text: &str) -> bool {
    let inner = text.trim_start_matches('[').trim_start();
    inner.starts_with(['{', '"', ']']) || inner.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_first_lines() {
        for (head, expected) in [
            ("format-version: 1.2\nontology: x\n", Some(Format::Obo)),
            ("! a comment\n\n[Term]\nid: X:1\n", Some(Format::Obo)),
            (
                "date: 05:20:2021 12:00\n\n[Term]\nid: X:1\n",
                Some(Format::Obo),
            ),
            (
                "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:owl=\"http://www.w3.org/2002/07/owl#\">",
                Some(Format::OwlXml),
            ),
            (
                "\u{feff}<Ontology xmlns=\"http://www.w3.org/2002/07/owl#\">",
                Some(Format::OwlXml),
            ),
            (
                "<?xml version=\"1.0\"?>\n<knowledge_base>",
                Some(Format::Xml),
            ),
            ("<!DOCTYPE HTML><html>", Some(Format::Html)),
            (
                "Prefix(:=<http://a/>)\nOntology(<http://a>",
                Some(Format::OwlText),
            ),
            (
                "@prefix owl: <http://www.w3.org/2002/07/owl#> .",
                Some(Format::Turtle),
            ),
            ("<http://a> <http://b> <http://c> .", Some(Format::Turtle)),
            (
                "<http://a/1> a <http://www.w3.org/2002/07/owl#Class> .",
                Some(Format::Turtle),
            ),
            ("<urn:a:1> rdfs:label \"cough\" .", Some(Format::Turtle)),
            ("<#A> a <http://a/b> .", Some(Format::Turtle)),
            ("<http://a/1>\n\ta <http://b/c> .", Some(Format::Turtle)),
            ("_:n1 <http://b> \"c\" .", Some(Format::Turtle)),
            ("_:n1 a <http://b> .", Some(Format::Turtle)),
            ("[] a <http://a/b> .", Some(Format::Turtle)),
            ("[ a <http://a/b> ; <http://c> 1 ] .", Some(Format::Turtle)),
            ("[]\n", Some(Format::Json)),
            (
                "# made by hand\n#\n\n@prefix a: <http://a/> .",
                Some(Format::Turtle),
            ),
            ("\u{feff}# a\r\nBASE <http://a/>\r\n", Some(Format::Turtle)),
            ("prefix : <http://a/>\n", Some(Format::Turtle)),
            ("PREFIX a.b-c:<http://a/>\n", Some(Format::Turtle)),
            ("Prefix: a: <http://a/>\nOntology:", Some(Format::OwlText)),
            ("prefix\tname\na\tb <c>\n", None),
            ("# a comment\nid,name\n1,fever\n", None),
            ("base,price\n1,<2\n", None),
            ("<a>text</a>", Some(Format::Xml)),
            ("{\n  \"graphs\" : [ {", Some(Format::OboGraphs)),
            (
                "{\"id\": \"1\", \"name\": \"a\"}\n",
                Some(Format::JsonLines),
            ),
            ("{\"graphs\": [{\"nodes\": []}]}", Some(Format::OboGraphs)),
            ("{\"id\": \"1\"}", Some(Format::JsonLines)),
            ("{\"id\": \"1\", \"name\": \"cu", Some(Format::JsonLines)),
            ("{\n  \"id\": \"1\"}", Some(Format::Json)),
            ("[\n{\"id\": \"1\"}]", Some(Format::Json)),
            ("12|t|Fever in ticks\n12|a|None.\n", Some(Format::Pubtator)),
            ("id,name\n1,a\n", None),
            ("", None),
            ("[other]\nx\n", None),
            ("C1|t|fever\nC2|t|cough\n", None),
        ] {
            assert_eq!(Format::recognise(head.as_bytes()), expected, "{head}");
        }
    }
}
