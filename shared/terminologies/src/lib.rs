//! Readers of terminologies in their released layouts. Each passes finished concepts to a [`Sink`]
//! and retired identifiers to its [`Redirects`].
//!
//! A reader is one file with its options and a function
//! `read(&ReleaseFiles, &Options, &mut Sink<'_, '_>) -> Result<()>`. It is added to [`Terminology`] and,
//! for the command line, to `cli/import/terminology_args.rs`.

mod classes;
pub mod concept_source;
pub mod groups;
pub mod host;
pub mod icd10cm;
pub mod import;
pub mod loinc;
pub mod mapping;
pub mod mesh;
pub mod names;
pub mod obograph;
pub mod owl;
pub mod parents;
mod prefixes;
pub mod redirects;
pub mod release;
pub mod rf2;
pub mod rrf;
pub mod rxnorm;
pub mod snomed;
pub mod umls;
pub mod xml;
pub mod xml_guard;

use crate::import::concepts::{Concepts, tidied};
use crate::import::report::Report;
use host::Host;
use parents::{Parents, Place};
use pel_kb::Concept;
use pel_kb::error::Result;
use redirects::{Reason, Redirects};
use release::ReleaseFiles;

/// A terminology with the options of its reader.
#[derive(Clone, Debug)]
pub enum Terminology {
    /// The UMLS Metathesaurus in Rich Release Format.
    Umls(umls::Options),
    /// SNOMED CT in Release Format 2.
    Snomed(snomed::Options),
    /// RxNorm in Rich Release Format.
    Rxnorm(rxnorm::Options),
    /// MeSH in XML.
    Mesh(mesh::Options),
    /// ICD-10-CM: order file and tabular list.
    Icd10cm(icd10cm::Options),
    /// LOINC.
    Loinc(loinc::Options),
    /// Ontologies in OWL.
    Owl(owl::Options),
    /// Ontologies as OBO Graphs.
    Obograph(obograph::Options),
}

impl Terminology {
    /// The word of its command and in `import.json`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Umls(_) => "umls",
            Self::Snomed(_) => "snomed",
            Self::Rxnorm(_) => "rxnorm",
            Self::Mesh(_) => "mesh",
            Self::Icd10cm(_) => "icd10cm",
            Self::Loinc(_) => "loinc",
            Self::Owl(_) => "owl",
            Self::Obograph(_) => "obograph",
        }
    }

    /// The prefixes under which mappings name its identifiers, if these have none of their own:
    /// `UMLS` for `C0015967`, which a mapping names `UMLS:C0015967`.
    #[must_use]
    pub fn prefixes(&self) -> &'static [&'static str] {
        match self {
            Self::Umls(_) => umls::PREFIXES,
            Self::Snomed(_) => snomed::PREFIXES,
            Self::Rxnorm(_) => rxnorm::PREFIXES,
            Self::Mesh(_) => mesh::PREFIXES,
            Self::Icd10cm(_) => icd10cm::PREFIXES,
            Self::Loinc(_) => loinc::PREFIXES,
            Self::Owl(_) => owl::PREFIXES,
            Self::Obograph(_) => obograph::PREFIXES,
        }
    }

    /// The source of concepts for which neither the reader nor the user names one.
    #[must_use]
    pub fn source(&self) -> Option<&'static str> {
        match self {
            Self::Umls(_) => None,
            Self::Snomed(_) => Some(snomed::SOURCE),
            Self::Rxnorm(_) => Some(rxnorm::SOURCE),
            Self::Mesh(_) => Some(mesh::SOURCE),
            Self::Icd10cm(_) => Some(icd10cm::SOURCE),
            Self::Loinc(_) => Some(loinc::SOURCE),
            // The prefix of the identifier.
            Self::Owl(_) | Self::Obograph(_) => None,
        }
    }

    /// Reads the files of a release.
    ///
    /// # Errors
    /// If a file is missing, cannot be read or has an invalid row; the error names file and line.
    pub fn read(&self, release: &ReleaseFiles, sink: &mut Sink<'_, '_>) -> Result<()> {
        match self {
            Self::Umls(options) => umls::read(release, options, sink),
            Self::Snomed(options) => snomed::read(release, options, sink),
            Self::Rxnorm(options) => rxnorm::read(release, options, sink),
            Self::Mesh(options) => mesh::read(release, options, sink),
            Self::Icd10cm(options) => icd10cm::read(release, options, sink),
            Self::Loinc(options) => loinc::read(release, options, sink),
            Self::Owl(options) => owl::read(release, options, sink),
            Self::Obograph(options) => obograph::read(release, options, sink),
        }
    }
}

/// Which names of a terminology are read.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The languages in the order of preference, as the terminology writes them; all if empty.
    pub languages: Vec<String>,
    /// The source vocabularies, as the terminology writes them; all if empty.
    pub sources: Vec<String>,
    /// Whether names are read that the terminology suppresses.
    pub suppressed: bool,
    /// Whether names and concepts are read that the terminology marks obsolete or inactive.
    pub obsolete: bool,
    /// Whether invalid rows are counted and skipped instead of ending the import.
    pub skip_bad: bool,
}

impl Selection {
    /// The position of a language in the order of preference; `None` if it is not chosen. Case is
    /// ignored.
    #[must_use]
    pub fn language_rank(&self, language: &str) -> Option<u8> {
        if self.languages.is_empty() {
            return Some(0);
        }
        let at = self
            .languages
            .iter()
            .position(|chosen| chosen.eq_ignore_ascii_case(language))?;
        Some(u8::try_from(at).unwrap_or(u8::MAX))
    }

    /// Whether a source is chosen. Case is ignored.
    #[must_use]
    pub fn takes_source(&self, source: &str) -> bool {
        self.sources.is_empty()
            || self
                .sources
                .iter()
                .any(|chosen| chosen.eq_ignore_ascii_case(source))
    }
}

/// Receives what a reader finds.
pub struct Sink<'a, 'c> {
    concepts: &'a mut Concepts<'c>,
    redirects: &'a mut Redirects,
    count: &'a mut dyn FnMut(),
    host: &'a dyn Host,
}

impl<'a, 'c> Sink<'a, 'c> {
    /// `count` is called at each line or record.
    pub fn new(
        concepts: &'a mut Concepts<'c>,
        redirects: &'a mut Redirects,
        count: &'a mut dyn FnMut(),
        host: &'a dyn Host,
    ) -> Self {
        Self {
            concepts,
            redirects,
            count,
            host,
        }
    }

    /// Passes a concept on. Its texts are trimmed, and its synonyms are made unique
    /// ([`names::once_each`]). A concept without identifier or name, or with an identifier that was
    /// passed before, is counted and skipped. `place` is its location, for the report.
    ///
    /// # Errors
    /// If the concept cannot be written.
    pub fn concept(&mut self, mut concept: Concept, place: impl Fn() -> String) -> Result<()> {
        names::once_each(&mut concept, self.concepts.report, &place);
        match tidied(concept, self.concepts.report, &place) {
            Ok(concept) => self.concepts.push(concept, place),
            Err(reason) => {
                self.concepts.report.skip(reason, place);
                Ok(())
            }
        }
    }

    /// Adds an identifier that is no longer in use; see [`Redirects::add`].
    pub fn retire(&mut self, id: &str, successor: Option<&str>, reason: Reason) {
        self.redirects
            .add(id, successor, reason, self.concepts.report);
    }

    /// Whether parents of concepts are wanted.
    #[must_use]
    pub fn wants_parents(&self) -> bool {
        self.concepts.parents.is_wanted()
    }

    /// States that a concept is below another one, if parents are wanted. Both are identifiers.
    pub fn parent(&mut self, child: &str, parent: &str, place: Place<'_>) {
        self.concepts.parents.add(child, parent, place);
    }

    /// The parents of concepts.
    pub fn parents(&mut self) -> &mut Parents {
        &mut self.concepts.parents
    }

    /// Whether a concept with this identifier has been passed.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.concepts.contains(id)
    }

    /// The counts by reason.
    pub fn report(&mut self) -> &mut Report {
        self.concepts.report
    }

    /// Counts one line or record.
    ///
    /// # Errors
    /// After an interrupt.
    pub fn tick(&mut self) -> Result<()> {
        (self.count)();
        self.host.check()
    }

    /// The program that the reader runs in.
    #[must_use]
    pub fn host(&self) -> &'a dyn Host {
        self.host
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
