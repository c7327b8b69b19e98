//! The option `--under`: concepts below identifiers and codes.

use pel_io::files::for_each_line_in;
use pel_io::limits::Bound;
use pel_io::text_encoding::TextEncoding;
use pel_kb::ConceptId;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::Bundle;
use std::collections::BTreeSet;
use std::path::Path;

/// The files among the values of the option.
pub(super) fn files(values: Option<&[String]>) -> impl Iterator<Item = &Path> {
    let values = values.unwrap_or_default().iter();
    values.filter_map(|value| value.strip_prefix('@').map(Path::new))
}

/// The concepts that the values of the option stand for, and those below. A value is an identifier,
/// a code, or `@FILE` with one a line: blank lines and lines that begin with `#` are skipped, and so
/// is what follows a tab.
///
/// # Errors
/// If a value is neither, with file and line; if a file has none; or the bundle has no hierarchy.
pub(super) fn concepts(
    values: Option<&[String]>,
    bundle: &Bundle,
) -> Result<Option<BTreeSet<ConceptId>>> {
    let Some(values) = values else {
        return Ok(None);
    };
    let mut all = BTreeSet::new();
    for value in values {
        let Some(file) = value.strip_prefix('@') else {
            let found = bundle.under(value.trim());
            all.extend(found.context(|| "--under".to_owned())?);
            continue;
        };
        let mut count = 0;
        let path = Path::new(file);
        let encoding = TextEncoding::default();
        for_each_line_in(path, &encoding, Bound::Records, |_, line| {
            let id = line.split('\t').next().unwrap_or_default().trim();
            if !id.is_empty() && !id.starts_with('#') {
                count += 1;
                all.extend(bundle.under(id)?);
            }
            Ok(())
        })?;
        if count == 0 {
            return Err(Error::input(format!(
                "--under: expected a file with an identifier or a code in each line, found none in \
                 {file}"
            )));
        }
    }
    Ok(Some(all))
}
