//! SNOMED CT in Release Format 2, as Snapshot.

use super::groups::{Group, Groups, Sorter};
use super::parents::Place;
use super::redirects::Reason;
use super::release::{ReleaseFile, ReleaseFiles};
use super::rf2::{self, Content, ReleaseType, semantic_tag};
use super::{Selection, Sink};
use crate::import::merging::OTHER_DEFINITION;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The prefixes of SNOMED CT identifiers in mappings.
pub const PREFIXES: &[&str] = &["SNOMEDCT", "SCTID", "SNOMED", "SCT", "SNOMEDCT_US"];
/// The source of concepts, unless the user names another.
pub const SOURCE: &str = "SNOMEDCT";

/// The language reference set of US English.
pub const US_ENGLISH: u64 = 900_000_000_000_509_007;
/// The language reference set of GB English.
pub const GB_ENGLISH: u64 = 900_000_000_000_508_004;

const FULLY_SPECIFIED_NAME: u64 = 900_000_000_000_003_001;
const SYNONYM: u64 = 900_000_000_000_013_009;
const DEFINITION: u64 = 900_000_000_000_550_004;
const PREFERRED: u64 = 900_000_000_000_548_007;
const ACCEPTABLE: u64 = 900_000_000_000_549_004;

const IS_A: u64 = 116_680_003;

const SAME_AS: u64 = 900_000_000_000_527_005;
const REPLACED_BY: u64 = 900_000_000_000_526_001;
const MOVED_TO: u64 = 900_000_000_000_524_003;
const POSSIBLY_EQUIVALENT_TO: u64 = 900_000_000_000_523_009;
const PARTIALLY_EQUIVALENT_TO: u64 = 1_186_924_009;
const POSSIBLY_REPLACED_BY: u64 = 1_186_921_001;

/// The note on an inactive concept that was not chosen.
pub const INACTIVE: &str = "inactive concept left out";
/// The note on an inactive name or definition.
pub const INACTIVE_NAME: &str = "inactive name or definition left out";
/// The note on a name in a language that was not chosen.
pub const OTHER_LANGUAGE: &str = "name in another language left out";
/// The note on a name of a concept that the release does not have.
pub const NO_CONCEPT: &str = "name of a concept that is not in the release left out";
/// The note on an active concept without an active name in the chosen languages.
pub const WITHOUT_NAME: &str = "concept without a name in the chosen languages left out";
/// The note on a concept whose fully specified name has no semantic tag.
pub const WITHOUT_TAG: &str = "concept without a semantic tag";
/// The note on a release without entries of the chosen dialect.
pub const NO_DIALECT: &str = "dialect without entries (the fully specified name is preferred)";

/// What to read of a release.
#[derive(Clone, Debug)]
pub struct Options {
    /// The names to read.
    pub selection: Selection,
    /// The language reference sets that say which names are preferred, the first one first. If
    /// empty, US English for English, else all that the release has.
    pub dialects: Vec<u64>,
}

impl Options {
    fn dialects(&self) -> Vec<Option<u64>> {
        let first = self.selection.languages.first();
        match self.dialects.is_empty() {
            false => self.dialects.iter().copied().map(Some).collect(),
            true if first.is_none_or(|first| first.eq_ignore_ascii_case("en")) => {
                vec![Some(US_ENGLISH)]
            }
            true => vec![None],
        }
    }
}

/// Reads the Snapshot of one or more editions and extensions. If they have the same component, its
/// latest row counts.
///
/// The name of a concept is the synonym that the dialect prefers, else the fully specified name.
/// Its type is the semantic tag, which the name does not keep.
///
/// # Errors
/// If there is no Snapshot of concepts and descriptions, or a table cannot be read or has an
/// invalid row.
pub fn read(release: &ReleaseFiles, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
    let files = &release.files;
    let reader = Reader {
        files: snapshot(files)?,
        options,
    };
    let mut concepts = reader.concepts(sink)?;
    let dialects = reader.dialects(sink)?;
    let mut names = Groups::new(reader.names(&mut concepts, &dialects, sink)?.finish()?);
    drop(dialects);
    let (mut key, mut group) = (Vec::new(), Group::default());
    while names.next_group(&mut key, &mut group)? {
        sink.tick()?;
        let id = key.as_slice().try_into().map_or(0, u64::from_be_bytes);
        let Some(concept) = concept_of(id, &group, sink) else {
            continue;
        };
        if let Some(state) = concepts.get_mut(&id) {
            state.named = true;
        }
        sink.concept(concept, || format!("concept {id}"))?;
    }
    if sink.wants_parents() {
        reader.parents(sink)?;
    }
    let mut others: Vec<(u64, State)> = concepts
        .into_iter()
        .filter(|(_, state)| !state.named)
        .collect();
    others.sort_unstable_by_key(|(id, _)| *id);
    let successors = reader.successors(sink)?;
    for (id, state) in others {
        if state.active {
            sink.report().note(WITHOUT_NAME, || id.to_string());
            continue;
        }
        sink.report().note(INACTIVE, || id.to_string());
        let (successor, reason) = successors
            .get(&id)
            .map_or((None, Reason::Retired), Successors::last);
        let successor = successor.map(|id| id.to_string());
        sink.retire(&id.to_string(), successor.as_deref(), reason);
    }
    Ok(())
}

/// The Snapshot files among the files of a release.
fn snapshot(files: &[ReleaseFile]) -> Result<Vec<(Content, &ReleaseFile)>> {
    let known: Vec<_> = files
        .iter()
        .filter_map(|file| {
            rf2::kind_of(file.plain_name()).map(|(content, kind)| (content, kind, file))
        })
        .collect();
    let chosen: Vec<_> = known
        .iter()
        .filter(|(_, kind, _)| *kind == ReleaseType::Snapshot)
        .map(|(content, _, file)| (*content, *file))
        .collect();
    for (content, name) in [
        (Content::Concept, "sct2_Concept_Snapshot_*.txt"),
        (Content::Description, "sct2_Description_Snapshot-*.txt"),
    ] {
        if chosen.iter().any(|(own, _)| *own == content) {
            continue;
        }
        let other = known.iter().find(|(own, _, _)| *own == content);
        let found = match other {
            Some((_, ReleaseType::Full, file)) => format!(
                "{}, which has all earlier states too; name the folder Snapshot of the release",
                file.label()
            ),
            Some((_, _, file)) => format!(
                "{}, which has the changes of one release only; name the folder Snapshot of the \
                 release",
                file.label()
            ),
            None => format!(
                "{} files without one; name the folder Snapshot of a release in RF2",
                files.len()
            ),
        };
        return Err(Error::input(format!("expected {name}, found {found}")));
    }
    Ok(chosen)
}

/// The latest state of a concept.
#[derive(Clone, Copy, Debug)]
struct State {
    time: u32,
    active: bool,
    /// Whether a concept of this identifier was passed on.
    named: bool,
}

/// The files of a release and what to read of them.
struct Reader<'a> {
    files: Vec<(Content, &'a ReleaseFile)>,
    options: &'a Options,
}

/// What dialects say about descriptions: time and acceptability by identifier.
type Dialect = HashMap<u64, (u32, Acceptability)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Acceptability {
    Preferred,
    Acceptable,
    None,
}

impl Reader<'_> {
    fn of(&self, content: Content) -> impl Iterator<Item = &ReleaseFile> {
        let own = self.files.iter().filter(move |(own, _)| *own == content);
        own.map(|(_, file)| *file)
    }

    fn skip_bad(&self) -> bool {
        self.options.selection.skip_bad
    }

    fn concepts(&self, sink: &mut Sink<'_, '_>) -> Result<HashMap<u64, State>> {
        let mut concepts = HashMap::new();
        for file in self.of(Content::Concept) {
            let wanted = ["id", "effectiveTime", "active"];
            rf2::for_each_row(
                file,
                wanted,
                sink,
                self.skip_bad(),
                |_, _, [id, time, active]| {
                    let state = State {
                        time: rf2::effective_time(time)?,
                        active: rf2::active(active)?,
                        named: false,
                    };
                    match concepts.entry(rf2::sctid(id)?) {
                        Entry::Vacant(entry) => drop(entry.insert(state)),
                        Entry::Occupied(mut entry) if state.time >= entry.get().time => {
                            entry.insert(state);
                        }
                        Entry::Occupied(_) => {}
                    }
                    Ok(())
                },
            )?;
        }
        Ok(concepts)
    }

    fn dialects(&self, sink: &mut Sink<'_, '_>) -> Result<Vec<Dialect>> {
        let chosen = self.options.dialects();
        let all = chosen.contains(&None);
        let mut dialects = vec![Dialect::new(); chosen.len()];
        for file in self.of(Content::Language) {
            let wanted = [
                "effectiveTime",
                "active",
                "refsetId",
                "referencedComponentId",
                "acceptabilityId",
            ];
            rf2::for_each_row(
                file,
                wanted,
                sink,
                self.skip_bad(),
                |_, _, [time, active, set, id, acceptability]| {
                    let set = rf2::sctid(set)?;
                    let Some(dialect) = chosen
                        .iter()
                        .position(|one| one.is_none_or(|one| one == set))
                        .and_then(|at| dialects.get_mut(at))
                    else {
                        return Ok(());
                    };
                    let time = rf2::effective_time(time)?;
                    let acceptability = match (rf2::active(active)?, rf2::sctid(acceptability)?) {
                        (true, PREFERRED) => Acceptability::Preferred,
                        (true, ACCEPTABLE) => Acceptability::Acceptable,
                        (false, _) => Acceptability::None,
                        (true, other) => {
                            return Err(Error::input(format!(
                                "expected {PREFERRED} (preferred) or {ACCEPTABLE} (acceptable) in \
                                 acceptabilityId, found {other}"
                            )));
                        }
                    };
                    let latest = dialect
                        .entry(rf2::sctid(id)?)
                        .or_insert((time, acceptability));
                    // Among several sets the best word counts, within one the latest.
                    let better = match all {
                        true => acceptability < latest.1,
                        false => time >= latest.0,
                    };
                    if better {
                        *latest = (time, acceptability);
                    }
                    Ok(())
                },
            )?;
        }
        for (set, dialect) in chosen.iter().zip(&dialects) {
            if dialect.is_empty() {
                sink.report().note(NO_DIALECT, || {
                    set.map_or_else(|| "all".to_owned(), |set| set.to_string())
                });
            }
        }
        Ok(dialects)
    }

    /// The names and definitions by concept.
    fn names(
        &self,
        concepts: &mut HashMap<u64, State>,
        dialects: &[Dialect],
        sink: &mut Sink<'_, '_>,
    ) -> Result<Box<dyn Sorter>> {
        let selection = &self.options.selection;
        let mut sorter = sink.host().sorter();
        let mut value = Vec::new();
        // Rows of one file have different identifiers; inactive ones matter only beside others.
        let several = |content| self.of(content).nth(1).is_some();
        for content in [Content::Description, Content::TextDefinition] {
            let several = several(content);
            for file in self.of(content) {
                let wanted = [
                    "id",
                    "effectiveTime",
                    "active",
                    "conceptId",
                    "languageCode",
                    "typeId",
                    "term",
                ];
                rf2::for_each_row(
                    file,
                    wanted,
                    sink,
                    self.skip_bad(),
                    |sink, row, [id, time, active, concept, language, kind, term]| {
                        let id = rf2::sctid(id)?;
                        let concept = rf2::sctid(concept)?;
                        let name = Name {
                            id,
                            time: rf2::effective_time(time)?,
                            active: rf2::active(active)?,
                            language: selection
                                .language_rank(language)
                                .map_or(u8::MAX, |rank| rank.min(u8::MAX - 1)),
                            kind: match rf2::sctid(kind)? {
                                FULLY_SPECIFIED_NAME => Kind::FullySpecified,
                                SYNONYM => Kind::Synonym,
                                DEFINITION => Kind::Definition,
                                other => {
                                    return Err(Error::input(format!(
                                        "expected a fully specified name, synonym or definition in \
                                         typeId, found {other}"
                                    )));
                                }
                            },
                            preference: preference(id, dialects),
                            text: term,
                        };
                        if !name.active && !several {
                            sink.report().note(INACTIVE_NAME, || row.place());
                            return Ok(());
                        }
                        // The fully specified name gives the type in any language.
                        if name.language == u8::MAX && name.kind != Kind::FullySpecified {
                            sink.report().note(OTHER_LANGUAGE, || row.place());
                            return Ok(());
                        }
                        match concepts.get(&concept) {
                            Some(state) if state.active || selection.obsolete => {}
                            Some(_) => return Ok(()),
                            None => {
                                sink.report().note(NO_CONCEPT, || row.place());
                                return Ok(());
                            }
                        }
                        name.write(&mut value);
                        sorter.push(&concept.to_be_bytes(), &value)
                    },
                )?;
            }
        }
        Ok(sorter)
    }

    /// The active is-a relationships.
    fn parents(&self, sink: &mut Sink<'_, '_>) -> Result<()> {
        let mut latest: HashMap<u64, IsA> = HashMap::new();
        let mut files = Vec::new();
        for file in self.of(Content::Relationship) {
            files.push(file.label());
            let at = files.len() - 1;
            let wanted = [
                "id",
                "effectiveTime",
                "active",
                "sourceId",
                "destinationId",
                "typeId",
            ];
            rf2::for_each_row(
                file,
                wanted,
                sink,
                self.skip_bad(),
                |_, row, [id, time, active, child, parent, kind]| {
                    if rf2::sctid(kind)? != IS_A {
                        return Ok(());
                    }
                    let own = IsA {
                        time: rf2::effective_time(time)?,
                        active: rf2::active(active)?,
                        child: rf2::sctid(child)?,
                        parent: rf2::sctid(parent)?,
                        file: at,
                        line: row.line,
                    };
                    let known = latest.entry(rf2::sctid(id)?).or_insert(own);
                    if own.time >= known.time {
                        *known = own;
                    }
                    Ok(())
                },
            )?;
        }
        if files.is_empty() {
            return Err(Error::input(
                "--hierarchy: expected sct2_Relationship_Snapshot_*.txt, found no such file; name the \
                 folder Snapshot of a release in RF2",
            ));
        }
        let mut all: Vec<IsA> = latest.into_values().filter(|own| own.active).collect();
        all.sort_unstable_by_key(|own| (own.child, own.parent, own.file, own.line));
        for own in all {
            let file = files.get(own.file).map_or("", String::as_str);
            let (child, parent) = (own.child.to_string(), own.parent.to_string());
            let line = own.line;
            sink.parent(&child, &parent, Place { file, line });
        }
        Ok(())
    }

    /// The historical associations of inactive concepts.
    fn successors(&self, sink: &mut Sink<'_, '_>) -> Result<HashMap<u64, Successors>> {
        let mut latest = HashMap::new();
        for file in self.of(Content::Association) {
            let wanted = [
                "effectiveTime",
                "active",
                "refsetId",
                "referencedComponentId",
                "targetComponentId",
            ];
            rf2::for_each_row(
                file,
                wanted,
                sink,
                self.skip_bad(),
                |_, _, [time, active, set, id, target]| {
                    let kind = match rf2::sctid(set)? {
                        SAME_AS => Association::Same,
                        REPLACED_BY => Association::Replaced,
                        MOVED_TO => Association::Moved,
                        POSSIBLY_EQUIVALENT_TO | PARTIALLY_EQUIVALENT_TO | POSSIBLY_REPLACED_BY => {
                            Association::Several
                        }
                        _ => return Ok(()),
                    };
                    let key = (rf2::sctid(id)?, kind, rf2::sctid(target)?);
                    let (time, active) = (rf2::effective_time(time)?, rf2::active(active)?);
                    let own = latest.entry(key).or_insert((time, active));
                    if time >= own.0 {
                        *own = (time, active);
                    }
                    Ok(())
                },
            )?;
        }
        let mut successors: HashMap<u64, Successors> = HashMap::new();
        for ((id, kind, target), (_, active)) in latest {
            if active {
                successors.entry(id).or_default().add(kind, target);
            }
        }
        Ok(successors)
    }
}

/// The best preference of a description in the dialects: 0 and 1 for preferred and acceptable in
/// the first, 2 and 3 in the second and so on; the largest for none.
fn preference(id: u64, dialects: &[Dialect]) -> u8 {
    let found = dialects.iter().enumerate().find_map(|(at, dialect)| {
        let rank = match dialect.get(&id)?.1 {
            Acceptability::Preferred => 0,
            Acceptability::Acceptable => 1,
            Acceptability::None => return None,
        };
        u8::try_from(2 * at + rank).ok()
    });
    found.unwrap_or(u8::MAX)
}

/// The latest state of an is-a relationship.
#[derive(Clone, Copy, Debug)]
struct IsA {
    time: u32,
    active: bool,
    child: u64,
    parent: u64,
    file: usize,
    line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Association {
    Same,
    Replaced,
    Moved,
    Several,
}

/// The associations of an inactive concept.
#[derive(Clone, Debug, Default)]
struct Successors {
    same: Vec<u64>,
    replaced: Vec<u64>,
    moved: bool,
    several: bool,
}

impl Successors {
    fn add(&mut self, kind: Association, target: u64) {
        match kind {
            Association::Same => self.same.push(target),
            Association::Replaced => self.replaced.push(target),
            Association::Moved => self.moved = true,
            Association::Several => self.several = true,
        }
    }

    /// The successor, if there is exactly one, and the reason.
    fn last(&self) -> (Option<u64>, Reason) {
        match (&self.same[..], &self.replaced[..]) {
            ([one], _) => (Some(*one), Reason::Merged),
            ([], [one]) => (Some(*one), Reason::Replaced),
            ([], []) if self.moved => (None, Reason::Moved),
            ([], []) if !self.several => (None, Reason::Retired),
            _ => (None, Reason::Split),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    FullySpecified,
    Synonym,
    Definition,
}

/// A description or text definition.
#[derive(Clone, Copy, Debug)]
struct Name<'a> {
    id: u64,
    time: u32,
    active: bool,
    /// The position of its language; the largest for one that was not chosen.
    language: u8,
    kind: Kind,
    preference: u8,
    text: &'a str,
}

/// The bytes of a name before its text.
const HEAD: usize = 16;

impl<'a> Name<'a> {
    fn write(&self, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&self.id.to_be_bytes());
        into.extend_from_slice(&self.time.to_be_bytes());
        let kind = match self.kind {
            Kind::FullySpecified => 0,
            Kind::Synonym => 1,
            Kind::Definition => 2,
        };
        into.extend([u8::from(self.active), self.language, kind, self.preference]);
        into.extend_from_slice(self.text.as_bytes());
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (head, text) = bytes.split_at_checked(HEAD)?;
        let (id, rest) = head.split_at_checked(8)?;
        let (time, marks) = rest.split_at_checked(4)?;
        let &[active, language, kind, preference] = marks else {
            return None;
        };
        Some(Self {
            id: u64::from_be_bytes(id.try_into().ok()?),
            time: u32::from_be_bytes(time.try_into().ok()?),
            active: active == 1,
            language,
            kind: match kind {
                0 => Kind::FullySpecified,
                1 => Kind::Synonym,
                _ => Kind::Definition,
            },
            preference,
            text: std::str::from_utf8(text).ok()?,
        })
    }

    /// The order of preference: language, then synonyms that a dialect prefers, fully specified
    /// names, acceptable synonyms and others.
    fn order(&self) -> (u8, u8, u8) {
        let preferred = self.preference != u8::MAX && self.preference.is_multiple_of(2);
        let class = match self.kind {
            Kind::Synonym if preferred => 0,
            Kind::FullySpecified => 1,
            Kind::Synonym if self.preference != u8::MAX => 2,
            Kind::Synonym | Kind::Definition => 3,
        };
        (self.language, class, self.preference)
    }
}

/// The concept of some names; `None` without a name in the chosen languages.
fn concept_of(id: u64, group: &Group, sink: &mut Sink<'_, '_>) -> Option<Concept> {
    let mut latest: HashMap<(u64, bool), Name<'_>> = HashMap::new();
    let mut order = Vec::new();
    for name in group.values().filter_map(Name::read) {
        let key = (name.id, name.kind == Kind::Definition);
        match latest.entry(key) {
            Entry::Vacant(entry) => {
                order.push(key);
                entry.insert(name);
            }
            Entry::Occupied(mut entry) if name.time >= entry.get().time => {
                entry.insert(name);
            }
            Entry::Occupied(_) => {}
        }
    }
    let mut names: Vec<Name<'_>> = order
        .iter()
        .filter_map(|key| latest.get(key).copied())
        .collect();
    names.retain(|name| {
        if !name.active {
            sink.report().note(INACTIVE_NAME, || name.id.to_string());
        }
        name.active
    });
    names.sort_by_key(Name::order);
    let (definitions, names): (Vec<_>, Vec<_>) = names
        .into_iter()
        .partition(|name| name.kind == Kind::Definition);
    let tag = names
        .iter()
        .filter(|name| name.kind == Kind::FullySpecified)
        .find_map(|name| semantic_tag(name.text).1);
    let mut concept = Concept {
        id: id.to_string(),
        types: tag.map(str::to_owned).into_iter().collect(),
        ..Concept::default()
    };
    let chosen = names.iter().filter(|name| name.language != u8::MAX);
    let mut texts = chosen.map(|name| match name.kind {
        Kind::FullySpecified => semantic_tag(name.text).0.to_owned(),
        _ => name.text.to_owned(),
    });
    concept.name = texts.next()?;
    concept.synonyms = texts.collect();
    if concept.types.is_empty() {
        sink.report()
            .note(WITHOUT_TAG, || format!("{id} {}", concept.name));
    }
    let mut definitions = definitions.iter().map(|name| name.text.to_owned());
    concept.definition = definitions.next();
    for _ in definitions {
        sink.report().note(OTHER_DEFINITION, || id.to_string());
    }
    Some(concept)
}
