//! The majority baseline: a surface form's concepts in the training mentions, then exact names.

use super::ExactNames;
use pel_kb::ConceptId;
use pel_kb::score::Candidate;
use std::collections::HashMap;

/// The training mentions of a surface form.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The number of mentions, those with concepts outside the knowledge base included.
    mentions: u32,
    /// The gold concepts with counts, most frequent first; ties in concept order.
    concepts: Vec<(ConceptId, u32)>,
}

/// Ranks the gold concepts of a surface form in training, most frequent first, and then the other
/// concepts with that name.
///
/// For n training mentions of the surface form, a concept with c of them scores c / (n + 1), and
/// one with the name alone scores 1 / (n + 2). So scores descend, a surface form that was mostly
/// NIL has low scores, and a name without training mentions scores 1/2.
#[derive(Clone, Debug)]
pub struct MajoritySurface {
    names: ExactNames,
    seen: HashMap<String, Seen>,
}

impl MajoritySurface {
    /// Counts the training mentions: surface form and gold concept, `None` if the knowledge base
    /// lacks the concept.
    pub fn new<'a>(
        names: ExactNames,
        mentions: impl IntoIterator<Item = (&'a str, Option<ConceptId>)>,
    ) -> Self {
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
        Self {
            names,
            seen: counts.into_iter().map(ranked).collect(),
        }
    }

    /// The first `k` concepts of a surface form.
    pub fn search(&self, surface: &str, k: usize) -> Vec<Candidate> {
        let (mentions, seen) = match self.seen.get(&self.names.normal().apply(surface)) {
            Some(seen) => (seen.mentions as f32, seen.concepts.as_slice()),
            None => (0.0, [].as_slice()),
        };
        let trained = seen
            .iter()
            .map(|(id, count)| Candidate::new(*id, *count as f32 / (mentions + 1.0)));
        let is_new = |id: &&ConceptId| seen.iter().all(|(trained, _)| trained != *id);
        let named = self.names.bearers(surface).iter().filter(is_new);
        trained
            .chain(named.map(|id| Candidate::new(*id, 1.0 / (mentions + 2.0))))
            .take(k)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::Normal;
    use pel_kb::{Concept, KnowledgeBase};

    #[test]
    fn search_ranks_training_concepts_by_count_then_names() {
        let mut kb = KnowledgeBase::new();
        for (id, name) in [
            ("D0", "cold"),
            ("D1", "common cold"),
            ("D2", "coldness"),
            ("D3", "Cold"),
        ] {
            kb.push(Concept {
                id: id.into(),
                name: name.into(),
                ..Concept::default()
            })
            .expect("new");
        }
        let gold = |at: u32| Some(ConceptId(at));
        let training = [
            ("Cold", gold(2)),
            ("cold", gold(1)),
            ("cold", gold(2)),
            ("cold", None),
            ("cold", gold(3)),
        ];
        let majority = MajoritySurface::new(ExactNames::new(&kb, Normal::LowerCase), training);
        // 5 mentions: D2 has 2, D1 and D3 have 1 each. D0 has the name alone.
        let ranked = [
            Candidate::new(ConceptId(2), 2.0 / 6.0),
            Candidate::new(ConceptId(1), 1.0 / 6.0),
            Candidate::new(ConceptId(3), 1.0 / 6.0),
            Candidate::new(ConceptId(0), 1.0 / 7.0),
        ];
        assert_eq!(majority.search("COLD", 8), ranked);
        assert_eq!(majority.search("cold", 2), ranked[..2]);
        assert_eq!(
            majority.search("coldness", 8),
            [Candidate::new(ConceptId(2), 0.5)]
        );
        assert_eq!(majority.search("fever", 8), []);
    }
}
