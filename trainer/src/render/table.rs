//! A table for reading in a terminal.

use crate::tables;
use comfy_table::{Attribute, Cell, CellAlignment, Color};
use pel_shared::bundle::cut_words;
use pel_shared::report::{Note, origin_words};
use pel_shared::tokens::Cut;

/// See [`super::render`].
pub fn render(note: &Note<'_>) -> String {
    let mut table = tables::table(["Line", "Mention", "Concept", "Id", "Type", "Score", "How"]);
    let bold = |text: &str| Cell::new(text).add_attribute(Attribute::Bold);
    let (mut nil, mut line, mut seen) = (0, 1, 0);
    for record in note.records {
        line += note.text.get(seen..record.span.start).unwrap_or_default().matches('\n').count();
        seen = seen.max(record.span.start);
        let mention = note.text.get(record.span.start..record.span.end).unwrap_or_default();
        let mention = mention.split_whitespace().collect::<Vec<_>>().join(" ");
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
                let kind = Cell::new(best.kind()).fg(colour(best.kind()));
                vec![Cell::new(&best.name), Cell::new(&best.id), kind, score(best.score), Cell::new(how)]
            }
            Err(reason) => {
                nil += 1;
                let best = record.candidates.first();
                let nearest = best.map_or("NIL".to_owned(), |best| format!("NIL (nearest: {})", best.name));
                let value = best.map_or(Cell::new(""), |best| score(best.score));
                let how = Cell::new(format!("{how}; {}", reason.words()));
                vec![Cell::new(nearest).fg(Color::Yellow), Cell::new(""), Cell::new(""), value, how]
            }
        };
        let mut cells = vec![Cell::new(line).set_alignment(CellAlignment::Right), bold(&mention)];
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
    format!("{table}\n{name}: {total} mentions, {} linked, {nil} NIL; knowledge base {kb}{few}\n", total - nil)
}

/// One colour a type; the same type always has the same.
fn colour(kind: &str) -> Color {
    let colours = [Color::Cyan, Color::Green, Color::Magenta, Color::Blue, Color::Red, Color::White];
    let sum: usize = kind.bytes().map(usize::from).sum();
    colours[sum % colours.len()]
}
