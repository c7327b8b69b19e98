//! Patterns of rule files: words, marks, classes, alternatives, optional parts, and the groups that
//! are attributes.

use super::rules::{CLASSES, Symbol};
use super::{AttributeName, Kind};
use crate::rule_lines::{check_count, joined};
use std::collections::HashMap;

/// How deep brackets may be inside each other.
const MAX_DEPTH: usize = 6;

/// An element of a pattern, or the border of a group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    Symbol(Symbol),
    /// The group of a number begins here.
    Open(usize),
    /// The last group ends here.
    Close,
}

/// A group as it is written.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub name: AttributeName,
    pub prior: bool,
    /// The text behind "=>", if there is one.
    pub normal: Option<String>,
}

/// The words and classes that a file has so far.
#[derive(Debug)]
pub(super) struct Names {
    pub words: HashMap<String, u32>,
    /// Words whose case counts.
    pub written: HashMap<String, u32>,
    pub classes: Vec<String>,
    /// The classes that mentions are told apart by.
    pub naming: Vec<u16>,
}

impl Names {
    pub fn new() -> Self {
        Self {
            words: HashMap::new(),
            written: HashMap::new(),
            classes: CLASSES.iter().map(|name| (*name).to_owned()).collect(),
            naming: Vec::new(),
        }
    }

    /// Has mentions told apart by a class.
    pub fn name_by(&mut self, class: u16) {
        if !self.naming.contains(&class) {
            self.naming.push(class);
        }
    }

    fn fresh(&self) -> u32 {
        u32::try_from(self.words.len() + self.written.len()).unwrap_or(u32::MAX)
    }

    fn word(&mut self, word: &str) -> Symbol {
        let fresh = self.fresh();
        Symbol::Word(*self.words.entry(word.to_lowercase()).or_insert(fresh))
    }

    fn written(&mut self, word: &str) -> Symbol {
        let fresh = self.fresh();
        Symbol::Word(*self.written.entry(word.to_owned()).or_insert(fresh))
    }
}

/// A reader of one entry.
pub(super) struct Reader<'n, 't> {
    names: &'n mut Names,
    rest: &'t str,
    groups: Vec<Head>,
}

type Expanded = Vec<Vec<Element>>;

/// The patterns that an entry stands for, and their groups.
///
/// # Errors
/// A message that says what was expected and what was found.
pub(super) fn expand(entry: &str, names: &mut Names) -> Result<(Expanded, Vec<Head>), String> {
    let mut reader = Reader {
        names,
        rest: entry,
        groups: Vec::new(),
    };
    let expanded = reader.sequence(0)?;
    if !reader.rest.is_empty() {
        return Err(format!("expected no \"{}\" in \"{entry}\"", reader.rest));
    }
    let is_symbol = |element: &Element| matches!(element, Element::Symbol(_));
    for pattern in &expanded {
        if !pattern.iter().any(is_symbol) {
            return Err(format!(
                "expected a pattern with a word, mark or class, found \"{entry}\""
            ));
        }
    }
    Ok((expanded, reader.groups))
}

impl Reader<'_, '_> {
    /// Reads a sequence up to its end, `|`, `=>` or a closing bracket.
    fn sequence(&mut self, depth: usize) -> Result<Expanded, String> {
        if depth > MAX_DEPTH {
            return Err(format!(
                "expected at most {MAX_DEPTH} brackets inside each other"
            ));
        }
        let mut all: Expanded = vec![Vec::new()];
        loop {
            self.rest = self.rest.trim_start();
            let Some(c) = self.rest.chars().next() else {
                return Ok(all);
            };
            if self.rest.starts_with("=>") {
                return Ok(all);
            }
            let part = match c {
                '|' | ')' | ']' | '}' => return Ok(all),
                '(' | '[' => {
                    self.rest = &self.rest[1..];
                    let close = if c == '(' { ')' } else { ']' };
                    let mut part = self.alternatives(close, depth + 1)?;
                    if c == '[' {
                        part.push(Vec::new());
                    }
                    part
                }
                _ => self.part(c, depth)?,
            };
            all = joined(&all, &part, words)?;
        }
    }

    /// Reads alternatives up to the closing bracket.
    fn alternatives(&mut self, close: char, depth: usize) -> Result<Expanded, String> {
        let mut all = Vec::new();
        loop {
            all.extend(self.sequence(depth)?);
            check_count(all.len())?;
            if let Some(after) = self.rest.strip_prefix('|') {
                self.rest = after;
            } else if let Some(after) = self.rest.strip_prefix(close) {
                self.rest = after;
                return Ok(all);
            } else {
                return Err(format!("expected '{close}', found \"{}\"", self.rest));
            }
        }
    }

    /// Reads a class, a quoted text, a group or a word.
    fn part(&mut self, c: char, depth: usize) -> Result<Expanded, String> {
        let text = self.rest;
        let until = |close: char| {
            text[1..]
                .split_once(close)
                .ok_or_else(|| format!("expected a closing '{close}', found \"{text}\""))
        };
        match c {
            '<' if !text.starts_with("<=") && text[1..].starts_with(char::is_alphabetic) => {
                let (name, after) = until('>')?;
                self.rest = after;
                Ok(vec![vec![Element::Symbol(self.class(name)?)]])
            }
            '$' => {
                self.rest = &text[1..];
                Ok(vec![vec![Element::Symbol(Symbol::End)]])
            }
            '"' => {
                let (quoted, after) = until('"')?;
                self.rest = after;
                let symbols = self.symbols(quoted);
                Ok(vec![symbols])
            }
            _ => {
                let end = text
                    .find(|c: char| c.is_whitespace() || "()[]{}|\"".contains(c))
                    .unwrap_or(text.len());
                let (word, after) = text.split_at(end);
                if let Some(after) = after.strip_prefix('{') {
                    self.rest = after;
                    return self.group(word, depth);
                }
                if word.is_empty() {
                    return Err(format!("expected a word, found \"{text}\""));
                }
                self.rest = after;
                Ok(self.forms(word))
            }
        }
    }

    /// Reads a group after its opening bracket.
    fn group(&mut self, head: &str, depth: usize) -> Result<Expanded, String> {
        let (prior, name) = match head.strip_prefix("prior:") {
            Some(name) => (true, name),
            None => (false, head),
        };
        let name = AttributeName::of_name(name).ok_or_else(|| {
            let known: Vec<&str> = AttributeName::ALL.iter().map(|name| name.name()).collect();
            format!(
                "expected the name of an attribute before '{{' ({}), found \"{name}\"",
                known.join(", ")
            )
        })?;
        let index = self.groups.len();
        self.groups.push(Head {
            name,
            prior,
            normal: None,
        });
        let mut inside = self.sequence(depth + 1)?;
        while let Some(after) = self.rest.strip_prefix('|') {
            self.rest = after;
            inside.extend(self.sequence(depth + 1)?);
        }
        if let Some(after) = self.rest.strip_prefix("=>") {
            let (normal, after) = after
                .split_once('}')
                .ok_or_else(|| format!("expected a closing '}}', found \"{after}\""))?;
            self.groups[index].normal = Some(normal.trim().to_owned());
            self.rest = after;
        } else if let Some(after) = self.rest.strip_prefix('}') {
            self.rest = after;
        } else {
            return Err(format!("expected a closing '}}', found \"{}\"", self.rest));
        }
        for pattern in &mut inside {
            if pattern.is_empty() {
                return Err(format!("expected words in \"{head}{{}}\", found none"));
            }
            pattern.insert(0, Element::Open(index));
            pattern.push(Element::Close);
        }
        Ok(inside)
    }

    /// A class, "test mention", or "test mention NAME": one that has a phrase of a class in it.
    fn class(&mut self, name: &str) -> Result<Symbol, String> {
        if let Some(kind) = name.strip_suffix(" mention").and_then(Kind::of_name) {
            return Ok(Symbol::Mention(kind));
        }
        let parts = name.split_once(" mention ");
        let named = parts.and_then(|(kind, name)| Some((Kind::of_name(kind)?, name)));
        let name = named.map_or(name, |(_, name)| name);
        let at = self.names.classes.iter().position(|known| known == name);
        let class = at.and_then(|at| u16::try_from(at).ok()).ok_or_else(|| {
            format!("expected the name of a class declared above, found \"{name}\"")
        })?;
        let Some((kind, _)) = named else {
            return Ok(Symbol::Class(class));
        };
        self.names.name_by(class);
        Ok(Symbol::Named(kind, class))
    }

    /// The forms of a word: "p.o." is also "po"; the case of "=ON" counts.
    fn forms(&mut self, word: &str) -> Expanded {
        if let Some(written) = word
            .strip_prefix('=')
            .filter(|rest| rest.starts_with(char::is_alphabetic))
        {
            return vec![vec![Element::Symbol(self.names.written(written))]];
        }
        let dotted = word.contains('.') && word.starts_with(char::is_alphabetic);
        if !dotted {
            return vec![self.symbols(word)];
        }
        let plain: String = word.chars().filter(|c| *c != '.').collect();
        let apart = word.replace('.', " ");
        vec![self.symbols(&plain), self.symbols(&apart)]
    }

    /// The symbols of a text: runs of letters, runs of digits, and marks. A dash or point between
    /// letters is nothing, as in texts.
    fn symbols(&mut self, text: &str) -> Vec<Element> {
        let class = |c: char| match c {
            c if c.is_ascii_digit() => 1,
            c if c.is_alphanumeric() => 2,
            '\'' => 2,
            c if c.is_whitespace() => 0,
            _ => 3,
        };
        let mut found = Vec::new();
        let mut run = String::new();
        let mut last = 0;
        let chars: Vec<char> = text.chars().collect();
        for (at, c) in chars.iter().enumerate() {
            let now = class(*c);
            if now != last && !run.is_empty() {
                found.push(self.run(&run));
                run.clear();
            }
            last = now;
            let letter = |at: Option<&char>| at.is_some_and(|c| c.is_alphabetic());
            let before = at.checked_sub(1).and_then(|at| chars.get(at));
            match now {
                1 | 2 => run.push(*c),
                3 if *c == '-' && letter(before) && letter(chars.get(at + 1)) => {}
                3 => found.push(Element::Symbol(Symbol::Mark(*c))),
                _ => {}
            }
        }
        if !run.is_empty() {
            found.push(self.run(&run));
        }
        found
    }

    /// The symbol of a word; an apostrophe by itself, as in "'04", is a mark.
    fn run(&mut self, run: &str) -> Element {
        Element::Symbol(match run {
            "'" => Symbol::Mark('\''),
            run => self.names.word(run),
        })
    }
}

/// The number of words of a pattern, without the borders of groups.
fn words(pattern: &[Element]) -> usize {
    let is_symbol = |element: &&Element| matches!(element, Element::Symbol(_));
    pattern.iter().filter(is_symbol).count()
}
