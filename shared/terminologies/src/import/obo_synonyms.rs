//! OBO synonyms: their scope, and their type, which may mark a synonym as withdrawn or wrong.

use super::obo_syntax::{identifier, quoted_line, unquoted_line};
use std::collections::{BTreeSet, HashMap};

/// The scope of a synonym in OBO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The same meaning.
    Exact,
    /// A broader meaning.
    Broad,
    /// A narrower meaning.
    Narrow,
    /// A related meaning.
    Related,
}

impl Scope {
    /// Parses a scope, in any case.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        match word.to_ascii_uppercase().as_str() {
            "EXACT" => Some(Self::Exact),
            "BROAD" => Some(Self::Broad),
            "NARROW" => Some(Self::Narrow),
            "RELATED" => Some(Self::Related),
            _ => None,
        }
    }

    /// The scope of a tag of OBO 1.0, such as `exact_synonym`.
    fn of_tag(tag: &str) -> Option<Self> {
        tag.strip_suffix("_synonym").and_then(Self::read)
    }

    /// The note on synonyms of this scope that are left out.
    pub fn left_out(self) -> &'static str {
        match self {
            Self::Exact => "EXACT synonym left out",
            Self::Broad => "BROAD synonym left out",
            Self::Narrow => "NARROW synonym left out",
            Self::Related => "RELATED synonym left out",
        }
    }
}

/// The synonyms that become names.
#[derive(Clone, Debug)]
pub struct SynonymChoice {
    /// The accepted scopes.
    pub scopes: Vec<Scope>,
    /// Types that are accepted although they mark a name as withdrawn or wrong, in any case.
    pub with_types: BTreeSet<String>,
    /// Types that are left out in addition.
    pub without_types: BTreeSet<String>,
}

impl SynonymChoice {
    /// Accepts synonyms of some scopes, except for withdrawn or wrong ones.
    #[must_use]
    pub fn of(scopes: &[Scope]) -> Self {
        Self {
            scopes: scopes.to_vec(),
            with_types: BTreeSet::new(),
            without_types: BTreeSet::new(),
        }
    }

    /// Why a synonym of a scope and type is left out; `None` if it is a name. `withdrawn` says that
    /// its type marks it as withdrawn or wrong.
    #[must_use]
    pub fn refuses(&self, scope: Scope, kind: Option<&str>, withdrawn: bool) -> Option<String> {
        let within = |types: &BTreeSet<String>| {
            kind.is_some_and(|kind| types.iter().any(|one| one.eq_ignore_ascii_case(kind)))
        };
        match kind {
            Some(kind) if within(&self.without_types) || withdrawn && !within(&self.with_types) => {
                Some(format!("synonym of type {kind} left out"))
            }
            _ if !self.scopes.contains(&scope) => Some(scope.left_out().to_owned()),
            _ => None,
        }
    }
}

/// Starts of words in a type's name or description that mark a synonym as withdrawn or wrong.
const WITHDRAWN: [&str; 14] = [
    "exclud",
    "deprecat",
    "obsolet",
    "discard",
    "withdraw",
    "remov",
    "misspel",
    "misspelt",
    "misnomer",
    "incorrect",
    "erroneous",
    "wrong",
    "dubious",
    "retired",
];

/// The same for identifiers of the OBO Metadata Ontology that a file does not declare: dubious,
/// misspelling, misnomer.
const WITHDRAWN_OMO: [&str; 3] = ["0003002", "0003006", "0003007"];

/// A synonym type that the header of a file declares.
#[derive(Debug, Default)]
struct Declared {
    withdrawn: bool,
    scope: Option<Scope>,
}

/// The synonym types that the header of a file declares.
#[derive(Debug, Default)]
pub(super) struct SynonymTypes(HashMap<String, Declared>);

impl SynonymTypes {
    /// Reads `synonymtypedef: ID "description" SCOPE`.
    pub fn declare(&mut self, value: &str) {
        let id = last_part(value.split_whitespace().next().unwrap_or_default());
        let (description, rest) = match value
            .find('"')
            .and_then(|quote| quoted_line(value.get(quote..)?))
        {
            Some(found) => (found.text, found.rest),
            None => (String::new(), ""),
        };
        let scope = rest.split_whitespace().next().and_then(Scope::read);
        self.0.insert(
            id.to_lowercase(),
            Declared {
                withdrawn: withdraws(&id) || withdraws(&description),
                scope,
            },
        );
    }

    fn withdrawn(&self, id: &str) -> bool {
        self.0
            .get(&id.to_lowercase())
            .map_or_else(|| withdraws(id), |declared| declared.withdrawn)
    }
}

/// The name of a synonym type without a URL or prefix: `OMO_0003006` of
/// `http://purl.obolibrary.org/obo/OMO_0003006`.
#[must_use]
pub fn last_part(id: &str) -> String {
    let id = identifier(id);
    id.rsplit(['/', '#']).next().unwrap_or(&id).to_owned()
}

/// Whether a synonym type's name or description marks its synonyms as withdrawn or wrong.
#[must_use]
pub fn withdraws(text: &str) -> bool {
    let omo = text.to_uppercase();
    let number = omo
        .strip_prefix("OMO:")
        .or_else(|| omo.strip_prefix("OMO_"));
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphabetic());
    number.is_some_and(|number| WITHDRAWN_OMO.contains(&number))
        || words.any(|word| WITHDRAWN.iter().any(|start| word.starts_with(start)))
}

/// A synonym line.
#[derive(Debug)]
pub(super) struct Synonym {
    pub text: String,
    pub scope: Scope,
    /// The type, if there is one.
    pub kind: Option<String>,
    /// Whether its type marks it as withdrawn or wrong.
    pub withdrawn: bool,
    /// Whether quotes around it were missing, or quotes in it were not escaped.
    pub repaired: bool,
}

impl Synonym {
    /// Reads the value of a line `synonym`, `exact_synonym` and so on; `None` if it has no text.
    pub fn read(tag: &str, value: &str, types: &SynonymTypes) -> Option<Self> {
        let line = quoted_line(value).or_else(|| unquoted_line(value))?;
        let mut words = line
            .rest
            .split(['[', '{'])
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let mut scope = Scope::of_tag(tag);
        let mut kind = None;
        for word in words
            .by_ref()
            .take(2)
            .take_while(|word| !word.starts_with('!'))
        {
            match (Scope::read(word), scope) {
                (Some(read), None) => scope = Some(read),
                // In OBO 1.0 the tag determines the scope.
                (Some(_), Some(_)) => {}
                (None, _) => kind = Some(last_part(word)),
            }
        }
        // Without a scope, OBO takes that of the type, and then RELATED.
        let declared = kind
            .as_ref()
            .and_then(|kind| types.0.get(&kind.to_lowercase()));
        let scope = scope
            .or_else(|| declared.and_then(|declared| declared.scope))
            .unwrap_or(Scope::Related);
        let withdrawn = kind.as_ref().is_some_and(|kind| types.withdrawn(kind));
        Some(Self {
            text: line.text,
            scope,
            kind,
            withdrawn,
            repaired: line.repaired,
        })
    }

    /// Why the synonym is left out by a choice; `None` if it is a name.
    pub fn refused(&self, choice: &SynonymChoice) -> Option<String> {
        choice.refuses(self.scope, self.kind.as_deref(), self.withdrawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types() -> SynonymTypes {
        let mut types = SynonymTypes::default();
        for line in [
            "EXCLUDE \"Synonyms to be removed from public release\"",
            "DEPRECATED \"A synonym that is deprecated\" EXACT",
            "obsolete_synonym \"discarded/obsoleted synonym\"",
            "ABBREVIATION \"abbreviation\" EXACT",
            "http\\://purl.obolibrary.org/obo/X_1 \"common misspelling\"",
            "bare",
        ] {
            types.declare(line);
        }
        types
    }

    #[test]
    fn scope_and_type_are_parsed() {
        let types = types();
        let read = |tag: &str, value: &str| {
            let synonym = Synonym::read(tag, value, &types).expect(value);
            (synonym.scope, synonym.kind, synonym.withdrawn)
        };
        let kind = |kind: &str| Some(kind.to_owned());
        for (tag, value, expected) in [
            (
                "synonym",
                r#""MM" EXACT ABBREVIATION [X:1 "y"]"#,
                (Scope::Exact, kind("ABBREVIATION"), false),
            ),
            ("synonym", r#""MM" exact []"#, (Scope::Exact, None, false)),
            (
                "synonym",
                r#""MM" ABBREVIATION []"#,
                (Scope::Exact, kind("ABBREVIATION"), false),
            ),
            ("synonym", r#""MM" []"#, (Scope::Related, None, false)),
            ("synonym", r#""MM""#, (Scope::Related, None, false)),
            ("broad_synonym", r#""MM" []"#, (Scope::Broad, None, false)),
            (
                "exact_synonym",
                r#""MM" EXCLUDE []"#,
                (Scope::Exact, kind("EXCLUDE"), true),
            ),
            (
                "synonym",
                r#""MM" EXACT deprecated []"#,
                (Scope::Exact, kind("deprecated"), true),
            ),
            (
                "synonym",
                r#""MM" EXACT obsolete_synonym []"#,
                (Scope::Exact, kind("obsolete_synonym"), true),
            ),
            (
                "synonym",
                r#""MM" EXACT MISSPELLING []"#,
                (Scope::Exact, kind("MISSPELLING"), true),
            ),
            (
                "synonym",
                r#""MM" EXACT http\://purl.obolibrary.org/obo/X_1 []"#,
                (Scope::Exact, kind("X_1"), true),
            ),
            (
                "synonym",
                r#""MM" EXACT OMO:0003006 []"#,
                (Scope::Exact, kind("OMO:0003006"), true),
            ),
            (
                "synonym",
                r#""MM" EXACT OMO:0003012 []"#,
                (Scope::Exact, kind("OMO:0003012"), false),
            ),
            (
                "synonym",
                r#""MM" EXACT layperson [] {source="x"} ! EXCLUDE"#,
                (Scope::Exact, kind("layperson"), false),
            ),
        ] {
            assert_eq!(read(tag, value), expected, "{value}");
        }
    }

    #[test]
    fn withdrawn_synonyms_are_left_out_unless_their_type_is_accepted() {
        let types = types();
        let mut choice = SynonymChoice::of(&[Scope::Exact]);
        let refused = |value: &str, choice: &SynonymChoice| {
            Synonym::read("synonym", value, &types)
                .expect(value)
                .refused(choice)
        };
        assert_eq!(
            refused(r#""a" EXACT EXCLUDE []"#, &choice).as_deref(),
            Some("synonym of type EXCLUDE left out")
        );
        assert_eq!(
            refused(r#""a" NARROW []"#, &choice).as_deref(),
            Some("NARROW synonym left out")
        );
        assert_eq!(refused(r#""a" EXACT ABBREVIATION []"#, &choice), None);
        choice.with_types.insert("exclude".into());
        choice.without_types.insert("abbreviation".into());
        assert_eq!(refused(r#""a" EXACT EXCLUDE []"#, &choice), None);
        assert_eq!(
            refused(r#""a" EXACT ABBREVIATION []"#, &choice).as_deref(),
            Some("synonym of type ABBREVIATION left out")
        );
    }
}
