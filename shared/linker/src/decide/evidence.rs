//! The evidence for the best candidate of each mention, and what follows from it: the probability
//! that it is right, the decision, and sets of answers.

use crate::candidates::TextGroups;
use crate::link::Link;
use crate::linker::{Linker, Steps};
use crate::prepared::PreparedMention;
use pel_kb::Concept;
use pel_kb::group::Group;
use pel_kb::score::Candidate;
use pel_model::nil::{AnswerSet, Decision, Evidence, NilPolicy, NilReason, SHORT_BELOW};
use pel_text::detect::{Origin, normalise_name};

impl Linker {
    /// What is known of a mention and its best candidate, without the text's other mentions. `None`
    /// without a candidate.
    ///
    /// `behind` is how far the best candidate was behind the most similar one.
    pub(crate) fn evidence(
        &self,
        mention: &PreparedMention,
        candidates: &[Candidate],
        highest: f32,
        named: bool,
        behind: f32,
    ) -> Option<Evidence> {
        let best = candidates.first()?;
        // The output reports a damaged record when it names the concept.
        let concept = self.concept(best.concept).ok();
        let is_preferred = |concept: &Concept| {
            named && normalise_name(&concept.name) == normalise_name(&mention.text)
        };
        let score = best.score - behind;
        let margin = candidates
            .get(1)
            .map_or(score, |second| score - second.score);
        let is_word = !mention.text.contains(char::is_whitespace);
        Some(Evidence {
            score: score / highest,
            margin: margin / highest,
            exact_match: named,
            preferred_name: concept.as_ref().is_some_and(is_preferred),
            same_name: mention.named.len(),
            names: concept
                .as_ref()
                .map_or(0, |concept| concept.names().count()),
            source_fit: 0.0,
            type_fit: 0.0,
            kind_fit: concept
                .as_ref()
                .map_or(0.0, |concept| Group::fit(concept, mention.detected.group)),
            expanded: mention.rewritten,
            short_mention: is_word && mention.text.chars().count() < SHORT_BELOW,
            unknown_word: mention.unknown_word,
            found_by_name: mention.detected.origin == Origin::Name,
            plain_name: mention.plain,
        })
    }

    /// Adds what the mentions of one text say of each other to their evidence, and decides by the
    /// probabilities, if the bundle has a model of them.
    pub(crate) fn decide_text(&self, links: &mut [Link], threshold: Option<f32>) {
        let best = links.iter().filter_map(|link| link.candidates.first());
        let mut text = TextGroups::new(self, best);
        for link in links.iter_mut() {
            if let (Some(best), Some(evidence)) = (link.candidates.first(), &mut link.evidence) {
                [evidence.type_fit, evidence.source_fit] = text.fits(best.concept);
            }
        }
        let Some(model) = &self.bundle.manifest.nil.probability else {
            return;
        };
        let evidence: Vec<Option<Evidence>> = links.iter().map(|link| link.evidence).collect();
        for (link, probability) in links.iter_mut().zip(model.of_text(&evidence)) {
            link.probability = probability;
            if let Some(decision) = self.decide_by_probability(link, threshold) {
                link.decision = decision;
            }
        }
    }

    /// The decision on a link with a probability; `None` without one.
    pub(crate) fn decide_by_probability(
        &self,
        link: &Link,
        threshold: Option<f32>,
    ) -> Option<Decision> {
        let policy = &self.bundle.manifest.nil;
        let (model, probability) = (policy.probability.as_ref()?, link.probability?);
        let reason = link.evidence.map_or(NilReason::BelowThreshold, |evidence| {
            model.reason(&evidence)
        });
        let own = NilPolicy {
            threshold: threshold.or(policy.threshold),
            ..NilPolicy::default()
        };
        Some(own.decide_by(link.candidates.first().copied(), probability, reason))
    }

    /// Whether the best candidate of a mention would be linked if its text had no other mentions.
    /// `None` without a model of probabilities.
    pub(crate) fn would_link(&self, evidence: Option<Evidence>) -> Option<bool> {
        let policy = &self.bundle.manifest.nil;
        let model = policy.probability.as_ref()?;
        let probability = model.of_text(&[evidence])[0]?;
        Some(policy.threshold.is_none_or(|least| probability >= least))
    }
}

impl<'l> Steps<'l> {
    /// The sets of answers of a link, one for each coverage of the bundle, narrowest first. They
    /// hold candidates of the search beyond the length of the list. Empty without a model of
    /// probabilities.
    pub fn answer_sets(&self, link: &Link) -> Vec<AnswerSet> {
        let probability = link.probability.unwrap_or(0.0);
        self.linker
            .bundle
            .manifest
            .nil
            .sets
            .iter()
            .map(|limits| limits.answers(&link.searched, probability))
            .collect()
    }
}
