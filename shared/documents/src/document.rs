//! A document that was read: its text, where its sections begin, and what is stated of it.

/// A text with what its document states of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The text as it is shown, in UTF-8 with `\n` as line end. Offsets of links refer to it.
    pub text: String,
    /// The sections that the document marks as such, in the order of the text.
    pub sections: Vec<Section>,
    /// The identifier of the document.
    pub id: Option<String>,
    /// The title of the document.
    pub title: Option<String>,
    /// The day of what the document reports: `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, or this with a time
    /// as `YYYY-MM-DDThh:mm:ss` and a zone if it is known.
    pub date: Option<String>,
    /// The name of the first author.
    pub author: Option<String>,
    /// The patient: a FHIR reference (`Patient/1`), or the first identifier. Never a name.
    pub patient: Option<String>,
    /// The encounter: a FHIR reference (`Encounter/1`), or the first identifier.
    pub encounter: Option<String>,
}

/// A section of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The byte of the text at which its heading begins; its first word if no heading is shown.
    pub start: usize,
    /// The LOINC code of the section, such as `10160-0`, if the document states it.
    pub code: Option<String>,
    /// The heading, as the document has it.
    pub title: String,
}

impl Document {
    /// A document of a text alone.
    #[must_use]
    pub fn of_text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// Takes what this document does not state from another one. Text and sections stay.
    pub(crate) fn complete_from(&mut self, other: &Document) {
        let pairs = [
            (&mut self.id, &other.id),
            (&mut self.title, &other.title),
            (&mut self.date, &other.date),
            (&mut self.author, &other.author),
            (&mut self.patient, &other.patient),
            (&mut self.encounter, &other.encounter),
        ];
        for (own, given) in pairs {
            if own.is_none() {
                own.clone_from(given);
            }
        }
    }

    /// Adds the text and the sections of another document behind an empty line.
    pub(crate) fn append(&mut self, other: Document) {
        if !self.text.is_empty() && !other.text.is_empty() {
            self.text.push_str("\n\n");
        }
        let moved = self.text.len();
        self.text.push_str(&other.text);
        let sections = other.sections.into_iter().map(|section| Section {
            start: section.start + moved,
            ..section
        });
        self.sections.extend(sections);
    }
}
