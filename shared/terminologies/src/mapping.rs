//! Mappings in SSSOM (Simple Standard for Sharing Ontological Mappings): concepts that match
//! exactly become one.

use super::names;
use super::prefixes::Prefixes;
use super::redirects::{Reason, Redirects};
use crate::import::Input;
use crate::import::concepts::{CONCEPTS, Ids, tidied};
use crate::import::merging::join;
use crate::import::report::Report;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::collections::HashMap;

/// The kind of record under which a report counts exact matches.
pub const MAPPINGS: &str = "exact matches";
/// The note on a mapping with another predicate.
pub const OTHER_PREDICATE: &str = "mapping other than skos:exactMatch left out";
/// The note on a mapping that says that two concepts do not match.
pub const NEGATED: &str = "negated mapping left out";
/// The note on a concept that became part of another.
pub const MERGED: &str = "concept merged into its exact match";
/// The note on a mapping without subject or object.
pub const NOT_FOUND: &str = "mapping without subject or object left out";

const EXACT_MATCH: &str = "http://www.w3.org/2004/02/skos/core#exactMatch";
const OBO: &str = "http://purl.obolibrary.org/obo/";

/// Groups of identifiers that match exactly, directly or over others.
#[derive(Debug, Default)]
pub struct ExactMatches {
    by_key: HashMap<String, usize>,
    /// The identifiers as the mapping writes them.
    curies: Vec<String>,
    /// For each identifier another one of its group; itself for one of them.
    parents: Vec<usize>,
}

impl ExactMatches {
    /// Reads a mapping: metadata in lines that begin with `#`, a header, and rows with tabs.
    ///
    /// # Errors
    /// If it cannot be read, has no columns `subject_id`, `predicate_id` and `object_id`, or a row
    /// has fewer fields than the header; the error names file and line.
    pub fn read(mut input: Input<'_>, report: &mut Report) -> Result<Self> {
        let mut matches = Self::default();
        let mut reader = SssomReader::default();
        let name = input.name;
        input.for_each_line(|line, text| match reader.line(text)? {
            None => Ok(()),
            Some(mapping) => {
                let place = || format!("{name}:{line}");
                matches.add(&mapping, report, place);
                Ok(())
            }
        })?;
        if reader.columns.is_none() {
            return Err(Error::input(format!(
                "{name}: the file has no header of a mapping in SSSOM"
            )));
        }
        Ok(matches)
    }

    fn add(&mut self, mapping: &Mapping, report: &mut Report, place: impl Fn() -> String) {
        let Mapping {
            subject,
            object,
            exact,
            negated,
        } = mapping;
        let blank = |id: &str| id.is_empty() || id == "sssom:NoTermFound";
        match () {
            () if blank(subject) || blank(object) => report.note(NOT_FOUND, place),
            () if *negated => report.note(NEGATED, place),
            () if !exact => report.note(OTHER_PREDICATE, place),
            () => {
                report.keep(MAPPINGS, 1);
                let (one, other) = (self.node(subject), self.node(object));
                let (one, other) = (self.root(one), self.root(other));
                // The root of a group is its first identifier.
                if let Some(parent) = self.parents.get_mut(one.max(other)) {
                    *parent = one.min(other);
                }
            }
        }
    }

    fn node(&mut self, curie: &str) -> usize {
        let next = self.curies.len();
        let node = *self.by_key.entry(key(curie)).or_insert(next);
        if node == next {
            self.curies.push(curie.to_owned());
            self.parents.push(next);
        }
        node
    }

    fn root(&mut self, mut node: usize) -> usize {
        while let Some(parent) = self.parents.get(node).copied().filter(|own| *own != node) {
            // Halves the path.
            let above = self.parents.get(parent).copied().unwrap_or(parent);
            if let Some(own) = self.parents.get_mut(node) {
                *own = above;
            }
            node = above;
        }
        node
    }

    /// The identifier in the mapping that is meant by a concept's identifier. One without a prefix
    /// is looked up under each of `prefixes`.
    fn find(&self, id: &str, prefixes: &[&str], sources: &[String]) -> Option<usize> {
        if id.contains(':') {
            return self.by_key.get(&key(id)).copied();
        }
        let cui = id.len() == 8
            && id.starts_with('C')
            && id.bytes().skip(1).all(|byte| byte.is_ascii_digit());
        let sources = sources.iter().map(String::as_str);
        let prefixes = prefixes.iter().copied().chain(sources);
        prefixes
            .chain(cui.then_some("UMLS"))
            .find_map(|prefix| self.by_key.get(&key(&format!("{prefix}:{id}"))).copied())
            .or_else(|| self.by_key.get(id).copied())
    }
}

/// The form in which identifiers are compared: the prefix in capitals.
fn key(curie: &str) -> String {
    match curie.split_once(':') {
        Some((prefix, local)) => format!("{}:{local}", prefix.to_uppercase()),
        None => curie.to_owned(),
    }
}

/// A row of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The identifier of the subject, as a CURIE where its prefix is known.
    pub subject: String,
    /// The identifier of the object, likewise.
    pub object: String,
    /// Whether the predicate is skos:exactMatch.
    pub exact: bool,
    /// Whether the row says that the predicate does not hold.
    pub negated: bool,
}

/// The state of reading a mapping line by line.
#[derive(Debug, Default)]
pub struct SssomReader {
    /// The prefixes of the metadata.
    prefixes: Prefixes,
    in_prefixes: bool,
    columns: Option<Columns>,
}

#[derive(Debug)]
struct Columns {
    count: usize,
    subject: usize,
    predicate: usize,
    object: usize,
    modifier: Option<usize>,
}

impl SssomReader {
    /// Reads a line; `None` for metadata, the header and blank lines.
    ///
    /// # Errors
    /// If the header lacks a column, or a row has fewer fields than the header or more that are not
    /// blank.
    pub fn line(&mut self, text: &str) -> Result<Option<Mapping>> {
        if let Some(metadata) = text.strip_prefix('#') {
            self.metadata(metadata);
            return Ok(None);
        }
        if text.trim().is_empty() {
            return Ok(None);
        }
        let fields: Vec<&str> = text.split('\t').map(str::trim).collect();
        let Some(columns) = &self.columns else {
            self.columns = Some(Columns::find(&fields)?);
            return Ok(None);
        };
        let spare = fields.get(columns.count..).unwrap_or_default();
        if fields.len() < columns.count || spare.iter().any(|field| !field.is_empty()) {
            return Err(Error::input(format!(
                "expected {} columns, found {}",
                columns.count,
                fields.len()
            )));
        }
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        let predicate = self.curie(field(columns.predicate));
        let negated = columns
            .modifier
            .is_some_and(|at| field(at).eq_ignore_ascii_case("not"));
        Ok(Some(Mapping {
            subject: self.curie(field(columns.subject)),
            object: self.curie(field(columns.object)),
            exact: predicate == "skos:exactMatch" || predicate == EXACT_MATCH,
            negated,
        }))
    }

    /// Reads the prefixes of `curie_map`, whose lines are indented.
    fn metadata(&mut self, line: &str) {
        let is_indented = line.starts_with([' ', '\t']);
        let Some((name, value)) = line.split_once(':') else {
            return;
        };
        let (name, value) = (unquoted(name), unquoted(value));
        // Some files indent all metadata.
        if name == "curie_map" {
            self.in_prefixes = true;
        } else if self.in_prefixes && is_indented && value.contains(':') {
            self.prefixes.add(name, value);
        } else {
            self.in_prefixes = false;
        }
    }

    /// An identifier as a CURIE: an IRI is shortened by the prefixes of the file.
    fn curie(&self, text: &str) -> String {
        let bare = text
            .strip_prefix('<')
            .and_then(|inner| inner.strip_suffix('>'));
        let text = bare.unwrap_or(text);
        if !text.contains("://") {
            return text.to_owned();
        }
        if let Some((prefix, local)) = self.prefixes.of(text).next() {
            return format!("{prefix}:{local}");
        }
        match text
            .strip_prefix(OBO)
            .and_then(|local| local.split_once('_'))
        {
            Some((prefix, local)) => format!("{prefix}:{local}"),
            None => text.to_owned(),
        }
    }
}

impl Columns {
    fn find(header: &[&str]) -> Result<Self> {
        for name in [
            "subject_id",
            "predicate_id",
            "object_id",
            "predicate_modifier",
        ] {
            let mut found = (1..).zip(header).filter(|(_, column)| **column == name);
            if let (Some((first, _)), Some((second, _))) = (found.next(), found.next()) {
                return Err(Error::input(format!(
                    "expected one column {name}, found the columns {first} and {second} of this name"
                )));
            }
        }
        let find = |name: &str| header.iter().position(|column| *column == name);
        let required = |name: &str| {
            find(name).ok_or_else(|| {
                Error::input(format!(
                    "expected a mapping in SSSOM with the column {name}, found {}",
                    header.join(", ")
                ))
            })
        };
        Ok(Self {
            count: header.len(),
            subject: required("subject_id")?,
            predicate: required("predicate_id")?,
            object: required("object_id")?,
            modifier: find("predicate_modifier"),
        })
    }
}

/// A YAML scalar without space and quotes around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(text)
}

/// Merges concepts that match exactly. Those of a mapping are held until the end.
#[derive(Debug)]
pub struct Merger {
    matches: ExactMatches,
    prefixes: &'static [&'static str],
    /// The place in `held` of each group, by its root.
    groups: HashMap<usize, usize>,
    held: Vec<Held>,
}

/// The concept of a group that came first, with those merged into it.
#[derive(Debug)]
struct Held {
    concept: Concept,
    root: usize,
    node: usize,
    merged: Vec<String>,
}

impl Merger {
    /// `prefixes` are those of identifiers without a prefix.
    #[must_use]
    pub fn new(matches: ExactMatches, prefixes: &'static [&'static str]) -> Self {
        Self {
            matches,
            prefixes,
            groups: HashMap::new(),
            held: Vec::new(),
        }
    }

    /// Takes a concept of the mapping; returns others.
    pub fn take(&mut self, concept: Concept) -> Option<Concept> {
        let found = self
            .matches
            .find(&concept.id, self.prefixes, &concept.sources);
        let Some(node) = found else {
            return Some(concept);
        };
        let root = self.matches.root(node);
        let at = *self.groups.entry(root).or_insert(self.held.len());
        match self.held.get_mut(at) {
            None => self.held.push(Held {
                concept,
                root,
                node,
                merged: Vec::new(),
            }),
            Some(first) => {
                first.merged.push(concept.id.clone());
                join(&mut first.concept, concept);
            }
        }
        None
    }

    /// The identifiers that are merged, each with that of its concept.
    pub fn merged(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.held.iter().flat_map(|held| {
            let all = held.merged.iter();
            all.map(|id| (id.clone(), held.concept.id.clone()))
        })
    }

    /// Passes the merged concepts to `write`, in the order of their first parts. The identifiers
    /// that were merged become redirects, and all that match become cross-references.
    ///
    /// # Errors
    /// The errors of `write`.
    pub fn finish(
        mut self,
        ids: &mut Ids,
        redirects: &mut Redirects,
        report: &mut Report,
        mut write: impl FnMut(Concept) -> Result<()>,
    ) -> Result<()> {
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        for node in 0..self.matches.curies.len() {
            let root = self.matches.root(node);
            if self.groups.contains_key(&root) {
                members.entry(root).or_default().push(node);
            }
        }
        for Held {
            mut concept,
            root,
            node,
            merged,
        } in self.held
        {
            for id in &merged {
                ids.remove(id);
                report.note(MERGED, || format!("{id} into {}", concept.id));
                redirects.add(id, Some(&concept.id), Reason::Mapped, report);
            }
            let others = members.remove(&root).unwrap_or_default();
            let others = others.into_iter().filter(|other| *other != node);
            let curies = others.filter_map(|other| self.matches.curies.get(other).cloned());
            concept.xrefs.extend(curies);
            let place = concept.id.clone();
            names::once_each(&mut concept, report, &|| place.clone());
            match tidied(concept, report, || place.clone()) {
                Ok(concept) => write(concept)?,
                Err(reason) => report.skip(reason, || place.clone()),
            }
            if let Some(count) = report.kept.get_mut(CONCEPTS) {
                *count = count.saturating_sub(merged.len());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Longest;

    const MAP: &str = "#mapping_set_id: https://example.org/m\n#curie_map:\n\
        #  MESH: \"http://id.nlm.nih.gov/mesh/\"\n#  HP: http://purl.obolibrary.org/obo/HP_\n\
        #license: CC0\n\
        subject_id\tsubject_label\tpredicate_id\tpredicate_modifier\tobject_id\tmapping_justification\n\
        MONDO:1\tfever\tskos:exactMatch\t\tUMLS:C0000001\tsemapv:ManualMappingCuration\n\
        mondo:1\t\"quoted\tskos:exactMatch\t\thttp://id.nlm.nih.gov/mesh/D01\tx\n\
        MONDO:2\t\tskos:closeMatch\t\tUMLS:C0000002\tx\n\
        MONDO:3\t\t<http://www.w3.org/2004/02/skos/core#exactMatch>\tNot\tUMLS:C0000003\tx\n\
        MONDO:4\t\tskos:exactMatch\t\tsssom:NoTermFound\tx\n\
        <http://purl.obolibrary.org/obo/DOID_7>\t\tskos:exactMatch\t\tMESH:D01\tx\n";

    fn concept(id: &str, name: &str) -> Concept {
        Concept {
            id: id.into(),
            name: name.into(),
            ..Concept::default()
        }
    }

    fn read(text: &str, report: &mut Report) -> Result<ExactMatches> {
        let input = Input {
            name: "m.sssom.tsv",
            reader: &mut text.as_bytes(),
            tick: &mut || Ok(()),
            longest: Longest::default(),
        };
        ExactMatches::read(input, report)
    }

    fn matches(text: &str) -> (ExactMatches, Report) {
        let mut report = Report::default();
        let matches = read(text, &mut report).expect("readable");
        (matches, report)
    }

    #[test]
    fn only_exact_matches_merge_and_over_others() {
        let (matches, mut report) = matches(MAP);
        assert_eq!(report.kept(MAPPINGS), 3);
        let noted = [OTHER_PREDICATE, NEGATED, NOT_FOUND].map(|reason| report.noted[reason]);
        assert_eq!(noted, [1, 1, 1]);
        let mut merger = Merger::new(matches, &["UMLS"]);
        let mut ids = Ids::default();
        report.keep(CONCEPTS, 5);
        let read = [
            concept("C0000001", "Fever"),
            concept("C0000002", "Cough"),
            concept("DOID:7", "pyrexia"),
            concept("MONDO:3", "chill"),
            concept("MONDO:1", "Fever"),
        ];
        let mut written = Vec::new();
        for concept in read {
            ids.insert(&concept.id);
            written.extend(merger.take(concept));
        }
        let mut redirects = Redirects::default();
        merger
            .finish(&mut ids, &mut redirects, &mut report, |concept| {
                written.push(concept);
                Ok(())
            })
            .expect("written");
        let names: Vec<_> = written.iter().map(|concept| concept.id.as_str()).collect();
        assert_eq!(names, ["C0000002", "MONDO:3", "C0000001"]);
        assert_eq!(written[2].synonyms, ["pyrexia"]);
        assert_eq!(written[2].xrefs, ["MONDO:1", "MESH:D01", "DOID:7"]);
        assert_eq!((report.kept(CONCEPTS), report.noted[MERGED]), (3, 2));
        let mut out = Vec::new();
        redirects
            .resolve(|id| ids.contains(id), &mut report)
            .and_then(|resolved| resolved.write(&mut out))
            .expect("written");
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            "id\treplaced_by\treason\nDOID:7\tC0000001\tmapped\nMONDO:1\tC0000001\tmapped\n"
        );
    }

    #[test]
    fn identifiers_without_prefix_are_found_by_source() {
        let (matches, _) = matches(
            "subject_id\tpredicate_id\tobject_id\nRXNORM:161\tskos:exactMatch\tUMLS:C0000970\n",
        );
        let found = |id: &str, prefixes: &[&str], sources: &[&str]| {
            let sources: Vec<String> = sources.iter().map(|source| (*source).to_owned()).collect();
            matches.find(id, prefixes, &sources).is_some()
        };
        assert!(found("161", &[], &["RXNORM"]) && found("161", &["RXNORM"], &[]));
        assert!(found("C0000970", &[], &["MSH"]) && found("umls:C0000970", &[], &[]));
        assert!(!found("161", &["MESH"], &[]) && !found("C000097", &[], &[]));
    }

    #[test]
    fn malformed_mapping_is_an_error_with_its_line() {
        for (text, message) in [
            (
                "#a\nsubject_id\tobject_id\n",
                "line 2: expected a mapping in SSSOM with the column predicate_id",
            ),
            (
                "subject_id\tpredicate_id\tobject_id\na:1\tskos:exactMatch\n",
                "line 2: expected 3 columns, found 2",
            ),
            (
                "subject_id\tpredicate_id\tobject_id\tobject_id\n",
                "line 1: expected one column object_id, found the columns 3 and 4 of this name",
            ),
            ("#a: b\n", "no header"),
        ] {
            let error = read(text, &mut Report::default()).expect_err(text);
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
