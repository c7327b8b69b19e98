//! `pel link`: links the mentions of notes.

pub use super::link_args::LinkArgs;

use super::link_args::is_folder;
use super::{link_tables, under};
use pel_artifacts::device::{DeviceArgs, OpenDevice, Work};
use pel_artifacts::{bundles, memory};
use pel_io::outputs::{Inputs, Output};
use pel_io::terminal::counted;
use pel_kb::ConceptId;
use pel_kb::clean::escaped;
use pel_kb::codes::System;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::Bundle;
use pel_linker::{LinkOptions, Linker};
use pel_notes::link::candidate_store::SharedStore;
use pel_notes::link::format::Format;
use pel_notes::link::languages::Languages;
use pel_notes::link::link_table;
use pel_notes::link::linking::Linking;
use pel_notes::link::notes;
use pel_notes::link::notes::{Found, Note};
use pel_notes::link::omop_numbers::OmopNumbers;
use pel_notes::link::output_format::OutputFormat;
use pel_notes::link::text_folder::TextFolder;
use pel_notes::link::text_linker::{TextLinker, TextOptions};
use pel_notes::link::vector_cache::VectorCache;
use pel_notes::link::{attribute_rules, context_rules, date, open_linker, wordings};
use pel_notes::stores;
use pel_notes::stores::VectorStore;
use pel_output::RowIds;
use pel_terminologies::import::report::Report;
use pel_text::detect::DetectOptions;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Runs `pel link`.
///
/// # Errors
/// If the bundle or an input cannot be read, a span does not fit, or the output cannot be written.
pub fn run(args: &LinkArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let format = output_format(args, json)?;
    let is_omop = format == OutputFormat::Text(Format::Omop);
    if args.omop_first_id.is_some() && !is_omop {
        return Err(Error::input(
            "--omop-first-id: only --format omop has these numbers",
        ));
    }
    let Found {
        mut notes,
        shards,
        unread: folders,
    } = notes::notes(&args.inputs, args.input_format)?;
    let tables = link_tables::plan(args, shards, format)?;
    if tables.is_none() {
        link_tables::refuse_options(args)?;
        if let Some(limit) = args.limit {
            notes.truncate(usize::try_from(limit.get()).unwrap_or(usize::MAX));
        }
        place_notes(args, &mut notes, format)?;
    }
    let outputs = match &tables {
        Some(tables) => tables.files(),
        None => notes
            .iter()
            .filter_map(|note| note.out.as_deref())
            .collect(),
    };
    check_outputs(args, &notes, tables.as_ref(), outputs)?;
    if let Some(address) = &args.search.vectors {
        stores::check_address(address)?;
    }
    let bundle = bundles::open_to_link(&args.bundle)?;
    check_extras(args, format, &bundle)?;
    let under = under::concepts(args.under.as_deref(), &bundle)?;
    let store = open_store(args, &bundle)?;
    let opened = device.open(Work::Short)?;
    let linker = opened_linker(args, bundle, &opened)?;
    let second = args.second.open(&opened)?;
    let options = LinkOptions::default()
        .k(usize::from(args.k).max(second.as_ref().map_or(0, |second| second.count)))
        .threshold(args.threshold)
        .detect(DetectOptions {
            overlapping: args.overlapping,
            ..args.detection.options(linker.bundle())?
        });
    if let Some(prefixes) = &args.xrefs {
        warn_of_unknown(&linker, prefixes)?;
    }
    let linking = Linking {
        engine: TextLinker {
            linker,
            second,
            store,
            cache: Some(VectorCache::default()),
        },
        options: TextOptions {
            link: options,
            k: usize::from(args.k),
            xrefs: args.xrefs.clone(),
            codes: args.codes.clone(),
            sets: args.sets,
            asserted: args.asserted,
            under: under.map(Arc::new),
            ancestors: args.ancestors,
        },
        encoding: args.encoding.get(),
        spans_only: args.spans_only,
        format,
        languages: Languages::default(),
        moment: date::moment(args.date.as_deref())?,
        texts: args.text_out.clone().map(TextFolder::new),
        numbers: is_omop.then(|| OmopNumbers::new(RowIds::new(args.omop_first_id.unwrap_or(1), 1))),
    };
    if let Some(tables) = &tables {
        let done = tables.link(&linking, args);
        warn_of_languages(&linking);
        print_memory(args);
        return link_tables::report(done?, folders);
    }
    let outcome = linking.run(&notes)?;
    print_noted(&outcome.noted);
    warn_of_languages(&linking);
    print_memory(args);
    unread(outcome.unread, folders, notes.len())
}

/// Checks that the bundle has what is asked for besides links, and the format a place for it.
fn check_extras(args: &LinkArgs, format: OutputFormat, bundle: &Bundle) -> Result<()> {
    if args.sets {
        if !has_sets(format) {
            return Err(Error::input(
                "--sets: only --format json and jsonl have sets of answers",
            ));
        }
        if bundle.manifest.nil.sets.is_empty() {
            return Err(Error::input(format!(
                "--sets: the bundle {} has no probabilities; `pel calibrate` adds them",
                args.bundle.display()
            )));
        }
    }
    check_codes(args, format, bundle)?;
    if args.ancestors {
        if !has_sets(format) {
            return Err(Error::input("--ancestors: expected --format json or jsonl"));
        }
        bundle
            .needed_hierarchy()
            .context(|| format!("--ancestors: {}", args.bundle.display()))?;
    }
    Ok(())
}

/// The bundle on its device, with the rules of the command line.
fn opened_linker(args: &LinkArgs, bundle: Bundle, opened: &OpenDevice) -> Result<Linker> {
    let mut linker = open_linker(&args.bundle, bundle, args.scorer.map(Into::into), opened)?;
    if let Some(rules) = &args.context_rules {
        linker.settings().set_context_rules(context_rules(rules)?);
    }
    if let Some(rules) = &args.attribute_rules {
        linker
            .settings()
            .set_attribute_rules(attribute_rules(rules)?);
    }
    if let Some(file) = &args.wordings {
        linker.settings().set_wordings(wordings(file)?);
    }
    linker.settings().set_search_names(args.search_names);
    super::check_threshold(args.threshold, linker.bundle())?;
    Ok(linker)
}

/// Prints what was noted of given spans.
fn print_noted(noted: &Report) {
    for (what, count) in &noted.noted {
        let example = noted
            .examples
            .get(what)
            .and_then(|examples| examples.first());
        let example = example.map_or("", String::as_str);
        eprintln!("--spans: {count} x {what}, first at {example}");
    }
}

/// The output format.
fn output_format(args: &LinkArgs, json: bool) -> Result<OutputFormat> {
    let format = match (json, args.format) {
        (true, None) => OutputFormat::Text(Format::Jsonl),
        (true, Some(format)) if !format.text().is_some_and(Format::is_json) => {
            return Err(Error::input(
                "--json: the --format is not a JSON format; omit --json, or give --format jsonl or \
                 json",
            ));
        }
        (_, format) => format.unwrap_or(OutputFormat::Text(Format::Table)),
    };
    if format == OutputFormat::Parquet {
        link_table::check_build()?;
        if args.out.as_ref().is_none_or(|out| out.as_os_str() == "-") {
            return Err(Error::input(
                "--format parquet: standard output cannot take it; give a file or folder with \
                 --out",
            ));
        }
    }
    Ok(format)
}

/// Whether a format has a place for sets of answers.
fn has_sets(format: OutputFormat) -> bool {
    matches!(format, OutputFormat::Text(Format::Json | Format::Jsonl))
}

/// Checks the chosen code systems.
fn check_codes(args: &LinkArgs, format: OutputFormat, bundle: &Bundle) -> Result<()> {
    let Some(systems) = &args.codes else {
        return Ok(());
    };
    System::check_distinct(systems).context(|| "--codes".to_owned())?;
    if !format.text().is_none_or(Format::has_codes) {
        return Err(Error::input(
            "--codes: this --format has no codes; use table, json, jsonl, csv, parquet or fhir",
        ));
    }
    if bundle.codes.is_none() {
        return Err(Error::input(format!(
            "--codes: the bundle {} has no codes; `pel update --codes FILE` adds them",
            args.bundle.display()
        )));
    }
    Ok(())
}

/// Sets the given spans and the output of each note.
fn place_notes(args: &LinkArgs, notes: &mut [Note], format: OutputFormat) -> Result<()> {
    let several = notes.len() > 1 || args.inputs.iter().any(|input| input.is_dir());
    if let Some(spans) = &args.spans {
        notes::find_spans(notes, spans, several)?;
    }
    // `-` is standard output.
    match args.out.as_ref().filter(|out| out.as_os_str() != "-") {
        Some(out) => notes::place(notes, out, several || is_folder(out), format),
        None if several && format.needs_files() => Err(Error::input(
            "this --format has one file for each note; give a folder with --out",
        )),
        None => Ok(()),
    }
}

/// Warns of notes in other languages than the rules of context.
fn warn_of_languages(linking: &Linking) {
    let rules = linking.engine.linker.steps().context_rules();
    for warning in linking.languages.warnings(rules) {
        eprintln!("{}", escaped(&warning));
    }
}

fn print_memory(args: &LinkArgs) {
    if let Some(bytes) = memory::peak().filter(|_| args.memory) {
        eprintln!("peak memory {bytes} bytes");
    }
}

/// Opens the store of `--vectors`, if it is given.
fn open_store(args: &LinkArgs, bundle: &Bundle) -> Result<Option<SharedStore>> {
    let Some(address) = &args.search.vectors else {
        return Ok(None);
    };
    let store = VectorStore::open(bundle, address, &args.connection, &args.search)?;
    Ok(Some(SharedStore {
        store: Mutex::new(Box::new(store)),
        types: args.search.types.clone(),
    }))
}

/// Refuses outputs that overwrite a note, a table, given spans, the bundle or the cross-encoder.
fn check_outputs(
    args: &LinkArgs,
    notes: &[Note],
    tables: Option<&link_tables::Tables>,
    outputs: Vec<&Path>,
) -> Result<()> {
    let read = notes
        .iter()
        .flat_map(|note| note.spans.as_deref().into_iter().chain(note.path()));
    let ranker = args.second.model();
    let inputs = Inputs::new()
        .files(read)
        .files(tables.into_iter().flat_map(link_tables::Tables::inputs))
        .files(
            args.context_rules
                .iter()
                .chain(&args.attribute_rules)
                .filter(|path| path.is_file())
                .chain(&args.wordings)
                .map(PathBuf::as_path),
        )
        .files(under::files(args.under.as_deref()))
        // Links in a folder of tables would be read as tables later.
        .artifacts(
            args.inputs
                .iter()
                .filter(|input| tables.is_some() && input.is_dir())
                .map(PathBuf::as_path),
        )
        .artifacts(std::iter::once(args.bundle.as_path()).chain(ranker));
    inputs.check(outputs.into_iter().map(Output::File))
}

/// Warns of prefixes that no cross-reference of the bundle has.
///
/// # Errors
/// If a concept is damaged.
fn warn_of_unknown(linker: &Linker, prefixes: &[String]) -> Result<()> {
    let mut unknown: Vec<&String> = prefixes.iter().collect();
    let concepts = &linker.bundle().concepts;
    for at in 0..concepts.len() as u32 {
        if unknown.is_empty() {
            break;
        }
        let xrefs = concepts.get(ConceptId(at))?.xrefs;
        unknown.retain(|prefix| {
            !xrefs
                .iter()
                .any(|xref| pel_output::has_prefix(xref, prefix))
        });
    }
    for prefix in unknown {
        eprintln!("warning: --xrefs {prefix}: no cross-reference of the bundle has this prefix");
    }
    Ok(())
}

/// Reports notes and folders that could not be read.
///
/// # Errors
/// If there is one.
fn unread(notes: Vec<Error>, folders: Vec<Error>, all: usize) -> Result<()> {
    let (bad, closed) = (notes.len(), folders.len());
    let mut failed = notes.into_iter().chain(folders);
    let Some(first) = failed.next() else {
        return Ok(());
    };
    failed.for_each(|error| eprintln!("{}", escaped(&error.to_string())));
    if all == 1 && closed == 0 {
        return Err(first);
    }
    let what = match (bad, closed) {
        (bad, 0) => format!("{bad} of {}", counted(all, "note")),
        (0, closed) => counted(closed, "folder"),
        (bad, closed) => format!(
            "{bad} of {} and {}",
            counted(all, "note"),
            counted(closed, "folder")
        ),
    };
    Err(first).context(|| format!("{what} cannot be read; the others are linked"))
}
