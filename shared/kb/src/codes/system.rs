//! Code systems, and how a code stands to its concept.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A code system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum System {
    /// SNOMED Clinical Terms.
    #[serde(rename = "SNOMEDCT")]
    SnomedCt,
    /// ICD-10, Clinical Modification.
    #[serde(rename = "ICD10CM")]
    Icd10Cm,
    /// RxNorm.
    #[serde(rename = "RXNORM")]
    RxNorm,
    /// Anatomical Therapeutic Chemical classification.
    #[serde(rename = "ATC")]
    Atc,
    /// Logical Observation Identifiers Names and Codes.
    #[serde(rename = "LOINC")]
    Loinc,
    /// Vaccines administered, of the CDC.
    #[serde(rename = "CVX")]
    Cvx,
    /// Human Phenotype Ontology.
    #[serde(rename = "HPO")]
    Hpo,
    /// Medication Reference Terminology: classes of drugs.
    #[serde(rename = "MEDRT")]
    MedRt,
    /// Medical Subject Headings.
    #[serde(rename = "MESH")]
    Mesh,
    /// Unified Medical Language System.
    #[serde(rename = "UMLS")]
    Umls,
    /// Unique Ingredient Identifiers, of the FDA.
    #[serde(rename = "UNII")]
    Unii,
    /// Mondo Disease Ontology.
    #[serde(rename = "MONDO")]
    Mondo,
}

impl System {
    /// All systems, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::SnomedCt,
        Self::Icd10Cm,
        Self::RxNorm,
        Self::Atc,
        Self::Loinc,
        Self::Cvx,
        Self::Hpo,
        Self::MedRt,
        Self::Mesh,
        Self::Umls,
        Self::Unii,
        Self::Mondo,
    ];

    /// The prefix, which is the name in files and options.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::SnomedCt => "SNOMEDCT",
            Self::Icd10Cm => "ICD10CM",
            Self::RxNorm => "RXNORM",
            Self::Atc => "ATC",
            Self::Loinc => "LOINC",
            Self::Cvx => "CVX",
            Self::Hpo => "HPO",
            Self::MedRt => "MEDRT",
            Self::Mesh => "MESH",
            Self::Umls => "UMLS",
            Self::Unii => "UNII",
            Self::Mondo => "MONDO",
        }
    }

    /// The name for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SnomedCt => "SNOMED CT",
            Self::Icd10Cm => "ICD-10-CM",
            Self::RxNorm => "RxNorm",
            Self::Atc => "ATC",
            Self::Loinc => "LOINC",
            Self::Cvx => "CVX",
            Self::Hpo => "HPO",
            Self::MedRt => "MED-RT",
            Self::Mesh => "MeSH",
            Self::Umls => "UMLS",
            Self::Unii => "UNII",
            Self::Mondo => "Mondo",
        }
    }

    /// The URI of the system in FHIR R4 and HL7 Terminology.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::SnomedCt => "http://snomed.info/sct",
            Self::Icd10Cm => "http://hl7.org/fhir/sid/icd-10-cm",
            Self::RxNorm => "http://www.nlm.nih.gov/research/umls/rxnorm",
            Self::Atc => "http://www.whocc.no/atc",
            Self::Loinc => "http://loinc.org",
            Self::Cvx => "http://hl7.org/fhir/sid/cvx",
            Self::Hpo => "http://human-phenotype-ontology.org",
            Self::MedRt => "http://va.gov/terminology/medrt",
            Self::Mesh => "https://www.nlm.nih.gov/mesh",
            Self::Umls => "http://www.nlm.nih.gov/research/umls",
            Self::Unii => "http://fdasis.nlm.nih.gov",
            Self::Mondo => "http://purl.obolibrary.org/obo/mondo.owl",
        }
    }

    /// The system of a prefix.
    pub fn of_prefix(prefix: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|system| system.prefix() == prefix)
    }

    /// The systems of prefixes or names that a user chose, in their order.
    ///
    /// # Errors
    /// If a system is unknown or stands twice.
    pub fn chosen<T: AsRef<str>>(names: &[T]) -> Result<Vec<Self>> {
        let systems = names.iter().map(|name| name.as_ref().parse());
        let systems = systems.collect::<Result<Vec<Self>>>()?;
        Self::check_distinct(&systems)?;
        Ok(systems)
    }

    /// Checks that no system was chosen twice: tables have its columns once.
    ///
    /// # Errors
    /// If one was.
    pub fn check_distinct(systems: &[Self]) -> Result<()> {
        let repeated = systems.iter().enumerate().find_map(|(at, system)| {
            let before = systems.get(..at).unwrap_or_default();
            before.contains(system).then_some(system)
        });
        match repeated {
            None => Ok(()),
            Some(system) => Err(Error::input(format!(
                "expected each code system once, found {} twice",
                system.prefix()
            ))),
        }
    }

    /// The prefixes of all systems, for messages.
    pub fn prefixes() -> String {
        Self::ALL.map(Self::prefix).join(", ")
    }
}

impl FromStr for System {
    type Err = Error;

    /// The system of a prefix or a name, such as `ICD10CM`, `icd-10-cm` and `SNOMED CT`.
    fn from_str(text: &str) -> Result<Self> {
        let letters = |text: &str| -> String {
            let plain = text.chars().filter(char::is_ascii_alphanumeric);
            plain.map(|c| c.to_ascii_uppercase()).collect()
        };
        let found = Self::of_prefix(&letters(text));
        found.ok_or_else(|| {
            Error::input(format!(
                "expected a code system ({}), found {text:?}",
                Self::prefixes()
            ))
        })
    }
}

/// How the meaning of a code stands to that of its concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// The same meaning.
    Exact,
    /// The meaning of the code contains that of the concept.
    Broader,
    /// One of several codes that mean the concept together, such as the ingredients of a
    /// combination.
    Parts,
    /// The meaning of the concept together with what a text says of it, such as its stage. No code
    /// table has such a code.
    Combined,
}

impl Match {
    /// Those of a code table, in the order of their declaration.
    pub const ALL: [Self; 3] = [Self::Exact, Self::Broader, Self::Parts];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Broader => "broader",
            Self::Parts => "parts",
            Self::Combined => "combined",
        }
    }

    /// The match of a name in files.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_read_by_prefix_and_by_name() {
        for system in System::ALL {
            assert_eq!(System::of_prefix(system.prefix()), Some(system));
            assert_eq!(system.name().parse::<System>().ok(), Some(system));
            assert_eq!(
                serde_json::to_value(system).expect("JSON"),
                system.prefix(),
                "the name in JSON is the prefix"
            );
        }
        assert_eq!("icd-10-cm".parse::<System>().ok(), Some(System::Icd10Cm));
    }

    #[test]
    fn chosen_systems_keep_their_order_and_stand_once() {
        let chosen = System::chosen(&["LOINC", "icd-10-cm"]).expect("known");
        assert_eq!(chosen, [System::Loinc, System::Icd10Cm]);
        assert_eq!(System::chosen::<&str>(&[]).expect("none"), []);
        let message = System::chosen(&["LOINC", "UMLS", "loinc"])
            .expect_err("twice")
            .to_string();
        assert!(message.contains("found LOINC twice"), "{message}");
        assert!(System::chosen(&["LOINC", ""]).is_err());
    }

    #[test]
    fn unknown_system_is_an_error_that_lists_the_known_ones() {
        let message = "OPCS4".parse::<System>().expect_err("unknown").to_string();
        assert!(message.contains("\"OPCS4\""), "{message}");
        assert!(message.contains("SNOMEDCT, ICD10CM, RXNORM"), "{message}");
    }
}
