//! The semantic type of an ontology's terms: the name of the top term above each.

use super::obo::Term;
use std::collections::{HashMap, HashSet};

/// For each term the names of the tops above it, the one over its first parents first. A top itself is of its own type;
/// a term that stands alone takes its namespace.
///
/// Namespaces come second because most ontologies give all their terms one that merely repeats the ontology's name.
pub(super) fn types_of(terms: &[Term]) -> Vec<Vec<String>> {
    let mut by_id = HashMap::new();
    for (at, term) in terms.iter().enumerate() {
        by_id.entry(term.concept.id.as_str()).or_insert(at);
    }
    // Parents that are obsolete or live in another ontology do not count.
    let parents =
        |term: &Term| term.parents.iter().filter_map(|id| by_id.get(id.as_str()).copied()).collect::<Vec<_>>();
    let above: Vec<Vec<usize>> = terms.iter().map(parents).collect();
    let with_children: HashSet<usize> = above.iter().flatten().copied().collect();
    let one = |at: usize, term: &Term| {
        let tops = tops_above(at, &above);
        let names = tops.iter().filter(|top| **top != at || with_children.contains(top));
        let mut names: Vec<String> =
            names.filter_map(|top| terms.get(*top)).map(|top| in_words(&top.concept.name)).collect();
        if names.is_empty() {
            names.extend(term.namespace.as_deref().map(in_words));
        }
        let mut seen = HashSet::new();
        names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
        names
    };
    terms.iter().enumerate().map(|(at, term)| one(at, term)).collect()
}

/// The terms without parents that are reached from one, depth first, first parents first. A circle has no top.
fn tops_above(at: usize, above: &[Vec<usize>]) -> Vec<usize> {
    let (mut tops, mut seen, mut waiting) = (Vec::new(), HashSet::new(), vec![at]);
    while let Some(at) = waiting.pop() {
        if !seen.insert(at) {
            continue;
        }
        match above.get(at) {
            Some(parents) if !parents.is_empty() => waiting.extend(parents.iter().rev()),
            _ => tops.push(at),
        }
    }
    tops
}

/// `biological_process` as a reader would write it.
fn in_words(name: &str) -> String {
    super::concepts::single_spaced(&name.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tops_come_in_the_order_of_the_first_parents() {
        // 0 and 1 are tops, 2 is under both (1 named first), 3 is under 2 and 0, 4 and 5 are a circle.
        let above = [vec![], vec![], vec![1, 0], vec![2, 0], vec![5], vec![4]];
        assert_eq!(tops_above(3, &above), [1, 0]);
        assert_eq!(tops_above(0, &above), [0]);
        assert_eq!(tops_above(4, &above), Vec::<usize>::new());
        assert_eq!(in_words("biological_process"), "biological process");
    }
}
