//! Files of retired identifiers and their successors (`redirects.tsv`).

use pel_io::files::for_each_line_in;
use pel_io::limits::Bound;
use pel_io::text_encoding::TextEncoding;
use pel_kb::KnowledgeBase;
use pel_kb::error::{Context, Result};
use pel_kb::redirects::{Redirect, RedirectList};
use std::path::Path;

/// Reads a file of redirects, compressed or not.
///
/// # Errors
/// If it cannot be read, or a line is no redirect. The error names the line.
pub fn read(path: &Path) -> Result<RedirectList> {
    let mut list = RedirectList::new();
    for_each_line_in(
        path,
        &TextEncoding::default(),
        Bound::Records,
        |number, line| list.read_line(number, line),
    )?;
    list.check_header().context(|| path.display().to_string())?;
    Ok(list)
}

/// Reads a file of redirects and checks it against a knowledge base.
///
/// # Errors
/// As [`read`] and [`RedirectList::resolved`]. The error names file and line.
pub fn resolved(path: &Path, kb: &KnowledgeBase) -> Result<Vec<Redirect>> {
    read(path)?
        .resolved(|id| Ok(kb.find(id).is_some()))
        .context(|| path.display().to_string())
}
