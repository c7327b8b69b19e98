//! ICD-10-CM: the order file (fixed width) and the tabular list (XML).
//!
//! The order file has every code with its short and long description. The tabular list has
//! chapters, sections and inclusion terms, but not the codes with a seventh character. Both
//! together give concepts with types and synonyms.

use super::Sink;
use super::parents::Place;
use super::release::{ReleaseFile, ReleaseFiles};
use super::xml::{self, Elements};
use crate::import::concepts::single_spaced;
use crate::import::{Longest, for_each_line_within};
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::rc::Rc;

/// The prefixes of identifiers in mappings.
pub const PREFIXES: &[&str] = &["ICD10CM"];

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
        "Diseases of the blood and blood-forming organs and certain disorders involving the immune \
         mechanism",
    ),
    (
        "E00",
        "E89",
        "Endocrine, nutritional and metabolic diseases",
    ),
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
    ("L00", "L99", "Diseases of the skin and subcutaneous tissue"),
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

/// Reads an order file, a tabular list, or both.
///
/// # Errors
/// If a file cannot be read, or is neither; if a line is not an order line and the options do not
/// skip it.
pub fn read(release: &ReleaseFiles, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
    let files = &release.files;
    // An archive also has addenda, the index and files of codes alone.
    let several = release.is_expanded();
    let wanted = |file: &&ReleaseFile| {
        let name = file.plain_name().to_lowercase().replace('-', "_");
        let order = name.contains("order") && name.ends_with(".txt");
        let tabular = name.contains("tabular") && name.ends_with(".xml");
        !several || (order || tabular) && !name.contains("addenda")
    };
    let (mut codes, host) = (Release::default(), sink.host());
    for file in files.iter().filter(wanted) {
        let label = file.label();
        let read = codes.read_file(file, &label, options, sink);
        read.map_err(|error| host.read_error(&label, error))?;
    }
    if codes.codes.is_empty() && codes.diagnoses.is_empty() {
        return Err(Error::input(format!(
            "{}: there are no codes; give icd10cm_order_*.txt or icd10cm_tabular_*.xml",
            release.given.join(", ")
        )));
    }
    codes.finish(options, sink)
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
    fn read_file(
        &mut self,
        file: &ReleaseFile,
        label: &str,
        options: &Options,
        sink: &mut Sink<'_, '_>,
    ) -> Result<()> {
        let mut reader = file.open_xml()?;
        let mut head = Vec::new();
        reader
            .by_ref()
            .take(1 << 10)
            .read_to_end(&mut head)
            .map_err(|cause| xml::read_error(label, cause))?;
        let text = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
        let is_xml = text.trim_ascii_start().starts_with(b"<");
        let mut whole: Box<dyn BufRead> = Box::new(std::io::Cursor::new(head).chain(reader));
        if is_xml {
            self.read_tabular(label, whole, sink.host().longest(), sink)
        } else {
            self.read_order(label, &mut whole, options, sink)
        }
    }

    /// Reads an order file.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is not an order line and the options do not skip it.
    pub fn read_order(
        &mut self,
        name: &str,
        reader: &mut dyn BufRead,
        options: &Options,
        sink: &mut Sink<'_, '_>,
    ) -> Result<()> {
        let (file, host) = (Rc::<str>::from(name), sink.host());
        for_each_line_within(
            name,
            reader,
            host.longest(),
            &mut || host.check(),
            |number, line| {
                sink.tick()?;
                if line.trim().is_empty() {
                    return Ok(());
                }
                let (code, billable, short, long) = match order_line(line) {
                    Ok(code) => code,
                    Err(why) if options.skip_bad => {
                        sink.report()
                            .skip(BAD_LINE, || format!("{name}:{number}: {why}"));
                        return Ok(());
                    }
                    Err(why) => return Err(Error::input(why)),
                };
                if self.by_code.contains_key(&code) {
                    sink.report()
                        .skip(REPEATED_CODE, || format!("{code} at {name}:{number}"));
                    return Ok(());
                }
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
            },
        )
    }

    /// Reads a tabular list, for which `reader` gives UTF-8.
    ///
    /// # Errors
    /// If the file cannot be read, is not well-formed, or is not a tabular list.
    pub fn read_tabular(
        &mut self,
        name: &str,
        reader: Box<dyn BufRead>,
        longest: Longest<'static>,
        sink: &mut Sink<'_, '_>,
    ) -> Result<()> {
        let (mut xml, root) = Elements::open(name, reader, longest)?;
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
                self.chapter(&mut xml, sink)?;
            } else {
                xml.skip()?;
            }
        }
        xml.finish()
    }

    fn chapter(&mut self, xml: &mut Elements, sink: &mut Sink<'_, '_>) -> Result<()> {
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
                                self.diagnosis(xml, child.line, false, &types, sink)?;
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
        xml: &mut Elements,
        line: u64,
        mut seventh: bool,
        types: &[String],
        sink: &mut Sink<'_, '_>,
    ) -> Result<()> {
        sink.tick()?;
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
                        let place = || format!("{note:?} at {}", xml.place(child.line));
                        sink.report().note(INCLUDES, place);
                    }
                }
                // It precedes the codes that it applies to.
                ("sevenChrDef", _) => {
                    seventh = true;
                    xml.skip()?;
                }
                ("diag", _) => {
                    leaf = false;
                    self.diagnosis(xml, child.line, seventh, types, sink)?;
                }
                _ => xml.skip()?,
            }
        }
        if let Some(own) = self.diagnoses.get_mut(at) {
            own.billable = leaf && !seventh;
            if leaf && seventh {
                sink.report()
                    .note(SEVENTH, || format!("{} at {}", own.code, own.place));
            }
            let category = own.code.get(..3).unwrap_or(&own.code).to_owned();
            self.types.entry(category).or_insert_with(|| types.to_vec());
        }
        Ok(())
    }

    /// Passes the concepts on, in the order of the order file, else of the tabular list.
    ///
    /// # Errors
    /// The errors of [`Sink::concept`].
    pub fn finish(self, options: &Options, sink: &mut Sink<'_, '_>) -> Result<()> {
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
                own.push(single_spaced(&diagnosis.name));
                own.extend(diagnosis.inclusion_terms);
            } else {
                if !codes.is_empty() {
                    let Diagnosis { code, place, .. } = &diagnosis;
                    sink.report()
                        .note(NOT_IN_ORDER, || format!("{code} at {place}"));
                }
                alone.push(diagnosis);
            }
        }
        let mut passed = Vec::new();
        let mut push = |concept: Concept, billable: bool, place: &str| {
            if sink.wants_parents() {
                passed.push(concept.id.clone());
            }
            if options.billable_only && !billable {
                sink.report()
                    .note(NOT_BILLABLE, || format!("{} at {place}", concept.id));
                return Ok(());
            }
            let concept = Concept {
                types: types_of(&concept.id, &types),
                ..concept
            };
            sink.concept(concept, || place.to_owned())
        };
        for code in codes {
            let mut synonyms = terms.remove(&code.code).unwrap_or_default();
            // The name of the tabular list is the long description in nearly all codes.
            synonyms.retain(|term| *term != code.long);
            if !options.without_short && code.short != code.long {
                synonyms.push(code.short);
            }
            let concept = Concept {
                id: code.code,
                name: code.long,
                synonyms,
                ..Concept::default()
            };
            push(
                concept,
                code.billable,
                &format!("{}:{}", code.file, code.line),
            )?;
        }
        for diagnosis in alone {
            let concept = Concept {
                id: diagnosis.code,
                name: diagnosis.name,
                synonyms: diagnosis.inclusion_terms,
                ..Concept::default()
            };
            push(concept, diagnosis.billable, &diagnosis.place)?;
        }
        for code in passed {
            state_parent(&code, sink);
        }
        Ok(())
    }
}

/// States that a code is below the longest imported code that it begins with, else below its chapter.
fn state_parent(code: &str, sink: &mut Sink<'_, '_>) {
    let place = Place { file: "", line: 0 };
    let mut above = code;
    while let Some((at, _)) = above.char_indices().next_back() {
        above = above.get(..at).unwrap_or_default().trim_end_matches('.');
        if sink.contains(above) {
            return sink.parent(code, above, place);
        }
    }
    if let Some((first, last, name)) = chapter_of(code) {
        let chapter = format!("{SOURCE}:{first}-{last}");
        sink.parents().code(&chapter, name);
        sink.parent(code, &chapter, place);
    }
}

/// The first and last category and the name of the chapter of a code.
fn chapter_of(code: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let category = code.get(..3).unwrap_or(code);
    let mut chapters = CHAPTERS.iter().copied();
    chapters.find(|(first, last, _)| (*first..=*last).contains(&category))
}

/// The chapter and section of a code, or its chapter.
fn types_of(code: &str, types: &HashMap<String, Vec<String>>) -> Vec<String> {
    let category = code.get(..3).unwrap_or(code);
    if let Some(types) = types.get(category) {
        return types.clone();
    }
    let chapter = chapter_of(code);
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
    // Columns are characters. In releases whose columns are bytes, a letter such as "ö" in the
    // short description moves the long one.
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
        return Err("the code has no long description from column 78 on".to_owned());
    }
    Ok((with_dot(code), billable, short, long))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_order_line_reads_back_equal(
            code in "[A-Z][0-9][0-9A-Z][0-9A-Z]{0,4}",
            billable in any::<bool>(),
            short in "[a-zäé][ a-zäé]{0,59}",
            long in "[a-zäé][ a-zäé]{0,200}",
        ) {
            let flag = u8::from(billable);
            let line = format!("00007 {code:<7} {flag} {short:<60} {long}");
            let (own, is_billable, own_short, own_long) = order_line(&line).expect("as released");
            prop_assert_eq!(own.replace('.', ""), code);
            prop_assert_eq!(is_billable, billable);
            prop_assert_eq!(own_short, single_spaced(&short));
            prop_assert_eq!(own_long, single_spaced(&long));
        }

        #[test]
        fn any_line_is_read_or_refused_with_a_reason(line in "\\PC{0,120}") {
            if let Err(why) = order_line(&line) {
                prop_assert!(why.starts_with("expected "), "{}", why);
            }
        }
    }

    #[test]
    fn title_loses_its_codes_only() {
        for (title, expected) in [
            ("Neoplasms (C00-D49)", "Neoplasms"),
            (
                "Other human herpesviruses (B10)",
                "Other human herpesviruses",
            ),
            (
                "Pregnancy, childbirth and the puerperium (O00-O9A)",
                "Pregnancy, childbirth and the puerperium",
            ),
            ("Diseases (of the eye)", "Diseases (of the eye)"),
            ("(A00)", ""),
            ("", ""),
        ] {
            assert_eq!(without_range(title), expected);
        }
    }

    #[test]
    fn chapters_do_not_overlap() {
        for pair in CHAPTERS.windows(2) {
            assert!(pair[0].0 <= pair[0].1 && pair[0].1 < pair[1].0, "{pair:?}");
        }
    }
}
