//! The one look of all tables on the terminal.

use comfy_table::{Attribute, Cell, ContentArrangement, Table, TableStyle, presets};

/// Lines above and below the header and at the end, none between rows.
const STYLE: TableStyle = presets::UTF8_HORIZONTAL_ONLY.row_separator(comfy_table::LineStyle::none());

/// A table that fits itself to the terminal.
pub fn table<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.into_iter().map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
    table
}
