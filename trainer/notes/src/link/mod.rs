//! Linking of notes with a bundle.

pub mod candidate_store;
pub mod date;
pub mod detection;
pub mod format;
pub mod inputs;
pub mod languages;
mod link_row;
#[cfg_attr(not(feature = "parquet"), path = "without_link_table.rs")]
pub mod link_table;
pub mod linking;
pub mod manifest;
pub mod notes;
pub mod omop_numbers;
pub mod output_format;
pub mod second_stage;
pub mod shards;
mod sink;
mod table;
pub mod text_folder;
pub mod text_linker;
pub mod vector_cache;

use pel_artifacts::device::OpenDevice;
use pel_io::files::read_text;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Scorer;
use pel_linker::bundle::Bundle;
use pel_linker::{Link, LinkOptions, Linker};
use pel_text::attributes::AttributeRules;
use pel_text::context::ContextRules;
use pel_text::detect::Detected;
use pel_text::wordings::Wordings;
use std::path::Path;

/// How to get a build with Parquet.
#[cfg(not(feature = "parquet"))]
const PARQUET_HINT: &str = "programs of a release do, as do those of `cargo build \
                            --release -p pel-cli --features parquet`";

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
        scorer.map_or(Ok(()), |scorer| linker.settings().set_scorer(scorer))?;
        Ok(linker)
    });
    made.context(|| path.display().to_string())
}

/// The number of the set of labels with this name that the bundle's detector has; 0 without a name.
///
/// # Errors
/// If the bundle has no detector, or its detector has no such set. The error names the option
/// `--labels`.
pub fn label_scheme(name: Option<&str>, bundle: &Bundle) -> Result<usize> {
    let Some(name) = name else {
        return Ok(0);
    };
    let Some(detector) = &bundle.detector else {
        return Err(Error::input(format!(
            "--labels {name}: the bundle has no detector, so it has no sets of labels"
        )));
    };
    detector.info().scheme(name).ok_or_else(|| {
        let schemes = detector.info().schemes.iter();
        let known: Vec<&str> = schemes.map(|scheme| scheme.name.as_str()).collect();
        Error::input(format!(
            "--labels: expected {}, found {name}",
            known.join(" or ")
        ))
    })
}

/// The rules of context with a built-in name, or of a file.
///
/// # Errors
/// If there is neither, or the file has an invalid line. The error names the option
/// `--context-rules`, or the file and line.
pub fn context_rules(choice: &Path) -> Result<ContextRules> {
    if let Some(rules) = choice.to_str().and_then(ContextRules::built_in) {
        return rules;
    }
    if !choice.is_file() {
        let names: Vec<&str> = ContextRules::built_in_names().collect();
        return Err(Error::input(format!(
            "--context-rules: expected {} or a rule file, found {}",
            names.join(", "),
            choice.display()
        )));
    }
    ContextRules::parse(&read_text(choice)?, &choice.display().to_string())
}

/// The rules of attributes with a built-in name, or of a file.
///
/// # Errors
/// If there is neither, or the file has an invalid line. The error names the option
/// `--attribute-rules`, or the file and line.
pub fn attribute_rules(choice: &Path) -> Result<AttributeRules> {
    if choice == Path::new("english") {
        return Ok(AttributeRules::english().clone());
    }
    if !choice.is_file() {
        return Err(Error::input(format!(
            "--attribute-rules: expected english or a rule file, found {}",
            choice.display()
        )));
    }
    AttributeRules::parse(&read_text(choice)?, &choice.display().to_string())
}

/// The wordings of a file.
///
/// # Errors
/// If it cannot be read, or has an invalid line. The error names the file and line.
pub fn wordings(file: &Path) -> Result<Wordings> {
    Wordings::parse(&read_text(file)?, &file.display().to_string())
}
