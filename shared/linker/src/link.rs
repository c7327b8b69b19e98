//! A mention with its decision.

use crate::step::Step;
use pel_kb::group::Group;
use pel_kb::score::Candidate;
use pel_model::nil::{Decision, Evidence};
use pel_model::tokens::Cut;
use pel_text::Span;
use pel_text::attributes::Attribute;
use pel_text::context::Context;
use pel_text::detect::Origin;

/// A mention with its decision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Link {
    /// The extent of the mention, from its first fragment to its last.
    pub span: Span,
    /// The fragments of a discontinuous mention ([`Detected::fragments`](pel_text::detect::Detected::fragments)); empty for a continuous
    /// one.
    pub fragments: Vec<Span>,
    /// The source of the mention: [`Origin::Name`] for each name of the knowledge base that was not
    /// given, the detector's too.
    pub origin: Origin,
    /// What kind of thing it is: by the concepts of its name, what the text says of a substance, and
    /// what the detector read.
    pub group: Option<Group>,
    /// Whether the text says that it is absent, past, uncertain or someone else's.
    pub context: Context,
    /// What stands beside the mention: doses, values, dates, stages. In the order of the text.
    pub attributes: Vec<Attribute>,
    /// Linked or NIL.
    pub decision: Decision,
    /// The best candidates, best first.
    pub candidates: Vec<Candidate>,
    /// The probability that the best candidate is right; `None` without a model of it or without a
    /// candidate. A reranking does not change it.
    pub probability: Option<f32>,
    /// What is known of the mention and its best candidate; `None` without a candidate.
    pub evidence: Option<Evidence>,
    /// All candidates that were searched, best first, at least 64 as far as there are so many
    /// concepts.
    pub(crate) searched: Vec<Candidate>,
    /// The cross-encoder's scores of the first candidates. Empty without a reranking.
    pub ranker_scores: Vec<f32>,
    /// Whether the mention is a name of the best candidate after normalisation, or without words of
    /// side and severity at its ends ("left-sided pneumonia").
    pub named: bool,
    /// The long form of an abbreviation that the text defines, or that the words around it show, or
    /// the name that a wording stands for ([`Bundle::wordings`](crate::bundle::Bundle::wordings)).
    pub read_as: Option<String>,
    /// The step that read it as this name; `None` if it is read as it stands.
    pub read_by: Option<Step>,
    /// What the encoder's window truncated.
    pub cut: Cut,
}

impl Link {
    /// The fragments of the mention, one or more.
    pub fn pieces(&self) -> &[Span] {
        pel_text::pieces(&self.span, &self.fragments)
    }

    /// All candidates that were searched, best first: at least 64, as far as there are so many
    /// concepts, however short [`Link::candidates`] is. Without shared candidates.
    pub fn searched(&self) -> &[Candidate] {
        &self.searched
    }

    /// The number of concepts that bear the mention as a name, if it is a name of the best
    /// candidate. Two or more are told apart by their scores and by the text alone.
    pub fn same_name(&self) -> usize {
        self.evidence
            .filter(|evidence| evidence.exact_match)
            .map_or(0, |evidence| evidence.same_name)
    }

    /// The value that is compared with the threshold: the probability, otherwise the best score.
    /// `None` without a candidate.
    pub fn judged(&self) -> Option<f32> {
        let by_score = || Some(self.candidates.first()?.score);
        self.probability.or_else(by_score)
    }

    /// The lead of the best candidate over the second, in the scores that ordered them; `None` with
    /// fewer than 2 candidates.
    pub fn margin(&self) -> Option<f32> {
        match (&self.ranker_scores[..], &self.candidates[..]) {
            ([best, second, ..], _) => Some(best - second).filter(|margin| margin.is_finite()),
            (_, [best, second, ..]) => Some(best.score - second.score),
            _ => None,
        }
    }

    /// Removes all but the first `count` candidates.
    pub fn truncate(&mut self, count: usize) {
        self.candidates.truncate(count);
        self.ranker_scores.truncate(count);
    }
}
