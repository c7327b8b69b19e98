//! Concepts that a user adds to a bundle and removes again. They are searched with those of the
//! bundle.
//!
//! They are few: each change builds their index and dictionary again, from vectors that are
//! computed once.

use super::Linker;
use crate::error::{Error, Result};
use crate::index::{
    Index, IndexInfo, Precision, TokenCodes, TokenStore, TokenStoreBuilder, best_per_concept,
};
use crate::kb::import::concepts::tidied;
use crate::kb::import::report::Report;
use crate::kb::{Concept, ConceptId, KnowledgeBase};
use crate::model::encode::Encodings;
use crate::score::{Candidate, Scorer};
use crate::text::detect::{DetectOptions, Detected, Dictionary, Origin};
use crate::tokens::Encoded;
use crate::tokens::View;
use bytes::Bytes;

/// The reason for skipping a concept whose identifier belongs to a concept of the bundle or to an
/// added one.
pub const TAKEN: &str = "the id is taken by another concept";
/// The reason for skipping a concept without identifier or name.
pub const INCOMPLETE: &str = "a concept without id or name";
/// The reason for skipping a concept whose names are all empty after normalisation.
pub const UNREADABLE: &str = "nothing can be read in its names";

/// Concepts that were added to a bundle. Their positions follow those of the bundle.
pub struct AddedConcepts {
    first: usize,
    kb: KnowledgeBase,
    vectors: Vec<ConceptVectors>,
    /// `None` without a concept.
    search: Option<AddedSearch>,
}

/// Concepts that can be added, with their token sequences.
#[non_exhaustive]
pub struct TokenizedConcepts {
    /// The concepts.
    pub concepts: Vec<Concept>,
    /// The token sequences of all concepts, one concept after the other. They are encoded as
    /// entities.
    pub rows: Vec<Encoded>,
    /// The number of sequences of each concept.
    counts: Vec<usize>,
}

/// The vectors of a concept.
#[derive(Clone)]
struct ConceptVectors {
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
            vectors: Vec::new(),
            search: None,
        }
    }

    /// The concepts, in the order in which they were added.
    pub fn concepts(&self) -> impl ExactSizeIterator<Item = &Concept> {
        self.kb.iter().map(|(_, concept)| concept)
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
    /// stays, and a name replaces overlapping unknown terms.
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
            other.origin == Origin::UnknownTerm || !options.overlapping && (same || longer)
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
        let (mut kept, mut rows, mut counts) = (KnowledgeBase::new(), Vec::new(), Vec::new());
        let view = &self.bundle.manifest.view;
        for concept in concepts {
            let place = || format!("{} ({})", concept.id, concept.name);
            let Ok(concept) = tidied(concept.clone(), report, place) else {
                report.skip(INCOMPLETE, place);
                continue;
            };
            if self.find(&concept.id)?.is_some() || kept.find(&concept.id).is_some() {
                report.skip(TAKEN, place);
                continue;
            }
            let own = view.rows(&self.bundle.tokens, &concept)?;
            if own.is_empty() {
                report.skip(UNREADABLE, place);
                continue;
            }
            counts.push(own.len());
            rows.extend(own);
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
            counts,
        })
    }

    /// Adds concepts with the vectors of their rows; all of them, or none.
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
    ) -> Result<()> {
        let TokenizedConcepts {
            concepts, counts, ..
        } = tokenized;
        let (dim, rows) = (self.bundle.index.info().dim, counts.iter().sum::<usize>());
        assert_eq!(
            vectors.pooled.len(),
            rows * dim,
            "vectors of {dim} values for all rows"
        );
        let tokens = vectors.tokens.as_deref().unwrap_or_default();
        let expected = if self.scorer == Scorer::SumOfMax {
            rows
        } else {
            0
        };
        assert_eq!(
            tokens.len(),
            expected,
            "tokens for all rows where they are compared"
        );
        let (mut kb, mut all) = (self.added.kb.clone(), self.added.vectors.clone());
        let mut first = 0;
        for (concept, count) in concepts.into_iter().zip(&counts) {
            kb.push(concept)?;
            let own = first..first + count;
            first = own.end;
            let pooled = vectors.pooled[own.start * dim..own.end * dim].to_vec();
            let tokens = tokens
                .get(own)
                .unwrap_or_default()
                .iter()
                .map(|row| TokenCodes::new(dim, row))
                .collect();
            all.push(ConceptVectors { pooled, tokens });
        }
        self.replace(kb, all)
    }

    /// Removes the added concepts for which `is_removed` is true. Returns their number.
    ///
    /// # Errors
    /// If the others cannot be indexed.
    pub fn remove_concepts(&mut self, is_removed: impl Fn(&Concept) -> bool) -> Result<usize> {
        let (mut kb, mut vectors) = (KnowledgeBase::new(), Vec::new());
        for ((_, concept), own) in self.added.kb.iter().zip(&self.added.vectors) {
            if !is_removed(concept) {
                kb.push(concept.clone())?;
                vectors.push(own.clone());
            }
        }
        let removed = self.added.kb.len() - kb.len();
        self.replace(kb, vectors)?;
        Ok(removed)
    }

    fn replace(&mut self, kb: KnowledgeBase, vectors: Vec<ConceptVectors>) -> Result<()> {
        let first = self.added.first;
        let search = match kb.is_empty() {
            true => None,
            false => {
                let (index, tokens) = self.index_of(&vectors)?;
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
            vectors,
            search,
        };
        Ok(())
    }

    fn index_of(&self, vectors: &[ConceptVectors]) -> Result<(Index, Option<TokenStore>)> {
        let (info, view) = (self.bundle.index.info(), &self.bundle.manifest.view);
        let (mut concepts, mut all) = (Vec::new(), Vec::new());
        let mut store = TokenStoreBuilder::new(info.dim);
        for (at, own) in vectors.iter().enumerate() {
            let id = ConceptId(at as u32);
            concepts.extend(std::iter::repeat_n(id, own.pooled.len() / info.dim));
            all.extend_from_slice(&own.pooled);
            own.tokens.iter().for_each(|row| store.push_codes(id, row));
        }
        let info = IndexInfo::exact(concepts.len(), info.dim, Precision::F32, info.score);
        let trusted = crate::container::Check::Trusted;
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
