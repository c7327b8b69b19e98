//! The parser of rule files.

use super::pattern::expand;
use super::rules::{Action, Condition, Direction, Prior, Rule, RuleSet, RuleText, SUBHEADING};
use super::tokens::normalise;
use super::trie::{Element, Trie};
use super::values::{Effect, MentionKind, When};
use super::vocabulary::{Symbol, Vocabulary};
use crate::rule_lines::split_entries;
use pel_kb::error::{Error, Result};

/// The tokens between cue and mention if a rule has no `within`.
const WITHIN: usize = 40;
/// The largest number of tokens that a rule may allow between cue and mention.
pub(super) const MAX_WITHIN: usize = 400;
/// How deep files may include others.
const MAX_DEPTH: usize = 4;

// The bounds of a file with those that it includes, about ten times the English rules: they bound
// the memory and the time per word of a text.

/// The largest number of lines.
const MAX_LINES: usize = 1 << 14;
/// The longest heading in bytes. Each entry has a copy.
const MAX_HEADING: usize = 256;
/// The largest number of patterns that all entries stand for.
const MAX_PATTERNS: usize = 1 << 18;
/// The largest number of nodes of all tries.
const MAX_NODES: usize = 1 << 19;
/// The largest number of endings in lists. Each word of a mention is compared with each.
const MAX_ENDINGS: usize = 1 << 12;

/// What to do with a file of rules in JSON.
const NOT_JSON: &str = "expected a rule file such as english.rules, found JSON, as medspaCy has \
     its rules; write each \"literal\" below its category and direction: `cue negated forward: no \
     evidence of` for NEGATED_EXISTENCE and FORWARD, `cue uncertain both:` for POSSIBLE_EXISTENCE \
     and BIDIRECTIONAL, `end negated:` for TERMINATE, `pseudo negated:` for PSEUDO";

/// The file that is included under a name.
fn included(name: &str) -> Option<&'static str> {
    super::BUILT_IN
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// What the entries of a heading are added to.
#[derive(Clone, Debug)]
enum Target {
    Action(usize),
    Class(Symbol),
    List(usize),
    Section(usize),
    Subsection,
}

impl RuleSet {
    /// Parses a rule file and those that it includes.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        if text
            .trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with(['{', '['])
        {
            return Err(Error::input(format!("{name}: {NOT_JSON}")));
        }
        let mut set = Self {
            vocabulary: Vocabulary::new(),
            actions: Vec::new(),
            rules: Vec::new(),
            cues: Default::default(),
            list_ends: Default::default(),
            sections: vec![String::new()],
            headings: Trie::default(),
            lists: Vec::new(),
            phrases: Trie::default(),
            endings: Vec::new(),
            priors: Vec::new(),
            limits: Vec::new(),
            lines: 0,
            patterns: 0,
        };
        set.read(text, name, 0)?;
        Ok(set)
    }

    fn read(&mut self, text: &str, name: &str, depth: usize) -> Result<()> {
        let mut target: Option<(Target, String)> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let fail = |message: String| Error::input(format!("{message} ({name}:{number})"));
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
                let Some((target, heading)) = &target else {
                    return Err(fail(format!(
                        "expected a heading before the first indented line, found \"{}\"",
                        line.trim()
                    )));
                };
                self.entries(line, &target.clone(), &heading.clone(), (name, number))
                    .map_err(fail)?;
                continue;
            }
            if let Some(other) = line.strip_prefix("include ") {
                let other = other.trim();
                let Some(text) = included(other) else {
                    let known: Vec<&str> = super::BUILT_IN.iter().map(|(name, _)| *name).collect();
                    return Err(fail(format!(
                        "expected one of {}, found \"{other}\"",
                        known.join(", ")
                    )));
                };
                if depth >= MAX_DEPTH {
                    return Err(fail(format!(
                        "expected at most {MAX_DEPTH} files inside each other"
                    )));
                }
                self.read(text, &format!("{other}.rules"), depth + 1)?;
                target = None;
                continue;
            }
            let (heading, entries) = match split_heading(line) {
                Some((heading, entries)) => (heading, Some(entries)),
                None => (line.trim(), None),
            };
            if heading.len() > MAX_HEADING {
                return Err(fail(format!(
                    "expected a heading of at most {MAX_HEADING} bytes, found {}",
                    heading.len()
                )));
            }
            // Names are compared without regard to case.
            let opened = self
                .heading(&heading.to_lowercase(), (name, number))
                .map_err(fail)?;
            match (opened, entries) {
                (Some(opened), Some(entries)) => {
                    self.entries(entries, &opened, heading, (name, number))
                        .map_err(fail)?;
                    target = Some((opened, heading.to_owned()));
                }
                (Some(_), None) => {
                    return Err(fail(format!("expected ':' after \"{heading}\"")));
                }
                (None, Some(_)) => {
                    return Err(fail(format!("expected no ':' after \"{heading}\"")));
                }
                (None, None) => target = None,
            }
        }
        Ok(())
    }

    /// Reads a heading. Statements without entries return `None`.
    fn heading(
        &mut self,
        heading: &str,
        place: (&str, usize),
    ) -> std::result::Result<Option<Target>, String> {
        let (verb, rest) = heading.split_once(' ').unwrap_or((heading, ""));
        let rest = rest.trim();
        let named = |what: &str| {
            if rest.is_empty() {
                Err(format!("expected the name of a {what}, found none"))
            } else {
                Ok(rest.to_owned())
            }
        };
        Ok(match verb {
            "class" => Some(Target::Class(self.vocabulary.declare(&named("class")?))),
            "list" => {
                let name = named("list")?;
                Some(Target::List(position_or_push(&mut self.lists, name)))
            }
            "section" => {
                let name = named("section")?;
                Some(Target::Section(position_or_push(&mut self.sections, name)))
            }
            "subsection" => Some(Target::Subsection),
            "clear" => {
                self.clear(rest)?;
                None
            }
            "cue" | "end" | "pseudo" => {
                let action = self.action(verb, rest)?;
                self.actions.push(action);
                Some(Target::Action(self.actions.len() - 1))
            }
            "prior" => {
                self.prior(heading, rest, place)?;
                None
            }
            "limit" => {
                self.limit(rest)?;
                None
            }
            _ => {
                return Err(format!(
                    "expected include, class, list, section, subsection, cue, end, pseudo, prior, \
                     limit or clear, found \"{verb}\""
                ));
            }
        })
    }

    /// Empties a class or list.
    fn clear(&mut self, name: &str) -> std::result::Result<(), String> {
        if let Some(class) = self.vocabulary.class(name) {
            self.vocabulary.clear(class);
        } else if let Some(list) = position(&self.lists, name) {
            // The phrases stay in the trie under a name that no rule has.
            self.lists[list] = String::new();
            let fresh = self.lists.len();
            self.lists.push(name.to_owned());
            let moved = |at: &mut Option<usize>| {
                if *at == Some(list) {
                    *at = Some(fresh);
                }
            };
            for action in &mut self.actions {
                if let Action::Cue { condition, .. } = action {
                    moved(&mut condition.with);
                    moved(&mut condition.without);
                }
            }
            for prior in &mut self.priors {
                moved(&mut prior.condition.with);
                moved(&mut prior.condition.without);
            }
        } else {
            return Err(format!(
                "expected the name of a class or list, found \"{name}\""
            ));
        }
        Ok(())
    }

    /// Reads the qualifiers of a cue or end.
    fn action(&mut self, verb: &str, rest: &str) -> std::result::Result<Action, String> {
        if verb == "pseudo" {
            if rest.is_empty() {
                let all = Effect::NAMES.iter().map(|(_, effect)| *effect);
                return Ok(Action::Pseudo {
                    effects: all.collect(),
                });
            }
            let mut words = Words::new(rest);
            let effects = words.effects()?;
            words.finish("effects")?;
            return Ok(Action::Pseudo { effects });
        }
        let mut words = Words::new(rest);
        let effects = words.effects()?;
        if verb == "end" {
            let item = words.take("item");
            let after = match !item && words.take("after") {
                true => Some(self.class_named(words.next())?),
                false => None,
            };
            if words.take("unless") {
                let unless = self.class_named(words.next())?;
                words.finish("a class")?;
                return Ok(match item {
                    true => Action::EndOfItem { effects, unless },
                    false => Action::EndOfList {
                        effects,
                        unless,
                        after,
                    },
                });
            }
            if item || after.is_some() {
                let found = quoted(words.peek());
                return Err(format!("expected unless, found {found}"));
            }
            let clause = words.take("clause");
            words.finish("clause, item, after, unless")?;
            return Ok(Action::End { effects, clause });
        }
        let direction = match words.next() {
            Some("forward") => Direction::Forward,
            Some("backward") => Direction::Backward,
            Some("both") => Direction::Both,
            Some("inside") => Direction::Inside,
            other => {
                return Err(format!(
                    "expected an effect or forward, backward, both or inside, found {}",
                    quoted(other)
                ));
            }
        };
        let or_inside = direction != Direction::Inside && words.take("or");
        if or_inside && !words.take("inside") {
            let found = quoted(words.peek());
            return Err(format!("expected inside after \"or\", found {found}"));
        }
        let (mut within, mut question, mut until) = (WITHIN, false, None);
        let mut condition = Condition::default();
        while let Some(word) = words.next() {
            match word {
                "within" => within = words.number()?,
                "question" => question = true,
                "until" => until = Some(self.class_named(words.next())?),
                word => self.condition(word, &mut words, &mut condition)?,
            }
        }
        Ok(Action::Cue {
            effects,
            direction,
            or_inside,
            within,
            question,
            condition,
            until,
        })
    }

    /// The class with a name.
    fn class_named(&self, name: Option<&str>) -> std::result::Result<Symbol, String> {
        let name = name.unwrap_or_default();
        self.vocabulary
            .class(name)
            .ok_or_else(|| format!("expected the name of a class declared above, found \"{name}\""))
    }

    /// Reads `for`, `if`, `unless` or `beside`.
    fn condition(
        &mut self,
        word: &str,
        words: &mut Words,
        condition: &mut Condition,
    ) -> std::result::Result<(), String> {
        match word {
            "for" => {
                condition.kinds = words.kinds();
                if condition.kinds.is_empty() {
                    return Err(format!(
                        "expected a kind of mention after \"for\", found {}",
                        quoted(words.peek())
                    ));
                }
            }
            "if" | "unless" => {
                let name = words.next().unwrap_or_default().to_owned();
                let Some(list) = position(&self.lists, &name) else {
                    return Err(format!(
                        "expected the name of a list declared above, found \"{name}\""
                    ));
                };
                let slot = if word == "if" {
                    &mut condition.with
                } else {
                    &mut condition.without
                };
                *slot = Some(list);
            }
            "beside" => {
                let found = words.next();
                let effect = found.and_then(Effect::named).ok_or_else(|| {
                    format!(
                        "expected an effect after \"beside\", found {}",
                        quoted(found)
                    )
                })?;
                condition.beside = Some(effect);
            }
            _ => {
                return Err(format!(
                    "expected within, question, until, for, if, unless or beside, found \"{word}\""
                ));
            }
        }
        Ok(())
    }

    /// Reads `prior EFFECTS [in SECTION] [within N] [sentence] [dated TIME] [for KINDS] [if LIST]
    /// [unless LIST] [beside EFFECT]`.
    fn prior(
        &mut self,
        heading: &str,
        rest: &str,
        (name, line): (&str, usize),
    ) -> std::result::Result<(), String> {
        let mut words = Words::new(rest);
        let effects = words.effects()?;
        let in_section = words.take("in");
        let mut section = String::new();
        let mut condition = Condition::default();
        let mut within = usize::MAX;
        let mut in_sentence = false;
        while let Some(word) = words.next() {
            if word == "within" {
                within = words.number()?;
                continue;
            }
            if word == "sentence" {
                in_sentence = true;
                continue;
            }
            if word == "dated" {
                let found = words.next();
                let when = found.and_then(When::named).ok_or_else(|| {
                    let found = quoted(found);
                    format!("expected past, long or ahead after \"dated\", found {found}")
                })?;
                condition.dated = Some(when);
                continue;
            }
            if matches!(word, "for" | "if" | "unless" | "beside") {
                self.condition(word, &mut words, &mut condition)?;
                continue;
            }
            if !in_section {
                return Err(format!(
                    "expected an effect, in, within, sentence, dated, for, if, unless or beside, found \"{word}\""
                ));
            }
            if !section.is_empty() {
                section.push(' ');
            }
            section.push_str(word);
        }
        let index = self.sections.iter().position(|known| *known == section);
        let Some(index) = index.filter(|_| in_section != section.is_empty()) else {
            return Err(format!(
                "expected the name of a section declared above, found \"{section}\""
            ));
        };
        self.actions.push(Action::Pseudo {
            effects: Vec::new(),
        });
        self.rules.push(Rule {
            action: self.actions.len() - 1,
            text: RuleText {
                file: name.to_owned(),
                line,
                pattern: section,
                heading: heading.to_owned(),
            },
        });
        self.priors.push(Prior {
            section: index,
            effects,
            condition,
            within,
            in_sentence,
            rule: self.rules.len() - 1,
        });
        Ok(())
    }

    /// Reads `limit EFFECTS within N for KINDS` or `limit EFFECTS never for KINDS`.
    fn limit(&mut self, rest: &str) -> std::result::Result<(), String> {
        let mut words = Words::new(rest);
        let effects = words.effects()?;
        let within = if words.take("never") {
            None
        } else if words.take("within") {
            Some(words.number()?)
        } else {
            let found = quoted(words.peek());
            return Err(format!("expected within or never, found {found}"));
        };
        if !words.take("for") {
            return Err(format!("expected \"for\", found {}", quoted(words.peek())));
        }
        let kinds = words.kinds();
        words.finish("kinds of mentions")?;
        for effect in effects {
            for kind in &kinds {
                let known = self
                    .limits
                    .iter_mut()
                    .find(|(other, of, _)| (*other, *of) == (effect, *kind));
                match known {
                    // The narrower limit holds.
                    Some((_, _, known)) => {
                        *known = known.zip(within).map(|(one, two)| one.min(two));
                    }
                    None => self.limits.push((effect, *kind, within)),
                }
            }
        }
        Ok(())
    }

    /// Adds the entries of a line.
    fn entries(
        &mut self,
        line: &str,
        target: &Target,
        heading: &str,
        (name, number): (&str, usize),
    ) -> std::result::Result<(), String> {
        for entry in split_entries(line) {
            match target {
                Target::Class(class) => {
                    let inner = entry
                        .strip_prefix('<')
                        .and_then(|entry| entry.strip_suffix('>'));
                    if let Some(name) = inner {
                        let Some(inner) = self.vocabulary.class(name) else {
                            return Err(format!(
                                "expected the name of a class declared above, found \"{name}\""
                            ));
                        };
                        self.vocabulary.nest(name, inner, *class)?;
                        continue;
                    }
                    let patterns = expand(entry, &mut self.vocabulary)?;
                    if patterns.len() != 1 || patterns[0].len() != 1 || entry.starts_with('=') {
                        return Err(format!(
                            "expected single words in a class, without \"=\", found \"{entry}\""
                        ));
                    }
                    let mut word = String::new();
                    normalise(entry.trim_matches('"'), &mut word);
                    self.vocabulary.classify(&word, *class)?;
                }
                Target::List(list) => {
                    if let Some(ending) = entry.strip_prefix('*') {
                        if self.endings.len() >= MAX_ENDINGS {
                            return Err(format!("expected at most {MAX_ENDINGS} endings in lists"));
                        }
                        let mut word = String::new();
                        normalise(ending, &mut word);
                        self.endings.push((word, *list));
                    } else {
                        self.patterns +=
                            insert(&mut self.phrases, entry, *list, &mut self.vocabulary)?;
                    }
                }
                Target::Section(section) => {
                    self.patterns +=
                        insert(&mut self.headings, entry, *section, &mut self.vocabulary)?;
                }
                Target::Subsection => {
                    self.patterns +=
                        insert(&mut self.headings, entry, SUBHEADING, &mut self.vocabulary)?;
                }
                Target::Action(action) => {
                    self.rules.push(Rule {
                        action: *action,
                        text: RuleText {
                            file: name.to_owned(),
                            line: number,
                            pattern: entry.to_owned(),
                            heading: heading.to_owned(),
                        },
                    });
                    let rule = self.rules.len() - 1;
                    let patterns = expand(entry, &mut self.vocabulary)?;
                    self.patterns += patterns.len();
                    let tries = match self.actions[*action] {
                        Action::EndOfList { .. } => &mut self.list_ends,
                        _ => &mut self.cues,
                    };
                    for property in self.actions[*action].properties() {
                        for pattern in &patterns {
                            tries[property.index()].insert(pattern, rule as u32)?;
                        }
                    }
                }
            }
            self.check_size()?;
        }
        Ok(())
    }

    /// Checks the number of patterns after an entry.
    fn check_size(&self) -> std::result::Result<(), String> {
        let tries = self.cues.iter().chain(&self.list_ends);
        let tries = tries.chain([&self.headings, &self.phrases]);
        let nodes: usize = tries.map(Trie::size).sum();
        match self.patterns <= MAX_PATTERNS && nodes <= MAX_NODES {
            true => Ok(()),
            false => Err(format!(
                "expected at most {MAX_PATTERNS} patterns of at most {MAX_NODES} words, found {} \
                 of {nodes}",
                self.patterns
            )),
        }
    }
}

/// Adds the patterns of an entry, and returns their number.
fn insert(
    trie: &mut Trie,
    entry: &str,
    number: usize,
    vocabulary: &mut Vocabulary,
) -> std::result::Result<usize, String> {
    let patterns: Vec<Vec<Element>> = expand(entry, vocabulary)?;
    for pattern in &patterns {
        trie.insert(pattern, number as u32)?;
    }
    Ok(patterns.len())
}

/// The number of a name. A list that was cleared has the empty one.
fn position(names: &[String], name: &str) -> Option<usize> {
    let mut names = names.iter();
    names.position(|known| known == name && !name.is_empty())
}

fn position_or_push(names: &mut Vec<String>, name: String) -> usize {
    if let Some(at) = names.iter().position(|known| *known == name) {
        return at;
    }
    names.push(name);
    names.len() - 1
}

/// The line up to a `#` outside quotes.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return line[..at].trim_end(),
            _ => {}
        }
    }
    line.trim_end()
}

/// The heading before the first colon outside quotes, and the entries after it.
fn split_heading(line: &str) -> Option<(&str, &str)> {
    let (heading, entries) = line.split_once(':')?;
    Some((heading.trim(), entries))
}

fn quoted(word: Option<&str>) -> String {
    word.map_or("the end".to_owned(), |word| format!("\"{word}\""))
}

/// The words of a heading.
struct Words<'t> {
    words: std::iter::Peekable<std::vec::IntoIter<&'t str>>,
}

impl<'t> Words<'t> {
    fn new(text: &'t str) -> Self {
        let words: Vec<&str> = text
            .split([' ', ',', '\t'])
            .filter(|word| !word.is_empty())
            .collect();
        Self {
            words: words.into_iter().peekable(),
        }
    }

    fn next(&mut self) -> Option<&'t str> {
        self.words.next()
    }

    fn peek(&mut self) -> Option<&'t str> {
        self.words.peek().copied()
    }

    fn take(&mut self, word: &str) -> bool {
        self.words.next_if(|next| *next == word).is_some()
    }

    fn effects(&mut self) -> std::result::Result<Vec<Effect>, String> {
        let mut effects = Vec::new();
        while let Some(effect) = self.peek().and_then(Effect::named) {
            if !effects.contains(&effect) {
                effects.push(effect);
            }
            self.words.next();
        }
        if effects.is_empty() {
            let known: Vec<&str> = Effect::NAMES.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "expected one of {}, found {}",
                known.join(", "),
                quoted(self.peek())
            ));
        }
        Ok(effects)
    }

    fn kinds(&mut self) -> Vec<MentionKind> {
        let mut kinds = Vec::new();
        while let Some(kind) = self.peek().and_then(MentionKind::named) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            self.words.next();
        }
        kinds
    }

    fn number(&mut self) -> std::result::Result<usize, String> {
        let word = self.words.next();
        word.and_then(|word| word.parse().ok())
            .filter(|number| *number <= MAX_WITHIN)
            .ok_or_else(|| {
                format!(
                    "expected a number from 0 to {MAX_WITHIN}, found {}",
                    quoted(word)
                )
            })
    }

    fn finish(&mut self, known: &str) -> std::result::Result<(), String> {
        match self.next() {
            None => Ok(()),
            Some(word) => Err(format!("expected {known} or the end, found \"{word}\"")),
        }
    }
}
