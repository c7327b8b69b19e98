//! The pool for inference: a thread with a bounded queue for each of searches, notes and long texts,
//! so that none waits for one that takes longer. Jobs that wait are merged into one batch
//! (micro-batching), since the encoder is faster on many mentions than on few. A batch that nobody
//! waits for any more is ended.

use crate::api::metrics::{Metrics, Queue};
use crate::api::problem::Problem;
use hyper::StatusCode;
use pel_io::interrupt;
use pel_kb::ConceptId;
use pel_kb::codes::System;
use pel_kb::error::{Error, Result};
use pel_linker::{LinkOptions, Linker};
use pel_notes::link::date::moment;
use pel_notes::link::inputs::Stated;
use pel_notes::link::text_linker::{GivenText, TextLinker, TextOptions};
use pel_output::{Form, NoteWriter, Record};
use pel_text::detect::{DetectOptions, Detected};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

/// Jobs are merged while a batch has fewer texts and bytes than this.
const BATCH: (usize, usize) = (64, 256 << 10);

/// A request is divided into jobs of at most this many texts and bytes, or of one longer text.
/// Other requests take their turn between them: the densest texts need a second for some 10 KiB.
pub const JOB: (usize, usize) = (16, 64 << 10);

/// The number of candidates per mention, if none is given.
pub const K: u16 = 5;

/// Bytes of text that have one mention, in the densest texts.
const MENTION: usize = 10;

/// How texts are linked.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Candidates per mention.
    pub k: usize,
    /// The threshold instead of the bundle's.
    pub threshold: Option<f32>,
    /// Whether only links are kept that are stated of the patient now.
    pub asserted: bool,
    /// Whether records have sets of answers.
    pub sets: bool,
    /// Prefixes of the cross-references to keep; `None` keeps all.
    pub xrefs: Option<Vec<String>>,
    /// The code systems of the codes to keep, in their order; `None` keeps all.
    pub codes: Option<Vec<System>>,
    /// Whether overlapping mentions are found.
    pub overlapping: bool,
    /// Whether only names are found.
    pub names_only: bool,
    /// The number of the detector's set of labels.
    pub scheme: usize,
    /// The concepts of the links to keep; `None` keeps all, and NIL.
    pub under: Option<Arc<BTreeSet<ConceptId>>>,
    /// Whether linked concepts have the concepts and codes above them.
    pub ancestors: bool,
}

impl Settings {
    /// The options of the linker.
    pub fn options(&self) -> TextOptions {
        let link = LinkOptions::default()
            .k(self.k)
            .threshold(self.threshold)
            .detect(DetectOptions {
                unknown_terms: !self.names_only,
                overlapping: self.overlapping,
                names_only: self.names_only,
                scheme: self.scheme,
            });
        TextOptions {
            link,
            k: self.k,
            xrefs: self.xrefs.clone(),
            codes: self.codes.clone(),
            sets: self.sets,
            asserted: self.asserted,
            under: self.under.clone(),
            ancestors: self.ancestors,
        }
    }
}

/// A text to link.
#[derive(Debug)]
pub struct Note {
    /// Its name in the output.
    pub id: String,
    /// The text.
    pub text: String,
    /// Given mentions, in text order.
    pub given: Vec<Detected>,
    /// Whether no other mentions are looked for.
    pub only_given: bool,
    /// What its document states of it.
    pub stated: Stated,
}

impl Note {
    /// Its share of a batch: the bytes of a text that has as many candidates with the default `k`.
    /// Memory grows with the candidates.
    pub fn weight(&self, k: usize) -> usize {
        let given = MENTION * self.given.len();
        let bytes = match self.only_given {
            true => given,
            false => given.max(self.text.len()),
        };
        let default = usize::from(K);
        bytes.saturating_mul(k.max(default)) / default
    }

    fn given_text(&self) -> GivenText<'_> {
        GivenText {
            text: &self.text,
            given: self.given.clone(),
            only_given: self.only_given,
            stated: Some(&self.stated.context),
        }
    }

    /// The note, if its candidates fit into memory. `most` is the largest text in bytes.
    ///
    /// # Errors
    /// Status 422.
    pub fn checked(self, k: usize, most: usize) -> Result<Self, Problem> {
        if self.weight(k) <= most {
            return Ok(self);
        }
        let (bytes, given) = (self.text.len(), self.given.len());
        Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!(
                "expected fewer candidates (k) or a smaller text, found {k} a mention for {bytes} \
                 bytes with {given} given mentions"
            ),
        ))
    }
}

/// What is made of the records of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Render {
    /// A JSON object of the note, as `pel link --format json` writes it.
    Json,
    /// The note on one line: its identifier, and its mentions as `pel link --format jsonl` writes
    /// them.
    Line,
    /// Rows of a table without its head.
    Csv,
    /// A FHIR R4 bundle on one line.
    Fhir,
    /// The candidates of the first mention as a JSON array.
    Candidates,
}

/// Texts that wait to be linked.
struct Job {
    notes: Vec<Note>,
    settings: Arc<Settings>,
    render: Render,
    answer: oneshot::Sender<Result<Vec<String>, Problem>>,
    /// Whether nobody waits for it any more.
    left: Arc<AtomicBool>,
}

impl Job {
    fn weight(&self) -> usize {
        let k = self.settings.k;
        self.notes.iter().map(|note| note.weight(k)).sum()
    }
}

/// Sets the flag of a job when its client leaves, or its time is over.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The threads that link, and their queues.
pub struct Pool {
    searches: mpsc::Sender<Job>,
    notes: mpsc::Sender<Job>,
    long: mpsc::Sender<Job>,
    metrics: Arc<Metrics>,
}

impl Pool {
    /// Starts the threads. At most `places` jobs wait for each. They end when the pool is dropped.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub fn start(
        linker: Arc<TextLinker>,
        places: usize,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<Self> {
        let start = |name: &str, threads: usize| {
            let (queue, jobs) = mpsc::channel(places);
            let worker = Worker {
                linker: Arc::clone(&linker),
                metrics: Arc::clone(&metrics),
            };
            // Threads of its own: the system shares the processors between the three.
            let threads = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|_| "linking".into())
                .build()
                .map_err(std::io::Error::other)?;
            std::thread::Builder::new()
                .name(name.into())
                .spawn(move || worker.run(jobs, &threads))?;
            Ok::<_, std::io::Error>(queue)
        };
        let all = rayon::current_num_threads();
        Ok(Self {
            searches: start("searches", 1)?,
            notes: start("notes", all)?,
            long: start("long texts", all)?,
            metrics,
        })
    }

    /// The queue of a job.
    fn queue_of(&self, job: &Job) -> &mpsc::Sender<Job> {
        match job.render {
            Render::Candidates => &self.searches,
            _ if job.weight() > JOB.1 => &self.long,
            _ => &self.notes,
        }
    }

    /// The size of the queues together.
    pub fn queue(&self) -> Queue {
        let queues = [&self.searches, &self.notes, &self.long];
        let places = queues.map(mpsc::Sender::max_capacity).iter().sum();
        let free: usize = queues.map(mpsc::Sender::capacity).iter().sum();
        Queue {
            waiting: places - free,
            places,
        }
    }

    /// Links notes, at most [`JOB`] at once. Returns what is made of each. If `waits`, a full queue
    /// is waited for.
    ///
    /// # Errors
    /// Status 429 if the queue is full, 503 if the server stops, 422 if a note cannot be linked, or
    /// 500.
    pub async fn link(
        &self,
        notes: Vec<Note>,
        settings: &Arc<Settings>,
        render: Render,
        waits: bool,
    ) -> Result<Vec<String>, Problem> {
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting(Arc::default());
        let job = Job {
            notes,
            settings: Arc::clone(settings),
            render,
            answer,
            left: Arc::clone(&waiting.0),
        };
        let queue = self.queue_of(&job);
        if waits {
            queue.send(job).await.map_err(|_| Problem::stopping())?;
        } else {
            queue.try_send(job).map_err(|error| match error {
                TrySendError::Full(_) => self.busy(queue),
                TrySendError::Closed(_) => Problem::stopping(),
            })?;
        }
        answered.await.unwrap_or_else(|_| Err(Problem::stopping()))
    }

    /// The problem of a full queue, with the time that the queue is likely to take.
    fn busy(&self, queue: &mpsc::Sender<Job>) -> Problem {
        let places = queue.max_capacity();
        let seconds = self.metrics.mean_batch().as_secs_f64() * places as f64 / 2.0;
        Problem::busy(
            (seconds.ceil() as u64).clamp(1, 60),
            format!("the queue is full, with {places} jobs (--queue); try again later"),
        )
    }
}

/// Divides notes with `k` candidates per mention into jobs.
pub fn jobs(notes: Vec<Note>, k: usize) -> Vec<Vec<Note>> {
    let (mut jobs, mut bytes) = (Vec::<Vec<Note>>::new(), 0);
    for note in notes {
        let weight = note.weight(k);
        match jobs.last_mut() {
            Some(job) if job.len() < JOB.0 && bytes + weight <= JOB.1 => {
                bytes += weight;
                job.push(note);
            }
            _ => {
                bytes = weight;
                jobs.push(vec![note]);
            }
        }
    }
    jobs
}

struct Worker {
    linker: Arc<TextLinker>,
    metrics: Arc<Metrics>,
}

impl Worker {
    /// Links batches until no job can come.
    fn run(&self, mut jobs: mpsc::Receiver<Job>, threads: &rayon::ThreadPool) {
        while let Some(first) = jobs.blocking_recv() {
            let mut batch = Vec::new();
            let (mut texts, mut bytes) = (0, 0);
            let mut next = Some(first);
            while let Some(job) = next {
                // Nobody waits for it any more.
                if !job.answer.is_closed() {
                    texts += job.notes.len();
                    bytes += job.weight();
                    batch.push(job);
                }
                // A long text is linked alone, so that it can be ended alone.
                let is_long = bytes > JOB.1 && batch.len() == 1;
                next = if texts < BATCH.0 && bytes < BATCH.1 && !is_long {
                    jobs.try_recv().ok()
                } else {
                    None
                };
            }
            // Only equal settings are linked together.
            while let Some(settings) = batch.first().map(|job| Arc::clone(&job.settings)) {
                let (group, rest) = batch.into_iter().partition(|job| job.settings == settings);
                threads.install(|| self.answer(group, &settings));
                batch = rest;
            }
        }
    }

    /// Links jobs together, or each by itself if one of them fails.
    fn answer(&self, jobs: Vec<Job>, settings: &Settings) {
        let options = settings.options();
        let jobs: Vec<Job> = jobs
            .into_iter()
            .filter(|job| !job.answer.is_closed())
            .collect();
        if jobs.len() > 1 {
            let Some(mut linked) = self.link(&jobs, &options).ok() else {
                for job in jobs {
                    self.answer(vec![job], settings);
                }
                return;
            };
            for job in jobs {
                let rest = linked.split_off(job.notes.len().min(linked.len()));
                let of_job = std::mem::replace(&mut linked, rest);
                // The client may have left.
                let _ = job.answer.send(Ok(of_job));
            }
            return;
        }
        for job in jobs {
            let linked = self.link(std::slice::from_ref(&job), &options);
            let _ = job.answer.send(linked);
        }
    }

    /// Links the notes of jobs in one batch.
    fn link(&self, jobs: &[Job], options: &TextOptions) -> Result<Vec<String>, Problem> {
        let begun = Instant::now();
        let notes: Vec<(&Note, Render)> = jobs
            .iter()
            .flat_map(|job| job.notes.iter().map(|note| (note, job.render)))
            .collect();
        let left = jobs.iter().map(|job| Arc::clone(&job.left)).collect();
        // A fault in one batch must not end the server.
        let linked = || interrupt::wanted_by(left, || self.link_notes(&notes, options));
        let linked = catch_unwind(AssertUnwindSafe(linked))
            .map_err(|_| Problem::internal())
            .and_then(|linked| linked.map_err(Problem::from));
        match &linked {
            Ok(_) => self.metrics.add_batch(notes.len(), begun.elapsed()),
            Err(_) => {
                self.metrics.failures.fetch_add(1, Ordering::Relaxed);
            }
        }
        linked
    }

    fn link_notes(&self, notes: &[(&Note, Render)], options: &TextOptions) -> Result<Vec<String>> {
        if let [(note, render)] = notes
            && note.text.len() > JOB.1
        {
            return Ok(vec![self.link_long(note, *render, options)?]);
        }
        let texts = notes.iter().map(|(note, _)| note.given_text());
        let records = self.linker.link_given(texts.collect(), options)?;
        for ((note, render), records) in notes.iter().zip(&records) {
            if *render != Render::Candidates {
                self.count(note, records);
            }
        }
        notes
            .par_iter()
            .zip(&records)
            .map(|((note, render), records)| self.render(note, *render, records, options))
            .collect()
    }

    /// Links a long text. Its records are not in memory together.
    fn link_long(&self, note: &Note, render: Render, options: &TextOptions) -> Result<String> {
        let mut rendering = self.rendering(note, render, options)?;
        self.linker
            .link_long(&note.given_text(), options, &mut |records| {
                self.count_mentions(records);
                rendering.part(records)
            })?;
        self.count_text(note);
        rendering.finish()
    }

    fn count(&self, note: &Note, records: &[Record]) {
        self.count_text(note);
        self.count_mentions(records);
    }

    fn count_text(&self, note: &Note) {
        let metrics = &self.metrics;
        metrics.texts.fetch_add(1, Ordering::Relaxed);
        let bytes = note.text.len() as u64;
        metrics.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn count_mentions(&self, records: &[Record]) {
        let linked = records.iter().filter(|record| record.decision.is_ok());
        for (total, count) in [
            (&self.metrics.mentions, records.len()),
            (&self.metrics.linked, linked.count()),
        ] {
            total.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    fn rendering<'n>(
        &'n self,
        note: &'n Note,
        render: Render,
        options: &TextOptions,
    ) -> Result<Rendering<'n>> {
        let systems = options.codes.as_deref().unwrap_or_default();
        Rendering::new(note, render, &self.linker.linker, systems)
    }

    fn render(
        &self,
        note: &Note,
        render: Render,
        records: &[Record],
        options: &TextOptions,
    ) -> Result<String> {
        let mut rendering = self.rendering(note, render, options)?;
        rendering.part(records)?;
        rendering.finish()
    }
}

/// What is made of a note, part by part.
struct Rendering<'a> {
    render: Render,
    writer: NoteWriter<'a>,
    out: String,
    /// Whether there was a mention.
    begun: bool,
}

impl<'a> Rendering<'a> {
    /// `systems` are the code systems that were chosen; empty for all.
    fn new(note: &'a Note, render: Render, linker: &'a Linker, systems: &[System]) -> Result<Self> {
        let form = match render {
            Render::Json => Form::Json,
            Render::Csv => Form::Csv,
            Render::Fhir => Form::Fhir,
            Render::Line | Render::Candidates => Form::Jsonl,
        };
        let mut writer = NoteWriter::new(form, &note.id, &note.text, linker)
            .coded_in(systems)
            .about(&note.stated.about);
        if render == Render::Fhir {
            writer = writer.dated(Some(moment(None)?));
        }
        let out = match render {
            Render::Json | Render::Fhir => writer.head()?,
            Render::Line => {
                let id = serde_json::Value::from(note.id.as_str());
                format!("{{\"doc\":{id},\"mentions\":[")
            }
            Render::Csv | Render::Candidates => String::new(),
        };
        Ok(Self {
            render,
            writer,
            out,
            begun: false,
        })
    }

    fn part(&mut self, records: &[Record]) -> Result<()> {
        match self.render {
            Render::Candidates => {
                let candidates = records.first().map(|record| record.candidates.as_slice());
                self.out += &serde_json::to_string(candidates.unwrap_or_default())
                    .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
            }
            Render::Line => {
                for line in self.writer.part(records)?.lines() {
                    if std::mem::replace(&mut self.begun, true) {
                        self.out.push(',');
                    }
                    self.out += line;
                }
            }
            _ => self.out += &self.writer.part(records)?,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<String> {
        match self.render {
            Render::Json | Render::Fhir => self.out += &self.writer.tail()?,
            Render::Line => self.out += "]}\n",
            Render::Csv | Render::Candidates => {}
        }
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_text::Span;
    use pel_text::detect::Origin;

    #[test]
    fn requests_are_divided_into_jobs() {
        let note = |bytes: usize| Note {
            id: String::new(),
            text: "a".repeat(bytes),
            given: Vec::new(),
            only_given: false,
            stated: Stated::default(),
        };
        let counts = |sizes: &[usize], k: usize| {
            let notes = sizes.iter().map(|bytes| note(*bytes)).collect();
            let jobs = jobs(notes, k);
            jobs.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(counts(&[], 5), Vec::<usize>::new());
        assert_eq!(counts(&[1; 16], 1), [16]);
        assert_eq!(counts(&[1; 17], 5), [16, 1]);
        assert_eq!(counts(&[50 << 10, 14 << 10, 1], 5), [2, 1]);
        assert_eq!(counts(&[1, 1 << 20, 1], 5), [1, 1, 1]);
        assert_eq!(counts(&[30 << 10, 30 << 10], 5), [2]);
        assert_eq!(counts(&[30 << 10, 30 << 10], 50), [1, 1]);
    }

    #[test]
    fn candidates_of_a_text_are_limited() {
        let note = |bytes: usize, given: usize, only_given: bool| Note {
            id: String::new(),
            text: "a".repeat(bytes),
            given: vec![Detected::new(Span::new(0, 1), Origin::Given); given],
            only_given,
            stated: Stated::default(),
        };
        for (bytes, given, only_given, k, expected) in [
            (1000, 0, false, 1, true),
            (1000, 0, false, 5, true),
            (1000, 0, false, 6, false),
            (100, 0, false, 50, true),
            (100, 100, false, 5, true),
            (100, 101, false, 5, false),
            (1000, 1, true, 500, true),
            (1000, 1, true, 501, false),
        ] {
            let found = note(bytes, given, only_given).checked(k, 1000).is_ok();
            assert_eq!(found, expected, "{bytes} {given} {only_given} {k}");
        }
    }
}
