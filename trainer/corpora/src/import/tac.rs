//! Entity linking tasks of TAC-KBP since 2010: XML queries, a table of answers, source documents, a
//! knowledge base.
//!
//! Offsets count the characters of a source file including markup, with an inclusive end. Queries
//! of 2010 have none; there the mention is the first occurrence of its name.

use super::annotated::{ConceptSet, CorpusBuilder, UNKNOWN_CONCEPT};
use super::pubtator::NO_TEXT;
use super::tac_files::{
    Answer, NIL, Query, answers, documents, files, knowledge_base, queries, stem,
};
use crate::corpus::{CorpusMention, Document, MISPLACED, span_of};
use pel_io::counter::Counter;
use pel_io::files::read_text;
use pel_io::outputs::OutputFolder;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::concepts::single_spaced;
use pel_terminologies::import::report::Report;
use pel_text::Offsets;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

/// Reason for skipping an answer without a query.
pub const UNKNOWN_QUERY: &str = "answer for an unknown query";
/// Reason for skipping a second answer to a query.
pub const SECOND_ANSWER: &str = "second answer for a query (the first stays)";
/// Reason for skipping a query with the identifier of an earlier one.
pub const SECOND_QUERY: &str = "query that stands twice (the first stays)";
/// Reason for skipping a query without an answer.
pub const NO_ANSWER: &str = "query without an answer";
/// Reason for skipping a query whose document is missing.
pub const NO_DOCUMENT: &str = "query whose document is missing";
/// Reason for skipping a query without offsets whose name does not occur.
pub const NO_PLACE: &str = "query whose name is not in its document";
/// Reason for skipping a query whose offsets exceed its document.
pub const BEYOND: &str = "query whose offsets are beyond the end of its document";
/// Note on a query without offsets.
pub const FIRST_PLACE: &str = "query without offsets, placed where its name stands first";
/// Note on a query whose end offset is exclusive.
pub const HALF_OPEN: &str = "query whose <end> is one past its last character";
/// Note on a document without queries.
pub const NOT_ASKED: &str = "source document without a query left out";

/// The queries and answers of a split.
#[derive(Clone, Debug)]
pub struct QuerySet {
    /// The split.
    pub split: &'static str,
    /// The file of queries.
    pub queries: PathBuf,
    /// The file of answers.
    pub answers: PathBuf,
}

/// The files of a task.
#[derive(Clone, Debug)]
pub struct TaskFiles {
    /// The knowledge base: files of `<knowledge_base>`, or folders with such .xml files.
    pub kb: Vec<PathBuf>,
    /// The folders with the source documents.
    pub documents: Vec<PathBuf>,
    /// Queries and answers by split.
    pub questions: Vec<QuerySet>,
}

impl TaskFiles {
    /// The files and folders to read: knowledge base, documents, queries, answers.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let queries = self.questions.iter().map(|questions| &questions.queries);
        let answers = self.questions.iter().map(|questions| &questions.answers);
        self.kb
            .iter()
            .chain(&self.documents)
            .chain(queries)
            .chain(answers)
            .cloned()
            .collect()
    }
}

/// A query with its answer.
struct AnsweredQuery {
    split: &'static str,
    query: Query,
    answer: Answer,
}

/// Reads the files and writes `kb.jsonl`, `documents.jsonl` and the mentions of each split. A NIL
/// cluster (`NIL00012`) stays as the concept of its mention, though no knowledge base has it; a
/// mere `NIL` becomes none.
///
/// # Errors
/// If a file cannot be read or is invalid, or the output cannot be written.
pub fn read(
    task: &TaskFiles,
    output: &mut OutputFolder,
    report: &mut Report,
    counter: &mut Counter,
) -> Result<()> {
    let (mut corpus, mut answered) = (CorpusBuilder::default(), Vec::new());
    for questions in &task.questions {
        corpus.split(questions.split);
        let answers = answers(&questions.answers, counter)?;
        answered.extend(joined(
            questions.split,
            queries(&questions.queries, counter)?,
            answers,
            report,
        ));
    }
    let sources = documents(&task.documents, report)?;
    let concepts = knowledge_bases(&task.kb, report, counter)?;
    let mut by_document: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, one) in answered.iter().enumerate() {
        by_document.entry(&one.query.doc_id).or_default().push(at);
    }
    for id in sources
        .keys()
        .filter(|id| !by_document.contains_key(id.as_str()))
    {
        report.note(NOT_ASKED, || id.clone());
    }
    let mut placed: Vec<Option<CorpusMention>> = answered.iter().map(|_| None).collect();
    for (doc_id, queries) in by_document {
        pel_io::interrupt::check()?;
        let answered: Vec<(usize, &AnsweredQuery)> = queries
            .iter()
            .filter_map(|at| Some((*at, answered.get(*at)?)))
            .collect();
        let Some(path) = sources.get(doc_id) else {
            for (_, AnsweredQuery { query, .. }) in answered {
                report.skip(NO_DOCUMENT, || {
                    format!("{} {} document {doc_id}", query.place, query.id)
                });
            }
            continue;
        };
        let text = read_text(path)?;
        let offsets = Offsets::new(&text);
        for (at, one) in &answered {
            if let (Some(to), Some(mention)) = (
                placed.get_mut(*at),
                mention(&text, &offsets, one, &concepts, report),
            ) {
                *to = Some(mention);
            }
        }
        let splits: BTreeSet<&str> = answered.iter().map(|(_, one)| one.split).collect();
        // A document of several splits is assigned to none.
        let split = splits
            .first()
            .filter(|_| splits.len() == 1)
            .map(|split| (*split).to_owned());
        let document = Document {
            doc_id: doc_id.to_owned(),
            text,
            split,
            domain: None,
        };
        corpus.document(document, report, || path.display().to_string());
    }
    for (one, mention) in answered.iter().zip(placed) {
        if let Some(mention) = mention {
            corpus.mention(one.split, mention);
        }
    }
    concepts.write(output, report)?;
    corpus.write(output, report)
}

/// Reads the files of a knowledge base, or those in its folders.
fn knowledge_bases(
    kb: &[PathBuf],
    report: &mut Report,
    counter: &mut Counter,
) -> Result<ConceptSet> {
    let mut concepts = ConceptSet::default();
    let mut tables = 0;
    for path in kb
        .iter()
        .map(|path| files(path))
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
    {
        // A given file is read regardless of its name; a folder may hold others, such as a README
        // or schema.
        if kb.contains(&path) || stem(&path, &[".xml"]).is_some() {
            tables += 1;
            knowledge_base(&path, &mut concepts, report, counter)?;
        }
    }
    if tables == 0 {
        let names: Vec<_> = kb.iter().map(|path| path.display().to_string()).collect();
        return Err(Error::input(format!(
            "{}: there is no file of a knowledge base (.xml)",
            names.join(", ")
        )));
    }
    Ok(concepts)
}

/// Joins the queries of a split with their answers, in the order of the queries.
fn joined(
    split: &'static str,
    queries: Vec<Query>,
    answers: Vec<Answer>,
    report: &mut Report,
) -> Vec<AnsweredQuery> {
    let mut by_query: BTreeMap<String, Answer> = BTreeMap::new();
    for answer in answers {
        if by_query.contains_key(&answer.query) {
            report.skip(SECOND_ANSWER, || {
                format!("{} {}", answer.place, answer.query)
            });
        } else {
            by_query.insert(answer.query.clone(), answer);
        }
    }
    let (mut answered, mut seen) = (Vec::new(), HashSet::new());
    for query in queries {
        let example = || format!("{} {}", query.place, query.id);
        match by_query.remove(&query.id) {
            _ if seen.contains(&query.id) => report.skip(SECOND_QUERY, example),
            answer => {
                seen.insert(query.id.clone());
                match answer {
                    _ if query.name.trim().is_empty() => report.skip(NO_TEXT, example),
                    None => report.skip(NO_ANSWER, example),
                    Some(answer) => answered.push(AnsweredQuery {
                        split,
                        query,
                        answer,
                    }),
                }
            }
        }
    }
    let mut unknown: Vec<Answer> = by_query.into_values().collect();
    unknown.sort_by(|a, b| a.query.cmp(&b.query));
    for answer in unknown {
        report.skip(UNKNOWN_QUERY, || {
            format!("{} {}", answer.place, answer.query)
        });
    }
    answered
}

/// The mention of a query; `None` if it cannot be located or its concept is in no table.
fn mention(
    text: &str,
    offsets: &Offsets<'_>,
    answered: &AnsweredQuery,
    concepts: &ConceptSet,
    report: &mut Report,
) -> Option<CorpusMention> {
    let AnsweredQuery { query, answer, .. } = answered;
    let (start, end, found) = placed(text, offsets, query, report)?;
    let id = match answer.entity.as_str() {
        NIL => None,
        entity if entity.starts_with(NIL) || concepts.has(entity) => Some(entity.to_owned()),
        entity => {
            report.skip(UNKNOWN_CONCEPT, || format!("{} {entity}", answer.place));
            return None;
        }
    };
    let (doc_id, text, types) = (
        query.doc_id.clone(),
        found.to_owned(),
        answer.kind.iter().cloned().collect(),
    );
    Some(CorpusMention {
        doc_id,
        start,
        end,
        text,
        id,
        types,
        ..CorpusMention::default()
    })
}

/// The code points and text of a query's name; `None` if it cannot be located.
fn placed<'a>(
    text: &'a str,
    offsets: &Offsets<'a>,
    query: &Query,
    report: &mut Report,
) -> Option<(usize, usize, &'a str)> {
    let example = || format!("{} {} {:?}", query.place, query.id, query.name);
    let Some((first, last)) = query.ends else {
        let Some((start, found)) = first_place(text, &query.name) else {
            report.skip(NO_PLACE, || {
                format!("{} document {}", example(), query.doc_id)
            });
            return None;
        };
        report.note(FIRST_PLACE, example);
        return Some((
            offsets.code_point(start),
            offsets.code_point(start + found.len()),
            found,
        ));
    };
    let cut = |end: usize| span_of(text, offsets, first, end).map(|(_, found)| found);
    // Prefer an exact match to a normalised one, and the documented inclusive end to an exclusive
    // one.
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
            report.skip(BEYOND, || {
                format!("{} {first}..={last} of {length} characters", example())
            });
        }
        found => {
            let found = found.map_or_else(
                || "the end of the text".to_owned(),
                |found| format!("{found:?}"),
            );
            report.skip(MISPLACED, || {
                format!(
                    "{} {} {first}..={last}: expected {:?}, found {found}",
                    query.place, query.id, query.name
                )
            });
        }
    }
    None
}

/// Whether a document's text equals a name up to white space and XML entities.
fn is_same(found: &str, name: &str) -> bool {
    let plain = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    let plain = plain
        .iter()
        .fold(found.to_owned(), |text, (entity, letter)| {
            text.replace(entity, letter)
        });
    found.trim() == found
        && [found, &plain]
            .iter()
            .any(|text| single_spaced(text) == single_spaced(name))
}

/// The first occurrence of a name, preferably as whole words: its byte offset and text.
fn first_place<'a>(text: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let escaped = name
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let places = [name, &escaped]
        .into_iter()
        .flat_map(|name| places(text, name))
        .collect::<Vec<_>>();
    let is_word = |(start, found): &&(usize, &str)| {
        let end = start + found.len();
        let before = text.get(..*start).and_then(|left| left.chars().next_back());
        let after = text.get(end..).and_then(|right| right.chars().next());
        !before.into_iter().chain(after).any(char::is_alphanumeric)
    };
    places
        .iter()
        .filter(is_word)
        .min()
        .or_else(|| places.iter().min())
        .copied()
}

/// All occurrences of a name, with white space of any width between its words.
fn places<'a>(text: &'a str, name: &str) -> Vec<(usize, &'a str)> {
    let mut words = name.split_whitespace();
    let Some(first) = words.next() else {
        return Vec::new();
    };
    let rest: Vec<&str> = words.collect();
    let whole = |(start, _): (usize, &str)| {
        let mut left = text.get(start + first.len()..)?;
        for word in &rest {
            let next = left.trim_start();
            left = next
                .strip_prefix(word)
                .filter(|_| next.len() < left.len())?;
        }
        Some((start, text.get(start..text.len() - left.len())?))
    };
    text.match_indices(first).filter_map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_found_across_white_space() {
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
