//! Adds concepts to a linker, and removes them.

use crate::added::{
    AddedChanges, AddedConcepts, AddedSearch, Entry, INCOMPLETE, REDIRECTED, RETIRED, Row,
    RowVectors, TAKEN, TokenizedConcepts, UNREADABLE,
};
use crate::bundle::Resolved;
use crate::linker::{Linker, Settings, Steps};
use bytes::Bytes;
use pel_index::{Index, IndexInfo, Precision, TokenCodes, TokenStore, TokenStoreBuilder};
use pel_kb::error::{Error, Result};
use pel_kb::report::Report;
use pel_kb::score::Scorer;
use pel_kb::tidy::tidied;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use pel_model::encode::Encodings;
use pel_model::tokens::{Encoded, View};
use pel_text::detect::Dictionary;
use std::collections::HashMap;

impl<'l> Steps<'l> {
    /// Tokenizes concepts that are to be added. [`Settings::add_concepts`] takes the result with the
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
        self.linker.tokenize_for(None, concepts, report)
    }

    /// As [`Steps::tokenize_concepts`], for a list with a name. It will replace the list that was
    /// added under this name before.
    ///
    /// # Errors
    /// As [`Steps::tokenize_concepts`].
    pub fn tokenize_list(
        &self,
        list: &str,
        concepts: Vec<Concept>,
        report: &mut Report,
    ) -> Result<TokenizedConcepts> {
        self.linker.tokenize_for(Some(list), concepts, report)
    }
}

impl Settings<'_> {
    /// Adds concepts with the vectors of their rows; all of them, or none. Those of a list replace
    /// the list that was added under its name before, as if that had been removed.
    ///
    /// # Shapes
    /// vectors of [`TokenizedConcepts::rows`], encoded as entities for [`Steps::scorer`]
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
        let dim = self.linker.bundle.index.info().dim;
        assert_eq!(
            vectors.pooled.len(),
            rows.len() * dim,
            "vectors of {dim} values for all rows"
        );
        let new_tokens = vectors.tokens.as_deref().unwrap_or_default();
        let compares_tokens = self.linker.scorer == Scorer::SumOfMax;
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
        for (concept, entry) in self.linker.added.concepts().zip(&self.linker.added.entries) {
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
        self.linker.replace_added(kb, entries)?;
        Ok(changes)
    }

    /// Removes the added concepts for which `is_removed` is true. Returns their number.
    ///
    /// # Errors
    /// If the others cannot be indexed.
    pub fn remove_concepts(&mut self, is_removed: impl Fn(&Concept) -> bool) -> Result<usize> {
        let (mut kb, mut entries) = (KnowledgeBase::new(), Vec::new());
        for (concept, own) in self.linker.added.concepts().zip(&self.linker.added.entries) {
            if !is_removed(concept) {
                kb.push(concept.clone())?;
                entries.push(own.clone());
            }
        }
        let removed = self.linker.added.kb.len() - kb.len();
        self.linker.replace_added(kb, entries)?;
        Ok(removed)
    }
}

impl Linker {
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

    fn replace_added(&mut self, kb: KnowledgeBase, entries: Vec<Entry>) -> Result<()> {
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
