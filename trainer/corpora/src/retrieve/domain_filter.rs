//! ZESHEL's protocol (Logeswaran et al., 2019): a search among the concepts of the mention's own
//! domain.

use crate::domain::{OwnDomain, missing_domain_error};
use crate::retrieve::{CandidateLists, Retriever, SearchKind, Tick};
use crate::split::MentionQuery;
use pel_io::interrupt;
use pel_kb::KnowledgeBase;
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A retriever that searches the mention's own domain. For a mention without a domain it searches
/// all concepts.
pub struct Within<'a> {
    retriever: &'a dyn Retriever,
    own: OwnDomain,
    concepts: usize,
    /// The concepts of each domain.
    members: HashMap<&'a str, HashSet<u32>>,
}

impl<'a> Within<'a> {
    /// Groups concepts by domain.
    pub fn new(retriever: &'a dyn Retriever, kb: &'a KnowledgeBase, own: OwnDomain) -> Self {
        Self {
            retriever,
            own,
            concepts: kb.len(),
            members: own.members(kb),
        }
    }

    /// The concepts of a mention's domain; `None` if it has none.
    fn of(&self, query: &MentionQuery<'_>) -> Result<Option<&HashSet<u32>>> {
        let Some(domain) = query.domain else {
            return Ok(None);
        };
        self.members
            .get(domain)
            .map(Some)
            .ok_or_else(|| missing_domain_error(domain))
    }
}

impl Retriever for Within<'_> {
    fn name(&self) -> &str {
        self.retriever.name()
    }

    fn protocol(&self) -> String {
        format!("{}; {}", self.retriever.protocol(), self.own.words())
    }

    fn threshold(&self) -> Option<f32> {
        self.retriever.threshold()
    }

    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        let members = queries
            .iter()
            .map(|query| self.of(query))
            .collect::<Result<Vec<_>>>()?;
        let first_pass = match self.retriever.search_kind() {
            SearchKind::Exact => k,
            SearchKind::FirstPass(count) => k.max(count),
            SearchKind::Graph => {
                return Err(Error::input(
                    "--within-domain: the index is a graph, which finds the nearest of all \
                     domains; expected one without --hnsw",
                ));
            }
        };
        let (mut found, mut open) = (vec![Vec::new(); queries.len()], Vec::new());
        let mut of_domain: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        queries
            .iter()
            .enumerate()
            .for_each(|(at, query)| of_domain.entry(query.domain).or_default().push(at));
        for places in of_domain.into_values() {
            let asked: Vec<MentionQuery<'_>> = places.iter().map(|at| queries[*at]).collect();
            let among =
                members[places[0]].map(|own| self.retriever.search_among(own, &asked, k, done));
            match among.flatten() {
                Some(ranked) => places
                    .into_iter()
                    .zip(ranked?)
                    .for_each(|(at, ranked)| found[at] = ranked),
                None => open.extend(places),
            }
        }
        open.sort_unstable();
        // The number of candidates grows until the domain has enough, which is as exact as the
        // search itself. With a first pass, the domain must give the second pass as many candidates
        // as all concepts would.
        let mut wanted = first_pass;
        while !open.is_empty() {
            wanted = (4 * wanted).min(self.concepts);
            let asked: Vec<MentionQuery<'_>> = open.iter().map(|at| queries[*at]).collect();
            let ranked = self
                .retriever
                .search(&asked, wanted, &mut |_| interrupt::check())?;
            let mut left = Vec::new();
            for (at, ranked) in open.into_iter().zip(ranked) {
                let all = ranked.len();
                let own = |found: &Candidate| {
                    members[at].is_none_or(|own| own.contains(&found.concept.0))
                };
                found[at] = ranked.into_iter().filter(own).collect();
                let enough = first_pass.min(members[at].map_or(first_pass, HashSet::len));
                match found[at].len() >= enough || all < wanted || wanted == self.concepts {
                    true => {
                        found[at].truncate(k);
                        done(1)?;
                    }
                    false => left.push(at),
                }
            }
            open = left;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Split;
    use pel_kb::{Concept, ConceptId};
    use pel_text::Span;

    /// Finds the first concepts by number, or with a first pass as many as that, in descending
    /// order.
    struct Descending {
        concepts: usize,
        kind: SearchKind,
    }

    impl Retriever for Descending {
        fn name(&self) -> &str {
            "descending"
        }

        fn protocol(&self) -> String {
            String::new()
        }

        fn search_kind(&self) -> SearchKind {
            self.kind
        }

        fn search(
            &self,
            queries: &[MentionQuery<'_>],
            k: usize,
            done: Tick<'_>,
        ) -> Result<CandidateLists> {
            done(queries.len())?;
            let scored = match self.kind {
                SearchKind::FirstPass(count) => self.concepts.min(count.max(k)),
                SearchKind::Exact | SearchKind::Graph => self.concepts,
            };
            let all = (0..scored as u32)
                .rev()
                .map(|at| Candidate::new(ConceptId(at), at as f32))
                .take(k);
            Ok(vec![all.collect(); queries.len()])
        }
    }

    #[test]
    fn first_pass_gives_as_many_candidates_within_a_domain_as_without() {
        let mut kb = KnowledgeBase::new();
        for at in 0..40 {
            let sources = vec![if at % 2 == 0 { "even" } else { "odd" }.to_owned()];
            kb.push(Concept {
                id: format!("C{at}"),
                name: format!("name {at}"),
                sources,
                ..Concept::default()
            })
            .expect("new");
        }
        let query = MentionQuery {
            text: "x",
            span: Span::new(0, 1),
            domain: Some("even"),
        };
        let search = |kind| {
            let retriever = Descending { concepts: 40, kind };
            Within::new(&retriever, &kb, OwnDomain::Document).search(&[query], 2, &mut |_| Ok(()))
        };
        // At least six concepts of the domain are scored, 0 to 10.
        let found = search(SearchKind::FirstPass(6))
            .expect("a known domain")
            .remove(0);
        assert!(
            found.len() == 2 && found[0].concept.0 >= 10 && found[0].concept.0 % 2 == 0,
            "{found:?}"
        );
        // All concepts of the domain are scored.
        let found = search(SearchKind::FirstPass(30))
            .expect("a known domain")
            .remove(0);
        assert_eq!(
            found
                .iter()
                .map(|found| found.concept.0)
                .collect::<Vec<_>>(),
            [38, 36]
        );
        let error = search(SearchKind::Graph).expect_err("a graph").to_string();
        assert!(error.contains("expected one without --hnsw"), "{error}");
    }

    #[test]
    fn domain_can_be_that_of_the_right_concept() {
        let mut kb = KnowledgeBase::new();
        for (id, kind) in [
            ("C0", "Sign"),
            ("C1", "Drug"),
            ("C2", "Sign"),
            ("C3", "Drug"),
        ] {
            let types = vec![kind.to_owned()];
            kb.push(Concept {
                id: id.into(),
                name: id.into(),
                types,
                ..Concept::default()
            })
            .expect("new");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, lines: Vec<serde_json::Value>| {
            pel_io::files::write_jsonl(&folder.path().join(name), lines).expect("written");
        };
        let mention = |id: &str| {
            serde_json::json!({"doc_id": "d", "start": 0, "end": 1,
                "text": "a", "id": id})
        };
        write(
            "documents.jsonl",
            vec![serde_json::json!({"doc_id": "d", "text": "a b"})],
        );
        write(
            "mentions.test.jsonl",
            vec![mention("C0"), mention("C1"), mention("C9")],
        );
        let read = || Split::read(folder.path(), "test", 1, &kb, None).expect("readable");
        let error = read()
            .in_own_domain(Some(OwnDomain::Document), &kb)
            .map(drop)
            .expect_err("no document says it")
            .to_string();
        assert!(error.contains("--within-domain=type"), "{error}");
        let split = read()
            .in_own_domain(Some(OwnDomain::Type), &kb)
            .expect("types");
        let retriever = Descending {
            concepts: 4,
            kind: SearchKind::Exact,
        };
        let within = Within::new(&retriever, &kb, OwnDomain::Type);
        let queries: Vec<MentionQuery<'_>> = split.queries().collect();
        let found = within.search(&queries, 4, &mut |_| Ok(())).expect("found");
        let ids: Vec<Vec<u32>> = found
            .iter()
            .map(|ranked| ranked.iter().map(|found| found.concept.0).collect())
            .collect();
        // For a mention without a concept all concepts are searched.
        assert_eq!(ids, [vec![2, 0], vec![3, 1], vec![3, 2, 1, 0]]);
        assert!(within.protocol().contains("ORACLE"));
    }

    #[test]
    fn search_finds_only_concepts_of_the_own_domain() {
        let mut kb = KnowledgeBase::new();
        for at in 0..40 {
            let (id, name) = (format!("C{at}"), format!("name {at}"));
            // Two domains; the first has four concepts, which are found last.
            let sources = vec![if at < 4 { "small" } else { "large" }.to_owned()];
            kb.push(Concept {
                id,
                name,
                sources,
                ..Concept::default()
            })
            .expect("new");
        }
        let (retriever, span) = (
            Descending {
                concepts: 40,
                kind: SearchKind::Exact,
            },
            Span::new(0, 1),
        );
        let within = Within::new(&retriever, &kb, OwnDomain::Document);
        let query = |domain| MentionQuery {
            text: "x",
            span,
            domain,
        };
        let mut dealt = 0;
        let mut done = |mentions| {
            dealt += mentions;
            Ok(())
        };
        let queries = [query(Some("small")), query(Some("large")), query(None)];
        let found = within
            .search(&queries, 3, &mut done)
            .expect("known domains");
        let ids: Vec<Vec<u32>> = found
            .iter()
            .map(|ranked| ranked.iter().map(|found| found.concept.0).collect())
            .collect();
        assert_eq!(
            (ids, dealt),
            (vec![vec![3, 2, 1], vec![39, 38, 37], vec![39, 38, 37]], 3)
        );
        // More than the domain has.
        let found = within
            .search(&queries[..1], 9, &mut |_| Ok(()))
            .expect("a known domain");
        assert_eq!(found[0].len(), 4);
        let error = within
            .search(&[query(Some("nowhere"))], 3, &mut |_| Ok(()))
            .expect_err("no concept");
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
}
