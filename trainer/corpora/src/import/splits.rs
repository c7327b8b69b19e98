//! The files of each split, and lists of the documents of each split.

use pel_io::files::for_each_line;
use pel_kb::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The split of a corpus without split lists.
pub const ALL: &str = "all";

/// An optional file for each split.
#[derive(Clone, Debug, Default)]
pub struct SplitFiles {
    /// Training split.
    pub train: Option<PathBuf>,
    /// Validation split.
    pub dev: Option<PathBuf>,
    /// Test split.
    pub test: Option<PathBuf>,
}

impl SplitFiles {
    /// Every split with its file.
    pub fn all(&self) -> [(&'static str, Option<&Path>); 3] {
        [
            ("train", self.train.as_deref()),
            ("dev", self.dev.as_deref()),
            ("test", self.test.as_deref()),
        ]
    }

    /// The splits with a file.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.all()
            .into_iter()
            .filter_map(|(split, file)| Some((split, file?)))
    }
}

/// The split of each listed document.
#[derive(Clone, Debug, Default)]
pub struct Splits {
    of: BTreeMap<String, &'static str>,
    names: Vec<&'static str>,
}

impl Splits {
    /// Reads the given lists, one document id per line. Without lists every document is in the
    /// split `all`.
    ///
    /// # Errors
    /// If a list cannot be read, or a document is in two lists.
    pub fn read(lists: [(&'static str, Option<&Path>); 3]) -> Result<Self> {
        let mut splits = Self::default();
        for (name, path) in lists {
            let Some(path) = path else { continue };
            splits.names.push(name);
            for_each_line(path, |_, line| {
                let id = line.trim();
                if id.is_empty() {
                    return Ok(());
                }
                match splits.of.insert(id.to_owned(), name) {
                    Some(other) if other != name => Err(Error::input(format!(
                        "expected each document in one list, found {id} in {other} and {name}"
                    ))),
                    _ => Ok(()),
                }
            })?;
        }
        if splits.names.is_empty() {
            splits.names.push(ALL);
        }
        Ok(splits)
    }

    /// The splits in their usual order.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The split of a document; `None` if no list has it.
    pub fn of(&self, doc_id: &str) -> Option<&'static str> {
        if self.names == [ALL] {
            Some(ALL)
        } else {
            self.of.get(doc_id).copied()
        }
    }

    /// The listed documents ordered by id.
    pub fn listed(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.of.iter().map(|(id, split)| (id.as_str(), *split))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_is_in_at_most_one_split() {
        let folder = tempfile::tempdir().expect("a folder");
        let (train, test) = (folder.path().join("train"), folder.path().join("test"));
        std::fs::write(&train, "1\r\n\n2\n2\n").expect("written");
        std::fs::write(&test, "3").expect("written");
        let splits = Splits::read([
            ("train", Some(&train)),
            ("dev", None),
            ("test", Some(&test)),
        ])
        .expect("readable");
        assert_eq!(splits.names(), ["train", "test"]);
        assert_eq!(
            ["1", "2", "3", "4"].map(|id| splits.of(id)),
            [Some("train"), Some("train"), Some("test"), None]
        );
        assert_eq!(splits.listed().count(), 3);

        std::fs::write(&test, "\n2\n").expect("written");
        let error = Splits::read([
            ("train", Some(&train)),
            ("dev", None),
            ("test", Some(&test)),
        ])
        .expect_err("twice");
        assert!(
            error
                .to_string()
                .ends_with("line 2: expected each document in one list, found 2 in train and test"),
            "{error}"
        );
        assert_eq!(
            Splits::read([("train", None); 3])
                .expect("nothing to read")
                .of("7"),
            Some(ALL)
        );
    }
}
