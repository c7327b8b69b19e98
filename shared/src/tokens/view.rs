//! Which texts are encoded for a concept and for a mention.

use super::{Cut, Encoded, EntityTemplate, MentionTemplate, Tokens};
use crate::error::{Error, Result};
use crate::kb::Concept;
use crate::score::Score;
use crate::text::Mention;
use crate::text::abbreviations::Reader;
use serde::{Deserialize, Serialize};

/// The longest window that a manifest may ask for, in tokens. An encoder's own limit is lower; this one keeps sums of windows small.
pub const LONGEST_WINDOW: usize = 1 << 20;

/// Which texts stand for a concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Each of its names alone.
    Names,
    /// Its template: title, types, description.
    Template,
    /// Both.
    Both,
}

/// How concepts and mentions are written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewOptions {
    /// Which texts stand for a concept.
    pub concepts: View,
    /// The form of a concept's template.
    pub entity_template: EntityTemplate,
    /// Whether a concept's template lists its synonyms.
    pub synonyms: bool,
    /// The longest template, in tokens.
    pub entity_tokens: usize,
    /// The longest name, in tokens.
    pub name_tokens: usize,
    /// The form of a mention.
    pub mention_template: MentionTemplate,
    /// The longest mention, context included, in tokens.
    pub mention_tokens: usize,
    /// Whether short forms that a text defines are written out in its mentions.
    #[serde(default = "yes")]
    pub abbreviations: bool,
    /// Where concepts have both views, the share of the template in a concept's score, from 0 to 1; the rest is its best row's.
    #[serde(default)]
    pub mix: f32,
    /// The share of spelling in a concept's score, from 0 to 1: of the square of how much the mention and the nearest of the concept's
    /// names have in common ([`Spelling`](crate::lexical::Spelling)). The rest is its vectors'.
    #[serde(default, skip_serializing_if = "none")]
    pub spelling: f32,
}

/// Nothing that an older build would not know.
fn none(spelling: &f32) -> bool {
    *spelling == 0.0
}

fn yes() -> bool {
    true
}

impl ViewOptions {
    /// Bare mentions against names: what an untrained sentence encoder is fair at.
    pub fn names() -> Self {
        Self { concepts: View::Names, mention_template: MentionTemplate::Bare, mention_tokens: 32, ..Self::template() }
    }

    /// Mentions in context against templates: what the papers train (PEL, table 6: 128 tokens).
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
        }
    }

    /// The rows of a concept in the index, in order: its template, its names. Names of which nothing is left are dropped.
    ///
    /// # Errors
    /// If the vocabulary has no rows for the template's markers, or a text cannot be tokenized.
    pub fn rows(&self, tokens: &Tokens, concept: &Concept) -> Result<Vec<Encoded>> {
        let mut rows = Vec::new();
        if self.concepts != View::Names {
            rows.push(tokens.entity(concept, self.entity_template, self.synonyms, self.entity_tokens)?);
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

    /// Checks the windows by themselves; [`ViewOptions::check_windows`] compares them with an encoder.
    ///
    /// # Errors
    /// If one is of no token, or longer than [`LONGEST_WINDOW`].
    pub fn check_lengths(&self) -> Result<()> {
        self.check_each(|tokens| (1..=LONGEST_WINDOW).contains(&tokens), &format!("1 to {LONGEST_WINDOW} tokens"))
    }

    /// Checks that an encoder reads the windows, `positions` tokens at most.
    ///
    /// # Errors
    /// If one is longer.
    pub fn check_windows(&self, positions: usize) -> Result<()> {
        self.check_each(|tokens| tokens <= positions, &format!("at most the {positions} tokens that the encoder reads"))
    }

    fn check_each(&self, fits: impl Fn(usize) -> bool, expected: &str) -> Result<()> {
        let Self { mention_tokens, entity_tokens, name_tokens, .. } = *self;
        let windows =
            [("mention_tokens", mention_tokens), ("entity_tokens", entity_tokens), ("name_tokens", name_tokens)];
        match windows.into_iter().find(|(_, tokens)| !fits(*tokens)) {
            None => Ok(()),
            Some((field, found)) => Err(Error::artifact(format!("`view.{field}`: expected {expected}, found {found}"))),
        }
    }

    /// Checks [`ViewOptions::mix`].
    ///
    /// # Errors
    /// If it is no share, or above 0 where concepts do not have both views.
    pub fn check_mix(&self) -> Result<()> {
        let Self { mix, concepts, .. } = self;
        match (0.0..=1.0).contains(mix) && (*mix == 0.0 || *concepts == View::Both) {
            true => Ok(()),
            false => Err(Error::input(format!(
                "the mix of views: expected a share from 0 to 1, above 0 only where concepts have both views, found {mix}"
            ))),
        }
    }

    /// Checks [`ViewOptions::spelling`], where vectors are compared so.
    ///
    /// # Errors
    /// If it is no share, or above 0 where scores are raw dot products, which have no scale.
    pub fn check_spelling(&self, score: Score) -> Result<()> {
        match (0.0..=1.0).contains(&self.spelling) && (self.spelling == 0.0 || score == Score::Cosine) {
            true => Ok(()),
            false => Err(Error::input(format!(
                "the share of spelling: expected a share from 0 to 1, above 0 only where scores are cosines, found {}",
                self.spelling
            ))),
        }
    }

    /// What reads the mentions of texts.
    pub fn reader<'a>(&self) -> Reader<'a> {
        Reader::new(self.abbreviations)
    }

    /// A mention's token sequence; `None` if nothing is left of it.
    ///
    /// # Errors
    /// If the vocabulary has no rows for the markers, or the text cannot be tokenized.
    pub fn mention(&self, tokens: &Tokens, mention: &Mention<'_>) -> Result<Option<Encoded>> {
        tokens.mention(mention, self.mention_template, self.mention_tokens)
    }
}

/// Tells a cut in words; `None` if nothing was cut.
pub fn cut_words(cut: Cut) -> Option<&'static str> {
    match cut {
        Cut { mention: true, .. } => Some("mention longer than the window"),
        Cut { context: true, .. } => Some("context cut to the window"),
        _ => None,
    }
}
