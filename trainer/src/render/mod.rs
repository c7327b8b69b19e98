//! Links for readers and for other tools.

mod brat;
mod html;
mod jsonl;
mod table;

use clap::ValueEnum;
use pel_shared::detect::Origin;
use pel_shared::error::Result;
use pel_shared::kb::Concept;
use pel_shared::linker::{Link, Linker};
use pel_shared::nil::Decision;

/// The forms that links are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for reading
    Table,
    /// One mention a line, as JSON, with offsets in bytes, code points and UTF-16 units
    Jsonl,
    /// BRAT standoff
    Brat,
    /// A page of its own, with the mentions coloured
    Html,
}

impl Format {
    /// The usual ending of such a file.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Table => "links.txt",
            Self::Jsonl => "jsonl",
            Self::Brat => "ann",
            Self::Html => "html",
        }
    }
}

/// A note with its links.
pub struct LinkedNote<'a> {
    /// What the note is called.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Its links, in the order of the text.
    pub links: &'a [Link],
    /// Who made them.
    pub linker: &'a Linker,
}

impl LinkedNote<'_> {
    /// The text of a mention.
    fn mention(&self, link: &Link) -> &str {
        self.text.get(link.span.start..link.span.end).unwrap_or_default()
    }

    /// A concept of the bundle.
    fn concept(&self, id: pel_shared::kb::ConceptId) -> Result<Concept> {
        self.linker.bundle().concepts.get(id)
    }

    /// The concept that a mention is linked to.
    fn linked(&self, link: &Link) -> Result<Option<Concept>> {
        match link.decision {
            Decision::Linked { best } => self.concept(best.concept).map(Some),
            Decision::Nil { .. } => Ok(None),
        }
    }
}

/// The links of a note in a form.
///
/// # Errors
/// If a concept of the bundle is damaged.
pub fn render(format: Format, note: &LinkedNote<'_>) -> Result<String> {
    match format {
        Format::Table => table::render(note),
        Format::Jsonl => jsonl::render(note),
        Format::Brat => brat::render(note),
        Format::Html => html::render(note),
    }
}

/// The primary type of a concept.
fn primary_type(concept: &Concept) -> &str {
    concept.types.first().map_or("Concept", String::as_str)
}

fn origin_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Name => "found",
        Origin::UnknownTerm => "unknown word",
        Origin::Given => "given",
    }
}
