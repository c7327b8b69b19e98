//! What stands beside a mention: the strength, dose, route and frequency of a drug, the value and
//! unit of a test, the date, stage and course of a problem.
//!
//! Rules are in readable files ([`AttributeRules::parse`]); those of English are built in. A
//! pattern of words and classes says which of its parts are attributes and of which kinds of
//! mentions. The longest pattern at a place counts. An attribute belongs to the mention that it is
//! said of: in the same sentence, list entry or row, or in the sentence before if this one goes on
//! about it.

mod attach;
mod entries;
mod forms;
mod lexer;
mod matcher;
mod normal;
mod parser;
mod pattern;
mod rules;
mod times;
mod value;

#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;

use super::Span;
use attach::{Attached, Attacher};
use matcher::{Hit, Mention, Note};
use pel_kb::error::Result;
use pel_kb::group::Group;
use rules::{EVENT, Rules};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
pub use times::{times, times_on};
pub use value::{Number, Timing, Value};

/// The rule files that are built in, by name. The first one includes the others.
const BUILT_IN: [(&str, &str); 6] = [
    ("english", include_str!("english.attributes")),
    ("english-words", include_str!("english/words.attributes")),
    ("english-dates", include_str!("english/dates.attributes")),
    ("english-drugs", include_str!("english/drugs.attributes")),
    ("english-tests", include_str!("english/tests.attributes")),
    (
        "english-problems",
        include_str!("english/problems.attributes"),
    ),
];

/// The kind of a mention that attributes are said of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A drug.
    Drug,
    /// A laboratory test, vital sign or score.
    Test,
    /// A disease, symptom or finding.
    Problem,
    /// An operation, therapy or diagnostic procedure.
    Procedure,
    /// A device.
    Device,
    /// Anything else.
    Other,
}

impl Kind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::Drug,
        Self::Test,
        Self::Problem,
        Self::Procedure,
        Self::Device,
        Self::Other,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drug => "drug",
            Self::Test => "test",
            Self::Problem => "problem",
            Self::Procedure => "procedure",
            Self::Device => "device",
            Self::Other => "other",
        }
    }

    /// The kind of a name in files.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of the mentions of a group.
    pub fn of_group(group: Option<Group>) -> Self {
        match group {
            Some(Group::Drug) => Self::Drug,
            Some(Group::Measurement) => Self::Test,
            Some(Group::Problem) => Self::Problem,
            Some(Group::Procedure) => Self::Procedure,
            Some(Group::Device) => Self::Device,
            Some(Group::Anatomy) | None => Self::Other,
        }
    }
}

/// Declares the names of attributes with their names in files.
macro_rules! names {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What an attribute says of its mention.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum AttributeName {
            $($(#[$doc])* $variant,)*
        }

        impl AttributeName {
            /// All names, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

names! {
    /// The amount of a substance: "20 mg".
    Strength = "strength",
    /// The amount taken each time: "2" tablets, "2 puffs".
    Dose = "dose",
    /// The unit of a value, in UCUM.
    Unit = "unit",
    /// The form of a drug: "tablet".
    Form = "form",
    /// How a drug gets into the body: "oral".
    Route = "route",
    /// How often: "BID".
    Frequency = "frequency",
    /// How long: "P10D".
    Duration = "duration",
    /// Whether a drug is taken only as needed: "true".
    Prn = "prn",
    /// What a drug is given for.
    Indication = "indication",
    /// What is done with a drug: "start", "stop".
    Status = "status",
    /// The result of a test.
    Value = "value",
    /// The sign of a value that is a bound: "<".
    Comparator = "comparator",
    /// Whether a value is high, low, normal or abnormal.
    Flag = "flag",
    /// The reference range of a test.
    Range = "range",
    /// What a test was made of.
    Specimen = "specimen",
    /// When something was done or happened.
    Date = "date",
    /// When a problem began.
    Onset = "onset",
    /// The stage, grade or class of a problem.
    Stage = "stage",
    /// How a problem goes on: "chronic", "resolved".
    Course = "course",
    /// The side of the body.
    Laterality = "laterality",
    /// How severe a problem is.
    Severity = "severity",
}

impl AttributeName {
    /// The attribute of a name in files.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }
}

/// A mention that attributes may be said of.
#[derive(Clone, Copy, Debug)]
pub struct Anchor<'a> {
    /// The pieces of the mention in bytes, in ascending order. Most mentions have one.
    pub pieces: &'a [Span],
    /// What it is.
    pub kind: Kind,
}

/// What a text says of a mention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// What it says.
    pub name: AttributeName,
    /// The bytes of the words.
    pub span: Span,
    /// The normal form; `None` if the text does not settle it.
    pub value: Option<Value>,
    /// Whether it is an earlier value beside the present one.
    pub prior: bool,
}

/// The rules of a language.
#[derive(Clone, Debug)]
pub struct AttributeRules {
    rules: Rules,
}

impl AttributeRules {
    /// The rules of English.
    pub fn english() -> &'static Self {
        static RULES: LazyLock<AttributeRules> =
            LazyLock::new(|| match AttributeRules::built_in("english") {
                Some(Ok(rules)) => rules,
                // A test parses each built-in file.
                _ => unreachable!("the English rules are valid"),
            });
        &RULES
    }

    /// Built-in rules by name; `None` if no file has the name.
    pub fn built_in(name: &str) -> Option<Result<Self>> {
        let (known, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(text, &format!("{known}.attributes")))
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
    /// use pel_text::Span;
    /// use pel_text::attributes::{Anchor, AttributeRules, Kind, Value};
    ///
    /// let file = "words mass:\n    mg: mg, milligrams\n\
    ///             attributes of drug:\n    strength{<number> <mass>}\n";
    /// let rules = AttributeRules::parse(file, "own.attributes")?;
    /// let drug = Anchor {
    ///     pieces: &[Span::new(0, 7)],
    ///     kind: Kind::Drug,
    /// };
    /// let found = rules.find("Aspirin 100 milligrams.", &[drug]);
    /// assert_eq!(found[0][0].value, Some(Value::Text("100 mg".to_owned())));
    /// # Ok::<(), pel_kb::error::Error>(())
    /// ```
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let rules = Rules::parse(text, name)?;
        Ok(Self { rules })
    }

    /// The attributes of each mention of a text, in order, in time linear in the text and the
    /// mentions. A mention that is outside the text has none.
    pub fn find(&self, text: &str, anchors: &[Anchor]) -> Vec<Vec<Attribute>> {
        let mut found = vec![Vec::new(); anchors.len()];
        let mut lexemes = lexer::lex(text, &self.rules);
        let spans: Vec<Span> = anchors.iter().map(|anchor| whole(anchor.pieces)).collect();
        let places = lexer::locate(&mut lexemes, &spans);
        let mentions = places.iter().zip(anchors).map(|(place, anchor)| Mention {
            first: place.0,
            end: place.1,
            kind: anchor.kind,
        });
        let mentions = mentions.collect();
        let note = Note::new(text, &self.rules, lexemes, mentions);
        let families = self.rules.families.iter();
        let hits: Vec<Hit> = families
            .flat_map(|family| note.hits(&family.patterns))
            .collect();
        let attacher = Attacher::new(&note, &hits);
        let numbered = hits.iter().enumerate();
        let mut attached: Vec<Attached> = numbered
            .filter_map(|(number, hit)| attacher.attach(number, hit))
            .collect();
        attached.sort_by_key(|attached| attached.distance);
        let (event, beginning) = (self.rules.class(EVENT), self.rules.class("beginning"));
        let begins = |hit: &Hit| (hit.first..hit.end).any(|at| note.has(at, beginning));
        // A word is an attribute of the nearest mention, whatever its kind.
        let mut taken = vec![usize::MAX; note.lexemes.len()];
        for Attached { hit, mentions, .. } in attached {
            let hit = &hits[hit];
            let family = self.rules.sections[hit.section].family;
            let free = |at: usize| taken[at] == usize::MAX || taken[at] == family;
            let own = |at: &usize| note.lexemes[*at].anchor.is_none();
            if !(hit.first..hit.end).filter(own).all(free) {
                continue;
            }
            taken[hit.first..hit.end].fill(family);
            for mention in mentions {
                let happened = note.is_named(mention, event) && !begins(hit);
                if let Some(found) = found.get_mut(mention as usize) {
                    let own = hit.attributes.iter().cloned();
                    found.extend(own.map(|one| if happened { dated(one) } else { one }));
                }
            }
        }
        for attributes in &mut found {
            attributes.sort_by_key(|one| (one.span.start, one.span.end, one.name));
            attributes.dedup_by_key(|one| (one.span, one.name));
        }
        found
    }
}

/// What is said of an event: it has a date, no onset.
fn dated(mut attribute: Attribute) -> Attribute {
    if attribute.name == AttributeName::Onset {
        attribute.name = AttributeName::Date;
    }
    attribute
}

/// The bytes from the first piece to the last.
fn whole(pieces: &[Span]) -> Span {
    let start = pieces.iter().map(|piece| piece.start).min().unwrap_or(0);
    let end = pieces.iter().map(|piece| piece.end).max().unwrap_or(0);
    Span::new(start, end)
}
