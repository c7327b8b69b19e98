//! Candidate lists: what a retriever found for the mentions of a split, with a teacher's scores.
//! One JSON object per line.

use crate::split::{Gold, Split};
use pel_io::files::for_each_line;
use pel_kb::error::{Error, Result};
use pel_kb::numbers::check_finite;
use pel_kb::score::Candidate;
use pel_kb::{ConceptId, KnowledgeBase};
use pel_terminologies::import::records::record;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

/// A line of a candidate list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The document of the mention.
    pub doc_id: String,
    /// First code point of the mention.
    pub start: usize,
    /// One past its last code point.
    pub end: usize,
    /// The gold concept, if the corpus has one.
    #[serde(default)]
    pub id: Option<String>,
    /// Identifiers of the candidates, best first.
    pub candidates: Vec<String>,
    /// The retriever's scores, one per candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<f32>,
    /// The teacher's scores, one per candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teacher: Vec<f32>,
}

/// The candidates of one mention.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateList {
    /// Line number in the file.
    pub line: usize,
    /// The gold concepts in the file; several if the mention is annotated with several.
    pub ids: Vec<String>,
    /// The concepts, best first.
    pub candidates: Vec<ConceptId>,
    /// The retriever's scores, one per candidate; empty if the file has none.
    pub scores: Vec<f32>,
    /// The teacher's scores, one per candidate; empty without a teacher.
    pub teacher: Vec<f32>,
}

impl CandidateList {
    /// The first candidates with the retriever's scores; 0 where it gave none.
    pub fn ranked(&self, top: u32) -> Vec<Candidate> {
        let scores = self.scores.iter().copied().chain(std::iter::repeat(0.0));
        let candidates = self
            .candidates
            .iter()
            .zip(scores)
            .map(|(concept, score)| Candidate::new(*concept, score));
        candidates.take(top as usize).collect()
    }
}

/// The lists of a file by mention.
#[derive(Clone, Debug, Default)]
pub struct CandidateLists {
    path: PathBuf,
    of: HashMap<(String, usize, usize), CandidateList>,
}

impl CandidateLists {
    /// Reads a file of candidate lists.
    ///
    /// # Errors
    /// If it cannot be read or is empty, or a line is invalid: a concept is not in the knowledge
    /// base, a candidate occurs twice, or the number of scores differs. Also if two lists of a
    /// mention differ. The error names file and line.
    pub fn read(path: &Path, kb: &KnowledgeBase) -> Result<Self> {
        let mut all = HashMap::new();
        for_each_line(path, |number, line| {
            if line.trim().is_empty() {
                return Ok(());
            }
            let Line {
                doc_id,
                start,
                end,
                id,
                candidates,
                scores,
                teacher,
            } = record(line)?;
            check_finite("`scores`", &scores)
                .and_then(|()| check_finite("`teacher`", &teacher))
                .map_err(|error| {
                    // `check_finite` reports a damaged artifact; this is user input.
                    Error::input(error.to_string())
                })?;
            for (what, found) in [("scores", scores.len()), ("teacher scores", teacher.len())] {
                if found != 0 && found != candidates.len() {
                    let expected = candidates.len();
                    return Err(Error::input(format!(
                        "expected {expected} {what}, one per candidate, found {found}"
                    )));
                }
            }
            let mut concepts = Vec::with_capacity(candidates.len());
            for id in &candidates {
                let Some(concept) = kb.find(id) else {
                    return Err(Error::input(format!(
                        "expected candidates of the knowledge base, found {id}"
                    )));
                };
                if concepts.contains(&concept) {
                    return Err(Error::input(format!(
                        "expected each candidate once, found {id} twice"
                    )));
                }
                concepts.push(concept);
            }
            let list = CandidateList {
                line: number,
                ids: id.into_iter().collect(),
                candidates: concepts,
                scores,
                teacher,
            };
            // A mention with two gold concepts has two equal lists.
            match all.entry((doc_id, start, end)) {
                Entry::Vacant(place) => {
                    place.insert(list);
                    Ok(())
                }
                Entry::Occupied(mut place) => {
                    let before: &mut CandidateList = place.get_mut();
                    before.ids.extend(list.ids);
                    if before.candidates == list.candidates && before.teacher == list.teacher {
                        return Ok(());
                    }
                    let line = before.line;
                    Err(Error::input(format!(
                        "line {line} has another list of the same mention; keep one of them"
                    )))
                }
            }
        })?;
        if all.is_empty() {
            return Err(Error::input(format!(
                "{}: the file has no candidate lists; `pel candidates` writes them",
                path.display()
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            of: all,
        })
    }

    /// The lists of a split's mentions, in their order.
    ///
    /// # Errors
    /// If most lists have other gold concepts, which means another corpus.
    pub fn of_split(
        &self,
        split: &Split,
        kb: &KnowledgeBase,
    ) -> Result<Vec<Option<&CandidateList>>> {
        let places = split.code_points();
        let of = |(gold, [start, end]): (&Gold, [usize; 2])| {
            self.of.get(&(
                split.documents.get(gold.document)?.doc_id.clone(),
                start,
                end,
            ))
        };
        let lists: Vec<Option<&CandidateList>> =
            split.mentions.iter().zip(places).map(of).collect();
        self.check(split, &lists, kb)?;
        Ok(lists)
    }

    /// Checks that the lists belong to this corpus. `--every` may keep one of several gold
    /// concepts, so single mentions may differ.
    fn check(
        &self,
        split: &Split,
        lists: &[Option<&CandidateList>],
        kb: &KnowledgeBase,
    ) -> Result<()> {
        let id = |gold: &Gold| kb.get(gold.concept?).map(|concept| concept.id.as_str());
        let listed = split
            .mentions
            .iter()
            .zip(lists)
            .filter_map(|(gold, list)| Some((id(gold)?, (*list)?)));
        let listed: Vec<(&str, &CandidateList)> =
            listed.filter(|(_, list)| !list.ids.is_empty()).collect();
        let differ = |(id, list): &&(&str, &CandidateList)| list.ids.iter().all(|own| own != id);
        let others = listed.iter().filter(differ).count();
        let Some((id, list)) = listed
            .iter()
            .find(differ)
            .filter(|_| 2 * others > listed.len())
        else {
            return Ok(());
        };
        let (path, line, found, all) = (
            self.path.display(),
            list.line,
            list.ids.join(", "),
            listed.len(),
        );
        Err(Error::input(format!(
            "{path}: line {line}: expected `id` {id} as in the corpus, found {found}; {others} of \
             {all} lists differ, so they belong to another corpus"
        )))
    }

    /// The list of a mention by document and code points. `ids` are all its gold concepts in the
    /// corpus.
    ///
    /// # Errors
    /// If the list has other gold concepts, which means another corpus.
    pub fn of(
        &self,
        doc_id: &str,
        start: usize,
        end: usize,
        ids: &[&str],
    ) -> Result<Option<&CandidateList>> {
        let found = self.of.get(&(doc_id.to_owned(), start, end));
        match found {
            Some(list)
                if !list.ids.is_empty()
                    && !list.ids.iter().any(|own| ids.contains(&own.as_str())) =>
            {
                let (path, line, found) = (self.path.display(), list.line, list.ids.join(", "));
                Err(Error::input(format!(
                    "{path}: line {line}: expected `id` {} as in the corpus, found {found}; the \
                     lists belong to another corpus",
                    ids.join(" or ")
                )))
            }
            _ => Ok(found),
        }
    }
}
