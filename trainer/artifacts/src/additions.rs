//! Additions to a knowledge base: names of its concepts and new concepts, as `pel map --reviewed`
//! writes them.

use crate::concept_table;
use pel_io::json;
use pel_io::text_encoding::TextEncoding;
use pel_kb::error::{Context, Error, Result};
use pel_kb::redirects::Redirect;
use pel_kb::{Concept, KnowledgeBase};
use serde::Serialize;
use std::path::Path;

/// The number of additions by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdditionCounts {
    /// Names that concepts gained.
    pub names: usize,
    /// Cross-references that concepts gained.
    pub xrefs: usize,
    /// New concepts.
    pub concepts: usize,
    /// Additions to a retired concept, which its successor gained.
    pub redirected: usize,
}

/// A knowledge base with additions.
#[derive(Debug)]
pub struct Extended {
    /// The concepts in their order, then new ones.
    pub kb: KnowledgeBase,
    /// BLAKE3 of its lines as a concept table, in hexadecimal.
    pub blake3: String,
    /// What became of the additions.
    pub counts: AdditionCounts,
}

/// Adds the concepts of tables to a knowledge base. A concept that it has, or whose identifier is
/// retired with a successor, gains the names and cross-references that it lacks and keeps its
/// preferred name, types and definition. Others are appended. `find` gives the redirect of a
/// retired identifier.
///
/// # Errors
/// If a table cannot be read, or names a concept that is retired without a successor.
pub fn extend(
    kb: &KnowledgeBase,
    find: &dyn Fn(&str) -> Result<Option<Redirect>>,
    files: &[impl AsRef<Path>],
    encoding: &TextEncoding,
) -> Result<Extended> {
    let mut concepts: Vec<Concept> = kb.iter().map(|(_, concept)| concept.clone()).collect();
    let mut counts = AdditionCounts::default();
    let mut new = KnowledgeBase::new();
    for file in files {
        let file = file.as_ref();
        for (_, added) in concept_table::read_in(file, encoding)?.kb.iter() {
            let id = target(kb, find, &added.id).context(|| file.display().to_string())?;
            counts.redirected += usize::from(id != added.id);
            let own = match kb.find(&id) {
                Some(at) => concepts.get_mut(at.index()),
                None => match new.find(&id) {
                    Some(at) => concepts.get_mut(kb.len() + at.index()),
                    None => None,
                },
            };
            match own {
                Some(own) => gain(own, added, &mut counts),
                None => {
                    new.push(added.clone())?;
                    concepts.push(added.clone());
                    counts.concepts += 1;
                }
            }
        }
    }
    let mut extended = KnowledgeBase::new();
    let mut hash = blake3::Hasher::new();
    for concept in concepts {
        hash.update(json::compact(&concept)?.as_bytes())
            .update(b"\n");
        extended.push(concept)?;
    }
    Ok(Extended {
        kb: extended,
        blake3: hash.finalize().to_hex().to_string(),
        counts,
    })
}

/// The identifier that an addition belongs to.
fn target(
    kb: &KnowledgeBase,
    find: &dyn Fn(&str) -> Result<Option<Redirect>>,
    id: &str,
) -> Result<String> {
    if kb.find(id).is_some() {
        return Ok(id.to_owned());
    }
    match find(id)? {
        None => Ok(id.to_owned()),
        Some(redirect) => redirect
            .replaced_by
            .filter(|successor| kb.find(successor).is_some())
            .ok_or_else(|| {
                Error::input(format!(
                    "expected a concept of the knowledge base or a new one, found {id}, which is \
                     retired without a successor"
                ))
            }),
    }
}

fn gain(own: &mut Concept, added: &Concept, counts: &mut AdditionCounts) {
    for name in added.names() {
        if own.names().all(|known| known != name) {
            own.synonyms.push(name.to_owned());
            counts.names += 1;
        }
    }
    for xref in &added.xrefs {
        if !own.xrefs.contains(xref) {
            own.xrefs.push(xref.clone());
            counts.xrefs += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: [(&str, &str); 2] = [("D1", "fever"), ("D2", "chest pain")];

    fn kb() -> KnowledgeBase {
        let mut kb = KnowledgeBase::new();
        for (id, name) in KB {
            kb.push(Concept {
                id: id.into(),
                name: name.into(),
                definition: Some("kept".into()),
                ..Concept::default()
            })
            .expect("new");
        }
        kb
    }

    fn find(id: &str) -> Result<Option<Redirect>> {
        let redirect = |to: Option<&str>| Redirect {
            id: id.to_owned(),
            replaced_by: to.map(str::to_owned),
            reason: "merged".into(),
        };
        Ok(match id {
            "D0" => Some(redirect(Some("D1"))),
            "D9" => Some(redirect(None)),
            _ => None,
        })
    }

    fn extended(lines: &str) -> Result<Extended> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("names.jsonl");
        std::fs::write(&file, lines).expect("written");
        extend(&kb(), &find, &[file], &TextEncoding::default())
    }

    #[test]
    fn concepts_gain_names_and_new_ones_follow() {
        let Extended { kb, counts, .. } = extended(
            "{\"id\": \"D1\", \"name\": \"fever\", \"synonyms\": [\"TEMP UP\"], \"xrefs\": \
             [\"LAB:7\"]}\n{\"id\": \"D0\", \"name\": \"old fever\"}\n\
             {\"id\": \"LAB:1\", \"name\": \"zzz\"}\n",
        )
        .expect("read");
        let fever = kb.get(kb.find("D1").expect("kept")).expect("there");
        assert_eq!(
            fever.names().collect::<Vec<_>>(),
            ["fever", "TEMP UP", "old fever"]
        );
        assert_eq!(fever.xrefs, ["LAB:7"]);
        assert_eq!(fever.definition.as_deref(), Some("kept"));
        assert_eq!(kb.find("LAB:1").map(|at| at.0), Some(2));
        let expected = AdditionCounts {
            names: 2,
            xrefs: 1,
            concepts: 1,
            redirected: 1,
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn retired_concept_is_refused() {
        let error = extended("{\"id\": \"D9\", \"name\": \"gone\"}\n").expect_err("retired");
        assert!(error.to_string().contains("names.jsonl"), "{error}");
        assert!(error.to_string().contains("found D9"), "{error}");
    }
}
