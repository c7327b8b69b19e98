//! Options of `pel import` for MeSH, ICD-10-CM, LOINC and ontologies.

use super::concept_args::SynonymArgs;
use super::terminology_args::{ReleaseArgs, languages};
use clap::{Args, ValueEnum};
use pel_terminologies::{Terminology, icd10cm, loinc, mesh, obograph, owl};

/// The MeSH concepts of a record whose terms become names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TermsOf {
    /// The preferred concept.
    Preferred,
    /// The preferred concept and narrower ones.
    Narrower,
    /// All concepts of the record.
    All,
}

/// A class of supplementary records of MeSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RecordClass {
    /// Chemicals, drugs and other substances.
    Chemical,
    /// Protocols of chemotherapy.
    Protocol,
    /// Rare diseases.
    Disease,
    /// Organisms.
    Organism,
    /// Population groups.
    Population,
    /// Anatomical structures.
    Anatomy,
}

impl From<RecordClass> for mesh::SupplementaryClass {
    fn from(class: RecordClass) -> Self {
        match class {
            RecordClass::Chemical => Self::Chemical,
            RecordClass::Protocol => Self::Protocol,
            RecordClass::Disease => Self::Disease,
            RecordClass::Organism => Self::Organism,
            RecordClass::Population => Self::Population,
            RecordClass::Anatomy => Self::Anatomy,
        }
    }
}

/// Options of `pel import mesh`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  pel import mesh desc2026.xml supp2026.xml --out mesh\n  \
    pel import mesh desc2026.gz --terms narrower --without-tags LAB,TRD --out mesh\n  \
    pel import mesh desc2026.xml supp2026.xml --classes disease,protocol --out mesh"
)]
pub struct MeshArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ReleaseArgs,
    /// MeSH concepts of a record whose terms become names
    #[arg(long, value_name = "CONCEPTS", value_enum, default_value = "all")]
    pub terms: TermsOf,
    /// Import permuted terms too, such as "Fever, Yellow"
    #[arg(long)]
    pub permuted: bool,
    /// Lexical tags of terms to skip: ABB, ABX, ACR, ACX, EPO, LAB, NAM, NON or TRD
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub without_tags: Vec<String>,
    /// Classes of supplementary records to import [default: all]
    #[arg(long, value_name = "CLASSES", value_enum, value_delimiter = ',')]
    pub classes: Vec<RecordClass>,
}

impl MeshArgs {
    pub(super) fn terminology(&self) -> Terminology {
        let usual = mesh::Options::default();
        Terminology::Mesh(mesh::Options {
            terms_of: match self.terms {
                TermsOf::Preferred => mesh::TermsOf::Preferred,
                TermsOf::Narrower => mesh::TermsOf::Narrower,
                TermsOf::All => mesh::TermsOf::All,
            },
            permuted: self.permuted,
            without_tags: self
                .without_tags
                .iter()
                .map(|tag| tag.trim().to_uppercase())
                .collect(),
            classes: match self.classes.is_empty() {
                true => usual.classes,
                false => self.classes.iter().map(|class| (*class).into()).collect(),
            },
        })
    }
}

/// Options of `pel import icd10cm`.
#[derive(Args, Clone, Debug)]
#[command(
    name = "icd10cm",
    after_help = "Examples:\n  pel import icd10cm icd10cm_order_2026.txt icd10cm_tabular_2026.xml \
    --out icd\n  \
    pel import icd10cm icd10cm_order_2026.txt --billable --out icd"
)]
pub struct Icd10cmArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ReleaseArgs,
    /// Import only codes that can be billed
    #[arg(long)]
    pub billable: bool,
    /// Skip the short descriptions, which abbreviate words
    #[arg(long)]
    pub without_short: bool,
    /// Count and skip lines that are not order lines instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
}

impl Icd10cmArgs {
    pub(super) fn terminology(&self) -> Terminology {
        Terminology::Icd10cm(icd10cm::Options {
            billable_only: self.billable,
            without_short: self.without_short,
            skip_bad: self.skip_bad,
        })
    }
}

/// Columns of LOINC whose values become synonyms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoincNames {
    /// DisplayName.
    Display,
    /// SHORTNAME.
    Short,
    /// CONSUMER_NAME and ConsumerName.csv.
    Consumer,
    /// COMPONENT, which many codes share.
    Component,
    /// RELATEDNAMES2: search words, most of which are not names of the code.
    Related,
}

impl From<LoincNames> for loinc::Names {
    fn from(names: LoincNames) -> Self {
        match names {
            LoincNames::Display => Self::Display,
            LoincNames::Short => Self::Short,
            LoincNames::Consumer => Self::Consumer,
            LoincNames::Component => Self::Component,
            LoincNames::Related => Self::Related,
        }
    }
}

/// Options of `pel import loinc`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  pel import loinc Loinc_2.82.zip --out loinc\n  \
    pel import loinc LoincTable/Loinc.csv LoincTable/MapTo.csv --names display,short,related \
    --out loinc"
)]
pub struct LoincArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ReleaseArgs,
    /// Columns whose values become synonyms
    #[arg(
        long,
        value_name = "COLUMNS",
        value_enum,
        value_delimiter = ',',
        default_value = "display,short,consumer"
    )]
    pub names: Vec<LoincNames>,
    /// Import discouraged codes too
    #[arg(long)]
    pub discouraged: bool,
    /// Count and skip invalid rows instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
}

impl LoincArgs {
    pub(super) fn terminology(&self) -> Terminology {
        Terminology::Loinc(loinc::Options {
            names: self.names.iter().map(|names| (*names).into()).collect(),
            discouraged: self.discouraged,
            skip_bad: self.skip_bad,
        })
    }
}

/// Options of `pel import owl`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  pel import owl mondo.owl --out mondo\n  \
    pel import owl ordo.owl --languages en,fr --scopes exact,narrow --out ordo\n  \
    pel import owl Thesaurus.owl --synonym-properties \\\n      \
    http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl#P90 --out ncit")]
pub struct OwlArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ReleaseArgs,
    /// Which synonyms to import.
    #[command(flatten)]
    pub synonyms: SynonymArgs,
    /// Languages of labels, synonyms and definitions, the preferred one first, or "all". Texts
    /// without a language are always imported
    #[arg(long, value_name = "TAGS", value_delimiter = ',', default_value = "en")]
    pub languages: Vec<String>,
    /// Further annotation properties whose values are exact synonyms
    #[arg(long, value_name = "IRIS", value_delimiter = ',')]
    pub synonym_properties: Vec<String>,
    /// Further annotation properties whose values are definitions
    #[arg(long, value_name = "IRIS", value_delimiter = ',')]
    pub definition_properties: Vec<String>,
}

impl OwlArgs {
    pub(super) fn terminology(&self) -> Terminology {
        Terminology::Owl(owl::Options {
            synonyms: self.synonyms.choice(),
            languages: languages(&self.languages),
            synonym_properties: self.synonym_properties.iter().cloned().collect(),
            definition_properties: self.definition_properties.iter().cloned().collect(),
        })
    }
}

/// Options of `pel import obograph`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  pel import obograph mondo.json --scopes exact,related --out mondo"
)]
pub struct ObographArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ReleaseArgs,
    /// Which synonyms to import.
    #[command(flatten)]
    pub synonyms: SynonymArgs,
}

impl ObographArgs {
    pub(super) fn terminology(&self) -> Terminology {
        Terminology::Obograph(obograph::Options {
            synonyms: self.synonyms.choice(),
        })
    }
}
