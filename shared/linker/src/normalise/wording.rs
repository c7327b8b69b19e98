//! Paraphrases that stand for names ("bringing up blood").

use super::{Named, Words};
use crate::linker::Linker;
use pel_kb::ConceptId;

/// The first name that a mention is a paraphrase of, and the concepts of all such names.
pub(super) fn read(linker: &Linker, words: &Words<'_, '_>) -> Option<Named> {
    let (name, concepts) = linker.read_by_wording(words.mention)?;
    Some((name.to_owned(), concepts))
}

impl Linker {
    /// The name that a mention is a wording of, and the concepts of all such names in ascending
    /// order: if the mention is itself a name, those that bear it. `None` if it is a name of other
    /// concepts alone, or no wording of a name of the knowledge base.
    pub(crate) fn read_by_wording(&self, mention: &str) -> Option<(&str, Vec<ConceptId>)> {
        let mut bearers = self.bundle.dictionary.lookup(mention);
        bearers.extend(self.added.named(mention));
        let (mut first, mut concepts) = (None, Vec::new());
        for name in self.bundle.wordings().names_of(mention) {
            let mut named = self.named_concepts(name);
            named.retain(|concept| bearers.is_empty() || bearers.contains(concept));
            if !named.is_empty() {
                first = first.or(Some(name));
                concepts.extend(named);
            }
        }
        concepts.sort_unstable();
        concepts.dedup();
        Some((first?, concepts))
    }
}
