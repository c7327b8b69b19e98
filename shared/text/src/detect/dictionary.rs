//! The dictionary: names with their concepts, and known words, read in place from bytes.

use super::automaton;
use super::build;
use super::format::{FORMAT, Fields, MAX_TOKENS};
use super::normalise::normalise_name;
use super::posting::{self, Posting, Postings};
use bytes::Bytes;
use fst::raw::Fst;
use fst::{IntoStreamer, Streamer};
use pel_kb::container::{Check, Container};
use pel_kb::error::{Context, Error, Result};
use pel_kb::{Concept, ConceptId};

/// All names of a knowledge base, and the words of its names and definitions.
///
/// It refers to the bytes that it was read from, which may be a memory map.
pub struct Dictionary {
    pub(super) names: Fst<Bytes>,
    pub(super) words: fst::Set<Bytes>,
    pub(super) postings: Bytes,
    pub(super) longest_name: usize,
    /// The number of concepts; postings of others are ignored.
    concepts: usize,
}

/// The most names with one beginning that are read.
const BEGINNINGS: usize = 1_000;

impl Dictionary {
    /// Encodes a dictionary of the given concepts. The result is deterministic.
    ///
    /// Names with more than 255 words and symbols, or with a word of more than 256 bytes, are left
    /// out.
    ///
    /// # Errors
    /// If the automaton cannot be built, which does not depend on the concepts.
    pub fn build<'a>(concepts: impl Iterator<Item = (ConceptId, &'a Concept)>) -> Result<Vec<u8>> {
        build::build(concepts)
    }

    /// Reads a dictionary that [`Dictionary::build`] encoded.
    ///
    /// # Errors
    /// If the bytes are not a dictionary of this version, are truncated or were altered.
    pub fn from_bytes(bytes: Bytes) -> Result<Self> {
        Self::read(&bytes, Check::Checksums)
    }

    /// As [`Dictionary::from_bytes`], with or without a comparison of checksums.
    ///
    /// # Errors
    /// As [`Dictionary::from_bytes`].
    pub fn read(bytes: &Bytes, check: Check) -> Result<Self> {
        let container = Container::<Fields>::read(FORMAT, bytes, check)?;
        let damaged = |what| {
            move |cause: fst::Error| {
                Error::artifact(format!("the dictionary's {what}")).caused_by(cause)
            }
        };
        let names = container.section("names")?;
        let words = container.section("words")?;
        let postings = container.section("postings")?;
        automaton::check(&names, postings.len() as u64)
            .context(|| "the dictionary's names".into())?;
        automaton::check(&words, 0).context(|| "the dictionary's words".into())?;
        Ok(Self {
            names: Fst::new(names).map_err(damaged("names"))?,
            words: fst::Set::new(words).map_err(damaged("words"))?,
            postings,
            longest_name: container.fields.longest_name.min(MAX_TOKENS),
            concepts: usize::MAX,
        })
    }

    /// Restricts the dictionary to a concept table with `concepts` concepts.
    ///
    /// # Errors
    /// If a name refers to a concept that the table does not have.
    pub fn among(self, concepts: usize) -> Result<Self> {
        posting::check(&self.postings, concepts)?;
        Ok(Self { concepts, ..self })
    }

    /// The postings that start at a byte offset. A damaged automaton may give any offset, so
    /// postings of concepts that do not exist are left out.
    pub(super) fn postings(&self, at: u64) -> impl Iterator<Item = Posting> + '_ {
        Postings::at(&self.postings, at).filter(|posting| posting.concept.index() < self.concepts)
    }

    /// The number of normalised names, derived ones included.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The concepts with this name, compared by [`normalise_name`], in ascending order.
    pub fn lookup(&self, name: &str) -> Vec<ConceptId> {
        let Some(at) = self.names.get(normalise_name(name)) else {
            return Vec::new();
        };
        let stated = self.postings(at.value()).filter(|posting| posting.stated);
        let mut concepts: Vec<ConceptId> = stated.map(|posting| posting.concept).collect();
        concepts.dedup(); // postings are in the order of concepts
        concepts
    }

    /// Whether a name begins with a word and has others behind it: "MRI" in "MRI of the knee".
    pub fn begins_longer_name(&self, word: &str) -> bool {
        let start = normalise_name(word) + " ";
        let mut names = self.names.range().ge(&start).into_stream();
        names
            .next()
            .is_some_and(|(name, _)| name.starts_with(start.as_bytes()))
    }

    /// The concepts of the names of one word that begin with some letters, in ascending order.
    /// `None` if they are more than `most`, or more than 1,000 names begin so.
    pub fn begun_by(&self, letters: &str, most: usize) -> Option<Vec<ConceptId>> {
        let start = normalise_name(letters);
        let mut names = self.names.range().ge(&start).into_stream();
        let (mut concepts, mut read) = (Vec::new(), 0);
        while let Some((name, at)) = names.next() {
            if !name.starts_with(start.as_bytes()) {
                break;
            }
            read += 1;
            if read > BEGINNINGS {
                return None;
            }
            if name.contains(&b' ') {
                continue;
            }
            let stated = self.postings(at.value()).filter(|posting| posting.stated);
            concepts.extend(stated.map(|posting| posting.concept));
            concepts.sort_unstable();
            concepts.dedup();
            if concepts.len() > most {
                return None;
            }
        }
        Some(concepts)
    }
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary")
            .field("names", &self.len())
            .field("words", &self.words.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::MAX_WORD;
    use super::super::tests::{FEVER_AND_COLD, bytes, dictionary, ids};
    use super::*;

    #[test]
    fn names_of_one_word_are_found_by_their_beginning() {
        let dictionary = dictionary(&FEVER_AND_COLD, "");
        assert_eq!(dictionary.begun_by("PYREX", 1), Some(ids(&[0])));
        assert_eq!(dictionary.begun_by("feve", 1), Some(ids(&[0])));
        // "common cold" and "sensation of cold" have several words.
        assert_eq!(dictionary.begun_by("comm", 1), Some(Vec::new()));
        assert_eq!(dictionary.begun_by("xyz", 1), Some(Vec::new()));
        // "cold" is a name of two concepts.
        assert_eq!(dictionary.begun_by("col", 1), None);
        assert_eq!(dictionary.begun_by("col", 2), Some(ids(&[1, 2])));
    }

    #[test]
    fn lookup_finds_all_concepts_with_the_name() {
        let dictionary = dictionary(&FEVER_AND_COLD, "");
        assert_eq!(dictionary.lookup("COLD"), ids(&[1, 2]));
        assert_eq!(dictionary.lookup("fever"), ids(&[0]));
        assert_eq!(dictionary.lookup("fevers"), ids(&[]));
        assert_eq!(dictionary.lookup("alzheimers"), ids(&[]));
        assert!(dictionary.lookup("").is_empty() && dictionary.lookup("col").is_empty());
        assert!(
            dictionary.begins_longer_name("COMMON") && dictionary.begins_longer_name("sensation")
        );
        assert!(!dictionary.begins_longer_name("cold") && !dictionary.begins_longer_name("comm"));
        // fever, pyrexia, cold, common cold, sensation of cold, alzheimer and the derived
        // alzheimers.
        assert_eq!(dictionary.len(), 7);
    }

    #[test]
    fn build_is_deterministic() {
        assert_eq!(
            bytes(&FEVER_AND_COLD, "heat of the body"),
            bytes(&FEVER_AND_COLD, "heat of the body")
        );
    }

    #[test]
    fn empty_dictionary_finds_nothing() {
        let dictionary = dictionary(&[], "");
        assert!(dictionary.is_empty() && dictionary.lookup("fever").is_empty());
        assert!(dictionary.detect("fever", &Default::default()).is_empty());
    }

    #[test]
    fn names_beyond_the_limits_are_left_out() {
        let word = "x".repeat(MAX_WORD + 1);
        let words = "x ".repeat(MAX_TOKENS + 1);
        let longest = "y".repeat(MAX_WORD);
        let most = "y ".repeat(MAX_TOKENS);
        let dictionary = dictionary(&[(&word, &[&words]), (&longest, &[&most])], "");
        assert_eq!(
            dictionary.lookup(&word).len() + dictionary.lookup(&words).len(),
            0
        );
        assert_eq!(dictionary.lookup(&longest), ids(&[1]));
        assert_eq!(dictionary.lookup(&most), ids(&[1]));
        assert_eq!(dictionary.detect(&most, &Default::default()).len(), 1);
    }

    /// A dictionary with one section replaced and correct checksums.
    fn with_section(name: &str, body: &[u8]) -> Bytes {
        let whole = Bytes::from(bytes(&FEVER_AND_COLD, "heat of the body"));
        let container = Container::<Fields>::read(FORMAT, &whole, Check::Checksums).expect("whole");
        let body_of = |own| {
            if own == name {
                Bytes::copy_from_slice(body)
            } else {
                container.section(own).expect("there")
            }
        };
        let bodies = ["names", "words", "postings"].map(|own| (own, body_of(own)));
        let sections: Vec<(&str, &[u8])> = bodies
            .iter()
            .map(|(name, body)| (*name, &body[..]))
            .collect();
        pel_kb::container::write(FORMAT, &container.fields, &sections)
            .expect("it can be written")
            .into()
    }

    #[test]
    fn truncated_section_with_correct_checksum_is_an_error() {
        let whole = Bytes::from(bytes(&FEVER_AND_COLD, "heat of the body"));
        let container = Container::<Fields>::read(FORMAT, &whole, Check::Checksums).expect("whole");
        for name in ["names", "words"] {
            let body = container.section(name).expect("there");
            Dictionary::from_bytes(with_section(name, &body)).expect("whole");
            for length in 0..body.len() {
                let cut = Dictionary::from_bytes(with_section(name, &body[..length]));
                let message = cut.expect_err("truncated").to_string();
                assert!(
                    message.contains(&format!("the dictionary's {name}")),
                    "{message}"
                );
            }
        }
        let postings = container.section("postings").expect("there");
        let cut = Dictionary::from_bytes(with_section("postings", &postings[..postings.len() - 1]));
        assert!(cut.and_then(|cut| cut.among(3)).is_err());
        let read = || Dictionary::from_bytes(whole.clone()).expect("whole");
        read().among(3).expect("all concepts exist");
        let message = read().among(2).expect_err("one is missing").to_string();
        assert!(
            message.contains("expected concepts below 2, found 2"),
            "{message}"
        );
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let whole = bytes(&FEVER_AND_COLD, "heat of the body");
        let read = |bytes: Vec<u8>| {
            Dictionary::from_bytes(Bytes::from(bytes))
                .map(|_| ())
                .map_err(|e| e.kind())
        };
        assert_eq!(read(whole.clone()), Ok(()));
        let artifact = Err(pel_kb::error::Kind::Artifact);
        assert!(
            (0..whole.len())
                .step_by(7)
                .all(|length| read(whole[..length].to_vec()) == artifact)
        );
        let altered = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            read(bytes)
        };
        assert_eq!(altered(0), artifact);
        assert_eq!(altered(8), artifact);
        assert!(
            (0..whole.len())
                .step_by(13)
                .all(|at| altered(at) == artifact)
        );
    }
}
