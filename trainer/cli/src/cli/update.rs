//! `pel update`: brings a bundle to another version of its knowledge base.

use super::code_args::CodeArgs;
use super::compute::ComputeArgs;
use super::index::share;
use clap::Args;
use pel_artifacts::additions;
use pel_artifacts::additions::{AdditionCounts, Extended};
use pel_artifacts::bundles;
use pel_artifacts::concept_table;
use pel_artifacts::concept_table::KbFile;
use pel_artifacts::device::{DeviceArgs, Work};
use pel_artifacts::kb_versions::{Matched, UpdatedRedirects};
use pel_artifacts::redirects;
use pel_corpora::indexing::recall::{Floor, K};
use pel_corpora::indexing::source::Source;
use pel_corpora::indexing::update::{UpdateRecipe, Updated, update};
use pel_index::{GraphUpdate, Precision};
use pel_io::files::{io_error, print, write_atomic};
use pel_io::interrupt;
use pel_io::json;
use pel_io::outputs::{Inputs, Output};
use pel_io::resume::WorkFolder;
use pel_io::terminal::counted;
use pel_io::text_encoding::EncodingArgs;
use pel_kb::KnowledgeBase;
use pel_kb::changes::{Change, ChangeCounts};
use pel_kb::clean::escaped;
use pel_kb::error::{Context, Result};
use pel_kb::redirects::RedirectList;
use pel_linker::bundle::{Bundle, KbInfo, KeptIndex, UpdatedBundle};
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Bring a bundle to another version of its knowledge base, encoding only new texts
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pel update bundle --kb new.jsonl --redirects redirects.tsv \
    --out new-bundle\n  \
    pel diff bundle new-bundle\n  \
    pel update bundle --add names.jsonl --out local\n  \
    pel update bundle --codes codes.tsv --code-names names.tsv --out coded\n  \
    pel update bundle --keep-index --kb renamed.jsonl --redirects redirects.tsv --out renamed\n\n\
    Encoder, --view, index precision and NIL threshold stay as in the bundle. After an \
    interruption the same command resumes."
)]
pub struct UpdateArgs {
    /// The bundle to start from. It is not changed
    bundle: PathBuf,
    /// The new version of the concept table that `pel import` writes (JSONL; may be gz, bz2, xz or
    /// zst)
    #[arg(long, required_unless_present_any = ["add", "codes", "hierarchy"])]
    kb: Option<PathBuf>,
    /// Concept tables, as `pel map --reviewed` writes them. Their concepts, names and
    /// cross-references are added to --kb, or to the bundle's own knowledge base
    #[arg(long, value_name = "FILE", num_args = 1..)]
    add: Vec<PathBuf>,
    /// Of the concept tables.
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Retired identifiers and their successors: a table with the columns id, replaced_by and
    /// reason between tabs. The bundle's own redirects stay
    #[arg(long, value_name = "FILE")]
    redirects: Option<PathBuf>,
    /// Keep the index as it is: concepts are renamed and merged in place, nothing is encoded. Each
    /// concept of the bundle must be in the new table or redirected, and each concept of the table
    /// must take the place of one of the bundle
    #[arg(
        long,
        conflicts_with_all = ["encoder", "rebuild_graph", "recall_floor", "batch_tokens"]
    )]
    keep_index: bool,
    #[command(flatten)]
    codes: CodeArgs,
    /// The bundle to write: a folder, or one file if the name ends in .pel
    #[arg(long)]
    out: PathBuf,
    /// The encoder to encode new texts with: the model with float weights that the bundle's int8
    /// weights were made from [default: the bundle's encoder]
    #[arg(long)]
    encoder: Option<PathBuf>,
    /// The knowledge base's name for the manifest [default: the bundle's]
    #[arg(long)]
    kb_name: Option<String>,
    /// HNSW: rebuild the graph, as `pel index` does, instead of repairing it where rows were
    /// removed or added
    #[arg(long)]
    rebuild_graph: bool,
    /// HNSW: the least recall@64 against exact search, 0 to 1; below it nothing is written
    #[arg(long, value_name = "SHARE", default_value_t = Floor::LEAST, value_parser = share)]
    recall_floor: f64,
    /// Tokens of one encoder batch, padding included [default: 2048 on a CPU, 16384 on a GPU]
    #[arg(long, value_name = "N")]
    batch_tokens: Option<usize>,
    #[command(flatten)]
    compute: ComputeArgs,
    /// Write the report with every change to this file as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// The number of redirects by source ([`UpdatedRedirects`]).
#[derive(Clone, Copy, Serialize)]
struct RedirectCounts {
    all: usize,
    given: usize,
    kept: usize,
    without_successor: usize,
    restored: usize,
}

/// The report of an update.
#[derive(Serialize)]
struct Report<'a> {
    bundle: &'a Path,
    kb: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additions: Option<AdditionCounts>,
    out: &'a Path,
    concepts: usize,
    names: usize,
    counts: ChangeCounts,
    rows: usize,
    rows_reused: usize,
    rows_encoded: usize,
    texts_encoded: usize,
    concepts_without_rows: usize,
    redirects: RedirectCounts,
    graph: Option<GraphUpdate>,
    recall_at_64: Option<f64>,
    nil_threshold: Option<f32>,
    nil_calibrated_on: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a [Change]>,
}

/// Runs `pel update`.
///
/// # Errors
/// If an input cannot be read or does not fit, the device fails, or the bundle cannot be written.
pub fn run(args: &UpdateArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let licence_file = args.kb.as_deref().map(concept_table::licence_file);
    let work = WorkFolder::place(&args.out);
    let outputs = [bundles::writes(&args.out), Output::Folder(&work)];
    Inputs::new()
        .files(args.kb.as_deref())
        .files(licence_file.as_deref())
        .files(args.add.iter().map(PathBuf::as_path))
        .files(args.redirects.as_deref())
        .files(args.codes.files())
        .artifacts([args.bundle.as_path()])
        .artifacts(args.encoder.as_deref())
        .check(
            outputs
                .into_iter()
                .chain(args.report.as_deref().map(Output::File)),
        )?;
    bundles::check_output(&args.out)?;
    let old = bundles::open(&args.bundle)?;
    if args.kb.is_none() && args.add.is_empty() && args.redirects.is_none() {
        return add_codes(args, &old, json);
    }
    let floats = match &args.encoder {
        None => None,
        Some(path) => Some(Source::read(path, None)?.files),
    };
    let given = match &args.redirects {
        None => RedirectList::new(),
        Some(path) => redirects::read(path)?,
    };
    let (kb_file, added) = new_version(args, &old)?;
    let Matched {
        origins,
        retired,
        changes,
        counts,
        redirects,
    } = Matched::of(&old, &kb_file.kb, given).context(|| {
        let path = args.redirects.as_ref().unwrap_or(&args.bundle);
        path.display().to_string()
    })?;
    let (kb_info, licence_text) = kb_info(args, &old, &kb_file)?;
    if args.keep_index {
        let counted = RedirectCounts::of(&redirects);
        let bundle = keep_index(args, &old, &kb_file.kb, redirects, kb_info, licence_text)?;
        let (graph, recall) = (None, None);
        let updated = Updated {
            bundle,
            graph,
            recall,
        };
        bundles::save(&args.out, &updated.bundle.parts)?;
        return report(args, &updated, counts, counted, added, &changes, json);
    }
    let codes = args.codes.read_for(&kb_file.kb, &redirects.all)?;
    let hierarchy = args.codes.read_hierarchy_for(&kb_file.kb, &redirects.all)?;
    if args.encoder.is_none() && old.manifest.encoder.precision == Precision::Int8 {
        eprintln!(
            "new texts are encoded by the bundle's int8 weights; --encoder MODEL with the float \
             weights gives the vectors of `pel index`"
        );
    }
    let device = device.open(Work::Long)?;
    let work = WorkFolder::beside(&args.out);
    let counted = RedirectCounts::of(&redirects);
    let recipe = UpdateRecipe {
        old: &old,
        kb: kb_file.kb,
        origins,
        retired,
        kb_info,
        licence_text,
        redirects: redirects.all,
        codes,
        hierarchy,
        floats,
        graph: match args.rebuild_graph {
            true => GraphUpdate::Rebuild,
            false => GraphUpdate::Repair,
        },
        floor: Floor {
            least: args.recall_floor,
            raise: true,
        },
        batch_tokens: args.batch_tokens,
        compute_precision: args.compute.precision(),
    };
    let updated = update(recipe, &device, &work).context(|| match &args.encoder {
        Some(encoder) => encoder.display().to_string(),
        None => args.bundle.display().to_string(),
    })?;
    bundles::save(&args.out, &updated.bundle.parts)?;
    report(args, &updated, counts, counted, added, &changes, json)?;
    work.remove()
}

/// The description of the new version of the knowledge base, and the full text of its licences.
fn kb_info(args: &UpdateArgs, old: &Bundle, kb_file: &KbFile) -> Result<(KbInfo, Option<String>)> {
    let (licences, licence_text) = match &args.kb {
        Some(kb) => concept_table::licences(kb)?.unzip(),
        None => (None, None),
    };
    let own = &old.manifest.kb;
    let concepts = kb_file.kb.iter();
    let info = KbInfo {
        name: args.kb_name.clone().unwrap_or_else(|| own.name.clone()),
        concepts: kb_file.kb.len(),
        names: concepts.map(|(_, concept)| concept.names().count()).sum(),
        blake3: kb_file.blake3.clone(),
        licences: licences.unwrap_or_else(|| own.licences.clone()),
    };
    Ok((info, licence_text))
}

/// Renames and merges the concepts of the bundle over its index.
fn keep_index(
    args: &UpdateArgs,
    old: &Bundle,
    table: &KnowledgeBase,
    redirects: UpdatedRedirects,
    kb_info: KbInfo,
    licence_text: Option<String>,
) -> Result<UpdatedBundle> {
    let UpdatedRedirects {
        mut all, unlisted, ..
    } = redirects;
    let unlisted: HashSet<String> = unlisted.into_iter().collect();
    all.retain(|redirect| !unlisted.contains(&redirect.id));
    let mut kept = KeptIndex::plan(old, table, all.clone(), interrupt::check)
        .context(|| args.bundle.display().to_string())?;
    if let Some(codes) = args.codes.read_for(kept.kb(), &all)? {
        kept.set_codes(codes);
    }
    if let Some(hierarchy) = args.codes.read_hierarchy_for(kept.kb(), &all)? {
        kept.set_hierarchy(hierarchy);
    }
    kept.finish(kb_info, licence_text)
}

/// Writes and prints the report.
fn report(
    args: &UpdateArgs,
    updated: &Updated,
    counts: ChangeCounts,
    redirects: RedirectCounts,
    added: Option<AdditionCounts>,
    changes: &[Change],
    json: bool,
) -> Result<()> {
    let mut report = Report::new(args, updated, counts, redirects);
    report.additions = added;
    if let Some(path) = &args.report {
        report.changes = Some(changes);
        let text = json::pretty(&report)?;
        write_atomic(path, |file| {
            writeln!(file, "{text}").map_err(|cause| io_error("writing", path, cause))
        })?;
        report.changes = None;
    }
    match json {
        true => println!("{}", json::compact(&report)?),
        false => print(&escaped(&report.words()))?,
    }
    Ok(())
}

/// Gives the bundle codes or a hierarchy, and leaves all else as it is.
fn add_codes(args: &UpdateArgs, old: &Bundle, json: bool) -> Result<()> {
    let find = |id: &str| Ok(old.resolve(id)?.concept());
    let codes = args.codes.read(find)?;
    let hierarchy = args.codes.read_hierarchy(find)?;
    let (parts, manifest) = old.with_codes(codes.as_ref(), hierarchy.as_ref())?;
    bundles::save(&args.out, &parts)?;
    let concepts = manifest.kb.concepts;
    let codes = codes.map_or(0, |codes| codes.len());
    let parents = hierarchy.map_or(0, |hierarchy| hierarchy.len());
    match json {
        true => println!(
            "{}",
            json::compact(&serde_json::json!({
                "bundle": args.bundle, "out": args.out, "concepts": concepts, "codes": codes,
                "parents": parents,
            }))?
        ),
        false => {
            let given = [
                args.codes.codes.as_ref().map(|_| counted(codes, "code")),
                args.codes
                    .hierarchy
                    .as_ref()
                    .map(|_| counted(parents, "parent")),
            ];
            let given: Vec<String> = given.into_iter().flatten().collect();
            print(&escaped(&format!(
                "{}: {}; {} written, nothing was encoded\n",
                args.out.display(),
                counted(concepts, "concept"),
                given.join(", ")
            )))?;
        }
    }
    Ok(())
}

/// The new version of the knowledge base: the given table or the bundle's own concepts, with the
/// additions. Additions to a retired concept belong to its successor.
fn new_version(args: &UpdateArgs, old: &Bundle) -> Result<(KbFile, Option<AdditionCounts>)> {
    let encoding = args.encoding.get();
    let kb = match &args.kb {
        Some(path) => {
            let table = concept_table::read_in(path, &encoding)?;
            if args.add.is_empty() {
                return Ok((table, None));
            }
            table.kb
        }
        None => old.knowledge_base()?,
    };
    let given = match &args.redirects {
        None => Vec::new(),
        Some(path) => redirects::resolved(path, &kb)?,
    };
    let find = |id: &str| match (given.iter().find(|own| own.id == id), &old.redirects) {
        (Some(given), _) => Ok(Some(given.clone())),
        (None, Some(of_bundle)) => of_bundle.find(id),
        (None, None) => Ok(None),
    };
    let Extended { kb, blake3, counts } = additions::extend(&kb, &find, &args.add, &encoding)?;
    Ok((KbFile { kb, blake3 }, Some(counts)))
}

impl RedirectCounts {
    fn of(redirects: &UpdatedRedirects) -> Self {
        Self {
            all: redirects.all.len(),
            given: redirects.given,
            kept: redirects.kept,
            without_successor: redirects.unlisted.len(),
            restored: redirects.restored,
        }
    }
}

impl<'a> Report<'a> {
    fn new(
        args: &'a UpdateArgs,
        updated: &'a Updated,
        counts: ChangeCounts,
        redirects: RedirectCounts,
    ) -> Self {
        let UpdatedBundle {
            manifest,
            without_rows,
            rows,
            ..
        } = &updated.bundle;
        Self {
            bundle: &args.bundle,
            kb: args.kb.as_deref(),
            additions: None,
            out: &args.out,
            concepts: manifest.kb.concepts,
            names: manifest.kb.names,
            counts,
            rows: manifest.index.rows,
            rows_reused: rows.reused,
            rows_encoded: rows.encoded,
            texts_encoded: rows.texts,
            concepts_without_rows: without_rows.len(),
            redirects,
            graph: updated.graph,
            recall_at_64: updated.recall,
            nil_threshold: manifest.nil.threshold,
            nil_calibrated_on: manifest.nil.calibrated_on.as_deref(),
            changes: None,
        }
    }

    /// The report in words.
    fn words(&self) -> String {
        let ChangeCounts {
            added,
            retired,
            redirected,
            merged,
            renamed,
            names_added,
            names_dropped,
            types_changed,
            definitions_changed,
            xrefs_changed,
            sources_changed,
            changed,
            unchanged,
        } = self.counts;
        let RedirectCounts {
            all,
            given,
            kept,
            without_successor,
            restored,
        } = self.redirects;
        let threshold = match (self.nil_threshold, self.nil_calibrated_on) {
            (None, _) => "every mention is linked, as before".to_owned(),
            (Some(threshold), None) => format!("the threshold {threshold} of the old bundle stays"),
            (Some(threshold), Some(on)) => {
                format!("the threshold {threshold} of the old bundle stays, chosen on {on}")
            }
        };
        let mut lines = vec![
            format!(
                "{}: {}, {}, {}",
                self.out.display(),
                counted(self.concepts, "concept"),
                counted(self.names, "name"),
                counted(self.rows, "vector")
            ),
            format!(
                "concepts   {added} added, {retired} retired ({redirected} redirected, {merged} of \
                 them merged), {changed} changed, {unchanged} unchanged"
            ),
            format!(
                "changes    {renamed} renamed, {names_added} names added, {names_dropped} dropped, \
                 {types_changed} with other types, {definitions_changed} definitions, \
                 {xrefs_changed} cross-references, {sources_changed} sources"
            ),
            format!(
                "vectors    {} reused, {} encoded from {}",
                self.rows_reused,
                self.rows_encoded,
                counted(self.texts_encoded, "text")
            ),
            format!(
                "redirects  {all}: {given} given, {kept} of the old bundle, {without_successor} \
                 retired without a successor; {restored} concepts restored"
            ),
            format!("NIL        {threshold}; `pel calibrate` chooses another"),
        ];
        if let Some(added) = self.additions {
            lines.push(format!(
                "additions  {}, {}, {}; {} went to the successor of a retired concept",
                counted(added.names, "name"),
                counted(added.xrefs, "cross-reference"),
                counted(added.concepts, "concept"),
                added.redirected
            ));
        }
        if let (Some(recall), Some(graph)) = (self.recall_at_64, self.graph) {
            let how = match graph {
                GraphUpdate::Repair => "repaired",
                GraphUpdate::Rebuild => "rebuilt",
            };
            lines.push(format!(
                "graph      {how}, recall@{K} against exact search over the stored vectors \
                 {recall:.4}"
            ));
        }
        if self.concepts_without_rows > 0 {
            lines.push(format!(
                "{} not indexed: all names are empty after normalisation",
                counted(self.concepts_without_rows, "concept")
            ));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}
