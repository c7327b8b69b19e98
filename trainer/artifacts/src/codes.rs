//! Tables of codes of concepts, of their names, and of the hierarchy.

use pel_io::files::for_each_line_in;
use pel_io::limits::Bound;
use pel_io::text_encoding::TextEncoding;
use pel_kb::ConceptId;
use pel_kb::codes::{CodeList, CodeReader, NameReader};
use pel_kb::error::{Context, Result};
use pel_kb::hierarchy::{HierarchyList, HierarchyReader};
use std::path::{Path, PathBuf};

/// Codes that were read, and what was left out.
pub struct CodeFile {
    /// The codes with their names.
    pub list: CodeList,
    /// The number of rows whose identifier no concept has, and the first such identifier.
    pub unknown: Option<(usize, String)>,
    /// The number of rows that repeat a code of their concept.
    pub repeated: usize,
}

/// Reads codes of concepts and names of these codes, compressed or not. `find` finds the concept of
/// an identifier.
///
/// # Errors
/// If a file cannot be read, or a line is wrong. The error names file and line.
pub fn read(
    path: &Path,
    names: &[PathBuf],
    mut find: impl FnMut(&str) -> Result<Option<ConceptId>>,
) -> Result<CodeFile> {
    let encoding = TextEncoding::default();
    let name_reader = read_names(names)?;
    let mut reader = CodeReader::new();
    for_each_line_in(path, &encoding, Bound::Records, |_, line| {
        reader.read_line(line, &mut find)
    })?;
    let unknown = reader
        .unknown()
        .map(|(rows, first)| (rows, first.to_owned()));
    let repeated = reader.repeated();
    let list = reader
        .finish(name_reader)
        .context(|| path.display().to_string())?;
    Ok(CodeFile {
        list,
        unknown,
        repeated,
    })
}

/// Reads names of codes.
///
/// # Errors
/// If a file cannot be read, or a line is wrong. The error names file and line.
fn read_names(paths: &[PathBuf]) -> Result<NameReader> {
    let encoding = TextEncoding::default();
    let mut reader = NameReader::new();
    for path in paths {
        reader.begin();
        for_each_line_in(path, &encoding, Bound::Records, |_, line| {
            reader.read_line(line)
        })?;
    }
    Ok(reader)
}

/// A hierarchy that was read, and what was left out.
pub struct HierarchyFile {
    /// The hierarchy.
    pub list: HierarchyList,
    /// The number of rows with an identifier that is neither a concept nor a code of a known system,
    /// and the first such identifier.
    pub unknown: Option<(usize, String)>,
}

/// Reads a table of children and parents, compressed or not, and the names of its codes. `find` finds
/// the concept of an identifier.
///
/// # Errors
/// If the file cannot be read, a line is wrong, or there is a circle. The error names file and line,
/// or the members of the circle.
pub fn read_hierarchy(
    path: &Path,
    names: &[PathBuf],
    mut find: impl FnMut(&str) -> Result<Option<ConceptId>>,
) -> Result<HierarchyFile> {
    let mut reader = HierarchyReader::new();
    let encoding = TextEncoding::default();
    for_each_line_in(path, &encoding, Bound::Records, |_, line| {
        reader.read_line(line, &mut find)
    })?;
    let unknown = reader
        .unknown()
        .map(|(rows, first)| (rows, first.to_owned()));
    let mut list = reader.finish().context(|| path.display().to_string())?;
    list.set_names(&read_names(names)?);
    Ok(HierarchyFile { list, unknown })
}
