//! The codes of a bundle's concepts.
//!
//! Each code has a number, in the order of systems and codes, and stands once with its name. A row
//! is four times the number of a code plus the match. Rows of a concept stand together, the
//! preferred ones first.

use super::list::Row;
use super::{CodeList, Match, Name, System};
use crate::ConceptId;
use crate::container::{self, Check, Container, Format};
use crate::error::{Error, Result};
use crate::numbers::Numbers;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const FORMAT: Format = Format {
    magic: b"PELCODES",
    version: 1,
    name: "code table",
};

/// The fields of the file.
#[derive(Serialize, Deserialize)]
struct Fields {
    concepts: usize,
    codes: usize,
    rows: usize,
    /// The prefixes of the systems that kinds stand for.
    systems: Vec<String>,
}

/// The bit of a kind from which on it says whether its code is billable: 0 unknown, 1 no, 2 yes.
const BILLABLE: u8 = 6;

/// The codes of concepts, read where they are.
#[derive(Debug)]
pub struct CodeTable {
    /// `[concepts + 1]`: the first row of each concept, and the end of the last one.
    starts: Numbers<u32>,
    /// `[rows]`
    rows: Numbers<u32>,
    /// `[codes]`: the system, and whether the code is billable.
    kinds: Bytes,
    codes: Texts,
    displays: Texts,
    systems: Vec<System>,
}

/// Texts that stand one after the other.
#[derive(Debug)]
struct Texts {
    /// `[n + 1]`: the start of each text in bytes, and the end of the last one.
    starts: Numbers<u32>,
    bytes: Bytes,
}

/// A code of a concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code<'a> {
    /// The system.
    pub system: System,
    /// The code.
    pub code: &'a str,
    /// The official name, if it is known.
    pub display: Option<&'a str>,
    /// How the meaning of the code stands to that of the concept.
    pub matches: Match,
    /// Whether the code may be billed, if the system says so.
    pub billable: Option<bool>,
}

/// What a table has of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SystemCounts {
    /// Concepts with a code.
    pub concepts: usize,
    /// Different codes.
    pub codes: usize,
    /// Codes of concepts, by [`Match`].
    pub exact: usize,
    /// Codes that contain their concept.
    pub broader: usize,
    /// Codes that are a part of their concept.
    pub parts: usize,
}

impl Texts {
    fn sections<'t>(texts: impl Iterator<Item = &'t str>) -> Result<(Vec<u32>, String)> {
        let (mut starts, mut all) = (vec![0], String::new());
        for text in texts {
            all.push_str(text);
            starts.push(number(all.len())?);
        }
        Ok((starts, all))
    }

    fn read(container: &Container<Fields>, starts: &str, texts: &str) -> Result<Self> {
        let count = container.fields.codes;
        let starts = numbers(container, starts, count.saturating_add(1))?;
        let bytes = container.section(texts)?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| damaged(format!("expected UTF-8 in `{texts}`")))?;
        check_starts(starts.get(), bytes.len(), texts)?;
        match starts
            .get()
            .iter()
            .all(|at| text.is_char_boundary(*at as usize))
        {
            true => Ok(Self { starts, bytes }),
            false => Err(damaged(format!("expected whole characters in `{texts}`"))),
        }
    }

    fn get(&self, at: usize) -> &str {
        let range = match self.starts.get().get(at..at.saturating_add(2)) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        };
        // They were checked when they were read.
        let bytes = self.bytes.get(range).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

fn damaged(message: String) -> Error {
    Error::artifact(format!("the code table: {message}"))
}

fn number(value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| damaged("expected texts below 4 GiB, found more".into()))
}

fn numbers(container: &Container<Fields>, name: &str, count: usize) -> Result<Numbers<u32>> {
    let bytes = count
        .checked_mul(4)
        .ok_or_else(|| damaged("its sizes are too large".into()))?;
    Ok(Numbers::new(container.section_of(name, bytes)?))
}

/// Checks that starts ascend from 0 to the end of what they divide.
fn check_starts(starts: &[u32], end: usize, of: &str) -> Result<()> {
    let last = starts.last().map(|last| *last as usize);
    match starts.is_sorted() && starts.first() == Some(&0) && last == Some(end) {
        true => Ok(()),
        false => Err(damaged(format!(
            "expected the starts of `{of}` in ascending order from 0 to {end}"
        ))),
    }
}

impl CodeTable {
    /// Encodes codes of this many concepts.
    ///
    /// # Errors
    /// If a code belongs to no concept, or there are too many.
    pub fn build(list: &CodeList, concepts: usize) -> Result<Vec<u8>> {
        let mut rows: Vec<&Row> = list.rows.iter().collect();
        rows.sort_by_key(|row| row.concept);
        if let Some(last) = rows.last().filter(|row| row.concept.index() >= concepts) {
            let last = last.concept.index();
            return Err(damaged(format!(
                "expected codes of concepts below {concepts}, found a code of concept {last}"
            )));
        }
        let all: BTreeSet<(System, &str)> = rows.iter().map(|row| key(row)).collect();
        let numbers: BTreeMap<(System, &str), usize> =
            all.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        let systems: BTreeSet<System> = all.iter().map(|(system, _)| *system).collect();
        let systems: Vec<System> = systems.into_iter().collect();
        let unnamed = Name::default();
        let names = all.iter().map(|(system, code)| {
            let name = list.names.get(&(*system, (*code).to_owned()));
            name.unwrap_or(&unnamed)
        });
        let names: Vec<&Name> = names.collect();
        let kinds: Vec<u8> = all
            .iter()
            .zip(&names)
            .map(|((system, _), name)| {
                let place = systems.iter().position(|one| one == system);
                let billable = name.billable.map_or(0, |billable| 1 + u8::from(billable));
                place.unwrap_or_default() as u8 | billable << BILLABLE
            })
            .collect();
        let (code_starts, codes) = Texts::sections(all.iter().map(|(_, code)| *code))?;
        let displays = names.iter().map(|name| name.display.as_str());
        let (display_starts, displays) = Texts::sections(displays)?;
        let encode = |row: &&Row| number(numbers[&key(row)] * 4 + row.matches as usize);
        let encoded = rows.iter().map(encode).collect::<Result<Vec<u32>>>()?;
        let mut starts = vec![0; concepts + 1];
        for row in &rows {
            starts[row.concept.index() + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let fields = Fields {
            concepts,
            codes: all.len(),
            rows: rows.len(),
            systems: systems.iter().map(|one| one.prefix().to_owned()).collect(),
        };
        let starts: Vec<u32> = starts;
        let sections: [(&str, &[u8]); 7] = [
            ("starts", bytemuck::cast_slice(&starts)),
            ("rows", bytemuck::cast_slice(&encoded)),
            ("kinds", &kinds),
            ("code_starts", bytemuck::cast_slice(&code_starts)),
            ("codes", codes.as_bytes()),
            ("display_starts", bytemuck::cast_slice(&display_starts)),
            ("displays", displays.as_bytes()),
        ];
        container::write(FORMAT, &fields, &sections)
    }

    /// Reads a table.
    ///
    /// # Errors
    /// If the bytes are truncated, altered, of another version, or inconsistent.
    pub fn from_bytes(bytes: &Bytes, check: Check) -> Result<Self> {
        let container = Container::<Fields>::read(FORMAT, bytes, check)?;
        let fields = &container.fields;
        let systems = fields.systems.iter().map(|prefix| {
            System::of_prefix(prefix).ok_or_else(|| {
                damaged(format!(
                    "expected a code system ({}), found {prefix:?}; a newer version of PEL may \
                     know it",
                    System::prefixes()
                ))
            })
        });
        let systems = systems.collect::<Result<Vec<System>>>()?;
        let starts = numbers(&container, "starts", fields.concepts.saturating_add(1))?;
        check_starts(starts.get(), fields.rows, "rows")?;
        let rows = numbers(&container, "rows", fields.rows)?;
        let is_row = |row: &u32| ((*row / 4) as usize) < fields.codes && *row % 4 < 3;
        if !rows.get().iter().all(is_row) {
            return Err(damaged("expected a code and a match in each row".into()));
        }
        let kinds = container.section_of("kinds", fields.codes)?;
        let is_kind = |kind: &u8| system_of(*kind) < systems.len() && kind >> BILLABLE < 3;
        if !kinds.iter().all(is_kind) {
            return Err(damaged("expected a code system for each code".into()));
        }
        Ok(Self {
            starts,
            rows,
            kinds,
            codes: Texts::read(&container, "code_starts", "codes")?,
            displays: Texts::read(&container, "display_starts", "displays")?,
            systems,
        })
    }

    /// The number of concepts, with codes and without.
    pub fn concepts(&self) -> usize {
        self.starts.get().len().saturating_sub(1)
    }

    /// The systems of the codes, in the order of their declaration.
    pub fn systems(&self) -> &[System] {
        &self.systems
    }

    /// The codes of a concept, the preferred ones first.
    pub fn of(&self, concept: ConceptId) -> impl Iterator<Item = Code<'_>> {
        let at = concept.index();
        let range = match self.starts.get().get(at..at.saturating_add(2)) {
            Some([start, end]) => *start as usize..*end as usize,
            _ => 0..0,
        };
        let rows = self.rows.get().get(range).unwrap_or_default();
        rows.iter().filter_map(|row| self.code(*row))
    }

    /// The official name of a code, if it is known.
    pub fn display(&self, system: System, code: &str) -> Option<&str> {
        let place = self.systems.iter().position(|own| *own == system)?;
        let (mut low, mut high) = (0, self.kinds.len());
        while low < high {
            let middle = low.midpoint(high);
            let own = (system_of(self.kinds[middle]), self.codes.get(middle));
            match own.cmp(&(place, code)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let display = self.displays.get(middle);
                    return Some(display).filter(|display| !display.is_empty());
                }
            }
        }
        None
    }

    fn code(&self, row: u32) -> Option<Code<'_>> {
        let at = (row / 4) as usize;
        let kind = *self.kinds.get(at)?;
        let display = self.displays.get(at);
        Some(Code {
            system: *self.systems.get(system_of(kind))?,
            code: self.codes.get(at),
            display: Some(display).filter(|display| !display.is_empty()),
            matches: *Match::ALL.get((row % 4) as usize)?,
            billable: match kind >> BILLABLE {
                1 => Some(false),
                2 => Some(true),
                _ => None,
            },
        })
    }

    /// The codes for concepts at other positions: `former` has, for each new position, the position of
    /// the concept in this table, if it was there.
    pub fn kept(&self, former: impl IntoIterator<Item = Option<ConceptId>>) -> CodeList {
        let mut list = CodeList::new();
        for (at, former) in (0..).map(ConceptId).zip(former) {
            for code in former.into_iter().flat_map(|former| self.of(former)) {
                list.push(at, code.system, code.code, code.matches);
                let name = Name {
                    display: code.display.unwrap_or_default().to_owned(),
                    billable: code.billable,
                };
                list.set_name(code.system, code.code, name);
            }
        }
        list
    }

    /// What the table has of each of its systems.
    pub fn counts(&self) -> BTreeMap<System, SystemCounts> {
        let mut counts = BTreeMap::<System, SystemCounts>::new();
        for kind in &self.kinds[..] {
            if let Some(system) = self.systems.get(system_of(*kind)) {
                counts.entry(*system).or_default().codes += 1;
            }
        }
        for at in 0..self.concepts() {
            let mut of_concept = BTreeSet::new();
            for code in self.of(ConceptId(at as u32)) {
                let counts = counts.entry(code.system).or_default();
                match code.matches {
                    Match::Exact => counts.exact += 1,
                    Match::Broader => counts.broader += 1,
                    Match::Parts => counts.parts += 1,
                    // No table has one.
                    Match::Combined => {}
                }
                counts.concepts += usize::from(of_concept.insert(code.system));
            }
        }
        counts
    }
}

fn key(row: &Row) -> (System, &str) {
    (row.system, &row.code)
}

fn system_of(kind: u8) -> usize {
    usize::from(kind & ((1 << BILLABLE) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes the header or the sections of a table.
    type Change<'a> = &'a dyn Fn(&mut Fields, &mut BTreeMap<String, Vec<u8>>);

    fn list() -> CodeList {
        let mut list = CodeList::new();
        list.push(ConceptId(2), System::RxNorm, "1191", Match::Parts);
        list.push(ConceptId(0), System::Icd10Cm, "I21.9", Match::Broader);
        list.push(ConceptId(0), System::SnomedCt, "22298006", Match::Exact);
        list.push(ConceptId(2), System::RxNorm, "7052", Match::Parts);
        list.push(ConceptId(2), System::Icd10Cm, "I21.9", Match::Exact);
        let name = Name {
            display: "Acute myocardial infarction, unspecified".into(),
            billable: Some(true),
        };
        list.set_name(System::Icd10Cm, "I21.9", name);
        let name = Name {
            display: "aspirin µ".into(),
            billable: None,
        };
        list.set_name(System::RxNorm, "1191", name);
        list.set_name(System::RxNorm, "9", Name::default());
        list
    }

    fn table() -> CodeTable {
        let bytes = CodeTable::build(&list(), 4).expect("it can be written");
        CodeTable::from_bytes(&bytes.into(), Check::Checksums).expect("whole")
    }

    fn of(table: &CodeTable, concept: u32) -> Vec<String> {
        let codes = table.of(ConceptId(concept));
        codes
            .map(|code| {
                format!(
                    "{}:{} {}",
                    code.system.prefix(),
                    code.code,
                    code.matches.name()
                )
            })
            .collect()
    }

    #[test]
    fn codes_of_a_concept_keep_their_order_and_names() {
        let table = table();
        assert_eq!(table.concepts(), 4);
        assert_eq!(
            of(&table, 0),
            ["ICD10CM:I21.9 broader", "SNOMEDCT:22298006 exact"]
        );
        assert_eq!(
            of(&table, 2),
            [
                "RXNORM:1191 parts",
                "RXNORM:7052 parts",
                "ICD10CM:I21.9 exact"
            ]
        );
        for without in [1, 3, 4, u32::MAX] {
            assert!(of(&table, without).is_empty(), "{without}");
        }
        let first: Vec<Code<'_>> = table.of(ConceptId(0)).collect();
        assert_eq!(
            first[0].display,
            Some("Acute myocardial infarction, unspecified")
        );
        assert_eq!((first[0].billable, first[1].billable), (Some(true), None));
        assert_eq!(first[1].display, None);
        let drug = table.of(ConceptId(2)).next().expect("a code");
        assert_eq!(drug.display, Some("aspirin µ"));
    }

    #[test]
    fn counts_are_by_system() {
        let counts = table().counts();
        let icd = counts[&System::Icd10Cm];
        assert_eq!(
            (icd.concepts, icd.codes, icd.exact, icd.broader),
            (2, 1, 1, 1)
        );
        let rxnorm = counts[&System::RxNorm];
        assert_eq!((rxnorm.concepts, rxnorm.codes, rxnorm.parts), (1, 2, 2));
        assert_eq!(counts.len(), 3);
    }

    #[test]
    fn kept_codes_follow_their_concepts_to_new_positions() {
        let former = [None, Some(ConceptId(2)), None, None, Some(ConceptId(0))];
        let list = table().kept(former);
        let bytes = CodeTable::build(&list, 5).expect("it can be written");
        let kept = CodeTable::from_bytes(&bytes.into(), Check::Checksums).expect("whole");
        assert_eq!(of(&kept, 1), of(&table(), 2));
        assert_eq!(of(&kept, 4), of(&table(), 0));
        assert!(of(&kept, 0).is_empty());
        let first = kept.of(ConceptId(4)).next().expect("a code");
        assert_eq!(
            (first.display.map(str::len), first.billable),
            (Some(40), Some(true))
        );
    }

    #[test]
    fn table_without_codes_is_valid() {
        let bytes = CodeTable::build(&CodeList::new(), 0).expect("it can be written");
        let table = CodeTable::from_bytes(&bytes.into(), Check::Checksums).expect("whole");
        assert!(table.concepts() == 0 && table.counts().is_empty());
        assert!(
            CodeTable::build(&list(), 2).is_err(),
            "a code of no concept"
        );
    }

    #[test]
    fn inconsistent_sections_are_errors() {
        let whole: Bytes = CodeTable::build(&list(), 4)
            .expect("it can be written")
            .into();
        let read = |change: Change<'_>| {
            let container =
                Container::<Fields>::read(FORMAT, &whole, Check::Checksums).expect("whole");
            let mut sections: BTreeMap<String, Vec<u8>> = container
                .sections()
                .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()))
                .collect();
            let mut fields = container.fields;
            change(&mut fields, &mut sections);
            let sections: Vec<(&str, &[u8])> = sections
                .iter()
                .map(|(name, bytes)| (name.as_str(), &bytes[..]))
                .collect();
            let bytes = container::write(FORMAT, &fields, &sections).expect("it can be written");
            CodeTable::from_bytes(&bytes.into(), Check::Checksums)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        let set = |name: &'static str, at: usize, value: u8| {
            move |_: &mut Fields, sections: &mut BTreeMap<String, Vec<u8>>| {
                sections.get_mut(name).expect("there")[at] = value;
            }
        };
        read(&|_, _| {}).expect("whole");
        for (change, expected) in [
            (set("starts", 0, 1), "starts of `rows`"),
            (set("starts", 4, 9), "starts of `rows`"),
            (set("rows", 0, 3), "a match in each row"),
            (set("rows", 0, 16), "a code and a match"),
            (set("kinds", 0, 3), "a code system for each code"),
            (set("kinds", 0, 0b1100_0000), "a code system for each code"),
            (set("code_starts", 4, 200), "starts of `codes`"),
            (set("displays", 0, 0xff), "UTF-8 in `displays`"),
        ] {
            let message = read(&change).expect_err(expected);
            assert!(message.contains(expected), "{message}");
        }
        let message = read(&|fields, _| fields.systems[0] = "NEW".into()).expect_err("unknown");
        assert!(message.contains("found \"NEW\""), "{message}");
        assert!(read(&|fields, _| fields.codes = usize::MAX).is_err());
        assert!(read(&|fields, _| fields.rows = usize::MAX).is_err());
        assert!(read(&|fields, _| fields.concepts = usize::MAX).is_err());
    }
}
