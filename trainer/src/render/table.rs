//! A table for reading in a terminal.

use super::{LinkedNote, origin_words, primary_type};
use crate::tables;
use comfy_table::{Attribute, Cell, CellAlignment, Color};
use pel_shared::bundle::cut_words;
use pel_shared::error::Result;
use pel_shared::nil::Decision;
use pel_shared::tokens::Cut;

/// See [`super::render`].
pub fn render(note: &LinkedNote<'_>) -> Result<String> {
    let mut table = tables::table(["Line", "Mention", "Concept", "Id", "Type", "Score", "How"]);
    let bold = |text: &str| Cell::new(text).add_attribute(Attribute::Bold);
    let (mut nil, mut line, mut seen) = (0, 1, 0);
    for link in note.links {
        line += note.text.get(seen..link.span.start).unwrap_or_default().matches('\n').count();
        seen = seen.max(link.span.start);
        let mention = note.mention(link).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut how = origin_words(link.origin).to_owned();
        // A context is nearly always longer than its window; a mention should not be.
        if let Some(cut) = cut_words(Cut { context: false, ..link.cut }) {
            how = format!("{how}; {cut}");
        }
        let score = |score: f32| Cell::new(format!("{score:.3}")).set_alignment(CellAlignment::Right);
        let row = match link.decision {
            Decision::Linked { best } => {
                let concept = note.concept(best.concept)?;
                let kind = Cell::new(primary_type(&concept)).fg(colour(primary_type(&concept)));
                vec![Cell::new(&concept.name), Cell::new(&concept.id), kind, score(best.score), Cell::new(how)]
            }
            Decision::Nil { reason, best } => {
                nil += 1;
                let nearest = match best {
                    Some(best) => format!("NIL (nearest: {})", note.concept(best.concept)?.name),
                    None => "NIL".to_owned(),
                };
                let value = best.map_or(Cell::new(""), |best| score(best.score));
                let how = Cell::new(format!("{how}; {}", reason.words()));
                vec![Cell::new(nearest).fg(Color::Yellow), Cell::new(""), Cell::new(""), value, how]
            }
        };
        let mut cells = vec![Cell::new(line).set_alignment(CellAlignment::Right), bold(&mention)];
        cells.extend(row);
        table.add_row(cells);
    }
    let (name, total) = (note.name, note.links.len());
    let bundle = &note.linker.bundle().manifest;
    let kb = format!("{} ({} concepts)", bundle.kb.name, bundle.kb.concepts);
    let few = match note.linker.bundle().dictionary.knows_enough_words() {
        true => "",
        false => "; it knows too few words for unknown ones to be looked for",
    };
    Ok(format!("{table}\n{name}: {total} mentions, {} linked, {nil} NIL; knowledge base {kb}{few}\n", total - nil))
}

/// One colour a type; the same type always has the same.
fn colour(kind: &str) -> Color {
    let colours = [Color::Cyan, Color::Green, Color::Magenta, Color::Blue, Color::Red, Color::White];
    let sum: usize = kind.bytes().map(usize::from).sum();
    colours[sum % colours.len()]
}
