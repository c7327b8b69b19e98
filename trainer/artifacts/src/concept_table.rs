//! Concept tables on disk: one JSON object per concept and line, compressed or not.

use pel_io::files::for_each_line_in;
use pel_io::limits::Bound;
use pel_io::outputs::check_complete;
use pel_io::text_encoding::{TextEncoding, open_text};
use pel_kb::clean;
use pel_kb::error::{Context, Error, Result};
use pel_kb::{Concept, KnowledgeBase};
use pel_terminologies::import::formats;
use pel_terminologies::import::formats::Format;
use pel_terminologies::import::records::record;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A knowledge base and its hash.
#[derive(Debug)]
pub struct KbFile {
    /// The concepts.
    pub kb: KnowledgeBase,
    /// BLAKE3 of the decompressed lines, in hexadecimal.
    pub blake3: String,
}

/// Reads a concept table in UTF-8.
///
/// # Errors
/// As [`read_in`].
pub fn read(path: &Path) -> Result<KbFile> {
    read_in(path, &TextEncoding::default())
}

/// Reads a concept table.
///
/// # Errors
/// If it cannot be read or has another format (the error names the command for it), or a line is no
/// concept or repeats an identifier or has one with control characters. The error names the line.
pub fn read_in(path: &Path, encoding: &TextEncoding) -> Result<KbFile> {
    path.parent().map_or(Ok(()), check_complete)?;
    let mut kb = KnowledgeBase::new();
    let mut hash = blake3::Hasher::new();
    let read = for_each_line_in(path, encoding, Bound::Records, |_, line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        hash.update(line.as_bytes()).update(b"\n");
        let concept: Concept = record(line)?;
        clean::check_id(&concept.id)?;
        kb.push(concept).map(drop)
    });
    if let (Err(error), true) = (&read, kb.is_empty())
        && let Some(found) = other_form(path, encoding)
        && !error.is_interrupted()
    {
        let path = path.display();
        return Err(Error::input(format!(
            "{path}: expected concepts as JSON lines, found {found}"
        )));
    }
    read?;
    if kb.is_empty() {
        return Err(Error::input(format!(
            "{}: the table has no concepts",
            path.display()
        )));
    }
    Ok(KbFile {
        kb,
        blake3: hash.finalize().to_hex().to_string(),
    })
}

/// The recognised format of a file that is no JSON Lines table, with the command that reads it.
fn other_form(path: &Path, encoding: &TextEncoding) -> Option<&'static str> {
    if path.as_os_str() == "-" {
        return None;
    }
    let mut head = Vec::new();
    open_text(path, encoding, Bound::Records)
        .ok()?
        .take(formats::HEAD as u64)
        .read_to_end(&mut head)
        .ok()?;
    let columns = |head: &[u8]| {
        head.split(|byte| *byte == b'\n')
            .next()
            .is_some_and(|line| line.contains(&b',') || line.contains(&b'\t'))
    };
    match Format::recognise(&head) {
        Some(Format::JsonLines) => None,
        Some(other) => Some(other.advice()),
        None if columns(&head) && !head.starts_with(b"{") => {
            Some("what looks like a table with columns, which `pel import csv` reads")
        }
        None => None,
    }
}

/// The licence file beside a concept table.
pub fn licence_file(beside: &Path) -> PathBuf {
    beside.with_file_name(pel_linker::bundle::names::LICENCES)
}

/// The lines `source: licence` and the text of the licence file beside a concept table
/// (`LICENSES.md`).
///
/// Each table with a column of licences is read: `| source | ... | licence | ...`.
///
/// # Errors
/// If the file exists and cannot be read.
pub fn licences(beside: &Path) -> Result<Option<(Vec<String>, String)>> {
    let path = licence_file(beside);
    if !path.is_file() {
        return Ok(None);
    }
    let text =
        pel_io::files::read_text(&path).context(|| "the licences of the knowledge base".into())?;
    let lines = licences_of_tables(&text);
    Ok(Some((lines, text)))
}

/// The lines `source: licence` of the tables of a text in Markdown.
fn licences_of_tables(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    // Inside a table, the column with the licences, if there is one.
    let mut table: Option<Option<usize>> = None;
    for line in text.lines() {
        let row = line.trim().strip_prefix('|');
        let Some(row) = row.and_then(|row| row.strip_suffix('|')) else {
            table = None;
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let is_licence = |cell: &&str| cell.to_lowercase().starts_with("licen");
        let Some(column) = table else {
            table = Some(cells.iter().position(is_licence));
            continue;
        };
        let licence = column.and_then(|at| cells.get(at));
        if let (Some(source), Some(licence)) = (cells.first(), licence)
            && !source.starts_with("--")
        {
            lines.push(format!("{source}: {licence}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_of_all_tables_are_listed() {
        let text = "# Licences\n\n| source | concepts | licence |\n| --- | --- | --- |\n| A | 2 | CC0 1.0 |\n\n\
                    | word | use |\n| --- | --- |\n| x | y |\n\nText.\n\n\
                    | source | licence |\n| --- | --- |\n| B | MIT |\n";
        assert_eq!(licences_of_tables(text), ["A: CC0 1.0", "B: MIT"]);
    }

    #[test]
    fn error_names_file_and_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kb.jsonl");
        let good = r#"{"id": "D1", "name": "fever"}"#;
        for (bad, message) in [
            ("{\"id\": \"D2\"}", "name"),
            (good, "found D1 twice"),
            ("{\"id\": ", "EOF"),
            (
                r#"{"id": "D2\u001b[2J", "name": "cough"}"#,
                "U+001B in \"D2\\u{1b}[2J\"",
            ),
            (r#"{"id": "D2\tT9", "name": "cough"}"#, "U+0009"),
            (r#"{"id": "D2\u202e", "name": "cough"}"#, "U+202E"),
            (r#"{"id": "D2\u0085", "name": "cough"}"#, "U+0085"),
        ] {
            std::fs::write(&path, format!("{good}\r\n\n{bad}\n")).expect("written");
            let error = read(&path).expect_err(bad).to_string();
            assert!(
                error.contains("kb.jsonl: line 3") && error.contains(message),
                "{error}"
            );
        }
        std::fs::write(&path, "\n").expect("written");
        assert!(
            read(&path)
                .expect_err("empty")
                .to_string()
                .contains("the table has no concepts")
        );
    }

    #[test]
    fn licences_are_read_from_the_table() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "# Licences\n\n| Source | Version | Licence |\n| --- | --- | --- |\n\
                    | DOID | 2016 | CC0 |\n";
        std::fs::write(folder.path().join("LICENSES.md"), text).expect("written");
        let (lines, whole) = licences(&folder.path().join("kb.jsonl"))
            .expect("read")
            .expect("there");
        assert_eq!(
            (lines, whole.as_str()),
            (vec!["DOID: CC0".to_owned()], text)
        );
    }
}
