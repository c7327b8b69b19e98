//! The options of `pel import` for concept tables and ontologies.

use crate::data::import::TextFiles;
use crate::io::text_encoding::EncodingArgs;
use clap::{Args, ValueEnum};
use pel_shared::kb::import::columns::{Column, Columns, Role};
use pel_shared::kb::import::concepts::Defaults;
use pel_shared::kb::import::delimited::Layout;
use pel_shared::kb::import::obo;
use pel_shared::kb::import::rows::Quoting;
use std::path::PathBuf;

/// Where to read and to write.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// The files to read, `-` for standard input; several are read one after the other into one result
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// The folder to write into; it is made if it is missing, and files of an earlier import in it are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Of the files.
    #[command(flatten)]
    pub encoding: EncodingArgs,
}

impl Common {
    /// The files with their encoding.
    pub(super) fn texts(&self) -> TextFiles {
        TextFiles { paths: self.inputs.clone(), encoding: self.encoding.get() }
    }
}

/// What to fill in where the input does not say it.
#[derive(Args, Clone, Debug)]
pub struct Fill {
    /// The vocabulary that the concepts come from, e.g. "DOID"; where a row of a table names one itself, that stays
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// The semantic type of the concepts, e.g. "Disease"; where a row of a table names one itself, that stays
    #[arg(long = "type", value_name = "NAME")]
    pub kind: Option<String>,
}

impl Fill {
    pub(super) fn defaults(&self) -> Defaults {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        Defaults { source: given(&self.source), kind: given(&self.kind) }
    }
}

/// How closely a synonym means its term, in the words of OBO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// It means the same.
    Exact,
    /// It means more.
    Broad,
    /// It means less.
    Narrow,
    /// It means something near.
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

/// Options of `pel import obo`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  pel import obo doid.obo --out diseases\n  \
    pel import obo symp.obo --type \"Sign or Symptom\" --scopes exact,related --out symptoms\n  \
    pel import obo doid.obo symp.obo --out both")]
pub struct OboArgs {
    /// Where to read and to write.
    #[command(flatten)]
    pub common: Common,
    /// What to fill in.
    #[command(flatten)]
    pub fill: Fill,
    /// Which synonyms to take, with commas between them. "exact" ones mean the same as the term. The others mean
    /// something wider, narrower or merely near, and lead to wrong links more often
    #[arg(long, value_name = "SCOPES", value_enum, value_delimiter = ',', default_value = "exact")]
    pub scopes: Vec<Scope>,
    /// Types of synonyms to take although they withdraw a name or mark a wrong one, e.g. "MISSPELLING"
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub with_synonym_types: Vec<String>,
    /// Types of synonyms to leave out besides, e.g. "ABBREVIATION"
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub without_synonym_types: Vec<String>,
}

impl OboArgs {
    pub(super) fn choice(&self) -> obo::SynonymChoice {
        obo::SynonymChoice {
            scopes: self.scopes.iter().map(|scope| (*scope).into()).collect(),
            with_types: self.with_synonym_types.iter().cloned().collect(),
            without_types: self.without_synonym_types.iter().cloned().collect(),
        }
    }
}

/// Options of `pel import jsonl`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example of a line:\n  \
    {\"id\": \"R50.9\", \"name\": \"fever\", \"synonyms\": [\"pyrexia\"], \"types\": [\"Sign or Symptom\"]}\n\n\
    Example:\n  pel import jsonl concepts.jsonl.gz --source ICD10 --out icd")]
pub struct JsonlArgs {
    /// Where to read and to write.
    #[command(flatten)]
    pub common: Common,
    /// What to fill in.
    #[command(flatten)]
    pub fill: Fill,
    /// Count lines that cannot be read and go on, instead of stopping at the first
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
    /// Where to read and to write.
    #[command(flatten)]
    pub common: Common,
    /// What to fill in.
    #[command(flatten)]
    pub fill: Fill,
    /// The character between columns, or the word "tab" [default: a tab for .tsv and .tab files, else a comma; another one if
    /// the header has the columns only by it]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Read quotation marks as RFC 4180 has it, also between tabs and bars: a quoted cell may hold delimiters and line ends
    #[arg(long, conflicts_with = "no_quotes")]
    pub quotes: bool,
    /// Read quotation marks as ordinary characters
    #[arg(long)]
    pub no_quotes: bool,
    /// Which column is what, by name or by number from 1. With a number the file has no header. The parts are id, name, synonyms,
    /// types, type_ids, definition, xrefs, sources and preferred
    #[arg(long, value_name = "PART=COLUMN,...", value_delimiter = ',', value_parser = part_and_column)]
    pub columns: Vec<(Role, Column)>,
    /// The first line is a header, although columns are given by number
    #[arg(long)]
    pub header: bool,
    /// What separates several values in one cell
    #[arg(long, value_name = "TEXT", default_value = "|")]
    pub within: String,
    /// Column of the identifier [default: id]
    #[arg(long, value_name = "NAME")]
    pub id_column: Option<String>,
    /// Column of the preferred name [default: name]
    #[arg(long, value_name = "NAME")]
    pub name_column: Option<String>,
    /// Column of other names [default: synonyms, if there is one]
    #[arg(long, value_name = "NAME")]
    pub synonyms_column: Option<String>,
    /// Column of the names of semantic types [default: types, if there is one]
    #[arg(long, value_name = "NAME")]
    pub types_column: Option<String>,
    /// Column of the identifiers of semantic types [default: type_ids, if there is one]
    #[arg(long, value_name = "NAME")]
    pub type_ids_column: Option<String>,
    /// Column of the definition [default: definition, if there is one]
    #[arg(long, value_name = "NAME")]
    pub definition_column: Option<String>,
    /// Column of ids of the same concept in other vocabularies [default: xrefs, if there is one]
    #[arg(long, value_name = "NAME")]
    pub xrefs_column: Option<String>,
    /// Column of the vocabularies [default: sources, if there is one]
    #[arg(long, value_name = "NAME")]
    pub sources_column: Option<String>,
    /// Column that marks the preferred one of a concept's names [default: preferred, name_status, ispref, tty and the like]
    #[arg(long, value_name = "NAME")]
    pub preferred_column: Option<String>,
    /// What in that column marks a preferred name [default: P, Y, PT, PN, 1, true, preferred and the like]
    #[arg(long, value_name = "MARKS", value_delimiter = ',')]
    pub preferred_marks: Vec<String>,
    /// The longest row, in MiB; a longer one is an error, since a quote is left open in it more often than not
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub max_row: u16,
    /// Count rows that cannot be read and go on, instead of stopping at the first
    #[arg(long)]
    pub skip_bad: bool,
}

impl CsvArgs {
    pub(super) fn layout(&self) -> Layout {
        let mut columns = Columns::default();
        self.columns.iter().for_each(|(role, column)| columns.set(*role, column.clone()));
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

/// Reads `;`, `tab` and the like.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err(format!("expected one plain character or the word \"tab\", found {text:?}")),
    }
}

/// Reads `id=1` or `name=Label`.
fn part_and_column(text: &str) -> Result<(Role, Column), String> {
    let words = || Role::ALL.map(Role::word).join(", ");
    let (word, column) = text.split_once('=').ok_or_else(|| format!("expected PART=COLUMN, found {text:?}"))?;
    let role = Role::ALL.into_iter().find(|role| role.word() == word.trim());
    let role = role.ok_or_else(|| format!("expected one of {}, found {word:?}", words()))?;
    let column = column.trim();
    match column.parse() {
        Ok(0) => Err("columns are counted from 1, found 0".to_owned()),
        Ok(number) => Ok((role, Column::Numbered(number))),
        Err(_) if column.is_empty() => Err(format!("expected a column for {word}, found none")),
        Err(_) => Ok((role, column.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_a_name_or_a_number() {
        assert_eq!(part_and_column("id=1"), Ok((Role::Id, Column::Numbered(1))));
        assert_eq!(part_and_column("type_ids=Semantic Type"), Ok((Role::TypeIds, "Semantic Type".into())));
        for (wrong, said) in
            [("id", "PART=COLUMN"), ("colour=1", "one of id, name"), ("id=0", "from 1"), ("id=", "none")]
        {
            assert!(part_and_column(wrong).expect_err(wrong).contains(said), "{wrong}");
        }
    }

    #[test]
    fn a_delimiter_is_one_byte() {
        assert_eq!((delimiter(";"), delimiter("tab"), delimiter("\\t")), (Ok(b';'), Ok(b'\t'), Ok(b'\t')));
        for wrong in ["", "ab", "é", "\"", "\n"] {
            assert!(delimiter(wrong).is_err(), "{wrong:?}");
        }
    }
}
