//! The semantic type of an ontology's terms: the name of the top term above each.

use super::obo::Term;
use super::report::Report;
use std::collections::{HashMap, HashSet};

/// The reason under which a term is noted that stands below more tops than a concept has types.
pub const MANY_TYPES: &str = "term below many tops (the first of them are its types)";

/// Types of a concept, at most. It bounds the work for an ontology with many tops.
const MOST_TYPES: usize = 16;

/// For each term the names of the tops above it, the one over its first parents first. A top itself is of its own type;
/// a term that stands alone takes its namespace.
///
/// A top that says nothing, such as HPO's "All", is none: what stands right below it are tops.
/// Namespaces come second because most ontologies give all their terms one that merely repeats the ontology's name.
pub(super) fn types_of(terms: &[Term], report: &mut Report) -> Vec<Vec<String>> {
    let mut by_id = HashMap::new();
    for (at, term) in terms.iter().enumerate() {
        by_id.entry(term.concept.id.as_str()).or_insert(at);
    }
    // Parents that are obsolete or live in another ontology do not count.
    let parents =
        |term: &Term| term.parents.iter().filter_map(|id| by_id.get(id.as_str()).copied()).collect::<Vec<_>>();
    let mut above: Vec<Vec<usize>> = terms.iter().map(parents).collect();
    let hollow = hollow_tops(terms, &mut above);
    let with_children: HashSet<usize> = above.iter().flatten().copied().collect();
    let tops = tops_above(&above);
    let mut one = |at: usize, term: &Term| {
        let named = tops[at].iter().filter(|top| !hollow[**top] && (**top != at || with_children.contains(top)));
        let mut names: Vec<String> =
            named.filter_map(|top| terms.get(*top)).map(|top| in_words(&top.concept.name)).collect();
        if names.is_empty() {
            names.extend(term.namespace.as_deref().map(in_words));
        }
        if names.len() > MOST_TYPES {
            report.note(MANY_TYPES, || format!("{} {}", term.concept.id, term.concept.name));
            names.truncate(MOST_TYPES);
        }
        let mut seen = HashSet::new();
        names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
        names
    };
    terms.iter().enumerate().map(|(at, term)| one(at, term)).collect()
}

/// Says which terms are tops that say nothing, and takes them away from above others: level by level, since what then is a top
/// may say nothing either.
fn hollow_tops(terms: &[Term], above: &mut [Vec<usize>]) -> Vec<bool> {
    let mut below = vec![Vec::new(); terms.len()];
    for (at, parents) in above.iter().enumerate() {
        parents.iter().for_each(|parent| below[*parent].push(at));
    }
    let mut hollow = vec![false; terms.len()];
    let mut left: Vec<usize> = above.iter().map(Vec::len).collect();
    let mut waiting: Vec<usize> = (0..terms.len()).filter(|at| left[*at] == 0).collect();
    while let Some(at) = waiting.pop() {
        if below[at].is_empty() || !says_nothing(&terms[at]) {
            continue;
        }
        hollow[at] = true;
        for child in &below[at] {
            left[*child] -= 1;
            if left[*child] == 0 {
                waiting.push(*child);
            }
        }
    }
    for parents in above.iter_mut() {
        parents.retain(|parent| !hollow[*parent]);
    }
    hollow
}

/// Words that name a hierarchy, or anything at all, and no kind of thing.
const HOLLOW: [&str; 27] = [
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

/// Upper ontologies, whose terms (entity, continuant ...) stand above those of every field.
const UPPER: [&str; 4] = ["BFO", "OWL", "SNAP", "SPAN"];

/// Whether the name of a top says of nothing what it is: "All", "Thing", "SNOMED CT Concept", "HPO root", or an entity of an upper
/// ontology.
fn says_nothing(term: &Term) -> bool {
    let prefix = term.concept.id.split([':', '_']).next().unwrap_or_default();
    if UPPER.iter().any(|upper| upper.eq_ignore_ascii_case(prefix)) {
        return true;
    }
    let own = [Some(prefix), term.source.as_deref(), term.namespace.as_deref()]
        .map(|name| name.unwrap_or_default().to_lowercase());
    let name = term.concept.name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some()
        && words.clone().any(|word| HOLLOW.contains(&word))
        && words.all(|word| {
            HOLLOW.contains(&word) || own.iter().any(|own| own.len() > 1 && word.starts_with(own)) || word == "snomed"
        })
}

/// For each term those without parents that are reached from it, depth first, first parents first; somewhat more than a
/// concept has types, at most. A circle has no top.
///
/// Tarjan's strongly connected components come out with what is above before what is below, so that each term and each
/// `is_a` is looked at once.
fn tops_above(above: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let mut tops: Vec<Vec<usize>> = vec![Vec::new(); above.len()];
    let (mut order, mut low, mut done) = (vec![NEW; above.len()], vec![NEW; above.len()], vec![false; above.len()]);
    let (mut count, mut open, mut path) = (0, Vec::new(), Vec::new());
    for start in 0..above.len() {
        if order[start] != NEW {
            continue;
        }
        path.push((start, 0));
        while let Some((at, next)) = path.pop() {
            if next == 0 {
                (order[at], low[at]) = (count, count);
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
            let first = open.iter().rposition(|open| *open == at).unwrap_or_default();
            let component = open.split_off(first);
            let found = if above[at].is_empty() { vec![at] } else { joined(&component, above, &tops, &done) };
            for member in component {
                done[member] = true;
                tops[member].clone_from(&found);
            }
        }
    }
    tops
}

/// The tops above the parents of a component's members that are not members themselves, each once.
fn joined(component: &[usize], above: &[Vec<usize>], tops: &[Vec<usize>], done: &[bool]) -> Vec<usize> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let parents = component.iter().flat_map(|member| &above[*member]).filter(|parent| done[**parent]);
    for top in parents.flat_map(|parent| &tops[*parent]) {
        if found.len() > MOST_TYPES {
            break;
        }
        if seen.insert(*top) {
            found.push(*top);
        }
    }
    found
}

/// `biological_process` as a reader would write it.
fn in_words(name: &str) -> String {
    super::concepts::single_spaced(&name.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    /// As the definition has it: one walk for each term.
    fn walked(at: usize, above: &[Vec<usize>]) -> Vec<usize> {
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

    #[test]
    fn tops_come_in_the_order_of_the_first_parents() {
        // 0 and 1 are tops, 2 is under both (1 named first), 3 is under 2 and 0, 4 and 5 are a circle, 6 hangs on it.
        let above = [vec![], vec![], vec![1, 0], vec![2, 0], vec![5], vec![4], vec![4], vec![7], vec![8, 0], vec![7]];
        let tops = tops_above(&above);
        assert_eq!((&tops[3][..], &tops[0][..], &tops[2][..]), (&[1, 0][..], &[0][..], &[1, 0][..]));
        assert!(tops[4].is_empty() && tops[5].is_empty() && tops[6].is_empty() && tops[7].is_empty());
        assert_eq!((&tops[8][..], &tops[9][..]), (&[0][..], &[][..]));
        assert_eq!(in_words("biological_process"), "biological process");
    }

    proptest! {
        #[test]
        fn tops_are_those_of_a_walk(edges in prop::collection::vec((0_usize..12, 0_usize..12), 0..20)) {
            let mut above = vec![Vec::new(); 12];
            edges.iter().for_each(|(child, parent)| above[*child].push(*parent));
            let tops = tops_above(&above);
            let sorted = |mut tops: Vec<usize>| { tops.sort_unstable(); tops };
            for (at, found) in tops.iter().enumerate() {
                prop_assert_eq!(sorted(found.clone()), sorted(walked(at, &above)), "{} of {:?}", at, &above);
            }
            // Without circles the order is that of the walk, too.
            let mut above = vec![Vec::new(); 12];
            edges.iter().for_each(|(one, other)| if one != other { above[*one.max(other)].push(*one.min(other)); });
            let tops = tops_above(&above);
            for (at, found) in tops.iter().enumerate() {
                prop_assert_eq!(found, &walked(at, &above));
            }
        }
    }

    #[test]
    fn a_long_chain_and_a_circle_take_linear_time() {
        let count = 200_000;
        let begin = Instant::now();
        let chain: Vec<Vec<usize>> = (0..count).map(|at: usize| at.checked_sub(1).into_iter().collect()).collect();
        assert_eq!(tops_above(&chain)[count - 1], [0]);
        let circle: Vec<Vec<usize>> = (0..count).map(|at| vec![(at + 1) % count]).collect();
        assert!(tops_above(&circle).iter().all(Vec::is_empty));
        // A walk from each term would look at 2 * 10^10 terms, which takes minutes.
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}
