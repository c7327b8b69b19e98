//! Wordings that stand for a name of the knowledge base: clipped names of clinicians ("cath",
//! "lytes"), their jargon ("transaminitis") and what patients say ("bringing up blood").
//!
//! A table lists the wordings of each name. The table for English is built in
//! ([`Wordings::english`]); it was written from clinical usage. A wording is compared as names are,
//! with the same inflections and spellings, and counts only where the knowledge base has the name
//! that it stands for. It has no effect where it is a name of other concepts alone.
//!
//! The encoder gives many clipped names a low score, even where the knowledge base has them. So the
//! table lists such names too. The dictionary of the English table is committed: building it took
//! 0.07 s at each start.

use super::detect::{DetectOptions, Detected, Dictionary};
use bytes::Bytes;
use pel_kb::container::Check;
use pel_kb::error::{Error, Result};
use pel_kb::{Concept, ConceptId};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The wordings of English notes.
const ENGLISH: &str = include_str!("english.tsv");

/// Their dictionary. Building it takes longer than the start of `pel link` without it. A test
/// compares it with the table and, with `PEL_WRITE_EXPECTED=1`, writes it.
const BUILT: &[u8] = include_bytes!("english.dictionary");

/// A line of a table that includes the wordings of English.
const INCLUDE: &str = "include english";

/// The most wordings that one pattern stands for.
const OF_PATTERN: usize = 1024;

/// The most wordings of a table.
const OF_TABLE: usize = 262_144;

/// Wordings with the names that they stand for.
#[derive(Debug, Default)]
pub struct Wordings {
    /// The name of each line.
    names: Vec<String>,
    /// The wordings as names of their lines; `None` without a line.
    dictionary: Option<Dictionary>,
}

impl Wordings {
    /// The wordings of English notes.
    pub fn english() -> &'static Self {
        static TABLE: LazyLock<Wordings> =
            LazyLock::new(|| Wordings::built(ENGLISH, BUILT).unwrap_or_default());
        &TABLE
    }

    /// A table whose dictionary is built.
    fn built(table: &str, dictionary: &'static [u8]) -> Result<Self> {
        let lines = table.lines().filter(|line| !line.starts_with(['#', '@']));
        let names = lines.filter_map(|line| line.split_once('\t'));
        Ok(Self {
            names: names.map(|(name, _)| name.to_owned()).collect(),
            dictionary: Some(Dictionary::read(
                &Bytes::from_static(dictionary),
                Check::Trusted,
            )?),
        })
    }

    /// Reads a table: a line for each name with the name, a tab, and its wordings, separated by
    /// semicolons. In a wording `(a|b|)` stands for one of the alternatives, the last of them
    /// nothing, and `@set` for one of a set. A line `@set`, tab, `a|b` before defines the set. The
    /// line `include english` stands for the table for English. Lines that begin with `#` are
    /// comments. A wording with several names stands for all of them; the encoder reads the first.
    ///
    /// # Errors
    /// If a line has not one tab, an empty name or wording, or a pattern is invalid or stands for
    /// more than 1,024 wordings, or the table has more than 262,144. The error names `file` and the
    /// line.
    pub fn parse(table: &str, file: &str) -> Result<Self> {
        let (names, entries) = Self::entries(table, file)?;
        if entries.is_empty() {
            return Ok(Self::default());
        }
        let dictionary = Dictionary::from_bytes(Self::build(&entries)?.into())?;
        Ok(Self {
            names,
            dictionary: Some(dictionary),
        })
    }

    /// The bytes of the dictionary of wordings.
    fn build(entries: &[Concept]) -> Result<Vec<u8>> {
        let lines = entries.iter().enumerate();
        Dictionary::build(lines.map(|(at, entry)| (ConceptId(at as u32), entry)))
    }

    /// The names of a table, and their wordings as names of one concept each.
    fn entries(table: &str, file: &str) -> Result<(Vec<String>, Vec<Concept>)> {
        let mut sets: HashMap<&str, Vec<&str>> = HashMap::new();
        let (mut names, mut entries) = (Vec::new(), Vec::new());
        let mut count = 0;
        let included = |line: &str| (line.trim() == INCLUDE).then_some((ENGLISH, "english.tsv"));
        let lines = table.lines().enumerate().flat_map(|(at, line)| {
            let (table, file, first) = match included(line) {
                Some((table, file)) => (table, file, 1),
                None => (line, file, at + 1),
            };
            (first..)
                .zip(table.lines())
                .map(move |(at, line)| (file, at, line))
        });
        for (file, at, line) in lines {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let wrong = |found: &str| {
                Error::input(format!(
                    "{file}:{at}: expected a name and wordings with a tab between them, found \
                     {found}"
                ))
            };
            let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
            let [name, wordings] = fields[..] else {
                return Err(wrong(&format!("{} fields", fields.len())));
            };
            if let Some(set) = name.strip_prefix('@') {
                sets.insert(set, wordings.split('|').map(str::trim).collect());
                continue;
            }
            let mut all = Vec::new();
            for pattern in wordings.split(';') {
                all.extend(expand(pattern, &sets).map_err(|found| wrong(&found))?);
            }
            if name.is_empty() || all.iter().any(String::is_empty) {
                return Err(wrong("an empty one"));
            }
            count += all.len();
            if count > OF_TABLE {
                return Err(wrong(&format!("more than {OF_TABLE} wordings")));
            }
            names.push(name.to_owned());
            entries.push(Concept {
                name: all.pop().unwrap_or_default(),
                synonyms: all,
                ..Concept::default()
            });
        }
        Ok((names, entries))
    }

    /// The number of names that have wordings. A name on several lines is counted for each.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no wording.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names that a whole mention stands for, in the order of the table; none if it is no
    /// wording.
    pub fn names_of(&self, mention: &str) -> impl Iterator<Item = &str> {
        let dictionary = self.dictionary.as_ref();
        let lines = dictionary.map(|dictionary| dictionary.lookup_mention(mention));
        let lines = lines.unwrap_or_default().into_iter();
        lines.filter_map(move |line| self.names.get(line.index()).map(String::as_str))
    }

    /// The wordings in a text, as names are detected, in its order.
    pub fn detect(&self, text: &str, options: &DetectOptions) -> Vec<Detected> {
        let Some(dictionary) = &self.dictionary else {
            return Vec::new();
        };
        let options = DetectOptions {
            unknown_terms: false,
            ..*options
        };
        let mut found = dictionary.detect(text, &options);
        found.retain(|found| found.fragments.is_empty());
        found
    }
}

/// The wordings that a pattern stands for, or what is wrong with it.
fn expand(
    pattern: &str,
    sets: &HashMap<&str, Vec<&str>>,
) -> std::result::Result<Vec<String>, String> {
    let mut all = vec![String::new()];
    let mut rest = pattern;
    while let Some(at) = rest.find(['(', ')', '@']) {
        let (before, from) = rest.split_at(at);
        let (choices, after): (Vec<&str>, &str) = if let Some(group) = from.strip_prefix('(') {
            let Some((inner, after)) = group.split_once(')') else {
                return Err("a bracket that is not closed".to_owned());
            };
            (inner.split('|').collect(), after)
        } else if let Some(set) = from.strip_prefix('@') {
            let end = set.find(|c: char| !c.is_alphanumeric());
            let (name, after) = set.split_at(end.unwrap_or(set.len()));
            let Some(known) = sets.get(name) else {
                return Err(format!("the set @{name}, which no line before defines"));
            };
            (known.clone(), after)
        } else {
            return Err("a bracket that is not opened".to_owned());
        };
        rest = after;
        if all.len() * choices.len() > OF_PATTERN {
            return Err(format!("a pattern of more than {OF_PATTERN} wordings"));
        }
        let longer = all.iter().flat_map(|start| {
            let choices = choices.iter();
            choices.map(move |choice| format!("{start}{before}{choice}"))
        });
        all = longer.collect();
    }
    let whole = all.into_iter().map(|start| {
        let whole = start + rest;
        whole.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    Ok(whole.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'w>(wordings: &'w Wordings, mention: &str) -> Vec<&'w str> {
        wordings.names_of(mention).collect()
    }

    fn found<'t>(wordings: &Wordings, text: &'t str) -> Vec<&'t str> {
        let found = wordings.detect(text, &DetectOptions::default());
        let texts = found
            .iter()
            .map(|found| &text[found.span.start..found.span.end]);
        texts.collect()
    }

    #[test]
    fn the_table_for_english_is_valid() {
        let wordings = Wordings::parse(ENGLISH, "english.tsv").expect("valid");
        assert!(wordings.len() > 800, "{}", wordings.len());
        assert_eq!(
            names(&wordings, "transaminitis"),
            ["elevated liver enzymes"]
        );
        assert!(names(&wordings, "fever").is_empty());
    }

    #[test]
    fn the_dictionary_for_english_is_that_of_its_table() {
        let (names, entries) = Wordings::entries(ENGLISH, "english.tsv").expect("valid");
        let built = Wordings::build(&entries).expect("built");
        if std::env::var_os("PEL_WRITE_EXPECTED").is_some() {
            let file = "src/wordings/english.dictionary";
            std::fs::write(format!("{}/{file}", env!("CARGO_MANIFEST_DIR")), &built)
                .expect("written");
        }
        assert!(
            built == BUILT,
            "the table has changed: run this test with PEL_WRITE_EXPECTED=1"
        );
        assert_eq!(Wordings::english().names, names);
    }

    #[test]
    fn patterns_stand_for_their_alternatives() {
        let sets = HashMap::from([("whose", vec!["his", "her"])]);
        let all = |pattern: &str| expand(pattern, &sets).expect("valid");
        assert_eq!(all("cath"), ["cath"]);
        assert_eq!(all("a (b|c) d"), ["a b d", "a c d"]);
        assert_eq!(all("(very |) sick "), ["very sick", "sick"]);
        assert_eq!(
            all("lost @whose voice"),
            ["lost his voice", "lost her voice"]
        );
        assert_eq!(all("(a|b)(c|d)"), ["ac", "ad", "bc", "bd"]);
    }

    #[test]
    fn wordings_are_compared_like_names() {
        let table = "# a comment\n@whose\this|her\n\nhematemesis\t(bring|brought) up blood\n\
                     catheterization\tcath; heart cath\nlesion\tcath";
        let wordings = Wordings::parse(table, "t").expect("valid");
        assert_eq!(wordings.len(), 3);
        assert_eq!(names(&wordings, "Brought up BLOOD"), ["hematemesis"]);
        assert_eq!(names(&wordings, "caths"), ["catheterization", "lesion"]);
        assert!(names(&wordings, "brought up").is_empty());
        assert_eq!(
            found(
                &wordings,
                "Heart cath today. She brought up\nblood; catheter out."
            ),
            ["Heart cath", "brought up\nblood"]
        );
    }

    #[test]
    fn a_table_can_include_english() {
        let table = "rehabilitation\trehabbing\ninclude english";
        let wordings = Wordings::parse(table, "t").expect("valid");
        assert_eq!(wordings.len(), 1 + Wordings::english().len());
        assert_eq!(names(&wordings, "rehabbing"), ["rehabilitation"]);
        assert_eq!(names(&wordings, "lytes"), ["electrolyte panel"]);
        let error = Wordings::parse("include english\nx", "t").expect_err("bad");
        assert!(error.to_string().starts_with("t:2: "), "{error}");
    }

    #[test]
    fn an_empty_table_has_no_wordings() {
        let wordings = Wordings::parse("# nothing\n@whose\this", "t").expect("valid");
        assert!(wordings.is_empty() && found(&wordings, "his cath").is_empty());
        assert!(names(&wordings, "cath").is_empty());
    }

    #[test]
    fn bad_tables_name_their_line() {
        for (table, expected) in [
            (
                "cath",
                "t:1: expected a name and wordings with a tab between them, found 1 fields",
            ),
            (
                "a\tb\tc",
                "t:1: expected a name and wordings with a tab between them, found 3",
            ),
            (
                "#\na\tb;;c",
                "t:2: expected a name and wordings with a tab between them, found an empty one",
            ),
            (
                "a\t(b|)",
                "t:1: expected a name and wordings with a tab between them, found an empty one",
            ),
            (
                "a\t(b",
                "t:1: expected a name and wordings with a tab between them, found a bracket that \
                 is not closed",
            ),
            (
                "a\tb)",
                "t:1: expected a name and wordings with a tab between them, found a bracket that \
                 is not opened",
            ),
            (
                "a\tmy @b c",
                "t:1: expected a name and wordings with a tab between them, found the set @b,",
            ),
        ] {
            let error = Wordings::parse(table, "t").expect_err("bad").to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let many = format!("a\t{}", "(b|c|d|e|f|g|h|i)".repeat(4));
        let error = Wordings::parse(&many, "t").expect_err("bad").to_string();
        assert!(
            error.ends_with("found a pattern of more than 1024 wordings"),
            "{error}"
        );
    }
}
