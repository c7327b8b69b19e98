//! What a reader said of the decisions of the linker.

use pel_kb::clean::field;
use pel_text::{Offsets, Span};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A reader's review of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Whether the reader kept the decision of the linker.
    #[serde(rename = "review")]
    pub outcome: ReviewOutcome,
    /// The reader; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<String>,
    /// When, in UTC as in RFC 3339: `2026-11-30T09:30:00Z`; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_at: Option<String>,
    /// The answer of the linker that the reader changed; `None` if the answer was confirmed, and for
    /// a mention that only the reader has marked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<FormerAnswer>,
}

/// What a review did to the decision of the linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewOutcome {
    /// The reader agreed.
    Confirmed,
    /// The reader decided otherwise.
    Changed,
}

impl ReviewOutcome {
    /// The name in outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Changed => "changed",
        }
    }
}

/// An answer of the linker; NIL if it has no identifier.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FormerAnswer {
    /// The identifier of the concept; `None` if the answer was NIL.
    pub id: Option<String>,
    /// The name of the concept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The probability, 0 to 1, that the linker stated for its best candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
}

/// A mention that a reader removed, because its words are no mention.
#[derive(Clone, Debug, PartialEq)]
pub struct RemovedMention {
    /// The extent in bytes.
    pub span: Span,
    /// The fragments in bytes, in the order of the text; empty for a continuous mention.
    pub fragments: Vec<Span>,
    /// The review that removed it.
    pub review: Review,
}

impl RemovedMention {
    /// The text of the mention. Fragments are joined by a space.
    #[must_use]
    pub fn words<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let pieces = pel_text::pieces(&self.span, &self.fragments);
        pel_text::text_of(text, pieces).unwrap_or_default()
    }

    /// A comment of BRAT. BRAT shows none that names no annotation, and readers skip it.
    pub(crate) fn brat_line(&self, number: usize, text: &str, offsets: &Offsets<'_>) -> String {
        let Span { start, end } = self.span;
        let place = format!("{}-{}", offsets.code_point(start), offsets.code_point(end));
        let (words, review) = (self.words(text), self.review.words());
        format!(
            "#{number}\tRemoved {place}\t{}; {review}\n",
            field(&words.split_whitespace().collect::<Vec<_>>().join(" "))
        )
    }
}

impl Review {
    /// The review as words on one line: `Reviewed: changed by AB at 2026-11-30T09:30:00Z; Former:
    /// D1 fever`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = format!("Reviewed: {}", self.outcome.name());
        let parts = [(" by ", &self.reviewed_by), (" at ", &self.reviewed_at)];
        for (word, value) in parts {
            if let Some(value) = value {
                words += word;
                // A semicolon separates the parts of a note.
                words += &one_line(value).replace(';', ",");
            }
        }
        if let Some(former) = &self.former {
            words += "; Former: ";
            words += &former.words();
        }
        words
    }

    /// The cells of a table, in the order of [`COLUMNS`].
    pub(crate) fn cells(&self) -> [String; 5] {
        let FormerAnswer { id, name, .. } = self.former.clone().unwrap_or_default();
        let id = match self.former {
            Some(_) => id.unwrap_or_else(|| "NIL".to_owned()),
            None => String::new(),
        };
        [
            self.outcome.name().to_owned(),
            self.reviewed_by.clone().unwrap_or_default(),
            self.reviewed_at.clone().unwrap_or_default(),
            id,
            name.unwrap_or_default(),
        ]
    }
}

/// The columns of reviews in a table.
pub(crate) const COLUMNS: [&str; 5] = [
    "review",
    "reviewed_by",
    "reviewed_at",
    "former_id",
    "former_name",
];

impl FormerAnswer {
    fn words(&self) -> String {
        let Some(id) = &self.id else {
            return "NIL".to_owned();
        };
        let name = self.name.as_deref().unwrap_or_default();
        one_line(&format!("{id} {name}")).replace(';', ",")
    }
}

fn one_line(words: &str) -> String {
    field(&words.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed() -> Review {
        Review {
            outcome: ReviewOutcome::Changed,
            reviewed_by: Some("A; B".to_owned()),
            reviewed_at: Some("2026-11-30T09:30:00Z".to_owned()),
            former: Some(FormerAnswer {
                id: Some("D1".to_owned()),
                name: Some("fever".to_owned()),
                probability: Some(0.25),
            }),
        }
    }

    #[test]
    fn review_is_told_in_words_and_cells() {
        assert_eq!(
            changed().words(),
            "Reviewed: changed by A, B at 2026-11-30T09:30:00Z; Former: D1 fever"
        );
        assert_eq!(
            changed().cells(),
            ["changed", "A; B", "2026-11-30T09:30:00Z", "D1", "fever"]
        );
        let confirmed = Review {
            outcome: ReviewOutcome::Confirmed,
            reviewed_by: None,
            reviewed_at: None,
            former: None,
        };
        assert_eq!(confirmed.words(), "Reviewed: confirmed");
        assert_eq!(confirmed.cells(), ["confirmed", "", "", "", ""]);
        let nil = Review {
            former: Some(FormerAnswer::default()),
            ..confirmed
        };
        assert_eq!(nil.words(), "Reviewed: confirmed; Former: NIL");
        assert_eq!(nil.cells()[3], "NIL");
    }

    #[test]
    fn removed_mention_is_a_comment_of_brat_in_code_points() {
        let text = "😷 high\n fever";
        let removed = RemovedMention {
            span: Span::new(5, text.len()),
            fragments: Vec::new(),
            review: changed(),
        };
        assert_eq!(
            removed.brat_line(3, text, &Offsets::new(text)),
            "#3\tRemoved 2-13\thigh fever; Reviewed: changed by A, B at 2026-11-30T09:30:00Z; \
             Former: D1 fever\n"
        );
    }
}
