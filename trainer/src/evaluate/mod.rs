//! `pel evaluate`: how often the right concept comes first, or among the first, and how well NIL is told from the rest.
//!
//! Everything that ranks concepts for mentions is a [`Retriever`]; all are measured on the same mentions in the same run.

pub mod dense;
mod figures;
mod gold;
mod report;
mod systems;

pub use figures::{At, Figures, NilFigures, Recall};
pub use gold::{Gold, SeenBy, Split, SplitCounts, TrainingCounts, TrainingSplit};
pub use report::{Evaluation, Intervals, KbCounts, Run};
pub use systems::{BySurface, System};

use crate::files::{io_error, write_whole};
use crate::interrupt;
use crate::kb_file::{self, KbFile};
use crate::progress::Progress;
use clap::Args;
use figures::Chosen;
use gold::has_split;
use pel_shared::error::{Context, Error, Result};
use pel_shared::lexical::Ranked;
use pel_shared::text::Span;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Measure how often the right concept is found, and NIL where there is none, on an annotated corpus
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel evaluate --corpus corpus --kb kb.jsonl\n  \
    pel evaluate --corpus corpus --bundle bundle --systems dense,tfidf --out results.json\n\n\
    A corpus is a folder as `pel import pubtator` writes it: documents.jsonl and one mentions.SPLIT.jsonl for each split. \
    A mention whose concept the knowledge base does not have counts as NIL.")]
pub struct EvaluateArgs {
    /// The folder of the corpus
    #[arg(long, value_name = "DIR")]
    pub corpus: PathBuf,
    /// The split to measure on
    #[arg(long, default_value = "test")]
    pub split: String,
    /// The split that was trained on: it tells seen concepts from zero-shot ones, and `majority` learns from it
    #[arg(long, value_name = "SPLIT", default_value = "train")]
    pub train_split: String,
    /// The split on which NIL thresholds are chosen [default: dev, if the corpus has it]
    #[arg(long, value_name = "SPLIT")]
    pub calibrate_split: Option<String>,
    /// The concepts, one JSON object a line; without it those of the bundle
    #[arg(long, value_name = "FILE")]
    pub kb: Option<PathBuf>,
    /// The bundle whose encoder `dense` measures
    #[arg(long, value_name = "BUNDLE")]
    pub bundle: Option<PathBuf>,
    /// What to measure [default: exact,tfidf,bm25, majority if there is a training split, dense if there is a bundle]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub systems: Option<Vec<System>>,
    /// Candidates that are asked for; recall is measured at 1, 8, 64 and here
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,
    /// Measure only every N-th mention, for a quick look
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub every: u32,
    /// Write all figures into this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// The split that thresholds are chosen on if nobody says otherwise.
const DEV: &str = "dev";

/// A mention to rank concepts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// The whole document.
    pub text: &'a str,
    /// Where the mention stands in it, in bytes.
    pub span: Span,
}

impl<'a> Query<'a> {
    /// The mention's own text; empty if the span does not fit.
    pub fn surface(&self) -> &'a str {
        self.text.get(self.span.start..self.span.end).unwrap_or_default()
    }
}

/// A system under measurement.
pub trait Retriever {
    /// Its name in tables.
    fn name(&self) -> &str;

    /// What it compares with what, in words.
    fn protocol(&self) -> String;

    /// The best `k` concepts of each mention, best first, every concept once, ties in concept order.
    ///
    /// `done` is to be called with the number of mentions dealt with, often enough to move a bar; its error is passed on.
    ///
    /// # Errors
    /// If a mention cannot be encoded, or `done` fails.
    fn search(&self, queries: &[Query<'_>], k: usize, done: &mut dyn FnMut(usize) -> Result<()>)
    -> Result<Vec<Ranked>>;
}

/// What an opened bundle brings to an evaluation.
pub struct Dense {
    /// Its concepts in its order, which the retriever's ids refer to; the hash identifies them.
    pub concepts: KbFile,
    /// Its encoder and index.
    pub retriever: Box<dyn Retriever>,
}

/// Runs `pel evaluate`; `open` opens the bundle, if one is given.
///
/// # Errors
/// If an option does not fit the corpus, or anything cannot be read, encoded or written.
pub fn run(args: &EvaluateArgs, json: bool, open: impl FnOnce(&Path) -> Result<Dense>) -> Result<()> {
    let evaluation = evaluate(args, open)?;
    if let Some(out) = &args.out {
        save(&evaluation, out)?;
    }
    let said = if json {
        serde_json::to_string_pretty(&evaluation).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?
    } else {
        evaluation.tables()
    };
    writeln!(std::io::stdout().lock(), "{said}").map_err(|cause| Error::io("writing the results").caused_by(cause))
}

/// Writes all figures into a file, as JSON.
fn save(evaluation: &Evaluation, out: &Path) -> Result<()> {
    write_whole(out, |file| {
        serde_json::to_writer_pretty(&mut *file, evaluation).map_err(|cause| io_error("writing", out, cause.into()))?;
        file.write_all(b"\n").map_err(|cause| io_error("writing", out, cause))
    })
}

fn evaluate(args: &EvaluateArgs, open: impl FnOnce(&Path) -> Result<Dense>) -> Result<Evaluation> {
    let has = |split: &str| has_split(&args.corpus, split);
    let systems = systems::chosen(args.systems.as_deref(), has(&args.train_split), args.bundle.is_some())?;
    let (bundled, mut dense) = match args.bundle.as_deref().map(open).transpose()? {
        Some(Dense { concepts, retriever }) => (Some(concepts), Some(retriever)),
        None => (None, None),
    };
    let concepts = concepts(args.kb.as_deref(), bundled)?;
    let training = match has(&args.train_split) || systems.contains(&System::Majority) {
        true => Some(TrainingSplit::read(&args.corpus, &args.train_split).context(|| "the training split".into())?),
        false => None,
    };
    let read = |split: &str| Split::read(&args.corpus, split, args.every as usize, &concepts.kb, training.as_ref());
    let measured = read(&args.split)?;
    if measured.mentions.is_empty() {
        let reasons = measured.counts.skipped.reasons();
        let skipped = if reasons.is_empty() { String::new() } else { format!(" (skipped: {reasons})") };
        return Err(Error::input(format!("the split {} has no mention to measure on{skipped}", args.split)));
    }
    let calibration = match &args.calibrate_split {
        Some(split) if *split == args.split => None,
        Some(split) => match read(split)? {
            read if read.counts.nil == 0 => {
                return Err(Error::input(format!("the split {split} has no NIL mention to choose a threshold by")));
            }
            read => Some(read),
        },
        None if has(DEV) && args.split != DEV => Some(read(DEV)?).filter(|read| read.counts.nil > 0),
        None => None,
    };
    let mut rows = Vec::new();
    for system in systems {
        interrupt::check()?;
        let began = Instant::now();
        let retriever = match system {
            System::Dense => dense.take().ok_or_else(systems::needs_bundle)?,
            lexical => Box::new(systems::lexical(lexical, &concepts.kb, training.as_ref())?),
        };
        let build_seconds = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let ranked = search(retriever.as_ref(), &measured, args.top as usize, "searching")?;
        let search_seconds = began.elapsed().as_secs_f64();
        let chosen = match &calibration {
            Some(split) => {
                let ranked = search(retriever.as_ref(), split, 1, "calibrating")?;
                Chosen::on_another_split(split, &ranked)
            }
            None => Chosen::on_the_same_split(&measured, &ranked),
        };
        let seconds = [build_seconds, search_seconds];
        rows.push(Figures::new(retriever.as_ref(), &measured, &ranked, args.top as usize, chosen, seconds));
    }
    Ok(Evaluation {
        run: Run::here(),
        corpus: args.corpus.display().to_string(),
        kb: KbCounts { concepts: concepts.kb.len(), blake3: concepts.blake3 },
        top: args.top as usize,
        split: measured.counts,
        training: training.map(|training| training.counts),
        calibration: calibration.map(|split| split.counts),
        intervals: Intervals::default(),
        systems: rows,
    })
}

/// The concepts to link to: those of the table, which must be the bundle's if there is one, or else the bundle's.
fn concepts(table: Option<&Path>, bundled: Option<KbFile>) -> Result<KbFile> {
    let Some(path) = table else {
        return bundled.ok_or_else(|| Error::input("expected the concepts: give --kb or --bundle"));
    };
    let concepts = kb_file::read(path)?;
    let ids = |file: &KbFile| file.kb.iter().map(|(_, concept)| concept.id.clone()).collect::<Vec<_>>();
    if bundled.is_some_and(|bundled| ids(&bundled) != ids(&concepts)) {
        let why = "expected the bundle's concepts in the bundle's order; leave --kb out to use the bundle's own";
        return Err(Error::input(format!("{}: {why}", path.display())));
    }
    Ok(concepts)
}

/// Ranks concepts for all mentions of a split, under a progress bar.
fn search(retriever: &dyn Retriever, split: &Split, k: usize, doing: &'static str) -> Result<Vec<Ranked>> {
    let queries: Vec<Query<'_>> = split.queries().collect();
    let mut progress = Progress::new(doing, queries.len() as u64, "mentions");
    let mut done = |mentions: usize| {
        progress.advance(mentions as u64);
        interrupt::check()
    };
    let ranked = retriever.search(&queries, k, &mut done).context(|| retriever.name().to_owned())?;
    if ranked.len() != queries.len() {
        let (expected, found) = (queries.len(), ranked.len());
        return Err(Error::artifact(format!("{}: expected {expected} answers, found {found}", retriever.name())));
    }
    Ok(ranked)
}

#[cfg(test)]
mod tests;
