//! The values of a context, and what a rule can set.

use pel_kb::group::Group;
use serde::{Deserialize, Serialize};

/// How sure the author is of a mention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Stated as a fact, or denied as one.
    #[default]
    Certain,
    /// Possible or suspected: "possible pneumonia", "r/o PE".
    Uncertain,
    /// Under a condition: "return if fever", "risk of bleeding".
    Hypothetical,
}

impl Certainty {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Uncertain => "uncertain",
            Self::Hypothetical => "hypothetical",
        }
    }
}

/// When a mention holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Temporality {
    /// Now, or not over.
    #[default]
    Current,
    /// Over: a past event, a resolved problem.
    Historical,
    /// Planned.
    Future,
}

impl Temporality {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Historical => "historical",
            Self::Future => "future",
        }
    }
}

/// When a mention was or will be, as its date tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// Less than a month before the note.
    Past,
    /// A month or longer before the note.
    LongPast,
    /// After the note.
    Ahead,
}

impl When {
    /// The time of a name in rule files, behind "dated".
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "past" => Some(Self::Past),
            "long" => Some(Self::LongPast),
            "ahead" => Some(Self::Ahead),
            _ => None,
        }
    }

    /// Whether a time is one that a rule asks for: what is long past is past.
    pub(super) fn is(self, asked: Self) -> bool {
        self == asked || (self, asked) == (Self::LongPast, Self::Past)
    }
}

/// Whom a mention is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Experiencer {
    /// The patient.
    #[default]
    Patient,
    /// A relative of the patient.
    Family,
    /// Someone else.
    Other,
}

impl Experiencer {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Patient => "patient",
            Self::Family => "family",
            Self::Other => "other",
        }
    }
}

/// The side of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Laterality {
    /// The left side.
    Left,
    /// The right side.
    Right,
    /// Both sides.
    Bilateral,
}

impl Laterality {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Bilateral => "bilateral",
        }
    }
}

/// How severe a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Mild or slight.
    Mild,
    /// Moderate, also "mild to moderate".
    Moderate,
    /// Severe, also "moderate to severe".
    Severe,
}

impl Severity {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mild => "mild",
            Self::Moderate => "moderate",
            Self::Severe => "severe",
        }
    }
}

/// What a mention is to an allergy or intolerance of the patient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allergy {
    /// A substance that the patient is allergic to or does not tolerate: "allergic to latex".
    Allergen,
    /// What such a substance did: the hives of "penicillin (hives)".
    Reaction,
}

impl Allergy {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allergen => "allergen",
            Self::Reaction => "reaction",
        }
    }
}

/// The kinds of mentions in rule files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MentionKind {
    /// A disease, injury, symptom or finding.
    Problem,
    /// An operation, therapy or diagnostic procedure.
    Procedure,
    /// A drug or vaccine.
    Drug,
    /// A laboratory test, vital sign or score.
    Measurement,
    /// A body part.
    Anatomy,
    /// A device.
    Device,
    /// None of the other kinds, or not known.
    #[default]
    Unknown,
}

impl MentionKind {
    /// All kinds with their names in rule files, in the order of their numbers.
    const NAMES: [(&'static str, Self); 7] = [
        ("problem", Self::Problem),
        ("procedure", Self::Procedure),
        ("drug", Self::Drug),
        ("measurement", Self::Measurement),
        ("anatomy", Self::Anatomy),
        ("device", Self::Device),
        ("unknown", Self::Unknown),
    ];
    /// The number of kinds.
    pub const COUNT: usize = Self::NAMES.len();

    /// All kinds with their names in rule files.
    pub fn all() -> impl Iterator<Item = (&'static str, Self)> {
        Self::NAMES.into_iter()
    }

    /// The kind of a group of mentions.
    pub fn of(group: Option<Group>) -> Self {
        match group {
            Some(Group::Problem) => Self::Problem,
            Some(Group::Procedure) => Self::Procedure,
            Some(Group::Drug) => Self::Drug,
            Some(Group::Measurement) => Self::Measurement,
            Some(Group::Anatomy) => Self::Anatomy,
            Some(Group::Device) => Self::Device,
            None => Self::Unknown,
        }
    }

    /// The kind with a name in rule files.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::all().find(|(known, _)| *known == name);
        found.map(|(_, kind)| kind)
    }
}

/// What a rule sets. Each effect belongs to one property of a [`super::Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// `negated` is true.
    Negated,
    /// `negated` is false.
    Affirmed,
    /// [`Certainty::Certain`].
    Certain,
    /// [`Certainty::Uncertain`].
    Uncertain,
    /// [`Certainty::Hypothetical`].
    Hypothetical,
    /// [`Temporality::Current`].
    Current,
    /// [`Temporality::Historical`].
    Historical,
    /// [`Temporality::Future`].
    Future,
    /// [`Experiencer::Patient`].
    Patient,
    /// [`Experiencer::Family`].
    Family,
    /// [`Experiencer::Other`].
    Other,
    /// [`Laterality::Left`].
    Left,
    /// [`Laterality::Right`].
    Right,
    /// [`Laterality::Bilateral`].
    Bilateral,
    /// [`Severity::Mild`].
    Mild,
    /// [`Severity::Moderate`].
    Moderate,
    /// [`Severity::Severe`].
    Severe,
    /// [`Allergy::Allergen`].
    Allergen,
    /// [`Allergy::Reaction`].
    Reaction,
    /// Neither: given or tolerated, or a problem of its own.
    Tolerated,
}

/// The properties that rules set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    Negation,
    Certainty,
    Temporality,
    Experiencer,
    Laterality,
    Severity,
    Allergy,
}

impl Property {
    pub const ALL: [Self; 7] = [
        Self::Negation,
        Self::Certainty,
        Self::Temporality,
        Self::Experiencer,
        Self::Laterality,
        Self::Severity,
        Self::Allergy,
    ];
    /// The number of properties.
    pub const COUNT: usize = Self::ALL.len();

    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether cues describe the mention itself, as in "left knee pain". A pattern of such a
    /// property may extend into a mention. A cue reaches only the nearest mention of each kind.
    pub fn describes_mention(self) -> bool {
        matches!(self, Self::Laterality | Self::Severity)
    }

    /// Whether a pattern may extend into a mention, as "-> rash" does.
    pub fn enters_mentions(self) -> bool {
        self.describes_mention() || self == Self::Allergy
    }
}

impl Effect {
    /// All effects with their names in rule files.
    pub(super) const NAMES: [(&'static str, Self); 20] = [
        ("negated", Self::Negated),
        ("affirmed", Self::Affirmed),
        ("certain", Self::Certain),
        ("uncertain", Self::Uncertain),
        ("hypothetical", Self::Hypothetical),
        ("current", Self::Current),
        ("historical", Self::Historical),
        ("future", Self::Future),
        ("patient", Self::Patient),
        ("family", Self::Family),
        ("other", Self::Other),
        ("left", Self::Left),
        ("right", Self::Right),
        ("bilateral", Self::Bilateral),
        ("mild", Self::Mild),
        ("moderate", Self::Moderate),
        ("severe", Self::Severe),
        ("allergen", Self::Allergen),
        ("reaction", Self::Reaction),
        ("tolerated", Self::Tolerated),
    ];

    /// The effect with a name in rule files.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, effect)| *effect)
    }

    /// The effect's name in rule files.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, effect)| *effect == self)
            .map_or("", |(name, _)| name)
    }

    pub(super) fn property(self) -> Property {
        match self {
            Self::Negated | Self::Affirmed => Property::Negation,
            Self::Certain | Self::Uncertain | Self::Hypothetical => Property::Certainty,
            Self::Current | Self::Historical | Self::Future => Property::Temporality,
            Self::Patient | Self::Family | Self::Other => Property::Experiencer,
            Self::Left | Self::Right | Self::Bilateral => Property::Laterality,
            Self::Mild | Self::Moderate | Self::Severe => Property::Severity,
            Self::Allergen | Self::Reaction | Self::Tolerated => Property::Allergy,
        }
    }
}
