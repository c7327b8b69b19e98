//! Concepts that a user adds to a bundle and removes again. They are searched with those of the
//! bundle.
//!
//! They are few: each change builds their index and dictionary again, from vectors that are
//! computed once.
//!
//! Concepts can be added as a list with a name, such as that of their file. A later list of the
//! same name replaces it, and only texts without a vector are encoded.

use super::Linker;
use crate::bundle::Resolved;
use bytes::Bytes;
use pel_index::{
    Index, IndexInfo, Precision, TokenCodes, TokenStore, TokenStoreBuilder, best_per_concept,
};
use pel_kb::error::{Error, Result};
use pel_kb::report::Report;
use pel_kb::score::{Candidate, Scorer};
use pel_kb::tidy::tidied;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_model::encode::Encodings;
use pel_model::tokens::Encoded;
use pel_model::tokens::View;
use pel_text::detect::{DetectOptions, Detected, Dictionary, Origin};
use serde::Serialize;
use std::collections::HashMap;

/// The reason for skipping a concept whose identifier belongs to a concept of the bundle or to an
/// added one.
pub const TAKEN: &str = "the id is taken by another concept";
/// The reason for skipping a concept whose identifier is retired in the bundle, with a successor.
pub const REDIRECTED: &str = "the id is retired, and its successor is a concept of the bundle";
/// The note on a concept whose identifier is retired in the bundle, without a successor.
pub const RETIRED: &str = "the id is retired in the bundle (added)";
/// The reason for skipping a concept without identifier or name.
pub const INCOMPLETE: &str = "a concept without id or name";
/// The reason for skipping a concept whose names are all empty after normalisation.
pub const UNREADABLE: &str = "nothing can be read in its names";

/// Concepts that were added to a bundle. Their positions follow those of the bundle.
pub struct AddedConcepts {
    first: usize,
    kb: KnowledgeBase,
    entries: Vec<Entry>,
    /// `None` without a concept.
    search: Option<AddedSearch>,
}

/// Concepts that can be added, with their token sequences.
#[non_exhaustive]
pub struct TokenizedConcepts {
    /// The concepts.
    pub concepts: Vec<Concept>,
    /// The token sequences without a vector, each once. They are encoded as entities.
    pub rows: Vec<Encoded>,
    /// The rows of each concept.
    of_concepts: Vec<Vec<Row>>,
    /// The list that the concepts replace or form.
    list: Option<String>,
}

/// A row of a concept that can be added.
struct Row {
    sequence: Encoded,
    vectors: RowVectors,
}

/// The vectors of a row that can be added.
enum RowVectors {
    /// Those of an added concept.
    Known(Vec<f32>, Option<TokenCodes>),
    /// Those of a sequence that is encoded.
    New(usize),
}

/// What an addition has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AddedChanges {
    /// New concepts.
    pub added: usize,
    /// Concepts of the earlier list that the new one lacks.
    pub removed: usize,
    /// Concepts of both lists that differ.
    pub changed: usize,
    /// Of these, concepts with another preferred name.
    pub renamed: usize,
    /// Concepts of both lists that do not differ.
    pub unchanged: usize,
    /// Texts that were encoded.
    pub texts_encoded: usize,
    /// Rows of concepts whose vectors were known.
    pub rows_reused: usize,
}

/// The rows of an added concept.
#[derive(Clone)]
struct Entry {
    list: Option<String>,
    sequences: Vec<Encoded>,
    /// `[rows, dim]`
    pooled: Vec<f32>,
    /// The token vectors of each row. Empty unless Sum-of-Max compares them.
    tokens: Vec<TokenCodes>,
}

/// The index and dictionary of added concepts, with positions from 0.
struct AddedSearch {
    index: Index,
    /// `None` unless Sum-of-Max compares.
    tokens: Option<TokenStore>,
    dictionary: Dictionary,
}

impl AddedConcepts {
    /// No concepts yet. `first` is the number of concepts of the bundle.
    pub(super) fn new(first: usize) -> Self {
        Self {
            first,
            kb: KnowledgeBase::new(),
            entries: Vec::new(),
            search: None,
        }
    }

    /// The concepts, in the order in which they were added.
    pub fn concepts(&self) -> impl ExactSizeIterator<Item = &Concept> {
        self.kb.iter().map(|(_, concept)| concept)
    }

    /// The concepts by list, in the order in which they were added; `None` for concepts without a
    /// list. Adding these groups one after the other gives the same concepts again.
    pub fn lists(&self) -> Vec<(Option<&str>, Vec<&Concept>)> {
        let mut lists: Vec<(Option<&str>, Vec<&Concept>)> = Vec::new();
        for (concept, entry) in self.concepts().zip(&self.entries) {
            let list = entry.list.as_deref();
            match lists.last_mut() {
                Some((last, concepts)) if *last == list => concepts.push(concept),
                _ => lists.push((list, vec![concept])),
            }
        }
        lists
    }

    /// The list of an added concept; `None` if it belongs to none.
    fn list_of(&self, id: ConceptId) -> Option<&str> {
        let entry = self.entries.get(id.index().checked_sub(self.first)?)?;
        entry.list.as_deref()
    }

    /// Whether a position is that of an added concept.
    pub fn has(&self, id: ConceptId) -> bool {
        id.index() >= self.first
    }

    pub(super) fn concept(&self, id: ConceptId) -> Option<&Concept> {
        let at = id.index().checked_sub(self.first)?;
        self.kb.get(ConceptId(at as u32))
    }

    pub(super) fn find(&self, id: &str) -> Option<ConceptId> {
        self.kb.find(id).map(|at| self.global(at))
    }

    /// The position among all concepts.
    fn global(&self, at: ConceptId) -> ConceptId {
        ConceptId((self.first + at.index()) as u32)
    }

    /// The position among the added concepts.
    fn local(&self, id: ConceptId) -> ConceptId {
        ConceptId((id.index() - self.first) as u32)
    }

    /// A candidate with its position among all concepts.
    fn to_global(&self, found: Candidate) -> Candidate {
        Candidate {
            concept: self.global(found.concept),
            ..found
        }
    }

    /// The concepts with this name after normalisation.
    pub(super) fn named(&self, mention: &str) -> Vec<ConceptId> {
        let Some(AddedSearch { dictionary, .. }) = &self.search else {
            return Vec::new();
        };
        dictionary
            .lookup_mention(mention)
            .into_iter()
            .map(|at| self.global(at))
            .collect()
    }

    /// The concepts with an inflected form of this name.
    pub(super) fn lookup_forms(&self, mention: &str) -> Vec<ConceptId> {
        let Some(AddedSearch { dictionary, .. }) = &self.search else {
            return Vec::new();
        };
        dictionary
            .lookup_forms(mention)
            .into_iter()
            .map(|at| self.global(at))
            .collect()
    }

    /// Adds the mentions of their names to those of the bundle. Of overlapping names the longer one
    /// stays unless all are wanted, and a name replaces the same mention and overlapping unknown
    /// terms.
    pub(super) fn detect(
        &self,
        text: &str,
        found: Vec<Detected>,
        options: &DetectOptions,
    ) -> Vec<Detected> {
        let Some(AddedSearch { dictionary, .. }) = &self.search else {
            return found;
        };
        let own = dictionary.detect(
            text,
            &DetectOptions {
                unknown_terms: false,
                ..*options
            },
        );
        let beats = |own: &Detected, other: &Detected| {
            let same = own.pieces() == other.pieces();
            let longer = own.span.len() > other.span.len();
            other.origin == Origin::UnknownTerm || same || !options.overlapping && longer
        };
        // Both lists are in the order of the text, and a mention overlaps few others.
        let (mut joined, mut from) = (Vec::with_capacity(found.len() + own.len()), 0);
        let mut lost = vec![false; found.len()];
        for own in own {
            while found
                .get(from)
                .is_some_and(|other| other.span.end <= own.span.start)
            {
                from += 1;
            }
            let beside =
                || (from..found.len()).take_while(|at| found[*at].span.start < own.span.end);
            let overlapped: Vec<usize> = beside().filter(|at| found[*at].overlaps(&own)).collect();
            let fits = options.overlapping || overlapped.iter().all(|at| beats(&own, &found[*at]));
            if fits {
                overlapped
                    .iter()
                    .filter(|at| beats(&own, &found[**at]))
                    .for_each(|at| lost[*at] = true);
                joined.push(own);
            }
        }
        joined.extend(
            found
                .into_iter()
                .zip(lost)
                .filter(|(_, lost)| !lost)
                .map(|(found, _)| found),
        );
        joined.sort_unstable();
        joined.dedup();
        joined
    }

    /// Merges their candidates with those of the bundle, `k` for each query.
    pub(super) fn search(&self, queries: &[f32], k: usize, candidates: &mut [Vec<Candidate>]) {
        let Some(AddedSearch { index, .. }) = &self.search else {
            return;
        };
        for (found, candidates) in index.search(queries, k).into_iter().zip(candidates) {
            candidates.extend(found.into_iter().map(|found| self.to_global(found)));
            *candidates = best_per_concept(std::mem::take(candidates), k);
        }
    }

    /// The scores of some of them with a query `[dim]`.
    pub(super) fn score(&self, query: &[f32], concepts: Vec<ConceptId>) -> Vec<Candidate> {
        let Some(AddedSearch { index, .. }) = &self.search else {
            return Vec::new();
        };
        let inside = concepts.iter().map(|id| self.local(*id));
        index
            .score(query, inside)
            .into_iter()
            .map(|found| self.to_global(found))
            .collect()
    }

    /// The Sum-of-Max of a mention with some of them.
    pub(super) fn rank(&self, tokens: &TokenCodes, concepts: Vec<ConceptId>) -> Vec<Candidate> {
        let Some(AddedSearch {
            tokens: Some(store),
            ..
        }) = &self.search
        else {
            return Vec::new();
        };
        let inside = concepts.iter().map(|id| self.local(*id));
        store
            .rank(tokens, inside)
            .into_iter()
            .map(|found| self.to_global(found))
            .collect()
    }
}

impl Linker {
    /// Tokenizes concepts that are to be added. [`Linker::add_concepts`] takes the result with the
    /// vectors of its rows. Concepts that cannot be added are counted in `report`.
    ///
    /// # Errors
    /// If no concept can be added, a concept of the bundle is damaged, or a text cannot be
    /// tokenized.
    pub fn tokenize_concepts(
        &self,
        concepts: Vec<Concept>,
        report: &mut Report,
    ) -> Result<TokenizedConcepts> {
        self.tokenize_for(None, concepts, report)
    }

    /// As [`Linker::tokenize_concepts`], for a list with a name. It will replace the list that was
    /// added under this name before.
    ///
    /// # Errors
    /// As [`Linker::tokenize_concepts`].
    pub fn tokenize_list(
        &self,
        list: &str,
        concepts: Vec<Concept>,
        report: &mut Report,
    ) -> Result<TokenizedConcepts> {
        self.tokenize_for(Some(list), concepts, report)
    }

    fn tokenize_for(
        &self,
        list: Option<&str>,
        concepts: Vec<Concept>,
        report: &mut Report,
    ) -> Result<TokenizedConcepts> {
        let (mut kept, mut of_concepts) = (KnowledgeBase::new(), Vec::new());
        let known = self.known_rows();
        let (mut rows, mut numbers) = (Vec::new(), HashMap::new());
        let view = &self.bundle.manifest.view;
        for concept in concepts {
            let place = || format!("{} ({})", concept.id, concept.name);
            let Ok(concept) = tidied(concept.clone(), report, place) else {
                report.skip(INCOMPLETE, place);
                continue;
            };
            let resolved = self.resolve(&concept.id)?;
            let is_replaced = |at: ConceptId| list.is_some() && self.added.list_of(at) == list;
            let refused = match &resolved {
                _ if kept.find(&concept.id).is_some() => Some(TAKEN),
                Resolved::Concept(at) if !is_replaced(*at) => Some(TAKEN),
                Resolved::Redirected { .. } => Some(REDIRECTED),
                Resolved::Concept(_) | Resolved::Retired(_) | Resolved::Unknown => None,
            };
            if let Some(reason) = refused {
                report.skip(reason, place);
                continue;
            }
            let sequences = view.rows(&self.bundle.tokens, &concept)?;
            if sequences.is_empty() {
                report.skip(UNREADABLE, place);
                continue;
            }
            if let Resolved::Retired(_) = resolved {
                report.note(RETIRED, place);
            }
            let row = |sequence: Encoded| {
                let vectors = match known.get(&sequence) {
                    Some((entry, at)) => self.known_vectors(entry, *at),
                    None => {
                        let next = rows.len();
                        let number = *numbers.entry(sequence.clone()).or_insert(next);
                        if number == next {
                            rows.push(sequence.clone());
                        }
                        RowVectors::New(number)
                    }
                };
                Row { sequence, vectors }
            };
            of_concepts.push(sequences.into_iter().map(row).collect());
            kept.push(concept)?;
        }
        if kept.is_empty() {
            let why = report.reasons();
            let why = if why.is_empty() {
                "there is none".to_owned()
            } else {
                format!("skipped {why}")
            };
            return Err(Error::input(format!("no concept to add: {why}")));
        }
        let concepts = kept.iter().map(|(_, concept)| concept.clone()).collect();
        Ok(TokenizedConcepts {
            concepts,
            rows,
            of_concepts,
            list: list.map(str::to_owned),
        })
    }

    /// The rows of added concepts by their tokens.
    fn known_rows(&self) -> HashMap<&Encoded, (&Entry, usize)> {
        let mut known = HashMap::new();
        for entry in &self.added.entries {
            for (at, sequence) in entry.sequences.iter().enumerate() {
                known.entry(sequence).or_insert((entry, at));
            }
        }
        known
    }

    fn known_vectors(&self, entry: &Entry, at: usize) -> RowVectors {
        let dim = self.bundle.index.info().dim;
        RowVectors::Known(
            entry.pooled[at * dim..(at + 1) * dim].to_vec(),
            entry.tokens.get(at).cloned(),
        )
    }

    /// Adds concepts with the vectors of their rows; all of them, or none. Those of a list replace
    /// the list that was added under its name before, as if that had been removed.
    ///
    /// # Shapes
    /// vectors of [`TokenizedConcepts::rows`], encoded as entities for [`Linker::scorer`]
    ///
    /// # Errors
    /// If an identifier is taken, or the vectors cannot be indexed.
    ///
    /// # Panics
    /// If the vectors are not those of the rows, or were encoded for another scorer.
    pub fn add_concepts(
        &mut self,
        tokenized: TokenizedConcepts,
        vectors: &Encodings,
    ) -> Result<AddedChanges> {
        let TokenizedConcepts {
            concepts,
            rows,
            of_concepts,
            list,
        } = tokenized;
        let dim = self.bundle.index.info().dim;
        assert_eq!(
            vectors.pooled.len(),
            rows.len() * dim,
            "vectors of {dim} values for all rows"
        );
        let new_tokens = vectors.tokens.as_deref().unwrap_or_default();
        let compares_tokens = self.scorer == Scorer::SumOfMax;
        assert_eq!(
            new_tokens.len(),
            if compares_tokens { rows.len() } else { 0 },
            "tokens for all rows where they are compared"
        );
        let mut changes = AddedChanges {
            texts_encoded: rows.len(),
            ..AddedChanges::default()
        };
        let (mut kb, mut entries) = (KnowledgeBase::new(), Vec::new());
        let mut before: HashMap<&str, &Concept> = HashMap::new();
        for (concept, entry) in self.added.concepts().zip(&self.added.entries) {
            if list.is_some() && entry.list == list {
                before.insert(&concept.id, concept);
            } else {
                kb.push(concept.clone())?;
                entries.push(entry.clone());
            }
        }
        for (concept, rows) in concepts.into_iter().zip(of_concepts) {
            match before.remove(concept.id.as_str()) {
                None => changes.added += 1,
                Some(before) if *before == concept => changes.unchanged += 1,
                Some(before) => {
                    changes.changed += 1;
                    changes.renamed += usize::from(before.name != concept.name);
                }
            }
            let mut entry = Entry {
                list: list.clone(),
                sequences: Vec::with_capacity(rows.len()),
                pooled: Vec::with_capacity(rows.len() * dim),
                tokens: Vec::new(),
            };
            for Row {
                sequence,
                vectors: own,
            } in rows
            {
                match own {
                    RowVectors::Known(pooled, tokens) => {
                        changes.rows_reused += 1;
                        entry.pooled.extend(pooled);
                        entry.tokens.extend(tokens);
                    }
                    RowVectors::New(at) => {
                        entry
                            .pooled
                            .extend_from_slice(&vectors.pooled[at * dim..(at + 1) * dim]);
                        let tokens = new_tokens.get(at);
                        entry
                            .tokens
                            .extend(tokens.map(|tokens| TokenCodes::new(dim, tokens)));
                    }
                }
                entry.sequences.push(sequence);
            }
            kb.push(concept)?;
            entries.push(entry);
        }
        changes.removed = before.len();
        self.replace(kb, entries)?;
        Ok(changes)
    }

    /// Removes the added concepts for which `is_removed` is true. Returns their number.
    ///
    /// # Errors
    /// If the others cannot be indexed.
    pub fn remove_concepts(&mut self, is_removed: impl Fn(&Concept) -> bool) -> Result<usize> {
        let (mut kb, mut entries) = (KnowledgeBase::new(), Vec::new());
        for (concept, own) in self.added.concepts().zip(&self.added.entries) {
            if !is_removed(concept) {
                kb.push(concept.clone())?;
                entries.push(own.clone());
            }
        }
        let removed = self.added.kb.len() - kb.len();
        self.replace(kb, entries)?;
        Ok(removed)
    }

    fn replace(&mut self, kb: KnowledgeBase, entries: Vec<Entry>) -> Result<()> {
        let first = self.added.first;
        let search = match kb.is_empty() {
            true => None,
            false => {
                let (index, tokens) = self.index_of(&entries)?;
                let dictionary = Dictionary::from_bytes(Dictionary::build(kb.iter())?.into())?;
                Some(AddedSearch {
                    index,
                    tokens,
                    dictionary,
                })
            }
        };
        self.added = AddedConcepts {
            first,
            kb,
            entries,
            search,
        };
        Ok(())
    }

    fn index_of(&self, entries: &[Entry]) -> Result<(Index, Option<TokenStore>)> {
        let (info, view) = (self.bundle.index.info(), &self.bundle.manifest.view);
        let (mut concepts, mut all) = (Vec::new(), Vec::new());
        let mut store = TokenStoreBuilder::new(info.dim);
        for (at, own) in entries.iter().enumerate() {
            let id = ConceptId(at as u32);
            concepts.extend(std::iter::repeat_n(id, own.pooled.len() / info.dim));
            all.extend_from_slice(&own.pooled);
            own.tokens.iter().for_each(|row| store.push_codes(id, row));
        }
        let info = IndexInfo::exact(concepts.len(), info.dim, Precision::F32, info.score);
        let trusted = pel_kb::container::Check::Trusted;
        let mut index =
            Index::from_bytes(&Bytes::from(Index::build(&all, &concepts, &info)?), trusted)?;
        let mut tokens = match self.scorer {
            Scorer::Dual => None,
            Scorer::SumOfMax => Some(TokenStore::from_bytes(
                &Bytes::from(store.finish()?),
                trusted,
            )?),
        };
        if view.concepts == View::Both {
            index.set_mix(view.mix);
            tokens.iter_mut().for_each(|store| store.set_mix(view.mix));
        }
        Ok((index, tokens))
    }
}
