//! Counts the concepts of many notes: in how many notes, or of how many patients, each occurs.
//!
//! Notes are linked in batches and forgotten. Of patients, whose notes may lie anywhere in the input,
//! the pairs with concepts are sorted in files, so that memory is bounded.

use crate::link::inputs;
use crate::link::inputs::{ReadOptions, Stopped, document_file};
use crate::link::notes::{Found, Note, Source};
use crate::link::text_linker::{TextLinker, TextOptions};
use pel_corpora::external_sort::ExternalSorter;
use pel_io::interrupt;
use pel_io::progress::Progress;
use pel_io::text_encoding::read_text_in;
use pel_kb::clean::cell;
use pel_kb::codes::System;
use pel_kb::error::{Context, Error, Result};
use pel_kb::hierarchy::{Levels, RollUp};
use pel_output::Record;
use pel_text::context::Context as MentionContext;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Notes that are linked together at most, and their bytes.
const BATCH: (usize, usize) = (256, 4 << 20);

/// Errors of notes that are kept.
const KEPT: usize = 20;

/// What a note says of a concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    /// It is stated of the patient now.
    Asserted,
    /// It is negated.
    Negated,
    /// It is uncertain, past, planned, or someone else's.
    Other,
}

impl Status {
    fn of(context: &MentionContext) -> Self {
        match (context.is_asserted(), context.negated) {
            (true, _) => Self::Asserted,
            (false, true) => Self::Negated,
            (false, false) => Self::Other,
        }
    }
}

/// What is counted.
#[derive(Clone, Debug)]
pub struct CountOptions {
    /// How tables are read. With patients, the column of identifiers is that of the patients.
    pub read: ReadOptions,
    /// Whether patients are counted instead of notes: notes of one name are of one patient.
    pub by_patient: bool,
    /// The codes that concepts are counted by, if they are not counted by themselves.
    pub roll_up: Option<RollUp>,
}

impl CountOptions {
    /// What is counted, as a word of the output.
    pub fn unit(&self) -> &'static str {
        match self.by_patient {
            true => "patients",
            false => "notes",
        }
    }
}

/// The counts of a concept or code: asserted, negated, other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Notes or patients.
    pub units: [u64; 3],
    /// Mentions.
    pub mentions: [u64; 3],
}

/// A concept or code with its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRow {
    /// The identifier of the concept, or the code; empty for concepts without such a code.
    pub id: String,
    /// The name, if it is known.
    pub name: String,
    /// The counts.
    pub tally: Tally,
}

/// The counts of all notes.
#[derive(Debug, Default)]
pub struct Counts {
    /// Those with the most notes or patients first.
    pub rows: Vec<CountRow>,
    /// The notes that were linked.
    pub notes: u64,
    /// Notes that could not be read, and the first of their errors.
    pub failed: u64,
    /// The first of their errors.
    pub errors: Vec<Error>,
}

impl Counts {
    /// The counts as CSV. `unit` is what was counted ([`CountOptions::unit`]).
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn to_csv(&self, unit: &str) -> Result<String> {
        let failed = |cause: csv::Error| Error::io("writing a table").caused_by(cause);
        let mut table = csv::WriterBuilder::new()
            .terminator(csv::Terminator::CRLF)
            .from_writer(Vec::new());
        let mut head = vec!["id".to_owned(), "name".to_owned()];
        for what in [unit, "mentions"] {
            head.extend(["asserted", "negated", "other"].map(|status| format!("{status}_{what}")));
        }
        table.write_record(&head).map_err(failed)?;
        for row in &self.rows {
            let numbers = row.tally.units.iter().chain(&row.tally.mentions);
            let mut fields = vec![cell(&row.id).into_owned(), cell(&row.name).into_owned()];
            fields.extend(numbers.map(u64::to_string));
            table.write_record(&fields).map_err(failed)?;
        }
        let bytes = table
            .into_inner()
            .map_err(|cause| Error::io("writing a table").caused_by(cause.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Names and counts, by number.
struct Counter<'l> {
    linker: &'l TextLinker,
    levels: Option<Levels<'l>>,
    system: Option<System>,
    numbers: BTreeMap<String, u32>,
    rows: Vec<CountRow>,
    /// The numbers of what concepts are counted as, by their identifiers.
    of_concept: BTreeMap<String, Vec<u32>>,
    /// Pairs of a concept and a patient.
    pairs: Option<ExternalSorter>,
}

impl<'l> Counter<'l> {
    fn new(linker: &'l TextLinker, options: &CountOptions, scratch: &Path) -> Result<Self> {
        let bundle = linker.linker.bundle();
        let levels = match options.roll_up {
            None => None,
            Some(roll_up) => Some(
                bundle
                    .needed_hierarchy()?
                    .levels(roll_up, |concept| Ok(bundle.concepts.get(concept)?.id))?,
            ),
        };
        Ok(Self {
            linker,
            levels,
            system: options.roll_up.map(|roll_up| roll_up.system),
            numbers: BTreeMap::new(),
            rows: Vec::new(),
            of_concept: BTreeMap::new(),
            pairs: options.by_patient.then(|| ExternalSorter::new(scratch)),
        })
    }

    /// The number of a row.
    fn number(&mut self, id: &str, name: impl FnOnce() -> String) -> u32 {
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        let number = self.rows.len() as u32;
        self.numbers.insert(id.to_owned(), number);
        self.rows.push(CountRow {
            id: id.to_owned(),
            name: name(),
            tally: Tally::default(),
        });
        number
    }

    /// The numbers of what a concept is counted as.
    fn numbers_of(&mut self, id: &str, name: &str) -> Result<Vec<u32>> {
        if let Some(numbers) = self.of_concept.get(id) {
            return Ok(numbers.clone());
        }
        let linker = &self.linker.linker;
        let codes: Option<Vec<String>> = match &self.levels {
            None => None,
            Some(levels) => Some(match linker.find(id)? {
                Some(concept) => levels.of(concept).into_iter().map(str::to_owned).collect(),
                None => Vec::new(),
            }),
        };
        let (bundle, system) = (linker.bundle(), self.system);
        let display = |code: &str| {
            let display = system
                .and_then(|system: System| bundle.display(&format!("{}:{code}", system.prefix())));
            display.unwrap_or_default().to_owned()
        };
        let numbers = match codes {
            None => vec![self.number(id, || name.to_owned())],
            Some(codes) if codes.is_empty() => {
                vec![self.number("", || "without a code of the system".to_owned())]
            }
            Some(codes) => codes
                .iter()
                .map(|code| self.number(code, || display(code)))
                .collect(),
        };
        self.of_concept.insert(id.to_owned(), numbers.clone());
        Ok(numbers)
    }

    /// Counts a note. `unit` is its patient.
    fn add(&mut self, unit: &str, records: &[Record]) -> Result<()> {
        let mut own = BTreeSet::new();
        for record in records {
            let Ok(named) = &record.decision else {
                continue;
            };
            let status = Status::of(&record.context);
            for number in self.numbers_of(&named.id, &named.name)? {
                self.rows[number as usize].tally.mentions[status as usize] += 1;
                own.insert((number, status));
            }
        }
        for (number, status) in own {
            match &mut self.pairs {
                None => self.rows[number as usize].tally.units[status as usize] += 1,
                Some(pairs) => {
                    let mut key = number.to_be_bytes().to_vec();
                    key.push(status as u8);
                    key.extend_from_slice(unit.as_bytes());
                    pairs.push(&key, &[])?;
                }
            }
        }
        Ok(())
    }

    /// The rows, with those of the most asserted notes or patients first.
    fn finish(mut self) -> Result<Vec<CountRow>> {
        if let Some(pairs) = self.pairs.take() {
            let mut sorted = pairs.finish()?;
            let mut before: Vec<u8> = Vec::new();
            while let Some((key, _)) = sorted.next_record()? {
                if key == before.as_slice() {
                    continue;
                }
                before = key.to_vec();
                let (number, rest) = key.split_at(4.min(key.len()));
                let number = number
                    .try_into()
                    .map(u32::from_be_bytes)
                    .unwrap_or_default();
                let status = rest.first().copied().unwrap_or_default();
                let row = self.rows.get_mut(number as usize);
                let count = row.and_then(|row| row.tally.units.get_mut(usize::from(status)));
                count.into_iter().for_each(|count| *count += 1);
            }
        }
        let mut rows = self.rows;
        rows.sort_by(|a, b| {
            let order = |row: &CountRow| std::cmp::Reverse(row.tally.units);
            (order(a), &a.id).cmp(&(order(b), &b.id))
        });
        Ok(rows)
    }
}

/// Notes that wait to be linked.
struct Batch<'c, 'l> {
    counter: &'c mut Counter<'l>,
    options: &'c TextOptions,
    units: Vec<String>,
    texts: Vec<String>,
    bytes: usize,
}

impl Batch<'_, '_> {
    fn push(&mut self, unit: String, text: String) -> Result<()> {
        let is_full = self.texts.len() >= BATCH.0 || self.bytes + text.len() > BATCH.1;
        if is_full && !self.texts.is_empty() {
            self.link()?;
        }
        self.bytes += text.len();
        self.units.push(unit);
        self.texts.push(text);
        Ok(())
    }

    fn link(&mut self) -> Result<()> {
        interrupt::check()?;
        self.bytes = 0;
        let texts = std::mem::take(&mut self.texts);
        let records = self.counter.linker.link_texts(&texts, self.options)?;
        for (unit, records) in self.units.drain(..).zip(records) {
            self.counter.add(&unit, &records)?;
        }
        Ok(())
    }
}

/// Links notes and counts their concepts. `scratch` is a folder for temporary files.
///
/// # Errors
/// If a table cannot be read to its end, the bundle has no such level, the device fails, or after an
/// interrupt. Notes that cannot be read are counted and left out.
pub fn count(
    linker: &TextLinker,
    links: &TextOptions,
    found: &Found,
    options: &CountOptions,
    scratch: &Path,
) -> Result<Counts> {
    let mut counter = Counter::new(linker, options, scratch)?;
    let mut counts = Counts::default();
    let fail = |counts: &mut Counts, error: Error| {
        counts.failed += 1;
        if counts.errors.len() < KEPT {
            counts.errors.push(error);
        }
    };
    let mut batch = Batch {
        counter: &mut counter,
        options: links,
        units: Vec::new(),
        texts: Vec::new(),
        bytes: 0,
    };
    let all = found.notes.len() + found.shards.len();
    let mut progress = Progress::new("counting", all as u64, "inputs");
    for Note { source, name, .. } in &found.notes {
        let text = match source {
            Source::File(path) => read_text_in(path, &options.read.encoding),
            Source::Document(path, kind) => document_file(path, *kind).map(|(text, _)| text),
            Source::Text { text, .. } => Ok(text.clone()),
        };
        match text {
            Ok(text) => {
                counts.notes += 1;
                batch.push(name.clone(), text)?;
            }
            Err(error) if error.is_interrupted() => return Err(error),
            Err(error) => fail(&mut counts, error),
        }
        progress.advance(1);
    }
    for shard in &found.shards {
        let read = inputs::read(&shard.path, shard.kind, &options.read, &mut |row| {
            match row {
                Ok(row) => {
                    counts.notes += 1;
                    batch.push(row.name, row.text)?;
                }
                Err(error) => fail(&mut counts, error),
            }
            Ok(())
        });
        match read {
            Ok(()) => {}
            Err(Stopped::Unreadable(error) | Stopped::Ended(error)) => {
                return Err(error).context(|| shard.path.display().to_string());
            }
        }
        progress.advance(1);
    }
    batch.link()?;
    counts.rows = counter.finish()?;
    Ok(counts)
}
