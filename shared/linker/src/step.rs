//! The steps that read mentions as names.

/// A step that reads a mention as a name. The variants are in the order of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A short form that the text defines.
    Abbreviation,
    /// A finding with a place behind its side.
    Side,
    /// A short form whose sense the words around it show.
    Sense,
    /// A paraphrase of a name.
    Wording,
    /// A name without a result, a stage or a drug's form.
    Part,
    /// The preferred name of a drug.
    Drug,
    /// Short forms among other words, written out.
    WrittenOut,
    /// Another form of a name.
    Variant,
    /// The name of a drug that was cut.
    Truncated,
}

impl Step {
    /// A description for users.
    pub fn words(self) -> &'static str {
        match self {
            Self::Abbreviation => "a short form that the text defines",
            Self::Side => "a finding with a place behind its side",
            Self::Sense => "a short form, by the words around it",
            Self::Wording => "a paraphrase",
            Self::Part => "a name without its result, stage or form",
            Self::Drug => "the preferred name of a drug",
            Self::WrittenOut => "short forms written out",
            Self::Variant => "another form of a name",
            Self::Truncated => "the name of a drug that was cut",
        }
    }
}
