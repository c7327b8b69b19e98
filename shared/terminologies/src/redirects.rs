//! Identifiers that a terminology has retired, and their successors: the file `redirects.tsv`.

use crate::import::report::Report;
use pel_kb::clean::check_id;
use pel_kb::error::{Error, Result};
use pel_kb::redirects::HEADER;
use std::io::Write;

/// The name of the file.
pub const FILE: &str = pel_linker::bundle::names::REDIRECTS;
/// The kind of record under which a report counts redirects.
pub const REDIRECTS: &str = "redirects";

/// The note on a retired identifier that a concept has again.
pub const ID_IN_USE: &str = "retired id that a concept has (redirect left out)";
/// The note on a redirect whose successor is not among the imported concepts.
pub const NO_SUCCESSOR: &str =
    "redirect to a concept that is not imported (written without successor)";
/// The note on a further row for a retired identifier.
pub const REPEATED: &str = "further redirect of an id left out (first one used)";
/// The reason for skipping a redirect whose identifier is blank or has a control character.
pub const INVALID: &str = "redirect with an invalid id";

/// Why an identifier is no longer in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It means the same as its successor.
    Merged,
    /// Its successor replaces it.
    Replaced,
    /// Another mapping says that both mean the same.
    Mapped,
    /// The release moved it elsewhere.
    Moved,
    /// It had several meanings or became several concepts.
    Split,
    /// It was retired without a successor.
    Retired,
}

impl Reason {
    /// Its word in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Replaced => "replaced",
            Self::Mapped => "mapped",
            Self::Moved => "moved",
            Self::Split => "split",
            Self::Retired => "retired",
        }
    }
}

/// Retired identifiers, collected while a terminology is read. Their texts are in one string, since
/// a Metathesaurus retires millions.
#[derive(Debug, Default)]
pub struct Redirects {
    texts: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    begin: u64,
    id: u32,
    /// The length of the successor; 0 for none.
    successor: u32,
    reason: Reason,
}

impl Redirects {
    /// Adds a retired identifier. An identifier may come several times; one with a successor takes
    /// precedence, then the first.
    pub fn add(&mut self, id: &str, successor: Option<&str>, reason: Reason, report: &mut Report) {
        let (id, successor) = (id.trim(), successor.map_or("", str::trim));
        let invalid = |text: &str| text.is_empty() || check_id(text).is_err();
        if invalid(id) || (!successor.is_empty() && invalid(successor)) {
            report.skip(INVALID, || format!("{id:?} to {successor:?}"));
            return;
        }
        let (Ok(id_length), Ok(successor_length)) =
            (u32::try_from(id.len()), u32::try_from(successor.len()))
        else {
            report.skip(INVALID, || id.to_owned());
            return;
        };
        self.entries.push(Entry {
            begin: self.texts.len() as u64,
            id: id_length,
            successor: successor_length,
            reason,
        });
        self.texts.push_str(id);
        self.texts.push_str(successor);
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn text(&self, begin: u64, length: u32) -> &str {
        let begin = begin as usize;
        self.texts
            .get(begin..begin + length as usize)
            .unwrap_or_default()
    }

    fn id(&self, entry: &Entry) -> &str {
        self.text(entry.begin, entry.id)
    }

    fn successor(&self, entry: &Entry) -> &str {
        self.text(entry.begin + u64::from(entry.id), entry.successor)
    }

    /// Resolves chains (a to b to c becomes a to c) and drops redirects of identifiers that a
    /// concept has. `exists` says whether a concept has an identifier.
    ///
    /// # Errors
    /// If redirects form a cycle.
    pub fn resolve(
        mut self,
        exists: impl Fn(&str) -> bool,
        report: &mut Report,
    ) -> Result<ResolvedRedirects> {
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain(|entry| {
            let used = exists(self.id(entry));
            if used {
                report.note(ID_IN_USE, || self.id(entry).to_owned());
            }
            !used
        });
        // Stable: the first of several entries stays first.
        entries.sort_by(|a, b| (self.id(a), a.successor == 0).cmp(&(self.id(b), b.successor == 0)));
        entries.dedup_by(|later, first| {
            let repeated = self.id(later) == self.id(first);
            if repeated && later.successor > 0 && self.successor(later) != self.successor(first) {
                report.note(REPEATED, || {
                    format!("{} to {}", self.id(later), self.successor(later))
                });
            }
            repeated
        });
        let find = |id: &str| {
            entries
                .binary_search_by(|entry| self.id(entry).cmp(id))
                .ok()
        };
        let mut states = vec![State::Open; entries.len()];
        let mut path = Vec::new();
        for begin in 0..entries.len() {
            let mut at = begin;
            let end = loop {
                match states.get(at) {
                    None => break None,
                    Some(State::Known(end)) => break *end,
                    Some(State::OnPath) => {
                        let id = entries.get(at).map_or("", |entry| self.id(entry));
                        return Err(Error::input(format!(
                            "expected redirects that end, found a cycle through {id}"
                        )));
                    }
                    Some(State::Open) => {}
                }
                path.push(at);
                states[at] = State::OnPath;
                let successor = self.successor(&entries[at]);
                if exists(successor) {
                    break u32::try_from(at).ok();
                }
                at = match find(successor) {
                    Some(next) if !successor.is_empty() => next,
                    _ => break None,
                };
            };
            for at in path.drain(..) {
                states[at] = State::Known(end);
            }
        }
        let mut ends = Vec::with_capacity(entries.len());
        for (entry, state) in entries.iter().zip(states) {
            let end = match state {
                State::Known(end) => end,
                State::Open | State::OnPath => None,
            };
            if end.is_none() && entry.successor > 0 {
                report.note(NO_SUCCESSOR, || {
                    format!("{} to {}", self.id(entry), self.successor(entry))
                });
            }
            ends.push(end);
        }
        if !entries.is_empty() {
            report.keep(REDIRECTS, entries.len());
        }
        self.entries = entries;
        Ok(ResolvedRedirects {
            redirects: self,
            ends,
        })
    }
}

/// What is known of the last successor of an entry.
#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    /// On the chain that is being followed.
    OnPath,
    /// The entry whose successor is the last one; `None` if that is not imported.
    Known(Option<u32>),
}

/// Redirects in the order of their identifiers, each with its last successor.
#[derive(Debug)]
pub struct ResolvedRedirects {
    redirects: Redirects,
    /// For each entry, the entry whose successor is its last one.
    ends: Vec<Option<u32>>,
}

impl ResolvedRedirects {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.redirects.is_empty()
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let failed = |cause| Error::io(format!("writing {FILE}")).caused_by(cause);
        writeln!(out, "{HEADER}").map_err(failed)?;
        let all = &self.redirects;
        for (entry, end) in all.entries.iter().zip(&self.ends) {
            let end = end.and_then(|at| all.entries.get(at as usize));
            let successor = end.map_or("", |end| all.successor(end));
            let reason = entry.reason.word();
            writeln!(out, "{}\t{successor}\t{reason}", all.id(entry)).map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[(&str, Option<&str>, Reason)]) -> (String, Report) {
        let mut report = Report::default();
        let mut redirects = Redirects::default();
        for (id, successor, reason) in rows {
            redirects.add(id, *successor, *reason, &mut report);
        }
        let resolved = redirects
            .resolve(|id| id.starts_with('C'), &mut report)
            .expect("no cycle");
        let mut out = Vec::new();
        resolved.write(&mut out).expect("written");
        (String::from_utf8(out).expect("UTF-8"), report)
    }

    #[test]
    fn chains_are_resolved_and_lines_sorted() {
        let (text, report) = written(&[
            ("b", Some("c"), Reason::Merged),
            ("a", Some("b"), Reason::Replaced),
            ("c", Some("C1"), Reason::Merged),
            ("d", None, Reason::Retired),
            ("e", Some("d"), Reason::Merged),
            ("f", Some("X9"), Reason::Merged),
        ]);
        assert_eq!(
            text,
            "id\treplaced_by\treason\na\tC1\treplaced\nb\tC1\tmerged\nc\tC1\tmerged\nd\t\tretired\n\
             e\t\tmerged\nf\t\tmerged\n"
        );
        assert_eq!((report.kept(REDIRECTS), report.noted[NO_SUCCESSOR]), (6, 2));
    }

    #[test]
    fn cycle_is_an_error() {
        let mut report = Report::default();
        let mut redirects = Redirects::default();
        for (id, successor) in [("a", "b"), ("b", "c"), ("c", "b")] {
            redirects.add(id, Some(successor), Reason::Merged, &mut report);
        }
        let error = redirects
            .resolve(|_| false, &mut report)
            .expect_err("a cycle");
        assert!(error.to_string().contains("found a cycle"), "{error}");
    }

    #[test]
    fn successor_takes_precedence_and_ids_in_use_stay() {
        let (text, report) = written(&[
            ("a", None, Reason::Retired),
            ("a", Some("C1"), Reason::Merged),
            ("a", Some("C2"), Reason::Merged),
            ("C3", Some("C1"), Reason::Merged),
            ("x\ny", Some("C1"), Reason::Merged),
            (" ", None, Reason::Retired),
        ]);
        assert_eq!(text, "id\treplaced_by\treason\na\tC1\tmerged\n");
        let noted = [ID_IN_USE, REPEATED].map(|reason| report.noted[reason]);
        assert_eq!((noted, report.skipped(INVALID)), ([1, 1], 2));
    }
}
