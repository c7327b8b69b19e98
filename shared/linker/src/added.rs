//! Concepts that a user adds to a bundle and removes again. They are searched with those of the
//! bundle.
//!
//! They are few: each change builds their index and dictionary again, from vectors that are
//! computed once.
//!
//! Concepts can be added as a list with a name, such as that of their file. A later list of the
//! same name replaces it, and only texts without a vector are encoded.

use pel_index::{Index, TokenCodes, TokenStore, best_per_concept};
use pel_kb::score::Candidate;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_model::tokens::Encoded;
use pel_text::detect::{DetectOptions, Detected, Dictionary, Origin};
use serde::Serialize;

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
    pub(crate) first: usize,
    pub(crate) kb: KnowledgeBase,
    pub(crate) entries: Vec<Entry>,
    /// `None` without a concept.
    pub(crate) search: Option<AddedSearch>,
}

/// Concepts that can be added, with their token sequences.
#[non_exhaustive]
pub struct TokenizedConcepts {
    /// The concepts.
    pub concepts: Vec<Concept>,
    /// The token sequences without a vector, each once. They are encoded as entities.
    pub rows: Vec<Encoded>,
    /// The rows of each concept.
    pub(crate) of_concepts: Vec<Vec<Row>>,
    /// The list that the concepts replace or form.
    pub(crate) list: Option<String>,
}

/// A row of a concept that can be added.
pub(crate) struct Row {
    pub(crate) sequence: Encoded,
    pub(crate) vectors: RowVectors,
}

/// The vectors of a row that can be added.
pub(crate) enum RowVectors {
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
pub(crate) struct Entry {
    pub(crate) list: Option<String>,
    pub(crate) sequences: Vec<Encoded>,
    /// `[rows, dim]`
    pub(crate) pooled: Vec<f32>,
    /// The token vectors of each row. Empty unless Sum-of-Max compares them.
    pub(crate) tokens: Vec<TokenCodes>,
}

/// The index and dictionary of added concepts, with positions from 0.
pub(crate) struct AddedSearch {
    pub(crate) index: Index,
    /// `None` unless Sum-of-Max compares.
    pub(crate) tokens: Option<TokenStore>,
    pub(crate) dictionary: Dictionary,
}

impl AddedConcepts {
    /// No concepts yet. `first` is the number of concepts of the bundle.
    pub(crate) fn new(first: usize) -> Self {
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
    pub(crate) fn list_of(&self, id: ConceptId) -> Option<&str> {
        let entry = self.entries.get(id.index().checked_sub(self.first)?)?;
        entry.list.as_deref()
    }

    /// Whether a position is that of an added concept.
    pub fn has(&self, id: ConceptId) -> bool {
        id.index() >= self.first
    }

    pub(crate) fn concept(&self, id: ConceptId) -> Option<&Concept> {
        let at = id.index().checked_sub(self.first)?;
        self.kb.get(ConceptId(at as u32))
    }

    pub(crate) fn find(&self, id: &str) -> Option<ConceptId> {
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
    pub(crate) fn named(&self, mention: &str) -> Vec<ConceptId> {
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
    pub(crate) fn lookup_forms(&self, mention: &str) -> Vec<ConceptId> {
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
    pub(crate) fn detect(
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
    pub(crate) fn search(&self, queries: &[f32], k: usize, candidates: &mut [Vec<Candidate>]) {
        let Some(AddedSearch { index, .. }) = &self.search else {
            return;
        };
        for (found, candidates) in index.search(queries, k).into_iter().zip(candidates) {
            candidates.extend(found.into_iter().map(|found| self.to_global(found)));
            *candidates = best_per_concept(std::mem::take(candidates), k);
        }
    }

    /// The scores of some of them with a query `[dim]`.
    pub(crate) fn score(&self, query: &[f32], concepts: Vec<ConceptId>) -> Vec<Candidate> {
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
    pub(crate) fn rank(&self, tokens: &TokenCodes, concepts: Vec<ConceptId>) -> Vec<Candidate> {
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
