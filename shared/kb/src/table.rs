//! The concept table of a bundle. Concepts are decoded on demand, so opening a table is fast.

use crate::changes::ById;
use crate::container;
use crate::container::{Check, Container, Format};
use crate::error::{Error, Result};
use crate::group::Group;
use crate::numbers::Numbers;
use crate::{Concept, ConceptId, KnowledgeBase};
use bytes::Bytes;
use std::borrow::Cow;

const FORMAT: Format = Format {
    magic: b"PELCNCPT",
    version: 1,
    name: "concept table",
};

/// An encoded knowledge base.
#[derive(Debug)]
pub struct ConceptTable {
    /// `[n + 1]`: the start of each record in bytes, and the end of the last one.
    starts: Numbers<u64>,
    /// `[n]`: the concepts' positions in the order of their identifiers.
    by_id: Numbers<u32>,
    records: Bytes,
}

impl ConceptTable {
    /// Encodes a knowledge base.
    ///
    /// # Errors
    /// If a concept cannot be encoded.
    pub fn build(kb: &KnowledgeBase) -> Result<Vec<u8>> {
        let mut records = Vec::new();
        let mut starts = vec![0u64];
        for (_, concept) in kb.iter() {
            records = postcard::to_extend(concept, records).map_err(|cause| {
                Error::artifact(format!("encoding the concept {}", concept.id)).caused_by(cause)
            })?;
            starts.push(records.len() as u64);
        }
        let mut by_id: Vec<(&str, u32)> = kb
            .iter()
            .map(|(at, concept)| (concept.id.as_str(), at.0))
            .collect();
        by_id.sort_unstable();
        let by_id: Vec<u32> = by_id.into_iter().map(|(_, at)| at).collect();
        let sections: [(&str, &[u8]); 3] = [
            ("starts", bytemuck::cast_slice(&starts)),
            ("by_id", bytemuck::cast_slice(&by_id)),
            ("records", &records),
        ];
        container::write(FORMAT, &kb.len(), &sections)
    }

    /// Reads a table.
    ///
    /// # Errors
    /// If the bytes are truncated, altered, of another version, or inconsistent.
    pub fn from_bytes(bytes: &Bytes, check: Check) -> Result<Self> {
        let container = Container::<usize>::read(FORMAT, bytes, check)?;
        let count = container.fields;
        let size = |width: usize, count: usize| {
            count
                .checked_mul(width)
                .ok_or_else(|| Error::artifact("the concept table: its sizes are too large"))
        };
        let starts =
            Numbers::<u64>::new(container.section_of("starts", size(8, count.saturating_add(1))?)?);
        let by_id = Numbers::<u32>::new(container.section_of("by_id", size(4, count)?)?);
        let records = container.section("records")?;
        let first = starts.get().first();
        let last = starts.get().last();
        let end = records.len() as u64;
        if !starts.get().is_sorted() || (first, last) != (Some(&0), Some(&end)) {
            return Err(Error::artifact(format!(
                "the concept table: expected `starts` in ascending order from 0 to {end}, the \
                 bytes of its records"
            )));
        }
        let mut seen = vec![false; count];
        for at in by_id.get() {
            match seen.get_mut(*at as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    return Err(Error::artifact(format!(
                        "the concept table: expected each of the {count} concepts once in `by_id`"
                    )));
                }
            }
        }
        Ok(Self {
            starts,
            by_id,
            records,
        })
    }

    /// The number of concepts.
    pub fn len(&self) -> usize {
        self.by_id.get().len()
    }

    /// Whether there is no concept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The concept at a position.
    ///
    /// # Errors
    /// If there is no such concept, or its record is damaged.
    pub fn get(&self, id: ConceptId) -> Result<Concept> {
        let at = id.index();
        let range = match self.starts.get().get(at..at.saturating_add(2)) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => {
                let count = self.len();
                return Err(Error::artifact(format!(
                    "the concept table: expected a concept below {count}, found {at}"
                )));
            }
        };
        postcard::from_bytes(&self.records[range]).map_err(|cause| {
            Error::artifact(format!("the concept table: record {at}")).caused_by(cause)
        })
    }

    /// The group of a concept; `None` if its types belong to none.
    ///
    /// # Errors
    /// As [`ConceptTable::get`].
    pub fn group(&self, id: ConceptId) -> Result<Option<Group>> {
        Ok(Group::of(&self.get(id)?))
    }

    /// The position of an identifier, by binary search.
    ///
    /// # Errors
    /// If a record that is read is damaged.
    pub fn find(&self, id: &str) -> Result<Option<ConceptId>> {
        let order = self.by_id.get();
        let mut low = 0;
        let mut high = order.len();
        while low < high {
            let middle = low.midpoint(high);
            let at = ConceptId(order[middle]);
            match self.get(at)?.id.as_str().cmp(id) {
                std::cmp::Ordering::Equal => return Ok(Some(at)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// The concepts in the order of their identifiers, decoded one by one. It stops after an error:
    /// a damaged record, or another order.
    pub fn by_id(&self) -> ById<'_> {
        let (mut before, mut failed) = (None::<String>, false);
        let mut positions = self.by_id.get().iter();
        Box::new(std::iter::from_fn(move || {
            let at = ConceptId(*positions.next().filter(|_| !failed)?);
            let concept = self.get(at).and_then(|concept| {
                if before.as_ref().is_some_and(|before| *before >= concept.id) {
                    return Err(Error::artifact(format!(
                        "the concept table: expected `by_id` in the order of identifiers, found {} \
                         out of order",
                        concept.id
                    )));
                }
                before = Some(concept.id.clone());
                Ok((at, Cow::Owned(concept)))
            });
            failed = concept.is_err();
            Some(concept)
        }))
    }

    /// Decodes all concepts.
    ///
    /// # Errors
    /// If a record is damaged.
    pub fn to_knowledge_base(&self) -> Result<KnowledgeBase> {
        let mut kb = KnowledgeBase::new();
        for at in 0..self.len() as u32 {
            kb.push(self.get(ConceptId(at))?)?;
        }
        Ok(kb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kb() -> KnowledgeBase {
        let mut kb = KnowledgeBase::new();
        for (id, name) in [("D9", "fever"), ("D10", "cough"), ("A1", "knee")] {
            let concept = Concept {
                id: id.into(),
                name: name.into(),
                synonyms: vec!["x".into()],
                ..Concept::default()
            };
            kb.push(concept).expect("new");
        }
        kb
    }

    fn table() -> ConceptTable {
        let bytes = ConceptTable::build(&kb()).expect("it can be written");
        ConceptTable::from_bytes(&Bytes::from(bytes), Check::Checksums).expect("whole")
    }

    #[test]
    fn concepts_are_found_by_position_and_by_identifier() {
        let table = table();
        assert_eq!(table.len(), 3);
        assert_eq!(
            Some(&table.get(ConceptId(1)).expect("there")),
            kb().get(ConceptId(1))
        );
        for (id, at) in [
            ("D9", Some(0)),
            ("D10", Some(1)),
            ("A1", Some(2)),
            ("A", None),
            ("Z", None),
        ] {
            assert_eq!(table.find(id).expect("whole"), at.map(ConceptId), "{id}");
        }
        assert!(table.get(ConceptId(3)).is_err() && table.get(ConceptId(u32::MAX)).is_err());
        assert_eq!(table.to_knowledge_base().expect("whole").len(), 3);
    }

    #[test]
    fn inconsistent_sections_are_errors() {
        let whole = Bytes::from(ConceptTable::build(&kb()).expect("it can be written"));
        let container = Container::<usize>::read(FORMAT, &whole, Check::Checksums).expect("whole");
        let section = |name: &str| container.section(name).expect("there");
        let read = |starts: &[u64], by_id: &[u32], records: &[u8]| {
            let sections: [(&str, &[u8]); 3] = [
                ("starts", bytemuck::cast_slice(starts)),
                ("by_id", bytemuck::cast_slice(by_id)),
                ("records", records),
            ];
            let bytes = Bytes::from(
                container::write(FORMAT, &3usize, &sections).expect("it can be written"),
            );
            ConceptTable::from_bytes(&bytes, Check::Checksums)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        let starts: Vec<u64> = Numbers::new(section("starts")).get().to_vec();
        let by_id: Vec<u32> = Numbers::new(section("by_id")).get().to_vec();
        let records = section("records");
        read(&starts, &by_id, &records).expect("whole");
        for (starts, by_id, records, expected) in [
            (
                vec![1, starts[1], starts[2], starts[3]],
                by_id.clone(),
                &records[..],
                "`starts`",
            ),
            (
                vec![0, starts[2], starts[1], starts[3]],
                by_id.clone(),
                &records[..],
                "`starts`",
            ),
            (
                vec![0, starts[1], starts[2], u64::MAX],
                by_id.clone(),
                &records[..],
                "`starts`",
            ),
            (starts.clone(), by_id.clone(), &records[1..], "`starts`"),
            (starts.clone(), vec![0, 1, 3], &records[..], "`by_id`"),
            (starts.clone(), vec![0, 1, 1], &records[..], "`by_id`"),
        ] {
            let message = read(&starts, &by_id, records).expect_err(expected);
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn empty_table_is_valid() {
        let bytes = ConceptTable::build(&KnowledgeBase::new()).expect("it can be written");
        assert!(
            ConceptTable::from_bytes(&Bytes::from(bytes), Check::Checksums)
                .expect("whole")
                .is_empty()
        );
    }
}
