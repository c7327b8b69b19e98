//! Tokenized mentions.

use crate::step::Step;
use pel_kb::ConceptId;
use pel_kb::group::Group;
use pel_model::encode::SequenceInterner;
use pel_model::tokens::Encoded;
use pel_text::attributes::Attribute;
use pel_text::context::Context;
use pel_text::detect::{Detected, SimilarName};
use std::collections::HashSet;
use std::sync::Arc;

/// The tokenized mentions of one or more texts. Equal token sequences are encoded once.
#[derive(Clone, Default)]
pub struct Prepared {
    pub(crate) mentions: Vec<PreparedMention>,
    pub(crate) sequences: Vec<Encoded>,
    /// The number of mentions of each text.
    pub(crate) texts: Vec<usize>,
}

#[derive(Clone)]
pub(crate) struct PreparedMention {
    pub detected: Detected,
    /// The position of its token sequence; `None` if it is empty after normalisation, or its name
    /// alone decides.
    pub sequence: Option<usize>,
    /// The concepts with this name after normalisation, ascending: at most the first [`MOST_NAMED`].
    /// If there are none, those with it without words of side and severity at its ends. Mentions
    /// share equal lists.
    pub named: Arc<[ConceptId]>,
    /// Whether they have it only without such words.
    pub modified: bool,
    /// Whether it is plainly a name of one concept ([`Linker::is_plain_name`](crate::Linker::is_plain_name)).
    ///
    /// [`Linker::is_plain_name`]: crate::Linker::is_plain_name
    pub plain: bool,
    /// The concepts that it may name if it is misspelt. Empty if it is a name.
    pub misspelt: Vec<SimilarName>,
    /// Whether it has an unknown word and is similar to no name.
    pub unknown_word: bool,
    /// Its text, abbreviations expanded, and wordings replaced by the names that they stand for.
    pub text: String,
    /// Whether an abbreviation was expanded or a wording replaced.
    pub rewritten: bool,
    /// The step that read it as this text.
    pub read_by: Option<Step>,
    /// Its kind ([`Steps::judge`](crate::Steps::judge)).
    pub group: Option<Group>,
    /// What the text says of it.
    pub context: Context,
    /// What stands beside it.
    pub attributes: Vec<Attribute>,
}

/// The most concepts of one name that a mention carries: the first in the order of the table. No
/// terminology has so many, but a careless table can.
const MOST_NAMED: usize = 4_096;

/// Lists of concepts, each kept once and cut after [`MOST_NAMED`].
#[derive(Default)]
pub(crate) struct SharedLists(HashSet<Arc<[ConceptId]>>);

impl SharedLists {
    pub fn share(&mut self, mut list: Vec<ConceptId>) -> Arc<[ConceptId]> {
        list.truncate(MOST_NAMED);
        if let Some(known) = self.0.get(list.as_slice()) {
            return Arc::clone(known);
        }
        let list: Arc<[ConceptId]> = list.into();
        self.0.insert(Arc::clone(&list));
        list
    }
}

/// Some mentions of a [`Prepared`].
pub struct Part {
    /// The position of each mention in the whole.
    pub places: Vec<usize>,
    /// The mentions.
    pub prepared: Prepared,
}

impl PreparedMention {
    /// Whether it is a name of a concept, as detection by names finds them.
    pub fn is_name(&self) -> bool {
        !self.named.is_empty() && !self.modified
    }

    /// The concept, if the mention's name alone decides and it was not encoded.
    pub fn known(&self) -> Option<ConceptId> {
        let unsearched = self.plain && self.sequence.is_none();
        self.named.first().copied().filter(|_| unsearched)
    }
}

impl Prepared {
    /// Joins the mentions of several texts. Equal sequences of different texts are encoded once.
    pub fn join(texts: impl IntoIterator<Item = Prepared>) -> Self {
        let (mut interner, mut mentions, mut lengths) =
            (SequenceInterner::default(), Vec::new(), Vec::new());
        for text in texts {
            lengths.extend(text.texts);
            let numbers: Vec<usize> = text
                .sequences
                .into_iter()
                .map(|encoded| interner.intern(encoded))
                .collect();
            mentions.extend(text.mentions.into_iter().map(|mention| {
                let sequence = mention.sequence.map(|at| numbers[at]);
                PreparedMention {
                    sequence,
                    ..mention
                }
            }));
        }
        Self {
            mentions,
            sequences: interner.into_sequences(),
            texts: lengths,
        }
    }

    /// Splits the mentions into one part for each group of sequences, in the order of the groups.
    /// Mentions without a sequence belong to the first part. The mentions of a part are linked as
    /// if each were alone: call [`Steps::finish`](crate::Steps::finish) for the whole text at the
    /// end.
    ///
    /// # Panics
    /// If a sequence is in no group, or in two.
    pub fn split(self, groups: &[Vec<usize>]) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        parts.resize_with(groups.len().max(1), || Part {
            places: Vec::new(),
            prepared: Self::default(),
        });
        let mut sequences: Vec<Option<Encoded>> = self.sequences.into_iter().map(Some).collect();
        let mut places = vec![(0, 0); sequences.len()];
        for (at, group) in groups.iter().enumerate() {
            for (within, sequence) in group.iter().enumerate() {
                places[*sequence] = (at, within);
                parts[at]
                    .prepared
                    .sequences
                    .extend(sequences[*sequence].take());
            }
            assert_eq!(
                parts[at].prepared.sequences.len(),
                group.len(),
                "a sequence is in two groups"
            );
        }
        assert!(
            sequences.iter().all(Option::is_none),
            "a sequence is in no group"
        );
        for (place, mention) in self.mentions.into_iter().enumerate() {
            let (at, sequence) = mention.sequence.map_or((0, None), |sequence| {
                let (at, within) = places[sequence];
                (at, Some(within))
            });
            parts[at].places.push(place);
            parts[at].prepared.texts.push(1);
            parts[at].prepared.mentions.push(PreparedMention {
                sequence,
                ..mention
            });
        }
        parts
    }

    /// Marks the mentions as those of one text: they were prepared in parts.
    #[must_use]
    pub fn of_one_text(self) -> Self {
        Self {
            texts: vec![self.mentions.len()],
            ..self
        }
    }

    /// The concepts that a mention may name if it is misspelt, with the letters that differ. Empty
    /// if it is a name or has no unknown word.
    pub fn misspelt(&self, mention: usize) -> &[SimilarName] {
        self.mentions
            .get(mention)
            .map_or(&[], |mention| &mention.misspelt)
    }

    /// The number of mentions.
    pub fn mentions(&self) -> usize {
        self.mentions.len()
    }

    /// The different token sequences of the mentions.
    pub fn sequences(&self) -> &[Encoded] {
        &self.sequences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_model::tokens::Cut;
    use pel_text::Span;
    use pel_text::detect::Origin;

    fn encoded(id: u32) -> Encoded {
        Encoded::whole(vec![id], Cut::default())
    }

    fn mention(start: usize, sequence: Option<usize>) -> PreparedMention {
        let detected = Detected::new(Span::new(start, start + 1), Origin::Given);
        PreparedMention {
            detected,
            sequence,
            named: Arc::default(),
            modified: false,
            plain: false,
            misspelt: Vec::new(),
            unknown_word: false,
            text: String::new(),
            rewritten: false,
            read_by: None,
            group: None,
            context: Context::default(),
            attributes: Vec::new(),
        }
    }

    #[test]
    fn equal_lists_of_concepts_are_kept_once() {
        let mut lists = SharedLists::default();
        let list = |ids: &[u32]| ids.iter().copied().map(ConceptId).collect::<Vec<_>>();
        let first = lists.share(list(&[1, 2]));
        assert_eq!(*first, list(&[1, 2]));
        assert!(Arc::ptr_eq(&first, &lists.share(list(&[1, 2]))));
        assert!(!Arc::ptr_eq(&first, &lists.share(list(&[1, 3]))));
        assert!(lists.share(Vec::new()).is_empty());
        let many: Vec<u32> = (0..100_000).collect();
        assert_eq!(*lists.share(list(&many)), list(&many[..MOST_NAMED]));
    }

    #[test]
    fn parts_have_the_mentions_of_their_sequences() {
        let mentions = [
            mention(0, Some(1)),
            mention(1, None),
            mention(2, Some(0)),
            mention(3, Some(1)),
        ];
        let whole = || Prepared {
            mentions: mentions
                .iter()
                .map(|m| mention(m.detected.span.start, m.sequence))
                .collect(),
            sequences: vec![encoded(10), encoded(11), encoded(12)],
            texts: vec![4],
        };
        let parts = whole().split(&[vec![1], vec![2, 0]]);
        let shown: Vec<_> = parts
            .iter()
            .map(|part| {
                let ids: Vec<u32> = part
                    .prepared
                    .sequences
                    .iter()
                    .map(|sequence| sequence.ids[0])
                    .collect();
                let sequences: Vec<_> = part
                    .prepared
                    .mentions
                    .iter()
                    .map(|mention| mention.sequence)
                    .collect();
                (part.places.clone(), ids, sequences)
            })
            .collect();
        assert_eq!(
            shown[0],
            (vec![0, 1, 3], vec![11], vec![Some(0), None, Some(0)])
        );
        assert_eq!(shown[1], (vec![2], vec![12, 10], vec![Some(1)]));
        let nothing = Prepared {
            mentions: vec![mention(0, None)],
            ..Prepared::default()
        }
        .split(&[]);
        assert_eq!((nothing.len(), &nothing[0].places[..]), (1, &[0][..]));
    }

    #[test]
    #[should_panic(expected = "in no group")]
    fn sequence_in_no_group_panics() {
        let whole = Prepared {
            mentions: Vec::new(),
            sequences: vec![encoded(1), encoded(2)],
            texts: Vec::new(),
        };
        whole.split(&[vec![0]]);
    }
}
