//! Normalisation: the names that mentions are read as, one step a file.

mod drug;
mod part;
mod plain_names;
mod sense;
mod side;
mod truncated;
mod variant;
mod wording;
mod written_out;

use crate::linker::Linker;
use crate::step::Step;
use pel_kb::ConceptId;
use pel_text::detect::Detected;
use pel_text::senses::SenseReader;

/// A name with its concepts in ascending order.
pub(crate) type Named = (String, Vec<ConceptId>);

/// The words of a mention, for the steps.
pub(crate) struct Words<'a, 't> {
    pub detected: &'a Detected,
    pub mention: &'a str,
    /// The senses of the short forms of the text.
    pub senses: &'a SenseReader<'t>,
}

/// A name that a mention is read as.
pub(crate) struct Reading {
    pub name: String,
    /// The concepts of the name in ascending order.
    pub concepts: Vec<ConceptId>,
    pub step: Step,
}

/// Reads a mention as a name. `None` if the step does not apply.
type Read = for<'l, 'w, 'a, 't> fn(&'l Linker, &'w Words<'a, 't>) -> Option<Named>;

/// The steps in their order. The first that applies reads the mention.
const STEPS: [(Step, Read); 8] = [
    (Step::Side, side::read),
    (Step::Sense, sense::read),
    (Step::Wording, wording::read),
    (Step::Part, part::read),
    (Step::Drug, drug::read),
    (Step::WrittenOut, written_out::read),
    (Step::Variant, variant::read),
    (Step::Truncated, truncated::read),
];

impl Linker {
    /// The name that a mention is read as; `None` if it is read as it stands.
    pub(crate) fn read(&self, words: &Words<'_, '_>) -> Option<Reading> {
        STEPS.iter().find_map(|(step, read)| {
            let (name, concepts) = read(self, words)?;
            Some(Reading {
                name,
                concepts,
                step: *step,
            })
        })
    }

    /// What the long form of a short form that the text defines is read as.
    pub(crate) fn read_long_form(&self, long_form: &str) -> Reading {
        let (name, concepts) = variant::read_words(self, long_form)
            .unwrap_or_else(|| (long_form.to_owned(), self.named_concepts(long_form)));
        Reading {
            name,
            concepts,
            step: Step::Abbreviation,
        }
    }

    /// The concepts with this name after normalisation.
    pub(crate) fn named_concepts(&self, text: &str) -> Vec<ConceptId> {
        let mut named = self.bundle.dictionary.lookup_mention(text);
        named.extend(self.added.named(text));
        named
    }
}
