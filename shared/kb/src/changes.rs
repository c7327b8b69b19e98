//! The differences between two versions of a knowledge base, by identifier.

use super::redirects::Redirect;
use super::{Concept, ConceptId};
use crate::error::Result;
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

/// Concepts with their positions, in the order of their identifiers in bytes.
pub type ById<'a> = Box<dyn Iterator<Item = Result<(ConceptId, Cow<'a, Concept>)>> + 'a>;

/// A concept of one version or of both.
pub enum Pair<'a> {
    /// Only the new version has it.
    New(ConceptId, &'a Concept),
    /// Only the old version has it.
    Old(ConceptId, &'a Concept),
    /// Both have it.
    Both {
        /// In the old version.
        old: (ConceptId, &'a Concept),
        /// In the new version.
        new: (ConceptId, &'a Concept),
    },
}

/// Calls `each` with every concept of two versions, in the order of identifiers.
///
/// # Errors
/// The errors of both versions and of `each`.
pub fn pairs(
    old: ById<'_>,
    new: ById<'_>,
    mut each: impl FnMut(Pair<'_>) -> Result<()>,
) -> Result<()> {
    let (mut old, mut new) = (old.peekable(), new.peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(Ok((_, old))), Some(Ok((_, new)))) => old.id.cmp(&new.id),
            // The error is returned below.
            (Some(Err(_)), _) => Ordering::Less,
            (_, Some(Err(_))) => Ordering::Greater,
        };
        let first = if order.is_le() { old.next() } else { None };
        let second = if order.is_ge() { new.next() } else { None };
        match (first.transpose()?, second.transpose()?) {
            (Some((old, before)), Some((new, after))) => each(Pair::Both {
                old: (old, &before),
                new: (new, &after),
            })?,
            (Some((old, concept)), None) => each(Pair::Old(old, &concept))?,
            (None, Some((new, concept))) => each(Pair::New(new, &concept))?,
            (None, None) => return Ok(()),
        }
    }
}

/// A value before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replaced<T> {
    /// In the old version.
    pub old: T,
    /// In the new version.
    pub new: T,
}

/// A difference between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A concept that only the new version has.
    Added {
        /// Its identifier.
        id: String,
        /// Its preferred name.
        name: String,
    },
    /// A concept that only the old version has.
    Retired(Retired),
    /// A concept that differs.
    Changed(Box<Changed>),
}

/// A concept that only the old version has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Retired {
    /// Its identifier.
    pub id: String,
    /// Its preferred name.
    pub name: String,
    /// The identifier of its successor, if it has one.
    pub replaced_by: Option<String>,
    /// The reason, if it is known.
    pub reason: Option<String>,
    /// Whether the successor was a concept of the old version too.
    pub merged: bool,
}

/// A concept that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its identifier.
    pub id: String,
    /// Its preferred name in the new version.
    pub name: String,
    /// Its former preferred name, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// Names that only the new version has, the preferred one included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names_added: Vec<String>,
    /// Names that only the old version has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names_dropped: Vec<String>,
    /// Whether the names are the same in another order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub names_reordered: bool,
    /// The semantic types, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Replaced<Vec<String>>>,
    /// The identifiers of the semantic types, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_ids: Option<Replaced<Vec<String>>>,
    /// The definition, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Replaced<Option<String>>>,
    /// Cross-references that only the new version has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub xrefs_added: Vec<String>,
    /// Cross-references that only the old version has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub xrefs_dropped: Vec<String>,
    /// The sources, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Replaced<Vec<String>>>,
}

impl Changed {
    /// Compares two versions of a concept; `None` without a difference. The order of
    /// cross-references does not count.
    pub fn between(old: &Concept, new: &Concept) -> Option<Self> {
        if old == new {
            return None;
        }
        let [old_names, new_names] = [old, new].map(|concept| concept.names().collect::<Vec<_>>());
        let names_added = only_in(new_names.iter().copied(), old_names.iter().copied());
        let names_dropped = only_in(old_names.iter().copied(), new_names.iter().copied());
        let renamed_from = (old.name != new.name).then(|| old.name.clone());
        let same_names =
            names_added.is_empty() && names_dropped.is_empty() && renamed_from.is_none();
        let texts = |values: &[String]| values.to_vec();
        let changed = Self {
            id: new.id.clone(),
            name: new.name.clone(),
            renamed_from,
            names_added,
            names_dropped,
            names_reordered: same_names && old_names != new_names,
            types: replaced(&old.types, &new.types, |types| texts(types)),
            type_ids: replaced(&old.type_ids, &new.type_ids, |types| texts(types)),
            definition: replaced(&old.definition, &new.definition, Clone::clone),
            xrefs_added: only_in(texts_of(&new.xrefs), texts_of(&old.xrefs)),
            xrefs_dropped: only_in(texts_of(&old.xrefs), texts_of(&new.xrefs)),
            sources: replaced(&old.sources, &new.sources, |sources| texts(sources)),
        };
        let nothing = Self {
            id: changed.id.clone(),
            name: changed.name.clone(),
            ..Self::default()
        };
        (changed != nothing).then_some(changed)
    }
}

fn replaced<S: PartialEq + ?Sized, T>(
    old: &S,
    new: &S,
    of: impl Fn(&S) -> T,
) -> Option<Replaced<T>> {
    (old != new).then(|| Replaced {
        old: of(old),
        new: of(new),
    })
}

fn texts_of(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().map(String::as_str)
}

/// The texts of `some` that `others` lack, in their order, each once.
fn only_in<'a>(
    some: impl Iterator<Item = &'a str>,
    others: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut seen: HashSet<&str> = others.collect();
    some.filter(|text| seen.insert(text))
        .map(str::to_owned)
        .collect()
}

/// The number of differences of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangeCounts {
    /// Concepts that only the new version has.
    pub added: usize,
    /// Concepts that only the old version has.
    pub retired: usize,
    /// Of these, concepts with a successor.
    pub redirected: usize,
    /// Of these, concepts whose successor was a concept of the old version too.
    pub merged: usize,
    /// Concepts with another preferred name.
    pub renamed: usize,
    /// New names of concepts that both versions have.
    pub names_added: usize,
    /// Dropped names of concepts that both versions have.
    pub names_dropped: usize,
    /// Concepts with other semantic types.
    pub types_changed: usize,
    /// Concepts with another definition.
    pub definitions_changed: usize,
    /// Concepts with other cross-references.
    pub xrefs_changed: usize,
    /// Concepts with other sources.
    pub sources_changed: usize,
    /// Concepts of both versions that differ in any way.
    pub changed: usize,
    /// Concepts of both versions without a difference.
    pub unchanged: usize,
}

impl ChangeCounts {
    /// Counts a difference.
    pub fn count(&mut self, change: &Change) {
        match change {
            Change::Added { .. } => self.added += 1,
            Change::Retired(retired) => {
                self.retired += 1;
                self.redirected += usize::from(retired.replaced_by.is_some());
                self.merged += usize::from(retired.merged);
            }
            Change::Changed(changed) => {
                self.changed += 1;
                self.renamed += usize::from(changed.renamed_from.is_some());
                self.names_added += changed.names_added.len();
                self.names_dropped += changed.names_dropped.len();
                self.types_changed +=
                    usize::from(changed.types.is_some() || changed.type_ids.is_some());
                self.definitions_changed += usize::from(changed.definition.is_some());
                self.xrefs_changed += usize::from(
                    !(changed.xrefs_added.is_empty() && changed.xrefs_dropped.is_empty()),
                );
                self.sources_changed += usize::from(changed.sources.is_some());
            }
        }
    }
}

/// The difference of a pair; `None` without one. `redirect` gives the redirect of an identifier in
/// the new version, `was_concept` whether the old version had a concept.
///
/// # Errors
/// The errors of `redirect` and `was_concept`.
pub fn change(
    pair: &Pair<'_>,
    redirect: impl FnOnce(&str) -> Result<Option<Redirect>>,
    was_concept: impl FnOnce(&str) -> Result<bool>,
) -> Result<Option<Change>> {
    Ok(match pair {
        Pair::New(_, concept) => Some(Change::Added {
            id: concept.id.clone(),
            name: concept.name.clone(),
        }),
        Pair::Both {
            old: (_, old),
            new: (_, new),
        } => Changed::between(old, new).map(|changed| Change::Changed(Box::new(changed))),
        Pair::Old(_, concept) => {
            let redirect = redirect(&concept.id)?;
            let reason = redirect.as_ref().map(|redirect| redirect.reason.clone());
            let replaced_by = redirect.and_then(|redirect| redirect.replaced_by);
            let merged = replaced_by.as_deref().map_or(Ok(false), was_concept)?;
            Some(Change::Retired(Retired {
                id: concept.id.clone(),
                name: concept.name.clone(),
                replaced_by,
                reason,
                merged,
            }))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KnowledgeBase;
    use crate::table::ConceptTable;

    fn concept(id: &str, name: &str, synonyms: &[&str]) -> Concept {
        Concept {
            id: id.into(),
            name: name.into(),
            synonyms: synonyms.iter().map(|name| (*name).into()).collect(),
            ..Concept::default()
        }
    }

    fn kb(concepts: Vec<Concept>) -> KnowledgeBase {
        let mut kb = KnowledgeBase::new();
        for concept in concepts {
            kb.push(concept).expect("new");
        }
        kb
    }

    fn changes(old: &KnowledgeBase, new: &KnowledgeBase) -> (Vec<Change>, ChangeCounts) {
        let (mut all, mut counts) = (Vec::new(), ChangeCounts::default());
        let redirect = |id: &str| {
            Ok((id == "D4").then(|| Redirect {
                id: id.into(),
                replaced_by: Some("D1".into()),
                reason: "merged".into(),
            }))
        };
        let bytes = ConceptTable::build(old).expect("encoded").into();
        let table =
            ConceptTable::from_bytes(&bytes, crate::container::Check::Checksums).expect("whole");
        pairs(table.by_id(), new.by_id(), |pair| {
            match change(&pair, redirect, |id| Ok(old.find(id).is_some()))? {
                Some(change) => {
                    counts.count(&change);
                    all.push(change);
                }
                None => counts.unchanged += 1,
            }
            Ok(())
        })
        .expect("whole");
        (all, counts)
    }

    #[test]
    fn differences_are_found_by_identifier_whatever_the_order() {
        let old = kb(vec![
            concept("D4", "ague", &[]),
            concept("D2", "cough", &["tussis"]),
            concept("D1", "fever", &["pyrexia", "heat"]),
            concept("D3", "knee", &[]),
            concept("D9", "toe", &["digit", "hallux"]),
        ]);
        let mut fever = concept("D1", "pyrexia", &["fever", "febris"]);
        fever.types = vec!["Sign".into()];
        let mut toe = concept("D9", "toe", &["hallux", "digit"]);
        toe.xrefs = vec!["X:1".into()];
        let new = kb(vec![
            fever,
            toe,
            concept("D10", "hip", &[]),
            concept("D2", "cough", &["tussis"]),
        ]);
        let (all, counts) = changes(&old, &new);
        let expected = vec![
            Change::Changed(Box::new(Changed {
                id: "D1".into(),
                name: "pyrexia".into(),
                renamed_from: Some("fever".into()),
                names_added: vec!["febris".into()],
                names_dropped: vec!["heat".into()],
                types: Some(Replaced {
                    old: vec![],
                    new: vec!["Sign".into()],
                }),
                ..Changed::default()
            })),
            Change::Added {
                id: "D10".into(),
                name: "hip".into(),
            },
            Change::Retired(Retired {
                id: "D3".into(),
                name: "knee".into(),
                replaced_by: None,
                reason: None,
                merged: false,
            }),
            Change::Retired(Retired {
                id: "D4".into(),
                name: "ague".into(),
                replaced_by: Some("D1".into()),
                reason: Some("merged".into()),
                merged: true,
            }),
            Change::Changed(Box::new(Changed {
                id: "D9".into(),
                name: "toe".into(),
                names_reordered: true,
                xrefs_added: vec!["X:1".into()],
                ..Changed::default()
            })),
        ];
        assert_eq!(all, expected);
        let expected = ChangeCounts {
            added: 1,
            retired: 2,
            redirected: 1,
            merged: 1,
            renamed: 1,
            names_added: 1,
            names_dropped: 1,
            types_changed: 1,
            xrefs_changed: 1,
            changed: 2,
            unchanged: 1,
            ..ChangeCounts::default()
        };
        assert_eq!(counts, expected);
        let json = serde_json::to_string(&all[4]).expect("encoded");
        assert_eq!(
            json,
            r#"{"change":"changed","id":"D9","name":"toe","names_reordered":true,"xrefs_added":["X:1"]}"#
        );
        assert!(changes(&new, &new).0.is_empty());
    }
}
