//! `pel diff`: shows what changed between two versions of a knowledge base.

use clap::Args;
use pel_artifacts::kb_versions::{Version, compare, resolved_for};
use pel_artifacts::redirects;
use pel_io::files::print;
use pel_io::json;
use pel_io::outputs::Inputs;
use pel_io::text_encoding::EncodingArgs;
use pel_io::text_tables::table;
use pel_kb::changes::{Change, ChangeCounts, Changed, Replaced, Retired};
use pel_kb::clean::escaped;
use pel_kb::error::{Context, Result};
use serde::Serialize;
use std::path::PathBuf;

/// Show what changed between two bundles or concept tables
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  pel diff bundle new-bundle\n  \
    pel diff old.jsonl new.jsonl --redirects redirects.tsv --all\n  \
    pel diff bundle new.jsonl --json > changes.jsonl\n\n\
    Concepts are compared by identifier. The order is that of identifiers.")]
pub struct DiffArgs {
    /// The old version: a bundle, or a concept table (JSONL; may be gz, bz2, xz or zst)
    old: PathBuf,
    /// The new version, likewise
    new: PathBuf,
    /// Of the concept tables.
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Retired identifiers and their successors in the new version: a table with the columns id,
    /// replaced_by and reason between tabs [default: those of the new bundle, if it is one]
    #[arg(long, value_name = "FILE")]
    redirects: Option<PathBuf>,
    /// The number of concepts to show of each kind of change
    #[arg(long, short, default_value_t = 10, conflicts_with = "all")]
    first: usize,
    /// Show all concepts
    #[arg(long)]
    all: bool,
}

/// The last line of `--json`.
#[derive(Serialize)]
#[serde(tag = "change", rename = "summary")]
struct Summary {
    #[serde(flatten)]
    counts: ChangeCounts,
}

/// Runs `pel diff`.
///
/// # Errors
/// If a version or the redirects cannot be read, or do not fit.
pub fn run(args: &DiffArgs, as_json: bool) -> Result<()> {
    Inputs::new()
        .files([args.old.as_path(), args.new.as_path()])
        .files(args.redirects.as_deref())
        .check([])?;
    let encoding = args.encoding.get();
    let old = Version::read(&args.old, &encoding)?;
    let new = Version::read(&args.new, &encoding)?;
    let given = match &args.redirects {
        None => None,
        Some(path) => Some(
            resolved_for(redirects::read(path)?, &new).context(|| path.display().to_string())?,
        ),
    };
    let redirects = given.as_ref().or(new.redirects());
    if as_json {
        let counts = compare(&old, &new, redirects, |change| {
            print(&format!("{}\n", json::compact(&change)?))
        })?;
        return print(&format!("{}\n", json::compact(&Summary { counts })?));
    }
    let mut shown = Shown::new(if args.all { usize::MAX } else { args.first });
    let counts = compare(&old, &new, redirects, |change| {
        shown.add(change);
        Ok(())
    })?;
    print(&escaped(&shown.text(&counts)))
}

/// The rows of a kind of change.
struct Kind {
    title: &'static str,
    header: &'static [&'static str],
    /// The first rows.
    rows: Vec<Vec<String>>,
    /// The number of all rows.
    all: usize,
}

/// The kinds of changes with their first rows.
struct Shown {
    most: usize,
    added: Kind,
    retired: Kind,
    renamed: Kind,
    names: Kind,
    types: Kind,
    definitions: Kind,
    xrefs: Kind,
    sources: Kind,
}

impl Kind {
    fn new(title: &'static str, header: &'static [&'static str]) -> Self {
        Self {
            title,
            header,
            rows: Vec::new(),
            all: 0,
        }
    }

    fn add(&mut self, most: usize, row: impl FnOnce() -> Vec<String>) {
        self.all += 1;
        if self.rows.len() < most {
            self.rows.push(row());
        }
    }

    fn text(&self) -> String {
        let Self {
            title,
            header,
            rows,
            all,
        } = self;
        if *all == 0 {
            return String::new();
        }
        let mut shown = table(header.iter().copied());
        rows.iter().for_each(|row| {
            shown.add_row(row);
        });
        let more = match all - rows.len() {
            0 => String::new(),
            more => format!("{more} more; --all shows them\n"),
        };
        format!("\n{title}: {all}\n{shown}\n{more}")
    }
}

impl Shown {
    fn new(most: usize) -> Self {
        Self {
            most,
            added: Kind::new("Added", &["Id", "Name"]),
            retired: Kind::new("Retired", &["Id", "Name", "Successor", "Reason"]),
            renamed: Kind::new("Renamed", &["Id", "Old name", "New name"]),
            names: Kind::new("Other names", &["Id", "Name", "Added", "Dropped"]),
            types: Kind::new("Other types", &["Id", "Name", "Old", "New"]),
            definitions: Kind::new("Other definition", &["Id", "Name", "Old", "New"]),
            xrefs: Kind::new(
                "Other cross-references",
                &["Id", "Name", "Added", "Dropped"],
            ),
            sources: Kind::new("Other sources", &["Id", "Name", "Old", "New"]),
        }
    }

    fn add(&mut self, change: Change) {
        let most = self.most;
        match change {
            Change::Added { id, name } => self.added.add(most, || vec![id, name]),
            Change::Retired(Retired {
                id,
                name,
                replaced_by,
                reason,
                ..
            }) => self.retired.add(most, || {
                vec![
                    id,
                    name,
                    replaced_by.unwrap_or_else(|| "-".to_owned()),
                    reason.unwrap_or_else(|| "-".to_owned()),
                ]
            }),
            Change::Changed(changed) => self.add_changed(&changed),
        }
    }

    fn add_changed(&mut self, changed: &Changed) {
        let (most, id, name) = (self.most, &changed.id, &changed.name);
        let row = |third: String, fourth: String| vec![id.clone(), name.clone(), third, fourth];
        let replaced =
            |values: &Replaced<Vec<String>>| row(values.old.join("; "), values.new.join("; "));
        if let Some(before) = &changed.renamed_from {
            let renamed = || vec![id.clone(), before.clone(), name.clone()];
            self.renamed.add(most, renamed);
        }
        if !(changed.names_added.is_empty() && changed.names_dropped.is_empty()) {
            let names = || {
                row(
                    changed.names_added.join("; "),
                    changed.names_dropped.join("; "),
                )
            };
            self.names.add(most, names);
        }
        if let Some(types) = changed.types.as_ref().or(changed.type_ids.as_ref()) {
            self.types.add(most, || replaced(types));
        }
        if let Some(Replaced { old, new }) = &changed.definition {
            let [old, new] = [old, new].map(|text| text.clone().unwrap_or_else(|| "-".to_owned()));
            self.definitions.add(most, || row(old, new));
        }
        if !(changed.xrefs_added.is_empty() && changed.xrefs_dropped.is_empty()) {
            let xrefs = || {
                row(
                    changed.xrefs_added.join("; "),
                    changed.xrefs_dropped.join("; "),
                )
            };
            self.xrefs.add(most, xrefs);
        }
        if let Some(sources) = &changed.sources {
            self.sources.add(most, || replaced(sources));
        }
    }

    fn text(&self, counts: &ChangeCounts) -> String {
        let ChangeCounts {
            added,
            retired,
            redirected,
            merged,
            changed,
            unchanged,
            ..
        } = counts;
        let head = format!(
            "{added} concepts added, {retired} retired ({redirected} redirected, {merged} of them \
             merged), {changed} changed, {unchanged} unchanged\n"
        );
        let kinds = [
            &self.added,
            &self.retired,
            &self.renamed,
            &self.names,
            &self.types,
            &self.definitions,
            &self.xrefs,
            &self.sources,
        ];
        kinds.iter().fold(head, |text, kind| text + &kind.text())
    }
}
