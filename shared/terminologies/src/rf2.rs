//! Tables of SNOMED CT's Release Format 2: UTF-8, tabs, a header, CRLF, no quoting.

use super::Sink;
use super::release::{ReleaseFile, Row, slots};
use pel_kb::error::{Error, Result};

/// A time later than every release, for rows without one: they are not yet published.
const UNPUBLISHED: u32 = u32::MAX;

/// What a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Concepts.
    Concept,
    /// Names.
    Description,
    /// Definitions in words.
    TextDefinition,
    /// Which descriptions a dialect prefers or accepts.
    Language,
    /// Successors of inactive components.
    Association,
    /// Relationships of concepts, such as is-a.
    Relationship,
}

/// Which rows a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseType {
    /// The last row of each component.
    Snapshot,
    /// All rows of all releases.
    Full,
    /// The rows that changed since the last release.
    Delta,
}

/// The content and release type of a file, by its name: `sct2_Concept_Snapshot_INT_20260101.txt`,
/// `der2_cRefset_LanguageSnapshot-en_INT_20260101.txt`, `xsct2_...` of a preview.
#[must_use]
pub fn kind_of(plain_name: &str) -> Option<(Content, ReleaseType)> {
    let stem = plain_name
        .strip_suffix(".txt")
        .or_else(|| plain_name.strip_suffix(".TXT"))?;
    let mut parts = stem.split('_');
    let (family, content, summary) = (parts.next()?, parts.next()?, parts.next()?);
    let content = match content {
        "Concept" if family.ends_with("sct2") => Content::Concept,
        "Description" if family.ends_with("sct2") => Content::Description,
        "Relationship" if family.ends_with("sct2") => Content::Relationship,
        "TextDefinition" if family.ends_with("sct2") => Content::TextDefinition,
        "cRefset" if family.ends_with("der2") && summary.starts_with("Language") => {
            Content::Language
        }
        "cRefset" if family.ends_with("der2") && summary.starts_with("Association") => {
            Content::Association
        }
        _ => return None,
    };
    let types = [
        ("Snapshot", ReleaseType::Snapshot),
        ("Full", ReleaseType::Full),
        ("Delta", ReleaseType::Delta),
    ];
    let (_, release) = types.into_iter().find(|(word, _)| summary.contains(word))?;
    Some((content, release))
}

/// Some fields of the rows of a table.
#[derive(Debug)]
pub struct Fields<const N: usize> {
    /// For each column, the place of its field in the result.
    slots: Vec<Option<usize>>,
}

impl<const N: usize> Fields<N> {
    /// The places of columns in a header.
    ///
    /// # Errors
    /// If the header has no such column.
    pub fn find(header: &str, wanted: [&str; N]) -> Result<Self> {
        let columns: Vec<&str> = header.split('\t').map(str::trim).collect();
        let slots = slots(&columns, &wanted).map_err(|name| {
            Error::input(format!(
                "expected a header with the column {name}, found {}",
                columns.join(", ")
            ))
        })?;
        Ok(Self { slots })
    }

    /// The fields of a row. Blank fields beyond the header are ignored.
    ///
    /// # Errors
    /// If the row has fewer fields than the header, or more that are not blank.
    pub fn of<'a>(&self, row: &'a str) -> Result<[&'a str; N]> {
        let mut values = [""; N];
        let mut count = 0;
        let mut last = 0;
        for field in row.split('\t') {
            let field = field.trim();
            if let Some(Some(slot)) = self.slots.get(count)
                && let Some(value) = values.get_mut(*slot)
            {
                *value = field;
            }
            count += 1;
            if !field.is_empty() {
                last = count;
            }
        }
        let expected = self.slots.len();
        if count < expected || last > expected {
            return Err(Error::input(format!(
                "expected {expected} columns, found {count}"
            )));
        }
        Ok(values)
    }
}

/// Reads the rows of a table. Blank lines and lines that begin with `#` are left out; the first
/// other line is the header.
///
/// # Errors
/// Errors of reading and of `each`, or a row with another number of fields, with file and line.
pub fn for_each_row<'a, 'c, const N: usize>(
    file: &ReleaseFile,
    wanted: [&str; N],
    sink: &mut Sink<'a, 'c>,
    skip_bad: bool,
    mut each: impl FnMut(&mut Sink<'a, 'c>, Row<'_>, [&str; N]) -> Result<()>,
) -> Result<()> {
    let mut fields = None;
    file.for_each_row(sink, skip_bad, |sink, row| {
        if row.text.starts_with('#') {
            return Ok(());
        }
        match &fields {
            None => {
                fields = Some(Fields::find(row.text, wanted)?);
                Ok(())
            }
            Some(fields) => each(sink, row, fields.of(row.text)?),
        }
    })
}

/// The number of a component.
///
/// # Errors
/// If it is not a number of at most 18 digits.
pub fn sctid(text: &str) -> Result<u64> {
    let digits = !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| {
        Error::input(format!(
            "expected a SNOMED CT identifier of at most 18 digits, found {text:?}"
        ))
    })
}

/// The date of a row as a number that ascends with it.
///
/// # Errors
/// If it is neither blank nor a date of 8 digits.
pub fn effective_time(text: &str) -> Result<u32> {
    match text.len() {
        0 => Ok(UNPUBLISHED),
        8 if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(text.parse().unwrap_or(UNPUBLISHED))
        }
        _ => Err(Error::input(format!(
            "expected a date such as 20260131 in effectiveTime, found {text:?}"
        ))),
    }
}

/// Whether a row is active.
///
/// # Errors
/// If the field is neither 0 nor 1.
pub fn active(text: &str) -> Result<bool> {
    match text {
        "1" => Ok(true),
        "0" => Ok(false),
        other => Err(Error::input(format!(
            "expected 0 or 1 in active, found {other:?}"
        ))),
    }
}

/// Divides a fully specified name into the name and its semantic tag: `Fever (finding)`.
#[must_use]
pub fn semantic_tag(name: &str) -> (&str, Option<&str>) {
    let name = name.trim();
    let divided = name
        .strip_suffix(')')
        .and_then(|inner| inner.rsplit_once('('));
    match divided {
        Some((before, tag)) if !before.trim().is_empty() && !tag.trim().is_empty() => {
            (before.trim(), Some(tag.trim()))
        }
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_their_names() {
        use Content::{Association, Concept, Description, Language, Relationship, TextDefinition};
        use ReleaseType::{Delta, Full, Snapshot};
        for (name, expected) in [
            (
                "sct2_Concept_Snapshot_INT_20260101.txt",
                Some((Concept, Snapshot)),
            ),
            (
                "xsct2_Concept_Full_US1000124_20260301.txt",
                Some((Concept, Full)),
            ),
            (
                "sct2_Description_SpanishExtensionSnapshot-es_INT_20260430.txt",
                Some((Description, Snapshot)),
            ),
            (
                "sct2_TextDefinition_Delta-en_INT_20260101.txt",
                Some((TextDefinition, Delta)),
            ),
            (
                "der2_cRefset_LanguageSnapshot-en_INT_20260101.txt",
                Some((Language, Snapshot)),
            ),
            (
                "der2_cRefset_AssociationReferenceSnapshot_INT_20160731.txt",
                Some((Association, Snapshot)),
            ),
            ("der2_cRefset_AttributeValueSnapshot_INT_20260101.txt", None),
            (
                "sct2_Relationship_Snapshot_INT_20260101.txt",
                Some((Relationship, Snapshot)),
            ),
            ("sct2_StatedRelationship_Snapshot_INT_20260101.txt", None),
            ("Readme_en_20260101.txt", None),
            ("sct2_Concept_Snapshot_INT_20260101.zip", None),
        ] {
            assert_eq!(kind_of(name), expected, "{name}");
        }
    }

    #[test]
    fn fields_follow_the_header() {
        let fields = Fields::find("id\tactive\tterm", ["term", "id"]).expect("both");
        let row = |text| fields.of(text).map_err(|error| error.to_string());
        assert_eq!(row("7\t1\t\"5\" long\""), Ok(["\"5\" long\"", "7"]));
        assert_eq!(row("7\t1\tfever\t\t "), Ok(["fever", "7"]));
        for wrong in ["7\t1", "7\t1\tfever\tx"] {
            assert!(
                row(wrong).is_err_and(|why| why.contains("expected 3 columns")),
                "{wrong}"
            );
        }
        let message = Fields::find("id\tterm", ["active"])
            .expect_err("none")
            .to_string();
        assert_eq!(
            message,
            "expected a header with the column active, found id, term"
        );
    }

    #[test]
    fn semantic_tag_is_the_last_bracket() {
        for (name, expected) in [
            ("Fever (finding)", ("Fever", Some("finding"))),
            (
                "SNOMED CT Concept (SNOMED RT+CTV3)",
                ("SNOMED CT Concept", Some("SNOMED RT+CTV3")),
            ),
            (
                "Ratio (numeric) (qualifier value)",
                ("Ratio (numeric)", Some("qualifier value")),
            ),
            ("Fever", ("Fever", None)),
            ("(finding)", ("(finding)", None)),
            ("Fever ()", ("Fever ()", None)),
            ("Fever (finding) x", ("Fever (finding) x", None)),
        ] {
            assert_eq!(semantic_tag(name), expected, "{name}");
        }
    }

    #[test]
    fn malformed_values_are_errors() {
        for wrong in ["", "12a", "1234567890123456789", "-5"] {
            assert!(sctid(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            sctid("900000000000509007").expect("a number"),
            900_000_000_000_509_007
        );
        assert_eq!(effective_time("").expect("blank"), UNPUBLISHED);
        for wrong in ["2026", "2026-01-01", "2026010x"] {
            assert!(effective_time(wrong).is_err(), "{wrong}");
        }
        assert!(active("true").is_err());
    }
}
