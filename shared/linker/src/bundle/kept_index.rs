//! Renames and merges the concepts of a bundle in place: its index and encoder stay as they are.

use super::manifest::WRITTEN_BY;
use super::update::{ConceptOrigin, UpdatedBundle, UpdatedRows};
use super::{Bundle, KbInfo, Manifest, Parts, TrainedConcepts, builder, codes, hierarchy, names};
use pel_index::ConceptMap;
use pel_kb::codes::CodeList;
use pel_kb::container::Check;
use pel_kb::error::{Context, Error, Result};
use pel_kb::hierarchy::HierarchyList;
use pel_kb::redirects::Redirect;
use pel_kb::{Concept, ConceptId, KnowledgeBase};
use std::collections::{BTreeSet, HashMap};

/// The identifiers that a message lists.
const LISTED: usize = 5;

/// A bundle with other concepts over the same index.
///
/// Each concept of the new table takes the place of one of the bundle: the one with its identifier,
/// or else the first one that is redirected to it. So concepts keep their order, and with it what
/// decides between equal scores. Rows of concepts that were merged stay as rows of their successor.
pub struct KeptIndex<'a> {
    old: &'a Bundle,
    kb: KnowledgeBase,
    /// The concept of the old bundle that each concept takes the place of.
    former: Vec<ConceptId>,
    map: ConceptMap,
    redirects: Vec<Redirect>,
    codes: CodeList,
    hierarchy: HierarchyList,
}

impl<'a> KeptIndex<'a> {
    /// Matches the concepts of a new table with those of a bundle. `redirects` are resolved and in
    /// the order of identifiers. The index of a bundle that was updated so before is kept again.
    ///
    /// # Errors
    /// If a concept of the bundle is neither in the table nor redirected, the index has no row for a
    /// concept of the table, or a record is damaged.
    pub fn plan(
        old: &'a Bundle,
        table: &KnowledgeBase,
        redirects: Vec<Redirect>,
        mut tick: impl FnMut() -> Result<()>,
    ) -> Result<Self> {
        let mut places = Places::new(table.len());
        let mut same = vec![false; table.len()];
        let mut targets = Vec::with_capacity(old.concepts.len());
        let mut missing = Vec::new();
        for at in (0..old.concepts.len()).map(|at| ConceptId(at as u32)) {
            let concept = old.concepts.get(at)?;
            let target = match table.find(&concept.id) {
                Some(own) => {
                    places.take_own(own, at);
                    same[own.index()] = is_same(at, &concept, table.get(own));
                    Some(own)
                }
                None => match successor(&redirects, table, &concept.id) {
                    Some(Some(next)) if places.take(next, at) => {
                        same[next.index()] = is_same(at, &concept, table.get(next));
                        Some(next)
                    }
                    Some(next) => next,
                    None => {
                        missing.push(concept.id);
                        None
                    }
                },
            };
            targets.push(target);
            tick()?;
        }
        if !missing.is_empty() {
            return Err(Error::input(format!(
                "{} of the bundle are neither in the new table nor redirected: {}; add them to \
                 --redirects, with an empty replaced_by where nothing replaces them",
                count(missing.len(), "concept"),
                listed(&missing)
            )));
        }
        let (order, former) = places.in_order(table)?;
        let (kb, numbers) = reordered(table, &order)?;
        let position = |own: ConceptId| numbers.get(&own).copied();
        let merged = |at: ConceptId, own: ConceptId| former.get(own.index()) != Some(&at);
        let mut stale = BTreeSet::new();
        let mut concepts = Vec::with_capacity(targets.len());
        for (at, target) in (0..).map(ConceptId).zip(&targets) {
            let own = target.and_then(position);
            concepts.push(own);
            if let (Some(own), Some(in_table)) = (own, target) {
                let was_stale = old.index.concept_map().is_some_and(|map| map.is_stale(at));
                if was_stale || merged(at, own) || !same[in_table.index()] {
                    stale.insert(own);
                }
            }
        }
        let hierarchy = match old.hierarchy()? {
            None => HierarchyList::new(),
            Some(own) => own
                .kept(|former| concepts.get(former.index()).copied()?)
                .context(|| "after the merges; give the new one by --hierarchy".to_owned())?,
        };
        // The numbers of the index, through the map that the bundle has already.
        let concepts = match old.index.concept_map() {
            None => concepts,
            Some(before) => {
                let all = (0..before.len()).map(|number| ConceptId(number as u32));
                let of_old = |number| before.concept(number);
                all.map(|number| of_old(number).and_then(|at| concepts.get(at.index()).copied()?))
                    .collect()
            }
        };
        let map = ConceptMap::new(concepts, kb.len(), stale)?;
        let codes = old.codes.as_ref().map(|codes| {
            let former = former.iter().copied().map(Some);
            codes.kept(former)
        });
        Ok(Self {
            old,
            kb,
            former,
            map,
            redirects,
            codes: codes.unwrap_or_default(),
            hierarchy,
        })
    }

    /// The concepts, in the order of the bundle that is written.
    pub fn kb(&self) -> &KnowledgeBase {
        &self.kb
    }

    /// The concept of the old bundle that each concept takes the place of.
    pub fn former(&self) -> &[ConceptId] {
        &self.former
    }

    /// Sets the codes of the concepts ([`KeptIndex::kb`] has their positions). By default concepts
    /// keep the codes that they have.
    pub fn set_codes(&mut self, codes: CodeList) {
        self.codes = codes;
    }

    /// Sets the hierarchy. By default it is that of the bundle, between the concepts that its members
    /// became.
    pub fn set_hierarchy(&mut self, hierarchy: HierarchyList) {
        self.hierarchy = hierarchy;
    }

    /// The files of the bundle, with those of the index and of the encoder as they were.
    ///
    /// # Errors
    /// If a file cannot be encoded.
    pub fn finish(self, kb_info: KbInfo, licence_text: Option<String>) -> Result<UpdatedBundle> {
        let without_rows = self.without_rows();
        let mut parts = self.old.parts().clone();
        parts.0.remove(names::REDIRECTS);
        parts.0.remove(names::INDEX_CONCEPTS);
        builder::insert_concepts(&mut parts, &self.kb, licence_text, &self.redirects)?;
        codes::insert(&mut parts, &self.codes, self.kb.len())?;
        hierarchy::insert(&mut parts, &self.hierarchy, self.kb.len())?;
        if !self.map.is_identity() {
            let bytes = self.map.to_bytes()?;
            parts.0.insert(names::INDEX_CONCEPTS.into(), bytes.into());
        }
        if let Some(trained) = self.old.trained_concepts()? {
            let mut renamed = TrainedConcepts::default();
            renamed.extend(trained.iter().map(|id| {
                let next = find(&self.redirects, id).and_then(|one| one.replaced_by.as_ref());
                next.map_or_else(|| id.to_owned(), String::clone)
            }));
            let bytes = renamed.to_bytes();
            parts.0.insert(names::TRAINED.into(), bytes.into());
        }
        let manifest = Manifest {
            written_by: WRITTEN_BY.to_owned(),
            kb: kb_info,
            files: parts.file_infos(),
            ..self.old.manifest.clone()
        };
        let (manifest, written) = manifest.sealed()?;
        parts.0.insert(names::MANIFEST.into(), written.into());
        let rows = UpdatedRows {
            reused: manifest.index.rows,
            ..UpdatedRows::default()
        };
        Ok(UpdatedBundle {
            parts,
            manifest,
            without_rows,
            rows,
        })
    }

    /// The concepts without a row, which had none before.
    fn without_rows(&self) -> Vec<ConceptId> {
        let mut has_row = vec![false; self.kb.len()];
        for number in self.old.index.concepts() {
            if let Some(concept) = self.map.concept(number) {
                has_row[concept.index()] = true;
            }
        }
        let all = self.kb.iter().zip(has_row);
        all.filter(|(_, has_row)| !has_row)
            .map(|((at, _), _)| at)
            .collect()
    }
}

/// The map from numbers of the index to concepts, if the manifest lists one.
pub(super) fn read_map(
    manifest: &Manifest,
    parts: &Parts,
    concepts: usize,
) -> Result<Option<ConceptMap>> {
    if !manifest.files.contains_key(names::INDEX_CONCEPTS) {
        return Ok(None);
    }
    let read = || {
        let map = ConceptMap::from_bytes(parts.get(names::INDEX_CONCEPTS)?, Check::Trusted)?;
        match map.count() == concepts {
            true => Ok(map),
            false => Err(Error::artifact(format!(
                "the concept map has {} concepts, the concept table {concepts}",
                map.count()
            ))),
        }
    };
    read()
        .map(Some)
        .context(|| names::INDEX_CONCEPTS.to_owned())
}

/// The concepts of the bundle whose places those of the table take.
struct Places(Vec<Option<ConceptId>>);

impl Places {
    fn new(concepts: usize) -> Self {
        Self(vec![None; concepts])
    }

    /// Gives a concept the place of the one with its identifier.
    fn take_own(&mut self, concept: ConceptId, place: ConceptId) {
        self.0[concept.index()] = Some(place);
    }

    /// Gives a concept the place of one that is redirected to it, if it has none yet.
    fn take(&mut self, concept: ConceptId, place: ConceptId) -> bool {
        let is_free = self.0[concept.index()].is_none();
        if is_free {
            self.0[concept.index()] = Some(place);
        }
        is_free
    }

    /// The concepts of the table in the order of their places, and these places.
    fn in_order(self, table: &KnowledgeBase) -> Result<(Vec<ConceptId>, Vec<ConceptId>)> {
        let mut both = Vec::with_capacity(self.0.len());
        let mut without = Vec::new();
        for ((at, concept), place) in table.iter().zip(self.0) {
            match place {
                Some(place) => both.push((place, at)),
                None => without.push(concept.id.clone()),
            }
        }
        if !without.is_empty() {
            return Err(Error::input(format!(
                "the index has no vectors of {} of the new table: {}; redirect a concept of the \
                 bundle to them, or encode them: `pel index`, or `pel update` without --keep-index",
                count(without.len(), "concept"),
                listed(&without)
            )));
        }
        both.sort_unstable();
        Ok(both.into_iter().map(|(place, at)| (at, place)).unzip())
    }
}

/// A table in another order, and the new position of each concept.
fn reordered(
    table: &KnowledgeBase,
    order: &[ConceptId],
) -> Result<(KnowledgeBase, HashMap<ConceptId, ConceptId>)> {
    let (mut kb, mut numbers) = (KnowledgeBase::new(), HashMap::new());
    for at in order {
        if let Some(concept) = table.get(*at) {
            numbers.insert(*at, kb.push(concept.clone())?);
        }
    }
    Ok((kb, numbers))
}

/// Whether a concept has the texts that its rows were made of.
fn is_same(at: ConceptId, old: &Concept, new: Option<&Concept>) -> bool {
    new.is_some_and(|new| ConceptOrigin::of((at, old), new) == ConceptOrigin::Same(at))
}

/// The redirect of an identifier.
fn find<'r>(redirects: &'r [Redirect], id: &str) -> Option<&'r Redirect> {
    let at = redirects.binary_search_by(|one| one.id.as_str().cmp(id));
    redirects.get(at.ok()?)
}

/// The successor of an identifier, `Some(None)` if it was retired without one, and `None` if it is
/// not redirected.
fn successor(redirects: &[Redirect], table: &KnowledgeBase, id: &str) -> Option<Option<ConceptId>> {
    let redirect = find(redirects, id)?;
    match &redirect.replaced_by {
        None => Some(None),
        Some(next) => table.find(next).map(Some),
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// The first identifiers.
fn listed(ids: &[String]) -> String {
    let first = ids[..ids.len().min(LISTED)].join(", ");
    match ids.len() > LISTED {
        true => format!("{first} …"),
        false => first,
    }
}
