//! Another knowledge base than that of the training (BLINK, table 4: "full Wiki"). Concepts are
//! matched by identifier.

use super::{Options, TableId};
use pel_artifacts::concept_table;
use pel_corpora::split::Split;
use pel_kb::error::{Error, Result};
use pel_kb::{ConceptId, KnowledgeBase};

/// Reads the other knowledge base if a table searches it.
///
/// # Errors
/// If a concept table cannot be read, or the two have no concept in common.
pub fn read(options: &Options) -> Result<Option<KnowledgeBase>> {
    let searched = options.table.contains(&TableId::Blink4);
    let Some(path) = options.other_kb.as_deref().filter(|_| searched) else {
        return Ok(None);
    };
    let (own, other) = (
        concept_table::read(&options.kb)?.kb,
        concept_table::read(path)?.kb,
    );
    if !own
        .iter()
        .any(|(_, concept)| other.find(&concept.id).is_some())
    {
        let (own, path) = (options.kb.display(), path.display());
        return Err(Error::input(format!(
            "--other-kb: {path}: expected concepts with identifiers of {own}, found none"
        )));
    }
    Ok(Some(other))
}

/// Maps the concepts of mentions to another knowledge base; `None` if it lacks the concept.
pub fn place(split: &mut Split, own: &KnowledgeBase, other: &KnowledgeBase) {
    let before = std::mem::take(&mut split.other_concepts);
    for gold in &mut split.mentions {
        let Some(concept) = gold.concept else {
            continue;
        };
        let others = before
            .get(&(gold.document, gold.span, concept))
            .into_iter()
            .flatten()
            .copied();
        let all = std::iter::once(concept).chain(others);
        let mut there = all.filter_map(|concept| other.find(&own.get(concept)?.id));
        gold.concept = there.next();
        let others: Vec<ConceptId> = there.collect();
        if let Some(concept) = gold.concept.filter(|_| !others.is_empty()) {
            split
                .other_concepts
                .insert((gold.document, gold.span, concept), others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::ranks::Ranks;
    use pel_corpora::domain::DomainOf;
    use pel_corpora::split::{Gold, SplitCounts};
    use pel_kb::Concept;
    use pel_kb::score::Candidate;
    use pel_text::Span;
    use std::collections::HashMap;

    #[test]
    fn mention_without_concept_in_the_other_kb_is_missed() {
        let kb = |ids: [&str; 2]| {
            let mut kb = KnowledgeBase::new();
            for id in ids {
                kb.push(Concept {
                    id: id.into(),
                    name: id.into(),
                    ..Concept::default()
                })
                .expect("new");
            }
            kb
        };
        let (own, other) = (kb(["D2", "D1"]), kb(["D9", "D2"]));
        let gold = |concept| Gold {
            document: 0,
            span: Span { start: 0, end: 1 },
            concept: Some(ConceptId(concept)),
            seen: None,
            held_out: false,
            part: 0,
        };
        let mentions = vec![gold(0), gold(1)];
        let (documents, counts, other_concepts) =
            (Vec::new(), SplitCounts::default(), HashMap::new());
        let mut split = Split {
            documents,
            mentions,
            counts,
            other_concepts,
            detected: None,
            own_domains: None,
        };
        place(&mut split, &own, &other);
        assert_eq!(
            [split.mentions[0].concept, split.mentions[1].concept],
            [Some(ConceptId(1)), None]
        );
        // The second has the candidate at the place of its concept in its own knowledge base, where
        // another concept is.
        let ranked = [(); 2].map(|()| vec![Candidate::new(ConceptId(1), 1.0)]);
        assert_eq!(
            Ranks::new(&split, &ranked, &other, DomainOf::Source)
                .recall(1)
                .value,
            Some(0.5)
        );
    }
}
