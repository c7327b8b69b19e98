//! Retired identifiers and their successors: `redirects.tsv`.
//!
//! The file has UTF-8 text with tabs, the header `id<tab>replaced_by<tab>reason`, and one line for
//! each retired identifier, ordered by identifier in bytes. `replaced_by` is a concept of the
//! knowledge base, or empty for an identifier without a successor. `reason` is a short word such as
//! `merged`.
//!
//! A terminology can have millions of them, so [`Redirects`] searches the lines where they are.

use crate::clean;
use crate::error::{Error, Result};
use bytes::Bytes;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::HashSet;

/// The first line of the file.
pub const HEADER: &str = "id\treplaced_by\treason";

/// The reason that an update gives to an identifier that its new table lacks.
pub const RETIRED: &str = "retired";

/// A retired identifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// The identifier.
    pub id: String,
    /// The identifier of its successor; `None` if there is none.
    pub replaced_by: Option<String>,
    /// The reason, a short word.
    pub reason: String,
}

impl Redirect {
    /// Reads a line without its end.
    ///
    /// # Errors
    /// If it has not 3 fields, or an identifier is blank, is its own successor or has control
    /// characters.
    fn parse(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.splitn(4, '\t').collect();
        let [id, replaced_by, reason] = fields[..] else {
            let found = line.split('\t').count();
            return Err(Error::input(format!(
                "expected 3 fields (id, replaced_by, reason) between tabs, found {found}"
            )));
        };
        if id.trim().is_empty() {
            return Err(Error::input("the retired id is blank"));
        }
        [id, replaced_by, reason]
            .into_iter()
            .try_for_each(clean::check_id)?;
        if replaced_by != replaced_by.trim() || id != id.trim() {
            return Err(Error::input(format!(
                "expected ids without spaces around them, found {id:?} and {replaced_by:?}"
            )));
        }
        if id == replaced_by {
            return Err(Error::input(format!(
                "{id} is its own successor; leave replaced_by empty if there is none"
            )));
        }
        Ok(Self {
            id: id.to_owned(),
            replaced_by: Some(replaced_by.to_owned()).filter(|id| !id.is_empty()),
            reason: reason.to_owned(),
        })
    }
}

/// Redirects that are collected from files, before they are checked against concepts.
#[derive(Clone, Debug, Default)]
pub struct RedirectList {
    entries: Vec<Entry>,
    has_header: bool,
}

/// A redirect with the number of its line; 0 if it comes from no line.
#[derive(Clone, Debug)]
struct Entry {
    redirect: Redirect,
    line: usize,
}

/// The end of a chain of redirects.
#[derive(Clone, Copy)]
enum End {
    /// It is not known yet.
    Open,
    /// It is being followed.
    Following,
    /// The entry whose successor is the end, or that has none.
    Entry(usize),
}

impl RedirectList {
    /// No redirects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a line of a file; the first one is the header. Blank lines are skipped.
    ///
    /// # Errors
    /// If the first line is not the header, or the line is not a redirect.
    pub fn read_line(&mut self, number: usize, line: &str) -> Result<()> {
        let line = line.trim_end_matches(['\r', '\n']);
        if line.trim().is_empty() {
            return Ok(());
        }
        if !self.has_header {
            if line != HEADER {
                return Err(Error::input(format!(
                    "expected the header {HEADER:?}, found {line:?}"
                )));
            }
            self.has_header = true;
            return Ok(());
        }
        self.entries.push(Entry {
            redirect: Redirect::parse(line)?,
            line: number,
        });
        Ok(())
    }

    /// Checks that the header was read.
    ///
    /// # Errors
    /// If no line was read.
    pub fn check_header(&self) -> Result<()> {
        match self.has_header {
            true => Ok(()),
            false => Err(Error::input(format!(
                "expected the header {HEADER:?}, found an empty file"
            ))),
        }
    }

    /// Adds a redirect that comes from no file.
    pub fn push(&mut self, redirect: Redirect) {
        self.entries.push(Entry { redirect, line: 0 });
    }

    /// The number of redirects.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The identifiers that are redirected.
    pub fn ids(&self) -> HashSet<&str> {
        self.entries
            .iter()
            .map(|entry| entry.redirect.id.as_str())
            .collect()
    }

    /// Checks the redirects against a knowledge base, follows chains to their end and orders them
    /// by identifier. After `a` to `b` and `b` to `c`, both lead to `c`.
    ///
    /// # Errors
    /// If an identifier occurs twice or is a concept, a successor is neither a concept nor
    /// redirected itself, or redirects form a cycle. The error names the line. Errors of
    /// `is_concept` are returned.
    pub fn resolved(
        self,
        mut is_concept: impl FnMut(&str) -> Result<bool>,
    ) -> Result<Vec<Redirect>> {
        let mut entries = self.entries;
        entries.sort_by(|a, b| {
            (a.redirect.id.as_str(), a.line).cmp(&(b.redirect.id.as_str(), b.line))
        });
        if let Some([first, second]) = entries
            .array_windows()
            .find(|[a, b]| a.redirect.id == b.redirect.id)
        {
            return Err(second.error(format!(
                "expected each retired id once, found {} {}",
                second.redirect.id,
                first.place("too")
            )));
        }
        let mut ends = vec![End::Open; entries.len()];
        for at in 0..entries.len() {
            if is_concept(&entries[at].redirect.id)? {
                return Err(entries[at].error(format!(
                    "expected a retired id, found {}, which is a concept of the knowledge base",
                    entries[at].redirect.id
                )));
            }
            follow(&entries, at, &mut ends, &mut is_concept)?;
        }
        let successors: Vec<Option<String>> = ends
            .iter()
            .map(|end| match end {
                End::Entry(last) => entries[*last].redirect.replaced_by.clone(),
                End::Open | End::Following => None,
            })
            .collect();
        let resolved = entries.into_iter().zip(successors);
        Ok(resolved
            .map(|(entry, replaced_by)| Redirect {
                replaced_by,
                ..entry.redirect
            })
            .collect())
    }
}

impl Entry {
    /// An error at its line.
    fn error(&self, message: String) -> Error {
        match self.line {
            0 => Error::input(message),
            line => Error::input(format!("line {line}: {message}")),
        }
    }

    fn place(&self, otherwise: &str) -> String {
        match self.line {
            0 => otherwise.to_owned(),
            line => format!("in line {line} {otherwise}"),
        }
    }
}

/// Finds the end of the chain from an entry on.
fn follow(
    entries: &[Entry],
    from: usize,
    ends: &mut [End],
    is_concept: &mut impl FnMut(&str) -> Result<bool>,
) -> Result<()> {
    let (mut chain, mut at) = (Vec::new(), from);
    let end = loop {
        match ends[at] {
            End::Entry(end) => break end,
            End::Following => {
                let ids: Vec<&str> = chain
                    .iter()
                    .skip_while(|other| **other != at)
                    .chain([&at])
                    .map(|other| entries[*other].redirect.id.as_str())
                    .collect();
                return Err(entries[from].error(format!(
                    "expected redirects without a cycle, found {}",
                    ids.join(" -> ")
                )));
            }
            End::Open => {}
        }
        ends[at] = End::Following;
        chain.push(at);
        let Some(successor) = &entries[at].redirect.replaced_by else {
            break at;
        };
        match entries.binary_search_by(|entry| entry.redirect.id.as_str().cmp(successor)) {
            Ok(next) => at = next,
            Err(_) if is_concept(successor)? => break at,
            Err(_) => {
                return Err(entries[at].error(format!(
                    "expected a successor of {} that is a concept of the knowledge base or retired \
                     itself, found {successor}",
                    entries[at].redirect.id
                )));
            }
        }
    };
    chain.into_iter().for_each(|at| ends[at] = End::Entry(end));
    Ok(())
}

/// The bytes of `redirects.tsv`. The redirects are in the order of [`RedirectList::resolved`].
pub fn to_bytes(redirects: &[Redirect]) -> Vec<u8> {
    let mut text = String::from(HEADER);
    text.push('\n');
    for Redirect {
        id,
        replaced_by,
        reason,
    } in redirects
    {
        let successor = replaced_by.as_deref().unwrap_or_default();
        for part in [id, "\t", successor, "\t", reason, "\n"] {
            text.push_str(part);
        }
    }
    text.into_bytes()
}

/// The error for a redirect whose successor is no concept.
pub fn no_successor(id: &str, successor: &str) -> Error {
    Error::artifact(format!(
        "the redirect of {id}: expected a successor that is a concept of the knowledge base, found \
         {successor}"
    ))
}

/// The redirects of a bundle, searched in the bytes of their file.
#[derive(Clone, Debug)]
pub struct Redirects {
    bytes: Bytes,
    /// The position after the header.
    start: usize,
}

impl Redirects {
    /// Reads the header. Lines are read when they are searched.
    ///
    /// # Errors
    /// If the header is another one, or the last line is not ended.
    pub fn from_bytes(bytes: Bytes) -> Result<Self> {
        let start = HEADER.len() + 1;
        if !bytes.starts_with(HEADER.as_bytes()) || bytes.get(start - 1) != Some(&b'\n') {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let found = &bytes[..end.unwrap_or(bytes.len()).min(2 * HEADER.len())];
            return Err(Error::artifact(format!(
                "expected the header {HEADER:?}, found {:?}",
                String::from_utf8_lossy(found)
            )));
        }
        if bytes.last() != Some(&b'\n') {
            return Err(Error::artifact(
                "expected a line end at the end, found none",
            ));
        }
        Ok(Self { bytes, start })
    }

    /// The number of redirects: one for each line.
    pub fn len(&self) -> usize {
        self.bytes[self.start..]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == self.start
    }

    /// The redirect of an identifier, by binary search.
    ///
    /// # Errors
    /// If a line that is read is damaged.
    pub fn find(&self, id: &str) -> Result<Option<Redirect>> {
        let (mut low, mut high) = (self.start, self.bytes.len());
        while low < high {
            let (start, end) = self.line_around(low, high, low.midpoint(high));
            let line = &self.bytes[start..end];
            let tab = line.iter().position(|byte| *byte == b'\t');
            let own = &line[..tab.unwrap_or(line.len())];
            match own.cmp(id.as_bytes()) {
                Ordering::Equal => return self.read(start, end).map(Some),
                Ordering::Less => low = end + 1,
                Ordering::Greater => high = start,
            }
        }
        Ok(None)
    }

    /// All redirects, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = Result<Redirect>> + '_ {
        let mut at = self.start;
        std::iter::from_fn(move || {
            let end = at
                + self
                    .bytes
                    .get(at..)?
                    .iter()
                    .position(|byte| *byte == b'\n')?;
            let start = std::mem::replace(&mut at, end + 1);
            Some(self.read(start, end))
        })
    }

    /// Checks every line and the order.
    ///
    /// # Errors
    /// If a line is damaged, or an identifier does not follow the one before it.
    pub fn check(&self) -> Result<()> {
        let mut before: Option<String> = None;
        for (number, redirect) in self.iter().enumerate() {
            let Redirect { id, .. } = redirect?;
            if before.as_ref().is_some_and(|before| *before >= id) {
                let line = number + 2;
                return Err(Error::artifact(format!(
                    "line {line}: expected ids in ascending order, each once, found {id}"
                )));
            }
            before = Some(id);
        }
        Ok(())
    }

    /// The start and end of the line that has a position, within a range of whole lines.
    fn line_around(&self, low: usize, high: usize, at: usize) -> (usize, usize) {
        let is_end = |byte: &u8| *byte == b'\n';
        let start = self.bytes[low..at]
            .iter()
            .rposition(is_end)
            .map_or(low, |before| low + before + 1);
        let end = self.bytes[at..high]
            .iter()
            .position(is_end)
            .map_or(high, |after| at + after);
        (start, end)
    }

    fn read(&self, start: usize, end: usize) -> Result<Redirect> {
        let damaged = |cause: String| {
            let line = 1 + self.bytes[..start]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            Error::artifact(format!("line {line}: {cause}"))
        };
        let line = std::str::from_utf8(&self.bytes[start..end])
            .map_err(|cause| damaged(cause.to_string()))?;
        Redirect::parse(line).map_err(|error| damaged(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(lines: &[&str]) -> Result<RedirectList> {
        let mut list = RedirectList::new();
        for (at, line) in lines.iter().enumerate() {
            list.read_line(at + 1, line)?;
        }
        Ok(list)
    }

    fn with_header<'a>(lines: &[&'a str]) -> Vec<&'a str> {
        [&[HEADER], lines].concat()
    }

    fn live(id: &str) -> Result<bool> {
        Ok(id.starts_with('L'))
    }

    fn redirect(id: &str, replaced_by: Option<&str>, reason: &str) -> Redirect {
        Redirect {
            id: id.into(),
            replaced_by: replaced_by.map(Into::into),
            reason: reason.into(),
        }
    }

    #[test]
    fn chains_end_at_a_concept_or_at_nothing() {
        let lines = with_header(&[
            "a\tb\tmerged",
            "b\tc\trenamed\r",
            "",
            "c\tL1\tmerged",
            "e\td\tmoved",
            "d\t\tretired",
        ]);
        let resolved = list(&lines).expect("read").resolved(live).expect("whole");
        let expected = [
            redirect("a", Some("L1"), "merged"),
            redirect("b", Some("L1"), "renamed"),
            redirect("c", Some("L1"), "merged"),
            redirect("d", None, "retired"),
            redirect("e", None, "moved"),
        ];
        assert_eq!(resolved, expected);
        let written = Redirects::from_bytes(to_bytes(&resolved).into()).expect("whole");
        assert_eq!(written.len(), 5);
        written.check().expect("in order");
        assert_eq!(
            written.iter().collect::<Result<Vec<_>>>().expect("whole"),
            expected
        );
        assert_eq!(written.find("e").expect("whole"), Some(expected[4].clone()));
        assert_eq!(written.find("L1").expect("whole"), None);
    }

    #[test]
    fn invalid_redirects_name_their_line() {
        for (lines, expected) in [
            (vec!["a\tL1\tmerged"], "expected the header"),
            (with_header(&["a\tL1"]), "expected 3 fields"),
            (with_header(&["a\tL1\tmerged\tmore"]), "found 4"),
            (with_header(&["\tL1\tmerged"]), "the retired id is blank"),
            (with_header(&["a \tL1\tmerged"]), "without spaces"),
            (with_header(&["a\ta\tmerged"]), "its own successor"),
            (with_header(&["a\u{1b}\tL1\tmerged"]), "U+001B"),
        ] {
            let error = list(&lines).map(drop).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
        for (lines, expected) in [
            (
                ["a\tL1\tmerged", "a\tL2\tmerged"],
                "line 3: expected each retired id once, found a in line 2 too",
            ),
            (
                ["a\tL1\tmerged", "L3\tL1\tmerged"],
                "line 3: expected a retired id, found L3, which is a concept",
            ),
            (
                ["a\tL1\tmerged", "b\tx\tmerged"],
                "line 3: expected a successor of b that is a concept of the knowledge base or \
                 retired itself, found x",
            ),
            (
                ["b\ta\tmerged", "a\tb\tmerged"],
                "line 3: expected redirects without a cycle, found a -> b -> a",
            ),
        ] {
            let list = list(&with_header(&lines)).expect("read");
            let error = list.resolved(live).expect_err(expected).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert!(RedirectList::new().check_header().is_err());
    }

    #[test]
    fn long_chain_is_followed_without_recursion() {
        let mut long = RedirectList::new();
        for at in 0..50_000 {
            long.push(redirect(
                &format!("a{at:06}"),
                Some(&format!("a{:06}", at + 1)),
                "moved",
            ));
        }
        long.push(redirect("a050000", Some("L1"), "moved"));
        let resolved = long.resolved(live).expect("no cycle");
        assert!(
            resolved
                .iter()
                .all(|redirect| redirect.replaced_by.as_deref() == Some("L1"))
        );
    }

    #[test]
    fn damaged_file_is_an_error_that_names_the_line() {
        for (bytes, expected) in [
            ("", "expected the header"),
            ("id\treplaced_by\n", "expected the header"),
            ("id\treplaced_by\treason", "expected the header"),
            ("id\treplaced_by\treason\na\tb\tc", "expected a line end"),
        ] {
            let error = Redirects::from_bytes(Bytes::from(bytes))
                .map(drop)
                .expect_err(bytes)
                .to_string();
            assert!(error.contains(expected), "{bytes:?}: {error}");
        }
        let read = |lines: &[u8]| {
            let bytes = [HEADER.as_bytes(), b"\n", lines].concat();
            Redirects::from_bytes(bytes.into()).expect("its header is whole")
        };
        let damaged = read(b"a\tb\tc\nb\n");
        assert!(damaged.find("a").expect("whole").is_some());
        for error in [
            damaged.find("b").expect_err("one field"),
            damaged.check().expect_err("one field"),
        ] {
            assert!(error.to_string().starts_with("line 3: expected 3 fields"));
        }
        assert!(read(b"\xff\tb\tc\n").check().is_err());
        let unsorted = read(b"b\tc\tx\na\tc\tx\n").check().expect_err("unsorted");
        assert!(unsorted.to_string().starts_with("line 3: "));
        let twice = read(b"a\tc\tx\na\tc\tx\n").check().expect_err("twice");
        assert!(twice.to_string().starts_with("line 3: "));
        assert!(read(b"").is_empty() && read(b"").find("a").expect("whole").is_none());
    }

    proptest! {
        #[test]
        fn every_id_is_found_and_no_other(
            ids in prop::collection::btree_set("[a-dé]{1,3}", 0..40),
        ) {
            let all: Vec<Redirect> = ids
                .iter()
                .map(|id| redirect(id, (id.len() > 1).then_some("L1"), "merged"))
                .collect();
            let redirects = Redirects::from_bytes(to_bytes(&all).into()).expect("whole");
            for one in &all {
                prop_assert_eq!(redirects.find(&one.id).expect("whole"), Some(one.clone()));
            }
            let others = ["", "a", "bb", "zz", "id", "é", "aaaa"];
            for other in others {
                let found = redirects.find(other).expect("whole").is_some();
                prop_assert_eq!(found, ids.contains(other));
            }
        }
    }
}
