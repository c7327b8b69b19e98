//! A table for reading in a terminal.

use crate::tables;
use comfy_table::{Attribute, Cell, CellAlignment, Color};
use pel_shared::bundle::cut_words;
use pel_shared::clean::escaped;
use pel_shared::report::{Note, origin_words};
use pel_shared::tokens::Cut;

/// See [`super::render`].
pub fn render(note: &Note<'_>) -> String {
    let mut table = tables::coloured(["Line", "Mention", "Concept", "Id", "Type", "Score", "How"]);
    let cell = |text: &str| Cell::new(escaped(text));
    let (mut nil, mut line, mut seen) = (0, 1, 0);
    for record in note.records {
        line += note.text.get(seen..record.span.start).unwrap_or_default().matches('\n').count();
        seen = seen.max(record.span.start);
        let mention = note.mention(record).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut how = origin_words(record.origin).to_owned();
        if let Some(read_as) = &record.read_as {
            how = format!("{how}; read as {read_as}");
        }
        // A context is nearly always longer than its window; a mention should not be.
        if let Some(cut) = cut_words(Cut { context: false, ..record.cut }) {
            how = format!("{how}; {cut}");
        }
        let score = |score: f32| Cell::new(format!("{score:.3}")).set_alignment(CellAlignment::Right);
        let row = match &record.decision {
            Ok(best) => {
                // The score beside it is still the search's.
                if best.ranker_score.is_some() {
                    how.push_str("; chosen by the ranker");
                }
                let kind = cell(best.kind()).fg(colour(best.kind()));
                vec![cell(&best.name), cell(&best.id), kind, score(best.score), cell(&how)]
            }
            Err(reason) => {
                nil += 1;
                let best = record.candidates.first();
                let nearest = best.map_or("NIL".to_owned(), |best| format!("NIL (nearest: {})", best.name));
                let value = best.map_or(Cell::new(""), |best| score(best.score));
                let how = cell(&format!("{how}; {}", reason.words()));
                vec![cell(&nearest).fg(Color::Yellow), Cell::new(""), Cell::new(""), value, how]
            }
        };
        let mut cells =
            vec![Cell::new(line).set_alignment(CellAlignment::Right), cell(&mention).add_attribute(Attribute::Bold)];
        cells.extend(row);
        table.add_row(cells);
    }
    let (name, total) = (note.name, note.records.len());
    let bundle = &note.linker.bundle().manifest;
    let kb = format!("{} ({} concepts)", bundle.kb.name, bundle.kb.concepts);
    let few = match note.linker.bundle().dictionary.knows_enough_words() {
        true => "",
        false => "; it knows too few words for unknown ones to be looked for",
    };
    let sum = format!("{name}: {total} mentions, {} linked, {nil} NIL; knowledge base {kb}{few}", total - nil);
    format!("{table}\n{}\n", escaped(&sum))
}

/// One colour a type; the same type always has the same.
fn colour(kind: &str) -> Color {
    let colours = [Color::Cyan, Color::Green, Color::Magenta, Color::Blue, Color::Red, Color::White];
    let sum: usize = kind.bytes().map(usize::from).sum();
    colours[sum % colours.len()]
}
