//! The candidates of mentions: those of the search and of the dictionary, ordered by scores with a
//! weight for spelling, and those that the mentions of a text share.

use super::prepared::PreparedMention;
use super::{AddedConcepts, Link, Linker, Prepared, Proposals, Queries};
use pel_index::best_per_concept;
use pel_index::lexical::Spelling;
use pel_kb::ConceptId;
use pel_kb::score::{Candidate, Scorer, Similarity};
use pel_kb::table::ConceptTable;
use pel_text::contrasts::Contrasts;
use std::collections::HashSet;

/// The fewest candidates that are searched, for lists of any length: a candidate may come first by
/// its spelling or template from far behind. A decision must not depend on the length of the list.
const SEARCHED: usize = 64;

/// The mentions whose names a thread compares at a time.
const CHUNK: usize = 64;

/// The shortest list with shared candidates. In shorter ones they would replace better candidates
/// of the mention itself.
const SHARED_FROM: usize = 8;

/// The length of a list per place for a shared candidate.
const PER_SHARED: usize = 4;

/// The candidates of each mention, before the mentions of a text choose between them
/// ([`Linker::search_candidates`]).
#[derive(Clone, Debug, Default)]
pub struct SearchedCandidates(pub(super) Vec<Vec<Candidate>>);

impl SearchedCandidates {
    /// Adds those of further mentions.
    pub fn extend(&mut self, further: Self) {
        self.0.extend(further.0);
    }
}

/// The names of concepts, for scores of spelling. Not the whole linker: the threads of a page must
/// not share its GPU.
struct SpellingScorer<'a> {
    table: &'a ConceptTable,
    added: &'a AddedConcepts,
    /// The weight of spelling in a score.
    weight: f32,
}

/// The spelling of a mention, for comparisons with names.
struct MentionSpelling {
    grams: Spelling,
    /// What tells it apart from similar names; nothing if it is a name itself.
    contrasts: Contrasts,
}

impl MentionSpelling {
    fn new(mention: &PreparedMention) -> Self {
        let is_name = !mention.named.is_empty() && !mention.modified;
        let contrasts = match is_name {
            true => Contrasts::default(),
            false => Contrasts::of(&mention.text),
        };
        Self {
            grams: Spelling::new(&mention.text),
            contrasts,
        }
    }

    /// The square of the overlap with the nearest of a concept's names, 0 to 1; -1 if that
    /// name stands for something else, such as the opposite.
    fn likeness<'a>(&self, names: impl Iterator<Item = &'a str>) -> f32 {
        match self.grams.nearest_name(names) {
            None => 0.0,
            Some((_, name)) if self.contrasts.differ_from(name) => -1.0,
            Some((overlap, _)) => overlap * overlap,
        }
    }
}

impl SpellingScorer<'_> {
    /// What spelling adds to a score. `highest` is the highest possible score.
    fn part(&self, mention: &MentionSpelling, highest: f32, concept: ConceptId) -> f32 {
        let likeness = match self.added.concept(concept) {
            Some(concept) => mention.likeness(concept.names()),
            // The output reports a damaged record when it names the concept.
            None => self
                .table
                .get(concept)
                .map_or(0.0, |concept| mention.likeness(concept.names())),
        };
        self.weight * highest * likeness
    }

    /// The candidate with the weighted sum of its score and spelling.
    fn spelled(&self, mention: &MentionSpelling, highest: f32, candidate: Candidate) -> Candidate {
        let score =
            (1.0 - self.weight) * candidate.score + self.part(mention, highest, candidate.concept);
        Candidate { score, ..candidate }
    }
}

impl Linker {
    fn spelling_scorer(&self) -> SpellingScorer<'_> {
        let weight = self.bundle.manifest.view.spelling;
        SpellingScorer {
            table: &self.bundle.concepts,
            added: &self.added,
            weight,
        }
    }

    /// The number of candidates to search for lists of `k`.
    pub(super) fn searched(&self, k: usize) -> usize {
        k.max(SEARCHED)
    }

    /// The best `k` candidates of each mention, best first, without shared candidates. The concepts
    /// named like the mention are among them whatever their scores, as far as there are places
    /// after the best. Concepts proposed from outside replace the search.
    ///
    /// # Shapes
    /// queries `[sequences]` -> one list per mention
    pub(super) fn candidates(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        proposals: Option<&Proposals>,
        k: usize,
    ) -> Vec<Vec<Candidate>> {
        let spelling = self.spelling_scorer();
        let taken = self.searched(k);
        let found = match proposals {
            None => self.search(prepared.sequences.len(), queries, taken),
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

    /// The highest possible score of a mention for cosine similarity, that with an identical text:
    /// 1, or the number of compared tokens.
    pub(super) fn highest(&self, prepared: &Prepared, mention: &PreparedMention) -> f32 {
        match (self.scorer, mention.sequence) {
            (Scorer::SumOfMax, Some(at)) => {
                self.encoder.compared(&prepared.sequences[at]).len() as f32
            }
            _ => 1.0,
        }
    }

    /// What spelling adds to the score of a concept; the rest is the similarity of vectors. `None`
    /// if spelling has no weight. `mention` is a position in `prepared`.
    pub fn spelling_score(
        &self,
        prepared: &Prepared,
        mention: usize,
        concept: ConceptId,
    ) -> Option<f32> {
        let (spelling, mention) = (self.spelling_scorer(), prepared.mentions.get(mention)?);
        let part = || {
            spelling.part(
                &MentionSpelling::new(mention),
                self.highest(prepared, mention),
                concept,
            )
        };
        (spelling.weight > 0.0).then(part)
    }

    /// Shares candidates within a document: concepts ranked first for other mentions of the text
    /// become candidates of each mention. A short form or a general word is often written in full
    /// elsewhere in the text.
    ///
    /// With `k` of at least 8, at most a quarter of the places are for shared candidates, those
    /// with the highest scores at their own mentions first. They get the scores of this mention, so
    /// lists stay ordered by score. None ranks before a candidate that has a place of its own.
    ///
    /// `first` is the position of the text's first mention.
    ///
    /// # Shapes
    /// queries `[sequences]`, links `[mentions of the text]`
    pub(super) fn share_from(
        &self,
        prepared: &Prepared,
        first: usize,
        queries: &Queries,
        links: &mut [Link],
        k: usize,
    ) {
        let places = if k < SHARED_FROM { 0 } else { k / PER_SHARED };
        if places == 0 || links.len() < 2 {
            return;
        }
        let best = links
            .iter()
            .filter_map(|link| link.candidates.first().copied())
            .collect();
        let best: Vec<ConceptId> = best_per_concept(best, links.len())
            .into_iter()
            .map(|candidate| candidate.concept)
            .collect();
        let spelling = self.spelling_scorer();
        for (link, mention) in links.iter_mut().zip(&prepared.mentions[first..]) {
            let Some(at) = mention.sequence else { continue };
            let (stay, go) = link
                .candidates
                .split_at(link.candidates.len().min(k - places));
            let own: HashSet<ConceptId> = stay.iter().map(|candidate| candidate.concept).collect();
            // Candidates named like the mention stay.
            let named = go
                .iter()
                .filter(|candidate| is_among(&mention.named, candidate))
                .count();
            let free = places.saturating_sub(named);
            let wanted: Vec<ConceptId> = best
                .iter()
                .copied()
                .filter(|id| !own.contains(id))
                .take(free)
                .collect();
            let new = wanted
                .iter()
                .copied()
                .filter(|id| go.iter().all(|candidate| candidate.concept != *id));
            let mut joined = self.score(queries, at, new.collect());
            if spelling.weight > 0.0 {
                let (text, highest) = (
                    MentionSpelling::new(mention),
                    self.highest(prepared, mention),
                );
                joined
                    .iter_mut()
                    .for_each(|joined| *joined = spelling.spelled(&text, highest, *joined));
            }
            // A shared candidate that the search missed does not overtake one that it found.
            joined.retain(|joined| stay.last().is_none_or(|last| last.rank(joined).is_lt()));
            let (wanted, mut others): (Vec<Candidate>, Vec<Candidate>) = go
                .iter()
                .partition(|candidate| wanted.contains(&candidate.concept));
            others.sort_by_key(|candidate| !is_among(&mention.named, candidate));
            let left = k - stay.len() - wanted.len() - joined.len();
            joined.extend(wanted.into_iter().chain(others.into_iter().take(left)));
            joined.sort_unstable_by(Candidate::rank);
            link.candidates.truncate(k - places);
            link.candidates.extend(joined);
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
pub(super) fn is_among(named: &[ConceptId], candidate: &Candidate) -> bool {
    named.binary_search(&candidate.concept).is_ok()
}

/// The best candidate, then the named ones, then the others: `k` in all, ordered by score.
pub(super) fn first_with_named(
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
