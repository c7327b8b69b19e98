//! Links without one of the sources of candidates, or without the coherence of the text: what each
//! of them gives.

use super::{Link, LinkOptions, Linker, Prepared, Proposals, Queries};
use std::sync::Arc;

/// A source of candidates, or a step that orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
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

impl Side {
    /// All sides.
    pub const ALL: [Self; 4] = [Self::Names, Self::Edits, Self::Search, Self::Coherence];
}

impl Prepared {
    /// The mentions without their concepts of a side that is looked up in the dictionary.
    fn without(&self, side: Side) -> Self {
        let mut rest = self.clone();
        for mention in &mut rest.mentions {
            if side == Side::Names {
                mention.named = Arc::default();
                mention.modified = false;
                mention.plain = false;
            }
            if side == Side::Edits {
                mention.misspelt.clear();
            }
        }
        rest
    }
}

impl Linker {
    /// As [`Linker::finish`], but without one side.
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
        side: Side,
    ) -> Vec<Link> {
        match side {
            Side::Names | Side::Edits => self.finish(&prepared.without(side), queries, options),
            Side::Search => {
                let nothing = Proposals {
                    concepts: vec![Vec::new(); prepared.sequences.len()],
                    types: Vec::new(),
                };
                self.finish_with(prepared, queries, options, &nothing)
            }
            Side::Coherence => {
                let searched = self.search_candidates(prepared, queries, options);
                self.finish_from(prepared, queries, options, searched.0, false)
            }
        }
    }
}
