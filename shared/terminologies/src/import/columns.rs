//! The columns of a concept table and their roles.

use pel_kb::Concept;
use pel_kb::error::{Error, Result};

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The identifier.
    Id,
    /// A name: the preferred one, or any if a concept has several rows.
    Name,
    /// Synonyms.
    Synonyms,
    /// The names of semantic types.
    Types,
    /// The identifiers of semantic types.
    TypeIds,
    /// The description.
    Definition,
    /// Cross-references to other vocabularies.
    Xrefs,
    /// The source vocabularies.
    Sources,
    /// Whether the row's name is the preferred one.
    Preferred,
}

impl Role {
    /// All roles, in the order of declaration.
    pub const ALL: [Self; 9] = [
        Self::Id,
        Self::Name,
        Self::Synonyms,
        Self::Types,
        Self::TypeIds,
        Self::Definition,
        Self::Xrefs,
        Self::Sources,
        Self::Preferred,
    ];

    /// The names of columns with this role, the default first, then aliases by priority.
    #[must_use]
    pub fn headers(self) -> &'static [&'static str] {
        match self {
            Self::Id => &[
                "id",
                "cui",
                "concept_id",
                "conceptid",
                "concept_code",
                "code",
                "identifier",
                "curie",
                "class_id",
            ],
            Self::Name => &[
                "name",
                "preferred_name",
                "preferred_label",
                "preferred_term",
                "label",
                "term",
                "str",
                "concept_name",
                "concept_synonym_name",
                "title",
            ],
            Self::Synonyms => &[
                "synonyms",
                "synonym",
                "aliases",
                "alias",
                "other_names",
                "alternative_names",
                "alt_names",
            ],
            Self::Types => &[
                "types",
                "type",
                "semantic_types",
                "semantic_type",
                "sty",
                "domain_id",
            ],
            Self::TypeIds => &["type_ids", "type_id", "tui", "tuis"],
            Self::Definition => &["definition", "definitions", "description", "def"],
            Self::Xrefs => &["xrefs", "xref", "cross_references"],
            Self::Sources => &[
                "sources",
                "source",
                "ontologies",
                "ontology",
                "vocabulary",
                "vocabulary_id",
                "sab",
            ],
            Self::Preferred => &[
                "name_status",
                "preferred",
                "is_preferred",
                "ispref",
                "pref",
                "tty",
                "ttyp",
                "term_type",
                "name_type",
                "ts",
            ],
        }
    }

    /// The name of the role in `--columns`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Synonyms => "synonyms",
            Self::Types => "types",
            Self::TypeIds => "type_ids",
            Self::Definition => "definition",
            Self::Xrefs => "xrefs",
            Self::Sources => "sources",
            Self::Preferred => "preferred",
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// The column with this name in the header, in any case.
    Named(String),
    /// The column with this number, from 1.
    Numbered(usize),
}

impl From<&str> for Column {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => write!(f, "{name:?}"),
            Self::Numbered(number) => write!(f, "{number}"),
        }
    }
}

/// The columns that the user assigned to roles. Others are found by [`Role::headers`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns([Option<Column>; 9]);

impl Columns {
    /// The column that the user assigned to a role.
    #[must_use]
    pub fn get(&self, role: Role) -> Option<&Column> {
        self.0.get(role as usize).and_then(Option::as_ref)
    }

    /// Assigns a column to a role.
    pub fn set(&mut self, role: Role, column: Column) {
        if let Some(place) = self.0.get_mut(role as usize) {
            *place = Some(column);
        }
    }

    /// Whether a column is assigned by its number.
    #[must_use]
    pub fn any_numbered(&self) -> bool {
        self.0
            .iter()
            .flatten()
            .any(|column| matches!(column, Column::Numbered(_)))
    }
}

/// The column of each role, counted from 0.
#[derive(Clone, Debug)]
pub(super) struct Places {
    places: [Option<usize>; 9],
    /// The roles whose columns have an alias as their name, with that name.
    pub other_names: Vec<(Role, String)>,
}

/// Normalises a column name for comparison with the aliases.
fn normalised(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-', '.'], "_")
}

impl Places {
    /// Finds the columns by their names, in any case.
    ///
    /// # Errors
    /// If a column that was assigned, or one for identifiers or names, is missing or ambiguous.
    pub fn find(header: &[String], columns: &Columns) -> Result<Self> {
        let found = || {
            header
                .iter()
                .map(|name| format!("{name:?}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let has = |name: &str| header.iter().any(|found| normalised(found) == name);
        // The id of a description is unique, so each name would become a concept.
        if columns.get(Role::Id).is_none() && has("conceptid") && has("effectivetime") {
            return Err(Error::input(
                "expected concepts, found descriptions of SNOMED CT (RF2), whose `id` is that of \
                 the description: set --columns id=conceptId,name=term",
            ));
        }
        let mut places = Self {
            places: [None; 9],
            other_names: Vec::new(),
        };
        for role in Role::ALL {
            let matching = |wanted: &dyn Fn(&str) -> bool| {
                header
                    .iter()
                    .enumerate()
                    .filter(|(_, name)| wanted(name))
                    .map(|(at, _)| at)
                    .collect::<Vec<_>>()
            };
            let (name, at) = match columns.get(role) {
                Some(Column::Numbered(number)) => {
                    if *number > header.len() || *number == 0 {
                        return Err(Error::input(format!(
                            "expected a column {number} for {}, found {} columns",
                            role.word(),
                            header.len()
                        )));
                    }
                    (number.to_string(), vec![*number - 1])
                }
                Some(Column::Named(name)) => {
                    let wanted = name.trim().to_lowercase();
                    let at = matching(&|found| found.trim().to_lowercase() == wanted);
                    (wanted, at)
                }
                None => {
                    let alias = role
                        .headers()
                        .iter()
                        .find(|alias| has(alias))
                        .unwrap_or(&role.headers()[0]);
                    let at = matching(&|found| normalised(found) == **alias);
                    if *alias != role.headers()[0]
                        && let Some(at) = at.first()
                    {
                        places
                            .other_names
                            .push((role, header[*at].trim().to_owned()));
                    }
                    ((*alias).to_owned(), at)
                }
            };
            let needed = matches!(role, Role::Id | Role::Name) || columns.get(role).is_some();
            match at[..] {
                [at] => places.places[role as usize] = Some(at),
                [] if !needed => {}
                [] => {
                    return Err(Error::input(format!(
                        "expected a column {name:?}, found the columns {}: check --delimiter, \
                         --columns and the --*-column options",
                        found()
                    )));
                }
                _ => {
                    let columns = found();
                    return Err(Error::input(format!(
                        "expected one column {name:?}, found several in the columns {columns}"
                    )));
                }
            }
        }
        Ok(places)
    }

    /// Finds the columns of a table without a header.
    ///
    /// # Errors
    /// If identifiers or names have no column, a column is assigned by name, or a number is too
    /// large.
    pub fn numbered(width: usize, columns: &Columns) -> Result<Self> {
        let mut places = Self {
            places: [None; 9],
            other_names: Vec::new(),
        };
        for role in Role::ALL {
            places.places[role as usize] = match columns.get(role) {
                Some(Column::Numbered(number)) if (1..=width).contains(number) => Some(*number - 1),
                Some(Column::Numbered(number)) => {
                    return Err(Error::input(format!(
                        "expected a column {number} for {}, found {width} columns: check \
                         --delimiter",
                        role.word()
                    )));
                }
                Some(Column::Named(name)) => {
                    return Err(Error::input(format!(
                        "expected column numbers, since other columns have some; found the name \
                         {name:?}: set --header if the table has a header"
                    )));
                }
                None if matches!(role, Role::Id | Role::Name) => {
                    return Err(Error::input(format!(
                        "expected the column number of {}, for example --columns id=1,name=2",
                        role.word()
                    )));
                }
                None => None,
            };
        }
        Ok(places)
    }

    /// Whether a column is used.
    pub fn uses(&self, at: usize) -> bool {
        self.places.contains(&Some(at))
    }

    /// Whether a row looks like a header: its identifier and name are column names.
    pub fn is_header(&self, cells: &[&str]) -> bool {
        [Role::Id, Role::Name].into_iter().all(|role| {
            let cell = self.cell(role, cells).map(normalised).unwrap_or_default();
            role.headers().contains(&cell.as_str())
        })
    }

    fn cell<'a>(&self, role: Role, cells: &[&'a str]) -> Option<&'a str> {
        self.places[role as usize]
            .and_then(|at| cells.get(at))
            .copied()
    }

    /// The concept of a row, and the row's mark of a preferred name. `within` separates the values
    /// of a cell.
    pub fn concept<'a>(&self, cells: &[&'a str], within: &str) -> (Concept, Option<&'a str>) {
        let list = |role: Role| -> Vec<String> {
            let cell = self.cell(role, cells).unwrap_or_default();
            let values = if within.is_empty() {
                vec![cell]
            } else {
                cell.split(within).collect()
            };
            values
                .into_iter()
                .filter(|value| !value.trim().is_empty())
                .map(str::to_owned)
                .collect()
        };
        // Some tables with a row for each name still have several names in a cell.
        let mut names = list(Role::Name).into_iter();
        let name = names.next().unwrap_or_default();
        let concept = Concept {
            id: self.cell(Role::Id, cells).unwrap_or_default().to_owned(),
            name,
            synonyms: names.chain(list(Role::Synonyms)).collect(),
            types: list(Role::Types),
            type_ids: list(Role::TypeIds),
            definition: self.cell(Role::Definition, cells).map(str::to_owned),
            xrefs: list(Role::Xrefs),
            sources: list(Role::Sources),
        };
        (concept, self.cell(Role::Preferred, cells))
    }
}

/// Marks of preferred names in lower case: MedCAT's `P`, UMLS's TS, STT, ISPREF and TTY, and words.
const PREFERRED: [&str; 19] = [
    "p",
    "y",
    "yes",
    "t",
    "true",
    "1",
    "pref",
    "preferred",
    "preferred name",
    "preferred term",
    "preferredterm",
    "preferred_name",
    "preferred_term",
    "pf",
    "pt",
    "pn",
    "mh",
    "main",
    "primary",
];

/// Whether a mark says that its name is the preferred one. `marks`, if not empty, replace the
/// default marks; case is ignored. By default a mark that repeats the name counts, too.
pub(super) fn is_preferred(mark: &str, name: &str, marks: &[String]) -> bool {
    let mark = mark.trim().to_lowercase();
    if marks.is_empty() {
        PREFERRED.contains(&mark.as_str()) || !mark.is_empty() && mark == name.trim().to_lowercase()
    } else {
        marks.iter().any(|one| one.trim().to_lowercase() == mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn columns(of: &[(Role, Column)]) -> Columns {
        let mut columns = Columns::default();
        of.iter()
            .for_each(|(role, column)| columns.set(*role, column.clone()));
        columns
    }

    #[test]
    fn columns_are_found_by_name_in_any_case() {
        let header = header(&["Preferred", "Code ", "SYNONYMS"]);
        let given = columns(&[(Role::Id, "code".into()), (Role::Name, "preferred".into())]);
        let places = Places::find(&header, &given).expect("they are there");
        let (concept, mark) = places.concept(&["fever", "R50", "pyrexia|febris"], "|");
        assert_eq!(
            [concept.id.as_str(), concept.name.as_str()],
            ["R50", "fever"]
        );
        assert_eq!(concept.synonyms, ["pyrexia", "febris"]);
        assert_eq!(concept.definition, None);
        assert_eq!(
            mark,
            Some("fever"),
            "the column `preferred` repeats the name"
        );
        let error = |columns: &Columns| {
            Places::find(&header, columns)
                .expect_err("missing")
                .to_string()
        };
        assert!(error(&Columns::default()).contains(
            r#"expected a column "name", found the columns "Preferred", "Code ", "SYNONYMS""#
        ));
        // An assigned column must exist, also an optional one.
        let mut given = given;
        given.set(Role::Definition, "gloss".into());
        assert!(error(&given).contains(r#"expected a column "gloss""#));
    }

    #[test]
    fn aliases_of_columns_are_found_and_reported() {
        let names = header(&[
            "CUI",
            "Concept Name",
            "name_status",
            "Semantic-Type",
            "more",
        ]);
        let places = Places::find(&names, &Columns::default()).expect("they are there");
        let (concept, mark) = places.concept(&["C1", "fever", "P", "Sign", "x"], "|");
        assert_eq!(
            [concept.id.as_str(), concept.name.as_str()],
            ["C1", "fever"]
        );
        assert_eq!(concept.types, ["Sign"]);
        assert_eq!(mark, Some("P"));
        assert!(!places.uses(4));
        let aliases: Vec<_> = places
            .other_names
            .iter()
            .map(|(role, name)| (role.word(), name.as_str()))
            .collect();
        assert_eq!(
            aliases,
            [
                ("id", "CUI"),
                ("name", "Concept Name"),
                ("types", "Semantic-Type")
            ]
        );
        let twice = Places::find(&header(&["id", "name", "ID"]), &Columns::default())
            .expect_err("twice")
            .to_string();
        assert!(
            twice.contains("expected one column \"id\", found several"),
            "{twice}"
        );
        let rf2 = header(&["id", "effectiveTime", "active", "conceptId", "term"]);
        let message = Places::find(&rf2, &Columns::default())
            .expect_err("the wrong id")
            .to_string();
        assert!(
            message.contains("--columns id=conceptId,name=term"),
            "{message}"
        );
    }

    #[test]
    fn numbered_columns_require_an_identifier_and_a_name() {
        use Column::Numbered;
        let find = |given: &[(Role, Column)]| {
            Places::numbered(3, &columns(given)).map_err(|error| error.to_string())
        };
        let places =
            find(&[(Role::Id, Numbered(3)), (Role::Name, Numbered(1))]).expect("the columns exist");
        let (concept, _) = places.concept(&["fever|pyrexia", "x", "R50"], "|");
        assert_eq!(
            [concept.id.as_str(), concept.name.as_str()],
            ["R50", "fever"]
        );
        assert_eq!(concept.synonyms, ["pyrexia"]);
        assert!(places.is_header(&["Name", "x", "CUI"]) && !places.is_header(&["Name", "x", "C1"]));
        for (given, expected) in [
            (&[(Role::Id, Numbered(1))][..], "the column number of name"),
            (
                &[(Role::Id, Numbered(1)), (Role::Name, Numbered(4))],
                "expected a column 4 for name, found 3 columns",
            ),
            (
                &[(Role::Id, Numbered(0)), (Role::Name, Numbered(1))],
                "expected a column 0",
            ),
            (
                &[(Role::Id, Numbered(1)), (Role::Name, "term".into())],
                "found the name \"term\"",
            ),
        ] {
            let error = find(given).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn default_and_given_marks_of_preferred_names() {
        for mark in ["P", "y", "PT", "1", " true ", "Preferred"] {
            assert!(is_preferred(mark, "fever", &[]), "{mark}");
        }
        for mark in ["A", "N", "SY", "0", "false", "", "S", "no"] {
            assert!(!is_preferred(mark, "fever", &[]), "{mark}");
        }
        assert!(is_preferred("Fever", "fever", &[]) && !is_preferred("P", "fever", &["SY".into()]));
        assert!(is_preferred("sy", "fever", &["SY".into()]));
    }
}
