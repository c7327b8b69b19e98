//! Linking of notes with a bundle.

pub(crate) mod format;
pub(crate) mod linking;
pub(crate) mod notes;
pub mod second_stage;
mod table;

use crate::io::device::OpenDevice;
use pel_shared::bundle::Bundle;
use pel_shared::error::{Context, Result};
use pel_shared::linker::{Link, LinkOptions, Linker};
use pel_shared::score::Scorer;
use pel_shared::text::detect::Detected;
use std::path::Path;

/// Links the mentions of one text.
///
/// # Errors
/// If a span does not fit or the device fails.
pub fn link(
    linker: &Linker,
    text: &str,
    mentions: Vec<Detected>,
    options: &LinkOptions,
) -> Result<Vec<Link>> {
    linker.link_mentions(text, mentions, options)
}

/// Opens a linker for a bundle on a device, with the given scorer.
///
/// # Errors
/// If the bundle is inconsistent or has no token vectors for Sum-of-Max. The error names the
/// bundle.
pub fn open_linker(
    path: &Path,
    bundle: Bundle,
    scorer: Option<Scorer>,
    opened: &OpenDevice,
) -> Result<Linker> {
    let made = Linker::new(bundle, &opened.device).and_then(|mut linker| {
        scorer.map_or(Ok(()), |scorer| linker.set_scorer(scorer))?;
        Ok(linker)
    });
    made.context(|| path.display().to_string())
}
