//! `pel link`: notes in, linked mentions out.

use super::index::ScorerChoice;
use crate::data::spans;
use crate::io::device::{DeviceArgs, OpenDevice, Work};
use crate::io::files;
use crate::io::files::{io_error, write_whole};
use crate::io::outputs::{Inputs, Writes};
use crate::io::progress::Progress;
use crate::io::text_encoding::{EncodingArgs, read_text_in};
use crate::io::writing::StandardOutput;
use crate::io::{bundles, interrupt, memory};
use crate::link::notes::{Found, Note};
use crate::link::render::{Format, Parts};
pub use crate::link::second_stage::{RankerArgs, SecondStage};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use pel_shared::bundle::Bundle;
use pel_shared::clean::escaped;
use pel_shared::error::{Context, Error, Kind, Result};
use pel_shared::kb::ConceptId;
use pel_shared::kb::import::report::Report;
use pel_shared::linker::{Link, LinkOptions, Linker, Prepared, Queries};
use pel_shared::output;
use pel_shared::output::Record;
use pel_shared::text::detect::{DetectOptions, Detected, join};
use rayon::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Link the mentions of notes to concepts, or to NIL where the knowledge base has none
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel link --bundle bundle note.txt\n  \
    pel link --bundle bundle notes/ --format brat --out linked/\n  \
    pel link --bundle bundle note.txt --spans note.ann --spans-only --format jsonl\n  \
    pel link --bundle bundle note.txt --format csv --xrefs ICD10CM,SNOMED\n  \
    pel link --bundle bundle note.txt --ranker rank/model --rerank 16\n  \
    cat note.txt | pel link --bundle bundle --format html > note.html\n\n\
    Nothing leaves this machine, and texts are written to no log.")]
pub struct LinkArgs {
    /// The bundle that `pel index` wrote
    #[arg(long)]
    pub bundle: PathBuf,
    /// Notes: text files (UTF-8, or see --encoding), folders of .txt or .text files, or - for standard input
    #[arg(default_value = "-")]
    inputs: Vec<PathBuf>,
    /// Mentions that you bring: BRAT standoff (.ann) or JSONL, fragments of discontinuous ones too; with several notes a folder with NAME.ann or NAME.jsonl for each
    #[arg(long, value_name = "PATH")]
    spans: Option<PathBuf>,
    /// Link only the mentions that you bring; find no others
    #[arg(long, requires = "spans")]
    spans_only: bool,
    /// Of the notes and of the spans that you bring.
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Find names of the knowledge base only, not words that it does not know
    #[arg(long)]
    names_only: bool,
    /// Find every name, also those within and across others ("failure" in "heart failure"), instead of the longest ones from
    /// left to right
    #[arg(long, conflicts_with = "spans_only")]
    overlapping: bool,
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
    /// Write the cross-references (codes of other vocabularies) that begin with one of these, with commas between them, in any
    /// case: ICD10CM,SNOMED,MESH; with a colon, as ICD10:, that vocabulary alone. JSON, JSONL and CSV have them [default: all]
    #[arg(long, value_name = "PREFIX,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    xrefs: Option<Vec<String>>,
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
    let Found { mut notes, unread: folders } = crate::link::notes::notes(&args.inputs)?;
    let several = notes.len() > 1 || args.inputs.iter().any(|input| input.is_dir());
    if let Some(spans) = &args.spans {
        crate::link::notes::bring_spans(&mut notes, spans, several)?;
    }
    // `-` is standard output.
    match args.out.as_ref().filter(|out| out.as_os_str() != "-") {
        Some(out) => {
            let named_as_folder = out.is_dir() || out.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
            crate::link::notes::place(&mut notes, out, several || named_as_folder, format)?;
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
        detect: DetectOptions { unknown_terms: !args.names_only, overlapping: args.overlapping },
    };
    if let Some(prefixes) = &args.xrefs {
        warn_of_unknown(&linker, prefixes)?;
    }
    let job = Job { args, linker, second, options, format };
    let mut done = Done {
        progress: Progress::new("linking", notes.len() as u64, "notes"),
        headed: false,
        failed: vec![],
        noted: Report::default(),
    };
    for window in crate::link::notes::windows(&notes) {
        interrupt::check()?;
        job.run(window, &mut done)?;
    }
    drop(done.progress);
    for (what, count) in &done.noted.noted {
        let example = done.noted.examples.get(what).and_then(|examples| examples.first());
        eprintln!("--spans: {count} x {what}, the first at {}", example.map_or("", String::as_str));
    }
    if let Some(bytes) = memory::peak().filter(|_| args.memory) {
        eprintln!("peak memory {bytes} bytes");
    }
    unread(done.failed, folders, notes.len())
}

/// Refuses to write over a note, its mentions, the bundle or the ranker.
fn check_outputs(args: &LinkArgs, notes: &[Note]) -> Result<()> {
    let read = notes.iter().flat_map(|note| note.spans.iter().chain([&note.path]));
    let ranker = args.second.model();
    let inputs =
        Inputs::new().files(read.map(PathBuf::as_path)).artifacts(std::iter::once(args.bundle.as_path()).chain(ranker));
    inputs.check(notes.iter().filter_map(|note| note.out.as_deref()).map(Writes::File))
}

/// Says which prefixes no cross-reference of the bundle begins with.
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
        unknown.retain(|prefix| !xrefs.iter().any(|xref| output::has_prefix(xref, prefix)));
    }
    for prefix in unknown {
        eprintln!("warning: --xrefs {prefix}: no concept of the bundle has a cross-reference that begins so");
    }
    Ok(())
}

/// Says which notes and folders could not be read.
///
/// # Errors
/// If there is one.
fn unread(notes: Vec<Error>, folders: Vec<Error>, all: usize) -> Result<()> {
    let (bad, closed) = (notes.len(), folders.len());
    let mut failed = notes.into_iter().chain(folders);
    let Some(first) = failed.next() else { return Ok(()) };
    failed.for_each(|error| eprintln!("{}", escaped(&error.to_string())));
    if all == 1 && closed == 0 {
        return Err(first);
    }
    let what = match (bad, closed) {
        (bad, 0) => format!("{bad} of {all} notes"),
        (0, closed) => format!("{closed} folder{}", if closed == 1 { "" } else { "s" }),
        (bad, closed) => format!("{bad} of {all} notes and {closed} folder{}", if closed == 1 { "" } else { "s" }),
    };
    Err(first).context(|| format!("{what} cannot be read, and the others are linked"))
}

/// Sequences that are encoded between two looks for Ctrl-C.
const SEQUENCES: usize = 4096;

/// Mentions that are linked together: they bound the memory. In a note with more, companions come from the same part of it.
const MENTIONS: usize = 1 << 14;

/// Mentions of a part that a thread prepares at a time.
const PREPARED: usize = 256;

/// Links that are written at a time: as many as a table for reading has before its head comes again.
const RECORDS: usize = 512;

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
    /// What was noted of the spans that were brought.
    noted: Report,
}

/// A note that has been read, with its mentions.
struct Read<'a> {
    note: &'a Note,
    text: String,
    mentions: Vec<Detected>,
}

impl Done {
    /// Notes why a note could not be read.
    fn fail(&mut self, error: Error) {
        self.failed.push(error);
        self.progress.advance(1);
    }
}

impl Job<'_> {
    /// Links the notes of a window, without those that cannot be read: as many together as have [`MENTIONS`], one that has more by itself.
    fn run(&self, window: &[Note], done: &mut Done) -> Result<()> {
        let read: Vec<_> = window.par_iter().map(|note| self.read(note)).collect();
        let (mut together, mut mentions) = (Vec::new(), 0);
        for (note, read) in window.iter().zip(read) {
            let read = match read {
                Ok((read, noted)) => {
                    done.noted.merge(noted);
                    read
                }
                Err(error) if error.is_interrupted() => return Err(error),
                Err(error) => {
                    done.fail(error);
                    continue;
                }
            };
            if mentions + read.mentions.len() > MENTIONS {
                self.link_together(std::mem::take(&mut together), done)?;
                mentions = 0;
            }
            match read.mentions.len() > MENTIONS {
                true => self.link_in_parts(&read, done).context(|| note.path.display().to_string())?,
                false => {
                    mentions += read.mentions.len();
                    together.push(read);
                }
            }
        }
        self.link_together(together, done)
    }

    /// Reads a note and finds its mentions.
    fn read<'n>(&self, note: &'n Note) -> Result<(Read<'n>, Report)> {
        let encoding = self.args.encoding.get();
        let text = read_text_in(&note.path, &encoding)?;
        let given = match &note.spans {
            Some(path) => spans::read(path, &encoding, &text)?,
            None => spans::Spans::default(),
        };
        let found = if self.args.spans_only { Vec::new() } else { self.linker.detect(&text, &self.options) };
        let mentions = join(given.mentions, found);
        Ok((Read { note, text, mentions }, given.report))
    }

    fn prepare<'n>(&self, read: Read<'n>) -> Result<(&'n Note, String, Prepared)> {
        let Read { note, text, mentions } = read;
        let prepared = self.linker.prepare(&text, mentions).context(|| note.path.display().to_string())?;
        Ok((note, text, prepared))
    }

    /// Links notes together, and writes the links of each whole.
    fn link_together(&self, read: Vec<Read<'_>>, done: &mut Done) -> Result<()> {
        interrupt::check()?;
        let (mut notes, mut texts, mut prepared) = (Vec::new(), Vec::new(), Vec::new());
        for read in read.into_par_iter().map(|read| self.prepare(read)).collect::<Vec<_>>() {
            match read {
                Ok((note, text, mentions)) => {
                    notes.push(note);
                    texts.push(text);
                    prepared.push(mentions);
                }
                Err(error) => done.fail(error),
            }
        }
        if notes.is_empty() {
            return Ok(());
        }
        let counts: Vec<usize> = prepared.iter().map(Prepared::mentions).collect();
        let joined = Prepared::join(prepared);
        let queries = encode(&self.linker, &joined).context(|| match &notes[..] {
            [note] => note.path.display().to_string(),
            notes => format!("{} and {} more", notes[0].path.display(), notes.len() - 1),
        })?;
        let mut links = self.linker.finish(&joined, &queries, &self.options).into_iter();
        let mut links: Vec<Vec<Link>> = counts.iter().map(|count| links.by_ref().take(*count).collect()).collect();
        for (text, links) in texts.iter().zip(&mut links) {
            self.rerank(text, links)?;
        }
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

    /// Links a note with many mentions part by part; its links are written as they come.
    fn link_in_parts(&self, read: &Read<'_>, done: &mut Done) -> Result<()> {
        let written = match &read.note.out {
            Some(path) => write_whole(path, |file| self.write_in_parts(read, true, file)),
            None => {
                let mut out = StandardOutput::new();
                self.write_in_parts(read, !done.headed, &mut out).and_then(|()| out.finish())
            }
        };
        match written {
            // As of a note that cannot be read.
            Err(error) if error.kind() == Kind::Input => done.fail(error),
            other => {
                other?;
                done.headed = true;
                done.progress.advance(1);
            }
        }
        Ok(())
    }

    fn write_in_parts(&self, read: &Read<'_>, headed: bool, out: &mut dyn Write) -> Result<()> {
        let Read { note, text, mentions } = read;
        let mut put = |part: &str| out.write_all(part.as_bytes()).map_err(|cause| written_error(note, cause));
        let mut parts = Parts::new(self.format, &note.name, text, &self.linker);
        if headed || self.format != Format::Csv {
            put(&parts.head()?)?;
        }
        let mut reader = self.linker.reader();
        reader.begin(text);
        for some in mentions.chunks(MENTIONS) {
            interrupt::check()?;
            let prepare = |some: &[Detected]| self.linker.prepare_with(&mut reader.clone(), text, some.to_vec());
            let prepared = some.par_chunks(PREPARED).map(prepare).collect::<Result<Vec<_>>>()?;
            let prepared = Prepared::join(prepared).of_one_text();
            let queries = encode(&self.linker, &prepared)?;
            let mut links = self.linker.finish(&prepared, &queries, &self.options);
            self.rerank(text, &mut links)?;
            for links in links.chunks(RECORDS) {
                interrupt::check()?;
                put(&parts.part(self.records(links)?)?)?;
            }
        }
        put(&parts.tail()?)
    }

    /// Has the ranker, if there is one, put candidates into order; then leaves as many as are to be listed.
    fn rerank(&self, text: &str, links: &mut [Link]) -> Result<()> {
        if let Some(second) = &self.second {
            second.rerank(&self.linker, text, links)?;
        }
        links.iter_mut().for_each(|link| link.truncate(usize::from(self.args.k)));
        Ok(())
    }

    /// The links by name.
    fn records(&self, links: &[Link]) -> Result<Vec<Record>> {
        let mut records: Vec<Record> = links.iter().map(|link| self.linker.record(link)).collect::<Result<_>>()?;
        if let Some(prefixes) = &self.args.xrefs {
            records.iter_mut().for_each(|record| record.keep_xrefs(prefixes));
        }
        Ok(records)
    }

    /// Writes the links of a note into its file; gives what is to be printed if there is none.
    fn write(&self, note: &Note, text: &str, links: &[Link]) -> Result<String> {
        let mut parts = Parts::new(self.format, &note.name, text, &self.linker);
        let mut rendered = parts.head()?;
        for links in links.chunks(RECORDS) {
            rendered += &parts.part(self.records(links)?)?;
        }
        rendered += &parts.tail()?;
        let Some(path) = &note.out else { return Ok(rendered) };
        write_whole(path, |file| file.write_all(rendered.as_bytes()).map_err(|cause| written_error(note, cause)))?;
        Ok(String::new())
    }
}

/// Why the links of a note cannot be written.
fn written_error(note: &Note, cause: std::io::Error) -> Error {
    io_error("writing", note.out.as_deref().unwrap_or(Path::new("standard output")), cause)
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
