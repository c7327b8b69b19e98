//! The parser of rule files of attributes.

use super::entries::{split_value, without_comment};
use super::pattern::{Element, Head, Names, expand};
use super::rules::{
    Direction, EVENT, Family, Group, Normal, Product, Rules, Section, Symbol, Trie,
};
use super::{BUILT_IN, Kind};
use crate::rule_lines::split_entries;
use pel_kb::error::{Error, Result};

/// How deep files may include others.
const MAX_DEPTH: usize = 4;
/// The largest number of lines, included files too.
const MAX_LINES: usize = 1 << 14;
/// The largest number of nodes of all patterns, which bounds the memory.
const MAX_NODES: usize = 1 << 19;

/// What the entries of a heading are added to.
#[derive(Clone, Copy, Debug)]
enum Target {
    Class(u16),
    Section(usize),
    /// The number of the heading in [`Parser::nothing`].
    Nothing(usize),
}

/// Patterns that are no attribute.
struct Nothing {
    /// The kinds of mentions of the families that they are for.
    kinds: Vec<Kind>,
    patterns: Vec<(Vec<Symbol>, u32)>,
}

/// A parser of a file and those that it includes.
struct Parser {
    names: Names,
    rules: Rules,
    nothing: Vec<Nothing>,
    lines: usize,
}

impl Rules {
    /// Parses a rule file and those that it includes.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let mut parser = Parser {
            names: Names::new(),
            rules: Self {
                words: Default::default(),
                written: Default::default(),
                classes: Vec::new(),
                naming: Vec::new(),
                products: Vec::new(),
                phrases: Trie::default(),
                composites: Trie::default(),
                sections: Vec::new(),
                families: Vec::new(),
            },
            nothing: Vec::new(),
            lines: 0,
        };
        parser.read(text, name, 0)?;
        let Parser {
            mut names,
            mut rules,
            nothing,
            ..
        } = parser;
        let event = names.classes.iter().position(|name| name == EVENT);
        if let Some(event) = event.and_then(|at| u16::try_from(at).ok()) {
            names.name_by(event);
        }
        for family in &mut rules.families {
            for Nothing { kinds, patterns } in &nothing {
                let fits = family.kinds.iter().all(|kind| kinds.contains(kind));
                for (pattern, product) in patterns.iter().filter(|_| fits) {
                    family.patterns.insert(pattern, *product);
                }
            }
        }
        rules.words = names.words;
        rules.written = names.written;
        rules.classes = names.classes;
        rules.naming = names.naming;
        Ok(rules)
    }
}

impl Parser {
    fn read(&mut self, text: &str, name: &str, depth: usize) -> Result<()> {
        let mut target: Option<Target> = None;
        for (index, line) in text.lines().enumerate() {
            let fail = |message: String| Error::input(format!("{message} ({name}:{})", index + 1));
            self.lines += 1;
            if self.lines > MAX_LINES {
                return Err(fail(format!(
                    "expected at most {MAX_LINES} lines, included files too"
                )));
            }
            let line = without_comment(line);
            if line.trim().is_empty() {
                continue;
            }
            if line.starts_with(char::is_whitespace) {
                let Some(target) = target else {
                    return Err(fail(format!(
                        "expected a heading before the first indented line, found \"{}\"",
                        line.trim()
                    )));
                };
                self.entries(line.trim(), target).map_err(fail)?;
                continue;
            }
            let line = line.trim_end();
            if let Some(other) = line.strip_prefix("include ") {
                let found = BUILT_IN.iter().find(|(known, _)| *known == other.trim());
                let Some((known, text)) = found else {
                    let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
                    return Err(fail(format!(
                        "expected one of {}, found \"{}\"",
                        known.join(", "),
                        other.trim()
                    )));
                };
                if depth >= MAX_DEPTH {
                    return Err(fail(format!(
                        "expected at most {MAX_DEPTH} files inside each other"
                    )));
                }
                self.read(text, &format!("{known}.attributes"), depth + 1)?;
                target = None;
                continue;
            }
            let Some(heading) = line.strip_suffix(':') else {
                return Err(fail(format!("expected ':' at the end of \"{line}\"")));
            };
            target = Some(self.heading(heading).map_err(fail)?);
        }
        Ok(())
    }

    /// Reads a heading.
    fn heading(&mut self, heading: &str) -> std::result::Result<Target, String> {
        let mut words = heading.split_whitespace();
        match words.next() {
            Some("words") => {
                let name = words.next().unwrap_or_default();
                let valid = |c: char| c.is_ascii_lowercase() || c == '_';
                if name.is_empty() || !name.chars().all(valid) || words.next().is_some() {
                    return Err(format!(
                        "expected one name in lower case after \"words\", found \"{heading}\""
                    ));
                }
                let known = self.names.classes.iter().position(|known| known == name);
                let at = known.unwrap_or_else(|| {
                    self.names.classes.push(name.to_owned());
                    self.names.classes.len() - 1
                });
                let class = u16::try_from(at).map_err(|_| "expected fewer classes".to_owned())?;
                Ok(Target::Class(class))
            }
            Some("nothing") if words.next() == Some("of") => {
                let mut kinds = Vec::new();
                for word in words {
                    kinds.extend(kinds_named(word).ok_or_else(|| {
                        format!("expected a kind of mention or any, found \"{word}\"")
                    })?);
                }
                self.nothing.push(Nothing {
                    kinds,
                    patterns: Vec::new(),
                });
                Ok(Target::Nothing(self.nothing.len() - 1))
            }
            Some("attributes") if words.next() == Some("of") => self.section(words),
            _ => Err(format!(
                "expected include, words NAME, attributes of KINDS or nothing of KINDS, found \
                 \"{heading}\""
            )),
        }
    }

    /// Reads the kinds and options of a section.
    fn section<'w>(
        &mut self,
        words: impl Iterator<Item = &'w str>,
    ) -> std::result::Result<Target, String> {
        let mut kinds = Vec::new();
        let mut section = Section {
            family: 0,
            direction: Direction::Near,
            list: false,
            inside: false,
            carried: false,
            panel: false,
        };
        for word in words {
            match word {
                "forward" => section.direction = Direction::Forward,
                "backward" => section.direction = Direction::Backward,
                "before" => section.direction = Direction::Before,
                "list" => section.list = true,
                "inside" => section.inside = true,
                "carried" => section.carried = true,
                "panel" => section.panel = true,
                word => kinds.extend(kinds_named(word).ok_or_else(|| {
                    format!(
                        "expected drug, test, problem, procedure, device, other, any, before, \
                         forward, backward, list, inside, carried or panel, found \"{word}\""
                    )
                })?),
            }
        }
        if kinds.is_empty() {
            return Err("expected a kind of mention after \"of\", found none".to_owned());
        }
        kinds.sort_unstable();
        kinds.dedup();
        let families = &mut self.rules.families;
        let known = families.iter().position(|family| family.kinds == kinds);
        section.family = known.unwrap_or_else(|| {
            families.push(Family {
                kinds,
                patterns: Trie::default(),
            });
            families.len() - 1
        });
        self.rules.sections.push(section);
        Ok(Target::Section(self.rules.sections.len() - 1))
    }

    /// Reads the entries of a line.
    fn entries(&mut self, line: &str, target: Target) -> std::result::Result<(), String> {
        let (value, phrases) = match target {
            Target::Class(_) => match split_value(line) {
                Some((value, phrases)) => (Some(value), phrases),
                None => (None, line),
            },
            _ => (None, line),
        };
        for entry in split_entries(phrases) {
            let (patterns, heads) = expand(entry, &mut self.names)?;
            let elements: Vec<Vec<Element>> = patterns;
            let forms: Vec<Vec<Symbol>> = elements.iter().map(|form| symbols(form)).collect();
            for (elements, symbols) in elements.iter().zip(&forms) {
                let product = match target {
                    Target::Nothing(_) => Product::Nothing,
                    Target::Class(class) => {
                        if !heads.is_empty() {
                            return Err(format!(
                                "expected words, found an attribute in \"{entry}\""
                            ));
                        }
                        let normal = match value {
                            Some(value) => self.names.normal(value, symbols, &forms)?,
                            None => Normal::Lower,
                        };
                        Product::Phrase(class, normal)
                    }
                    Target::Section(section) => {
                        let groups = self.groups(&heads, elements, symbols, &forms)?;
                        if groups.is_empty() {
                            return Err(format!(
                                "expected an attribute in \"{entry}\", found none"
                            ));
                        }
                        Product::Attributes(section, groups)
                    }
                };
                self.add(symbols, product, target);
            }
        }
        let families = self
            .rules
            .families
            .iter()
            .map(|family| family.patterns.size());
        let nodes = families.sum::<usize>() + self.rules.phrases.size();
        if nodes + self.rules.composites.size() > MAX_NODES {
            return Err(format!("expected at most {MAX_NODES} elements of patterns"));
        }
        Ok(())
    }

    fn add(&mut self, symbols: &[Symbol], product: Product, target: Target) {
        let number = u32::try_from(self.rules.products.len()).unwrap_or(u32::MAX);
        self.rules.products.push(product);
        match target {
            Target::Nothing(heading) => {
                let patterns = &mut self.nothing[heading].patterns;
                patterns.push((symbols.to_vec(), number));
            }
            Target::Class(_) => {
                let is_plain =
                    |symbol: &Symbol| matches!(symbol, Symbol::Word(_) | Symbol::Mark(_));
                let plain = symbols.iter().all(is_plain);
                let trie = match plain {
                    true => &mut self.rules.phrases,
                    false => &mut self.rules.composites,
                };
                trie.insert_phrase(symbols, number);
            }
            Target::Section(section) => {
                let family = self.rules.sections[section].family;
                self.rules.families[family].patterns.insert(symbols, number);
            }
        }
    }

    /// The groups of one form of a pattern.
    fn groups(
        &self,
        heads: &[Head],
        elements: &[Element],
        symbols: &[Symbol],
        forms: &[Vec<Symbol>],
    ) -> std::result::Result<Vec<Group>, String> {
        let mut groups = Vec::new();
        let mut open = Vec::new();
        let mut at = 0;
        for element in elements {
            match element {
                Element::Symbol(_) => at += 1,
                Element::Open(head) => open.push((*head, at)),
                Element::Close => {
                    let Some((head, first)) = open.pop() else {
                        continue;
                    };
                    let Some(head) = heads.get(head) else {
                        continue;
                    };
                    let normal = match &head.normal {
                        Some(text) => self.names.normal(text, symbols, forms)?,
                        None => Normal::Values,
                    };
                    groups.push(Group {
                        first,
                        end: at,
                        name: head.name,
                        prior: head.prior,
                        normal,
                    });
                }
            }
        }
        Ok(groups)
    }
}

/// The kinds of a name in files.
fn kinds_named(name: &str) -> Option<Vec<Kind>> {
    match name {
        "any" => Some(Kind::ALL.to_vec()),
        name => Some(vec![Kind::of_name(name)?]),
    }
}

/// The symbols of a pattern.
fn symbols(elements: &[Element]) -> Vec<Symbol> {
    let symbols = elements.iter().filter_map(|element| match element {
        Element::Symbol(symbol) => Some(*symbol),
        _ => None,
    });
    symbols.collect()
}
