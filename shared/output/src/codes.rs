//! Codes of a linked concept in standard code systems, and which of them comes first.

use super::{Named, Record};
use pel_kb::ConceptId;
use pel_kb::codes::{Code, Match, System};
use pel_kb::error::Result;
use pel_kb::group::Group;
use pel_linker::Linker;
use pel_linker::bundle::Bundle;
use serde::{Deserialize, Serialize};

/// A code of a concept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NamedCode {
    /// The code system.
    pub system: System,
    /// The code.
    pub code: String,
    /// The official name, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// How the meaning of the code stands to that of the concept.
    #[serde(rename = "match")]
    pub matches: Match,
    /// Whether the code may be billed, if the system says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billable: Option<bool>,
}

impl From<Code<'_>> for NamedCode {
    fn from(code: Code<'_>) -> Self {
        Self {
            system: code.system,
            code: code.code.to_owned(),
            display: code.display.map(str::to_owned),
            matches: code.matches,
            billable: code.billable,
        }
    }
}

impl NamedCode {
    /// The codes of a concept of a bundle, the preferred ones first; none without codes.
    pub fn of_concept(bundle: &Bundle, concept: ConceptId) -> Vec<Self> {
        let codes = bundle.codes.iter().flat_map(|codes| codes.of(concept));
        codes.map(Self::from).collect()
    }

    /// The primary one of a concept's codes: that of the first system that a reader of its group
    /// expects, and that it has a code in.
    pub fn primary(codes: &[Self], group: Option<Group>) -> Option<Self> {
        primary(codes, expected(group))
    }

    /// The system and the code: `ICD10CM:I21.9`, or `~ICD10CM:I21.9` for a broader one.
    pub fn in_words(&self) -> String {
        let mark = match self.matches {
            Match::Broader => "~",
            Match::Exact | Match::Parts | Match::Combined => "",
        };
        format!("{mark}{}:{}", self.system.prefix(), self.code)
    }
}

/// The systems whose codes a reader of a group expects, best first.
fn expected(group: Option<Group>) -> &'static [System] {
    match group {
        Some(Group::Problem) => &[System::Icd10Cm, System::SnomedCt],
        Some(Group::Drug) => &[
            System::RxNorm,
            System::Cvx,
            System::MedRt,
            System::Unii,
            System::SnomedCt,
        ],
        Some(Group::Measurement) => &[System::Loinc, System::SnomedCt],
        Some(Group::Procedure | Group::Anatomy | Group::Device) | None => &[System::SnomedCt],
    }
}

/// The first code of the first of the systems that the concept has a code in. A part of the concept
/// is no code of it.
fn primary(codes: &[NamedCode], order: &[System]) -> Option<NamedCode> {
    let of = |system: &System| {
        let mut all = codes.iter();
        all.find(|code| code.system == *system && code.matches != Match::Parts)
    };
    order.iter().find_map(of).cloned()
}

impl Named {
    /// The preferred codes in a system: one, or those of all parts of the concept.
    pub fn preferred(&self, system: System) -> Vec<&NamedCode> {
        let own = self.codes.iter().filter(|code| code.system == system);
        let parts = own.clone().filter(|code| code.matches == Match::Parts);
        match own.clone().next() {
            Some(first) if first.matches != Match::Parts => vec![first],
            _ => parts.collect(),
        }
    }

    /// The preferred code in a system as one cell of a table, and how its meaning stands to that of
    /// the concept. Codes of parts have `|` between them.
    pub fn code_cell(&self, system: System) -> Option<(String, Match)> {
        let preferred = self.preferred(system);
        let matches = preferred.first()?.matches;
        let codes: Vec<&str> = preferred.iter().map(|code| code.code.as_str()).collect();
        Some((codes.join("|"), matches))
    }

    /// The primary code in words, or the codes of the parts of the concept; empty without any.
    pub fn code_in_words(&self) -> String {
        if let Some(code) = &self.code {
            return code.in_words();
        }
        let mut parts = self
            .codes
            .iter()
            .filter(|code| code.matches == Match::Parts);
        let Some(first) = parts.next() else {
            return String::new();
        };
        let further = parts.filter(|part| part.system == first.system);
        let mut words = first.in_words();
        for part in further {
            words += " + ";
            words += &part.code;
        }
        words
    }
}

impl Record {
    /// Gives the concept its codes. The primary one is what a reader of its group expects.
    pub(super) fn set_codes<'a>(&mut self, codes: impl Iterator<Item = Code<'a>>) {
        let group = self.group_of_concept();
        if let Ok(named) = &mut self.decision {
            named.codes = codes.map(NamedCode::from).collect();
            named.code = primary(&named.codes, expected(group));
        }
    }

    /// Chooses the primary code again, after its codes have changed.
    pub(super) fn choose_primary(&mut self) {
        let group = self.group_of_concept();
        if let Ok(named) = &mut self.decision {
            named.code = primary(&named.codes, expected(group));
        }
    }

    /// Gives the concept that a reader chose its codes: he may choose a candidate, which has none.
    ///
    /// # Errors
    /// If the identifiers of the bundle are damaged.
    pub fn complete_codes(&mut self, linker: &Linker) -> Result<()> {
        let (Ok(named), false) = (&self.decision, self.decided_by.is_machine()) else {
            return Ok(());
        };
        let bundle = linker.bundle();
        if let (Some(at), Some(codes)) = (linker.resolve(&named.id)?.concept(), &bundle.codes) {
            self.set_codes(codes.of(at));
        }
        Ok(())
    }

    /// Keeps the codes of these systems, in their order. The first one that the concept has is its
    /// primary code.
    pub fn keep_codes(&mut self, systems: &[System]) {
        if let Ok(named) = &mut self.decision {
            let place = |code: &NamedCode| systems.iter().position(|one| *one == code.system);
            named.codes.retain(|code| place(code).is_some());
            named.codes.sort_by_key(place);
            named.code = primary(&named.codes, systems);
        }
    }

    /// The group of the mention, or else of its concept.
    pub(super) fn group_of_concept(&self) -> Option<Group> {
        let of_concept = || {
            let named = self.decision.as_ref().ok()?;
            named.types.iter().find_map(|name| Group::of_label(name))
        };
        self.group.or_else(of_concept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use pel_text::Span;

    fn code(system: System, code: &'static str, matches: Match) -> Code<'static> {
        Code {
            system,
            code,
            display: None,
            matches,
            billable: None,
        }
    }

    fn coded(group: Group, codes: &[Code<'static>]) -> Record {
        let mut record = record(Span::new(0, 5));
        record.group = Some(group);
        record.decision = Ok(Named {
            id: "D1".into(),
            ..Named::default()
        });
        record.set_codes(codes.iter().copied());
        record
    }

    fn shown(record: &Record) -> String {
        record
            .decision
            .as_ref()
            .map(Named::code_in_words)
            .expect("linked")
    }

    #[test]
    fn primary_code_is_what_a_reader_of_the_group_expects() {
        let codes = [
            code(System::SnomedCt, "22298006", Match::Exact),
            code(System::Icd10Cm, "I21.9", Match::Broader),
            code(System::Loinc, "8310-5", Match::Exact),
            code(System::RxNorm, "1191", Match::Exact),
        ];
        for (group, expected) in [
            (Group::Problem, "~ICD10CM:I21.9"),
            (Group::Drug, "RXNORM:1191"),
            (Group::Measurement, "LOINC:8310-5"),
            (Group::Anatomy, "SNOMEDCT:22298006"),
        ] {
            assert_eq!(shown(&coded(group, &codes)), expected, "{group:?}");
        }
        assert_eq!(
            shown(&coded(Group::Problem, &codes[..1])),
            "SNOMEDCT:22298006"
        );
        assert_eq!(shown(&coded(Group::Problem, &[])), "");
    }

    #[test]
    fn codes_of_parts_are_shown_together_and_are_no_primary_code() {
        let codes = [
            code(System::RxNorm, "1191", Match::Parts),
            code(System::RxNorm, "7052", Match::Parts),
        ];
        let record = coded(Group::Drug, &codes);
        let named = record.decision.as_ref().expect("linked");
        assert_eq!(named.code, None);
        assert_eq!(named.code_in_words(), "RXNORM:1191 + 7052");
        assert_eq!(named.preferred(System::RxNorm).len(), 2);
    }

    #[test]
    fn cell_of_a_table_has_the_preferred_code_or_those_of_all_parts() {
        let codes = [
            code(System::Icd10Cm, "I21.9", Match::Broader),
            code(System::Icd10Cm, "I21", Match::Broader),
            code(System::RxNorm, "1191", Match::Parts),
            code(System::RxNorm, "7052", Match::Parts),
        ];
        let record = coded(Group::Problem, &codes);
        let named = record.decision.as_ref().expect("linked");
        let cell = |system| named.code_cell(system);
        let expected = ("I21.9".to_owned(), Match::Broader);
        assert_eq!(cell(System::Icd10Cm), Some(expected));
        let expected = ("1191|7052".to_owned(), Match::Parts);
        assert_eq!(cell(System::RxNorm), Some(expected));
        assert_eq!(cell(System::Loinc), None);
    }

    #[test]
    fn chosen_systems_are_kept_in_their_order() {
        let codes = [
            code(System::SnomedCt, "22298006", Match::Exact),
            code(System::Icd10Cm, "I21.9", Match::Exact),
            code(System::Icd10Cm, "I21", Match::Broader),
            code(System::Umls, "C0027051", Match::Exact),
        ];
        let mut record = coded(Group::Problem, &codes);
        record.keep_codes(&[System::Loinc, System::Umls, System::Icd10Cm]);
        let named = record.decision.as_ref().expect("linked");
        let kept: Vec<String> = named.codes.iter().map(NamedCode::in_words).collect();
        assert_eq!(kept, ["UMLS:C0027051", "ICD10CM:I21.9", "~ICD10CM:I21"]);
        assert_eq!(shown(&record), "UMLS:C0027051");
        assert_eq!(named.preferred(System::Icd10Cm).len(), 1);
        assert!(named.preferred(System::SnomedCt).is_empty());
    }
}
