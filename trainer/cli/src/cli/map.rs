//! `pel map`: maps a spreadsheet of local terms to concepts, and reads back a reviewed one.

use super::import::delimiter;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use pel_artifacts::bundles;
use pel_artifacts::device::{DeviceArgs, Work};
use pel_io::files::{io_error, write_atomic};
use pel_io::json;
use pel_io::outputs::{Inputs, Output, write_line};
use pel_io::terminal::counted;
use pel_io::text_encoding::EncodingArgs;
use pel_kb::clean::escaped;
use pel_kb::error::{Context, Error, Result};
use pel_kb::group::Group;
use pel_linker::LinkOptions;
use pel_notes::link::open_linker;
use pel_notes::map::linking::{Filter, map, queries};
use pel_notes::map::output::{MappedForm, check_columns, totals, write};
use pel_notes::map::review;
use pel_notes::map::review::ReviewOptions;
use pel_notes::map::sheet::{Sheet, SheetColumns, SheetForm, TermTable};
use pel_terminologies::import::columns::Column;
use pel_terminologies::import::delimited::delimiter_of;
use std::path::PathBuf;

/// Wrong rows of a review that are listed.
const LISTED: usize = 20;

/// Map a spreadsheet of local terms to concepts, or read back what a reviewer decided
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel map labs.csv --bundle bundle --column 'Test Name' --group measurement --out mapped.csv\n  \
    pel map problems.txt --bundle bundle --sort uncertain --xrefs SNOMED,ICD10CM \
    --out mapped.csv\n  \
    pel map mapped.csv --reviewed --bundle bundle --column 'Test Name' --out names.jsonl\n  \
    pel update bundle --add names.jsonl --out local\n\n\
    A reviewer fills the column `review`: accept, NIL, #2 for the second candidate, or an \
    identifier. No text leaves this machine or is logged.")]
pub struct MapArgs {
    /// The table: CSV, TSV, or a text file with one term a line; - for standard input
    #[arg(value_name = "TERMS")]
    terms: PathBuf,
    /// Bundle written by `pel index`
    #[arg(long)]
    bundle: PathBuf,
    /// The file to write: a table, or with --reviewed a concept table (JSONL); - for standard
    /// output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Read what a reviewer decided, and write the names and concepts to add
    #[arg(long)]
    reviewed: bool,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    mapping: MappingArgs,
    #[command(flatten)]
    review: ReviewArgs,
}

/// How to read the table.
#[derive(Debug, Args)]
#[command(next_help_heading = "Table")]
struct TableArgs {
    /// Column of the terms, by name or number from 1; with numbers there is no header [default: a
    /// column named term, name, drug or similar, or the only one]
    #[arg(long, value_name = "NAME|NUMBER", value_parser = column)]
    column: Option<Column>,
    /// Column of the local identifiers
    #[arg(long, value_name = "NAME|NUMBER", value_parser = column)]
    id_column: Option<Column>,
    /// Column of text around each term, such as a panel or a comment
    #[arg(long, value_name = "NAME|NUMBER", value_parser = column)]
    context_column: Option<Column>,
    /// The first row is a header although a column has a number
    #[arg(long)]
    header: bool,
    /// Character between columns, or "tab" [default: by file name, `sep=` or first row]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Read quotes as ordinary characters
    #[arg(long)]
    no_quotes: bool,
    /// The encoding of the table.
    #[command(flatten)]
    encoding: EncodingArgs,
}

/// How to map.
#[derive(Debug, Args)]
#[command(next_help_heading = "Mapping")]
struct MappingArgs {
    /// Number of candidates per term
    #[arg(long, short, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    k: u16,
    /// NIL threshold instead of the bundle's: a probability, or a score if the bundle has no
    /// probabilities
    #[arg(long, value_parser = super::finite)]
    threshold: Option<f32>,
    /// Map only to concepts of these semantic types, in any case
    #[arg(
        long = "type",
        value_name = "TYPE,...",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new(),
    )]
    types: Vec<String>,
    /// Map only to concepts of these groups, or of one of --type: problem, drug, procedure,
    /// measurement, anatomy, device
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',', value_parser = group)]
    group: Vec<Group>,
    /// Add a column with the cross-references that have these prefixes
    #[arg(
        long,
        value_name = "PREFIX,...",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new(),
    )]
    xrefs: Vec<String>,
    /// Order of the rows
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
}

/// What to make of a review.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --reviewed")]
struct ReviewArgs {
    /// Make a concept of each term reviewed as NIL, with the identifier PREFIX:ID of --id-column,
    /// or PREFIX with the words of the term
    #[arg(
        long,
        value_name = "PREFIX",
        requires = "reviewed",
        value_parser = NonEmptyStringValueParser::new(),
    )]
    new_concepts: Option<String>,
    /// Semantic type of new concepts
    #[arg(
        long,
        value_name = "TYPE",
        requires = "new_concepts",
        value_parser = NonEmptyStringValueParser::new(),
    )]
    new_type: Option<String>,
    /// Add the local identifiers of --id-column to the chosen concepts as cross-references
    /// PREFIX:ID
    #[arg(
        long,
        value_name = "PREFIX",
        requires = "reviewed",
        value_parser = NonEmptyStringValueParser::new(),
    )]
    xref_prefix: Option<String>,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// As in the input
    #[default]
    Input,
    /// Rows whose decision is most likely wrong first
    Uncertain,
}

/// Parses a column: a number from 1, or a name.
fn column(text: &str) -> std::result::Result<Column, String> {
    match text.trim().parse::<usize>() {
        Ok(0) => Err("expected a column number from 1, found 0".to_owned()),
        Ok(number) => Ok(Column::Numbered(number)),
        Err(_) if text.trim().is_empty() => {
            Err("the column is empty; give its name or number".to_owned())
        }
        Err(_) => Ok(text.into()),
    }
}

fn group(text: &str) -> std::result::Result<Group, String> {
    Group::of_name(&text.trim().to_lowercase()).ok_or_else(|| {
        let names = Group::ALL.map(Group::name).join(", ");
        format!("expected one of {names}, found {text:?}")
    })
}

impl TableArgs {
    fn read(&self, args: &MapArgs) -> Result<TermTable> {
        let form = SheetForm {
            delimiter: self.delimiter,
            no_quotes: self.no_quotes,
        };
        let columns = SheetColumns {
            term: self.column.clone(),
            id: self.id_column.clone(),
            context: self.context_column.clone(),
            header: self.header,
        };
        Sheet::read(&args.terms, &self.encoding.get(), form)?.into_table(&columns)
    }
}

/// Runs `pel map`.
///
/// # Errors
/// If the table or bundle cannot be read or does not fit the options, the device fails, or the
/// output cannot be written.
pub fn run(args: &MapArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    Inputs::new()
        .files([args.terms.as_path()])
        .artifacts([args.bundle.as_path()])
        .check([Output::File(&args.out)])?;
    let table = args.table.read(args)?;
    match args.reviewed {
        true => run_reviewed(args, &table, json),
        false => run_mapping(args, &table, device, json),
    }
}

fn run_mapping(args: &MapArgs, table: &TermTable, device: &DeviceArgs, json: bool) -> Result<()> {
    let mapping = &args.mapping;
    let form = MappedForm {
        delimiter: delimiter_of(&args.out.display().to_string()),
        candidates: usize::from(mapping.k),
        xrefs: mapping.xrefs.clone(),
        uncertain_first: mapping.sort == Sort::Uncertain,
    };
    check_columns(table, &form)?;
    let queries = queries(table);
    let bundle = bundles::open_to_link(&args.bundle)?;
    let opened = device.open(Work::Long)?;
    let linker = open_linker(&args.bundle, bundle, None, &opened)?;
    let filter = Filter::new(&linker, &mapping.types, &mapping.group)
        .context(|| args.bundle.display().to_string())?;
    let options = LinkOptions::default()
        .k(usize::from(mapping.k))
        .threshold(mapping.threshold);
    let mapped = map(&linker, queries.iter().flatten(), &filter, &options)?;
    write_atomic(&args.out, |out| write(out, table, &queries, &mapped, &form))?;
    let totals = totals(&queries, &mapped);
    match json {
        true => eprintln!("{}", json::compact(&totals)?),
        false => eprintln!(
            "{}, {}: {} linked, {} ambiguous, {} NIL, {} empty",
            counted(totals.rows, "row"),
            counted(totals.terms, "different term"),
            totals.linked,
            totals.ambiguous,
            totals.nil,
            totals.empty
        ),
    }
    Ok(())
}

/// Reports the rows that are wrong, the first [`LISTED`] of them one by one.
///
/// # Errors
/// If there is one.
fn refuse_wrong(wrong: Vec<Error>, table: &TermTable) -> Result<()> {
    let count = wrong.len();
    let mut listed = wrong.into_iter();
    let Some(first) = listed.next() else {
        return Ok(());
    };
    if count == 1 {
        return Err(first);
    }
    for error in listed.take(LISTED - 1) {
        eprintln!("{}", escaped(&error.to_string()));
    }
    let hidden = match count.saturating_sub(LISTED) {
        0 => String::new(),
        hidden => format!(" ({hidden} more than are listed)"),
    };
    Err(first).context(|| {
        format!(
            "{count} of {} rows are wrong{hidden}, nothing is written",
            table.rows.len()
        )
    })
}

fn run_reviewed(args: &MapArgs, table: &TermTable, json: bool) -> Result<()> {
    let options = ReviewOptions {
        new_concepts: args.review.new_concepts.clone(),
        new_type: args.review.new_type.clone(),
        xrefs: args.review.xref_prefix.clone(),
    };
    let bundle = bundles::open_to_link(&args.bundle)?;
    let reviewed = review::read(table, &bundle, &options)?;
    refuse_wrong(reviewed.wrong, table)?;
    let counts = reviewed.counts;
    if reviewed.concepts.is_empty() {
        return Err(Error::input(format!(
            "{}: nothing to add: {} have no new name or concept ({} accepted, {} NIL, {} \
             undecided)",
            table.name,
            counted(counts.rows, "row"),
            counts.accepted,
            counts.nil,
            counts.undecided
        )));
    }
    write_atomic(&args.out, |out| {
        reviewed
            .concepts
            .iter()
            .try_for_each(|concept| write_line(out, concept))?;
        out.flush()
            .map_err(|cause| io_error("writing", &args.out, cause))
    })?;
    if json {
        eprintln!("{}", json::compact(&counts)?);
        return Ok(());
    }
    eprintln!(
        "{}: {} accepted ({} redirected), {} NIL, {} undecided; {} and {} to add",
        counted(counts.rows, "row"),
        counts.accepted,
        counts.redirected,
        counts.nil,
        counts.undecided,
        counted(counts.names, "name"),
        counted(counts.new_concepts, "concept")
    );
    if counts.several > 0 {
        eprintln!(
            "warning: {} accepted for several concepts, which stay ambiguous",
            counted(counts.several, "term")
        );
    }
    eprintln!(
        "{}",
        escaped(&format!(
            "next: pel update {} --add {} --out NEW",
            args.bundle.display(),
            args.out.display()
        ))
    );
    Ok(())
}
