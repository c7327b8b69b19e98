//! What `pel import` and `pel export-corpus` print: what was kept, noted and skipped.

use comfy_table::{ContentArrangement, Table, presets};
use pel_shared::error::{Error, Result};
use pel_shared::kb::import::report::Report;
use std::path::Path;

/// Prints what was kept, noted and skipped, as a table with the folder that was written, or as JSON.
///
/// # Errors
/// If it cannot be written as JSON.
pub(super) fn print(report: &Report, out: &Path, json: bool) -> Result<()> {
    if json {
        let text = serde_json::to_string_pretty(report).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
        println!("{text}");
    } else {
        println!("{}", table(report));
        println!("written to {}", out.display());
    }
    Ok(())
}

/// Columns that a table is given at least.
const NARROWEST: u16 = 60;

/// A report for the terminal.
pub(super) fn table(report: &Report) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    // Some terminals say that they are no columns wide.
    if table.width().is_some_and(|width| width < NARROWEST) {
        table.set_width(NARROWEST);
    }
    table.set_header(["", "what", "count", "for example"]);
    for (word, counts) in [("kept", &report.kept), ("noted", &report.noted), ("skipped", &report.skipped)] {
        for (what, count) in counts {
            let example = report.examples.get(what).and_then(|examples| examples.first());
            table.add_row([word, what, &count.to_string(), example.map_or("", String::as_str)]);
        }
    }
    table
}
