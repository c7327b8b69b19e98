//! MeSH in XML: descriptors (`desc2026.xml`) and supplementary concept records (`supp2026.xml`).
//!
//! A record is one concept. Its terms are those of the MeSH concepts in it: the preferred concept,
//! and narrower, broader and related ones. Records are read one at a time.

use super::Sink;
use super::parents::Place;
use super::release::ReleaseFiles;
use super::xml::{Element, Elements};
use crate::import::Longest;
use crate::import::concepts::single_spaced;
use crate::import::report::Report;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::collections::{BTreeSet, HashSet};
use std::io::BufRead;

/// The prefixes of identifiers in mappings.
pub const PREFIXES: &[&str] = &["MESH", "MSH", "mesh"];

/// The source of the concepts, if no other is given.
pub const SOURCE: &str = "MSH";
/// The note on a permuted term: an entry for printed indexes, such as "Fever, Yellow".
pub const PERMUTED: &str = "permuted term left out";
/// The note on a term of a MeSH concept that the options leave out.
pub const OTHER_CONCEPT: &str = "term of another concept of the record left out";
/// The note on a term whose lexical tag the options leave out.
pub const TAGGED: &str = "term with an unwanted lexical tag left out";
/// The note on a supplementary record whose class the options leave out.
pub const OTHER_CLASS: &str = "supplementary record of an unwanted class left out";
/// The reason for skipping a record without a preferred concept.
pub const NO_PREFERRED: &str = "record without a preferred concept";
/// The kind under which short forms are counted.
pub const SHORT_FORMS: &str = "short forms";

/// The categories at the top of the MeSH trees, by the letter of a tree number.
const CATEGORIES: [(char, &str); 16] = [
    ('A', "Anatomy"),
    ('B', "Organisms"),
    ('C', "Diseases"),
    ('D', "Chemicals and Drugs"),
    (
        'E',
        "Analytical, Diagnostic and Therapeutic Techniques, and Equipment",
    ),
    ('F', "Psychiatry and Psychology"),
    ('G', "Phenomena and Processes"),
    ('H', "Disciplines and Occupations"),
    (
        'I',
        "Anthropology, Education, Sociology, and Social Phenomena",
    ),
    ('J', "Technology, Industry, and Agriculture"),
    ('K', "Humanities"),
    ('L', "Information Science"),
    ('M', "Named Groups"),
    ('N', "Health Care"),
    ('V', "Publication Characteristics"),
    ('Z', "Geographicals"),
];

/// A class of supplementary records: the attribute `SCRClass`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SupplementaryClass {
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

impl SupplementaryClass {
    /// Every class, in the order of their numbers from 1.
    pub const ALL: [Self; 6] = [
        Self::Chemical,
        Self::Protocol,
        Self::Disease,
        Self::Organism,
        Self::Population,
        Self::Anatomy,
    ];

    /// The semantic type of its records. Five of them are categories of descriptors.
    fn type_name(self) -> &'static str {
        match self {
            Self::Chemical => "Chemicals and Drugs",
            Self::Protocol => "Chemotherapy Protocols",
            Self::Disease => "Diseases",
            Self::Organism => "Organisms",
            Self::Population => "Named Groups",
            Self::Anatomy => "Anatomy",
        }
    }
}

/// The MeSH concepts of a record whose terms become names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermsOf {
    /// The preferred concept.
    Preferred,
    /// The preferred concept and narrower ones.
    Narrower,
    /// All concepts of the record, as in MeSH's own search by entry terms.
    All,
}

/// What to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The concepts whose terms become names.
    pub terms_of: TermsOf,
    /// Whether permuted terms become names.
    pub permuted: bool,
    /// Lexical tags of terms to leave out, such as LAB, in capitals.
    pub without_tags: BTreeSet<String>,
    /// The classes of supplementary records to read.
    pub classes: BTreeSet<SupplementaryClass>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            terms_of: TermsOf::All,
            permuted: false,
            without_tags: BTreeSet::new(),
            classes: SupplementaryClass::ALL.into(),
        }
    }
}

/// Reads files of descriptors and of supplementary records.
///
/// # Errors
/// As [`read_one`].
pub fn read(release: &ReleaseFiles, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
    let files = &release.files;
    // A folder or archive may also have the qualifiers, the actions and document types.
    let several = release.is_expanded();
    let wanted = files.iter().filter(|file| {
        let name = file.plain_name().to_lowercase();
        // As released, desc2026.gz has no other ending.
        let stem = name.strip_suffix(".xml").unwrap_or(&name);
        let records = stem.starts_with("desc") || stem.starts_with("supp");
        !several || records && !stem.contains('.')
    });
    let (mut any, host) = (false, sink.host());
    for file in wanted {
        any = true;
        let label = file.label();
        let read = file
            .open_xml()
            .and_then(|reader| read_one(&label, reader, host.longest(), options, sink));
        read.map_err(|error| host.read_error(&label, error))?;
    }
    if any {
        return Ok(());
    }
    Err(Error::input(format!(
        "{}: there are no files desc*.xml or supp*.xml of MeSH",
        release.given.join(", ")
    )))
}

/// Reads a file of descriptors or of supplementary records, for which `reader` gives UTF-8. Each
/// record is passed on as soon as it is read.
///
/// # Errors
/// If the file cannot be read, is not well-formed, or has another root element. The errors of
/// [`Sink::concept`].
pub fn read_one(
    name: &str,
    reader: Box<dyn BufRead>,
    longest: Longest<'static>,
    options: &Options,
    sink: &mut Sink<'_, '_>,
) -> Result<()> {
    let (mut xml, root) = Elements::open(name, reader, longest)?;
    let names = match root.name.as_str() {
        "DescriptorRecordSet" => Names {
            record: "DescriptorRecord",
            id: "DescriptorUI",
            name: "DescriptorName",
        },
        "SupplementalRecordSet" => Names {
            record: "SupplementalRecord",
            id: "SupplementalRecordUI",
            name: "SupplementalRecordName",
        },
        other => return Err(wrong_root(&xml, &root, other)),
    };
    while let Some(found) = xml.child()? {
        sink.tick()?;
        if found.name != names.record {
            let expected = names.record;
            let what = format!("expected <{expected}>, found <{}>", found.name);
            return Err(xml.error_at(found.line, &what));
        }
        let line = found.line;
        let Some(record) = Record::read(&mut xml, &found, &names, options, sink.report())? else {
            continue;
        };
        let id = record.id.clone();
        record.state_parents(name, line, sink);
        let place = || format!("{} {id}", xml.place(line));
        match record.into_concept(options, sink.report()) {
            Some(concept) => sink.concept(concept, place)?,
            None => sink.report().skip(NO_PREFERRED, place),
        }
    }
    xml.finish()
}

fn wrong_root(xml: &Elements, root: &Element, found: &str) -> Error {
    let advice = match found {
        "PharmacologicalActionSet" => {
            ", the pharmacological actions (pa*.xml), which name no concepts of their own"
        }
        "QualifierRecordSet" => {
            ", the qualifiers (qual*.xml), which are not concepts of notes but aspects of \
             descriptors"
        }
        _ => "",
    };
    xml.error_at(
        root.line,
        &format!(
            "expected MeSH with <DescriptorRecordSet> (desc*.xml) or <SupplementalRecordSet> \
             (supp*.xml), found <{found}>{advice}"
        ),
    )
}

/// The names of the elements of a kind of record.
struct Names {
    record: &'static str,
    id: &'static str,
    name: &'static str,
}

#[derive(Debug, Default)]
struct Term {
    text: String,
    permuted: bool,
    record_preferred: bool,
    tag: String,
}

/// A MeSH concept within a record.
#[derive(Debug, Default)]
struct MeshConcept {
    id: String,
    preferred: bool,
    definition: Option<String>,
    registry_numbers: Vec<String>,
    related_numbers: Vec<String>,
    /// The identifiers of concepts that a relation calls narrower.
    narrower: Vec<String>,
    terms: Vec<Term>,
}

#[derive(Debug, Default)]
struct Record {
    id: String,
    name: String,
    class: Option<SupplementaryClass>,
    tree_numbers: Vec<String>,
    /// The descriptors that a supplementary record is mapped to.
    mapped_to: Vec<String>,
    note: Option<String>,
    concepts: Vec<MeshConcept>,
}

impl Record {
    /// Reads a record; `None` if its class is not wanted.
    fn read(
        xml: &mut Elements,
        element: &Element,
        names: &Names,
        options: &Options,
        report: &mut Report,
    ) -> Result<Option<Self>> {
        let mut record = Self::default();
        if names.record == "SupplementalRecord" {
            // Files before 2010 have no classes: their records are chemicals.
            let number = element.attribute("SCRClass").unwrap_or("1");
            let class = number
                .trim()
                .parse::<usize>()
                .ok()
                .and_then(|number| SupplementaryClass::ALL.get(number.checked_sub(1)?));
            let Some(class) = class else {
                let what = format!("expected an SCRClass from 1 to 6, found {number:?}");
                return Err(xml.error_at(element.line, &what));
            };
            if !options.classes.contains(class) {
                report.note(OTHER_CLASS, || xml.place(element.line));
                xml.skip()?;
                return Ok(None);
            }
            record.class = Some(*class);
        }
        while let Some(child) = xml.child()? {
            match child.name.as_str() {
                name if name == names.id => record.id = xml.text()?,
                name if name == names.name => record.name = xml.text_in("String")?,
                "TreeNumberList" => record.tree_numbers = xml.texts("TreeNumber")?,
                "HeadingMappedToList" => record.mapped_to = mapped_to(xml)?,
                "Note" => record.note = Some(xml.text()?),
                "ConceptList" => {
                    while let Some(child) = xml.child()? {
                        let concept = mesh_concept(xml, &child)?;
                        record.concepts.push(concept);
                    }
                }
                _ => xml.skip()?,
            }
        }
        Ok(Some(record))
    }

    /// States the places of a descriptor in the trees, and the headings of a supplementary record.
    fn state_parents(&self, file: &str, line: u64, sink: &mut Sink<'_, '_>) {
        let line = usize::try_from(line).unwrap_or(0);
        let place = Place { file, line };
        for number in &self.tree_numbers {
            sink.parents().add_place(&self.id, number, place);
        }
        for heading in &self.mapped_to {
            sink.parent(&self.id, heading, place);
        }
    }

    /// The record as a concept; `None` if it has MeSH concepts, but no preferred one.
    fn into_concept(self, options: &Options, report: &mut Report) -> Option<Concept> {
        let preferred = self.concepts.iter().position(|concept| concept.preferred);
        let at = match preferred {
            Some(at) => at,
            None if self.concepts.is_empty() => usize::MAX,
            None => return None,
        };
        let mut concept = Concept {
            id: self.id,
            name: self.name,
            ..Concept::default()
        };
        match self.class {
            Some(class) => concept.types.push(class.type_name().to_owned()),
            None => categories(&self.tree_numbers, &mut concept),
        }
        let mut all = self.concepts;
        let first = (at < all.len()).then(|| all.remove(at));
        let narrower: HashSet<String> = first
            .iter()
            .flat_map(|first| first.narrower.iter().cloned())
            .collect();
        if let Some(first) = &first {
            concept.definition.clone_from(&first.definition);
            concept.xrefs = registry_numbers(first, &concept.name);
        }
        concept.definition = concept.definition.or(self.note);
        let mapped = self.mapped_to.iter().map(|id| format!("MESH:{id}"));
        concept.xrefs.extend(mapped);
        // Terms of the preferred concept come first, then those of narrower ones.
        all.sort_by_key(|other| !narrower.contains(&other.id));
        for (is_first, other) in first
            .into_iter()
            .map(|first| (true, first))
            .chain(all.into_iter().map(|other| (false, other)))
        {
            let wanted = match options.terms_of {
                TermsOf::All => true,
                TermsOf::Preferred => is_first,
                TermsOf::Narrower => is_first || narrower.contains(&other.id),
            };
            for term in other.terms {
                let example = || format!("{:?} of {}", term.text, concept.id);
                if !wanted {
                    report.note(OTHER_CONCEPT, example);
                } else if term.permuted && !options.permuted {
                    report.note(PERMUTED, example);
                } else if options.without_tags.contains(&term.tag) {
                    report.note(TAGGED, example);
                } else if single_spaced(&term.text) != concept.name {
                    if matches!(term.tag.as_str(), "ABB" | "ABX" | "ACR" | "ACX") {
                        report.keep(SHORT_FORMS, 1);
                    }
                    // A name in the old records may be missing.
                    if concept.name.is_empty() && term.record_preferred {
                        concept.name = single_spaced(&term.text);
                    } else {
                        concept.synonyms.push(term.text);
                    }
                }
            }
        }
        Some(concept)
    }
}

/// The categories of a descriptor, in the order of its tree numbers.
fn categories(tree_numbers: &[String], concept: &mut Concept) {
    for number in tree_numbers {
        let letter = number.trim().chars().next();
        let category = CATEGORIES.iter().find(|(own, _)| Some(*own) == letter);
        if let Some((letter, name)) = category
            && !concept.types.iter().any(|known| known == name)
        {
            concept.types.push((*name).to_owned());
            concept.type_ids.push(letter.to_string());
        }
    }
}

/// The registry numbers of a concept. A related number belongs to it if the name in brackets is its
/// own: others are those of salts and isomers.
fn registry_numbers(concept: &MeshConcept, name: &str) -> Vec<String> {
    let own = concept
        .registry_numbers
        .iter()
        .filter_map(|number| cross_reference(number));
    let related = concept.related_numbers.iter().filter_map(|text| {
        let (number, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let of = rest.trim().strip_prefix('(').unwrap_or_default();
        let of = of.strip_suffix(')').unwrap_or(of);
        (of.is_empty() || of.eq_ignore_ascii_case(name))
            .then(|| cross_reference(number))
            .flatten()
    });
    own.chain(related).collect()
}

/// A registry number with the name of its registry: CAS, UNII, EC or NCBI Taxonomy. `None` for 0
/// and 00, which mean none.
fn cross_reference(number: &str) -> Option<String> {
    let number = number.trim();
    if let Some(code) = number.strip_prefix("EC ") {
        return Some(format!("EC:{}", code.trim()));
    }
    if let Some(taxon) = number.strip_prefix("txid") {
        return Some(format!("NCBITaxon:{taxon}"));
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = number.split('-').collect();
    if let [first, second, third] = parts[..]
        && (2..=7).contains(&first.len())
        && second.len() == 2
        && third.len() == 1
        && parts.iter().all(|part| digits(part))
    {
        return Some(format!("CAS:{number}"));
    }
    let is_unii = number.len() == 10
        && number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    is_unii.then(|| format!("UNII:{number}"))
}

/// The descriptors of a `HeadingMappedToList`, without the asterisk of major headings.
fn mapped_to(xml: &mut Elements) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    while let Some(heading) = xml.child()? {
        if heading.name != "HeadingMappedTo" {
            xml.skip()?;
            continue;
        }
        while let Some(referred) = xml.child()? {
            // A heading with a qualifier is in `ECIN`.
            if referred.name != "DescriptorReferredTo" {
                xml.skip()?;
                continue;
            }
            let id = xml.text_in("DescriptorUI")?;
            ids.push(id.trim().trim_start_matches('*').to_owned());
        }
    }
    ids.retain(|id| !id.is_empty());
    Ok(ids)
}

fn mesh_concept(xml: &mut Elements, element: &Element) -> Result<MeshConcept> {
    let mut concept = MeshConcept {
        preferred: element.attribute("PreferredConceptYN") == Some("Y"),
        ..MeshConcept::default()
    };
    while let Some(child) = xml.child()? {
        match child.name.as_str() {
            "ConceptUI" => concept.id = xml.text()?.trim().to_owned(),
            "ScopeNote" => concept.definition = Some(xml.text()?),
            // Files before 2024 have one number, later ones a list.
            "RegistryNumber" => concept.registry_numbers.push(xml.text()?),
            "RegistryNumberList" => concept.registry_numbers = xml.texts("RegistryNumber")?,
            "RelatedRegistryNumberList" => {
                concept.related_numbers = xml.texts("RelatedRegistryNumber")?;
            }
            "ConceptRelationList" => {
                while let Some(relation) = xml.child()? {
                    let narrows = relation.attribute("RelationName") == Some("NRW");
                    let narrower = xml.text_in("Concept2UI")?;
                    if narrows {
                        concept.narrower.push(narrower.trim().to_owned());
                    }
                }
            }
            "TermList" => {
                while let Some(child) = xml.child()? {
                    let is = |name: &str| child.attribute(name) == Some("Y");
                    let mut term = Term {
                        permuted: is("IsPermutedTermYN"),
                        record_preferred: is("RecordPreferredTermYN"),
                        tag: child
                            .attribute("LexicalTag")
                            .unwrap_or_default()
                            .to_uppercase(),
                        ..Term::default()
                    };
                    term.text = xml.text_in("String")?;
                    concept.terms.push(term);
                }
            }
            _ => xml.skip()?,
        }
    }
    Ok(concept)
}
