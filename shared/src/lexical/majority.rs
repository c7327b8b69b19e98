//! The baseline without any model: what a surface meant in the training mentions, else the concepts of that name.

use super::{ExactNames, Ranked};
use crate::kb::ConceptId;
use std::collections::HashMap;

/// How often a surface was seen in training, and as what.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// All its mentions, those of concepts outside the knowledge base too.
    mentions: u32,
    /// The concepts meant, most frequent first, ties in concept order.
    concepts: Vec<(ConceptId, u32)>,
}

/// The concepts that a surface stood for in training, most frequent first; after them its bearers by exact name.
///
/// With n training mentions of the surface, a concept seen c times scores c / (n + 1), one known by name alone 1 / (n + 2).
/// So a list falls, a surface that was mostly NIL in training scores low, and an unseen surface with a name scores 1/2.
#[derive(Clone, Debug)]
pub struct MajoritySurface {
    names: ExactNames,
    seen: HashMap<String, Seen>,
}

impl MajoritySurface {
    /// Counts the training mentions: surface and gold concept, `None` for one outside the knowledge base.
    pub fn new<'a>(names: ExactNames, mentions: impl IntoIterator<Item = (&'a str, Option<ConceptId>)>) -> Self {
        let mut counts: HashMap<String, (u32, HashMap<ConceptId, u32>)> = HashMap::new();
        for (surface, gold) in mentions {
            let (mentions, concepts) = counts.entry(names.normal().apply(surface)).or_default();
            *mentions += 1;
            if let Some(gold) = gold {
                *concepts.entry(gold).or_default() += 1;
            }
        }
        let ranked = |(surface, (mentions, concepts)): (String, (u32, HashMap<ConceptId, u32>))| {
            let mut concepts: Vec<_> = concepts.into_iter().collect();
            concepts.sort_unstable_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
            (surface, Seen { mentions, concepts })
        };
        Self { names, seen: counts.into_iter().map(ranked).collect() }
    }

    /// The first `k` concepts for a surface.
    pub fn search(&self, surface: &str, k: usize) -> Ranked {
        let (mentions, seen) = match self.seen.get(&self.names.normal().apply(surface)) {
            Some(seen) => (seen.mentions as f32, seen.concepts.as_slice()),
            None => (0.0, [].as_slice()),
        };
        let meant = seen.iter().map(|(id, count)| (*id, *count as f32 / (mentions + 1.0)));
        let unmeant = self.names.bearers(surface).iter().filter(|id| seen.iter().all(|(meant, _)| meant != *id));
        meant.chain(unmeant.map(|id| (*id, 1.0 / (mentions + 2.0)))).take(k).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::{Concept, KnowledgeBase};
    use crate::lexical::Normal;

    #[test]
    fn the_majority_leads_then_the_others_then_the_names() {
        let mut kb = KnowledgeBase::new();
        for (id, name) in [("D0", "cold"), ("D1", "common cold"), ("D2", "coldness"), ("D3", "Cold")] {
            kb.push(Concept { id: id.into(), name: name.into(), ..Concept::default() }).expect("new");
        }
        let gold = |at: u32| Some(ConceptId(at));
        let training = [("Cold", gold(2)), ("cold", gold(1)), ("cold", gold(2)), ("cold", None), ("cold", gold(3))];
        let majority = MajoritySurface::new(ExactNames::new(&kb, Normal::LowerCase), training);
        // Five mentions: D2 twice, D1 and D3 once each (D1 is the earlier concept); D0 is known by name alone.
        let ranked = [
            (ConceptId(2), 2.0 / 6.0),
            (ConceptId(1), 1.0 / 6.0),
            (ConceptId(3), 1.0 / 6.0),
            (ConceptId(0), 1.0 / 7.0),
        ];
        assert_eq!(majority.search("COLD", 8), ranked);
        assert_eq!(majority.search("cold", 2), ranked[..2]);
        assert_eq!(majority.search("coldness", 8), [(ConceptId(2), 0.5)]);
        assert_eq!(majority.search("fever", 8), []);
    }
}
