//! ZESHEL's protocol (Logeswaran et al., 2019): a mention is searched among the concepts of its own world alone.

use crate::data::domain::OwnDomain;
use crate::data::domain::missing_domain_error;
use crate::data::split::Query;
use crate::io::interrupt;
use crate::retrieve::{Compared, Retriever};
use pel_shared::error::{Error, Result};
use pel_shared::kb::KnowledgeBase;
use pel_shared::lexical::Ranked;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A retriever that keeps to a mention's own domain. A mention without one is searched everywhere.
pub struct Within<'a> {
    retriever: &'a dyn Retriever,
    own: OwnDomain,
    concepts: usize,
    /// The concepts of each domain.
    members: HashMap<&'a str, HashSet<u32>>,
}

impl<'a> Within<'a> {
    /// Sorts concepts by their domains.
    pub fn new(retriever: &'a dyn Retriever, kb: &'a KnowledgeBase, own: OwnDomain) -> Self {
        Self { retriever, own, concepts: kb.len(), members: own.members(kb) }
    }

    /// The concepts of a mention's domain; nothing if it has none.
    fn of(&self, query: &Query<'_>) -> Result<Option<&HashSet<u32>>> {
        let Some(domain) = query.domain else { return Ok(None) };
        self.members.get(domain).map(Some).ok_or_else(|| missing_domain_error(domain))
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
        queries: &[Query<'_>],
        k: usize,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<Ranked>> {
        let members = queries.iter().map(|query| self.of(query)).collect::<Result<Vec<_>>>()?;
        let first_pass = match self.retriever.compared() {
            Compared::All => k,
            Compared::Best(count) => k.max(count),
            Compared::Graph => {
                return Err(Error::input(
                    "--within-domain: the index is a graph, which finds the nearest of all domains; expected one without --hnsw",
                ));
            }
        };
        let (mut found, mut open) = (vec![Ranked::new(); queries.len()], Vec::new());
        let mut of_domain: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        queries.iter().enumerate().for_each(|(at, query)| of_domain.entry(query.domain).or_default().push(at));
        for places in of_domain.into_values() {
            let asked: Vec<Query<'_>> = places.iter().map(|at| queries[*at]).collect();
            let among = members[places[0]].map(|own| self.retriever.search_among(own, &asked, k, done));
            match among.flatten() {
                Some(ranked) => places.into_iter().zip(ranked?).for_each(|(at, ranked)| found[at] = ranked),
                None => open.extend(places),
            }
        }
        open.sort_unstable();
        // More are asked for until the domain gives enough: that is as exact as the search behind it. Where that has a first pass, the
        // domain is to give as many to the second as all concepts would.
        let mut wanted = first_pass;
        while !open.is_empty() {
            wanted = (4 * wanted).min(self.concepts);
            let asked: Vec<Query<'_>> = open.iter().map(|at| queries[*at]).collect();
            let ranked = self.retriever.search(&asked, wanted, &mut |_| interrupt::check())?;
            let mut left = Vec::new();
            for (at, ranked) in open.into_iter().zip(ranked) {
                let all = ranked.len();
                let own = |(concept, _): &(pel_shared::kb::ConceptId, f32)| {
                    members[at].is_none_or(|own| own.contains(&concept.0))
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
    use crate::data::split::Split;
    use pel_shared::kb::{Concept, ConceptId};
    use pel_shared::text::Span;

    /// All concepts by their number, the last one first.
    struct Backwards(u32);

    impl Retriever for Backwards {
        fn name(&self) -> &str {
            "backwards"
        }

        fn protocol(&self) -> String {
            String::new()
        }

        fn search(
            &self,
            queries: &[Query<'_>],
            k: usize,
            done: &mut dyn FnMut(usize) -> Result<()>,
        ) -> Result<Vec<Ranked>> {
            done(queries.len())?;
            let all = (0..self.0).rev().map(|at| (ConceptId(at), at as f32)).take(k);
            Ok(vec![all.collect(); queries.len()])
        }
    }

    /// The best of a first pass, in which concepts stand by their number, by scores that turn them round; or a graph.
    struct Second(Compared);

    impl Retriever for Second {
        fn name(&self) -> &str {
            "second"
        }

        fn protocol(&self) -> String {
            String::new()
        }

        fn compared(&self) -> Compared {
            self.0
        }

        fn search(
            &self,
            queries: &[Query<'_>],
            k: usize,
            done: &mut dyn FnMut(usize) -> Result<()>,
        ) -> Result<Vec<Ranked>> {
            done(queries.len())?;
            let Compared::Best(count) = self.0 else { return Ok(vec![Ranked::new(); queries.len()]) };
            let all = (0..40.min(count.max(k) as u32)).rev().map(|at| (ConceptId(at), at as f32)).take(k);
            Ok(vec![all.collect(); queries.len()])
        }
    }

    #[test]
    fn a_domain_gives_a_first_pass_as_many_as_all_concepts_would() {
        let mut kb = KnowledgeBase::new();
        for at in 0..40 {
            let sources = vec![if at % 2 == 0 { "even" } else { "odd" }.to_owned()];
            kb.push(Concept { id: format!("C{at}"), name: format!("name {at}"), sources, ..Concept::default() })
                .expect("new");
        }
        let query = Query { text: "x", span: Span::new(0, 1), domain: Some("even") };
        let search =
            |compared| Within::new(&Second(compared), &kb, OwnDomain::Document).search(&[query], 2, &mut |_| Ok(()));
        // Six of the domain are compared at least, 0 to 10.
        let found = search(Compared::Best(6)).expect("a known domain").remove(0);
        assert!(found.len() == 2 && found[0].0.0 >= 10 && found[0].0.0 % 2 == 0, "{found:?}");
        // As many as the domain has: its best.
        let found = search(Compared::Best(30)).expect("a known domain").remove(0);
        assert_eq!(found.iter().map(|(concept, _)| concept.0).collect::<Vec<_>>(), [38, 36]);
        let error = search(Compared::Graph).expect_err("a graph").to_string();
        assert!(error.contains("expected one without --hnsw"), "{error}");
    }

    #[test]
    fn a_right_concept_can_give_its_domain_away() {
        let mut kb = KnowledgeBase::new();
        for (id, kind) in [("C0", "Sign"), ("C1", "Drug"), ("C2", "Sign"), ("C3", "Drug")] {
            let types = vec![kind.to_owned()];
            kb.push(Concept { id: id.into(), name: id.into(), types, ..Concept::default() }).expect("new");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, lines: Vec<serde_json::Value>| {
            crate::io::files::write_jsonl(&folder.path().join(name), lines).expect("written");
        };
        let mention = |id: &str| serde_json::json!({"doc_id": "d", "start": 0, "end": 1, "text": "a", "id": id});
        write("documents.jsonl", vec![serde_json::json!({"doc_id": "d", "text": "a b"})]);
        write("mentions.test.jsonl", vec![mention("C0"), mention("C1"), mention("C9")]);
        let read = || Split::read(folder.path(), "test", 1, &kb, None).expect("readable");
        let error = read()
            .in_own_domain(Some(OwnDomain::Document), &kb)
            .map(drop)
            .expect_err("no document says it")
            .to_string();
        assert!(error.contains("--within-domain=type"), "{error}");
        let split = read().in_own_domain(Some(OwnDomain::Type), &kb).expect("types");
        let backwards = Backwards(4);
        let within = Within::new(&backwards, &kb, OwnDomain::Type);
        let queries: Vec<Query<'_>> = split.queries().collect();
        let found = within.search(&queries, 4, &mut |_| Ok(())).expect("found");
        let ids: Vec<Vec<u32>> = found.iter().map(|ranked| ranked.iter().map(|(id, _)| id.0).collect()).collect();
        // A mention without a concept is searched everywhere.
        assert_eq!(ids, [vec![2, 0], vec![3, 1], vec![3, 2, 1, 0]]);
        assert!(within.protocol().contains("ORACLE"));
    }

    #[test]
    fn a_mention_meets_its_own_domain_alone() {
        let mut kb = KnowledgeBase::new();
        for at in 0..40 {
            let (id, name) = (format!("C{at}"), format!("name {at}"));
            // Two worlds; the first has four concepts, which come last.
            let sources = vec![if at < 4 { "small" } else { "large" }.to_owned()];
            kb.push(Concept { id, name, sources, ..Concept::default() }).expect("new");
        }
        let (backwards, span) = (Backwards(40), Span::new(0, 1));
        let within = Within::new(&backwards, &kb, OwnDomain::Document);
        let query = |domain| Query { text: "x", span, domain };
        let mut dealt = 0;
        let mut done = |mentions| {
            dealt += mentions;
            Ok(())
        };
        let queries = [query(Some("small")), query(Some("large")), query(None)];
        let found = within.search(&queries, 3, &mut done).expect("known domains");
        let ids: Vec<Vec<u32>> = found.iter().map(|ranked| ranked.iter().map(|(id, _)| id.0).collect()).collect();
        assert_eq!((ids, dealt), (vec![vec![3, 2, 1], vec![39, 38, 37], vec![39, 38, 37]], 3));
        // More than the world has.
        let found = within.search(&queries[..1], 9, &mut |_| Ok(())).expect("a known domain");
        assert_eq!(found[0].len(), 4);
        let error = within.search(&[query(Some("nowhere"))], 3, &mut |_| Ok(())).expect_err("no concept");
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
}
