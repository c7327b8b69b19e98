//! Options of `pel import` for concept tables and ontologies.

use clap::{Args, ValueEnum};
use pel_corpora::import::TextFiles;
use pel_io::text_encoding::EncodingArgs;
use pel_terminologies::import::columns::{Column, Columns, Role};
use pel_terminologies::import::concepts::Defaults;
use pel_terminologies::import::delimited::Layout;
use pel_terminologies::import::obo;
use pel_terminologies::import::rows::Quoting;
use std::path::PathBuf;

/// Inputs and output.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Files to read into one result; `-` is standard input
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Output folder; created if missing, and files of an earlier import are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The encoding of the files.
    #[command(flatten)]
    pub encoding: EncodingArgs,
}

impl Common {
    /// The files with their encoding.
    pub(super) fn texts(&self) -> TextFiles {
        TextFiles {
            paths: self.inputs.clone(),
            encoding: self.encoding.get(),
        }
    }
}

/// Values for missing fields.
#[derive(Args, Clone, Debug)]
pub struct Fill {
    /// Source of concepts without one in the input, such as "DOID"
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Semantic type of concepts without one in the input, such as "Disease"
    #[arg(long = "type", value_name = "NAME")]
    pub kind: Option<String>,
}

impl Fill {
    pub(super) fn defaults(&self) -> Defaults {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        Defaults {
            source: given(&self.source),
            kind: given(&self.kind),
        }
    }
}

/// The mapping that merges concepts.
#[derive(Args, Clone, Debug, Default)]
pub struct MapArgs {
    /// Mapping in SSSOM (TSV) that merges concepts by skos:exactMatch. The first one read stays; the
    /// other ids become cross-references and redirects
    #[arg(long, value_name = "SSSOM")]
    pub map: Option<PathBuf>,
}

/// The parents of concepts.
#[derive(Args, Clone, Debug, Default)]
pub struct ParentArgs {
    /// Write hierarchy.tsv too, the parents of concepts (is-a), for --hierarchy of `pel index`. A
    /// circle is an error
    #[arg(long)]
    pub hierarchy: bool,
}

/// Files of concepts, and what completes and merges the concepts.
#[derive(Args, Clone, Debug)]
pub struct ConceptFiles {
    /// Inputs and output.
    #[command(flatten)]
    pub files: Common,
    /// Values for missing fields.
    #[command(flatten)]
    pub fill: Fill,
    /// The mapping that merges concepts.
    #[command(flatten)]
    pub map: MapArgs,
}

/// The scope of an OBO synonym.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Same meaning as the term.
    Exact,
    /// Broader meaning.
    Broad,
    /// Narrower meaning.
    Narrow,
    /// Related meaning.
    Related,
}

impl From<Scope> for obo::Scope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Exact => Self::Exact,
            Scope::Broad => Self::Broad,
            Scope::Narrow => Self::Narrow,
            Scope::Related => Self::Related,
        }
    }
}

/// Which synonyms of an ontology to import.
#[derive(Args, Clone, Debug)]
pub struct SynonymArgs {
    /// Scopes of synonyms to import, separated by commas. Scopes other than exact cause more wrong
    /// links
    #[arg(
        long,
        value_name = "SCOPES",
        value_enum,
        value_delimiter = ',',
        default_value = "exact"
    )]
    pub scopes: Vec<Scope>,
    /// Types of synonyms to import although they mark withdrawn or wrong names, such as
    /// "MISSPELLING"
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub with_synonym_types: Vec<String>,
    /// Further types of synonyms to skip, such as "ABBREVIATION"
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub without_synonym_types: Vec<String>,
}

impl SynonymArgs {
    pub(super) fn choice(&self) -> obo::SynonymChoice {
        obo::SynonymChoice {
            scopes: self.scopes.iter().map(|scope| (*scope).into()).collect(),
            with_types: self.with_synonym_types.iter().cloned().collect(),
            without_types: self.without_synonym_types.iter().cloned().collect(),
        }
    }
}

/// Options of `pel import obo`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  pel import obo doid.obo --out diseases\n  \
    pel import obo symp.obo --type \"Sign or Symptom\" --scopes exact,related --out symptoms\n  \
    pel import obo doid.obo symp.obo --out both")]
pub struct OboArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ConceptFiles,
    /// Which synonyms to import.
    #[command(flatten)]
    pub synonyms: SynonymArgs,
    /// The parents of concepts.
    #[command(flatten)]
    pub parents: ParentArgs,
}

/// Options of `pel import jsonl`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example of a line:\n  \
    {\"id\": \"R50.9\", \"name\": \"fever\", \"synonyms\": [\"pyrexia\"], \"types\": [\"Sign or Symptom\"]}\n\n\
    Example:\n  pel import jsonl concepts.jsonl.gz --source ICD10 --out icd")]
pub struct JsonlArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ConceptFiles,
    /// Count and skip invalid lines instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
}

/// Options of `pel import csv`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example of a table:\n  id,name,synonyms,definition\n  \
    R50.9,fever,pyrexia|febris,\"body temperature above normal, however measured\"\n\n\
    Examples:\n  pel import csv codes.csv --out codes\n  \
    pel import csv codes.txt --delimiter ';' \\\n      --id-column Code --name-column Label --type Finding --out codes\n  \
    pel import csv MRCONSO.RRF --delimiter '|' --columns id=1,name=15,preferred=7,sources=12 --out umls")]
pub struct CsvArgs {
    /// Inputs and output.
    #[command(flatten)]
    pub common: ConceptFiles,
    /// Character between columns, or "tab" [default: tab for .tsv and .tab files, else comma, or
    /// the delimiter that the header shows]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Read quotes as in RFC 4180 also between tabs and bars: a quoted cell may contain delimiters
    /// and line ends
    #[arg(long, conflicts_with = "no_quotes")]
    pub quotes: bool,
    /// Read quotes as ordinary characters
    #[arg(long)]
    pub no_quotes: bool,
    /// Fields by column name or number from 1; with numbers there is no header. Fields: id, name,
    /// synonyms, types, type_ids, definition, xrefs, sources and preferred
    #[arg(long, value_name = "PART=COLUMN,...", value_delimiter = ',', value_parser = part_and_column)]
    pub columns: Vec<(Role, Column)>,
    /// The first line is a header although columns are given by number
    #[arg(long)]
    pub header: bool,
    /// Separator of several values in one cell
    #[arg(long, value_name = "TEXT", default_value = "|")]
    pub within: String,
    /// Column of the identifier [default: id]
    #[arg(long, value_name = "NAME")]
    pub id_column: Option<String>,
    /// Column of the preferred name [default: name]
    #[arg(long, value_name = "NAME")]
    pub name_column: Option<String>,
    /// Column of other names [default: synonyms, if present]
    #[arg(long, value_name = "NAME")]
    pub synonyms_column: Option<String>,
    /// Column of the names of semantic types [default: types, if present]
    #[arg(long, value_name = "NAME")]
    pub types_column: Option<String>,
    /// Column of the identifiers of semantic types [default: type_ids, if present]
    #[arg(long, value_name = "NAME")]
    pub type_ids_column: Option<String>,
    /// Column of the definition [default: definition, if present]
    #[arg(long, value_name = "NAME")]
    pub definition_column: Option<String>,
    /// Column of identifiers in other vocabularies [default: xrefs, if present]
    #[arg(long, value_name = "NAME")]
    pub xrefs_column: Option<String>,
    /// Column of the sources [default: sources, if present]
    #[arg(long, value_name = "NAME")]
    pub sources_column: Option<String>,
    /// Column that marks the preferred name [default: preferred, name_status, ispref, tty and
    /// similar]
    #[arg(long, value_name = "NAME")]
    pub preferred_column: Option<String>,
    /// Values that mark a preferred name in that column [default: P, Y, PT, PN, 1, true, preferred
    /// and similar]
    #[arg(long, value_name = "MARKS", value_delimiter = ',')]
    pub preferred_marks: Vec<String>,
    /// Maximum row length in MiB; a longer row is an error, usually caused by an unclosed quote
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub max_row: u16,
    /// Count and skip invalid rows instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
}

impl CsvArgs {
    pub(super) fn layout(&self) -> Layout {
        let mut columns = Columns::default();
        self.columns
            .iter()
            .for_each(|(role, column)| columns.set(*role, column.clone()));
        for (role, name) in [
            (Role::Id, &self.id_column),
            (Role::Name, &self.name_column),
            (Role::Synonyms, &self.synonyms_column),
            (Role::Types, &self.types_column),
            (Role::TypeIds, &self.type_ids_column),
            (Role::Definition, &self.definition_column),
            (Role::Xrefs, &self.xrefs_column),
            (Role::Sources, &self.sources_column),
            (Role::Preferred, &self.preferred_column),
        ] {
            if let Some(name) = name {
                columns.set(role, Column::Named(name.clone()));
            }
        }
        let quoting = match (self.quotes, self.no_quotes) {
            (true, _) => Some(Quoting::Csv),
            (false, true) => Some(Quoting::None),
            (false, false) => None,
        };
        Layout {
            delimiter: self.delimiter,
            usual_delimiter: None,
            quoting,
            within: self.within.clone(),
            columns,
            header: self.header,
            preferred: self.preferred_marks.clone(),
            longest_row: usize::from(self.max_row) << 20,
            skip_bad: self.skip_bad,
        }
    }
}

/// Parses `;`, `tab` and so on.
pub(in crate::cli) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err(format!(
            "expected one plain character or the word \"tab\", found {text:?}"
        )),
    }
}

/// Parses `id=1` or `name=Label`.
fn part_and_column(text: &str) -> Result<(Role, Column), String> {
    let words = || Role::ALL.map(Role::word).join(", ");
    let (word, column) = text
        .split_once('=')
        .ok_or_else(|| format!("expected PART=COLUMN, found {text:?}"))?;
    let role = Role::ALL
        .into_iter()
        .find(|role| role.word() == word.trim());
    let role = role.ok_or_else(|| format!("expected one of {}, found {word:?}", words()))?;
    let column = column.trim();
    match column.parse() {
        Ok(0) => Err("expected a column number from 1, found 0".to_owned()),
        Ok(number) => Ok((role, Column::Numbered(number))),
        Err(_) if column.is_empty() => {
            Err(format!("{word}= has no column; give its name or number"))
        }
        Err(_) => Ok((role, column.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_is_a_name_or_a_number() {
        assert_eq!(part_and_column("id=1"), Ok((Role::Id, Column::Numbered(1))));
        assert_eq!(
            part_and_column("type_ids=Semantic Type"),
            Ok((Role::TypeIds, "Semantic Type".into()))
        );
        for (wrong, message) in [
            ("id", "PART=COLUMN"),
            ("colour=1", "one of id, name"),
            ("id=0", "from 1"),
            ("id=", "id= has no column"),
        ] {
            assert!(
                part_and_column(wrong).expect_err(wrong).contains(message),
                "{wrong}"
            );
        }
    }

    #[test]
    fn delimiter_is_one_byte() {
        assert_eq!(
            (delimiter(";"), delimiter("tab"), delimiter("\\t")),
            (Ok(b';'), Ok(b'\t'), Ok(b'\t'))
        );
        for wrong in ["", "ab", "é", "\"", "\n"] {
            assert!(delimiter(wrong).is_err(), "{wrong:?}");
        }
    }
}
