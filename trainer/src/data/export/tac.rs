//! TAC-KBP: queries and answers per split, a file per source document, the reference knowledge
//! base.

use super::source::Source;
use crate::data::corpus::{CorpusMention, Document};
use crate::data::export::capabilities::TAC;
use crate::data::import::tac_files::{NIL, OUR_FACTS, UNKNOWN_TYPE};
use crate::io::outputs::OutputFolder;
use pel_shared::error::{Error, Result};
use pel_shared::kb::Concept;
use pel_shared::kb::import::report::Report;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;

/// Entities per file of the knowledge base, as in the release.
const ENTITIES: usize = 10_000;
/// Longest file name that all systems accept.
const LONGEST_NAME: usize = 200;

/// Reason for skipping a document whose id is no file name.
pub const NO_FILE_NAME: &str = "document whose id is no file name";
/// Reason for skipping a document whose file name differs only in case from another.
pub const SAME_FILE_NAME: &str = "document whose id differs from another's in case alone";
/// Reason for skipping the mentions of such documents.
pub const MENTION_NO_FILE: &str = "mention of a document that is left out";
/// Reason for skipping a concept whose id would mean NIL or break the table of answers.
pub const NO_ENTITY_ID: &str =
    "concept whose id cannot stand in answers (it begins with NIL, or has tabs or line ends)";
/// Reason for skipping the mentions of such concepts.
pub const MENTION_NO_ENTITY: &str = "mention of a concept whose id cannot stand in answers";
/// Note on a mention whose concept is not in the knowledge base.
pub const BECOMES_NIL: &str =
    "mention of a concept that is not in the knowledge base, answered NIL";
/// Reason for skipping a mention with characters that XML does not allow.
pub const NO_XML: &str = "mention with a character that XML cannot hold";
/// Note on a concept from which such characters are removed.
pub const CLEANED: &str = "concept without its characters that XML cannot hold";

/// Writes `kb/kb_part-0001.xml` and so on, `source/{document}.txt`, and `{split}_queries.xml` and
/// `{split}_KB_links.tab` for each split.
///
/// # Errors
/// If the output cannot be written, or two splits have the same file name.
pub fn write(source: &Source, output: &mut OutputFolder, report: &mut Report) -> Result<()> {
    let mut concepts = Vec::new();
    for (_, concept) in source.kb.iter() {
        if !is_entity_id(&concept.id) {
            report.skip(NO_ENTITY_ID, || concept.id.clone());
            continue;
        }
        TAC.concept(concept, report);
        report.keep("concepts", 1);
        concepts.push(concept);
    }
    for (number, part) in concepts.chunks(ENTITIES).enumerate() {
        output.write(&format!("kb/kb_part-{:04}.xml", number + 1), |out| {
            knowledge_base(out, part, report)
        })?;
    }
    let (mut files, mut lower) = (BTreeSet::<&str>::new(), BTreeSet::new());
    for document in &source.documents {
        if !is_file_name(&document.doc_id) {
            report.skip(NO_FILE_NAME, || document.doc_id.clone());
        } else if !lower.insert(document.doc_id.to_lowercase()) {
            report.skip(SAME_FILE_NAME, || document.doc_id.clone());
        } else {
            files.insert(&document.doc_id);
            TAC.document(document, report);
            report.keep("documents", 1);
            output.write(&format!("source/{}.txt", document.doc_id), |out| {
                put(out, &document.text)
            })?;
        }
    }
    let mut number = 0;
    for (name, split) in source.split_files("dev")?.iter().zip(&source.splits) {
        let mut tasks = Vec::new();
        for placed in &split.mentions {
            let Some(document) = source.documents.get(placed.document) else {
                continue;
            };
            let Some(answer) = answer(source, &placed.mention, document, &files, report) else {
                continue;
            };
            TAC.mention(&placed.mention, report);
            number += 1;
            tasks.push((format!("EL{number:06}"), &placed.mention, answer));
        }
        report.keep(&format!("mentions ({})", split.name), tasks.len());
        output.write(&format!("{name}_queries.xml"), |out| {
            put(
                out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<kbpentlinking>\n",
            )?;
            for (
                id,
                CorpusMention {
                    doc_id,
                    start,
                    end,
                    text,
                    ..
                },
                _,
            ) in &tasks
            {
                let (name, doc_id, last) = (escaped(text), escaped(doc_id), end.saturating_sub(1));
                put(
                    out,
                    &format!(
                        "  <query id=\"{id}\">\n    <name>{name}</name>\n    \
                         <docid>{doc_id}</docid>\n"
                    ),
                )?;
                put(
                    out,
                    &format!("    <beg>{start}</beg>\n    <end>{last}</end>\n  </query>\n"),
                )?;
            }
            put(out, "</kbpentlinking>\n")
        })?;
        output.write(&format!("{name}_KB_links.tab"), |out| {
            tasks.iter().try_for_each(|(id, mention, answer)| {
                let kind = mention
                    .types
                    .first()
                    .map_or(UNKNOWN_TYPE.to_owned(), |kind| {
                        kind.replace(['\t', '\n', '\r'], " ")
                    });
                put(out, &format!("{id}\t{answer}\t{kind}\n"))
            })
        })?;
    }
    Ok(())
}

/// The answer for a mention; `None` if the format cannot express it.
fn answer<'a>(
    source: &Source,
    mention: &'a CorpusMention,
    document: &Document,
    files: &BTreeSet<&str>,
    report: &mut Report,
) -> Option<&'a str> {
    let place = || {
        format!(
            "{} {}..{} {:?}",
            mention.doc_id, mention.start, mention.end, mention.text
        )
    };
    if !files.contains(document.doc_id.as_str()) {
        report.skip(MENTION_NO_FILE, place);
        return None;
    }
    if !mention.text.chars().all(is_xml) || mention.text.trim().is_empty() {
        report.skip(NO_XML, place);
        return None;
    }
    match mention.id.as_deref() {
        None => Some(NIL),
        Some(id) if source.kb.find(id).is_some() => {
            if !is_entity_id(id) {
                report.skip(MENTION_NO_ENTITY, || format!("{} {id}", place()));
                return None;
            }
            Some(id)
        }
        // A cluster of entities that are not in the knowledge base.
        Some(id) if id.starts_with(NIL) && is_cell(id) => Some(id),
        Some(id) => {
            report.note(BECOMES_NIL, || format!("{} {id}", place()));
            Some(NIL)
        }
    }
}

fn knowledge_base(out: &mut dyn Write, concepts: &[&Concept], report: &mut Report) -> Result<()> {
    put(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<knowledge_base>\n",
    )?;
    for concept in concepts {
        let Concept {
            id,
            name,
            synonyms,
            types,
            type_ids,
            definition,
            xrefs,
            sources,
        } = concept;
        let lists = [
            ("synonym", &synonyms[..]),
            ("type", types.get(1..).unwrap_or_default()),
        ];
        let lists = lists.into_iter().chain([
            ("type_id", &type_ids[..]),
            ("xref", xrefs),
            ("source", sources),
        ]);
        let lists: Vec<_> = lists
            .flat_map(|(kind, list)| list.iter().map(move |value| (kind, value)))
            .collect();
        let kind = types.first().map_or(UNKNOWN_TYPE, String::as_str);
        let all = [id, name]
            .into_iter()
            .chain(types.first())
            .chain(definition)
            .chain(lists.iter().map(|(_, value)| *value));
        if !all.flat_map(|text| text.chars()).all(is_xml) {
            report.note(CLEANED, || id.clone());
        }
        let (title, kind, id, name) = (
            escaped(&name.replace(' ', "_")),
            escaped(kind),
            escaped(id),
            escaped(name),
        );
        put(
            out,
            &format!(
                "  <entity wiki_title=\"{title}\" type=\"{kind}\" id=\"{id}\" name=\"{name}\">\n"
            ),
        )?;
        if !lists.is_empty() {
            put(out, &format!("    <facts class=\"{OUR_FACTS}\">\n"))?;
            for (kind, value) in lists {
                put(
                    out,
                    &format!("      <fact name=\"{kind}\">{}</fact>\n", escaped(value)),
                )?;
            }
            put(out, "    </facts>\n")?;
        }
        if let Some(definition) = definition {
            // `]]>` would end the CDATA section.
            let text = xml_alone(definition).replace("]]>", "]]]]><![CDATA[>");
            put(
                out,
                &format!("    <wiki_text><![CDATA[{text}]]></wiki_text>\n"),
            )?;
        }
        put(out, "  </entity>\n")?;
    }
    put(out, "</knowledge_base>\n")
}

/// Whether an identifier is valid as an answer other than NIL.
fn is_entity_id(id: &str) -> bool {
    !id.starts_with(NIL) && is_cell(id)
}

/// Whether a text is valid as a tab-separated cell.
fn is_cell(text: &str) -> bool {
    text.trim() == text && !text.contains(['\t', '\n', '\r']) && text.chars().all(is_xml)
}

/// Whether a document id is a valid file name on all systems and valid XML.
fn is_file_name(id: &str) -> bool {
    let bad = |c: char| {
        matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
            || c.is_control()
            || !is_xml(c)
    };
    !id.is_empty()
        && id.trim() == id
        && !id.starts_with('.')
        && id.len() <= LONGEST_NAME
        && !id.contains(bad)
}

/// Whether XML 1.0 allows a character.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

fn xml_alone(text: &str) -> Cow<'_, str> {
    match text.chars().all(is_xml) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.chars().filter(|c| is_xml(*c)).collect()),
    }
}

/// Escapes a text for elements and attributes, where line ends and tabs would become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in xml_alone(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", u32::from(c))),
            _ => escaped.push(c),
        }
    }
    escaped
}

fn put(out: &mut dyn Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes())
        .map_err(|cause| Error::io("writing the output").caused_by(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_xml_and_file_names_are_detected() {
        assert_eq!(
            escaped("a<b & \"c\"\n\u{1}d"),
            "a&lt;b &amp; &quot;c&quot;&#10;d"
        );
        for (id, fits) in [
            ("AFP.0001", true),
            ("é 1", true),
            ("a/b", false),
            ("..", false),
            ("", false),
            ("a\u{7}", false),
        ] {
            assert_eq!(is_file_name(id), fits, "{id:?}");
        }
        for (id, fits) in [
            ("E0000001", true),
            ("NIL1", false),
            ("a\tb", false),
            (" a", false),
        ] {
            assert_eq!(is_entity_id(id), fits, "{id:?}");
        }
    }
}
