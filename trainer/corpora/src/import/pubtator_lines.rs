//! The lines of a PubTator file.

use pel_text::detect::normalise_name;

/// A line, classified by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Between two documents.
    Blank,
    /// `ID|t|text`.
    Title(&'a str, &'a str),
    /// `ID|a|text`.
    Abstract(&'a str, &'a str),
    /// `ID start end text type concept`, separated by tabs.
    Mention(Annotation<'a>),
    /// `ID kind argument argument`, separated by tabs, without offsets.
    Relation,
    /// Any other line.
    Other,
}

/// The fields of a mention line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// The document.
    pub doc_id: &'a str,
    /// First code point in title, separator and abstract.
    pub start: usize,
    /// One past the last code point.
    pub end: usize,
    /// The expected text.
    pub text: &'a str,
    /// Semantic types, separated by commas.
    pub types: &'a str,
    /// The concept field: one concept, several or none.
    pub concept: &'a str,
}

impl<'a> Line<'a> {
    /// Classifies a line without its terminator.
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
                    let (types, concept) = (
                        rest.first().copied().unwrap_or_default(),
                        rest.get(1).copied().unwrap_or_default(),
                    );
                    Self::Mention(Annotation {
                        doc_id: doc_id.trim(),
                        start,
                        end,
                        text,
                        types,
                        concept,
                    })
                }
                // A negative or malformed number was meant as an offset; a word starts a relation.
                _ if start.starts_with(|c: char| c.is_alphabetic()) => Self::Relation,
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// The concepts of a field: none for `-`, `-1` or an empty field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gold<'a> {
    /// The concepts of each part of the mention, without duplicates. Those of a part are
    /// alternatives. A mention that is not composite has one part.
    pub parts: Vec<Vec<&'a str>>,
    /// Text after an identifier that is not part of it: the RSID of a variant, the species of a
    /// gene.
    pub annex: Option<&'a str>,
}

impl<'a> Gold<'a> {
    /// Reads a concept field. Removes `prefix` from each identifier; `types` is the preceding
    /// field.
    ///
    /// The identifier of a tmVar variant contains `|`: `p|SUB|C|282|Y`. In other fields `|` and `+`
    /// separate the parts of a composite mention, as in BC5CDR and NCBI Disease, and `;` and `,`
    /// the concepts of a part, each of which is correct.
    pub fn read(field: &'a str, types: &str, prefix: &str) -> Self {
        let field = field.trim();
        if is_variant(field, types, prefix) {
            let (id, annex) = match field.split_once(';') {
                Some((id, annex)) => (id, Some(annex)),
                None => (field, None),
            };
            return Self {
                parts: one(id, prefix).map(|id| vec![id]).into_iter().collect(),
                annex,
            };
        }
        let mut gold = Self::default();
        for field in field.split(['|', '+']) {
            let mut part: Vec<&str> = Vec::new();
            for id in field.split([';', ',']) {
                let (id, annex) = without_annex(id.trim());
                gold.annex = gold.annex.or(annex);
                part.extend(one(id, prefix).filter(|id| !part.contains(id)));
            }
            if !part.is_empty() && !gold.parts.contains(&part) {
                gold.parts.push(part);
            }
        }
        gold
    }

    /// The concepts of all parts, without duplicates.
    pub fn ids(parts: &[Vec<&'a str>]) -> Vec<&'a str> {
        let mut ids: Vec<&str> = Vec::new();
        for id in parts.iter().flatten() {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        ids
    }
}

/// An identifier without its prefix; `None` if nothing is left or it means none.
fn one<'a>(field: &'a str, prefix: &str) -> Option<&'a str> {
    let id = field.trim();
    let id = id.strip_prefix(prefix).unwrap_or(id).trim();
    Some(id).filter(|id| !matches!(*id, "" | "-" | "-1"))
}

/// Whether a field names a variant: by its type, or by the form of tmVar's identifiers (`c|SUB|`,
/// `p|DEL|`, `|Allele|`).
fn is_variant(field: &str, types: &str, prefix: &str) -> bool {
    // dbSNP numbers contain no `|`, so several are several variants.
    let is_rs = |part: &str| {
        part.trim()
            .strip_prefix("rs")
            .is_some_and(|digits| digits.parse::<u64>().is_ok())
    };
    if field.split(['|', ';', ',']).all(is_rs) {
        return false;
    }
    let types = types.to_lowercase();
    if [
        "mutation",
        "variant",
        "variation",
        "allele",
        "snp",
        "acidchange",
        "copynumber",
    ]
    .iter()
    .any(|kind| types.contains(kind))
    {
        return true;
    }
    let id = field.strip_prefix(prefix).unwrap_or(field);
    let mut parts = id.strip_prefix("tmVar:").unwrap_or(id).split('|');
    let (sequence, change, rest) = (parts.next(), parts.next(), parts.next());
    sequence.is_some_and(|sequence| ["", "c", "g", "m", "n", "p", "r"].contains(&sequence))
        && change
            .is_some_and(|change| !change.is_empty() && change.chars().all(char::is_alphabetic))
        && rest.is_some()
}

/// Separates the suffix that some tools append: a species `(Tax:9606)`, or `*`.
fn without_annex(id: &str) -> (&str, Option<&str>) {
    let species = id.rfind("(Tax:").filter(|_| id.ends_with(')'));
    let at = species
        .or_else(|| id.ends_with('*').then(|| id.len() - 1))
        .filter(|at| *at > 0);
    at.map_or((id, None), |at| (&id[..at], Some(&id[at..])))
}

/// Whether a mention's text differs from its document only in spelling. Accents, Greek letters,
/// dashes, spaces and quotation marks are often written in ASCII.
pub fn is_respelled(written: &str, original: &str) -> bool {
    let same = |text: &str| normalise_name(text) == normalise_name(written);
    // Different ASCII texts have different meanings; a text without letters has none.
    if written.is_ascii() && original.is_ascii() || normalise_name(written).is_empty() {
        return false;
    }
    same(original) || same(&latin(original))
}

/// Replaces Greek letters by their usual Latin ones.
fn latin(text: &str) -> String {
    let letter = |c: char| match c {
        'α' => 'a',
        // `ß` is often typed for a beta.
        'β' | 'ϐ' | 'ß' => 'b',
        'γ' => 'g',
        'δ' => 'd',
        'ε' | 'ϵ' | 'η' => 'e',
        'ζ' => 'z',
        'θ' | 'ϑ' | 'τ' => 't',
        'ι' => 'i',
        'κ' => 'k',
        'λ' => 'l',
        'μ' | 'µ' => 'u',
        'ν' => 'n',
        'ξ' => 'x',
        'ο' | 'ω' => 'o',
        'π' | 'ψ' => 'p',
        'ρ' => 'r',
        'σ' | 'ς' => 's',
        'υ' => 'y',
        'φ' | 'ϕ' => 'f',
        'χ' => 'c',
        other => other,
    };
    text.chars().map(letter).collect()
}

/// Splits a type field into names and UMLS type identifiers (`T` and 3 digits).
pub fn types_and_ids(field: &str) -> (Vec<String>, Vec<String>) {
    let is_id = |part: &String| {
        part.strip_prefix('T').is_some_and(|digits| {
            digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let parts = field
        .split([',', ';'])
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty());
    let (ids, names) = parts.partition(is_id);
    (names, ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_line_is_classified() {
        assert_eq!(Line::read("12|t|A|B\tC"), Line::Title("12", "A|B\tC"));
        assert_eq!(Line::read("12|a|"), Line::Abstract("12", ""));
        let Line::Mention(mention) = Line::read("12\t0\t5\tfe|t|r\tT038\tUMLS:C1") else {
            panic!("a mention")
        };
        assert_eq!(
            (mention.doc_id, mention.start, mention.end, mention.text),
            ("12", 0, 5, "fe|t|r")
        );
        assert_eq!((mention.types, mention.concept), ("T038", "UMLS:C1"));
        let Line::Mention(bare) = Line::read("12\t0\t5\tfever") else {
            panic!("a mention")
        };
        assert_eq!((bare.types, bare.concept), ("", ""));
        assert_eq!(Line::read("12\tCID\tD1\tD2"), Line::Relation);
        assert_eq!(Line::read(" "), Line::Blank);
        for other in [
            "12\t-1\t5\tfever\tT038\tC1",
            "12|x|text",
            "plain words",
            "12\t0\t5",
        ] {
            assert_eq!(Line::read(other), Line::Other, "{other}");
        }
    }

    #[test]
    fn concepts_and_types_are_read() {
        let ids = |field, types, prefix| Gold::ids(&Gold::read(field, types, prefix).parts);
        assert_eq!(ids("UMLS:C0015967", "T038", "UMLS:"), ["C0015967"]);
        assert_eq!(ids("D005334", "", "UMLS:"), ["D005334"]);
        for none in ["-1", "-", "", "UMLS:", "UMLS:-", "-1|-1", " ; "] {
            assert_eq!(ids(none, "Disease", "UMLS:"), [""; 0], "{none}");
        }
        for (several, read) in [
            ("D1|D2", &["D1", "D2"][..]),
            ("D1+D2", &["D1", "D2"]),
            ("1;2,3", &["1", "2", "3"]),
            ("MESH:D1|MESH:D2", &["D1", "D2"]),
            ("D1|-1", &["D1"]),
            ("D1|D1", &["D1"]),
        ] {
            assert_eq!(ids(several, "Disease", "MESH:"), read, "{several}");
        }
        let parts = |field| Gold::read(field, "Disease", "MESH:").parts;
        assert_eq!(parts("MESH:D1|MESH:D2"), [["D1"], ["D2"]]);
        assert_eq!(parts("D1+D2"), [["D1"], ["D2"]]);
        assert_eq!(parts("D1;D2,D3"), [["D1", "D2", "D3"]]);
        assert_eq!(parts("D1;D2|D1|D1|-1"), [vec!["D1", "D2"], vec!["D1"]]);
        assert!(parts("-1").is_empty());
        let strings = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| text.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            types_and_ids("T116, T123,Disease"),
            (strings(&["Disease"]), strings(&["T116", "T123"]))
        );
        assert_eq!(types_and_ids(""), (vec![], vec![]));
    }

    #[test]
    fn variant_identifier_is_not_split() {
        for (field, types, id, annex) in [
            ("p|SUB|C|282|Y", "ProteinMutation", "p|SUB|C|282|Y", None),
            ("c|SUB|A|123|T", "DNAMutation", "c|SUB|A|123|T", None),
            ("c|DEL|3_5|", "", "c|DEL|3_5|", None),
            ("|Allele|T|C/T", "", "|Allele|T|C/T", None),
            ("p|FS|R|97|G|11", "Variant", "p|FS|R|97|G|11", None),
            (
                "p|SUB|V|600|E;RS#:113488022",
                "ProteinMutation",
                "p|SUB|V|600|E",
                Some("RS#:113488022"),
            ),
            (
                "tmVar:p|SUB|V|600|E;HGVS:p.V600E",
                "",
                "tmVar:p|SUB|V|600|E",
                Some("HGVS:p.V600E"),
            ),
            ("rs1800562", "SNP", "rs1800562", None),
        ] {
            assert_eq!(
                Gold::read(field, types, "UMLS:"),
                Gold {
                    parts: vec![vec![id]],
                    annex
                },
                "{field}"
            );
        }
        assert!(Gold::read("-", "SNP", "").parts.is_empty());
        assert_eq!(
            Gold::read("rs1800562;rs1799945", "SNP", "").parts,
            [["rs1800562", "rs1799945"]]
        );
        assert_eq!(Gold::read("c|d", "Disease", "").parts, [["c"], ["d"]]);
    }

    #[test]
    fn suffix_is_removed_from_identifier() {
        let read = |field| Gold::read(field, "Gene", "MESH:");
        assert_eq!(
            read("MESH:D005334*"),
            Gold {
                parts: vec![vec!["D005334"]],
                annex: Some("*")
            }
        );
        assert_eq!(
            read("7124(Tax:9606);3553(Tax:9606)"),
            Gold {
                parts: vec![vec!["7124", "3553"]],
                annex: Some("(Tax:9606)")
            }
        );
        assert_eq!(read("D(1)").parts, [["D(1)"]]);
    }

    #[test]
    fn respelled_text_differs_from_other_text() {
        for (written, original) in [
            ("IL-1b", "IL-1β"),
            ("IL-1b", "IL-1ß"),
            ("TNF-alpha", "TNF-α"),
            ("SARS CoV 2", "SARS\u{2010}CoV\u{2010}2"),
            ("Sjogren's", "Sjögren’s"),
            ("chest pain", "chest\u{a0}pain"),
        ] {
            assert!(is_respelled(written, original), "{written} {original}");
        }
        for (written, original) in [
            ("Fever", "fever"),
            ("cough", "α cough"),
            ("IL-1b", "IL-1α"),
            ("", "é"),
        ] {
            assert!(!is_respelled(written, original), "{written} {original}");
        }
    }
}
