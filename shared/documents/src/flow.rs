//! Builds the text that a document shows: runs of white space become one space, blocks begin on new
//! lines, cells are apart by a tab.

use crate::document::Section;

/// What stands before the next character, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Cell,
    Line,
    /// An empty line.
    Block,
}

impl Gap {
    fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Space => " ",
            Self::Cell => "\t",
            Self::Line => "\n",
            Self::Block => "\n\n",
        }
    }
}

/// A text under construction.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    text: String,
    gap: Gap,
    sections: Vec<Section>,
    /// The number of sections whose first character is not written yet.
    waiting: usize,
    /// Whether the open row of a table has characters.
    in_row: bool,
    /// Whether a cell has begun and has no character yet: it begins in the line of the row.
    at_edge: bool,
}

impl Flow {
    /// Adds a text whose runs of white space are one space.
    pub fn collapsed(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                c if c.is_whitespace() => self.widen(Gap::Space),
                c => self.push(c),
            }
        }
    }

    /// Adds a text whose white space is kept.
    pub fn verbatim(&mut self, text: &str) {
        let mut before = ' ';
        for c in text.chars() {
            match c {
                '\n' if before == '\r' => {}
                '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => self.brk(),
                '\t' => self.widen(Gap::Cell),
                c if c.is_whitespace() && self.gap > Gap::None && !self.is_at_line_start() => {}
                c if c.is_whitespace() => self.blank(),
                c => self.push(c),
            }
            before = c;
        }
    }

    /// Adds a space that is shown, as in preformatted lines.
    fn blank(&mut self) {
        match self.text.is_empty() && self.gap == Gap::None {
            true => {}
            false => self.push(' '),
        }
    }

    fn is_at_line_start(&self) -> bool {
        self.gap >= Gap::Line || self.text.ends_with('\n')
    }

    fn push(&mut self, c: char) {
        // Characters without a glyph, and those that no text has.
        if matches!(c, '\u{ad}' | '\u{200b}' | '\u{feff}') || c.is_control() {
            return;
        }
        self.settle();
        self.text.push(c);
        self.in_row = true;
        self.at_edge = false;
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Writes what stands before the next character.
    fn settle(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        if !self.text.is_empty() {
            if gap >= Gap::Cell {
                let end = self.text.trim_end_matches(' ').len();
                self.text.truncate(end);
            }
            self.text.push_str(gap.text());
        }
        let known = self.sections.len() - self.waiting;
        for section in &mut self.sections[known..] {
            section.start = self.text.len();
        }
        self.waiting = 0;
    }

    /// Begins a new line.
    pub fn line(&mut self) {
        if !self.at_edge {
            self.widen(Gap::Line);
        }
    }

    /// Ends a line: the second one in a row leaves a line empty.
    pub fn brk(&mut self) {
        match self.gap >= Gap::Line {
            true => self.block(),
            false => self.line(),
        }
    }

    /// Begins a new line behind an empty one.
    pub fn block(&mut self) {
        if !self.at_edge {
            self.widen(Gap::Block);
        }
    }

    /// Begins a row of a table.
    pub fn row(&mut self) {
        self.line();
        self.in_row = false;
    }

    /// Ends a row of a table.
    pub fn end_row(&mut self) {
        self.at_edge = false;
        self.row();
    }

    /// Begins a cell of a table. Lines that the cell before it has ended are in its row.
    pub fn cell(&mut self) {
        if self.in_row {
            self.gap = Gap::Cell;
        }
        self.at_edge = true;
    }

    /// Ends a cell of a table.
    pub fn end_cell(&mut self) {
        self.at_edge = false;
    }

    /// Begins a section at the next character.
    pub fn section(&mut self, code: Option<String>, title: String) {
        self.sections.push(Section {
            start: 0,
            code,
            title,
        });
        self.waiting += 1;
    }

    /// Names the last section, whose heading has been written. Without a name it is none.
    pub fn name_section(&mut self, title: &str) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            self.waiting -= usize::from(self.waiting > 0);
            self.sections.pop();
        } else if let Some(section) = self.sections.last_mut() {
            section.title = title;
        }
    }

    /// The last character, if nothing stands behind it.
    pub fn last(&self) -> Option<char> {
        match self.gap {
            Gap::None => self.text.chars().last(),
            _ => None,
        }
    }

    /// The text and its sections. Sections without a text are left out.
    pub fn finish(mut self) -> (String, Vec<Section>) {
        let known = self.sections.len() - self.waiting;
        self.sections.truncate(known);
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        self.sections.retain(|section| section.start < end);
        (self.text, self.sections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_collapses_and_breaks_are_as_wide_as_the_widest() {
        let mut flow = Flow::default();
        flow.block();
        flow.collapsed("  chest \n\u{a0} pain ");
        flow.line();
        flow.block();
        flow.row();
        flow.cell();
        flow.block();
        flow.collapsed(" no fe\u{ad}ver");
        flow.block();
        flow.cell();
        flow.collapsed("x");
        flow.end_row();
        flow.brk();
        flow.brk();
        flow.collapsed("y \t");
        flow.block();
        assert_eq!(flow.finish().0, "chest pain\n\nno fever\tx\n\ny");
    }

    #[test]
    fn verbatim_text_keeps_its_columns() {
        let mut flow = Flow::default();
        flow.verbatim("Na   140\r\n  K  4\n\n\nCl\t99  \nx");
        assert_eq!(flow.finish().0, "Na   140\n  K  4\n\nCl\t99\nx");
    }

    #[test]
    fn sections_begin_at_their_first_character() {
        let mut flow = Flow::default();
        flow.collapsed("a");
        flow.block();
        flow.section(None, "B".into());
        flow.collapsed(" B");
        flow.section(Some("1-8".into()), "empty".into());
        let (text, sections) = flow.finish();
        assert_eq!(text, "a\n\nB");
        assert_eq!(sections.len(), 1);
        assert_eq!(sections[0].start, 3);
    }
}
