//! The candidates of mentions: those of the search and of the dictionary, ordered by scores with a
//! weight for spelling.

mod coherence;
mod named;
mod proposals;
mod search;
mod sharing;
mod spelling;

pub(crate) use coherence::TextGroups;
pub use proposals::Proposals;

use crate::bundle::Queries;
use crate::linker::Linker;
use crate::prepared::{Prepared, PreparedMention};
use pel_index::best_per_concept;
use pel_kb::ConceptId;
use pel_kb::group::Group;
use pel_kb::score::{Candidate, Scorer, Similarity};
use pel_model::tokens::{MentionTemplate, View};
use pel_text::detect::SimilarName;
use spelling::MentionSpelling;
use std::collections::HashSet;

/// The fewest candidates that are searched, for lists of any length: a candidate may come first by
/// its spelling or template from far behind. A decision must not depend on the length of the list.
const SEARCHED: usize = 64;

/// The least score of a drug that a misspelt mention may name, as a share of the highest possible
/// score. "Duoderm", a dressing that the knowledge base lacks, has 0.2 with the drug of
/// "Dioderm"; misspelt brands such as "Norvask" and "Plavex" have 0.35 to 0.7 with theirs.
const ALIKE: f32 = 0.3;

/// The mentions whose names a thread compares at a time.
const CHUNK: usize = 64;

/// The candidates of each mention, before the mentions of a text choose between them
/// ([`Steps::search_candidates`](crate::Steps::search_candidates)).
#[derive(Clone, Debug, Default)]
pub struct SearchedCandidates(pub(crate) Vec<Vec<Candidate>>);

impl SearchedCandidates {
    /// Adds those of further mentions.
    pub fn extend(&mut self, further: Self) {
        self.0.extend(further.0);
    }
}

impl Linker {
    /// Whether an equal name has the highest possible score. A name that the dictionary normalises
    /// to the mention (plural, hyphen, accent, case) then gets it too.
    fn names_score_highest(&self) -> bool {
        let manifest = &self.bundle.manifest;
        manifest.view.concepts != View::Template
            && manifest.view.mention_template == MentionTemplate::Bare
            && manifest.encoder.reduction.score == Similarity::Cosine
    }

    /// The number of candidates to search for lists of `k`.
    pub(crate) fn searched(&self, k: usize) -> usize {
        k.max(SEARCHED)
    }

    /// The best `k` candidates of each mention, best first, without shared candidates. The concepts
    /// named like the mention are among them whatever their scores, as far as there are places
    /// after the best. Concepts proposed from outside replace the search.
    ///
    /// # Shapes
    /// queries `[sequences]` -> one list per mention
    pub(crate) fn candidates(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        proposals: Option<&Proposals>,
        k: usize,
    ) -> Vec<Vec<Candidate>> {
        let spelling = self.spelling_scorer();
        let taken = self.searched(k);
        let found = match proposals {
            None => self
                .steps()
                .search(prepared.sequences.len(), queries, taken),
            Some(proposals) => self.search_among(queries, proposals, taken),
        };
        let types = proposals.map_or(&[][..], |proposals| &proposals.types);
        let fits = |concept: &ConceptId| types.is_empty() || self.has_type(*concept, types);
        let own = |mention: &PreparedMention| {
            let Some(at) = mention.sequence else {
                let known = mention.known().filter(&fits);
                return known.map(named_alone).into_iter().collect();
            };
            let mut all = found[at].clone();
            if self.names_score_highest() && !mention.modified {
                let score = self.highest(prepared, mention);
                // Thousands of concepts may have one name. Equal scores are in concept order.
                let named = mention
                    .named
                    .iter()
                    .filter(|concept| fits(concept))
                    .take(taken);
                all.extend(named.map(|concept| Candidate {
                    concept: *concept,
                    score,
                }));
            } else {
                let seen: HashSet<ConceptId> =
                    all.iter().map(|candidate| candidate.concept).collect();
                let missed = mention
                    .named
                    .iter()
                    .copied()
                    .filter(|concept| !seen.contains(concept) && fits(concept));
                // Thousands of concepts may have one name.
                all.extend(best_per_concept(
                    self.score(queries, at, missed.collect()),
                    taken,
                ));
            }
            // By vectors a misspelt mention is far from the concept that it names.
            if self.bundle.manifest.encoder.reduction.score == Similarity::Cosine {
                let highest = self.highest(prepared, mention);
                let misspelt = mention.misspelt.iter().filter(|one| fits(&one.concept));
                let misspelt: Vec<&SimilarName> = misspelt.collect();
                let concepts = misspelt.iter().map(|one| one.concept).collect();
                let alike = self.score(queries, at, concepts);
                let is_alike = |one: &SimilarName| {
                    let mut own = alike.iter().filter(|own| own.concept == one.concept);
                    !self.is_drug(one.concept) || own.any(|own| own.score >= ALIKE * highest)
                };
                let misspelt = misspelt.into_iter().filter(|one| is_alike(one));
                all.extend(misspelt.map(|one| Candidate {
                    concept: one.concept,
                    score: highest * misspelt_share(&mention.text, one.edits),
                }));
            }
            all
        };
        let mentions: Vec<_> = prepared
            .mentions
            .iter()
            .map(|mention| (self.highest(prepared, mention), mention, own(mention)))
            .collect();
        let ordered = pel_kernels::for_each_chunk(&mentions, CHUNK, |_, mentions| {
            let ordered = mentions.iter().map(|(highest, mention, candidates)| {
                let mut candidates = candidates.clone();
                if spelling.weight > 0.0 && mention.sequence.is_some() {
                    let own = MentionSpelling::new(mention);
                    let spelled = |candidate: &mut Candidate| {
                        *candidate = spelling.spelled(&own, *highest, *candidate)
                    };
                    candidates.iter_mut().for_each(spelled);
                }
                first_with_named(candidates, &mention.named, k)
            });
            ordered.collect::<Vec<_>>()
        });
        ordered.into_iter().flatten().collect()
    }

    /// Whether a concept is a drug. One with a damaged record is none.
    fn is_drug(&self, concept: ConceptId) -> bool {
        let concept = self.concept(concept);
        concept.is_ok_and(|concept| Group::of(&concept) == Some(Group::Drug))
    }

    /// The highest possible score of a mention for cosine similarity, that with an identical text:
    /// 1, or the number of compared tokens.
    pub(crate) fn highest(&self, prepared: &Prepared, mention: &PreparedMention) -> f32 {
        match (self.scorer, mention.sequence) {
            (Scorer::SumOfMax, Some(at)) => {
                self.encoder.compared(&prepared.sequences[at]).len() as f32
            }
            _ => 1.0,
        }
    }
}

/// The concept of a mention that is plainly its name: nothing is more similar to it.
fn named_alone(concept: ConceptId) -> Candidate {
    Candidate {
        concept,
        score: 1.0,
    }
}

/// The score of a concept whose name differs from a mention by some edits, as a share of the
/// highest possible score: the share of characters that are right.
fn misspelt_share(mention: &str, edits: u8) -> f32 {
    1.0 - f32::from(edits) / mention.chars().count().max(1) as f32
}

/// Whether a candidate is one of the named concepts, which are ascending.
pub(crate) fn is_among(named: &[ConceptId], candidate: &Candidate) -> bool {
    named.binary_search(&candidate.concept).is_ok()
}

/// The best candidate, then the named ones, then the others: `k` in all, ordered by score.
pub(crate) fn first_with_named(
    candidates: Vec<Candidate>,
    named: &[ConceptId],
    k: usize,
) -> Vec<Candidate> {
    let mut all = best_per_concept(candidates, usize::MAX);
    if all.len() > k {
        let is_named = |candidate: &Candidate| is_among(named, candidate);
        let rest = all.split_off(1.min(k));
        let (named, others): (Vec<Candidate>, Vec<Candidate>) =
            rest.into_iter().partition(is_named);
        let free = k - all.len();
        all.extend(named.into_iter().chain(others).take(free));
        all.sort_unstable_by(Candidate::rank);
    }
    all
}
