//! What a file, folder or archive seems to be, and the command that reads it.

use super::release_files;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::formats;
use pel_terminologies::import::formats::Format;
use pel_terminologies::release::ReleaseFile;
use pel_terminologies::rf2;
use pel_terminologies::rf2::{Content, ReleaseType};
use serde::Serialize;
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What an input seems to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recognised {
    /// The description, to follow "looks like".
    pub what: String,
    /// The command to run, or `None` if PEL reads no such input.
    pub command: Option<String>,
}

impl Recognised {
    fn import(what: &str, format: &str, input: &Path) -> Self {
        Self {
            what: what.to_owned(),
            command: Some(format!("pel import {format} {} --out DIR", quoted(input))),
        }
    }

    fn unread(what: &str) -> Self {
        Self {
            what: what.to_owned(),
            command: None,
        }
    }
}

/// A path as an argument of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:=@%,".contains(&byte);
    match text.bytes().all(plain) && !text.is_empty() {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Recognises an input by the names of its files, then by their first lines.
///
/// # Errors
/// If it does not exist or cannot be read, or PEL does not know what it is.
pub fn recognise(path: &Path) -> Result<Recognised> {
    let files = release_files::files(&[path.to_owned()])?.files;
    if let Some(found) = by_names(path, &files) {
        return Ok(found);
    }
    let single = !path.is_dir();
    // A folder or archive with one readable file is that file.
    for file in files.iter().take(SAMPLES) {
        let input = match single {
            true => path.to_owned(),
            false => PathBuf::from(file.label()),
        };
        if let Some(found) = by_content(&input, file)? {
            return Ok(found);
        }
    }
    let found = match &files[..] {
        [] => "an empty folder".to_owned(),
        [one] if single => format!("a file that begins with {:?}", first_line(one)?),
        all => {
            let some: Vec<&str> = all.iter().take(5).map(ReleaseFile::name).collect();
            format!("{} files ({} ...)", all.len(), some.join(", "))
        }
    };
    Err(Error::input(format!(
        "{}: expected a terminology, table or corpus that PEL knows, found {found}; see `pel \
         import --help`",
        path.display()
    )))
}

/// Files of a folder whose content is examined.
const SAMPLES: usize = 50;

fn by_names(path: &Path, files: &[ReleaseFile]) -> Option<Recognised> {
    let has = |name: &str| {
        files
            .iter()
            .any(|file| file.plain_name().eq_ignore_ascii_case(name))
    };
    let any = |test: &dyn Fn(&str) -> bool| {
        files
            .iter()
            .any(|file| test(&file.plain_name().to_lowercase()))
    };
    // A file of a release stands for its folder.
    let folder = match path.is_file()
        && files.len() == 1
        && files.iter().all(|file| Path::new(file.name()) == path)
    {
        true => match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        },
        false => path,
    };
    let concepts: Vec<ReleaseType> = files
        .iter()
        .filter_map(|file| rf2::kind_of(file.plain_name()))
        .filter(|(content, _)| matches!(content, Content::Concept | Content::Description))
        .map(|(_, kind)| kind)
        .collect();
    Some(match () {
        () if has("MRCONSO.RRF") => {
            Recognised::import("the UMLS Metathesaurus (META folder)", "umls", folder)
        }
        () if has("RXNCONSO.RRF") => Recognised::import("RxNorm (rrf folder)", "rxnorm", folder),
        () if concepts.contains(&ReleaseType::Snapshot) => {
            Recognised::import("SNOMED CT in RF2 (Snapshot)", "snomed", folder)
        }
        () if !concepts.is_empty() => Recognised::unread(
            "SNOMED CT in RF2 without its Snapshot, which `pel import snomed` reads; take the \
             folder Snapshot of the release",
        ),
        () if any(&|name| name.ends_with(".nlm")) => Recognised::unread(
            "the UMLS before installation; install it with MetamorphoSys, or take the \
             Metathesaurus full subset, and use `pel import umls`",
        ),
        () if has("Loinc.csv") => Recognised::import("LOINC", "loinc", path),
        () if any(&|name| is_mesh(name)) && any(&|name| name.ends_with(".xml")) => {
            let inputs = files
                .iter()
                .filter(|file| is_mesh(&file.plain_name().to_lowercase()));
            let inputs: Vec<String> = inputs
                .map(|file| quoted(Path::new(&file.label())))
                .collect();
            Recognised {
                what: "MeSH (descriptors and supplementary records in XML)".to_owned(),
                command: Some(match path.is_dir() {
                    true => format!("pel import mesh {} --out DIR", inputs.join(" ")),
                    false => format!("pel import mesh {} --out DIR", quoted(path)),
                }),
            }
        }
        () if any(&|name| name.starts_with("icd10cm") && name.contains("order")) => {
            Recognised::import("ICD-10-CM (order file)", "icd10cm", path)
        }
        () if path.is_dir() && has_pair(files) => {
            Recognised::import("notes annotated in BRAT (.txt with .ann)", "brat", path)
        }
        () if path.join("documents").is_dir() && path.join("mentions").is_dir() => {
            Recognised::import("ZESHEL (documents and mentions)", "zeshel", path)
        }
        () if path.join("kb.jsonl").is_file() && path.join("import.json").is_file() => Recognised {
            what: "a folder that `pel import` has written".to_owned(),
            command: Some(format!(
                "pel index --kb {} --encoder MODEL --out BUNDLE.pel",
                quoted(&path.join("kb.jsonl"))
            )),
        },
        () if path.join("manifest.json").is_file() && has("index.bin") => Recognised {
            what: "a bundle of PEL".to_owned(),
            command: Some(format!("pel link NOTE.txt --bundle {}", quoted(path))),
        },
        () => return None,
    })
}

/// Whether a text has a file of annotations beside it.
fn has_pair(files: &[ReleaseFile]) -> bool {
    let names: HashSet<&str> = files.iter().map(ReleaseFile::name).collect();
    names
        .iter()
        .filter_map(|name| name.strip_suffix(".ann"))
        .any(|stem| names.contains(format!("{stem}.txt").as_str()))
}

/// `desc2026.xml` and `supp2026.xml`.
fn is_mesh(name: &str) -> bool {
    let stem = name
        .strip_prefix("desc")
        .or_else(|| name.strip_prefix("supp"));
    stem.and_then(|rest| rest.strip_suffix(".xml"))
        .is_some_and(|year| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The first bytes of a file as text; `None` for a binary file.
fn head(file: &ReleaseFile) -> Result<Option<String>> {
    let label = file.label();
    let text = match file.open_text() {
        Ok(text) => text,
        Err(error) if error.kind() == pel_kb::error::Kind::Input => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut head = Vec::new();
    text.take(formats::HEAD as u64)
        .read_to_end(&mut head)
        .map_err(|cause| Error::io(format!("reading {label}")).caused_by(cause))?;
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

fn first_line(file: &ReleaseFile) -> Result<String> {
    let head = head(file)?.unwrap_or_default();
    let line = head.lines().find(|line| !line.trim().is_empty());
    Ok(line.unwrap_or_default().chars().take(60).collect())
}

fn by_content(path: &Path, file: &ReleaseFile) -> Result<Option<Recognised>> {
    let Some(head) = head(file)? else {
        return Ok(None);
    };
    let text = head.trim_start_matches('\u{feff}').trim_start();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let data = text
        .lines()
        .find(|line| !line.starts_with('#') && !line.trim().is_empty())
        .unwrap_or_default();
    let columns: Vec<&str> = data
        .split(['\t', ','])
        .map(|name| name.trim().trim_matches('"'))
        .collect();
    let import = |what, format| Some(Recognised::import(what, format, path));
    Ok(match Format::recognise(head.as_bytes()) {
        _ if columns.contains(&"subject_id") && columns.contains(&"object_id") => {
            Some(Recognised {
                what: "a mapping in SSSOM, which merges concepts as they are imported".to_owned(),
                command: Some(format!(
                    "pel import FORMAT IN --map {} --out DIR",
                    quoted(path)
                )),
            })
        }
        _ if columns.first() == Some(&"LOINC_NUM") => import("LOINC", "loinc"),
        _ if is_icd_order(first) => import("ICD-10-CM (order file)", "icd10cm"),
        _ if is_rf2_header(data) => Some(Recognised::unread(
            "a table of SNOMED CT in RF2; name the folder Snapshot: pel import snomed SNAPSHOT \
             --out DIR",
        )),
        _ if first.ends_with('|') && first.split('|').count() == 19 => Some(Recognised::unread(
            "a table in Rich Release Format with the columns of MRCONSO or RXNCONSO; name its \
             folder: pel import umls META --out DIR, or pel import rxnorm RRF --out DIR",
        )),
        Some(Format::Obo) => import("an ontology in OBO", "obo"),
        Some(Format::OwlXml) if text.contains("<Ontology") => {
            Some(Recognised::unread(Format::OwlText.advice()))
        }
        Some(Format::OwlXml) => import("an ontology in OWL (RDF/XML)", "owl"),
        Some(Format::Turtle) => import("RDF as Turtle or N-Triples", "owl"),
        Some(Format::OboGraphs) => import("an ontology as OBO Graphs JSON", "obograph"),
        Some(Format::Pubtator) => import("annotated texts in PubTator format", "pubtator"),
        Some(Format::JsonLines) => json_lines(path, first),
        Some(Format::Xml)
            if text.contains("<DescriptorRecordSet") || text.contains("<SupplementalRecordSet") =>
        {
            import("MeSH (XML)", "mesh")
        }
        Some(Format::Xml) if text.contains("<ICD10CM.tabular") => import(
            "ICD-10-CM (tabular list; the order file has more codes, and both can be given)",
            "icd10cm",
        ),
        Some(Format::Xml) if text.contains("<kbpentlink") || text.contains("<knowledge_base") => {
            import("a task of TAC-KBP", "tac")
        }
        Some(other) => Some(Recognised::unread(other.advice())),
        None if columns.len() > 1 && is_concept_table(&columns) => {
            import("a concept table with columns", "csv")
        }
        None => None,
    })
}

/// `00001 A00     0 Cholera ...`.
fn is_icd_order(line: &str) -> bool {
    let bytes = line.as_bytes();
    let digits = bytes
        .get(..5)
        .is_some_and(|own| own.iter().all(u8::is_ascii_digit));
    digits
        && bytes.get(5) == Some(&b' ')
        && bytes.get(6).is_some_and(u8::is_ascii_uppercase)
        && bytes.get(7).is_some_and(u8::is_ascii_digit)
        && matches!(bytes.get(14), Some(b'0' | b'1'))
}

fn is_rf2_header(line: &str) -> bool {
    line.to_lowercase()
        .starts_with("id\teffectivetime\tactive\t")
}

fn is_concept_table(columns: &[&str]) -> bool {
    let has = |names: &[&str]| {
        columns
            .iter()
            .any(|own| names.iter().any(|name| own.eq_ignore_ascii_case(name)))
    };
    has(&["id", "cui", "code", "identifier", "concept_id"])
        && has(&[
            "name",
            "label",
            "term",
            "title",
            "preferred_name",
            "description",
            "str",
        ])
}

fn json_lines(path: &Path, first: &str) -> Option<Recognised> {
    let has = |name: &str| first.contains(&format!("\"{name}\""));
    Some(match () {
        () if has("context_left") && has("label_id") => Recognised {
            what: "mentions with context in BLINK's format".to_owned(),
            command: Some(format!(
                "pel import blink --train {} --out DIR",
                quoted(path)
            )),
        },
        () if has("left_context") && has("wikiId") => Recognised {
            what: "mentions with context in the format of WikilinksNED".to_owned(),
            command: Some(format!(
                "pel import wikilinks --train {} --out DIR",
                quoted(path)
            )),
        },
        () if has("doc") && (has("mentions") || has("decision")) => Recognised {
            what: "links of notes, as the page exports them".to_owned(),
            command: Some(format!("pel import links {} --out DIR", quoted(path))),
        },
        () => Recognised::import("concepts as JSON lines", "jsonl", path),
    })
}
