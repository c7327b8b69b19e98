//! The figures of one system on one split.

use super::Decisions;
use super::nil_figures::{NilFigures, Thresholds};
use super::outcomes::{At, Outcome, RESAMPLES, SEED};
use crate::data::mention_domains::{By, Domains};
use crate::data::split::Split;
use crate::retrieve::Retriever;
use pel_shared::lexical::Ranked;
use pel_shared::metrics::{Interval, Share, bootstrap_macro, macro_average};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where recall is measured, besides the number of candidates asked for.
const KS: [usize; 4] = [1, 8, 16, 64];

/// All figures of one system.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Its name.
    pub system: String,
    /// What it compares with what.
    pub protocol: String,
    /// Seconds that building it took.
    pub build_seconds: f64,
    /// Seconds that ranking concepts for all mentions of the split took.
    pub search_seconds: f64,
    /// Recall over the mentions whose concept the knowledge base has: all, seen, zero-shot.
    pub recall: Vec<Recall>,
    /// For a ranker: what it makes of another system's candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
    /// The same by domain; an entry for each way to tell domains apart that was asked for.
    pub domains: Vec<DomainFigures>,
    /// NIL, an entry for each kind of NIL and each threshold; none if the split has no NIL, or there was nothing to choose a
    /// threshold by.
    pub nil: Vec<NilFigures>,
    /// What is linked rightly, linked wrongly and called NIL, an entry for each threshold.
    pub decisions: Vec<Decisions>,
}

/// What a ranker makes of candidates (BLINK, section 5.2.1). Its unnormalised accuracy is recall@1.
#[derive(Clone, Debug, Serialize)]
pub struct Ranking {
    /// Mentions whose concept is among the candidates that the ranker sees.
    pub found: At,
    /// Normalised accuracy: of these, those whose concept the ranker puts first.
    pub normalised: At,
}

/// Recall over some mentions.
#[derive(Clone, Debug, Serialize)]
pub struct Recall {
    /// `all`, `seen`, `zero-shot` or the name of a domain.
    pub mentions: String,
    /// Recall at each k.
    pub at: Vec<At>,
    /// Recall@1 if candidates with equal scores came in an order by chance instead of concept order; none where a ranker has
    /// given them another.
    pub first_by_chance: Option<f64>,
}

/// Recall by domain.
#[derive(Clone, Debug, Serialize)]
pub struct DomainFigures {
    /// What makes a domain.
    pub by: By,
    /// Recall averaged over domains: each counts once, however many mentions it has.
    pub macro_average: Vec<MacroAt>,
    /// For a ranker: normalised accuracy averaged over domains (BLINK, table 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalised: Option<MacroAt>,
    /// Recall in each domain, the one with the most mentions first. A mention counts in each of its domains.
    pub each: Vec<Recall>,
    /// Mentions that have no domain.
    pub without: usize,
}

/// Recall at one k, averaged over domains.
#[derive(Clone, Debug, Serialize)]
pub struct MacroAt {
    /// How many candidates may be looked at.
    pub k: usize,
    /// The average.
    pub recall: Option<f64>,
    /// The bootstrap interval over documents (95 %).
    pub interval: Option<Interval>,
}

impl Figures {
    /// Measures the answers to the mentions of a split; `seconds` are those of building and of searching.
    pub(super) fn new(
        retriever: &dyn Retriever,
        split: &Split,
        domains: &[Domains],
        ranked: &[Ranked],
        top: usize,
        thresholds: &Thresholds,
        seconds: [f64; 2],
    ) -> Self {
        let mut ks: Vec<usize> = KS.into_iter().filter(|k| *k < top).collect();
        ks.push(top);
        let mut outcomes = Outcome::all(split, ranked);
        if retriever.first_stage().is_some() {
            // The scores are the first stage's, and no longer those of the concepts beside them.
            outcomes.iter_mut().for_each(|outcome| outcome.by_chance = None);
        }
        let known = || outcomes.iter().filter(|outcome| outcome.gold.concept.is_some());
        let subset = |seen| known().filter(move |outcome| outcome.gold.seen == Some(seen)).collect::<Vec<_>>();
        let recall = [("all", known().collect()), ("seen", subset(true)), ("zero-shot", subset(false))];
        let recall = recall.into_iter().map(|(mentions, outcomes)| Recall::new(mentions, &outcomes, &ks)).collect();
        let ranking = retriever.first_stage().map(|(_, k)| {
            let hits = |k: usize| known().map(move |outcome| (outcome.gold.document, outcome.within(k)));
            let found = known().filter(|outcome| outcome.within(k));
            Ranking {
                found: At::new(k, hits(k)),
                normalised: At::new(1, found.map(|outcome| (outcome.gold.document, outcome.within(1)))),
            }
        });
        let ranked = retriever.first_stage().map(|(_, k)| k);
        let domains = domains.iter().map(|domains| DomainFigures::new(domains, &outcomes, &ks, ranked)).collect();
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
        }
    }
}

impl Recall {
    fn new(mentions: &str, outcomes: &[&Outcome<'_>], ks: &[usize]) -> Self {
        let hits = |k: usize| outcomes.iter().map(move |outcome| (outcome.gold.document, outcome.within(k)));
        let by_chance = outcomes.iter().map(|outcome| outcome.by_chance).sum::<Option<f64>>();
        let first_by_chance = by_chance.filter(|_| !outcomes.is_empty()).map(|sum| sum / outcomes.len() as f64);
        Self { mentions: mentions.to_owned(), at: ks.iter().map(|k| At::new(*k, hits(*k))).collect(), first_by_chance }
    }
}

impl DomainFigures {
    /// `ranked` is how many candidates a ranker has put into order, if one has.
    fn new(domains: &Domains, outcomes: &[Outcome<'_>], ks: &[usize], ranked: Option<usize>) -> Self {
        let mut members: Vec<Vec<&Outcome<'_>>> = vec![Vec::new(); domains.names.len()];
        let mut without = 0;
        for (outcome, places) in outcomes.iter().zip(&domains.of_mention) {
            without += usize::from(outcome.gold.concept.is_some() && places.is_empty());
            places.iter().for_each(|place| members[*place].push(outcome));
        }
        let mut each: Vec<Recall> =
            domains.names.iter().zip(&members).map(|(name, members)| Recall::new(name, members, ks)).collect();
        each.sort_by_key(|recall| std::cmp::Reverse(recall.at.first().map_or(0, |at| at.share.of)));
        let macro_average = ks.iter().map(|k| MacroAt::new(*k, &members)).collect();
        let normalised = ranked.map(|k| {
            let mut found = members.clone();
            found.iter_mut().for_each(|of| of.retain(|outcome| outcome.within(k)));
            MacroAt::new(1, &found)
        });
        Self { by: domains.by, macro_average, normalised, each, without }
    }
}

impl MacroAt {
    fn new(k: usize, members: &[Vec<&Outcome<'_>>]) -> Self {
        let mut documents: BTreeMap<usize, BTreeMap<usize, Share>> = BTreeMap::new();
        let mut pooled = vec![Share::default(); members.len()];
        for (domain, outcomes) in members.iter().enumerate() {
            for outcome in outcomes {
                let one = Share { hits: usize::from(outcome.within(k)), of: 1 };
                pooled[domain] = pooled[domain] + one;
                let share = documents.entry(outcome.gold.document).or_default().entry(domain).or_default();
                *share = *share + one;
            }
        }
        let documents: Vec<Vec<(usize, Share)>> =
            documents.into_values().map(|shares| shares.into_iter().collect()).collect();
        let interval = bootstrap_macro(&documents, members.len(), RESAMPLES, SEED);
        Self { k, recall: macro_average(&pooled), interval }
    }
}
