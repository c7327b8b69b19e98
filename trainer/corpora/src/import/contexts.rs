//! Mentions with their context, one JSON object per line: the formats of BLINK and WikilinksNED.

use super::annotated::{ConceptSet, CorpusBuilder, UNKNOWN_CONCEPT, join_context};
use super::pubtator::NO_TEXT;
use super::splits::SplitFiles;
use super::tac_files::{files, stem};
use crate::corpus::{CorpusMention, Document};
use pel_io::counter::Counter;
use pel_io::files::for_each_line_within;
use pel_io::limits::Bound;
use pel_io::outputs::OutputFolder;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use pel_terminologies::import::records::record;
use pel_terminologies::import::report::Report;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// An identifier, which some files store as a number.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text or a whole number")]
enum Id {
    Text(String),
    Number(i64),
}

impl Id {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

/// A line of BLINK's mentions.
#[derive(Deserialize)]
struct BlinkRow {
    context_left: String,
    mention: String,
    context_right: String,
    label_id: Id,
    #[serde(default)]
    label_title: Option<String>,
    /// The description.
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    world: Option<String>,
}

/// A line of BLINK's entities: Wikipedia (equal title and entity, idx) or ZESHEL (title,
/// document_id).
#[derive(Deserialize)]
struct BlinkEntity {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    entity: Option<String>,
    text: String,
    #[serde(default)]
    idx: Option<Id>,
    #[serde(default)]
    document_id: Option<Id>,
}

/// A line of WikilinksNED in the format of Onoe and Durrett (2019).
#[derive(Deserialize)]
struct WikilinksRow {
    left_context: Words,
    right_context: Words,
    #[serde(alias = "mention")]
    word: Words,
    #[serde(rename = "wikiId", alias = "wiki_id")]
    id: Id,
    #[serde(default)]
    y_title: Option<String>,
}

/// A text, or its words.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of words")]
enum Words {
    Text(String),
    List(Vec<String>),
}

impl Words {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::List(words) => words.join(" "),
        }
    }
}

/// A mention of either format.
struct Found {
    text: [String; 3],
    concept: Concept,
    world: Option<String>,
}

/// Collects mentions and concepts.
struct Writer<'a> {
    corpus: CorpusBuilder,
    concepts: ConceptSet,
    /// Whether tables define the concepts; else mentions do.
    has_table: bool,
    /// Concept identifiers by world and line number from 0, which BLINK's ZESHEL files use.
    by_line: HashMap<(String, usize), String>,
    /// The worlds with a table.
    worlds: HashSet<String>,
    /// Identifiers that are line numbers, which are unique only within their world.
    numbered: HashSet<String>,
    report: &'a mut Report,
    counter: &'a mut Counter,
}

impl<'a> Writer<'a> {
    fn new(report: &'a mut Report, counter: &'a mut Counter) -> Self {
        Self {
            corpus: CorpusBuilder::default(),
            concepts: ConceptSet::default(),
            has_table: false,
            by_line: HashMap::new(),
            worlds: HashSet::new(),
            numbered: HashSet::new(),
            report,
            counter,
        }
    }

    /// Reads the entities of a world. Unless its table is alone, the world's name precedes line
    /// numbers.
    fn entities(&mut self, path: &Path, is_alone: bool) -> Result<()> {
        let world = path.file_name().unwrap_or_default().to_string_lossy();
        let world = world.split('.').next().unwrap_or_default().to_owned();
        for_each_line_within(path, Bound::Stream, |number, line| {
            self.counter.step();
            if line.trim().is_empty() {
                return Ok(());
            }
            let BlinkEntity {
                title,
                entity,
                text,
                idx,
                document_id,
            } = record(line)?;
            let title = title
                .or(entity)
                .ok_or_else(|| Error::input("missing field `title`"))?;
            let by_line = || match is_alone {
                true => (number - 1).to_string(),
                false => format!("{world}:{}", number - 1),
            };
            let given = idx.or(document_id);
            let is_numbered = given.is_none();
            let id = given.map_or_else(by_line, Id::into_text);
            let id = id
                .rsplit_once("curid=")
                .map_or(id.clone(), |(_, number)| number.to_owned());
            self.by_line.insert((world.clone(), number - 1), id.clone());
            self.numbered.extend(is_numbered.then(|| id.clone()));
            let (definition, sources) = (Some(text), vec![world.clone()]);
            let concept = Concept {
                id,
                name: title,
                definition,
                sources,
                ..Concept::default()
            };
            self.concepts.push(concept, self.report, || {
                format!("{}:{number}", path.display())
            });
            Ok(())
        })?;
        if !self.by_line.keys().any(|(of, _)| *of == world) {
            return Err(Error::input(format!(
                "{}: there are no entities of the world {world}",
                path.display()
            )));
        }
        self.worlds.insert(world);
        Ok(())
    }

    fn file(
        &mut self,
        split: &str,
        path: &Path,
        read: impl Fn(&str) -> Result<Found>,
    ) -> Result<()> {
        self.corpus.split(split);
        for_each_line_within(path, Bound::Stream, |number, line| {
            self.counter.step();
            if line.trim().is_empty() {
                return Ok(());
            }
            let Found {
                text: [left, mention, right],
                concept,
                world,
            } = read(line)?;
            let world = world.map(|world| self.stem_of(world));
            let place = || format!("{}:{number}", path.display());
            if mention.trim().is_empty() {
                self.report.skip(NO_TEXT, place);
                return Ok(());
            }
            let id = self.resolved(&concept.id, world.as_deref());
            let named = concept.id.clone();
            if !self.has_table {
                self.concepts.push(concept, self.report, place);
            }
            let Some(id) = id.filter(|id| self.concepts.has(id)) else {
                self.report
                    .skip(UNKNOWN_CONCEPT, || format!("{} {named}", place()));
                return Ok(());
            };
            let (text, start, end) = join_context(&left, &mention, &right);
            let doc_id = format!("{split}-{number}");
            let document = Document {
                doc_id: doc_id.clone(),
                text,
                split: Some(split.to_owned()),
                domain: world,
            };
            self.corpus.document(document, self.report, place);
            let (text, id) = (mention.trim().to_owned(), Some(id));
            self.corpus.mention(
                split,
                CorpusMention {
                    doc_id,
                    start,
                    end,
                    text,
                    id,
                    ..CorpusMention::default()
                },
            );
            Ok(())
        })
    }

    /// The world under the name of its table, whose file name has underscores for spaces.
    fn stem_of(&self, world: String) -> String {
        let stem = world.replace(' ', "_");
        if self.worlds.contains(&stem) {
            stem
        } else {
            world
        }
    }

    /// Resolves an identifier: that of a concept, or a line number in the table of the mention's
    /// world.
    fn resolved(&self, id: &str, world: Option<&str>) -> Option<String> {
        if !self.has_table || (self.concepts.has(id) && !self.numbered.contains(id)) {
            return Some(id.to_owned());
        }
        match world {
            Some(world) => self
                .by_line
                .get(&(world.to_owned(), id.parse().ok()?))
                .cloned(),
            None => Some(id.to_owned()),
        }
    }

    fn finish(self, output: &mut OutputFolder) -> Result<()> {
        self.concepts.write(output, self.report)?;
        self.corpus.write(output, self.report)
    }
}

/// The given tables and those in given folders.
fn tables(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in named {
        let before = all.len();
        // A given file is read regardless of its name; a folder may hold others, such as a README.
        all.extend(
            files(path)?
                .into_iter()
                .filter(|file| file == path || stem(file, &[".jsonl", ".json"]).is_some()),
        );
        if all.len() == before {
            return Err(Error::input(format!(
                "{}: there are no entity tables (.jsonl)",
                path.display()
            )));
        }
    }
    Ok(all)
}

/// Reads BLINK's files. The identifier of an entity is its `idx` or `document_id`, or the number
/// after `curid=` in it, or else its line number from 0. Line numbers restart in each world, so
/// with several tables the world's name precedes them.
///
/// # Errors
/// If a file cannot be read, a line is invalid, or the output cannot be written.
pub fn blink(
    entities: &[PathBuf],
    mentions: &SplitFiles,
    output: &mut OutputFolder,
    report: &mut Report,
    counter: &mut Counter,
) -> Result<()> {
    let mut writer = Writer {
        has_table: !entities.is_empty(),
        ..Writer::new(report, counter)
    };
    let tables = tables(entities)?;
    for path in &tables {
        writer.entities(path, tables.len() == 1)?;
    }
    for (split, path) in mentions.given() {
        writer.file(split, path, |line| {
            let row: BlinkRow = record(line)?;
            let id = row.label_id.into_text();
            let id = match &row.world {
                Some(world) if tables.is_empty() && id.parse::<i64>().is_ok() => {
                    format!("{world}:{id}")
                }
                _ => id,
            };
            let concept = Concept {
                id,
                name: row.label_title.unwrap_or_default(),
                definition: row.label,
                sources: row.world.clone().into_iter().collect(),
                ..Concept::default()
            };
            Ok(Found {
                text: [row.context_left, row.mention, row.context_right],
                concept,
                world: row.world,
            })
        })?;
    }
    writer.finish(output)
}

/// Reads WikilinksNED files. The concepts come from the mentions and are named by their titles.
///
/// # Errors
/// If a file cannot be read, a line is invalid, or the output cannot be written.
pub fn wikilinks(
    mentions: &SplitFiles,
    output: &mut OutputFolder,
    report: &mut Report,
    counter: &mut Counter,
) -> Result<()> {
    let mut writer = Writer::new(report, counter);
    for (split, path) in mentions.given() {
        writer.file(split, path, |line| {
            let row: WikilinksRow = record(line)?;
            let id = row.id.into_text();
            // Wikipedia titles have underscores for spaces.
            let name = row.y_title.unwrap_or_else(|| id.clone()).replace('_', " ");
            let text = [row.left_context, row.word, row.right_context].map(Words::into_text);
            Ok(Found {
                text,
                concept: Concept {
                    id,
                    name,
                    ..Concept::default()
                },
                world: None,
            })
        })?;
    }
    writer.finish(output)
}
