//! The semantic types of an ontology's terms: the names of their root ancestors.

use super::obo_term::Term;
use super::report::Report;
use std::collections::{HashMap, HashSet};

/// The note on a term with more root ancestors than a concept has types.
pub const MANY_TYPES: &str = "term with too many root ancestors (the first 16 are its types)";

/// The largest number of types of a concept. It bounds the time for ontologies with many roots.
const MAX_TYPES: usize = 16;

/// The types of each term: the names of its root ancestors, by the order of the parents. A root
/// with children is its own type. A term without relatives has its namespace as type.
///
/// A generic root, such as HPO's "All", is not counted; its children are roots instead. Namespaces
/// have lower priority because in most ontologies they merely repeat the ontology's name.
pub(super) fn types_of(terms: &[Term], report: &mut Report) -> Vec<Vec<String>> {
    let mut by_id = HashMap::new();
    for (at, term) in terms.iter().enumerate() {
        by_id.entry(term.concept.id.as_str()).or_insert(at);
    }
    // Obsolete parents and parents in other ontologies are ignored.
    let parents = |term: &Term| {
        let known = term
            .parents
            .iter()
            .filter_map(|id| by_id.get(id.as_str()).copied());
        known.collect::<Vec<_>>()
    };
    let mut above: Vec<Vec<usize>> = terms.iter().map(parents).collect();
    let generic = generic_roots(terms, &mut above);
    let with_children: HashSet<usize> = above.iter().flatten().copied().collect();
    let roots = roots_above(&above);
    let mut types = |at: usize, term: &Term| {
        let named = roots[at]
            .iter()
            .filter(|root| !generic[**root] && (**root != at || with_children.contains(root)));
        let mut names: Vec<String> = named
            .filter_map(|root| terms.get(*root))
            .map(|root| in_words(&root.concept.name))
            .collect();
        if names.is_empty() {
            names.extend(term.namespace.as_deref().map(in_words));
        }
        if names.len() > MAX_TYPES {
            report.note(MANY_TYPES, || {
                format!("{} {}", term.concept.id, term.concept.name)
            });
            names.truncate(MAX_TYPES);
        }
        let mut seen = HashSet::new();
        names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
        names
    };
    terms
        .iter()
        .enumerate()
        .map(|(at, term)| types(at, term))
        .collect()
}

/// Marks generic roots and removes them from the parents of other terms. Their children may then be
/// generic roots, too.
fn generic_roots(terms: &[Term], above: &mut [Vec<usize>]) -> Vec<bool> {
    let mut below = vec![Vec::new(); terms.len()];
    for (at, parents) in above.iter().enumerate() {
        parents.iter().for_each(|parent| below[*parent].push(at));
    }
    let mut generic = vec![false; terms.len()];
    let mut parents_left: Vec<usize> = above.iter().map(Vec::len).collect();
    let mut queue: Vec<usize> = (0..terms.len())
        .filter(|at| parents_left[*at] == 0)
        .collect();
    while let Some(at) = queue.pop() {
        if below[at].is_empty() || !is_generic(&terms[at]) {
            continue;
        }
        generic[at] = true;
        for child in &below[at] {
            parents_left[*child] -= 1;
            if parents_left[*child] == 0 {
                queue.push(*child);
            }
        }
    }
    for parents in above.iter_mut() {
        parents.retain(|parent| !generic[*parent]);
    }
    generic
}

/// Words of generic roots.
const GENERIC: [&str; 27] = [
    "all",
    "anything",
    "category",
    "class",
    "classes",
    "concept",
    "concepts",
    "ct",
    "entities",
    "entity",
    "everything",
    "item",
    "node",
    "object",
    "of",
    "ontology",
    "owl",
    "root",
    "taxonomy",
    "term",
    "terminology",
    "terms",
    "the",
    "thesaurus",
    "thing",
    "top",
    "vocabulary",
];

/// Upper ontologies, whose terms (entity, continuant ...) are roots in ontologies of all fields.
const UPPER: [&str; 4] = ["BFO", "OWL", "SNAP", "SPAN"];

/// Whether a root's name describes no kind of thing: "All", "Thing", "SNOMED CT Concept", "HPO
/// root", or a term of an upper ontology.
fn is_generic(term: &Term) -> bool {
    let prefix = term.concept.id.split([':', '_']).next().unwrap_or_default();
    if UPPER.iter().any(|upper| upper.eq_ignore_ascii_case(prefix)) {
        return true;
    }
    let own = [
        Some(prefix),
        term.source.as_deref(),
        term.namespace.as_deref(),
    ]
    .map(|name| name.unwrap_or_default().to_lowercase());
    let name = term.concept.name.to_lowercase();
    let mut words = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .peekable();
    words.peek().is_some()
        && words.clone().any(|word| GENERIC.contains(&word))
        && words.all(|word| {
            GENERIC.contains(&word)
                || own.iter().any(|own| own.len() > 1 && word.starts_with(own))
                || word == "snomed"
        })
}

/// For each term, its root ancestors in depth-first order, by the order of the parents. Slightly
/// more than [`MAX_TYPES`] are kept. A cycle has no root.
///
/// Tarjan's algorithm for strongly connected components visits ancestors first, so the time is
/// linear in the terms and `is_a` relations.
fn roots_above(above: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let mut roots: Vec<Vec<usize>> = vec![Vec::new(); above.len()];
    let mut order = vec![NEW; above.len()];
    let mut low = vec![NEW; above.len()];
    let mut done = vec![false; above.len()];
    let mut count = 0;
    let mut open = Vec::new();
    let mut path = Vec::new();
    for start in 0..above.len() {
        if order[start] != NEW {
            continue;
        }
        path.push((start, 0));
        while let Some((at, next)) = path.pop() {
            if next == 0 {
                order[at] = count;
                low[at] = count;
                count += 1;
                open.push(at);
            }
            if let Some(parent) = above[at].get(next).copied() {
                path.push((at, next + 1));
                if order[parent] == NEW {
                    path.push((parent, 0));
                } else if !done[parent] {
                    low[at] = low[at].min(order[parent]);
                }
                continue;
            }
            if let Some((child, _)) = path.last() {
                low[*child] = low[*child].min(low[at]);
            }
            if low[at] != order[at] {
                continue;
            }
            let first = open
                .iter()
                .rposition(|open| *open == at)
                .unwrap_or_default();
            let component = open.split_off(first);
            let found = if above[at].is_empty() {
                vec![at]
            } else {
                merged(&component, above, &roots, &done)
            };
            for member in component {
                done[member] = true;
                roots[member].clone_from(&found);
            }
        }
    }
    roots
}

/// The roots above the parents of a component that are outside of it, without duplicates.
fn merged(
    component: &[usize],
    above: &[Vec<usize>],
    roots: &[Vec<usize>],
    done: &[bool],
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let parents = component
        .iter()
        .flat_map(|member| &above[*member])
        .filter(|parent| done[**parent]);
    for root in parents.flat_map(|parent| &roots[*parent]) {
        if found.len() > MAX_TYPES {
            break;
        }
        if seen.insert(*root) {
            found.push(*root);
        }
    }
    found
}

/// Replaces underscores with spaces: "biological process" for `biological_process`.
fn in_words(name: &str) -> String {
    super::concepts::single_spaced(&name.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    /// The reference implementation: one depth-first search for each term.
    fn searched(at: usize, above: &[Vec<usize>]) -> Vec<usize> {
        let mut roots = Vec::new();
        let mut seen = HashSet::new();
        let mut stack = vec![at];
        while let Some(at) = stack.pop() {
            if !seen.insert(at) {
                continue;
            }
            match above.get(at) {
                Some(parents) if !parents.is_empty() => stack.extend(parents.iter().rev()),
                _ => roots.push(at),
            }
        }
        roots
    }

    #[test]
    fn roots_are_in_the_order_of_the_parents() {
        // 0 and 1 are roots, 2 is below both (1 first), 3 is below 2 and 0. 4 and 5 form a cycle,
        // and 6 is below it. 7 is its own parent, 8 is below 7 and 0, 9 is below 7.
        let above = [
            vec![],
            vec![],
            vec![1, 0],
            vec![2, 0],
            vec![5],
            vec![4],
            vec![4],
            vec![7],
            vec![8, 0],
            vec![7],
        ];
        let roots = roots_above(&above);
        assert_eq!(
            [&roots[3][..], &roots[0][..], &roots[2][..]],
            [&[1, 0][..], &[0][..], &[1, 0][..]]
        );
        assert!(roots[4..8].iter().all(Vec::is_empty));
        assert_eq!([&roots[8][..], &roots[9][..]], [&[0][..], &[][..]]);
        assert_eq!(in_words("biological_process"), "biological process");
    }

    proptest! {
        #[test]
        fn roots_equal_a_depth_first_search(edges in prop::collection::vec((0_usize..12, 0_usize..12), 0..20)) {
            let mut above = vec![Vec::new(); 12];
            edges.iter().for_each(|(child, parent)| above[*child].push(*parent));
            let roots = roots_above(&above);
            let sorted = |mut roots: Vec<usize>| {
                roots.sort_unstable();
                roots
            };
            for (at, found) in roots.iter().enumerate() {
                prop_assert_eq!(sorted(found.clone()), sorted(searched(at, &above)), "{} of {:?}", at, &above);
            }
            // Without cycles the order is the same, too.
            let mut above = vec![Vec::new(); 12];
            edges.iter().for_each(|(one, other)| if one != other { above[*one.max(other)].push(*one.min(other)); });
            let roots = roots_above(&above);
            for (at, found) in roots.iter().enumerate() {
                prop_assert_eq!(found, &searched(at, &above));
            }
        }
    }

    #[test]
    fn time_is_linear_for_a_long_chain_and_a_cycle() {
        let count = 200_000;
        let begin = Instant::now();
        let chain: Vec<Vec<usize>> = (0..count)
            .map(|at: usize| at.checked_sub(1).into_iter().collect())
            .collect();
        assert_eq!(roots_above(&chain)[count - 1], [0]);
        let cycle: Vec<Vec<usize>> = (0..count).map(|at| vec![(at + 1) % count]).collect();
        assert!(roots_above(&cycle).iter().all(Vec::is_empty));
        // A search from each term would visit 2 * 10^10 terms, which takes minutes.
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{:?}",
            begin.elapsed()
        );
    }
}
