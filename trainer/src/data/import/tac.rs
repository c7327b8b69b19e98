//! Entity linking as TAC-KBP posed it (2010 and after): queries in XML, answers in a table, source documents, a knowledge base.
//!
//! Offsets count the characters of a source file as it is, markup included, and the last one is that of the mention's last
//! character. The queries of 2010 have none: there the mention is the first place of its name.

use super::annotated::{Annotated, Named, UNKNOWN_CONCEPT};
use super::pubtator::NO_TEXT;
use super::tac_files::{Answer, NIL, Query, answers, documents, files, knowledge_base, queries, stem};
use crate::data::corpus::{CorpusMention, Document, MISPLACED, span_of};
use crate::io::counter::Counter;
use crate::io::files::read_text;
use crate::io::outputs::OutputFolder;
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::concepts::single_spaced;
use pel_shared::kb::import::report::Report;
use pel_shared::text::Offsets;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

/// The reason for skipping an answer that no query asks for.
pub const UNKNOWN_QUERY: &str = "answer for an unknown query";
/// The reason for skipping a second answer to a query.
pub const SECOND_ANSWER: &str = "second answer for a query (the first stays)";
/// The reason for skipping a query whose identifier has come before.
pub const SECOND_QUERY: &str = "query that stands twice (the first stays)";
/// The reason for skipping a query without an answer.
pub const NO_ANSWER: &str = "query without an answer";
/// The reason for skipping a query whose document is in no folder.
pub const NO_DOCUMENT: &str = "query whose document is missing";
/// The reason for skipping a query without offsets whose name is nowhere.
pub const NO_PLACE: &str = "query whose name is not in its document";
/// The reason for skipping a query whose offsets its document does not have.
pub const BEYOND: &str = "query whose offsets are beyond the end of its document";
/// The reason under which a query is noted that has no offsets.
pub const FIRST_PLACE: &str = "query without offsets, placed where its name stands first";
/// The reason under which a query is noted whose second offset is one too large.
pub const HALF_OPEN: &str = "query whose <end> is one past its last character";
/// The reason under which a document is noted that no query asks about.
pub const NOT_ASKED: &str = "source document without a query left out";

/// The queries of a split, with their answers.
#[derive(Clone, Debug)]
pub struct Questions {
    /// The split.
    pub split: &'static str,
    /// The file of queries.
    pub queries: PathBuf,
    /// The file of answers.
    pub answers: PathBuf,
}

/// The files of a task.
#[derive(Clone, Debug)]
pub struct Files {
    /// The knowledge base: files of `<knowledge_base>`, or folders with such .xml files.
    pub kb: Vec<PathBuf>,
    /// The folders with the source documents.
    pub documents: Vec<PathBuf>,
    /// Queries and answers by split.
    pub questions: Vec<Questions>,
}

impl Files {
    /// The files and folders to read: knowledge base, documents, queries, answers.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let queries = self.questions.iter().map(|questions| &questions.queries);
        let answers = self.questions.iter().map(|questions| &questions.answers);
        self.kb.iter().chain(&self.documents).chain(queries).chain(answers).cloned().collect()
    }
}

/// A query with its answer.
struct Asked {
    split: &'static str,
    query: Query,
    answer: Answer,
}

/// Reads the files and writes `kb.jsonl`, `documents.jsonl` and the mentions of each split. A mention that is answered NIL keeps that
/// answer's cluster as its concept (`NIL00012`), which no knowledge base has; a mere `NIL` is none.
///
/// # Errors
/// If a file cannot be read or is not of its form, or the output cannot be written.
pub fn read(task: &Files, output: &mut OutputFolder, report: &mut Report, counter: &mut Counter) -> Result<()> {
    let (mut corpus, mut asked) = (Annotated::default(), Vec::new());
    for questions in &task.questions {
        corpus.split(questions.split);
        let answers = answers(&questions.answers, counter)?;
        asked.extend(joined(questions.split, queries(&questions.queries, counter)?, answers, report));
    }
    let sources = documents(&task.documents, report)?;
    let mut concepts = Named::default();
    let mut tables = 0;
    for path in task.kb.iter().map(|path| files(path)).collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        // A file that is named is read, whatever its name; in a folder lie readmes and schemas too.
        if task.kb.contains(&path) || stem(&path, &[".xml"]).is_some() {
            tables += 1;
            knowledge_base(&path, &mut concepts, report, counter)?;
        }
    }
    if tables == 0 {
        let names: Vec<_> = task.kb.iter().map(|path| path.display().to_string()).collect();
        return Err(Error::input(format!("{}: expected a knowledge base as .xml, found none", names.join(", "))));
    }

    let mut by_document: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, one) in asked.iter().enumerate() {
        by_document.entry(&one.query.doc_id).or_default().push(at);
    }
    for id in sources.keys().filter(|id| !by_document.contains_key(id.as_str())) {
        report.note(NOT_ASKED, || id.clone());
    }
    let mut placed: Vec<Option<CorpusMention>> = asked.iter().map(|_| None).collect();
    for (doc_id, queries) in by_document {
        crate::io::interrupt::check()?;
        let asked: Vec<(usize, &Asked)> = queries.iter().filter_map(|at| Some((*at, asked.get(*at)?))).collect();
        let Some(path) = sources.get(doc_id) else {
            for (_, Asked { query, .. }) in asked {
                report.skip(NO_DOCUMENT, || format!("{} {} document {doc_id}", query.place, query.id));
            }
            continue;
        };
        let text = read_text(path)?;
        let offsets = Offsets::new(&text);
        for (at, one) in &asked {
            if let (Some(to), Some(mention)) = (placed.get_mut(*at), mention(&text, &offsets, one, &concepts, report)) {
                *to = Some(mention);
            }
        }
        let splits: BTreeSet<&str> = asked.iter().map(|(_, one)| one.split).collect();
        // A document of several splits belongs to none of them alone.
        let split = splits.first().filter(|_| splits.len() == 1).map(|split| (*split).to_owned());
        let document = Document { doc_id: doc_id.to_owned(), text, split, domain: None };
        corpus.document(document, report, || path.display().to_string());
    }
    for (one, mention) in asked.iter().zip(placed) {
        if let Some(mention) = mention {
            corpus.mention(one.split, mention);
        }
    }
    concepts.write(output, report)?;
    corpus.write(output, report)
}

/// The queries of a split with their answers, in the order of the queries.
fn joined(split: &'static str, queries: Vec<Query>, answers: Vec<Answer>, report: &mut Report) -> Vec<Asked> {
    let mut by_query: BTreeMap<String, Answer> = BTreeMap::new();
    for answer in answers {
        if by_query.contains_key(&answer.query) {
            report.skip(SECOND_ANSWER, || format!("{} {}", answer.place, answer.query));
        } else {
            by_query.insert(answer.query.clone(), answer);
        }
    }
    let (mut asked, mut seen) = (Vec::new(), HashSet::new());
    for query in queries {
        let example = || format!("{} {}", query.place, query.id);
        match by_query.remove(&query.id) {
            _ if seen.contains(&query.id) => report.skip(SECOND_QUERY, example),
            answer => {
                seen.insert(query.id.clone());
                match answer {
                    _ if query.name.trim().is_empty() => report.skip(NO_TEXT, example),
                    None => report.skip(NO_ANSWER, example),
                    Some(answer) => asked.push(Asked { split, query, answer }),
                }
            }
        }
    }
    let mut unknown: Vec<Answer> = by_query.into_values().collect();
    unknown.sort_by(|a, b| a.query.cmp(&b.query));
    for answer in unknown {
        report.skip(UNKNOWN_QUERY, || format!("{} {}", answer.place, answer.query));
    }
    asked
}

/// The mention that a query asks about; nothing if it has no place, or its concept is in no table.
fn mention(
    text: &str,
    offsets: &Offsets<'_>,
    asked: &Asked,
    concepts: &Named,
    report: &mut Report,
) -> Option<CorpusMention> {
    let Asked { query, answer, .. } = asked;
    let (start, end, found) = placed(text, offsets, query, report)?;
    let id = match answer.entity.as_str() {
        NIL => None,
        entity if entity.starts_with(NIL) || concepts.has(entity) => Some(entity.to_owned()),
        entity => {
            report.skip(UNKNOWN_CONCEPT, || format!("{} {entity}", answer.place));
            return None;
        }
    };
    let (doc_id, text, types) = (query.doc_id.clone(), found.to_owned(), answer.kind.iter().cloned().collect());
    Some(CorpusMention { doc_id, start, end, text, id, types, ..CorpusMention::default() })
}

/// The code points of a query's name and the text there; nothing if it has no place.
fn placed<'a>(
    text: &'a str,
    offsets: &Offsets<'a>,
    query: &Query,
    report: &mut Report,
) -> Option<(usize, usize, &'a str)> {
    let example = || format!("{} {} {:?}", query.place, query.id, query.name);
    let Some((first, last)) = query.ends else {
        let Some((start, found)) = first_place(text, &query.name) else {
            report.skip(NO_PLACE, || format!("{} document {}", example(), query.doc_id));
            return None;
        };
        report.note(FIRST_PLACE, example);
        return Some((offsets.code_point(start), offsets.code_point(start + found.len()), found));
    };
    let cut = |end: usize| span_of(text, offsets, first, end).map(|(_, found)| found);
    // The letter goes before what means the same, the documented meaning of the offsets before the other.
    let ways: [fn(&str, &str) -> bool; 2] = [|found, name| found == name, is_same];
    for same in ways {
        for (end, reason) in [(last.saturating_add(1), None), (last, Some(HALF_OPEN))] {
            if let Some(found) = cut(end).filter(|found| same(found, &query.name)) {
                if let Some(reason) = reason {
                    report.note(reason, example);
                }
                return Some((first, end, found));
            }
        }
    }
    match cut(last.saturating_add(1)) {
        None if first <= last => {
            let length = offsets.code_point(text.len());
            report.skip(BEYOND, || format!("{} {first}..={last} of {length} characters", example()));
        }
        found => {
            let found = found.map_or("nothing".to_owned(), |found| format!("{found:?}"));
            report.skip(MISPLACED, || {
                format!("{} {} {first}..={last}: expected {:?}, found {found}", query.place, query.id, query.name)
            });
        }
    }
    None
}

/// Whether a text of a document is a name but for the width of white space and for characters written as XML entities.
fn is_same(found: &str, name: &str) -> bool {
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    let plain = plain.iter().fold(found.to_owned(), |text, (entity, letter)| text.replace(entity, letter));
    found.trim() == found && [found, &plain].iter().any(|text| single_spaced(text) == single_spaced(name))
}

/// The byte at which a name stands first, as whole words if it does so anywhere, and its text there.
fn first_place<'a>(text: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let escaped = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let places = [name, &escaped].into_iter().flat_map(|name| places(text, name)).collect::<Vec<_>>();
    let is_word = |(start, found): &&(usize, &str)| {
        let end = start + found.len();
        let before = text.get(..*start).and_then(|left| left.chars().next_back());
        let after = text.get(end..).and_then(|right| right.chars().next());
        !before.into_iter().chain(after).any(char::is_alphanumeric)
    };
    places.iter().filter(is_word).min().or_else(|| places.iter().min()).copied()
}

/// All places of a name in a text, white space of any width between its words.
fn places<'a>(text: &'a str, name: &str) -> Vec<(usize, &'a str)> {
    let mut words = name.split_whitespace();
    let Some(first) = words.next() else { return Vec::new() };
    let rest: Vec<&str> = words.collect();
    let whole = |(start, _): (usize, &str)| {
        let mut left = text.get(start + first.len()..)?;
        for word in &rest {
            let next = left.trim_start();
            left = next.strip_prefix(word).filter(|_| next.len() < left.len())?;
        }
        Some((start, text.get(start..text.len() - left.len())?))
    };
    text.match_indices(first).filter_map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_where_its_words_do() {
        let text = "USA: é the US\nArmy, AT&amp;T, a US Army";
        for (name, place) in [
            ("US", Some((12, "US"))),
            ("US Army", Some((12, "US\nArmy"))),
            ("AT&T", Some((21, "AT&amp;T"))),
            ("SA", Some((1, "SA"))),
            ("navy", None),
            (" ", None),
        ] {
            assert_eq!(first_place(text, name), place, "{name}");
        }
    }
}
