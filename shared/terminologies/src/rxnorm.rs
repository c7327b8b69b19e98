//! RxNorm in Rich Release Format.

use super::groups::{Group, Groups, Sorter};
use super::parents::Place;
use super::redirects::Reason;
use super::release::ReleaseFiles;
use super::rrf::{Layouts, NAMES, Tables, required};
use super::umls::{
    OTHER_LANGUAGE, cross_reference, push_new, push_types, semantic_types, suppression,
};
use super::{Selection, Sink};
use crate::import::concepts::Ids;
use pel_kb::Concept;
use pel_kb::error::Result;

/// The prefixes of RXCUIs in mappings.
pub const PREFIXES: &[&str] = &["RXNORM", "RXCUI", "RXNORM_CUI"];
/// The source of concepts.
pub const SOURCE: &str = "RXNORM";
/// The term types of concepts that are read unless the user names others: ingredients, precise and
/// multiple ingredients, brand names, clinical and branded drugs.
pub const TERM_TYPES: &[&str] = &["IN", "PIN", "MIN", "BN", "SCD", "SBD"];
/// The term types of further names: prescribable names, synonyms and tall-man synonyms.
const SYNONYM_TYPES: &[&str] = &["PSN", "SY", "TMSY"];

/// The columns of RXNREL.
const RELATIONS: &[&str] = &[
    "RXCUI1", "RXAUI1", "STYPE1", "REL", "RXCUI2", "RXAUI2", "STYPE2", "RELA", "RUI", "SRUI",
    "SAB", "SL", "DIR", "RG", "SUPPRESS", "CVF",
];

/// The note on a concept of other term types than the chosen ones.
pub const OTHER_TERM_TYPE: &str = "concept of another term type left out";

/// What to read of a release.
#[derive(Clone, Debug)]
pub struct Options {
    /// The names to read. Sources limit the cross-references.
    pub selection: Selection,
    /// The term types of concepts, the preferred one first.
    pub term_types: Vec<String>,
}

/// Reads a release: RXNCONSO, and if present RXNSTY, RXNCUI and RXNATOMARCHIVE.
///
/// The name of a concept is the atom of RxNorm with the first chosen term type. Atoms of other
/// sources give cross-references only.
///
/// # Errors
/// If RXNCONSO is missing, a table cannot be read or has an invalid row.
pub fn read(release: &ReleaseFiles, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
    let files = &release.files;
    let names = required(files, "RXNCONSO.RRF", "name the folder rrf of a release")?;
    let reader = Reader {
        tables: Tables {
            files,
            layouts: Layouts::default(),
            skip_bad: options.selection.skip_bad,
        },
        options,
    };
    let mut live = Ids::default();
    let mut atoms = Groups::new(reader.atoms(&mut live, sink)?.finish()?);
    let mut types =
        Groups::new(semantic_types(&reader.tables, "RXNSTY.RRF", "RXCUI", sink)?.finish()?);
    let (mut own_atoms, mut own_types) = Default::default();
    let mut id = Vec::new();
    let place = names.label();
    while atoms.next_group(&mut id, &mut own_atoms)? {
        sink.tick()?;
        types.of(&id, &mut own_types)?;
        let id = std::str::from_utf8(&id).unwrap_or_default();
        if let Some(concept) = concept_of(id, &own_atoms, &own_types, sink) {
            sink.concept(concept, || format!("{id} in {place}"))?;
        }
    }
    if sink.wants_parents() {
        required(
            files,
            "RXNREL.RRF",
            "--hierarchy reads it; name the folder rrf of a release",
        )?;
        reader.parents(sink)?;
    }
    reader.retired(&live, sink)
}

/// A release and what to read of it.
struct Reader<'a> {
    tables: Tables<'a>,
    options: &'a Options,
}

/// Marks the value of a cross-reference.
const REFERENCE: u8 = u8::MAX;

impl Reader<'_> {
    /// The order of a term type: chosen ones, then those of synonyms.
    fn order(&self, term_type: &str) -> Option<u8> {
        let chosen = self.options.term_types.iter().map(String::as_str);
        let at = chosen
            .chain(SYNONYM_TYPES.iter().copied())
            .position(|one| one.eq_ignore_ascii_case(term_type))?;
        Some(u8::try_from(at).unwrap_or(REFERENCE - 1).min(REFERENCE - 1))
    }

    /// Names and cross-references by RXCUI. A value is the order of the term type, 1 for the term
    /// type of a concept, the position of the language and the name; or [`REFERENCE`] and the
    /// cross-reference.
    fn atoms(&self, live: &mut Ids, sink: &mut Sink<'_, '_>) -> Result<Box<dyn Sorter>> {
        let selection = &self.options.selection;
        let mut sorter = sink.host().sorter();
        let mut value = Vec::new();
        self.tables.read(
            "RXNCONSO.RRF",
            NAMES,
            ["CUI", "LAT", "SAB", "TTY", "CODE", "STR", "SUPPRESS"],
            sink,
            |sink, row, [id, language, source, term_type, code, name, suppress]| {
                live.insert(id);
                let mut leave_out = |reason| sink.report().note(reason, || row.place());
                if let Some(reason) = suppression(suppress, selection)? {
                    leave_out(reason);
                    return Ok(());
                }
                value.clear();
                if source != SOURCE {
                    if selection.takes_source(source)
                        && let Some(reference) = cross_reference(source, code)
                    {
                        value.push(REFERENCE);
                        value.extend_from_slice(reference.as_bytes());
                        sorter.push(id.as_bytes(), &value)?;
                    }
                    return Ok(());
                }
                let Some(language) = selection.language_rank(language) else {
                    leave_out(OTHER_LANGUAGE);
                    return Ok(());
                };
                let Some(order) = self.order(term_type) else {
                    value.push(REFERENCE);
                    return sorter.push(id.as_bytes(), &value);
                };
                let is_concept = usize::from(order) < self.options.term_types.len();
                value.extend([order, u8::from(is_concept), language]);
                value.extend_from_slice(name.as_bytes());
                sorter.push(id.as_bytes(), &value)
            },
        )?;
        Ok(sorter)
    }

    /// RXNREL: of two concepts of RxNorm, the second is a kind, a form or a brand of the first, or the
    /// other way round.
    fn parents(&self, sink: &mut Sink<'_, '_>) -> Result<()> {
        self.tables.read(
            "RXNREL.RRF",
            RELATIONS,
            ["RXCUI1", "RXCUI2", "RELA", "SAB"],
            sink,
            |sink, row, [first, second, kind, source]| {
                let place = Place {
                    file: row.file,
                    line: row.line,
                };
                match kind {
                    _ if source != SOURCE => {}
                    "isa" | "form_of" | "tradename_of" => sink.parent(second, first, place),
                    "inverse_isa" | "has_form" | "has_tradename" => {
                        sink.parent(first, second, place);
                    }
                    _ => {}
                }
                Ok(())
            },
        )
    }

    /// RXNCUI gives the identifiers that became others, RXNATOMARCHIVE those of archived names.
    fn retired(&self, live: &Ids, sink: &mut Sink<'_, '_>) -> Result<()> {
        self.tables.read(
            "RXNCUI.RRF",
            &["CUI1", "VER_START", "VER_END", "CARDINALITY", "CUI2"],
            ["CUI1", "CARDINALITY", "CUI2"],
            sink,
            |sink, _, [id, count, successor]| {
                let other = Some(successor).filter(|other| !other.is_empty() && *other != id);
                match (count, other) {
                    _ if live.contains(id) => {}
                    (_, None) => sink.retire(id, None, Reason::Retired),
                    ("" | "1", Some(other)) => sink.retire(id, Some(other), Reason::Merged),
                    (_, Some(_)) => sink.retire(id, None, Reason::Split),
                }
                Ok(())
            },
        )?;
        self.tables.read(
            "RXNATOMARCHIVE.RRF",
            &[
                "RXAUI",
                "AUI",
                "STR",
                "ARCHIVE_TIMESTAMP",
                "CREATED_TIMESTAMP",
                "UPDATED_TIMESTAMP",
                "CODE",
                "IS_BRAND",
                "LAT",
                "LAST_RELEASED",
                "SAUI",
                "VSAB",
                "RXCUI",
                "SAB",
                "TTY",
                "MERGED_TO_RXCUI",
            ],
            ["RXCUI", "SAB", "MERGED_TO_RXCUI"],
            sink,
            |sink, _, [id, source, successor]| {
                if source != SOURCE || live.contains(id) {
                    return Ok(());
                }
                let other = Some(successor).filter(|other| !other.is_empty() && *other != id);
                let reason = other.map_or(Reason::Retired, |_| Reason::Merged);
                sink.retire(id, other, reason);
                Ok(())
            },
        )
    }
}

/// The concept of some atoms and types; `None` if it has no name of a chosen term type.
fn concept_of(id: &str, atoms: &Group, types: &Group, sink: &mut Sink<'_, '_>) -> Option<Concept> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut names = Vec::new();
    let mut concept = Concept {
        id: id.to_owned(),
        sources: vec![SOURCE.to_owned()],
        ..Concept::default()
    };
    let mut own = false;
    for value in atoms.values() {
        match value {
            [REFERENCE, reference @ ..] => {
                own |= reference.is_empty();
                push_new(&mut concept.xrefs, &text(reference));
            }
            [order, is_concept, language, name @ ..] => {
                own = true;
                names.push((*language, 1 - is_concept.min(&1), *order, text(name)));
            }
            _ => {}
        }
    }
    names.sort_by_key(|(language, is_synonym, order, _)| (*is_synonym, *language, *order));
    if !names.iter().any(|(_, is_synonym, ..)| *is_synonym == 0) {
        if own {
            sink.report().note(OTHER_TERM_TYPE, || id.to_owned());
        }
        return None;
    }
    let mut names = names.into_iter().map(|(.., name)| name);
    concept.name = names.next()?;
    concept.synonyms = names.collect();
    push_types(&mut concept, types);
    Some(concept)
}
