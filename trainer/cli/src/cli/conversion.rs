//! Prints the reports of `pel import` and `pel export-corpus`.

use comfy_table::{ContentArrangement, Table, presets};
use pel_io::json;
use pel_kb::error::Result;
use pel_terminologies::import::report::Report;
use std::path::Path;

/// Prints the counts of a report with the output folder as a table, or as JSON.
///
/// # Errors
/// If it cannot be written as JSON.
pub(super) fn print(report: &Report, out: &Path, json: bool) -> Result<()> {
    if json {
        println!("{}", json::pretty(report)?);
    } else {
        println!("{}", table(report));
        println!("written to {}", out.display());
    }
    Ok(())
}

/// Minimum width of a table in columns.
const NARROWEST: u16 = 60;

/// Formats a report for the terminal.
pub(super) fn table(report: &Report) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic);
    // Some terminals report a width of 0.
    if table.width().is_some_and(|width| width < NARROWEST) {
        table.set_width(NARROWEST);
    }
    table.set_header(["", "what", "count", "for example"]);
    for (action, counts) in [
        ("kept", &report.kept),
        ("noted", &report.noted),
        ("skipped", &report.skipped),
    ] {
        for (what, count) in counts {
            let example = report
                .examples
                .get(what)
                .and_then(|examples| examples.first());
            table.add_row([
                action,
                what,
                &count.to_string(),
                example.map_or("", String::as_str),
            ]);
        }
    }
    table
}
