//! What each step of linking costs: the notes of a folder, step by step.

use super::notes::texts;
use crate::bench::{Options, timed};
use pel_artifacts::bundles;
use pel_artifacts::device::OpenDevice;
use pel_io::files::read_text;
use pel_kb::error::{Context, Error, Result};
use pel_linker::{CandidateSource, LinkOptions, Linker, MISSPELT, Prepared, Queries};
use pel_text::detect::Detected;
use serde::Serialize;
use std::hint::black_box;
use std::path::Path;

/// The candidates of a mention, as `pel link` searches them.
const SEARCHED: usize = 64;

/// The time of one step.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct SideRow {
    /// The step.
    pub side: &'static str,
    /// The median over the runs, of all notes, by the number of notes.
    pub ms_per_note: f64,
}

/// A note with what its steps have made.
struct Work {
    text: String,
    detected: Vec<Detected>,
    /// The text of each mention, short forms written out.
    mentions: Vec<String>,
    prepared: Prepared,
    queries: Queries,
}

impl Work {
    fn new(linker: &Linker, text: String, options: &LinkOptions) -> Result<Self> {
        let detected = linker.detect(&text, options)?;
        let mut mentions = Vec::with_capacity(detected.len());
        {
            let mut reader = linker.bundle().manifest.view.reader();
            for mention in &detected {
                let read = reader.mention_in(&text, mention.pieces())?;
                mentions.push(read.text.into_owned());
            }
        }
        let prepared = linker.steps().prepare(&text, detected.clone())?;
        let queries = linker.steps().encode(&prepared, |_| Ok(()))?;
        Ok(Self {
            detected,
            mentions,
            prepared,
            queries,
            text,
        })
    }
}

/// Measures the steps on the notes of a folder, a note at a time.
///
/// # Errors
/// If it has no notes, one cannot be read, the bundle is damaged, or the device fails.
pub(crate) fn sides(options: &Options, folder: &Path, device: &OpenDevice) -> Result<Vec<SideRow>> {
    let bundle = bundles::open(&options.bundle)?;
    let mut linker =
        Linker::new(bundle, &device.device).context(|| options.bundle.display().to_string())?;
    linker.settings().set_search_names(true);
    let linking = LinkOptions::default();
    let mut notes = Vec::new();
    for path in texts(folder)? {
        notes.push(Work::new(&linker, read_text(&path)?, &linking)?);
    }
    let count = notes.len() as f64;
    let time = |step: &dyn Fn(&Work) -> Result<()>| {
        let (median, _) = timed(options.seconds, || notes.iter().try_for_each(step))?;
        Ok::<f64, Error>(median / count)
    };
    let dictionary = &linker.bundle().dictionary;
    let detect = time(&|note| {
        black_box(linker.detect(&note.text, &linking)?);
        Ok(())
    })?;
    let names = time(&|note| {
        for mention in &note.mentions {
            black_box(dictionary.lookup_mention(mention));
        }
        Ok(())
    })?;
    // Only what is no name is compared with names.
    let unnamed = |mention: &&String| dictionary.lookup_mention(mention).is_empty();
    let both = time(&|note| {
        for mention in note.mentions.iter().filter(unnamed) {
            black_box(dictionary.lookup_misspelt(mention, MISSPELT));
        }
        Ok(())
    })?;
    let prepare = time(&|note| {
        black_box(linker.steps().prepare(&note.text, note.detected.clone())?);
        Ok(())
    })?;
    let encode = time(&|note| {
        black_box(linker.steps().encode(&note.prepared, |_| Ok(()))?);
        Ok(())
    })?;
    let search = time(&|note| {
        let sequences = note.prepared.sequences().len();
        black_box(linker.steps().search(sequences, &note.queries, SEARCHED));
        Ok(())
    })?;
    let finish = time(&|note| {
        black_box(
            linker
                .steps()
                .finish(&note.prepared, &note.queries, &linking),
        );
        Ok(())
    })?;
    let without_coherence = time(&|note| {
        let (prepared, queries) = (&note.prepared, &note.queries);
        black_box(linker.steps().finish_without(
            prepared,
            queries,
            &linking,
            CandidateSource::Coherence,
        ));
        Ok(())
    })?;
    linker.settings().set_spelling(0.0)?;
    let without_spelling = timed(options.seconds, || {
        for note in &notes {
            black_box(
                linker
                    .steps()
                    .finish(&note.prepared, &note.queries, &linking),
            );
        }
        Ok(())
    })?;
    Ok(rows(&Times {
        detect,
        names,
        edits: both - names,
        prepare: prepare - both,
        encode,
        search,
        ngrams: finish - without_spelling.0 / count,
        coherence: finish - without_coherence,
        finish,
    }))
}

/// The milliseconds of each step; a difference of two measurements may be below 0.
struct Times {
    detect: f64,
    names: f64,
    edits: f64,
    prepare: f64,
    encode: f64,
    search: f64,
    ngrams: f64,
    coherence: f64,
    /// The search and all after it.
    finish: f64,
}

/// The rows of a report. No time is below 0.
fn rows(times: &Times) -> Vec<SideRow> {
    let Times {
        detect,
        names,
        edits,
        prepare,
        encode,
        search,
        ngrams,
        coherence,
        finish,
    } = times;
    let rest = finish - search - ngrams.max(0.0) - coherence.max(0.0);
    [
        ("detection of mentions", *detect),
        ("names in the dictionary", *names),
        ("names by edit distance", *edits),
        ("tokens and context", *prepare),
        ("encoding", *encode),
        ("search by vectors", *search),
        ("n-grams in the score", *ngrams),
        ("coherence of the text", *coherence),
        ("order, features and decision", rest),
    ]
    .map(|(side, ms)| SideRow {
        side,
        ms_per_note: ms.max(0.0),
    })
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_what_no_step_takes() {
        let found = rows(&Times {
            detect: 1.0,
            names: 0.5,
            edits: 0.25,
            prepare: 2.0,
            encode: 8.0,
            search: 4.0,
            ngrams: 0.5,
            coherence: -0.125,
            finish: 6.0,
        });
        let last = found.last().expect("a row");
        assert_eq!(
            (last.side, last.ms_per_note),
            ("order, features and decision", 1.5)
        );
        assert_eq!(found[7].ms_per_note, 0.0);
        assert_eq!(found.len(), 9);
    }
}
