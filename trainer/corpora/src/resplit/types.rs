//! The semantic types of a knowledge base, and their names in options.

use pel_kb::error::{Error, Result};
use pel_kb::{Concept, KnowledgeBase};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// A semantic type: an identifier, a name, or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SemanticType {
    /// Its identifier, such as a UMLS TUI.
    pub id: Option<String>,
    /// The name.
    pub name: Option<String>,
}

impl SemanticType {
    /// The identifier, else the name.
    pub fn short(&self) -> &str {
        self.id
            .as_deref()
            .or(self.name.as_deref())
            .unwrap_or_default()
    }

    /// Identifier and name.
    pub fn words(&self) -> String {
        match (&self.id, &self.name) {
            (Some(id), Some(name)) => format!("{id} {name}"),
            _ => self.short().to_owned(),
        }
    }

    fn is_called(&self, requested: &str) -> bool {
        self.texts()
            .any(|text| text.to_lowercase() == requested.to_lowercase())
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.id.as_deref().into_iter().chain(self.name.as_deref())
    }
}

/// The types of a knowledge base.
#[derive(Clone, Debug)]
pub struct Types {
    /// Each type once, sorted.
    pub all: Vec<SemanticType>,
    /// Indices into `all` for each concept.
    pub of_concept: Vec<Vec<usize>>,
}

impl Types {
    /// Collects the types of all concepts. Types and type identifiers of a concept are paired by
    /// position if their numbers are equal. Otherwise the names count, or the identifiers if there
    /// are no names.
    pub fn new(kb: &KnowledgeBase) -> Self {
        // An identifier is one type, even with several names.
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut all: Vec<SemanticType> = Vec::new();
        let mut of_concept = Vec::with_capacity(kb.len());
        for (_, concept) in kb.iter() {
            let mut own: Vec<usize> = Vec::new();
            for found in types_of(concept) {
                let at = *numbers
                    .entry(found.short().to_lowercase())
                    .or_insert(all.len());
                if at == all.len() {
                    all.push(found);
                }
                own.push(at);
            }
            own.sort_unstable();
            own.dedup();
            of_concept.push(own);
        }
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| all[*at].words());
        let mut place = vec![0; all.len()];
        order
            .iter()
            .enumerate()
            .for_each(|(to, from)| place[*from] = to);
        of_concept
            .iter_mut()
            .flatten()
            .for_each(|at| *at = place[*at]);
        let all = order.into_iter().map(|at| all[at].clone()).collect();
        Self { all, of_concept }
    }

    /// The types given by the user, by case-insensitive identifier or name. A text may list
    /// several, separated by commas; names may contain commas. `of_mentions` counts the types in
    /// annotations of mentions.
    ///
    /// # Errors
    /// If a type is unknown (the error suggests a similar one) or occurs only in the corpus.
    pub fn choose(
        &self,
        requested: &[String],
        of_mentions: &BTreeMap<String, usize>,
    ) -> Result<Vec<usize>> {
        let named = |name: &str| self.all.iter().position(|one| one.is_called(name));
        let mut chosen = listed(requested, named, |requested| {
            self.unknown(requested, of_mentions)
        })?;
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }

    fn unknown(&self, requested: &str, of_mentions: &BTreeMap<String, usize>) -> Error {
        if requested.is_empty() {
            return Error::input(
                "--types: expected a type before and after each comma, found none",
            );
        }
        if self.all.is_empty() {
            return Error::input("expected concepts with types, found none in the knowledge base");
        }
        let lower = requested.to_lowercase();
        if let Some((_, mentions)) = of_mentions
            .iter()
            .find(|(name, _)| name.to_lowercase() == lower)
        {
            return Error::input(format!(
                "expected a type with concepts in the knowledge base, found {requested} in \
                 {mentions} mentions only"
            ));
        }
        let near = self.all.iter().filter_map(|one| {
            let distance = one
                .texts()
                .map(|text| edits(&text.to_lowercase(), &lower))
                .min()?;
            (distance <= 2.max(requested.chars().count() / 3)).then_some((distance, one.words()))
        });
        let hint = match near.min() {
            Some((_, words)) => format!("did you mean {words}?"),
            None => {
                let some: Vec<String> = self
                    .all
                    .iter()
                    .take(LISTED)
                    .map(SemanticType::words)
                    .collect();
                let more = if self.all.len() > LISTED { ", ..." } else { "" };
                format!("the knowledge base has {}{more}", some.join(", "))
            }
        };
        Error::input(format!(
            "expected a type of the knowledge base, found {requested}; {hint}"
        ))
    }
}

/// Parses comma-separated names that may contain commas: the longest run of pieces known to `named`
/// is one name.
///
/// # Errors
/// The error of `unknown` for a piece that starts no known name.
pub fn listed<T>(
    texts: &[String],
    named: impl Fn(&str) -> Option<T>,
    unknown: impl Fn(&str) -> Error,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for text in texts {
        let pieces: Vec<&str> = text.split(',').collect();
        let mut from = 0;
        while from < pieces.len() {
            let run = |to: usize| Some((named(pieces[from..to].join(",").trim())?, to));
            let (one, to) = (from + 1..=pieces.len())
                .rev()
                .find_map(run)
                .ok_or_else(|| unknown(pieces[from].trim()))?;
            all.push(one);
            from = to;
        }
    }
    Ok(all)
}

/// Maximum number of types in an error.
const LISTED: usize = 15;

fn types_of(concept: &Concept) -> Vec<SemanticType> {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.trim().is_empty());
    let Concept {
        types, type_ids, ..
    } = concept;
    let pairs: Vec<SemanticType> = if types.len() == type_ids.len() {
        types
            .iter()
            .zip(type_ids)
            .map(|(name, id)| SemanticType {
                id: given(id),
                name: given(name),
            })
            .collect()
    } else if types.is_empty() {
        type_ids
            .iter()
            .map(|id| SemanticType {
                id: given(id),
                name: None,
            })
            .collect()
    } else {
        types
            .iter()
            .map(|name| SemanticType {
                id: None,
                name: given(name),
            })
            .collect()
    };
    pairs
        .into_iter()
        .filter(|one| !one.short().is_empty())
        .collect()
}

/// Levenshtein distance between two texts, in characters.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (place, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types() -> Types {
        let mut kb = KnowledgeBase::new();
        let mut push = |id: &str, types: &[&str], type_ids: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            let concept = Concept {
                id: id.into(),
                name: id.into(),
                types: owned(types),
                type_ids: owned(type_ids),
                ..Default::default()
            };
            kb.push(concept).expect("new");
        };
        push(
            "a",
            &["Finding", "Amino Acid, Peptide, or Protein"],
            &["T033", "T116"],
        );
        push("b", &["finding again"], &["T033"]);
        push("c", &["Disease", "Sign"], &["T047"]);
        push("d", &[], &["T099"]);
        push("e", &[], &[]);
        Types::new(&kb)
    }

    #[test]
    fn types_are_collected_by_identifier_or_name() {
        let found = types();
        let words: Vec<_> = found.all.iter().map(SemanticType::words).collect();
        assert_eq!(
            words,
            [
                "Disease",
                "Sign",
                "T033 Finding",
                "T099",
                "T116 Amino Acid, Peptide, or Protein"
            ]
        );
        assert_eq!(
            found.of_concept,
            [vec![2, 4], vec![2], vec![0, 1], vec![3], vec![]]
        );
    }

    #[test]
    fn types_are_found_by_identifier_or_name() {
        let choose = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            types().choose(&texts, &BTreeMap::from([("T092".into(), 7)]))
        };
        assert_eq!(choose(&["t033, sign"]).expect("known"), [1, 2]);
        assert_eq!(
            choose(&["T099,Amino Acid, Peptide, or Protein,Finding", "finding"]).expect("known"),
            [2, 3, 4]
        );
        for (texts, message) in [
            (
                "Findng",
                "expected a type of the knowledge base, found Findng; did you mean T033 Finding?",
            ),
            ("T034", "did you mean T033 Finding?"),
            (
                "t092",
                "expected a type with concepts in the knowledge base, found t092 in 7 mentions \
                 only",
            ),
            (
                "Virus",
                "the knowledge base has Disease, Sign, T033 Finding, T099, T116 Amino",
            ),
            ("T033,,Sign", "expected a type before and after each comma"),
        ] {
            let error = choose(&[texts]).expect_err(texts).to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, count) in [
            ("kitten", "sitting", 3),
            ("", "abc", 3),
            ("abc", "", 3),
            ("é", "e", 1),
            ("ab", "ab", 0),
        ] {
            assert_eq!(edits(a, b), count, "{a} {b}");
        }
    }
}
