//! The token sequences ("views") that represent a concept and a mention.

use super::{Cut, Encoded, EntityTemplate, MentionTemplate, Tokens};
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use pel_kb::score::Similarity;
use pel_text::Mention;
use pel_text::abbreviations::Reader;
use serde::{Deserialize, Serialize};

/// The largest window in tokens that a manifest may have. Encoders have lower limits; this one
/// keeps sums of window lengths from overflowing.
pub const LONGEST_WINDOW: usize = 1 << 20;

/// The texts that represent a concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Each name, without context.
    Names,
    /// The entity template: title, types, description.
    Template,
    /// Names and template.
    Both,
}

/// The templates and window lengths of concepts and mentions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewOptions {
    /// The texts that represent a concept.
    pub concepts: View,
    /// The entity template.
    pub entity_template: EntityTemplate,
    /// Whether the entity template includes the synonyms.
    pub synonyms: bool,
    /// The longest entity template in tokens.
    pub entity_tokens: usize,
    /// The longest name in tokens.
    pub name_tokens: usize,
    /// The mention template.
    pub mention_template: MentionTemplate,
    /// The longest mention in tokens, context included.
    pub mention_tokens: usize,
    /// Whether abbreviations that the text defines are expanded in mentions.
    #[serde(default = "yes")]
    pub abbreviations: bool,
    /// The weight of the template in a concept's score, 0 to 1, for [`View::Both`]. The most
    /// similar name has the rest.
    #[serde(default)]
    pub mix: f32,
    /// The weight of spelling in a concept's score, 0 to 1: of the square of the mention's largest
    /// [`Spelling`](pel_index::lexical::Spelling) overlap with a name. The vectors have the rest.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spelling: f32,
    /// The words of context on each side of a mention that is a name of exactly one concept, for
    /// [`MentionTemplate::Context`]; `None` for as many as fit, as other mentions have. A name
    /// needs little context, and a short window is encoded faster and found again in other texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_context: Option<usize>,
}

/// Whether the field can be left out of a manifest, so that older builds can read it.
fn is_zero(spelling: &f32) -> bool {
    *spelling == 0.0
}

fn yes() -> bool {
    true
}

impl ViewOptions {
    /// Mentions without context against names, for a sentence encoder without training on this
    /// task.
    pub fn names() -> Self {
        Self {
            concepts: View::Names,
            mention_template: MentionTemplate::Bare,
            mention_tokens: 32,
            ..Self::template()
        }
    }

    /// Mentions in context against entity templates, as in the papers (PEL, table 6: 128 tokens).
    pub fn template() -> Self {
        Self {
            concepts: View::Template,
            entity_template: EntityTemplate::Types,
            synonyms: false,
            entity_tokens: 128,
            name_tokens: 32,
            mention_template: MentionTemplate::Context,
            mention_tokens: 128,
            abbreviations: true,
            mix: 0.0,
            spelling: 0.0,
            name_context: None,
        }
    }

    /// Encodes the rows of a concept in the index, in order: its template, then its names. Names
    /// that are empty after normalisation and duplicates are left out.
    ///
    /// # Errors
    /// If the vocabulary has no marker tokens, or a text cannot be tokenized.
    pub fn rows(&self, tokens: &Tokens, concept: &Concept) -> Result<Vec<Encoded>> {
        let mut rows = Vec::new();
        if self.concepts != View::Names {
            rows.push(tokens.entity(
                concept,
                self.entity_template,
                self.synonyms,
                self.entity_tokens,
            )?);
        }
        if self.concepts != View::Template {
            for name in concept.names() {
                if let Some(row) = tokens.name(name, self.name_tokens)?
                    && !rows.contains(&row)
                {
                    rows.push(row);
                }
            }
        }
        Ok(rows)
    }

    /// Checks that the windows are in range; [`ViewOptions::check_windows`] checks an encoder's
    /// limit.
    ///
    /// # Errors
    /// If a window is 0 or longer than [`LONGEST_WINDOW`].
    pub fn check_lengths(&self) -> Result<()> {
        self.check_each(
            |tokens| (1..=LONGEST_WINDOW).contains(&tokens),
            &format!("1 to {LONGEST_WINDOW} tokens"),
        )
    }

    /// Checks that the windows fit an encoder with `positions` position embeddings.
    ///
    /// # Errors
    /// If a window is longer.
    pub fn check_windows(&self, positions: usize) -> Result<()> {
        let expected = format!("at most the {positions} tokens that the encoder reads");
        self.check_each(|tokens| tokens <= positions, &expected)
    }

    fn check_each(&self, fits: impl Fn(usize) -> bool, expected: &str) -> Result<()> {
        let Self {
            mention_tokens,
            entity_tokens,
            name_tokens,
            ..
        } = *self;
        let windows = [
            ("mention_tokens", mention_tokens),
            ("entity_tokens", entity_tokens),
            ("name_tokens", name_tokens),
        ];
        match windows.into_iter().find(|(_, tokens)| !fits(*tokens)) {
            None => Ok(()),
            Some((field, found)) => Err(Error::artifact(format!(
                "`view.{field}`: expected {expected}, found {found}"
            ))),
        }
    }

    /// Checks [`ViewOptions::mix`].
    ///
    /// # Errors
    /// If it is not from 0 to 1, or is above 0 without [`View::Both`].
    pub fn check_mix(&self) -> Result<()> {
        let Self { mix, concepts, .. } = self;
        if (0.0..=1.0).contains(mix) && (*mix == 0.0 || *concepts == View::Both) {
            return Ok(());
        }
        Err(Error::input(format!(
            "`mix`: expected a weight from 0 to 1, and 0 unless concepts have both names and \
             template, found {mix}"
        )))
    }

    /// Checks [`ViewOptions::spelling`] for a similarity function.
    ///
    /// # Errors
    /// If it is not from 0 to 1, or is above 0 for dot products, which have no fixed scale.
    pub fn check_spelling(&self, score: Similarity) -> Result<()> {
        if (0.0..=1.0).contains(&self.spelling)
            && (self.spelling == 0.0 || score == Similarity::Cosine)
        {
            return Ok(());
        }
        Err(Error::input(format!(
            "`spelling`: expected a weight from 0 to 1, and 0 unless the similarity is cosine, \
             found {}",
            self.spelling
        )))
    }

    /// A reader of mentions with these options.
    pub fn reader<'a>(&self) -> Reader<'a> {
        Reader::new(self.abbreviations)
    }

    /// Encodes a mention; `None` if it is empty after normalisation.
    ///
    /// # Errors
    /// If the vocabulary has no marker tokens, or the text cannot be tokenized.
    pub fn mention(&self, tokens: &Tokens, mention: &Mention<'_>) -> Result<Option<Encoded>> {
        tokens.mention(mention, self.mention_template, self.mention_tokens)
    }

    /// As [`ViewOptions::mention`], for a mention that is a name of this number of concepts
    /// ([`ViewOptions::name_context`]).
    ///
    /// # Errors
    /// As [`ViewOptions::mention`].
    pub fn mention_named(
        &self,
        tokens: &Tokens,
        mention: &Mention<'_>,
        concepts: usize,
    ) -> Result<Option<Encoded>> {
        match self.name_context.filter(|_| concepts == 1) {
            Some(words) => self.mention(tokens, &mention.with_context(words)),
            None => self.mention(tokens, mention),
        }
    }
}

/// Describes for users what was truncated; `None` if nothing was.
pub fn cut_words(cut: Cut) -> Option<&'static str> {
    match cut {
        Cut { mention: true, .. } => Some("mention longer than the window"),
        Cut { context: true, .. } => Some("context cut to the window"),
        _ => None,
    }
}
