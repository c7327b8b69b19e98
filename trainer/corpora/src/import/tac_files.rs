//! The files of a TAC-KBP entity linking task: queries, answers, source documents, reference
//! knowledge base.

use super::annotated::ConceptSet;
use crate::xml_encoding::decoded;
use pel_io::corpus_files::unpacked;
use pel_io::counter::Counter;
use pel_io::files::{for_each_line, open, record_limit, walk_error};
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::report::Report;
use pel_terminologies::xml::{Element, Elements};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

/// Note on a fact that is not another name.
pub const FACT: &str = "fact left out (it is no other name)";
/// Note on a document with two files.
pub const TWO_FILES: &str = "document that two files have (the first by name stays)";
/// The answer for an entity outside the knowledge base. `NIL00012` is a cluster of mentions of such
/// an entity.
pub const NIL: &str = "NIL";
/// The type of an entity without one.
const UNKNOWN_TYPE: &str = "UKN";

/// Infobox fields with alternative names, reduced to letters.
const NAMES: [&str; 12] = [
    "aka",
    "alias",
    "aliases",
    "alsoknownas",
    "alternatename",
    "alternatenames",
    "alternativenames",
    "birthname",
    "fullname",
    "nickname",
    "othername",
    "othernames",
];

/// A `<query>`.
#[derive(Debug)]
pub struct Query {
    /// Its identifier, such as `EL000001`.
    pub id: String,
    /// The mention's text.
    pub name: String,
    /// Its document.
    pub doc_id: String,
    /// Its first and last character, given in tasks since 2011.
    pub ends: Option<(usize, usize)>,
    /// File and line of the query.
    pub place: String,
}

/// A row of the table of answers.
#[derive(Debug)]
pub struct Answer {
    /// The query.
    pub query: String,
    /// The entity; `NIL` with or without a cluster number.
    pub entity: String,
    /// The semantic type, if there is one.
    pub kind: Option<String>,
    /// File and line of the answer.
    pub place: String,
}

/// Reads a file of queries.
///
/// # Errors
/// If it cannot be read or is invalid XML, or a query lacks its id, name or document, or has only
/// one offset.
pub fn queries(path: &Path, counter: &mut Counter) -> Result<Vec<Query>> {
    let mut elements = elements(path, "kbpentlinking")?;
    let mut queries = Vec::new();
    while let Some(element) = named(&mut elements, "query")? {
        counter.step();
        let mut fields: BTreeMap<String, String> = BTreeMap::new();
        while let Some(field) = elements.child()? {
            let text = elements.text()?;
            fields.insert(field.name, text);
        }
        let Some(id) = element
            .attribute("id")
            .map(str::trim)
            .filter(|id| !id.is_empty())
        else {
            return Err(elements.error_at(
                element.line,
                "the <query> has no id; write <query id=\"...\">",
            ));
        };
        let missing = |field: &str| {
            elements.error_at(element.line, &format!("query {id}: it has no <{field}>"))
        };
        let offset = |field: &str| match fields.get(field).map(|text| (text, text.trim().parse())) {
            None => Ok(None),
            Some((_, Ok(number))) => Ok(Some(number)),
            Some((text, Err(_))) => {
                let what = format!(
                    "query {id}: <{field}> must be the number of a character, and is {text:?}"
                );
                Err(elements.error_at(element.line, &what))
            }
        };
        let ends = match (offset("beg")?, offset("end")?) {
            (Some(first), Some(last)) => Some((first, last)),
            (None, None) => None,
            (Some(_), None) => return Err(missing("end")),
            (None, Some(_)) => return Err(missing("beg")),
        };
        queries.push(Query {
            id: id.to_owned(),
            name: fields.remove("name").ok_or_else(|| missing("name"))?,
            doc_id: fields
                .remove("docid")
                .ok_or_else(|| missing("docid"))?
                .trim()
                .to_owned(),
            ends,
            place: format!("{}:{}", path.display(), element.line),
        });
    }
    elements.finish()?;
    Ok(queries)
}

/// Reads a table of answers: query, entity, optional type and up to 2 ignored columns, separated by
/// tabs. The first line may be a header.
///
/// # Errors
/// If it cannot be read, or a line has fewer than 2 or more than 5 columns, or one of the first two
/// is empty.
pub fn answers(path: &Path, counter: &mut Counter) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    for_each_line(path, |number, line| {
        counter.step();
        let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
        match columns.as_slice() {
            [""] => {}
            [first, ..] if number == 1 && first.to_lowercase().replace(' ', "_") == "query_id" => {}
            [query, entity, rest @ ..]
                if rest.len() <= 3 && !query.is_empty() && !entity.is_empty() =>
            {
                let kind = rest
                    .first()
                    .filter(|kind| !kind.is_empty() && **kind != UNKNOWN_TYPE);
                let place = format!("{}:{number}", path.display());
                let (query, entity, kind) = (
                    (*query).to_owned(),
                    (*entity).to_owned(),
                    kind.map(|kind| (*kind).to_owned()),
                );
                answers.push(Answer {
                    query,
                    entity,
                    kind,
                    place,
                });
            }
            columns => {
                return Err(Error::input(format!(
                    "expected 2 to 5 tab-separated columns (query, entity, type), found {}: \
                     {line:?}",
                    columns.len()
                )));
            }
        }
        Ok(())
    })?;
    Ok(answers)
}

/// Reads a file of the knowledge base.
///
/// # Errors
/// If it cannot be read or is invalid XML.
pub fn knowledge_base(
    path: &Path,
    concepts: &mut ConceptSet,
    report: &mut Report,
    counter: &mut Counter,
) -> Result<()> {
    let mut elements = elements(path, "knowledge_base")?;
    while let Some(element) = named(&mut elements, "entity")? {
        counter.step();
        pel_io::interrupt::check()?;
        let place = || format!("{}:{}", path.display(), element.line);
        let given = |name: &str| {
            element
                .attribute(name)
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        // Wikipedia titles have underscores for spaces.
        let title = given("wiki_title").map(|title| title.replace('_', " "));
        let mut concept = Concept {
            id: given("id").unwrap_or_default().to_owned(),
            name: given("name")
                .map(str::to_owned)
                .or_else(|| title.clone())
                .unwrap_or_default(),
            types: given("type")
                .filter(|kind| *kind != UNKNOWN_TYPE)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            ..Concept::default()
        };
        concept
            .synonyms
            .extend(title.filter(|title| *title != concept.name.replace('_', " ")));
        while let Some(part) = elements.child()? {
            match part.name.as_str() {
                "facts" => facts(&mut elements, &mut concept, report, &place)?,
                "wiki_text" => concept.definition = Some(elements.text()?),
                _ => drop(elements.text()?),
            }
        }
        concepts.push(concept, report, place);
    }
    elements.finish()
}

/// Reads the facts of an entity.
fn facts(
    elements: &mut Elements,
    concept: &mut Concept,
    report: &mut Report,
    place: &impl Fn() -> String,
) -> Result<()> {
    while let Some(fact) = named(elements, "fact")? {
        let value = elements.text()?;
        let name = fact.attribute("name").unwrap_or_default();
        let letters: String = name
            .chars()
            .filter(|c| c.is_alphabetic())
            .flat_map(char::to_lowercase)
            .collect();
        match NAMES.contains(&letters.as_str()) {
            true => concept.synonyms.push(value),
            false => report.note(FACT, || format!("{name} at {}", place())),
        }
    }
    Ok(())
}

/// Opens a file, compressed or not, whose root element must have this name.
fn elements(path: &Path, root: &str) -> Result<Elements> {
    let name = path.display().to_string();
    let reader = decoded(&name, open(path)?)?;
    let (elements, found) = Elements::open(&name, reader, record_limit())?;
    match found.name == root {
        true => Ok(elements),
        false => Err(elements.error(&format!("expected <{root}>, found <{}>", found.name))),
    }
}

/// The next child element, which must have this name.
fn named(elements: &mut Elements, name: &str) -> Result<Option<Element>> {
    match elements.child()? {
        Some(found) if found.name != name => Err(elements.error_at(
            found.line,
            &format!("expected <{name}>, found <{}>", found.name),
        )),
        found => Ok(found),
    }
}

/// The file, or all files below a folder, ordered by path.
///
/// # Errors
/// If the path does not exist or cannot be listed.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(path)
        .follow_links(true)
        .sort_by_file_name()
    {
        let entry = entry.map_err(|cause| walk_error(path, cause))?;
        if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

/// A file name without compression suffix and one of `endings`; `None` if it has none of them.
pub fn stem<'a>(path: &'a Path, endings: &[&str]) -> Option<&'a str> {
    let name = path.file_name()?.to_str()?;
    endings
        .iter()
        .find_map(|ending| unpacked(name).strip_suffix(ending))
        .filter(|stem| !stem.is_empty())
}

/// The source documents below some folders by identifier.
///
/// # Errors
/// If a folder cannot be listed, or no document is found.
pub fn documents(folders: &[PathBuf], report: &mut Report) -> Result<BTreeMap<String, PathBuf>> {
    let mut documents: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in folders
        .iter()
        .map(|folder| files(folder))
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
    {
        let Some(id) = stem(&path, &[".xml", ".sgm", ".sgml", ".txt"]).map(str::to_owned) else {
            continue;
        };
        match documents.entry(id) {
            Entry::Vacant(free) => {
                free.insert(path);
            }
            Entry::Occupied(taken) => {
                report.note(TWO_FILES, || {
                    format!("{} at {}", taken.key(), path.display())
                });
            }
        }
    }
    if documents.is_empty() {
        let names: Vec<_> = folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        return Err(Error::input(format!(
            "{}: there are no documents (.xml, .sgm or .txt)",
            names.join(", ")
        )));
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_file_names_without_endings() {
        let endings = [".xml", ".sgm", ".txt"];
        for (name, id) in [
            (
                "a/AFP_ENG.0001.LDC2009T13.sgm",
                Some("AFP_ENG.0001.LDC2009T13"),
            ),
            ("a.xml.gz", Some("a")),
            ("a.xml.txt", Some("a.xml")),
            ("README", None),
            (".txt", None),
        ] {
            assert_eq!(stem(Path::new(name), &endings), id, "{name}");
        }
    }
}
