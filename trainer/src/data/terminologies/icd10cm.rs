//! ICD-10-CM: the order file (fixed width) and the tabular list (XML).
//!
//! The order file has every code with its short and long description. The tabular list has chapters,
//! sections and inclusion terms, but not the codes with a seventh character. Both together give
//! concepts with types and synonyms.

use super::xml::Elements;
use pel_shared::error::{Error, Result};
use pel_shared::kb::Concept;
use pel_shared::kb::import::concepts::{Concepts, single_spaced, tidied};
use pel_shared::kb::import::report::Report;
use pel_shared::kb::import::{Input, Longest};
use std::collections::HashMap;
use std::rc::Rc;

/// The source of the concepts, if no other is given.
pub const SOURCE: &str = "ICD10CM";
/// The note on a code that is left out because it is not billable.
pub const NOT_BILLABLE: &str = "code that is not billable left out";
/// The note on a note below `includes`: it describes a range of codes, not a name.
pub const INCLUDES: &str = "note of `includes` left out";
/// The note on a code of the tabular list that the order file lacks.
pub const NOT_IN_ORDER: &str = "code of the tabular list that is not in the order file";
/// The note on a code whose codes with a seventh character are in the order file alone.
pub const SEVENTH: &str = "code with a seventh character (its codes are in the order file alone)";
/// The reason for skipping a line that is not an order line.
pub const BAD_LINE: &str = "line is not an order line";
/// The reason for skipping a line with a code of an earlier one.
pub const REPEATED_CODE: &str = "line with a repeated code (first one used)";

/// The type of a code outside of all chapters.
const OTHER_TYPE: &str = "Diagnosis";

/// The chapters by their last category, for imports without the tabular list.
const CHAPTERS: [(&str, &str, &str); 22] = [
    ("A00", "B99", "Certain infectious and parasitic diseases"),
    ("C00", "D49", "Neoplasms"),
    (
        "D50",
        "D89",
        "Diseases of the blood and blood-forming organs and certain disorders involving the immune mechanism",
    ),
    ("E00", "E89", "Endocrine, nutritional and metabolic diseases"),
    (
        "F01",
        "F99",
        "Mental, Behavioral and Neurodevelopmental disorders",
    ),
    ("G00", "G99", "Diseases of the nervous system"),
    ("H00", "H59", "Diseases of the eye and adnexa"),
    ("H60", "H95", "Diseases of the ear and mastoid process"),
    ("I00", "I99", "Diseases of the circulatory system"),
    ("J00", "J99", "Diseases of the respiratory system"),
    ("K00", "K95", "Diseases of the digestive system"),
    (
        "L00",
        "L99",
        "Diseases of the skin and subcutaneous tissue",
    ),
    (
        "M00",
        "M99",
        "Diseases of the musculoskeletal system and connective tissue",
    ),
    ("N00", "N99", "Diseases of the genitourinary system"),
    ("O00", "O9A", "Pregnancy, childbirth and the puerperium"),
    (
        "P00",
        "P96",
        "Certain conditions originating in the perinatal period",
    ),
    (
        "Q00",
        "Q99",
        "Congenital malformations, deformations and chromosomal abnormalities",
    ),
    (
        "R00",
        "R99",
        "Symptoms, signs and abnormal clinical and laboratory findings, not elsewhere classified",
    ),
    (
        "S00",
        "T88",
        "Injury, poisoning and certain other consequences of external causes",
    ),
    ("U00", "U85", "Codes for special purposes"),
    ("V00", "Y99", "External causes of morbidity"),
    (
        "Z00",
        "Z99",
        "Factors influencing health status and contact with health services",
    ),
];

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether only codes that can be billed are kept.
    pub billable_only: bool,
    /// Whether the short descriptions, which abbreviate words, are left out.
    pub without_short: bool,
    /// Whether lines that are not order lines are counted and skipped.
    pub skip_bad: bool,
}

/// A code of the order file.
#[derive(Debug)]
struct Code {
    code: String,
    billable: bool,
    short: String,
    long: String,
    file: Rc<str>,
    line: usize,
}

/// A code of the tabular list.
#[derive(Debug)]
struct Diagnosis {
    code: String,
    name: String,
    inclusion_terms: Vec<String>,
    /// Whether no code is below it and no seventh character is added.
    billable: bool,
    place: String,
}

/// The codes of one release. Some 100,000 codes are held in memory.
#[derive(Debug, Default)]
pub struct Release {
    codes: Vec<Code>,
    by_code: HashMap<String, usize>,
    diagnoses: Vec<Diagnosis>,
    /// The chapter and section of each category: the first three characters of its codes.
    types: HashMap<String, Vec<String>>,
}

impl Release {
    /// Reads an order file.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is not an order line and the options do not skip it.
    pub fn read_order(
        &mut self,
        mut input: Input<'_>,
        options: &Options,
        report: &mut Report,
    ) -> Result<()> {
        let name = input.name;
        let file = Rc::<str>::from(name);
        input.for_each_line(|number, line| {
            if line.trim().is_empty() {
                return Ok(());
            }
            let code = match order_line(line) {
                Ok(code) => code,
                Err(why) if options.skip_bad => {
                    report.skip(BAD_LINE, || format!("{name}:{number}: {why}"));
                    return Ok(());
                }
                Err(why) => return Err(Error::input(why)),
            };
            if self.by_code.contains_key(&code.0) {
                report.skip(REPEATED_CODE, || format!("{} at {name}:{number}", code.0));
                return Ok(());
            }
            let (code, billable, short, long) = code;
            self.by_code.insert(code.clone(), self.codes.len());
            self.codes.push(Code {
                code,
                billable,
                short,
                long,
                file: Rc::clone(&file),
                line: number,
            });
            Ok(())
        })
    }

    /// Reads a tabular list. `decoded` says that the user has named the encoding.
    ///
    /// # Errors
    /// If the file cannot be read, is not well-formed, or is not a tabular list.
    pub fn read_tabular(
        &mut self,
        input: Input<'_>,
        decoded: bool,
        longest: Longest<'static>,
        report: &mut Report,
    ) -> Result<()> {
        let (mut xml, root) = Elements::open(input, decoded, longest)?;
        if root.name != "ICD10CM.tabular" {
            let found = &root.name;
            return Err(xml.error_at(
                root.line,
                &format!(
                    "expected the tabular list of ICD-10-CM (<ICD10CM.tabular>), found <{found}>"
                ),
            ));
        }
        while let Some(child) = xml.child()? {
            if child.name == "chapter" {
                self.chapter(&mut xml, report)?;
            } else {
                xml.skip()?;
            }
        }
        xml.finish()
    }

    fn chapter(&mut self, xml: &mut Elements<'_>, report: &mut Report) -> Result<()> {
        let mut chapter = String::new();
        while let Some(child) = xml.child()? {
            match child.name.as_str() {
                "desc" => chapter = without_range(&xml.text()?),
                "section" => {
                    let mut types = vec![chapter.clone()];
                    while let Some(child) = xml.child()? {
                        match child.name.as_str() {
                            "desc" => types.push(without_range(&xml.text()?)),
                            "diag" => {
                                self.diagnosis(xml, child.line, false, &types, report)?;
                            }
                            _ => xml.skip()?,
                        }
                    }
                }
                _ => xml.skip()?,
            }
        }
        Ok(())
    }

    /// Reads a code and the codes below it. `seventh` says that a code above it adds a seventh
    /// character.
    fn diagnosis(
        &mut self,
        xml: &mut Elements<'_>,
        line: u64,
        mut seventh: bool,
        types: &[String],
        report: &mut Report,
    ) -> Result<()> {
        xml.tick()?;
        let at = self.diagnoses.len();
        self.diagnoses.push(Diagnosis {
            code: String::new(),
            name: String::new(),
            inclusion_terms: Vec::new(),
            billable: true,
            place: xml.place(line),
        });
        let mut leaf = true;
        while let Some(child) = xml.child()? {
            let own = self.diagnoses.get_mut(at);
            match (child.name.as_str(), own) {
                ("name", Some(own)) => own.code = with_dot(xml.text()?.trim()),
                ("desc", Some(own)) => own.name = xml.text()?,
                ("inclusionTerm", Some(own)) => own.inclusion_terms.extend(xml.texts("note")?),
                ("includes", _) => {
                    for note in xml.texts("note")? {
                        report.note(INCLUDES, || format!("{note:?} at {}", xml.place(child.line)));
                    }
                }
                // It precedes the codes that it applies to.
                ("sevenChrDef", _) => {
                    seventh = true;
                    xml.skip()?;
                }
                ("diag", _) => {
                    leaf = false;
                    self.diagnosis(xml, child.line, seventh, types, report)?;
                }
                _ => xml.skip()?,
            }
        }
        if let Some(own) = self.diagnoses.get_mut(at) {
            own.billable = leaf && !seventh;
            if leaf && seventh {
                report.note(SEVENTH, || format!("{} at {}", own.code, own.place));
            }
            let category = own.code.get(..3).unwrap_or(&own.code).to_owned();
            self.types.entry(category).or_insert_with(|| types.to_vec());
        }
        Ok(())
    }

    /// Passes the concepts on, in the order of the order file, else of the tabular list.
    ///
    /// # Errors
    /// The errors of [`Concepts::push`].
    pub fn finish(self, options: &Options, concepts: &mut Concepts<'_>) -> Result<()> {
        let Self {
            codes,
            by_code,
            diagnoses,
            types,
        } = self;
        let mut terms: HashMap<String, Vec<String>> = HashMap::new();
        let mut alone = Vec::new();
        for diagnosis in diagnoses {
            if by_code.contains_key(&diagnosis.code) {
                let own = terms.entry(diagnosis.code).or_default();
                own.push(diagnosis.name);
                own.extend(diagnosis.inclusion_terms);
            } else {
                if !codes.is_empty() {
                    let Diagnosis { code, place, .. } = &diagnosis;
                    concepts
                        .report
                        .note(NOT_IN_ORDER, || format!("{code} at {place}"));
                }
                alone.push(diagnosis);
            }
        }
        let mut push = |code: String,
                        billable: bool,
                        name: String,
                        synonyms: Vec<String>,
                        place: &dyn Fn() -> String| {
            if options.billable_only && !billable {
                concepts
                    .report
                    .note(NOT_BILLABLE, || format!("{code} at {}", place()));
                return Ok(());
            }
            let concept = Concept {
                types: types_of(&code, &types),
                id: code,
                name,
                synonyms,
                sources: vec![SOURCE.to_owned()],
                ..Concept::default()
            };
            match tidied(concept, concepts.report, place) {
                Ok(concept) => concepts.push(concept, place),
                Err(reason) => {
                    concepts.report.skip(&format!("code with {reason}"), place);
                    Ok(())
                }
            }
        };
        for code in codes {
            let mut synonyms = terms.remove(&code.code).unwrap_or_default();
            // The name of the tabular list is the long description in nearly all codes.
            synonyms.retain(|term| *term != code.long);
            if !options.without_short && code.short != code.long {
                synonyms.push(code.short);
            }
            let (file, line) = (&code.file, code.line);
            push(code.code, code.billable, code.long, synonyms, &|| {
                format!("{file}:{line}")
            })?;
        }
        for diagnosis in alone {
            let place = diagnosis.place;
            push(
                diagnosis.code,
                diagnosis.billable,
                diagnosis.name,
                diagnosis.inclusion_terms,
                &|| place.clone(),
            )?;
        }
        Ok(())
    }
}

/// The chapter and section of a code, or its chapter.
fn types_of(code: &str, types: &HashMap<String, Vec<String>>) -> Vec<String> {
    let category = code.get(..3).unwrap_or(code);
    if let Some(types) = types.get(category) {
        return types.clone();
    }
    let chapter = CHAPTERS
        .iter()
        .find(|(first, last, _)| (*first..=*last).contains(&category));
    vec![chapter.map_or(OTHER_TYPE, |(_, _, name)| name).to_owned()]
}

/// A code with a dot behind its category.
fn with_dot(code: &str) -> String {
    match (code.contains('.'), code.split_at_checked(3)) {
        (false, Some((category, rest))) if !rest.is_empty() => format!("{category}.{rest}"),
        _ => code.to_owned(),
    }
}

/// A title of the tabular list without its codes in brackets.
fn without_range(title: &str) -> String {
    let title = single_spaced(title);
    let cut = title.rfind('(').and_then(|at| {
        let (name, range) = title.split_at_checked(at)?;
        let range = range.trim_start_matches('(').strip_suffix(')')?;
        let is_code = |code: &str| {
            (3..=4).contains(&code.len())
                && code.starts_with(|c: char| c.is_ascii_uppercase())
                && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        range.split('-').all(is_code).then(|| name.trim_end())
    });
    cut.unwrap_or(&title).to_owned()
}

/// Reads an order line: code, whether it is billable, short and long description.
fn order_line(line: &str) -> std::result::Result<(String, bool, String, String), String> {
    // Columns are characters. In releases whose columns are bytes, a letter such as "ö" in the short
    // description moves the long one.
    let chars: Vec<(usize, char)> = line.char_indices().collect();
    let column = |from: usize, to: usize| {
        let byte = |at: usize| chars.get(at).map_or(line.len(), |(byte, _)| *byte);
        line.get(byte(from)..byte(to)).unwrap_or_default()
    };
    let number = column(0, 5);
    if number.len() != 5 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!(
            "expected the order number, 5 digits, in columns 1 to 5, found {number:?}{}",
            if number.starts_with(|c: char| c.is_ascii_uppercase()) {
                " (is this the file of codes? take the order file, icd10cm_order_*.txt)"
            } else {
                ""
            }
        ));
    }
    if chars.len() < 78 {
        return Err(format!(
            "expected at least 78 columns, with the long description from column 78, found {}",
            chars.len()
        ));
    }
    let code = column(6, 13).trim_end();
    let is_code = (3..=7).contains(&code.len())
        && code.starts_with(|c: char| c.is_ascii_uppercase())
        && code
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if !is_code || column(5, 6) != " " || column(13, 14) != " " {
        return Err(format!(
            "expected a code of 3 to 7 letters and digits in columns 7 to 13, found {:?}",
            column(5, 14)
        ));
    }
    let billable = match column(14, 16) {
        "0 " => false,
        "1 " => true,
        other => {
            return Err(format!(
                "expected 0 or 1 (billable) in column 15, found {other:?}"
            ));
        }
    };
    let wide = if column(76, 77) == " " {
        Some((column(16, 76), column(77, usize::MAX)))
    } else {
        line.get(16..76)
            .zip(line.get(76..77))
            .filter(|(_, gap)| *gap == " ")
            .map(|(short, _)| (short, line.get(77..).unwrap_or_default()))
    };
    let Some((short, long)) = wide else {
        return Err(format!(
            "expected a space in column 77, between the short and the long description, found {:?}",
            column(76, 77)
        ));
    };
    let (short, long) = (single_spaced(short), single_spaced(long));
    if long.is_empty() {
        return Err("expected the long description from column 78, found none".to_owned());
    }
    Ok((with_dot(code), billable, short, long))
}
