//! The files of each split, and which document belongs to which split by lists of document ids.

use crate::io::files::for_each_line;
use pel_shared::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The split of a corpus without lists.
pub const ALL: &str = "all";

/// A file for each split, or none.
#[derive(Clone, Debug, Default)]
pub struct SplitFiles {
    /// Of the split that is trained on.
    pub train: Option<PathBuf>,
    /// Of the split that settings are chosen on.
    pub dev: Option<PathBuf>,
    /// Of the split that is tested on.
    pub test: Option<PathBuf>,
}

impl SplitFiles {
    /// Each split with its file.
    pub fn all(&self) -> [(&'static str, Option<&Path>); 3] {
        [("train", self.train.as_deref()), ("dev", self.dev.as_deref()), ("test", self.test.as_deref())]
    }

    /// The splits that have a file.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.all().into_iter().filter_map(|(split, file)| Some((split, file?)))
    }
}

/// The split of each listed document.
#[derive(Clone, Debug, Default)]
pub struct Splits {
    of: BTreeMap<String, &'static str>,
    names: Vec<&'static str>,
}

impl Splits {
    /// Reads the lists that are given, one document id a line. Without any list every document is in the split `all`.
    ///
    /// # Errors
    /// If a list cannot be read, or one document is in two lists.
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
                    Some(other) if other != name => {
                        Err(Error::input(format!("document {id} is listed for {other} and for {name}")))
                    }
                    _ => Ok(()),
                }
            })?;
        }
        if splits.names.is_empty() {
            splits.names.push(ALL);
        }
        Ok(splits)
    }

    /// The splits, in their usual order.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The split of a document; `None` if it is in no list.
    pub fn of(&self, doc_id: &str) -> Option<&'static str> {
        if self.names == [ALL] { Some(ALL) } else { self.of.get(doc_id).copied() }
    }

    /// The listed documents, in the order of their ids.
    pub fn listed(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.of.iter().map(|(id, split)| (id.as_str(), *split))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_in_one_split_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (train, test) = (folder.path().join("train"), folder.path().join("test"));
        std::fs::write(&train, "1\r\n\n2\n2\n").expect("written");
        std::fs::write(&test, "3").expect("written");
        let splits = Splits::read([("train", Some(&train)), ("dev", None), ("test", Some(&test))]).expect("readable");
        assert_eq!(splits.names(), ["train", "test"]);
        assert_eq!(["1", "2", "3", "4"].map(|id| splits.of(id)), [Some("train"), Some("train"), Some("test"), None]);
        assert_eq!(splits.listed().count(), 3);

        std::fs::write(&test, "\n2\n").expect("written");
        let error = Splits::read([("train", Some(&train)), ("dev", None), ("test", Some(&test))]).expect_err("twice");
        assert!(error.to_string().ends_with("line 2: document 2 is listed for train and for test"), "{error}");
        assert_eq!(Splits::read([("train", None); 3]).expect("nothing to read").of("7"), Some(ALL));
    }
}
