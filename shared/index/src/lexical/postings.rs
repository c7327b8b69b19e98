//! A sparse inverted index that ranks documents by the sum of products of term weights, for TF-IDF
//! and BM25.
//!
//! A search reads all postings of the query's terms. Skipping documents that cannot reach the top k
//! (as in WAND) saved no time: names are short, so most documents stay candidates to the end.

use pel_kb::ConceptId;
use pel_kb::score::Candidate;

/// Lists of different lengths in one allocation.
#[derive(Clone, Debug)]
struct Lists<T> {
    /// The bounds: list i is `items[starts[i]..starts[i + 1]]`.
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    fn new(lists: impl IntoIterator<Item = Vec<T>>) -> Self {
        let mut starts = vec![0];
        let mut items = Vec::new();
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

/// A document: its terms with positive weights, each term once, and the concepts that it belongs
/// to.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub terms: Vec<(u32, f32)>,
    pub concepts: Vec<ConceptId>,
}

/// The inverted index. A document's score is the sum over the query's terms of query weight times
/// document weight.
#[derive(Clone, Debug)]
pub(super) struct Postings {
    /// For each term, its documents in ascending order with the term's weights.
    terms: Lists<(u32, f32)>,
    /// For each document, its concepts.
    owners: Lists<ConceptId>,
    documents: usize,
    /// The largest concept position plus 1.
    concepts: usize,
}

/// Buffers of a search, which can be reused with any index. Each thread needs its own.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    query: Vec<(u32, f32)>,
    /// The score of each document; all zero between searches.
    sums: Vec<f32>,
    /// The documents with a score above zero.
    touched: Vec<u32>,
    /// Scores and documents, for sorting.
    order: Vec<(f32, u32)>,
    /// For each concept, the last round in which it was seen.
    seen: Vec<u32>,
    round: u32,
}

impl Scratch {
    /// Empty buffers, which grow at the first search.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a round, in which no concept has been seen.
    fn next_round(&mut self) -> u32 {
        if self.round == u32::MAX {
            self.seen.fill(0);
            self.round = 0;
        }
        self.round += 1;
        self.round
    }
}

impl Postings {
    /// Inverts the documents. `terms` is the largest term plus 1.
    pub fn new(terms: usize, documents: Vec<Document>) -> Self {
        let mut inverted: Vec<Vec<(u32, f32)>> = vec![Vec::new(); terms];
        for (at, document) in (0u32..).zip(&documents) {
            for (term, weight) in &document.terms {
                inverted[*term as usize].push((at, *weight));
            }
        }
        let concepts = documents
            .iter()
            .flat_map(|document| &document.concepts)
            .map(|id| id.index() + 1)
            .max();
        Self {
            terms: Lists::new(inverted),
            documents: documents.len(),
            concepts: concepts.unwrap_or(0),
            owners: Lists::new(documents.into_iter().map(|document| document.concepts)),
        }
    }

    /// The best `k` concepts that share a term with the query. A concept has the score of its best
    /// document.
    ///
    /// `query` has each term once, with positive weights.
    pub fn search(
        &self,
        query: impl IntoIterator<Item = (u32, f32)>,
        k: usize,
        scratch: &mut Scratch,
    ) -> Vec<Candidate> {
        if k == 0 {
            return Vec::new();
        }
        scratch.sums.resize(self.documents, 0.0);
        scratch
            .seen
            .resize(self.concepts.max(scratch.seen.len()), 0);
        scratch.query.clear();
        scratch.query.extend(query);
        // Terms are added in ascending order, so equal documents have bitwise equal scores.
        scratch.query.sort_unstable_by_key(|(term, _)| *term);
        for (term, weight) in &scratch.query {
            for (document, document_weight) in self.terms.get(*term) {
                let sum = &mut scratch.sums[*document as usize];
                if *sum == 0.0 {
                    scratch.touched.push(*document);
                }
                *sum += weight * document_weight;
            }
        }
        let ranked = self.rank(k, scratch);
        for document in scratch.touched.drain(..) {
            scratch.sums[document as usize] = 0.0;
        }
        ranked
    }

    fn rank(&self, k: usize, scratch: &mut Scratch) -> Vec<Candidate> {
        let min_score = self.kth_score(k, scratch);
        let Scratch {
            sums,
            touched,
            order,
            ..
        } = scratch;
        order.clear();
        order.extend(
            touched
                .iter()
                .map(|at| (sums[*at as usize], *at))
                .filter(|(score, _)| *score >= min_score),
        );
        order.sort_unstable_by(descending);
        let round = scratch.next_round();
        let mut ranked: Vec<Candidate> = Vec::new();
        for (score, document) in &scratch.order {
            for concept in self.owners.get(*document) {
                if std::mem::replace(&mut scratch.seen[concept.index()], round) != round {
                    ranked.push(Candidate::new(*concept, *score));
                }
            }
        }
        ranked.sort_unstable_by(Candidate::rank);
        ranked.truncate(k);
        ranked
    }

    /// The score of the k-th concept; 0 if there are fewer.
    fn kth_score(&self, k: usize, scratch: &mut Scratch) -> f32 {
        scratch.order.clear();
        scratch.order.extend(
            scratch
                .touched
                .iter()
                .map(|at| (scratch.sums[*at as usize], *at)),
        );
        let mut take = k.saturating_mul(2);
        loop {
            let is_last = take >= scratch.order.len();
            if is_last {
                take = scratch.order.len();
            } else {
                scratch.order.select_nth_unstable_by(take, descending);
            }
            scratch.order[..take].sort_unstable_by(descending);
            let round = scratch.next_round();
            let mut seen = 0;
            for (score, document) in &scratch.order[..take] {
                for concept in self.owners.get(*document) {
                    seen += usize::from(
                        std::mem::replace(&mut scratch.seen[concept.index()], round) != round,
                    );
                }
                if seen >= k {
                    return *score;
                }
            }
            if is_last {
                return 0.0;
            }
            take = take.saturating_mul(4);
        }
    }
}

fn descending(a: &(f32, u32), b: &(f32, u32)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn search_takes_the_best_document_of_a_concept_and_orders_ties_by_concept() {
        let document = |terms: &[(u32, f32)], concepts: &[u32]| Document {
            terms: terms.to_vec(),
            concepts: concepts.iter().map(|at| ConceptId(*at)).collect(),
        };
        let postings = Postings::new(
            3,
            vec![
                document(&[(0, 1.0)], &[2]),
                document(&[(1, 2.0), (0, 1.0)], &[1, 2]),
                document(&[(0, 1.0)], &[0]),
            ],
        );
        let candidate = |(at, score)| Candidate::new(ConceptId(at), score);
        let mut scratch = Scratch::new();
        // Documents: 1; 1 + 2 * 0.5; 1.
        let ranked = postings.search([(0, 1.0), (1, 0.5)], 8, &mut scratch);
        assert_eq!(ranked, [(1, 2.0), (2, 2.0), (0, 1.0)].map(candidate));
        assert_eq!(
            postings.search([(0, 1.0)], 2, &mut scratch),
            [(0, 1.0), (1, 1.0)].map(candidate)
        );
        assert_eq!(postings.search([(2, 1.0)], 2, &mut scratch), []);
        assert_eq!(postings.search([(0, 1.0)], 0, &mut scratch), []);
    }

    /// Terms with few distinct weights, so that ties are frequent.
    fn weighted(terms: u32, most: usize) -> impl Strategy<Value = Vec<(u32, f32)>> {
        proptest::collection::btree_map(0..terms, (1u32..5).prop_map(|w| w as f32 / 3.0), 0..most)
            .prop_map(|terms| terms.into_iter().collect())
    }

    proptest! {
        #[test]
        fn search_equals_a_full_sort(
            documents in proptest::collection::vec(
                (weighted(12, 6), proptest::collection::btree_set(0u32..20, 1..3)),
                1..120,
            ),
            queries in proptest::collection::vec((weighted(12, 8), 1usize..6), 1..8),
        ) {
            let documents: Vec<_> = documents
                .into_iter()
                .map(|(terms, concepts)| Document {
                    terms,
                    concepts: concepts.into_iter().map(ConceptId).collect(),
                })
                .collect();
            let postings = Postings::new(12, documents.clone());
            let mut scratch = Scratch::new();
            for (query, k) in queries {
                let mut best = [0.0f32; 20];
                for document in &documents {
                    let mut sum = 0.0;
                    for (term, weight) in &query {
                        sum += document
                            .terms
                            .iter()
                            .filter(|(of, _)| of == term)
                            .map(|(_, w)| weight * w)
                            .sum::<f32>();
                    }
                    for concept in &document.concepts {
                        best[concept.index()] = best[concept.index()].max(sum);
                    }
                }
                let candidates = (0u32..)
                    .zip(best)
                    .map(|(at, score)| Candidate::new(ConceptId(at), score));
                let mut expected: Vec<Candidate> =
                    candidates.filter(|found| found.score > 0.0).collect();
                expected.sort_by(Candidate::rank);
                expected.truncate(k);
                prop_assert_eq!(postings.search(query, k, &mut scratch), expected);
            }
        }
    }
}
