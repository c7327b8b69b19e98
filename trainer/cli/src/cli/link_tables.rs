//! `pel link` over tables and collections of notes.

use super::link_args::{LinkArgs, is_folder};
use clap::ValueEnum;
use pel_io::files::{list_files, read_text};
use pel_io::terminal::counted;
use pel_kb::clean::escaped;
use pel_kb::error::{Context, Error, Result};
use pel_notes::link::inputs::ReadOptions;
use pel_notes::link::linking::Linking;
use pel_notes::link::manifest::{FileState, RunKey};
use pel_notes::link::notes::{Shard, shard_outputs};
use pel_notes::link::output_format::OutputFormat;
use pel_notes::link::shards::{Folder, ShardRun, Summary};
use std::path::{Path, PathBuf};

/// The tables to link and where their links go.
pub(super) struct Tables {
    shards: Vec<Shard>,
    place: Place,
}

/// Where the links of tables go.
enum Place {
    /// Standard output.
    Standard,
    /// A file for the only table.
    File(PathBuf),
    /// A folder with a file for each table.
    Folder { out: PathBuf, files: Vec<PathBuf> },
}

/// Decides where the links of the tables go; `None` without tables.
///
/// # Errors
/// If the options do not fit tables, or two tables have the same output.
pub(super) fn plan(
    args: &LinkArgs,
    shards: Vec<Shard>,
    format: OutputFormat,
) -> Result<Option<Tables>> {
    let Some(first) = shards.first() else {
        return Ok(None);
    };
    if args.spans.is_some() {
        return Err(Error::input(format!(
            "--spans: expected texts, found the table {}",
            first.path.display()
        )));
    }
    let out = args.out.as_deref().filter(|out| out.as_os_str() != "-");
    let several = shards.len() > 1 || args.inputs.iter().any(|input| input.is_dir());
    let place = match out {
        None => Place::Standard,
        Some(out) if !several && !is_folder(out) => Place::File(out.to_owned()),
        Some(out) => Place::Folder {
            out: out.to_owned(),
            files: shard_outputs(&shards, out, format)?,
        },
    };
    let fits = match place {
        Place::Standard => !format.needs_files(),
        _ => format.holds_tables(),
    };
    if !fits {
        let fitting: Vec<String> = OutputFormat::value_variants()
            .iter()
            .filter(|format| format.holds_tables())
            .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
            .collect();
        return Err(Error::input(format!(
            "this --format cannot hold the notes of a table in one file; use one of {}",
            fitting.join(", ")
        )));
    }
    match &place {
        Place::Folder { .. } if shards.iter().any(|shard| shard.path.as_os_str() == "-") => {
            return Err(Error::input(
                "standard input: its links go to one file; give a file with --out, not a folder",
            ));
        }
        Place::Folder { .. } => {}
        _ => refuse_folder_options(args)?,
    }
    Ok(Some(Tables { shards, place }))
}

/// Refuses options of tables for texts.
///
/// # Errors
/// If there is one.
pub(super) fn refuse_options(args: &LinkArgs) -> Result<()> {
    refuse_folder_options(args)?;
    let columns = &args.columns;
    for (is_given, option) in [
        (columns.text_column.is_some(), "--text-column"),
        (columns.id_column.is_some(), "--id-column"),
    ] {
        if is_given {
            return Err(Error::input(format!(
                "{option}: the inputs are texts, which have no columns; --input-format reads them \
                 as tables"
            )));
        }
    }
    Ok(())
}

fn refuse_folder_options(args: &LinkArgs) -> Result<()> {
    for (is_given, option) in [
        (args.part.is_some(), "--part"),
        (args.overwrite, "--overwrite"),
    ] {
        if is_given {
            return Err(Error::input(format!(
                "{option}: this needs tables of notes as inputs, and a folder as --out"
            )));
        }
    }
    Ok(())
}

impl Tables {
    /// The tables.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().map(|shard| shard.path.as_path())
    }

    /// The output files.
    pub fn files(&self) -> Vec<&Path> {
        match &self.place {
            Place::Standard => Vec::new(),
            Place::File(file) => vec![file],
            Place::Folder { files, .. } => files.iter().map(PathBuf::as_path).collect(),
        }
    }

    /// Links the tables.
    ///
    /// # Errors
    /// As [`ShardRun::write_folder`].
    pub fn link(&self, linking: &Linking, args: &LinkArgs) -> Result<Summary> {
        let options = ReadOptions {
            columns: args.columns.clone(),
            encoding: args.encoding.get(),
            limit: args.limit,
        };
        let run = ShardRun {
            linking,
            options: &options,
        };
        match (&self.place, &self.shards[..]) {
            (Place::File(out), [shard]) => run.write(shard, out),
            (Place::Folder { out, files }, shards) => {
                let folder = Folder {
                    out,
                    outputs: files.clone(),
                    key: key(linking, args)?,
                    part: args.part,
                    overwrite: args.overwrite,
                };
                run.write_folder(shards, &folder)
            }
            (_, shards) => run.print(shards),
        }
    }
}

/// What the links depend on, but for the tables.
fn key(linking: &Linking, args: &LinkArgs) -> Result<RunKey> {
    let rules = match args.context_rules.as_deref() {
        Some(file) if file.is_file() => read_text(file)?,
        Some(name) => name.display().to_string(),
        None => String::new(),
    };
    let attributes = args
        .attribute_rules
        .as_deref()
        .filter(|file| file.is_file())
        .map(read_text)
        .transpose()?;
    let wordings = args.wordings.as_deref().map(read_text).transpose()?;
    let mut ranker = Vec::new();
    for file in args.second.model().into_iter().map(list_files) {
        for file in file? {
            ranker.push(FileState::of(&file)?.blake3);
        }
    }
    // The address of a store can hold a password.
    let store = args.search.vectors.as_ref().map(|_| {
        (
            &args.connection.table,
            &args.search.types,
            args.search.exact,
            args.search.depth,
        )
    });
    let described = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {rules:?} {wordings:?} {ranker:?} {:?} {store:?} {:?}",
        linking.options,
        linking.format,
        linking.encoding,
        args.input_format,
        args.columns,
        // A date that is not given is that of each run.
        args.date,
        args.scorer,
        linking.engine.second.as_ref().map(|second| second.count),
        args.limit,
    );
    // Only where it is given, so that links of earlier versions keep their key.
    let described = match args.omop_first_id {
        Some(first) => format!("{described} {first}"),
        None => described,
    };
    let described = match args.search_names {
        true => format!("{described} search names"),
        false => described,
    };
    let described = match attributes {
        Some(rules) => format!("{described} {rules:?}"),
        None => described,
    };
    Ok(RunKey {
        pel: env!("CARGO_PKG_VERSION").to_owned(),
        bundle: linking.engine.linker.bundle().manifest.digest.clone(),
        options: blake3::hash(described.as_bytes()).to_hex().to_string(),
    })
}

/// Reports notes and tables that could not be read.
///
/// # Errors
/// If there is one.
pub(super) fn report(summary: Summary, folders: Vec<Error>) -> Result<()> {
    let Summary {
        unread_tables,
        unread_note,
        unread,
        notes,
        tables,
        ..
    } = summary;
    let mut parts = Vec::new();
    if unread > 0 {
        parts.push(format!("{unread} of {}", counted(notes, "note")));
    }
    if !unread_tables.is_empty() {
        let (bad, all) = (unread_tables.len(), tables + unread_tables.len());
        if all == 1 && folders.is_empty() {
            return unread_tables.into_iter().next().map_or(Ok(()), Err);
        }
        parts.push(format!("{bad} of {}", counted(all, "table")));
    }
    if !folders.is_empty() {
        parts.push(counted(folders.len(), "folder"));
    }
    let mut failed = unread_note.into_iter().chain(unread_tables).chain(folders);
    let Some(first) = failed.next() else {
        return Ok(());
    };
    failed.for_each(|error| eprintln!("{}", escaped(&error.to_string())));
    Err(first).context(|| {
        format!(
            "{} cannot be read; the others are linked",
            parts.join(" and ")
        )
    })
}
