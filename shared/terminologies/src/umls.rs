//! The UMLS Metathesaurus in Rich Release Format.

use super::groups::{Group, Groups, Sorter};
use super::parents::Place;
use super::redirects::Reason;
use super::release::{self, ReleaseFile, ReleaseFiles};
use super::rrf::{Layouts, NAMES, Tables, required};
use super::{Selection, Sink};
use crate::import::merging::OTHER_DEFINITION;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::collections::{HashMap, HashSet};

/// The prefixes of CUIs in mappings.
pub const PREFIXES: &[&str] = &["UMLS", "CUI", "UMLS_CUI", "UMLSCUI"];

/// The note on an atom in a language that was not chosen.
pub const OTHER_LANGUAGE: &str = "name in another language left out";
/// The note on an atom of a source that was not chosen.
pub const OTHER_SOURCE: &str = "name of another source left out";
/// The note on an atom that is marked obsolete (SUPPRESS = O).
pub const OBSOLETE: &str = "obsolete name left out";
/// The note on an atom that is suppressed otherwise (SUPPRESS = E or Y).
pub const SUPPRESSED: &str = "suppressed name left out";
/// The note on a concept of other semantic types than the chosen ones.
pub const OTHER_TYPE: &str = "concept of another semantic type left out";
/// The note on a CUI that MRCUI maps to broader, narrower or related concepts only.
pub const ONLY_RELATED: &str = "retired id without a synonymous successor";

/// The columns of MRREL.
const RELATIONS: &[&str] = &[
    "CUI1", "AUI1", "STYPE1", "REL", "CUI2", "AUI2", "STYPE2", "RELA", "RUI", "SRUI", "SAB", "SL",
    "RG", "DIR", "SUPPRESS", "CVF",
];

/// What to read of a release.
#[derive(Clone, Debug)]
pub struct Options {
    /// The names to read.
    pub selection: Selection,
    /// The semantic types to read, by TUI or name; all if empty.
    pub semantic_types: Vec<String>,
}

/// Reads a release: MRCONSO, and if present MRSTY, MRDEF, MRRANK, MRCUI and MRFILES, which gives
/// the columns.
///
/// The name of a concept is the atom in the first chosen language with the highest rank in MRRANK,
/// then with TS = P, STT = PF and ISPREF = Y, then the first one.
///
/// # Errors
/// If MRCONSO is missing, a table cannot be read or has an invalid row.
pub fn read(release: &ReleaseFiles, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
    let files = &release.files;
    let skip_bad = options.selection.skip_bad;
    let reader = Reader {
        names: required(files, "MRCONSO.RRF", "name the folder META of a release")?,
        tables: Tables {
            layouts: match release::one_named(files, "MRFILES.RRF")? {
                Some(file) => Layouts::read(file, sink, skip_bad)?,
                None => Layouts::default(),
            },
            files,
            skip_bad,
        },
        options,
    };
    let ranks = reader.ranks(sink)?;
    let mut atoms = Groups::new(reader.atoms(&ranks, sink)?.finish()?);
    let mut types =
        Groups::new(semantic_types(&reader.tables, "MRSTY.RRF", "CUI", sink)?.finish()?);
    let mut definitions = Groups::new(reader.definitions(&ranks, sink)?.finish()?);
    let (mut own_atoms, mut own_types, mut own_definitions) = Default::default();
    let mut cui = Vec::new();
    let place = reader.names.label();
    while atoms.next_group(&mut cui, &mut own_atoms)? {
        sink.tick()?;
        types.of(&cui, &mut own_types)?;
        definitions.of(&cui, &mut own_definitions)?;
        let id = text(&cui);
        let mut concept = concept_of(id, &own_atoms, &own_types);
        if !reader.takes_type(&concept) {
            sink.report()
                .note(OTHER_TYPE, || format!("{id} {}", concept.name));
            continue;
        }
        concept.definition = definition_of(&concept, &own_definitions, sink);
        sink.concept(concept, || format!("{id} in {place}"))?;
    }
    if sink.wants_parents() {
        required(
            files,
            "MRREL.RRF",
            "--hierarchy reads it; name the folder META of a release",
        )?;
        reader.parents(sink)?;
    }
    reader.retired(sink)
}

/// A release and what to read of it.
struct Reader<'a> {
    names: &'a ReleaseFile,
    tables: Tables<'a>,
    options: &'a Options,
}

/// MRRANK: the rank of a source, term type and status.
#[derive(Debug, Default)]
struct Ranks {
    atoms: HashMap<String, u32>,
    /// The highest rank of each source.
    sources: HashMap<String, u32>,
}

impl Reader<'_> {
    fn ranks(&self, sink: &mut Sink<'_, '_>) -> Result<Ranks> {
        let usual = &["RANK", "SAB", "TTY", "SUPPRESS"];
        let mut ranks = Ranks::default();
        self.tables.read(
            "MRRANK.RRF",
            usual,
            ["RANK", "SAB", "TTY", "SUPPRESS"],
            sink,
            |_, _, [rank, source, term_type, status]| {
                let rank = rank.parse().map_err(|_| {
                    Error::input(format!("expected a number in RANK, found {rank:?}"))
                })?;
                ranks
                    .atoms
                    .insert(format!("{source}|{term_type}|{status}"), rank);
                let best = ranks.sources.entry(source.to_owned()).or_default();
                *best = rank.max(*best);
                Ok(())
            },
        )?;
        Ok(ranks)
    }

    /// The chosen atoms by CUI. A value is the atom's order of preference in 6 bytes, its source,
    /// code and name, with bars between.
    fn atoms(&self, ranks: &Ranks, sink: &mut Sink<'_, '_>) -> Result<Box<dyn Sorter>> {
        let selection = &self.options.selection;
        let mut sorter = sink.host().sorter();
        let mut value = Vec::new();
        let mut key = String::new();
        self.tables.read(
            "MRCONSO.RRF",
            NAMES,
            [
                "CUI", "LAT", "TS", "STT", "ISPREF", "SAB", "TTY", "CODE", "STR", "SUPPRESS",
            ],
            sink,
            |sink,
             row,
             [
                cui,
                language,
                status,
                form,
                preferred,
                source,
                term_type,
                code,
                name,
                suppress,
            ]| {
                let mut leave_out = |reason| sink.report().note(reason, || row.place());
                let Some(language) = selection.language_rank(language) else {
                    leave_out(OTHER_LANGUAGE);
                    return Ok(());
                };
                if !selection.takes_source(source) {
                    leave_out(OTHER_SOURCE);
                    return Ok(());
                }
                if let Some(reason) = suppression(suppress, selection)? {
                    leave_out(reason);
                    return Ok(());
                }
                key.clear();
                key.extend([source, "|", term_type, "|", suppress]);
                let rank = ranks.atoms.get(&key).copied().unwrap_or(0);
                let marks = [status == "P", form == "PF", preferred == "Y"];
                let marks = marks
                    .iter()
                    .fold(0, |bits, mark| bits << 1 | u8::from(!mark));
                value.clear();
                value.push(language);
                value.extend_from_slice(&(!rank).to_be_bytes());
                value.push(marks);
                for (at, field) in [source, code, name].iter().enumerate() {
                    if at > 0 {
                        value.push(b'|');
                    }
                    value.extend_from_slice(field.as_bytes());
                }
                sorter.push(cui.as_bytes(), &value)
            },
        )?;
        Ok(sorter)
    }

    /// The definitions by CUI, each after the rank of its source and the source.
    fn definitions(&self, ranks: &Ranks, sink: &mut Sink<'_, '_>) -> Result<Box<dyn Sorter>> {
        let selection = &self.options.selection;
        let mut sorter = sink.host().sorter();
        let mut value = Vec::new();
        self.tables.read(
            "MRDEF.RRF",
            &[
                "CUI", "AUI", "ATUI", "SATUI", "SAB", "DEF", "SUPPRESS", "CVF",
            ],
            ["CUI", "SAB", "DEF", "SUPPRESS"],
            sink,
            |_, _, [cui, source, definition, suppress]| {
                let chosen = match suppress {
                    "O" => selection.obsolete,
                    "E" | "Y" => selection.suppressed,
                    _ => true,
                };
                if !chosen || !selection.takes_source(source) {
                    return Ok(());
                }
                let rank = ranks.sources.get(source).copied().unwrap_or(0);
                value.clear();
                value.extend_from_slice(&(!rank).to_be_bytes());
                value.extend_from_slice(source.as_bytes());
                value.push(b'|');
                value.extend_from_slice(definition.as_bytes());
                sorter.push(cui.as_bytes(), &value)
            },
        )?;
        Ok(sorter)
    }

    fn takes_type(&self, concept: &Concept) -> bool {
        let chosen = &self.options.semantic_types;
        let is_chosen = |own: &String| chosen.iter().any(|one| one.eq_ignore_ascii_case(own));
        chosen.is_empty()
            || concept.types.iter().any(is_chosen)
            || concept.type_ids.iter().any(is_chosen)
    }

    /// MRREL: the second concept is the parent of the first (PAR), or its child (CHD); or the second is
    /// a kind of the first (isa), or the first of the second (inverse_isa).
    fn parents(&self, sink: &mut Sink<'_, '_>) -> Result<()> {
        let selection = &self.options.selection;
        self.tables.read(
            "MRREL.RRF",
            RELATIONS,
            ["CUI1", "REL", "CUI2", "RELA", "SAB", "SUPPRESS"],
            sink,
            |sink, row, [first, relation, second, kind, source, suppress]| {
                let is_read =
                    selection.takes_source(source) && suppression(suppress, selection)?.is_none();
                let place = Place {
                    file: row.file,
                    line: row.line,
                };
                match (relation, kind) {
                    _ if !is_read => {}
                    ("PAR", _) | (_, "inverse_isa") => sink.parent(first, second, place),
                    ("CHD", _) | (_, "isa") => sink.parent(second, first, place),
                    _ => {}
                }
                Ok(())
            },
        )
    }

    /// MRCUI: SY leads to a successor. DEL, and CUIs that are only broader, narrower or otherwise
    /// related to others, have none.
    fn retired(&self, sink: &mut Sink<'_, '_>) -> Result<()> {
        self.tables.read(
            "MRCUI.RRF",
            &["CUI1", "VER", "REL", "RELA", "MAPREASON", "CUI2", "MAPIN"],
            ["CUI1", "REL", "CUI2"],
            sink,
            |sink, row, [id, relation, successor]| {
                match relation {
                    "SY" if !successor.is_empty() => {
                        sink.retire(id, Some(successor), Reason::Merged);
                    }
                    "DEL" | "SY" | "SUBX" => sink.retire(id, None, Reason::Retired),
                    _ => {
                        sink.report().note(ONLY_RELATED, || row.place());
                        sink.retire(id, None, Reason::Retired);
                    }
                }
                Ok(())
            },
        )
    }
}

/// The note on an atom that its SUPPRESS leaves out; `None` if the atom is read.
///
/// # Errors
/// If SUPPRESS has another value than N, O, E and Y.
pub(super) fn suppression(suppress: &str, selection: &Selection) -> Result<Option<&'static str>> {
    match suppress {
        "O" if !selection.obsolete => Ok(Some(OBSOLETE)),
        "E" | "Y" if !selection.suppressed => Ok(Some(SUPPRESSED)),
        "N" | "O" | "E" | "Y" => Ok(None),
        other => Err(Error::input(format!(
            "expected N, O, E or Y in SUPPRESS, found {other:?}"
        ))),
    }
}

/// The semantic types of MRSTY or RXNSTY by the identifier in the column `id`. A value is the TUI
/// and the name, with a bar between.
///
/// # Errors
/// If the table cannot be read or has an invalid row.
pub(super) fn semantic_types(
    tables: &Tables<'_>,
    name: &str,
    id: &str,
    sink: &mut Sink<'_, '_>,
) -> Result<Box<dyn Sorter>> {
    let mut sorter = sink.host().sorter();
    tables.read(
        name,
        &[id, "TUI", "STN", "STY", "ATUI", "CVF"],
        [id, "TUI", "STY"],
        sink,
        |_, _, [id, tui, name]| sorter.push(id.as_bytes(), format!("{tui}|{name}").as_bytes()),
    )?;
    Ok(sorter)
}

/// Adds the semantic types that [`semantic_types`] gives for a concept.
pub(super) fn push_types(concept: &mut Concept, types: &Group) {
    for value in types.values() {
        let (id, name) = text(value).split_once('|').unwrap_or_default();
        push_new(&mut concept.type_ids, id);
        push_new(&mut concept.types, name);
    }
}

/// Values come from rows of UTF-8 and are divided at bars.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The concept of some atoms and types, without its definition.
fn concept_of(id: &str, atoms: &Group, types: &Group) -> Concept {
    let mut atoms: Vec<&[u8]> = atoms.values().collect();
    atoms.sort_by_key(|atom| atom.get(..ORDER));
    let mut concept = Concept {
        id: id.to_owned(),
        ..Concept::default()
    };
    for atom in atoms {
        let mut fields = text(atom.get(ORDER..).unwrap_or_default()).splitn(3, '|');
        let (source, code, name) = (fields.next(), fields.next(), fields.next());
        let (source, code) = (source.unwrap_or_default(), code.unwrap_or_default());
        match name.unwrap_or_default() {
            name if concept.name.is_empty() => concept.name = name.to_owned(),
            name => concept.synonyms.push(name.to_owned()),
        }
        push_new(&mut concept.sources, source);
        if let Some(code) = cross_reference(source, code) {
            push_new(&mut concept.xrefs, &code);
        }
    }
    push_types(&mut concept, types);
    concept
}

/// The bytes of an atom's order of preference.
const ORDER: usize = 6;

/// The number of texts up to which [`push_new`] looks for a text. [`Sink::concept`] removes further
/// repetitions, so the time is linear in the atoms of a concept.
const COMPARED: usize = 64;

/// Adds a text to a list, unless it is empty or one of the first in the list.
pub(super) fn push_new(list: &mut Vec<String>, text: &str) {
    if !text.is_empty() && !list.iter().take(COMPARED).any(|own| own == text) {
        list.push(text.to_owned());
    }
}

/// `MSH:D005334` for a code of MeSH. A code that has a prefix (`HP:0001945`) stays as it is. Atoms
/// of the Metathesaurus itself have no codes.
pub(super) fn cross_reference(source: &str, code: &str) -> Option<String> {
    match code {
        "" | "NOCODE" => None,
        _ if source == "MTH" => None,
        _ if code.contains(':') => Some(code.to_owned()),
        _ => Some(format!("{source}:{code}")),
    }
}

/// The definition of the source with the highest rank, among the sources of the concept's names.
fn definition_of(
    concept: &Concept,
    definitions: &Group,
    sink: &mut Sink<'_, '_>,
) -> Option<String> {
    let sources: HashSet<&str> = concept.sources.iter().map(String::as_str).collect();
    let mut found: Vec<(&[u8], &str)> = definitions
        .values()
        .filter_map(|value| {
            let (rank, rest) = value.split_at_checked(4)?;
            let (source, definition) = text(rest).split_once('|')?;
            sources.contains(source).then_some((rank, definition))
        })
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    for _ in found.iter().skip(1) {
        sink.report().note(OTHER_DEFINITION, || concept.id.clone());
    }
    found
        .first()
        .map(|(_, definition)| (*definition).to_owned())
}
