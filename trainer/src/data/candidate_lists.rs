//! Lists of candidates: what a retriever found for the mentions of a split, and what a ranker says of it. One JSON object a line.

use crate::data::split::{Gold, Split};
use crate::io::files::for_each_line;
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::records::record;
use pel_shared::kb::{ConceptId, KnowledgeBase};
use pel_shared::numbers::check_finite;
use pel_shared::score::Candidate;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

/// A line of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The document of the mention.
    pub doc_id: String,
    /// Its first code point.
    pub start: usize,
    /// One past its last code point.
    pub end: usize,
    /// The right concept, where the corpus has one.
    #[serde(default)]
    pub id: Option<String>,
    /// The identifiers of its candidates, best first.
    pub candidates: Vec<String>,
    /// The retriever's score of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<f32>,
    /// The ranker's score of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teacher: Vec<f32>,
}

/// The candidates of one mention.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// Where it stands in the file.
    pub line: usize,
    /// The right concepts of the mention, where the file says them; several if it is annotated with several.
    pub ids: Vec<String>,
    /// The concepts, best first.
    pub candidates: Vec<ConceptId>,
    /// The retriever's score of each; empty if the file has none.
    pub scores: Vec<f32>,
    /// The ranker's score of each; empty without a ranker.
    pub teacher: Vec<f32>,
}

impl List {
    /// The first candidates with the retriever's scores; 0 where it gave none.
    pub fn ranked(&self, top: u32) -> Vec<Candidate> {
        let scores = self.scores.iter().copied().chain(std::iter::repeat(0.0));
        let candidates = self.candidates.iter().zip(scores).map(|(concept, score)| Candidate::new(*concept, score));
        candidates.take(top as usize).collect()
    }
}

/// The lists of a file, found by mention.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    path: PathBuf,
    of: HashMap<(String, usize, usize), List>,
}

impl Lists {
    /// Reads a file of lists.
    ///
    /// # Errors
    /// If it cannot be read or has no line, or a line is no list, names a concept that the knowledge base does not have, has a
    /// candidate twice, or not one score for each candidate, or the mention of an earlier one with others; file and line are named.
    pub fn read(path: &Path, kb: &KnowledgeBase) -> Result<Self> {
        let mut all = HashMap::new();
        for_each_line(path, |number, line| {
            if line.trim().is_empty() {
                return Ok(());
            }
            let Line { doc_id, start, end, id, candidates, scores, teacher } = record(line)?;
            check_finite("`scores`", &scores).and_then(|()| check_finite("`teacher`", &teacher)).map_err(|error| {
                // What a user gives is no artifact of ours.
                Error::input(error.to_string())
            })?;
            for (what, found) in [("scores", scores.len()), ("teacher's scores", teacher.len())] {
                if found != 0 && found != candidates.len() {
                    let expected = candidates.len();
                    return Err(Error::input(format!(
                        "expected {expected} {what}, one for each candidate, found {found}"
                    )));
                }
            }
            let mut concepts = Vec::with_capacity(candidates.len());
            for id in &candidates {
                let Some(concept) = kb.find(id) else {
                    return Err(Error::input(format!("the candidate {id} is not in the knowledge base")));
                };
                if concepts.contains(&concept) {
                    return Err(Error::input(format!("the candidate {id} stands twice")));
                }
                concepts.push(concept);
            }
            let list = List { line: number, ids: id.into_iter().collect(), candidates: concepts, scores, teacher };
            // Of two concepts that one mention is annotated with, each has the same list.
            match all.entry((doc_id, start, end)) {
                Entry::Vacant(place) => {
                    place.insert(list);
                    Ok(())
                }
                Entry::Occupied(mut place) => {
                    let before: &mut List = place.get_mut();
                    before.ids.extend(list.ids);
                    if before.candidates == list.candidates && before.teacher == list.teacher {
                        return Ok(());
                    }
                    let line = before.line;
                    Err(Error::input(format!("the mention stands in line {line} too, with other candidates or scores")))
                }
            }
        })?;
        if all.is_empty() {
            return Err(Error::input(format!(
                "{}: expected a list of candidates for each mention, found none",
                path.display()
            )));
        }
        Ok(Self { path: path.to_owned(), of: all })
    }

    /// The lists of a split's mentions, in their order.
    ///
    /// # Errors
    /// If most lists say that other concepts are right: they are of another corpus.
    pub fn of_split(&self, split: &Split, kb: &KnowledgeBase) -> Result<Vec<Option<&List>>> {
        let places = split.code_points();
        let of = |(gold, [start, end]): (&Gold, [usize; 2])| {
            self.of.get(&(split.documents.get(gold.document)?.doc_id.clone(), start, end))
        };
        let lists: Vec<Option<&List>> = split.mentions.iter().zip(places).map(of).collect();
        self.check(split, &lists, kb)?;
        Ok(lists)
    }

    /// Looks whether the lists are of this split's corpus. Of several concepts of a mention `--every` may have left one, so that single
    /// mentions may differ.
    fn check(&self, split: &Split, lists: &[Option<&List>], kb: &KnowledgeBase) -> Result<()> {
        let id = |gold: &Gold| kb.get(gold.concept?).map(|concept| concept.id.as_str());
        let listed = split.mentions.iter().zip(lists).filter_map(|(gold, list)| Some((id(gold)?, (*list)?)));
        let listed: Vec<(&str, &List)> = listed.filter(|(_, list)| !list.ids.is_empty()).collect();
        let differ = |(id, list): &&(&str, &List)| list.ids.iter().all(|own| own != id);
        let others = listed.iter().filter(differ).count();
        let Some((id, list)) = listed.iter().find(differ).filter(|_| 2 * others > listed.len()) else { return Ok(()) };
        let (path, line, found, all) = (self.path.display(), list.line, list.ids.join(", "), listed.len());
        Err(Error::input(format!(
            "{path}: line {line}: expected `id` to be {id}, which the corpus has for this mention, found {found}, and so for {others} of {all}; \
             the lists are of another corpus"
        )))
    }

    /// The list of a mention, by its document and its code points. `ids` are all concepts that the corpus has for it.
    ///
    /// # Errors
    /// If the list says that others are right: it is of another corpus.
    pub fn of(&self, doc_id: &str, start: usize, end: usize, ids: &[&str]) -> Result<Option<&List>> {
        let found = self.of.get(&(doc_id.to_owned(), start, end));
        match found {
            Some(list) if !list.ids.is_empty() && !list.ids.iter().any(|own| ids.contains(&own.as_str())) => {
                let (path, line, found) = (self.path.display(), list.line, list.ids.join(", "));
                Err(Error::input(format!(
                    "{path}: line {line}: expected `id` to be {}, which the corpus has for this mention, found {found}; the lists are of \
                     another corpus",
                    ids.join(" or ")
                )))
            }
            _ => Ok(found),
        }
    }
}
