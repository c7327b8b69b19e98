//! The terminal table of links.

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table};
use pel_io::terminal::counted;
use pel_io::text_tables;
use pel_kb::clean::escaped;
use pel_model::tokens::Cut;
use pel_model::tokens::cut_words;
use pel_output::{Note, Record, origin_words};

/// Formats the table of a note in parts, each with its own column widths.
#[derive(Debug, Default)]
pub struct TableFormatter {
    total: usize,
    nil: usize,
    /// Line ends before [`TableFormatter::seen`].
    lines: usize,
    /// Byte up to which lines have been counted.
    seen: usize,
}

impl TableFormatter {
    /// The table of the next records.
    pub fn part(&mut self, note: &Note<'_>) -> String {
        self.total += note.records.len();
        format!("{}\n", self.table(note))
    }

    /// The totals, after an empty table if there were no records.
    pub fn tail(&self, note: &Note<'_>) -> String {
        let Self { total, nil, .. } = self;
        let empty = if *total == 0 {
            format!("{}\n", Self::default().table(note))
        } else {
            String::new()
        };
        let bundle = &note.linker.bundle().manifest;
        let kb = format!(
            "{} ({})",
            bundle.kb.name,
            counted(bundle.kb.concepts, "concept")
        );
        let few = match note.linker.bundle().dictionary.knows_enough_words() {
            true => "",
            false => "; its vocabulary is too small to detect unknown terms",
        };
        let (name, linked) = (note.name, total - nil);
        let sum = format!(
            "{name}: {}, {linked} linked, {nil} NIL; knowledge base {kb}{few}",
            counted(*total, "mention")
        );
        format!("{empty}{}\n", escaped(&sum))
    }

    fn table(&mut self, note: &Note<'_>) -> Table {
        let manifest = &note.linker.bundle().manifest;
        let value = match manifest.nil.probability {
            Some(_) => "Probability",
            None => "Score",
        };
        let has_codes = note.linker.bundle().codes.is_some();
        let code = has_codes.then_some("Code");
        let attributes = |record: &Record| record.attribute_words(note.text);
        let has_attributes = note.records.iter().any(|one| !attributes(one).is_empty());
        let beside = has_attributes.then_some("Attributes");
        let names = ["Line", "Mention"].into_iter().chain(beside);
        let names = names.chain(["Context", "Concept", "Id"]);
        let names = names.chain(code).chain(["Type", value, "How"]);
        let mut table = text_tables::coloured(names);
        let cell = |text: &str| Cell::new(escaped(text));
        for record in note.records {
            self.lines += note
                .text
                .get(self.seen..record.span.start)
                .unwrap_or_default()
                .matches('\n')
                .count();
            self.seen = self.seen.max(record.span.start);
            let mention = note
                .mention(record)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            let mut how = origin_words(record.origin).to_owned();
            if let Some(read_as) = &record.read_as {
                how = format!("{how}; read as {read_as}");
            }
            // The context is usually cut; only a cut mention is reported.
            if let Some(cut) = cut_words(Cut {
                context: false,
                ..record.cut
            }) {
                how = format!("{how}; {cut}");
            }
            if record.same_name > 0 {
                how = format!("{how}; {} concepts of this name", record.same_name);
            }
            let score = |score: f32| {
                let value = record.probability.unwrap_or(score);
                Cell::new(format!("{value:.3}")).set_alignment(CellAlignment::Right)
            };
            let row = match &record.decision {
                Ok(best) => {
                    // The score is still that of the search.
                    if best.ranker_score.is_some() {
                        how.push_str("; chosen by the cross-encoder");
                    }
                    let kind = cell(best.kind()).fg(colour(best.kind()));
                    let mut row = vec![cell(&best.name), cell(&best.id)];
                    row.extend(has_codes.then(|| cell(&best.code_in_words())));
                    row.extend([kind, score(best.score), cell(&how)]);
                    row
                }
                Err(reason) => {
                    self.nil += 1;
                    let best = record.candidates.first();
                    let nearest = best.map_or("NIL".to_owned(), |best| {
                        format!("NIL (nearest: {})", best.name)
                    });
                    let value = best.map_or(Cell::new(""), |best| score(best.score));
                    let how = cell(&format!("{how}; {}", reason.words()));
                    let mut row = vec![cell(&nearest).fg(Color::Yellow)];
                    row.resize(3 + usize::from(has_codes), Cell::new(""));
                    row.extend([value, how]);
                    row
                }
            };
            let mut cells = vec![
                Cell::new(self.lines + 1).set_alignment(CellAlignment::Right),
                cell(&mention).add_attribute(Attribute::Bold),
            ];
            cells.extend(has_attributes.then(|| cell(&attributes(record))));
            cells.push(cell(&record.context.words()));
            cells.extend(row);
            table.add_row(cells);
        }
        table
    }
}

/// A colour that depends only on the type.
fn colour(kind: &str) -> Color {
    let colours = [
        Color::Cyan,
        Color::Green,
        Color::Magenta,
        Color::Blue,
        Color::Red,
        Color::White,
    ];
    let sum: usize = kind.bytes().map(usize::from).sum();
    colours[sum % colours.len()]
}
