//! The dictionary: names, what is known of each, and known words, used straight from bytes.

use super::build;
use super::normalise::normalise_name;
use super::posting::Postings;
use super::scan::Scan;
use crate::container::{Check, Container, Format};
use crate::error::{Error, Result};
use crate::kb::{Concept, ConceptId};
use bytes::Bytes;
use fst::raw::Fst;
use serde::{Deserialize, Serialize};

pub(super) const FORMAT: Format = Format { magic: b"PELNAMES", version: 1, name: "dictionary" };

/// Most bytes of a normalised word; names with longer ones are left out.
pub(super) const MAX_WORD: usize = 256;
/// Most words and marks of a name; longer ones are left out.
pub(super) const MAX_TOKENS: usize = 255;

/// What the header of a dictionary says.
#[derive(Serialize, Deserialize)]
pub(super) struct Fields {
    /// Words and marks of the longest name.
    pub longest_name: usize,
}

/// All names of a knowledge base, and the words that its names and definitions are made of.
///
/// Nothing is copied from the bytes: they may be a memory map.
pub struct Dictionary {
    pub(super) names: Fst<Bytes>,
    pub(super) words: fst::Set<Bytes>,
    pub(super) postings: Bytes,
    pub(super) longest_name: usize,
}

impl Dictionary {
    /// The bytes of a dictionary of these concepts; the same concepts give the same bytes.
    ///
    /// Names with more than 255 words and marks, or a word of more than 256 bytes, are left out.
    ///
    /// # Errors
    /// If the bytes cannot be written, which no concept brings about.
    pub fn build<'a>(concepts: impl Iterator<Item = (ConceptId, &'a Concept)>) -> Result<Vec<u8>> {
        build::build(concepts)
    }

    /// A dictionary over the bytes that [`Dictionary::build`] gave.
    ///
    /// # Errors
    /// If they are something else, of another version, cut short or altered.
    pub fn from_bytes(bytes: Bytes) -> Result<Self> {
        Self::read(&bytes, Check::Checksums)
    }

    /// As [`Dictionary::from_bytes`]; checksums that the caller has compared need not be compared again.
    ///
    /// # Errors
    /// As [`Dictionary::from_bytes`].
    pub fn read(bytes: &Bytes, check: Check) -> Result<Self> {
        let container = Container::<Fields>::read(FORMAT, bytes, check)?;
        let damaged = |what| move |cause: fst::Error| Error::artifact(format!("the dictionary's {what}")).caused_by(cause);
        Ok(Self {
            names: Fst::new(container.section("names")?).map_err(damaged("names"))?,
            words: fst::Set::new(container.section("words")?).map_err(damaged("words"))?,
            postings: container.section("postings")?,
            longest_name: container.fields.longest_name.min(MAX_TOKENS),
        })
    }

    /// The number of names, as they are after normalising, with those derived from them.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The concepts that have this name, as [`normalise_name`] compares names, in ascending order.
    pub fn lookup(&self, name: &str) -> Vec<ConceptId> {
        let Some(at) = self.names.get(normalise_name(name)) else { return Vec::new() };
        let stated = Postings::at(&self.postings, at.value()).filter(|posting| posting.stated);
        let mut concepts: Vec<ConceptId> = stated.map(|posting| posting.concept).collect();
        concepts.dedup(); // postings are in the order of concepts
        concepts
    }

    /// The concepts of a mention as found in text, in ascending order: those that have it as their name, else those for
    /// which it is the plural or singular of a name, or a form derived from a name ("Alzheimers
    /// disease" from "Alzheimer's disease").
    pub fn lookup_mention(&self, mention: &str) -> Vec<ConceptId> {
        let stated = self.lookup(mention);
        if !stated.is_empty() {
            return stated;
        }
        let mut scan = Scan::new(self, mention);
        let names = scan.names_at(0);
        let whole = names.into_iter().filter(|found| scan.token(found.last + 1).is_none());
        let mut concepts: Vec<ConceptId> =
            whole.flat_map(|found| Postings::at(&self.postings, found.postings)).map(|posting| posting.concept).collect();
        concepts.sort_unstable();
        concepts.dedup();
        concepts
    }
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary").field("names", &self.len()).field("words", &self.words.len()).finish()
    }
}
