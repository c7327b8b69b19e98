//! The report of `pel bench`: as JSON, and as tables.

use super::encode::EncodeRow;
use super::kernels::KernelRow;
use super::notes::NotesRow;
use super::rank::RankRow;
use super::search::SearchRow;
use super::sides::SideRow;
use super::sum_of_max::SumOfMaxRow;
use super::train::{TrainKind, TrainRow};
use pel_io::text_tables::table;
use pel_linker::bundle::names;
use serde::Serialize;
use std::collections::BTreeMap;

/// The measurements of a run. `bench/peers.py` reads its JSON.
#[derive(Serialize)]
pub(crate) struct Report {
    pub versions: serde_json::Value,
    pub device: String,
    pub threads: usize,
    pub bundle_bytes: u64,
    /// The bytes of each of its files.
    pub file_bytes: BTreeMap<String, u64>,
    /// `pel link` on a short note, from start to exit, the median of five.
    pub cold_start_ms: f64,
    /// The peak memory of such a run.
    pub link_peak_bytes: Option<u64>,
    pub encode: Vec<EncodeRow>,
    pub rank: Vec<RankRow>,
    pub train: Vec<TrainRow>,
    pub kernels: Vec<KernelRow>,
    pub notes: Option<NotesRow>,
    /// The steps of linking these notes.
    pub sides: Vec<SideRow>,
    pub search: Vec<SearchRow>,
    /// For a bundle with token vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_of_max: Option<SumOfMaxRow>,
    /// The peak memory of this run.
    pub peak_bytes: Option<u64>,
}

impl Report {
    /// Prints tables.
    pub fn print(&self) {
        println!("{}, bundle {}", self.device, megabytes(self.bundle_bytes));
        println!(
            "cold start of `pel link` {:.0} ms, peak memory {}",
            self.cold_start_ms,
            peak(self.link_peak_bytes)
        );
        print_passes("Encode", "Texts/s", &self.encode);
        print_passes("Rank", "Pairs/s", self.rank.iter().map(|row| &row.time));
        if !self.kernels.is_empty() {
            let mut table = table(["Kernel, one thread", "Instructions", "µs", "Gain"]);
            for row in &self.kernels {
                let (time, gain) = (format!("{:.1}", row.median_us), format!("{:.1}", row.gain));
                table.add_row([row.kernel.to_owned(), row.instructions.clone(), time, gain]);
            }
            println!("{table}");
        }
        for row in &self.train {
            let what = match row.kind {
                TrainKind::Backward => {
                    format!("forward and backward of {} x {}", row.batch, row.seq)
                }
                TrainKind::Step => {
                    format!("training step of {} pairs of {} tokens", row.batch, row.seq)
                }
            };
            let rate = row
                .pairs_per_s
                .map_or(String::new(), |rate| format!(", {rate:.1} pairs/s"));
            let precision = format!("{:?}", row.precision).to_lowercase();
            let share = row.peak_share.map_or(String::new(), |share| {
                format!(", {:.0} % of the processor's peak in it", 100.0 * share)
            });
            println!(
                "{what}, {precision}: {:.0} ms{rate}{share}, {:.1} buffers allocated a step",
                row.median_ms, row.allocations
            );
        }
        if let Some(notes) = &self.notes {
            print_notes(notes);
        }
        self.print_costs();
        self.print_search();
        if let Some(row) = &self.sum_of_max {
            print_sum_of_max(row);
        }
        println!("peak memory of this run {}", peak(self.peak_bytes));
    }

    /// The time of each step, and the bytes of each file of the bundle, largest first.
    fn print_costs(&self) {
        if self.sides.is_empty() {
            return;
        }
        let mut steps = table(["Step", "ms a note"]);
        for row in &self.sides {
            steps.add_row([row.side.to_owned(), format!("{:.3}", row.ms_per_note)]);
        }
        println!("{steps}");
        let mut files: Vec<(&str, u64)> = self
            .file_bytes
            .iter()
            .map(|(name, bytes)| (name.as_str(), *bytes))
            .collect();
        files.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let mut sizes = table(["File", "Size", "For"]);
        for (name, bytes) in files {
            sizes.add_row([name, &megabytes(bytes), used_for(name)]);
        }
        println!("{sizes}");
    }

    fn print_search(&self) {
        if self.search.is_empty() {
            return;
        }
        let mut table = table([
            "Search",
            "Vectors",
            "Batch",
            "Queries/s",
            "Recall",
            "Index",
            "Built in",
        ]);
        for row in &self.search {
            table.add_row([
                row.ef.map_or_else(
                    || row.kind.to_owned(),
                    |ef| format!("{}, ef {ef}", row.kind),
                ),
                format!("{} x {}", row.rows, row.dim),
                row.batch.to_string(),
                format!("{:.0}", row.queries_per_s),
                format!("{:.4} @{}", row.recall, row.k),
                megabytes(row.bytes as u64),
                match (row.build_s, row.kind) {
                    (Some(seconds), _) => format!("{seconds:.1} s"),
                    (None, "bundle") => "-".to_owned(),
                    (None, _) => "cached".to_owned(),
                },
            ]);
        }
        println!("{table}");
        println!(
            "Recall: the share of the best of the exact f32 search that is found: over the vectors as \
             the bundle keeps them, for `bundle` with --floats over those before quantisation. \
             `bundle` is its own index, by concepts, as `pel link` searches it; the others take each \
             vector for a concept."
        );
    }
}

/// The steps that read a file of a bundle.
fn used_for(name: &str) -> &'static str {
    match name {
        names::INDEX => "search by vectors of names and templates",
        names::TOKEN_VECTORS => "order by vectors of tokens",
        names::DICTIONARY => "detection, names, names by edit distance",
        names::CONCEPTS => "n-grams in the score, coherence, features, output",
        names::TOKENIZER | names::CONFIG | names::WEIGHTS | names::PROJECTION => "encoding",
        names::DETECTOR_CONFIG | names::DETECTOR_WEIGHTS => "detection",
        names::REDIRECTS => "retired identifiers",
        names::CODES | names::HIERARCHY => "output",
        _ => "",
    }
}

/// What reads texts, with what a text is to it.
fn print_passes<'a>(what: &str, rate: &str, rows: impl IntoIterator<Item = &'a EncodeRow>) {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return;
    }
    let mut table = table([what, "Precision", "ms", rate, "Tokens/s"]);
    for row in rows {
        table.add_row([
            format!("{} x {}", row.batch, row.seq),
            row.precision.to_owned(),
            format!("{:.1}", row.median_ms),
            format!("{:.0}", row.tokens_per_s() / row.seq as f64),
            format!("{:.0}", row.tokens_per_s()),
        ]);
    }
    println!("{table}");
}

fn print_notes(row: &NotesRow) {
    let (counts, ms) = (&row.counts, 1000.0);
    println!(
        "{} notes of {} tokens, {} mentions in {} sequences of {} tokens: linked in {:.2} s, peak \
         memory {}; one pass of the encoder over the notes takes {:.2} s, so linking takes {:.2} \
         passes",
        counts.notes,
        counts.note_tokens,
        counts.mentions,
        counts.sequences,
        counts.tokens,
        row.link_ms / ms,
        peak(row.link_peak_bytes),
        row.pass_ms / ms,
        row.passes
    );
}

fn print_sum_of_max(row: &SumOfMaxRow) {
    println!(
        "Sum-of-Max: {:.2} ms for a mention of {:.1} tokens after encoding, {:.2} ms of it the \
         first pass for {}; {} token vectors, {}; the best concept is that of the exact search for \
         {:.1} % of {} mentions",
        row.median_ms,
        row.tokens,
        row.first_pass_ms,
        row.first_pass,
        row.token_vectors,
        megabytes(row.bytes),
        100.0 * row.agreement,
        row.searched_exactly
    );
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn peak(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "unknown".to_owned(), megabytes)
}
