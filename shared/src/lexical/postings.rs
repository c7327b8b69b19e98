//! A sparse inverted index over weighted terms: the sum-of-products ranking under TF-IDF and BM25.
//!
//! Every list of the query's terms is read whole. Skipping documents that cannot reach the first k any more was tried and
//! left out: with names this short most stay in the running until the last lists, so at k = 64 it won nothing.

use super::Ranked;
use crate::kb::ConceptId;

/// Lists in one block of memory.
#[derive(Clone, Debug)]
struct Lists<T> {
    /// List i is `items[starts[i]..starts[i + 1]]`.
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    fn new(lists: impl IntoIterator<Item = Vec<T>>) -> Self {
        let (mut starts, mut items) = (vec![0], Vec::new());
        for list in lists {
            items.extend(list);
            starts.push(items.len());
        }
        Self { starts, items }
    }

    fn get(&self, at: u32) -> &[T] {
        let at = at as usize;
        &self.items[self.starts[at]..self.starts[at + 1]]
    }
}

/// What a document is: its weighted terms (no term twice, weights above zero), and the concepts that it stands for.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub terms: Vec<(u32, f32)>,
    pub concepts: Vec<ConceptId>,
}

/// The index; a document scores the sum over the query's terms of query weight times document weight.
#[derive(Clone, Debug)]
pub(super) struct Postings {
    /// Of each term its documents, rising, with its weight in them.
    terms: Lists<(u32, f32)>,
    /// Of each document its concepts.
    owners: Lists<ConceptId>,
    documents: usize,
    /// One more than the last concept.
    concepts: usize,
}

/// The working memory of a search. It may serve one index after another; each thread has its own.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    query: Vec<(u32, f32)>,
    /// Of each document its score so far; all zero between searches.
    sums: Vec<f32>,
    /// The documents whose sum is not zero.
    touched: Vec<u32>,
    /// Documents by score, for selecting.
    order: Vec<(f32, u32)>,
    /// Of each concept the last round in which it was met.
    met: Vec<u32>,
    round: u32,
}

impl Scratch {
    /// Working memory that grows at its first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// A mark that no concept bears yet.
    fn next_round(&mut self) -> u32 {
        if self.round == u32::MAX {
            self.met.fill(0);
            self.round = 0;
        }
        self.round += 1;
        self.round
    }
}

impl Postings {
    /// Inverts the documents; `terms` is one more than the last term.
    pub fn new(terms: usize, documents: Vec<Document>) -> Self {
        let mut inverted: Vec<Vec<(u32, f32)>> = vec![Vec::new(); terms];
        for (at, document) in (0u32..).zip(&documents) {
            for (term, weight) in &document.terms {
                inverted[*term as usize].push((at, *weight));
            }
        }
        let concepts = documents.iter().flat_map(|document| &document.concepts).map(|id| id.index() + 1).max();
        Self {
            terms: Lists::new(inverted),
            documents: documents.len(),
            concepts: concepts.unwrap_or(0),
            owners: Lists::new(documents.into_iter().map(|document| document.concepts)),
        }
    }

    /// The best `k` concepts, each by its best document, of those that share a term with the query.
    ///
    /// `query` has no term twice and weights above zero.
    pub fn search(&self, query: impl IntoIterator<Item = (u32, f32)>, k: usize, scratch: &mut Scratch) -> Ranked {
        if k == 0 {
            return Vec::new();
        }
        scratch.sums.resize(self.documents, 0.0);
        scratch.met.resize(self.concepts.max(scratch.met.len()), 0);
        scratch.query.clear();
        scratch.query.extend(query);
        // Sums are taken in one order, so that equal documents have equal scores to the last bit.
        scratch.query.sort_unstable_by_key(|(term, _)| *term);
        for (term, weight) in &scratch.query {
            for (document, of_document) in self.terms.get(*term) {
                let sum = &mut scratch.sums[*document as usize];
                if *sum == 0.0 {
                    scratch.touched.push(*document);
                }
                *sum += weight * of_document;
            }
        }
        let ranked = self.rank(k, scratch);
        for document in scratch.touched.drain(..) {
            scratch.sums[document as usize] = 0.0;
        }
        ranked
    }

    fn rank(&self, k: usize, scratch: &mut Scratch) -> Ranked {
        let floor = self.floor(k, scratch);
        let Scratch { sums, touched, order, .. } = scratch;
        order.clear();
        order.extend(touched.iter().map(|at| (sums[*at as usize], *at)).filter(|(score, _)| *score >= floor));
        order.sort_unstable_by(best_first);
        let round = scratch.next_round();
        let mut ranked: Ranked = Vec::new();
        for (score, document) in &scratch.order {
            for concept in self.owners.get(*document) {
                if std::mem::replace(&mut scratch.met[concept.index()], round) != round {
                    ranked.push((*concept, *score));
                }
            }
        }
        ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(k);
        ranked
    }

    /// The score that `k` concepts have reached; zero if fewer were met.
    fn floor(&self, k: usize, scratch: &mut Scratch) -> f32 {
        scratch.order.clear();
        scratch.order.extend(scratch.touched.iter().map(|at| (scratch.sums[*at as usize], *at)));
        let mut take = k.saturating_mul(2);
        loop {
            let all = take >= scratch.order.len();
            if all {
                take = scratch.order.len();
            } else {
                scratch.order.select_nth_unstable_by(take, best_first);
            }
            scratch.order[..take].sort_unstable_by(best_first);
            let round = scratch.next_round();
            let mut met = 0;
            for (score, document) in &scratch.order[..take] {
                for concept in self.owners.get(*document) {
                    met += usize::from(std::mem::replace(&mut scratch.met[concept.index()], round) != round);
                }
                if met >= k {
                    return *score;
                }
            }
            if all {
                return 0.0;
            }
            take = take.saturating_mul(4);
        }
    }
}

fn best_first(a: &(f32, u32), b: &(f32, u32)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_concept_counts_by_its_best_document_and_ties_go_by_concept_order() {
        let document = |terms: &[(u32, f32)], concepts: &[u32]| Document {
            terms: terms.to_vec(),
            concepts: concepts.iter().map(|at| ConceptId(*at)).collect(),
        };
        let postings = Postings::new(
            3,
            vec![document(&[(0, 1.0)], &[2]), document(&[(1, 2.0), (0, 1.0)], &[1, 2]), document(&[(0, 1.0)], &[0])],
        );
        let mut scratch = Scratch::new();
        // Documents: 1; 1 + 2 * 0.5; 1.
        let ranked = postings.search([(0, 1.0), (1, 0.5)], 8, &mut scratch);
        assert_eq!(ranked, [(ConceptId(1), 2.0), (ConceptId(2), 2.0), (ConceptId(0), 1.0)]);
        assert_eq!(postings.search([(0, 1.0)], 2, &mut scratch), [(ConceptId(0), 1.0), (ConceptId(1), 1.0)]);
        assert_eq!(postings.search([(2, 1.0)], 2, &mut scratch), []);
        assert_eq!(postings.search([(0, 1.0)], 0, &mut scratch), []);
    }

    /// Few distinct weights, so that ties abound.
    fn weighted(terms: u32, most: usize) -> impl Strategy<Value = Vec<(u32, f32)>> {
        proptest::collection::btree_map(0..terms, (1u32..5).prop_map(|w| w as f32 / 3.0), 0..most)
            .prop_map(|terms| terms.into_iter().collect())
    }

    proptest! {
        #[test]
        fn the_first_k_are_those_of_a_full_sort(
            documents in proptest::collection::vec((weighted(12, 6), proptest::collection::btree_set(0u32..20, 1..3)), 1..120),
            queries in proptest::collection::vec((weighted(12, 8), 1usize..6), 1..8),
        ) {
            let documents: Vec<_> = documents
                .into_iter()
                .map(|(terms, concepts)| Document { terms, concepts: concepts.into_iter().map(ConceptId).collect() })
                .collect();
            let postings = Postings::new(12, documents.clone());
            let mut scratch = Scratch::new();
            for (query, k) in queries {
                let mut best = [0.0f32; 20];
                for document in &documents {
                    let mut sum = 0.0;
                    for (term, weight) in &query {
                        sum += document.terms.iter().filter(|(of, _)| of == term).map(|(_, w)| weight * w).sum::<f32>();
                    }
                    for concept in &document.concepts {
                        best[concept.index()] = best[concept.index()].max(sum);
                    }
                }
                let mut expected: Ranked =
                    (0u32..).map(ConceptId).zip(best).filter(|(_, score)| *score > 0.0).collect();
                expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                expected.truncate(k);
                prop_assert_eq!(postings.search(query, k, &mut scratch), expected);
            }
        }
    }
}
