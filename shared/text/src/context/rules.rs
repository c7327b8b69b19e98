//! What rule files hold.

use super::trie::Trie;
use super::values::{Effect, MentionKind, Property, When};
use super::vocabulary::{Symbol, Vocabulary};

/// Where a rule stands, for explanations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The name of the rule file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The entry as written, e.g. "no evidence of".
    pub pattern: String,
    /// The heading of the entry, e.g. "cue negated forward".
    pub heading: String,
}

/// Where the scope of a cue lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
    Both,
    /// The cue is in the mention itself.
    Inside,
}

/// The mentions that an effect applies to.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition {
    /// Kinds; all if empty.
    pub kinds: Vec<MentionKind>,
    /// A list that the mention must have a phrase of.
    pub with: Option<usize>,
    /// A list that the mention must have no phrase of.
    pub without: Option<usize>,
    /// What another mention must be set to: of a cue the one at its other side, of a prior one in
    /// the sentence.
    pub beside: Option<Effect>,
    /// What the date of the mention must tell.
    pub dated: Option<When>,
}

/// What the entries under a heading do.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Sets properties of the mentions in a scope.
    Cue {
        effects: Vec<Effect>,
        direction: Direction,
        /// Whether it also sets properties of a mention that it ends in.
        or_inside: bool,
        /// The largest number of tokens between cue and mention.
        within: usize,
        /// Only in sentences that end with a question mark.
        question: bool,
        condition: Condition,
        /// A class whose words end the scope.
        until: Option<Symbol>,
    },
    /// Ends the scope of cues with some effects.
    End {
        effects: Vec<Effect>,
        /// The scope ends at the last comma or conjunction before.
        clause: bool,
    },
    /// Ends the scope of cues with some effects where a list of mentions ends.
    EndOfList {
        effects: Vec<Effect>,
        /// The words that join the last mention of a list: none may follow.
        unless: Symbol,
        /// The class of the mention before, if it matters.
        after: Option<Symbol>,
    },
    /// Ends the scope of cues with some effects at the last comma before, behind which a new
    /// statement is.
    EndOfItem {
        effects: Vec<Effect>,
        /// The words that join the last mention of a list: none may stand since the comma, or
        /// follow.
        unless: Symbol,
    },
    /// Hides shorter patterns of the properties of some effects.
    Pseudo { effects: Vec<Effect> },
}

impl Action {
    /// The effects that the action concerns.
    pub fn effects(&self) -> &[Effect] {
        match self {
            Self::Cue { effects, .. }
            | Self::End { effects, .. }
            | Self::EndOfList { effects, .. }
            | Self::EndOfItem { effects, .. }
            | Self::Pseudo { effects } => effects,
        }
    }

    /// The properties that the action concerns, each once.
    pub fn properties(&self) -> impl Iterator<Item = Property> {
        Property::ALL.into_iter().filter(|property| {
            let mut effects = self.effects().iter();
            effects.any(|effect| effect.property() == *property)
        })
    }
}

/// An entry with its action.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub action: usize,
    pub text: RuleText,
}

/// What a section, or a mention, sets by itself.
#[derive(Clone, Debug)]
pub(super) struct Prior {
    /// The section; the first one stands for the whole text.
    pub section: usize,
    pub effects: Vec<Effect>,
    pub condition: Condition,
    /// The largest number of tokens between the start of the sentence and the mention.
    pub within: usize,
    /// Whether it sets only the sentence in the line of the heading, if that has one.
    pub in_sentence: bool,
    pub rule: usize,
}

/// The contents of rule files.
#[derive(Clone, Debug)]
pub(super) struct RuleSet {
    pub vocabulary: Vocabulary,
    pub actions: Vec<Action>,
    pub rules: Vec<Rule>,
    /// Cues, ends and pseudo cues of each property. The longest pattern at a place counts.
    pub cues: [Trie; Property::COUNT],
    /// Ends of lists of each property. They may extend into a mention.
    pub list_ends: [Trie; Property::COUNT],
    /// Names of sections; the first is no section: a subheading.
    pub sections: Vec<String>,
    pub headings: Trie,
    pub lists: Vec<String>,
    pub phrases: Trie,
    /// Endings of words with their lists.
    pub endings: Vec<(String, usize)>,
    pub priors: Vec<Prior>,
    /// The tokens that an effect reaches for kinds of mentions, each once; `None` if it never
    /// applies.
    pub limits: Vec<(Effect, MentionKind, Option<usize>)>,
    /// The number of lines that were read, included files too.
    pub lines: usize,
    /// The number of patterns that the entries stand for.
    pub patterns: usize,
}

/// The number of the subheadings among the sections.
pub(super) const SUBHEADING: usize = 0;
