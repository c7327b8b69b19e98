//! The systems of an evaluation. All but `dense` and `link` use only the mention's text and need no
//! model.

use crate::retrieve::{CandidateLists, Retriever, Tick};
use crate::split::{MentionQuery, TrainingSplit};
use clap::ValueEnum;
use pel_index::lexical::{
    Bm25, Bm25Config, CharTfidf, ExactNames, MajoritySurface, Normal, Scratch,
};
use pel_kb::KnowledgeBase;
use pel_kb::error::{Error, Result};
use pel_kb::score::Candidate;
use pel_text::abbreviations::Reader;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;

/// A system of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum System {
    /// Exact name, lower-cased
    Exact,
    /// Exact name, lower-cased, punctuation separates words
    ExactWords,
    /// Character 3-grams, TF-IDF, cosine; the best name of a concept
    Tfidf,
    /// Words of a concept's names, BM25
    Bm25,
    /// Words of a concept's names and definition, BM25
    Bm25Definitions,
    /// The most frequent concept of the text in training, else exact name
    Majority,
    /// The encoder and index of --bundle
    Dense,
    /// The pipeline of `pel link`: also the concepts whose name the dictionary finds in the mention
    Link,
}

/// The systems to measure, each once, in the given order.
pub fn chosen(
    asked: Option<&[System]>,
    has_training: bool,
    has_bundle: bool,
) -> Result<Vec<System>> {
    let mut chosen = Vec::new();
    match asked {
        Some(asked) => asked.iter().for_each(|system| {
            if !chosen.contains(system) {
                chosen.push(*system);
            }
        }),
        None => {
            chosen.extend([System::Exact, System::Tfidf, System::Bm25]);
            chosen.extend(has_training.then_some(System::Majority));
            chosen.extend(has_bundle.then_some(System::Dense));
        }
    }
    if let Some(system) = chosen
        .iter()
        .find(|system| system.needs_bundle() && !has_bundle)
    {
        return Err(needs_bundle(*system));
    }
    Ok(chosen)
}

impl System {
    /// Whether it needs a bundle.
    pub fn needs_bundle(self) -> bool {
        matches!(self, Self::Dense | Self::Link)
    }
}

/// The error of a system that cannot search without a bundle.
pub fn needs_bundle(system: System) -> Error {
    let name = system
        .to_possible_value()
        .map_or(String::new(), |value| value.get_name().to_owned());
    Error::input(format!(
        "the system `{name}` needs an encoder and an index: give --bundle"
    ))
}

/// A system that uses only the mention's text. Equal texts are searched once, on all processors.
pub struct BySurface {
    name: &'static str,
    protocol: String,
    written_out: bool,
    search: Box<Search>,
}

type Search = dyn Fn(&str, usize, &mut Scratch) -> Vec<Candidate> + Sync + Send;

/// Texts that are searched before progress is reported.
const AT_ONCE: usize = 1024;

impl Retriever for BySurface {
    fn name(&self) -> &str {
        self.name
    }

    fn protocol(&self) -> String {
        format!(
            "{}; short forms {}",
            self.protocol,
            short_forms(self.written_out)
        )
    }

    fn search(
        &self,
        queries: &[MentionQuery<'_>],
        k: usize,
        done: Tick<'_>,
    ) -> Result<CandidateLists> {
        let mut places: HashMap<Cow<'_, str>, usize> = HashMap::new();
        let mut surfaces: Vec<(Cow<'_, str>, usize)> = Vec::new();
        let mut of_query = Vec::with_capacity(queries.len());
        let mut reader = Reader::new(self.written_out);
        for query in queries {
            let surface = reader.mention(query.text, query.span)?.text;
            let at = *places.entry(surface).or_insert_with_key(|surface| {
                surfaces.push((surface.clone(), 0));
                surfaces.len() - 1
            });
            if let Some((_, mentions)) = surfaces.get_mut(at) {
                *mentions += 1;
            }
            of_query.push(at);
        }
        let mut answers: CandidateLists = Vec::with_capacity(surfaces.len());
        for some in surfaces.chunks(AT_ONCE) {
            let one = |scratch: &mut Scratch, (surface, _): &(Cow<'_, str>, usize)| {
                (self.search)(surface, k, scratch)
            };
            answers.par_extend(some.par_iter().map_init(Scratch::new, one));
            done(some.iter().map(|(_, mentions)| mentions).sum())?;
        }
        Ok(of_query
            .into_iter()
            .map(|at| answers.get(at).cloned().unwrap_or_default())
            .collect())
    }
}

/// How short forms that a text defines are read, for reports.
pub fn short_forms(written_out: bool) -> &'static str {
    if written_out {
        "written out"
    } else {
        "as they stand"
    }
}

/// Builds a lexical system. `abbreviations` is whether it expands the short forms that a text
/// defines.
///
/// # Errors
/// If it needs a training split or a bundle.
pub fn lexical(
    system: System,
    kb: &KnowledgeBase,
    training: Option<&TrainingSplit>,
    abbreviations: bool,
) -> Result<BySurface> {
    let (name, protocol, search) = match system {
        System::Exact => exact(kb, "exact", Normal::LowerCase, "lower-cased"),
        System::ExactWords => exact(
            kb,
            "exact-words",
            Normal::Words,
            "lower-cased, punctuation read as a space",
        ),
        System::Tfidf => tfidf(kb),
        System::Bm25 => bm25(kb, "bm25", false)?,
        System::Bm25Definitions => bm25(kb, "bm25-definitions", true)?,
        System::Majority => {
            let training = training
                .ok_or_else(|| Error::input("the system `majority` needs a training split"))?;
            majority(kb, training, abbreviations)?
        }
        System::Dense | System::Link => return Err(needs_bundle(system)),
    };
    Ok(BySurface {
        name,
        protocol,
        written_out: abbreviations,
        search,
    })
}

/// The name, the protocol and the search of a system.
type Parts = (&'static str, String, Box<Search>);

fn exact(kb: &KnowledgeBase, name: &'static str, normal: Normal, how: &str) -> Parts {
    let names = ExactNames::new(kb, normal);
    let protocol = format!(
        "mention text equal to a name or synonym, {how}; every bearer of the name is a candidate"
    );
    let search: Box<Search> = Box::new(move |surface, k, _| names.search(surface, k));
    (name, protocol, search)
}

fn bm25(kb: &KnowledgeBase, name: &'static str, definitions: bool) -> Result<Parts> {
    let config = Bm25Config {
        definitions,
        ..Bm25Config::default()
    };
    let index = Bm25::new(kb, config)?;
    let and = if definitions { " and definition" } else { "" };
    let (k1, b) = (config.k1, config.b);
    let protocol = format!(
        "words of the mention text, lower-cased, against one document per concept of all \
         names{and}; BM25 as Lucene has it, k1 {k1}, b {b}"
    );
    let search: Box<Search> =
        Box::new(move |surface, k, scratch| index.search(surface, k, scratch));
    Ok((name, protocol, search))
}

fn tfidf(kb: &KnowledgeBase) -> Parts {
    let index = CharTfidf::new(kb);
    let protocol = "mention text against every name and synonym, lower-cased; character 3-grams \
                    within words, TF-IDF as scikit-learn's char_wb (3,3), cosine, the best name \
                    of a concept"
        .to_owned();
    let search: Box<Search> =
        Box::new(move |surface, k, scratch| index.search(surface, k, scratch));
    ("tfidf", protocol, search)
}

fn majority(kb: &KnowledgeBase, training: &TrainingSplit, written_out: bool) -> Result<Parts> {
    let split = &training.counts.split;
    let mut seen = Vec::with_capacity(training.mentions.len());
    for mention in &training.mentions {
        let concept = match &mention.id {
            None => None,
            Some(id) => kb
                .find(id)
                .map_or_else(|| kb.successor(id), |at| Ok(Some(at)))?,
        };
        seen.push((mention.surface(written_out), concept));
    }
    let majority = MajoritySurface::new(ExactNames::new(kb, Normal::LowerCase), seen);
    let protocol = format!(
        "the concepts that the mention text, lower-cased, stood for in the split {split}, most \
         frequent first, then those of that name"
    );
    let search: Box<Search> = Box::new(move |surface, k, _| majority.search(surface, k));
    Ok(("majority", protocol, search))
}
