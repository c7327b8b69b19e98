//! The concepts of an index that was kept while its knowledge base changed:
//! `index.concepts.bin`.
//!
//! Rows of an index are numbered by concept. When concepts are renamed and merged, the file of the
//! index stays as it is, and this map gives the concept of each number. Rows of a concept that was
//! merged into another are further rows of that one.

use super::top::best_per_concept;
use pel_kb::ConceptId;
use pel_kb::container;
use pel_kb::container::{Check, Container, Format};
use pel_kb::error::{Error, Result};
use pel_kb::leb128;
use pel_kb::score::Candidate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const FORMAT: Format = Format {
    magic: b"PELCNMAP",
    version: 1,
    name: "concept map",
};

/// The section with the runs of numbers whose concepts follow each other: for each run its length,
/// and 0 for retired concepts, or else 1 more than the distance from the end of the run before it
/// (zigzag), all in LEB128.
const RUNS: &str = "runs";

/// The section with the concepts whose rows are not of their texts: the distances between them, in
/// LEB128.
const STALE: &str = "stale";

/// Further candidates that a search takes, since several can be of one concept.
const SPARE: usize = 16;

/// The header of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    /// The numbers of concepts in the index.
    numbers: usize,
    /// The concepts of the knowledge base.
    concepts: usize,
}

/// The concept of each number of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConceptMap {
    concepts: Vec<Option<ConceptId>>,
    /// The position in `numbers` of the first number of each concept, and the end.
    starts: Vec<u32>,
    /// The numbers of all concepts, ascending for each.
    numbers: Vec<u32>,
    stale: BTreeSet<ConceptId>,
}

impl ConceptMap {
    /// The map of an index with a concept for each number, or none for a retired one. `count` is
    /// the number of concepts of the knowledge base; `stale` has those whose rows are not of their
    /// texts.
    ///
    /// # Errors
    /// If a concept is not below `count`.
    pub fn new(
        concepts: Vec<Option<ConceptId>>,
        count: usize,
        stale: BTreeSet<ConceptId>,
    ) -> Result<Self> {
        let mut starts = vec![0u32; count + 1];
        for concept in concepts.iter().flatten() {
            match starts.get_mut(concept.index() + 1) {
                Some(start) => *start += 1,
                None => return Err(beyond(*concept, count)),
            }
        }
        if let Some(last) = stale.last().filter(|last| last.index() >= count) {
            return Err(beyond(*last, count));
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut numbers = vec![0; starts[count] as usize];
        for (number, concept) in (0u32..).zip(&concepts) {
            if let Some(concept) = concept {
                let at = &mut next[concept.index()];
                numbers[*at as usize] = number;
                *at += 1;
            }
        }
        Ok(Self {
            concepts,
            starts,
            numbers,
            stale,
        })
    }

    /// Whether each number is that of its concept, and the rows of all concepts are of their texts.
    /// Such a map need not be stored.
    pub fn is_identity(&self) -> bool {
        let own = (0..).map(|at| Some(ConceptId(at)));
        self.stale.is_empty()
            && self.concepts.len() == self.count()
            && self.concepts.iter().copied().zip(own).all(|(a, b)| a == b)
    }

    /// The number of concepts of the knowledge base.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The numbers of concepts in the index.
    pub fn len(&self) -> usize {
        self.concepts.len()
    }

    /// Whether there is no number.
    pub fn is_empty(&self) -> bool {
        self.concepts.is_empty()
    }

    /// The concept of a number; `None` if it was retired without a successor.
    pub fn concept(&self, number: ConceptId) -> Option<ConceptId> {
        self.concepts.get(number.index()).copied().flatten()
    }

    /// The numbers of a concept, ascending.
    pub fn numbers(&self, concept: ConceptId) -> impl Iterator<Item = ConceptId> + '_ {
        let at = concept.index();
        let own = self.starts.get(at).zip(self.starts.get(at + 1));
        let own = own.and_then(|(start, end)| self.numbers.get(*start as usize..*end as usize));
        own.unwrap_or_default().iter().copied().map(ConceptId)
    }

    /// Whether the rows of a concept are not of its texts: it was renamed, or others were merged
    /// into it.
    pub fn is_stale(&self, concept: ConceptId) -> bool {
        self.stale.contains(&concept)
    }

    /// The file.
    ///
    /// # Errors
    /// If its header cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (mut runs, mut stale) = (Vec::new(), Vec::new());
        let follows = |a: &Option<ConceptId>, b: &Option<ConceptId>| {
            a.map(|concept| i64::from(concept.0) + 1) == b.map(|concept| i64::from(concept.0))
        };
        let mut end = 0i64;
        for run in self.concepts.chunk_by(follows) {
            leb128::write(run.len() as u32, &mut runs);
            let Some(Some(first)) = run.first() else {
                leb128::write(0, &mut runs);
                continue;
            };
            let away = i64::from(first.0) - end;
            let zigzag = (away << 1) ^ (away >> 63);
            leb128::write(u32::try_from(zigzag + 1).map_err(|_| too_far())?, &mut runs);
            end = i64::from(first.0) + run.len() as i64;
        }
        let mut before = 0;
        for concept in &self.stale {
            leb128::write(concept.0 - before, &mut stale);
            before = concept.0;
        }
        let sizes = Sizes {
            numbers: self.len(),
            concepts: self.count(),
        };
        container::write(FORMAT, &sizes, &[(RUNS, &runs), (STALE, &stale)])
    }

    /// Reads the file. `numbers` and `concepts` are the counts that it must have at most.
    ///
    /// # Errors
    /// If the bytes are truncated, altered, of another version, or inconsistent.
    pub fn from_bytes(bytes: &bytes::Bytes, check: Check) -> Result<Self> {
        let container = Container::<Sizes>::read(FORMAT, bytes, check)?;
        let Sizes { numbers, concepts } = container.fields;
        if u32::try_from(numbers.max(concepts)).is_err() {
            return Err(damaged("expected at most 2^32 concepts"));
        }
        let (runs, stale) = (container.section(RUNS)?, container.section(STALE)?);
        let (mut runs, mut stale) = (&runs[..], &stale[..]);
        // Memory follows the numbers that are read, not those that the header promises.
        let (mut found, mut end) = (Vec::new(), 0i64);
        while !runs.is_empty() {
            let both = leb128::read(&mut runs).zip(leb128::read(&mut runs));
            let (length, place) = both.ok_or_else(|| damaged("a run is truncated"))?;
            if length == 0 || length as usize > numbers - found.len() {
                return Err(damaged(&format!(
                    "expected runs of {numbers} numbers in all, found a run of {length} after {}",
                    found.len()
                )));
            }
            let Some(zigzag) = place.checked_sub(1).map(i64::from) else {
                found.resize(found.len() + length as usize, None);
                continue;
            };
            let first = end + ((zigzag >> 1) ^ -(zigzag & 1));
            end = first + i64::from(length);
            if first < 0 || end > concepts as i64 {
                return Err(damaged(&format!(
                    "expected concepts below {concepts}, found {first} to {end}"
                )));
            }
            found.extend((first as u32..end as u32).map(|at| Some(ConceptId(at))));
        }
        if found.len() != numbers {
            let found = found.len();
            return Err(damaged(&format!(
                "expected {numbers} numbers, found {found}"
            )));
        }
        let (mut of_stale, mut before) = (BTreeSet::new(), 0u32);
        while !stale.is_empty() {
            let away = leb128::read(&mut stale).and_then(|away| before.checked_add(away));
            before = away.ok_or_else(|| damaged("a concept is truncated"))?;
            of_stale.insert(ConceptId(before));
        }
        Self::new(found, concepts, of_stale)
    }

    /// The best `k` concepts of each query, given a search for numbers of an index.
    ///
    /// # Shapes
    /// queries `[n, dim]` -> n lists
    pub(crate) fn search(
        &self,
        queries: &[f32],
        dim: usize,
        k: usize,
        search: impl Fn(&[f32], usize) -> Vec<Vec<Candidate>>,
    ) -> Vec<Vec<Candidate>> {
        // Each number beyond one for each concept takes a place from another concept at most once.
        let spare = self.len().saturating_sub(self.with_rows()).min(SPARE);
        let first = k.saturating_add(spare);
        let found = search(queries, first);
        let one = |(query, mut found): (&[f32], Vec<Candidate>)| {
            let mut taken = first;
            loop {
                let is_full = found.len() >= taken;
                let own = self.concepts_of(found, k);
                if own.len() >= k || !is_full {
                    return own;
                }
                taken = taken.saturating_mul(2);
                found = search(query, taken).pop().unwrap_or_default();
            }
        };
        queries.chunks_exact(dim).zip(found).map(one).collect()
    }

    /// The number of concepts with a number.
    fn with_rows(&self) -> usize {
        let pairs = self.starts.array_windows();
        pairs.filter(|[start, end]| start < end).count()
    }

    /// The best k concepts of scored numbers.
    fn concepts_of(&self, found: Vec<Candidate>, k: usize) -> Vec<Candidate> {
        let own = found
            .into_iter()
            .filter_map(|Candidate { concept, score }| {
                let concept = self.concept(concept)?;
                Some(Candidate { concept, score })
            });
        best_per_concept(own.collect(), k)
    }
}

fn damaged(what: &str) -> Error {
    Error::artifact(format!("the concept map: {what}"))
}

fn beyond(concept: ConceptId, count: usize) -> Error {
    damaged(&format!(
        "expected concepts below {count}, found {}",
        concept.0
    ))
}

fn too_far() -> Error {
    damaged("expected fewer than 2^30 concepts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn map(concepts: &[Option<u32>], count: usize, stale: &[u32]) -> ConceptMap {
        let concepts = concepts.iter().map(|own| own.map(ConceptId)).collect();
        let stale = stale.iter().copied().map(ConceptId).collect();
        ConceptMap::new(concepts, count, stale).expect("below the count")
    }

    fn candidate(concept: u32, score: f32) -> Candidate {
        Candidate {
            concept: ConceptId(concept),
            score,
        }
    }

    /// Four numbers: the third is merged into the first, the fourth is retired.
    fn merged() -> ConceptMap {
        map(&[Some(0), Some(1), Some(0), None], 2, &[0])
    }

    #[test]
    fn merged_concept_has_the_numbers_of_both() {
        let map = merged();
        let numbers = |concept| map.numbers(ConceptId(concept)).map(|own| own.0);
        assert_eq!(numbers(0).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(numbers(1).collect::<Vec<_>>(), [1]);
        assert_eq!(numbers(2).count(), 0);
        assert_eq!(map.concept(ConceptId(2)), Some(ConceptId(0)));
        assert_eq!(map.concept(ConceptId(3)), None);
        assert_eq!(map.concept(ConceptId(4)), None);
        assert!(map.is_stale(ConceptId(0)) && !map.is_stale(ConceptId(1)));
        assert!(!map.is_identity());
    }

    #[test]
    fn search_fills_the_places_of_merged_and_retired_numbers() {
        let scores = [0.7, 0.5, 0.9, 1.0];
        let search = |queries: &[f32], k: usize| {
            let mut found: Vec<_> = (0..).zip(scores).map(|(at, s)| candidate(at, s)).collect();
            found.sort_by(Candidate::rank);
            found.truncate(k);
            vec![found; queries.len()]
        };
        for (k, expected) in [
            (0, vec![]),
            (1, vec![candidate(0, 0.9)]),
            (2, vec![candidate(0, 0.9), candidate(1, 0.5)]),
            (9, vec![candidate(0, 0.9), candidate(1, 0.5)]),
        ] {
            let found = merged().search(&[0.0, 0.0], 1, k, search);
            assert_eq!(found, [expected.clone(), expected], "{k}");
        }
    }

    #[test]
    fn identity_needs_no_file() {
        assert!(map(&[Some(0), Some(1)], 2, &[]).is_identity());
        assert!(!map(&[Some(0), Some(1)], 2, &[1]).is_identity());
        assert!(!map(&[Some(1), Some(0)], 2, &[]).is_identity());
        assert!(!map(&[Some(0)], 2, &[]).is_identity());
    }

    #[test]
    fn file_of_few_merges_is_small() {
        let mut concepts: Vec<_> = (0..47_671).map(Some).collect();
        for number in (0..40_000).step_by(100) {
            concepts[number] = Some(47_670);
        }
        let bytes = map(&concepts, 47_671, &[]).to_bytes().expect("written");
        assert!(bytes.len() < 6000, "{} bytes", bytes.len());
    }

    #[test]
    fn damaged_file_is_refused() {
        let write = |numbers, concepts, runs: &[u8], stale: &[u8]| {
            let sizes = Sizes { numbers, concepts };
            let bytes = container::write(FORMAT, &sizes, &[(RUNS, runs), (STALE, stale)]);
            ConceptMap::from_bytes(&Bytes::from(bytes.expect("written")), Check::Checksums)
        };
        // One run of two concepts from 0 on.
        assert_eq!(
            write(2, 2, &[2, 1], &[]).expect("whole"),
            map(&[Some(0), Some(1)], 2, &[])
        );
        for (numbers, concepts, runs, stale, expected) in [
            (2, 2, &[2][..], &[][..], "a run is truncated"),
            (2, 2, &[1, 1], &[], "expected 2 numbers, found 1"),
            (2, 2, &[3, 1], &[], "a run of 3 after 0"),
            (2, 2, &[0, 1], &[], "a run of 0 after 0"),
            (
                2,
                1,
                &[2, 1],
                &[],
                "expected concepts below 1, found 0 to 2",
            ),
            (2, 2, &[2, 2], &[], "found -1 to 1"),
            (2, 2, &[2, 1], &[2], "expected concepts below 2, found 2"),
            (2, 2, &[2, 1], &[0x80], "a concept is truncated"),
        ] {
            let said = write(numbers, concepts, runs, stale).expect_err("damaged");
            assert!(said.to_string().contains(expected), "{expected}: {said}");
        }
        let mut bytes = merged().to_bytes().expect("written");
        let last = bytes.len() - 64;
        bytes[last] ^= 1;
        assert!(ConceptMap::from_bytes(&bytes.into(), Check::Checksums).is_err());
    }

    proptest! {
        #[test]
        fn map_is_read_back(
            concepts in prop::collection::vec(prop::option::of(0u32..40), 0..60),
            stale in prop::collection::btree_set(0u32..40, 0..9),
        ) {
            let stale: Vec<u32> = stale.into_iter().collect();
            let map = map(&concepts, 40, &stale);
            let bytes = Bytes::from(map.to_bytes().expect("written"));
            prop_assert_eq!(
                &ConceptMap::from_bytes(&bytes, Check::Checksums).expect("whole"), &map);
            for (number, concept) in (0..).map(ConceptId).zip(&concepts) {
                if let Some(concept) = concept {
                    prop_assert!(map.numbers(ConceptId(*concept)).any(|own| own == number));
                }
            }
        }
    }
}
