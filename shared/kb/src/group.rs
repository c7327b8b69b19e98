//! Coarse groups of concepts and mentions, as clinicians speak of them.

use super::Concept;
use serde::{Deserialize, Serialize};

/// What kind of thing a mention or a concept is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// A disease, injury, symptom, sign or finding.
    Problem,
    /// A drug, chemical, vaccine or supplement.
    Drug,
    /// An operation, therapy or diagnostic procedure.
    Procedure,
    /// A laboratory test, vital sign or score.
    Measurement,
    /// A part of the body.
    Anatomy,
    /// A device.
    Device,
}

impl Group {
    /// All groups, in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::Problem,
        Self::Drug,
        Self::Procedure,
        Self::Measurement,
        Self::Anatomy,
        Self::Device,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Drug => "drug",
            Self::Procedure => "procedure",
            Self::Measurement => "measurement",
            Self::Anatomy => "anatomy",
            Self::Device => "device",
        }
    }

    /// The group of a name in files.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }

    /// The group of a label: its name, or a type.
    pub fn of_label(label: &str) -> Option<Self> {
        Self::of_name(label).or_else(|| Self::of_type(label))
    }

    /// The group of a concept, by the first of its types that has one: a type's name in the default
    /// knowledge base, a SNOMED CT tag, or a UMLS semantic type (TUI).
    pub fn of(concept: &Concept) -> Option<Self> {
        let by_name = concept.types.iter().find_map(|name| Self::of_type(name));
        by_name.or_else(|| concept.type_ids.iter().find_map(|tui| Self::of_tui(tui)))
    }

    /// Whether a concept is of the kind that a detector has read: 1, or −1 if it is of another, or
    /// 0 if either is unknown.
    pub fn fit(concept: &Concept, read: Option<Self>) -> f32 {
        match read.map(|read| (read, Self::of(concept))) {
            Some((read, Some(own))) if read == own => 1.0,
            Some((_, Some(_))) => -1.0,
            _ => 0.0,
        }
    }

    fn of_type(name: &str) -> Option<Self> {
        let lower = name.to_lowercase();
        Some(match lower.as_str() {
            "disease"
            | "disorder"
            | "sign or symptom"
            | "sign"
            | "symptom"
            | "syndrome"
            | "finding"
            | "injury"
            | "phenotype"
            | "phenotypic abnormality"
            | "injury or poisoning"
            | "disease or syndrome"
            | "neoplastic process"
            | "mental or behavioral dysfunction"
            | "pathologic function"
            | "morphologic abnormality"
            | "situation"
            | "event" => Self::Problem,
            "drug or chemical"
            | "chemical"
            | "drug"
            | "substance"
            | "product"
            | "medicinal product"
            | "clinical drug"
            | "pharmacologic substance"
            | "food" => Self::Drug,
            "procedure"
            | "regime/therapy"
            | "health care activity"
            | "therapeutic or preventive procedure"
            | "diagnostic procedure" => Self::Procedure,
            "measurement"
            | "observable entity"
            | "laboratory procedure"
            | "clinical attribute"
            | "laboratory or test result" => Self::Measurement,
            "anatomy"
            | "anatomical structure"
            | "body structure"
            | "cell"
            | "cell structure"
            | "body system"
            | "body substance"
            | "body part, organ, or organ component" => Self::Anatomy,
            "device" | "medical device" | "physical object" => Self::Device,
            _ => return None,
        })
    }

    fn of_tui(tui: &str) -> Option<Self> {
        Some(match tui {
            "T020" | "T190" | "T049" | "T019" | "T047" | "T050" | "T033" | "T037" | "T048"
            | "T191" | "T046" | "T184" => Self::Problem,
            "T116" | "T195" | "T123" | "T122" | "T103" | "T120" | "T104" | "T200" | "T196"
            | "T126" | "T131" | "T125" | "T129" | "T130" | "T197" | "T114" | "T109" | "T121"
            | "T192" | "T127" | "T168" => Self::Drug,
            "T060" | "T065" | "T058" | "T063" | "T061" => Self::Procedure,
            "T059" | "T201" | "T034" => Self::Measurement,
            "T017" | "T029" | "T023" | "T030" | "T031" | "T022" | "T025" | "T026" | "T018"
            | "T021" | "T024" => Self::Anatomy,
            "T203" | "T074" | "T075" => Self::Device,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_follows_the_first_known_type() {
        let concept = |types: &[&str], tuis: &[&str]| Concept {
            types: types.iter().map(|name| (*name).to_owned()).collect(),
            type_ids: tuis.iter().map(|tui| (*tui).to_owned()).collect(),
            ..Concept::default()
        };
        for (types, tuis, expected) in [
            (
                &["Disease", "Biologic Function"][..],
                &["T038"][..],
                Some(Group::Problem),
            ),
            (&["Cell"], &[], Some(Group::Anatomy)),
            (&["Phenotypic abnormality"], &[], Some(Group::Problem)),
            (&["unheard of"], &["T121"], Some(Group::Drug)),
            (&["observable entity"], &[], Some(Group::Measurement)),
            (&["Organism"], &["T204"], None),
        ] {
            assert_eq!(Group::of(&concept(types, tuis)), expected, "{types:?}");
        }
        for group in Group::ALL {
            assert_eq!(Group::of_name(group.name()), Some(group));
        }
    }
}
