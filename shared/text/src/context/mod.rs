//! The context of mentions in clinical notes: negation, certainty, temporality, experiencer,
//! section, laterality, severity and allergy.
//!
//! Rules are in readable files ([`ContextRules::parse`]); those of English, German, French and
//! Spanish are built in. A rule is a cue such as "no evidence of" with a direction. Its scope ends
//! at the end of the sentence, at a word that ends such scopes ("but"), at the next cue of the same
//! property, or after a number of tokens. If several cues reach a mention, the nearest one counts.
//! Cues of laterality and severity can also be in the mention; those count first.

mod beside;
mod denials;
mod forms;
mod judge;
mod parser;
mod pattern;
mod places;
mod rules;
mod scope;
mod sections;
mod stated;
mod tokens;
mod trie;
mod values;
mod vocabulary;

#[cfg(test)]
mod tests;

use super::Span;
use super::language::Language;
use pel_kb::error::Result;
use pel_kb::group::Group;
use rules::RuleSet;
pub use rules::RuleText;
use serde::{Deserialize, Serialize};
pub use stated::{Stated, StatedSection, section_of_loinc};
use std::sync::LazyLock;
pub(crate) use tokens::Border;
pub use values::{
    Allergy, Certainty, Effect, Experiencer, Laterality, Severity, Temporality, When,
};

/// The rule files that are built in, by name.
pub(super) const BUILT_IN: [(&str, &str); 5] = [
    ("english", include_str!("english.rules")),
    ("german", include_str!("german.rules")),
    ("french", include_str!("french.rules")),
    ("spanish", include_str!("spanish.rules")),
    ("contextkit", include_str!("contextkit.rules")),
];

/// A mention to judge.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The pieces of the mention in bytes, in ascending order. Most mentions have one.
    pub pieces: &'a [Span],
    /// The kind of mention, if known. A rule can be limited to kinds.
    pub group: Option<Group>,
}

/// The context of a mention. The default is that of a statement about the patient now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// Whether the mention is said to be absent.
    pub negated: bool,
    /// How sure the author is.
    pub certainty: Certainty,
    /// When the mention holds.
    pub temporality: Temporality,
    /// Whom the mention is about.
    pub experiencer: Experiencer,
    /// The section of the note, as named in the rules.
    pub section: Option<String>,
    /// The side of the body; `None` if the text says none.
    pub laterality: Option<Laterality>,
    /// How severe the problem is; `None` if the text does not say.
    pub severity: Option<Severity>,
    /// What the mention is to an allergy; `None` if it has nothing to do with one. "No allergy to
    /// latex" is an allergen and negated.
    pub allergy: Option<Allergy>,
    /// The cues that decided the values, at most one for each property.
    #[serde(skip)]
    pub cues: Vec<Cue>,
}

impl Context {
    /// Whether the mention is stated of the patient now: neither negated nor doubted, past, planned
    /// or someone else's, and neither an allergen nor a reaction to one. Laterality and severity do
    /// not matter.
    pub fn is_asserted(&self) -> bool {
        !self.negated
            && self.certainty == Certainty::Certain
            && self.temporality == Temporality::Current
            && self.experiencer == Experiencer::Patient
            && self.allergy.is_none()
    }

    /// What is not the default, in words: "negated, family, left, severe".
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        if self.negated {
            words.push("negated");
        }
        words.extend(match self.certainty {
            Certainty::Certain => None,
            Certainty::Uncertain => Some("uncertain"),
            Certainty::Hypothetical => Some("hypothetical"),
        });
        words.extend(match self.temporality {
            Temporality::Current => None,
            Temporality::Historical => Some("historical"),
            Temporality::Future => Some("future"),
        });
        words.extend(match self.experiencer {
            Experiencer::Patient => None,
            Experiencer::Family => Some("family"),
            Experiencer::Other => Some("someone else"),
        });
        words.extend(self.allergy.map(|allergy| match allergy {
            Allergy::Allergen => "allergy",
            Allergy::Reaction => "allergic reaction",
        }));
        words.extend(self.laterality.map(Laterality::name));
        words.extend(self.severity.map(Severity::name));
        words.join(", ")
    }
}

/// A kind of heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// The rules have a section of this heading.
    Section,
    /// The rules have it as a heading inside of sections.
    Subsection,
    /// The rules do not have it: a line begins with a few words in capitals and a colon.
    Unknown,
}

/// A cue that reaches a mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cue {
    /// The bytes of the cue. Of a section, its heading.
    pub span: Span,
    /// What the cue sets.
    pub effect: Effect,
    /// The bytes that the cue reaches.
    pub scope: Span,
    /// The number of the rule, for [`ContextRules::rule`].
    pub rule: usize,
}

/// A word or mark of a text.
pub(crate) struct Piece {
    /// Its bytes.
    pub span: Span,
    /// What stands before it.
    pub border: Border,
    /// The character of a mark; a blank for a word.
    pub mark: char,
}

/// The language of built-in rules.
fn language_of(name: &str) -> Option<Language> {
    match name {
        "english" | "contextkit" => Some(Language::English),
        "german" => Some(Language::German),
        "french" => Some(Language::French),
        "spanish" => Some(Language::Spanish),
        _ => None,
    }
}

/// The rules of a language.
#[derive(Clone, Debug)]
pub struct ContextRules {
    set: RuleSet,
    languages: Vec<Language>,
}

impl ContextRules {
    /// The names of the built-in rules.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The rules of English.
    pub fn english() -> &'static Self {
        static RULES: LazyLock<ContextRules> =
            LazyLock::new(|| match ContextRules::built_in("english") {
                Some(Ok(rules)) => rules,
                // A test parses each built-in file.
                _ => unreachable!("the English rules are valid"),
            });
        &RULES
    }

    /// Built-in rules by name; `None` if no file has the name.
    pub fn built_in(name: &str) -> Option<Result<Self>> {
        BUILT_IN
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(name, text)| {
                let mut rules = Self::parse(text, &format!("{name}.rules"))?;
                rules.languages.extend(language_of(name));
                rules.languages.dedup();
                Ok(rules)
            })
    }

    /// The languages of the built-in rules that these are or include; none if they stand alone.
    pub fn languages(&self) -> &[Language] {
        &self.languages
    }

    /// Parses a rule file. `name` is the file's name in messages. A file that starts with
    /// `include english` extends those rules; another one stands alone.
    ///
    /// # Errors
    /// If a line is invalid. The message has the file and line, and says what was expected and
    /// found.
    ///
    /// # Example
    /// ```
    /// use pel_kb::group::Group;
    /// use pel_text::Span;
    /// use pel_text::context::{ContextRules, Target};
    ///
    /// let rules = ContextRules::parse("cue negated forward: geen, zonder", "dutch.rules")?;
    /// let target = Target {
    ///     pieces: &[Span::new(5, 11)],
    ///     group: Some(Group::Problem),
    /// };
    /// let contexts = rules.judge("Geen koorts.", &[target]);
    /// assert!(contexts[0].negated);
    /// # Ok::<(), pel_kb::error::Error>(())
    /// ```
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let set = RuleSet::parse(text, name)?;
        let included = text
            .lines()
            .filter_map(|line| line.strip_prefix("include "));
        let languages = included.filter_map(|name| language_of(name.trim()));
        Ok(Self {
            set,
            languages: languages.collect(),
        })
    }

    /// The text of a rule, for explanations.
    pub fn rule(&self, number: usize) -> Option<&RuleText> {
        self.set.rules.get(number).map(|rule| &rule.text)
    }

    /// The headings of a text, without what follows them, in their order.
    pub fn headings(&self, text: &str) -> impl Iterator<Item = (Span, Heading)> {
        sections::headings(text, &self.set).into_iter()
    }

    /// The words and marks of a text with the borders of sentences, lines and cells before them.
    pub(crate) fn pieces(&self, text: &str) -> Vec<Piece> {
        let tokens = tokens::tokenize(text, &self.set.vocabulary);
        let pieces = tokens.into_iter().map(|token| Piece {
            span: Span::new(token.start, token.end),
            border: token.border,
            mark: token.mark,
        });
        pieces.collect()
    }

    /// Judges mentions of a text, in time linear in the text and the mentions. A mention that is
    /// outside the text has the default context.
    pub fn judge(&self, text: &str, mentions: &[Target]) -> Vec<Context> {
        self.judge_dated(text, mentions, &[])
    }

    /// Judges mentions of a text whose dates may be known: a procedure of 2015 is over, one "in 3
    /// months" planned, if no word says otherwise. `times` are in the order of the mentions
    /// ([`crate::attributes::times`]); missing ones are not known.
    pub fn judge_dated(
        &self,
        text: &str,
        mentions: &[Target],
        times: &[Option<When>],
    ) -> Vec<Context> {
        self.judge_stated(text, mentions, times, &[])
    }

    /// As [`ContextRules::judge_dated`], for a text whose document marks sections: they begin where
    /// it says, whatever their headings are. One without a name is what the rules call its heading.
    /// The sections are in the order of the text.
    pub fn judge_stated(
        &self,
        text: &str,
        mentions: &[Target],
        times: &[Option<When>],
        stated: &[StatedSection],
    ) -> Vec<Context> {
        judge::judge(&self.set, text, mentions, times, stated)
    }
}
