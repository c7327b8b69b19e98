//! The style of all tables on the terminal.

use comfy_table::{Attribute, Cell, ContentArrangement, Table, TableStyle, presets};

/// Lines above and below the header and at the end; none between rows.
const STYLE: TableStyle =
    presets::UTF8_HORIZONTAL_ONLY.row_separator(comfy_table::LineStyle::none());

/// A table without colours that fits the terminal width. Printed text is escaped, and so would
/// colours be.
pub fn table<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = empty();
    table.set_header(header.into_iter().map(Cell::new));
    table
}

/// A table with a bold header, whose cells may have colours. Escape the cell texts first
/// ([`pel_kb::clean::escaped`]) and print the table by [`crate::files::print`].
pub fn coloured<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = empty();
    table.set_header(
        header
            .into_iter()
            .map(|name| Cell::new(name).add_attribute(Attribute::Bold)),
    );
    table
}

/// A proportion in percent, with one decimal; "-" without one.
pub fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.1}", 100.0 * value))
}

fn empty() -> Table {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table
}
