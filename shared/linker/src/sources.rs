//! Links without one of the sources of candidates, or without the coherence of the text: what each
//! of them gives.

use crate::bundle::Queries;
use crate::candidates::Proposals;
use crate::link::Link;
use crate::linker::Steps;
use crate::options::LinkOptions;
use crate::prepared::Prepared;
use std::sync::Arc;

/// A source of candidates, or a step that orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateSource {
    /// The concepts that bear the mention as a name: as candidates, in the first place, and in the
    /// evidence.
    Names,
    /// The concepts with a name that differs from the mention by few edits.
    Edits,
    /// The search by vectors. The vectors still order the other candidates.
    Search,
    /// The other concepts of the text, which choose between candidates with similar scores.
    Coherence,
}

impl CandidateSource {
    /// All sources.
    pub const ALL: [Self; 4] = [Self::Names, Self::Edits, Self::Search, Self::Coherence];
}

impl Prepared {
    /// The mentions without their concepts of a source that is looked up in the dictionary.
    fn without(&self, source: CandidateSource) -> Self {
        let mut rest = self.clone();
        for mention in &mut rest.mentions {
            if source == CandidateSource::Names {
                mention.named = Arc::default();
                mention.modified = false;
                mention.plain = false;
            }
            if source == CandidateSource::Edits {
                mention.misspelt.clear();
            }
        }
        rest
    }
}

impl<'l> Steps<'l> {
    /// As [`Steps::finish`], but without one source.
    ///
    /// # Shapes
    /// queries `[sequences]` -> one link per mention
    ///
    /// # Panics
    /// If the queries are not those of the sequences.
    pub fn finish_without(
        &self,
        prepared: &Prepared,
        queries: &Queries,
        options: &LinkOptions,
        source: CandidateSource,
    ) -> Vec<Link> {
        match source {
            CandidateSource::Names | CandidateSource::Edits => {
                self.finish(&prepared.without(source), queries, options)
            }
            CandidateSource::Search => {
                let nothing = Proposals {
                    concepts: vec![Vec::new(); prepared.sequences.len()],
                    types: Vec::new(),
                };
                self.finish_with(prepared, queries, options, &nothing)
            }
            CandidateSource::Coherence => {
                let searched = self.search_candidates(prepared, queries, options);
                self.linker
                    .finish_from(prepared, queries, options, searched.0, false)
            }
        }
    }
}
