//! The options of detection that commands share.

use super::label_scheme;
use clap::Args;
use pel_kb::error::Result;
use pel_linker::bundle::Bundle;
use pel_text::detect::DetectOptions;

/// How the mentions of a text are found.
#[derive(Args, Clone, Debug, Default)]
pub struct DetectionArgs {
    /// Detect only names of the knowledge base: neither unknown terms nor what the detector of the
    /// bundle finds
    #[arg(long)]
    names_only: bool,
    /// Set of labels of the bundle's detector, which `pel inspect` lists [default: its first one,
    /// clinical]
    #[arg(long, value_name = "NAME", conflicts_with = "names_only")]
    labels: Option<String>,
}

impl DetectionArgs {
    /// The options for a bundle, without overlapping mentions.
    ///
    /// # Errors
    /// If the detector of the bundle does not have the labels.
    pub fn options(&self, bundle: &Bundle) -> Result<DetectOptions> {
        Ok(DetectOptions {
            unknown_terms: !self.names_only,
            names_only: self.names_only,
            scheme: label_scheme(self.labels.as_deref(), bundle)?,
            ..DetectOptions::default()
        })
    }
}
