//! The concepts whose mentions an encoder was trained on: `trained.txt`.
//!
//! The file has UTF-8 text: identifiers in ascending order of their bytes, each once and followed
//! by a line feed. It is empty if the encoder was trained on no mention. Without the file it is
//! unknown what the encoder was trained on.

use pel_kb::error::{Error, Result};
use std::collections::BTreeSet;

/// The identifiers of the concepts whose mentions an encoder was trained on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrainedConcepts(BTreeSet<String>);

impl TrainedConcepts {
    /// Reads the file.
    ///
    /// # Errors
    /// If it is not UTF-8, or its lines are not complete, ascending and different. The error names
    /// the line.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes)
            .map_err(|cause| Error::artifact("expected UTF-8").caused_by(cause))?;
        let (mut ids, mut last) = (BTreeSet::new(), "");
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let Some(id) = line.strip_suffix('\n') else {
                return Err(Error::artifact(format!(
                    "line {}: expected a line feed after the identifier, found the end of the file",
                    at + 1
                )));
            };
            if id <= last {
                return Err(Error::artifact(format!(
                    "line {}: expected different identifiers in ascending order, found {id:?} \
                     after {last:?}",
                    at + 1
                )));
            }
            last = id;
            ids.insert(id.to_owned());
        }
        Ok(Self(ids))
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for id in &self.0 {
            bytes.extend_from_slice(id.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }

    /// The number of concepts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The concepts of both.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The identifiers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Adds identifiers. None has a line break: concept tables with such identifiers are refused.
impl Extend<String> for TrainedConcepts {
    fn extend<I: IntoIterator<Item = String>>(&mut self, ids: I) {
        self.0.extend(ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_sorted_and_read_back() {
        let mut trained = TrainedConcepts::default();
        assert!(trained.is_empty() && trained.to_bytes().is_empty());
        assert_eq!(TrainedConcepts::from_bytes(b"").expect("empty"), trained);
        trained.extend(["D2", "é", "D10", "D2"].map(str::to_owned));
        assert_eq!(trained.to_bytes(), "D10\nD2\né\n".as_bytes());
        let read = TrainedConcepts::from_bytes(&trained.to_bytes()).expect("whole");
        assert_eq!((&read, read.len()), (&trained, 3));
        assert_eq!(read.iter().collect::<Vec<_>>(), ["D10", "D2", "é"]);
        let other = TrainedConcepts::from_bytes(b"D10\nD3\n").expect("whole");
        assert_eq!(read.joined(other).to_bytes(), "D10\nD2\nD3\né\n".as_bytes());
    }

    #[test]
    fn damaged_file_is_refused_with_its_line() {
        let said = |bytes: &[u8]| {
            TrainedConcepts::from_bytes(bytes)
                .expect_err("damaged")
                .to_string()
        };
        assert!(said(b"D1\nD2").starts_with("line 2: expected a line feed"));
        assert!(said(b"D2\nD10\n").contains("line 2: expected different identifiers in ascending"));
        assert!(said(b"D1\nD1\n").contains("found \"D1\" after \"D1\""));
        assert!(said(b"\nD1\n").starts_with("line 1: "));
        assert!(said(b"\xff\n").starts_with("expected UTF-8"));
    }
}
