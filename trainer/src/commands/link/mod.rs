//! `pel link`: notes in, linked mentions out.

mod notes;
mod second_stage;

use super::index::ScorerChoice;
use crate::device::{DeviceArgs, OpenDevice, Work};
use crate::files::{self, io_error, write_whole};
use crate::outputs::{Inputs, Writes};
use crate::progress::Progress;
use crate::render::{self, Format};
use crate::{bundles, interrupt, memory, spans};
use clap::Args;
use notes::Note;
use pel_shared::bundle::Bundle;
use pel_shared::detect::{DetectOptions, Detected, join};
use pel_shared::error::{Context, Error, Result};
use pel_shared::linker::{Link, LinkOptions, Linker, Prepared, Queries};
use pel_shared::report::{self, Record};
use rayon::prelude::*;
pub use second_stage::{RankerArgs, SecondStage};
use std::path::{Path, PathBuf};

/// Link the mentions of notes to concepts, or to NIL where the knowledge base has none
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel link --bundle bundle note.txt\n  \
    pel link --bundle bundle notes/ --format brat --out linked/\n  \
    pel link --bundle bundle note.txt --spans note.ann --spans-only --format jsonl\n  \
    pel link --bundle bundle note.txt --ranker rank/model --rerank 16\n  \
    cat note.txt | pel link --bundle bundle --format html > note.html\n\n\
    Nothing leaves this machine, and texts are written to no log.")]
pub struct LinkArgs {
    /// The bundle that `pel index` wrote
    #[arg(long)]
    pub bundle: PathBuf,
    /// Notes: text files (UTF-8), folders of .txt or .text files, or - for standard input
    #[arg(default_value = "-")]
    inputs: Vec<PathBuf>,
    /// Mentions that you bring: BRAT standoff (.ann) or JSONL; with several notes a folder with NAME.ann or NAME.jsonl for each
    #[arg(long, value_name = "PATH")]
    spans: Option<PathBuf>,
    /// Link only the mentions that you bring; find no others
    #[arg(long, requires = "spans")]
    spans_only: bool,
    /// Find names of the knowledge base only, not words that it does not know
    #[arg(long)]
    names_only: bool,
    /// The form of the output [default: table, with --json jsonl]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write into this file, or for several notes into this folder, instead of the terminal
    #[arg(long)]
    out: Option<PathBuf>,
    /// Candidates to list for each mention
    #[arg(long, short, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    k: u16,
    /// The lowest score that is linked, instead of the bundle's
    #[arg(long, value_parser = super::finite)]
    threshold: Option<f32>,
    /// How mentions are compared with concepts: by whole vectors, or by Sum-of-Max over the vectors of all tokens, for which the
    /// bundle needs to hold them; another way than the bundle's own links without its threshold [default: what the bundle holds]
    #[arg(long, value_enum)]
    scorer: Option<ScorerChoice>,
    #[command(flatten)]
    second: RankerArgs,
    /// Say at the end how much memory was used
    #[arg(long)]
    memory: bool,
}

/// Runs `pel link`.
///
/// # Errors
/// If the bundle or an input cannot be read, a span does not fit, or the output cannot be written.
pub fn run(args: &LinkArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let format = match (json, args.format) {
        (true, None) => Format::Jsonl,
        (true, Some(format)) if !matches!(format, Format::Json | Format::Jsonl) => {
            return Err(Error::input("--json asks for JSON lines, --format for something else; leave one out"));
        }
        (_, format) => format.unwrap_or(Format::Table),
    };
    let mut notes = notes::notes(&args.inputs)?;
    let several = notes.len() > 1 || args.inputs.iter().any(|input| input.is_dir());
    if let Some(spans) = &args.spans {
        notes::bring_spans(&mut notes, spans, several)?;
    }
    // `-` is standard output.
    match args.out.as_ref().filter(|out| out.as_os_str() != "-") {
        Some(out) => {
            let named_as_folder = out.is_dir() || out.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
            notes::place(&mut notes, out, several || named_as_folder, format)?;
        }
        None if several && matches!(format, Format::Html | Format::Brat) => {
            return Err(Error::input("several notes make several files of this format: choose a folder with --out"));
        }
        None => {}
    }
    check_outputs(args, &notes)?;
    let bundle = bundles::open(&args.bundle)?;
    let opened = device.open(Work::Short)?;
    let linker = linker(&args.bundle, bundle, args.scorer, &opened)?;
    let second = args.second.open(&opened)?;
    let options = LinkOptions {
        k: usize::from(args.k).max(second.as_ref().map_or(0, |second| second.count)),
        threshold: args.threshold,
        detect: DetectOptions { unknown_terms: !args.names_only, ..DetectOptions::default() },
    };
    let job = Job { args, linker, second, options, format };
    let mut done =
        Done { progress: Progress::new("linking", notes.len() as u64, "notes"), headed: false, failed: vec![] };
    for window in notes::windows(&notes) {
        interrupt::check()?;
        job.run(window, &mut done)?;
    }
    drop(done.progress);
    if let Some(bytes) = memory::peak().filter(|_| args.memory) {
        eprintln!("peak memory {bytes} bytes");
    }
    unread(done.failed, notes.len())
}

/// Refuses to write over a note, its mentions, the bundle or the ranker.
fn check_outputs(args: &LinkArgs, notes: &[Note]) -> Result<()> {
    let read = notes.iter().flat_map(|note| note.spans.iter().chain([&note.path]));
    let ranker = args.second.model();
    let inputs = Inputs::new()
        .files(read.map(PathBuf::as_path))
        .artifacts(std::iter::once(args.bundle.as_path()).chain(ranker));
    inputs.check(notes.iter().filter_map(|note| note.out.as_deref()).map(Writes::File))
}

/// Says which notes could not be read.
///
/// # Errors
/// If there is one.
fn unread(mut failed: Vec<Error>, all: usize) -> Result<()> {
    if failed.is_empty() {
        return Ok(());
    }
    let (count, first) = (failed.len(), failed.remove(0));
    failed.iter().for_each(|error| eprintln!("{error}"));
    if all == 1 {
        return Err(first);
    }
    Err(first).context(|| format!("{count} of {all} notes cannot be read, and the others are linked"))
}

/// Sequences that are encoded between two looks for Ctrl-C.
const SEQUENCES: usize = 4096;

/// How notes are linked.
struct Job<'a> {
    args: &'a LinkArgs,
    linker: Linker,
    second: Option<SecondStage>,
    options: LinkOptions,
    format: Format,
}

/// What has become of the notes so far.
struct Done {
    progress: Progress,
    /// Whether a table has been printed with its head.
    headed: bool,
    /// Why some could not be read.
    failed: Vec<Error>,
}

impl Job<'_> {
    /// Links the notes of a window together, without those that cannot be read.
    fn run(&self, window: &[Note], done: &mut Done) -> Result<()> {
        let (mut notes, mut texts, mut prepared) = (Vec::new(), Vec::new(), Vec::new());
        let read: Vec<_> = window.par_iter().map(|note| self.read(note)).collect();
        for (note, read) in window.iter().zip(read) {
            match read {
                Ok((text, mentions)) => {
                    notes.push(note);
                    texts.push(text);
                    prepared.push(mentions);
                }
                Err(error) => {
                    done.failed.push(error);
                    done.progress.advance(1);
                }
            }
        }
        if notes.is_empty() {
            return Ok(());
        }
        let mut links = self.link(&notes, prepared)?;
        self.rerank(&texts, &mut links)?;
        let write = |((note, text), links): ((&&Note, &String), &Vec<Link>)| {
            self.write(note, text, links).context(|| note.path.display().to_string())
        };
        let written: Vec<_> = notes.par_iter().zip(&texts).zip(&links).map(write).collect();
        for printed in written {
            let printed = printed?;
            // Of tables that follow each other the first alone has a head.
            let body = printed.split_once('\n').filter(|_| self.format == Format::Csv && done.headed);
            files::print(body.map_or(printed.as_str(), |(_, body)| body))?;
            done.headed = true;
            done.progress.advance(1);
        }
        Ok(())
    }

    /// Reads a note and prepares its mentions.
    fn read(&self, note: &Note) -> Result<(String, Prepared)> {
        let text = files::read_text(&note.path)?;
        let mentions = self.mentions(note, &text)?;
        let prepared = self.linker.prepare(&text, mentions).context(|| note.path.display().to_string())?;
        Ok((text, prepared))
    }

    fn mentions(&self, note: &Note, text: &str) -> Result<Vec<Detected>> {
        let given = match &note.spans {
            None => Vec::new(),
            Some(path) => spans::read(path, text)?,
        };
        let found = if self.args.spans_only { Vec::new() } else { self.linker.detect(text, &self.options) };
        Ok(join(given, found))
    }

    /// The links of each note.
    fn link(&self, notes: &[&Note], prepared: Vec<Prepared>) -> Result<Vec<Vec<Link>>> {
        let counts: Vec<usize> = prepared.iter().map(Prepared::mentions).collect();
        let joined = Prepared::join(prepared);
        let queries = encode(&self.linker, &joined).context(|| match notes {
            [note] => note.path.display().to_string(),
            notes => format!("{} and {} more", notes[0].path.display(), notes.len() - 1),
        })?;
        let mut links = self.linker.finish(&joined, &queries, &self.options).into_iter();
        Ok(counts.iter().map(|count| links.by_ref().take(*count).collect()).collect())
    }

    /// Has the ranker, if there is one, put candidates into order; then leaves as many as are to be listed.
    fn rerank(&self, texts: &[String], links: &mut [Vec<Link>]) -> Result<()> {
        if let Some(second) = &self.second {
            for (text, links) in texts.iter().zip(links.iter_mut()) {
                second.rerank(&self.linker, text, links)?;
            }
        }
        links.iter_mut().flatten().for_each(|link| link.truncate(usize::from(self.args.k)));
        Ok(())
    }

    /// Writes the links of a note into its file; gives what is to be printed if there is none.
    fn write(&self, note: &Note, text: &str, links: &[Link]) -> Result<String> {
        let records: Vec<Record> = links.iter().map(|link| self.linker.record(link)).collect::<Result<_>>()?;
        let linked = report::Note { name: &note.name, text, records: &records, linker: &self.linker };
        let rendered = render::render(self.format, &linked)?;
        let Some(path) = &note.out else { return Ok(rendered) };
        write_whole(path, |file| {
            file.write_all(rendered.as_bytes()).map_err(|cause| io_error("writing", path, cause))
        })?;
        Ok(String::new())
    }
}

/// The road of one text.
///
/// # Errors
/// If a span does not fit or the device fails.
pub fn link(linker: &Linker, text: &str, mentions: Vec<Detected>, options: &LinkOptions) -> Result<Vec<Link>> {
    let prepared = linker.prepare(text, mentions)?;
    let queries = linker.encode(&prepared)?;
    Ok(linker.finish(&prepared, &queries, options))
}

/// A bundle on a device, with the scorer that was asked for.
///
/// # Errors
/// If the parts of the bundle do not fit together, or it has no token vectors and Sum-of-Max was asked for; the bundle is named.
pub(super) fn linker(path: &Path, bundle: Bundle, scorer: Option<ScorerChoice>, opened: &OpenDevice) -> Result<Linker> {
    let made = Linker::new(bundle, &opened.device).and_then(|mut linker| {
        scorer.map_or(Ok(()), |scorer| linker.set_scorer(scorer.into()))?;
        Ok(linker)
    });
    made.context(|| path.display().to_string())
}

/// As [`Linker::encode`], with a look for Ctrl-C now and then.
fn encode(linker: &Linker, prepared: &Prepared) -> Result<Queries> {
    let mut queries = Queries::default();
    for some in prepared.sequences().chunks(SEQUENCES) {
        interrupt::check()?;
        queries.extend(linker.encode_some(&some.iter().collect::<Vec<_>>())?);
    }
    Ok(queries)
}
