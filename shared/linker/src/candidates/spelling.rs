//! Compares the spelling of mentions with the names of candidates.

use crate::added::AddedConcepts;
use crate::linker::{Linker, Steps};
use crate::prepared::{Prepared, PreparedMention};
use pel_index::lexical::Spelling;
use pel_kb::ConceptId;
use pel_kb::score::Candidate;
use pel_kb::table::ConceptTable;
use pel_text::contrasts::Contrasts;

/// The names of concepts, for scores of spelling. Not the whole linker: the threads of a page must
/// not share its GPU.
pub(crate) struct SpellingScorer<'a> {
    table: &'a ConceptTable,
    added: &'a AddedConcepts,
    /// The weight of spelling in a score.
    pub(crate) weight: f32,
}

/// The spelling of a mention, for comparisons with names.
pub(crate) struct MentionSpelling {
    grams: Spelling,
    /// What tells it apart from similar names; nothing if it is a name itself.
    contrasts: Contrasts,
}

impl MentionSpelling {
    pub(crate) fn new(mention: &PreparedMention) -> Self {
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
    pub(crate) fn spelled(
        &self,
        mention: &MentionSpelling,
        highest: f32,
        candidate: Candidate,
    ) -> Candidate {
        let score =
            (1.0 - self.weight) * candidate.score + self.part(mention, highest, candidate.concept);
        Candidate { score, ..candidate }
    }
}

impl Linker {
    pub(crate) fn spelling_scorer(&self) -> SpellingScorer<'_> {
        let weight = self.bundle.manifest.view.spelling;
        SpellingScorer {
            table: &self.bundle.concepts,
            added: &self.added,
            weight,
        }
    }
}

impl<'l> Steps<'l> {
    /// What spelling adds to the score of a concept; the rest is the similarity of vectors. `None`
    /// if spelling has no weight. `mention` is a position in `prepared`.
    pub fn spelling_score(
        &self,
        prepared: &Prepared,
        mention: usize,
        concept: ConceptId,
    ) -> Option<f32> {
        let (spelling, mention) = (
            self.linker.spelling_scorer(),
            prepared.mentions.get(mention)?,
        );
        let part = || {
            spelling.part(
                &MentionSpelling::new(mention),
                self.linker.highest(prepared, mention),
                concept,
            )
        };
        (spelling.weight > 0.0).then(part)
    }
}
