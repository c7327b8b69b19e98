//! The semantic types of an ontology's terms: the names of their root ancestors.

use super::report::Report;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The note on a term with more root ancestors than a concept has types.
pub const MANY_TYPES: &str = "term with too many root ancestors (the first 16 are its types)";

/// The largest number of types of a concept. It bounds the time for ontologies with many roots.
const MAX_TYPES: usize = 16;

/// What the types depend on, of one term.
#[derive(Clone, Debug, Default)]
pub struct About<'a> {
    /// Its identifier.
    pub id: Cow<'a, str>,
    /// Its name.
    pub name: Cow<'a, str>,
    /// The prefix of its identifier, else its ontology.
    pub source: Option<Cow<'a, str>>,
    /// Its namespace.
    pub namespace: Option<Cow<'a, str>>,
}

/// The parents of each term, or its children, as positions: 4 bytes each, and 4 for each term.
#[derive(Clone, Debug, Default)]
pub struct Relatives {
    ends: Vec<u32>,
    of_all: Vec<u32>,
}

impl Relatives {
    /// Adds the relatives of the next term.
    pub fn push(&mut self, relatives: impl IntoIterator<Item = u32>) {
        self.of_all.extend(relatives);
        self.ends.push(self.of_all.len() as u32);
    }

    /// The number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no term.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The relatives of a term, in the order in which they were given.
    #[must_use]
    pub fn of(&self, at: usize) -> &[u32] {
        let begin = at
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(begin);
        self.of_all
            .get(begin as usize..end as usize)
            .unwrap_or_default()
    }

    /// The children of each term, if these are parents. A position beyond the terms is ignored.
    fn reversed(&self) -> Self {
        let mut ends = vec![0_u32; self.len()];
        for parent in &self.of_all {
            if let Some(count) = ends.get_mut(*parent as usize) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        // Filled from the end, so that the ends become beginnings.
        let mut next = ends.clone();
        let mut of_all = vec![0; sum as usize];
        for child in (0..self.len()).rev() {
            for parent in self.of(child).iter().rev() {
                if let Some(at) = next.get_mut(*parent as usize) {
                    *at -= 1;
                    of_all[*at as usize] = child as u32;
                }
            }
        }
        Self { ends, of_all }
    }

    /// Keeps some relatives of each term.
    fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        let mut kept = Self::default();
        for at in 0..self.len() {
            kept.push(self.of(at).iter().copied().filter(|one| keep(*one)));
        }
        *self = kept;
    }
}

/// The root ancestors of every term.
///
/// A generic root, such as HPO's "All", is not counted; its children are roots instead.
pub struct Roots {
    /// The set of roots of each term.
    set_of: Vec<u32>,
    sets: Vec<Vec<u32>>,
    generic: Vec<bool>,
    with_children: Vec<bool>,
}

impl Roots {
    /// Finds them. `parents` has the positions of each term's parents; parents in other ontologies
    /// are left out. `about` describes a term by its position.
    pub fn find<'a>(mut parents: Relatives, about: &dyn Fn(usize) -> About<'a>) -> Self {
        let generic = generic_roots(&mut parents, about);
        let mut with_children = vec![false; parents.len()];
        for parent in &parents.of_all {
            if let Some(has) = with_children.get_mut(*parent as usize) {
                *has = true;
            }
        }
        let (set_of, sets) = roots_above(&parents);
        Self {
            set_of,
            sets,
            generic,
            with_children,
        }
    }

    /// The roots of a term, by the order of its parents. A cycle has none.
    fn of(&self, at: usize) -> &[u32] {
        let set = self.set_of.get(at).copied().unwrap_or_default();
        self.sets.get(set as usize).map_or(&[][..], Vec::as_slice)
    }

    /// The types of a term: the names of its roots. A root with children is its own type. A term
    /// without relatives has its namespace as type. Namespaces have lower priority because in most
    /// ontologies they merely repeat the ontology's name.
    pub fn types<'a>(
        &self,
        at: usize,
        about: &dyn Fn(usize) -> About<'a>,
        report: &mut Report,
    ) -> Vec<String> {
        let is = |flags: &[bool], at: usize| flags.get(at).copied().unwrap_or(false);
        let named = self
            .of(at)
            .iter()
            .map(|root| *root as usize)
            .filter(|root| {
                !is(&self.generic, *root) && (*root != at || is(&self.with_children, *root))
            });
        let mut names: Vec<String> = named.map(|root| in_words(&about(root).name)).collect();
        if names.is_empty() {
            names.extend(about(at).namespace.as_deref().map(in_words));
        }
        if names.len() > MAX_TYPES {
            report.note(MANY_TYPES, || {
                let own = about(at);
                format!("{} {}", own.id, own.name)
            });
            names.truncate(MAX_TYPES);
        }
        let mut seen = HashSet::new();
        names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
        names
    }
}

/// Marks generic roots and removes them from the parents of other terms. Their children may then be
/// generic roots, too.
fn generic_roots<'a>(above: &mut Relatives, about: &dyn Fn(usize) -> About<'a>) -> Vec<bool> {
    let below = above.reversed();
    let mut generic = vec![false; above.len()];
    let mut parents_left: Vec<usize> = (0..above.len()).map(|at| above.of(at).len()).collect();
    let mut queue: Vec<usize> = (0..above.len())
        .filter(|at| parents_left[*at] == 0)
        .collect();
    while let Some(at) = queue.pop() {
        if below.of(at).is_empty() || !is_generic(&about(at)) {
            continue;
        }
        generic[at] = true;
        for child in below.of(at) {
            let child = *child as usize;
            parents_left[child] -= 1;
            if parents_left[child] == 0 {
                queue.push(child);
            }
        }
    }
    above.retain(|parent| !generic.get(parent as usize).copied().unwrap_or(false));
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
fn is_generic(term: &About<'_>) -> bool {
    let prefix = term.id.split([':', '_']).next().unwrap_or_default();
    if UPPER.iter().any(|upper| upper.eq_ignore_ascii_case(prefix)) {
        return true;
    }
    let own = [
        Some(prefix),
        term.source.as_deref(),
        term.namespace.as_deref(),
    ]
    .map(|name| name.unwrap_or_default().to_lowercase());
    let name = term.name.to_lowercase();
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

/// Sets of roots, each once.
#[derive(Default)]
struct Sets {
    sets: Vec<Vec<u32>>,
    by_content: HashMap<Vec<u32>, u32>,
}

impl Sets {
    fn number(&mut self, set: Vec<u32>) -> u32 {
        if let Some(known) = self.by_content.get(&set) {
            return *known;
        }
        let number = self.sets.len() as u32;
        self.sets.push(set.clone());
        self.by_content.insert(set, number);
        number
    }
}

/// For each term, the number of its set of root ancestors; and the sets. A set is in depth-first
/// order, by the order of the parents. Slightly more than [`MAX_TYPES`] are kept. A cycle has no
/// root.
///
/// Tarjan's algorithm for strongly connected components visits ancestors first, so the time is
/// linear in the terms and `is_a` relations.
fn roots_above(above: &Relatives) -> (Vec<u32>, Vec<Vec<u32>>) {
    const NEW: u32 = u32::MAX;
    let mut sets = Sets::default();
    let none = sets.number(Vec::new());
    let mut set_of = vec![none; above.len()];
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
            if let Some(parent) = above.of(at).get(next).map(|parent| *parent as usize) {
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
            let found = if above.of(at).is_empty() {
                sets.number(vec![at as u32])
            } else {
                merged(&component, above, &set_of, &done, &mut sets)
            };
            for member in component {
                done[member] = true;
                set_of[member] = found;
            }
        }
    }
    (set_of, sets.sets)
}

/// The roots above the parents of a component that are outside of it, without duplicates.
fn merged(
    component: &[usize],
    above: &Relatives,
    set_of: &[u32],
    done: &[bool],
    sets: &mut Sets,
) -> u32 {
    let parents = || {
        let all = component.iter().flat_map(|member| above.of(*member));
        all.map(|parent| *parent as usize)
            .filter(|parent| done[*parent])
    };
    let mut different: Vec<u32> = parents().map(|parent| set_of[parent]).collect();
    different.dedup();
    if let [one] = different[..] {
        return one;
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for set in different {
        for root in &sets.sets[set as usize] {
            if found.len() <= MAX_TYPES && seen.insert(*root) {
                found.push(*root);
            }
        }
    }
    sets.number(found)
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

    fn relatives(above: &[Vec<usize>]) -> Relatives {
        let mut relatives = Relatives::default();
        for parents in above {
            relatives.push(parents.iter().map(|parent| *parent as u32));
        }
        relatives
    }

    fn roots_of(above: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let (set_of, sets) = roots_above(&relatives(above));
        let set = |number: u32| sets[number as usize].iter().map(|root| *root as usize);
        set_of
            .into_iter()
            .map(|number| set(number).collect())
            .collect()
    }

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
        let roots = roots_of(&above);
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
        fn roots_equal_a_depth_first_search(
            edges in prop::collection::vec((0_usize..12, 0_usize..12), 0..20),
        ) {
            let mut above = vec![Vec::new(); 12];
            edges
                .iter()
                .for_each(|(child, parent)| above[*child].push(*parent));
            let roots = roots_of(&above);
            let sorted = |mut roots: Vec<usize>| {
                roots.sort_unstable();
                roots
            };
            for (at, found) in roots.iter().enumerate() {
                prop_assert_eq!(
                    sorted(found.clone()),
                    sorted(searched(at, &above)),
                    "{} of {:?}",
                    at,
                    &above
                );
            }
            // Without cycles the order is the same, too.
            let mut above = vec![Vec::new(); 12];
            edges.iter().for_each(|(one, other)| {
                if one != other {
                    above[*one.max(other)].push(*one.min(other));
                }
            });
            let roots = roots_of(&above);
            for (at, found) in roots.iter().enumerate() {
                prop_assert_eq!(found, &searched(at, &above));
            }
        }
    }

    #[test]
    fn children_are_the_reverse_of_parents() {
        let above = relatives(&[vec![], vec![0], vec![1, 0], vec![2, 0]]);
        let below = above.reversed();
        assert_eq!(
            (0..4).map(|at| below.of(at).to_vec()).collect::<Vec<_>>(),
            [vec![1, 2, 3], vec![2], vec![3], vec![]]
        );
    }

    #[test]
    fn time_is_linear_for_a_long_chain_and_a_cycle() {
        let count = 200_000;
        let begin = Instant::now();
        let chain: Vec<Vec<usize>> = (0..count)
            .map(|at: usize| at.checked_sub(1).into_iter().collect())
            .collect();
        assert_eq!(roots_of(&chain)[count - 1], [0]);
        let cycle: Vec<Vec<usize>> = (0..count).map(|at| vec![(at + 1) % count]).collect();
        assert!(roots_of(&cycle).iter().all(Vec::is_empty));
        // A search from each term would visit 2 * 10^10 terms, which takes minutes.
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{:?}",
            begin.elapsed()
        );
    }
}
