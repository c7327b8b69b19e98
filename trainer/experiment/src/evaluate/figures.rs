//! The figures of one system on one split.

use super::nil_figures::{NilFigures, Thresholds};
use super::outcomes::{At, Outcome, RESAMPLES, SEED};
use super::{Decisions, ProbabilityFigures};
use pel_corpora::mention_domains::{By, Domains};
use pel_corpora::retrieve::Retriever;
use pel_corpora::split::Split;
use pel_index::metrics::{Interval, macro_with_interval};
use pel_kb::score::Candidate;
use serde::Serialize;

/// Where recall is measured, besides the number of candidates asked for.
const KS: [usize; 4] = [1, 8, 16, 64];

/// All figures of one system.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Its name.
    pub system: String,
    /// Its protocol.
    pub protocol: String,
    /// Seconds to build it.
    pub build_seconds: f64,
    /// Seconds to search for all mentions of the split.
    pub search_seconds: f64,
    /// Recall over the mentions whose concept is in the knowledge base: all, seen, zero-shot.
    pub recall: Vec<Recall>,
    /// For a ranker: its accuracy on another system's candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
    /// Recall by domain, an entry for each `--by`.
    pub domains: Vec<DomainFigures>,
    /// NIL, an entry for each kind of NIL and each threshold. Empty without NIL mentions, or
    /// without a split to choose a threshold on.
    pub nil: Vec<NilFigures>,
    /// The decisions at each threshold.
    pub decisions: Vec<Decisions>,
    /// The probabilities, if the system has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<ProbabilityFigures>,
}

/// A ranker's accuracy (BLINK, section 5.2.1). Its unnormalised accuracy is recall@1.
#[derive(Clone, Debug, Serialize)]
pub struct Ranking {
    /// Mentions whose concept is among the candidates that the ranker scores.
    pub found: At,
    /// Normalised accuracy: the proportion of these whose concept the ranker puts first.
    pub normalised: At,
}

/// Recall over some mentions.
#[derive(Clone, Debug, Serialize)]
pub struct Recall {
    /// `all`, `seen`, `zero-shot` or the name of a domain.
    pub mentions: String,
    /// Recall at each k.
    pub at: Vec<At>,
    /// Recall@1 if candidates with equal scores were in random order instead of concept order.
    /// `None` after a ranker.
    pub first_by_chance: Option<f64>,
}

/// Recall by domain.
#[derive(Clone, Debug, Serialize)]
pub struct DomainFigures {
    /// What defines a domain.
    pub by: By,
    /// Macro-averaged recall: each domain has the same weight.
    pub macro_average: Vec<MacroAt>,
    /// For a ranker: macro-averaged normalised accuracy (BLINK, table 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalised: Option<MacroAt>,
    /// Recall in each domain, the one with the most mentions first. A mention counts in each of its
    /// domains.
    pub each: Vec<Recall>,
    /// Mentions that have no domain.
    pub without: usize,
}

/// Macro-averaged recall@k.
#[derive(Clone, Debug, Serialize)]
pub struct MacroAt {
    /// k.
    pub k: usize,
    /// The average.
    pub recall: Option<f64>,
    /// The bootstrap interval over documents (95 %).
    pub interval: Option<Interval>,
}

impl Figures {
    /// The figures of the candidates of a split's mentions. `seconds` are those of building and of
    /// searching.
    pub(super) fn new(
        retriever: &dyn Retriever,
        split: &Split,
        domains: &[Domains],
        ranked: &[Vec<Candidate>],
        top: usize,
        thresholds: &Thresholds,
        seconds: [f64; 2],
    ) -> Self {
        let mut ks: Vec<usize> = KS.into_iter().filter(|k| *k < top).collect();
        ks.push(top);
        let mut outcomes = Outcome::all(split, ranked);
        if retriever.first_stage().is_some() {
            // After a ranker, scores no longer belong to the concepts beside them.
            outcomes
                .iter_mut()
                .for_each(|outcome| outcome.by_chance = None);
        }
        let known = || {
            outcomes
                .iter()
                .filter(|outcome| outcome.gold.concept.is_some())
        };
        let subset = |seen| {
            known()
                .filter(move |outcome| outcome.gold.seen == Some(seen))
                .collect::<Vec<_>>()
        };
        let recall = [
            ("all", known().collect()),
            ("seen", subset(true)),
            ("zero-shot", subset(false)),
        ];
        let recall = recall
            .into_iter()
            .map(|(mentions, outcomes)| Recall::new(mentions, &outcomes, &ks))
            .collect();
        let ranking = retriever.first_stage().map(|(_, k)| {
            let hits =
                |k: usize| known().map(move |outcome| (outcome.gold.document, outcome.within(k)));
            let found = known().filter(|outcome| outcome.within(k));
            Ranking {
                found: At::new(k, hits(k)),
                normalised: At::new(
                    1,
                    found.map(|outcome| (outcome.gold.document, outcome.within(1))),
                ),
            }
        });
        let reranked = retriever.first_stage().map(|(_, k)| k);
        let probabilities = retriever
            .sets()
            .map(|limits| ProbabilityFigures::new(&outcomes, ranked, limits, domains.first()));
        let domains = domains
            .iter()
            .map(|domains| DomainFigures::new(domains, &outcomes, &ks, reranked))
            .collect();
        let [build_seconds, search_seconds] = seconds;
        Self {
            system: retriever.name().to_owned(),
            protocol: retriever.protocol(),
            build_seconds,
            search_seconds,
            recall,
            ranking,
            domains,
            nil: NilFigures::all(&outcomes, thresholds, &ks),
            decisions: Decisions::all(retriever, &outcomes, thresholds),
            probabilities,
        }
    }
}

impl Recall {
    fn new(mentions: &str, outcomes: &[&Outcome<'_>], ks: &[usize]) -> Self {
        let hits = |k: usize| {
            outcomes
                .iter()
                .map(move |outcome| (outcome.gold.document, outcome.within(k)))
        };
        let by_chance = outcomes
            .iter()
            .map(|outcome| outcome.by_chance)
            .sum::<Option<f64>>();
        let first_by_chance = by_chance
            .filter(|_| !outcomes.is_empty())
            .map(|sum| sum / outcomes.len() as f64);
        Self {
            mentions: mentions.to_owned(),
            at: ks.iter().map(|k| At::new(*k, hits(*k))).collect(),
            first_by_chance,
        }
    }
}

impl DomainFigures {
    /// `ranked` is the number of candidates that a ranker has reordered, if there is one.
    fn new(
        domains: &Domains,
        outcomes: &[Outcome<'_>],
        ks: &[usize],
        ranked: Option<usize>,
    ) -> Self {
        let mut members: Vec<Vec<&Outcome<'_>>> = vec![Vec::new(); domains.names.len()];
        let mut without = 0;
        for (outcome, places) in outcomes.iter().zip(&domains.of_mention) {
            without += usize::from(outcome.gold.concept.is_some() && places.is_empty());
            places
                .iter()
                .for_each(|place| members[*place].push(outcome));
        }
        let mut each: Vec<Recall> = domains
            .names
            .iter()
            .zip(&members)
            .map(|(name, members)| Recall::new(name, members, ks))
            .collect();
        each.sort_by_key(|recall| std::cmp::Reverse(recall.at.first().map_or(0, |at| at.share.of)));
        let macro_average = ks.iter().map(|k| MacroAt::new(*k, &members)).collect();
        let normalised = ranked.map(|k| {
            let mut found = members.clone();
            found
                .iter_mut()
                .for_each(|of| of.retain(|outcome| outcome.within(k)));
            MacroAt::new(1, &found)
        });
        Self {
            by: domains.by,
            macro_average,
            normalised,
            each,
            without,
        }
    }
}

impl MacroAt {
    fn new(k: usize, members: &[Vec<&Outcome<'_>>]) -> Self {
        let hits = members.iter().enumerate().flat_map(|(domain, outcomes)| {
            outcomes
                .iter()
                .map(move |outcome| (outcome.gold.document, domain, outcome.within(k)))
        });
        let (recall, interval) = macro_with_interval(hits, members.len(), RESAMPLES, SEED);
        Self {
            k,
            recall,
            interval,
        }
    }
}
