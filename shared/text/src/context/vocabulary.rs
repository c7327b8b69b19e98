//! The words, marks and word classes of a rule file, as numbers.

use super::tokens::normalise;
use super::values::MentionKind;
use crate::detect::spelt_out;
use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;

/// A word, mark or class of a rule file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Symbol(pub u32);

/// The symbols of a token: itself and its classes.
pub(super) type Symbols = Vec<Symbol>;

/// The class of numbers in digits.
pub(super) const NUMBER: &str = "number";
/// The class of the numbers 1900 to 2099.
pub(super) const YEAR: &str = "year";
/// The class of the dash in "-fever".
pub(super) const MINUS: &str = "minus";
/// The class of a ticked box, or "yes", of a form.
pub(super) const TICKED: &str = "ticked";
/// The class of a ticked "no" of a form.
pub(super) const CROSSED: &str = "crossed";
/// The class of an empty box of a form.
pub(super) const UNTICKED: &str = "unticked";
/// The class of a blank of a form, or answers of which none is ticked.
pub(super) const BLANK: &str = "blank";
/// The class whose words end no sentence with a full stop.
pub(super) const ABBREVIATION: &str = "abbreviation";

/// The largest number of classes that a word or class is in. Of classes in classes, a word has the
/// nearest ones.
const MAX_CLASSES: usize = 32;

/// The words and classes of a rule file.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary {
    words: HashMap<String, Symbols>,
    /// Words whose accents count, as written, in lower case.
    accented: HashMap<String, Symbol>,
    /// Words with an umlaut, by their form with "ae", "oe" or "ue".
    spelt_out: HashMap<String, String>,
    classes: HashMap<String, Symbol>,
    /// The classes that a class is in.
    parents: HashMap<Symbol, Symbols>,
    /// The words and classes that were put into a class.
    members: HashMap<Symbol, Members>,
    count: u32,
}

#[derive(Clone, Debug, Default)]
struct Members {
    words: Vec<String>,
    classes: Vec<Symbol>,
}

impl Vocabulary {
    pub fn new() -> Self {
        let mut vocabulary = Self {
            words: HashMap::new(),
            accented: HashMap::new(),
            spelt_out: HashMap::new(),
            classes: HashMap::new(),
            parents: HashMap::new(),
            members: HashMap::new(),
            count: 0,
        };
        let forms = [TICKED, CROSSED, UNTICKED, BLANK];
        for class in [NUMBER, YEAR, MINUS, ABBREVIATION].into_iter().chain(forms) {
            vocabulary.declare(class);
        }
        for (kind, _) in MentionKind::all() {
            vocabulary.declare(&mention_class(kind));
        }
        vocabulary
    }

    fn fresh(&mut self) -> Symbol {
        self.count += 1;
        Symbol(self.count)
    }

    /// The symbol of a normalised word; a new one if necessary.
    pub fn word(&mut self, word: &str) -> Symbol {
        if let Some(first) = self.words.get(word).and_then(|symbols| symbols.first()) {
            return *first;
        }
        let symbol = self.fresh();
        self.words.insert(word.to_owned(), vec![symbol]);
        symbol
    }

    /// The symbol of a word as it is written; `normalised` is its other form.
    pub fn written(&mut self, word: &str, normalised: &str) -> Symbol {
        if let Some(spelt) = spelt_out(word) {
            let mut other = String::new();
            normalise(&spelt, &mut other);
            self.spelt_out.insert(other, normalised.to_owned());
        }
        self.word(normalised)
    }

    /// The symbol of a word whose accents count; a new one if necessary.
    pub fn accented(&mut self, word: &str) -> Symbol {
        let fresh = self.fresh();
        *self.accented.entry(composed(word)).or_insert(fresh)
    }

    /// The symbol of a word in a text, if a rule has it with its accents.
    pub fn find_accented(&self, word: &str) -> Option<Symbol> {
        if self.accented.is_empty() || word.is_ascii() {
            return None;
        }
        self.accented.get(&composed(word)).copied()
    }

    /// The symbol of a class; a new one if necessary.
    pub fn declare(&mut self, class: &str) -> Symbol {
        if let Some(symbol) = self.classes.get(class) {
            return *symbol;
        }
        let symbol = self.fresh();
        self.classes.insert(class.to_owned(), symbol);
        symbol
    }

    /// The symbol of a declared class, in any case.
    pub fn class(&self, class: &str) -> Option<Symbol> {
        self.classes.get(&class.to_lowercase()).copied()
    }

    /// Adds a normalised word to a class.
    ///
    /// # Errors
    /// If it is in too many classes.
    pub fn classify(&mut self, word: &str, class: Symbol) -> Result<(), String> {
        self.word(word);
        if let Some(symbols) = self.words.get_mut(word)
            && !symbols.contains(&class)
        {
            // The first symbol is the word's own.
            check_classes(symbols.len() - 1, word)?;
            symbols.push(class);
            let members = self.members.entry(class).or_default();
            members.words.push(word.to_owned());
        }
        Ok(())
    }

    /// Adds a class with a name to a class.
    ///
    /// # Errors
    /// If it is in too many classes.
    pub fn nest(&mut self, name: &str, inner: Symbol, outer: Symbol) -> Result<(), String> {
        let parents = self.parents.entry(inner).or_default();
        if inner != outer && !parents.contains(&outer) {
            check_classes(parents.len(), name)?;
            parents.push(outer);
            let members = self.members.entry(outer).or_default();
            members.classes.push(inner);
        }
        Ok(())
    }

    /// Takes all words and classes out of a class, in time linear in their number.
    pub fn clear(&mut self, class: Symbol) {
        let members = self.members.remove(&class).unwrap_or_default();
        for word in &members.words {
            if let Some(symbols) = self.words.get_mut(word) {
                symbols.retain(|symbol| *symbol != class);
            }
        }
        for inner in &members.classes {
            if let Some(symbols) = self.parents.get_mut(inner) {
                symbols.retain(|symbol| *symbol != class);
            }
        }
    }

    /// The symbols of a normalised word: none if no rule has it.
    pub fn symbols(&self, word: &str) -> Symbols {
        let known = self.words.get(word);
        let spelt_out = || self.words.get(self.spelt_out.get(word)?);
        let mut symbols = known.or_else(spelt_out).cloned().unwrap_or_default();
        if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
            let year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
            let classes = [self.class(NUMBER), self.class(YEAR).filter(|_| year)];
            for class in classes.into_iter().flatten() {
                if !symbols.contains(&class) {
                    symbols.push(class);
                }
            }
        }
        self.with_parents(symbols)
    }

    /// Symbols with the classes that they are in.
    fn with_parents(&self, mut symbols: Symbols) -> Symbols {
        let mut at = 0;
        while let Some(symbol) = symbols.get(at).copied() {
            for parent in self.parents.get(&symbol).into_iter().flatten() {
                if symbols.len() <= MAX_CLASSES && !symbols.contains(parent) {
                    symbols.push(*parent);
                }
            }
            at += 1;
        }
        symbols
    }

    /// A class and the classes that it is in.
    pub fn class_symbols(&self, class: &str) -> Symbols {
        self.with_parents(self.class(class).into_iter().collect())
    }

    /// The classes of the mentions of each kind.
    pub fn mention_classes(&self) -> [Symbols; MentionKind::COUNT] {
        let mut classes: [Symbols; MentionKind::COUNT] = Default::default();
        for (name, kind) in MentionKind::all() {
            classes[kind as usize] = self.class_symbols(&mention_class(name));
        }
        classes
    }

    /// The symbols of a dash right before a word.
    pub fn minus(&self) -> Symbols {
        let mut symbols = self.symbols("-");
        symbols.extend(self.class(MINUS));
        symbols
    }

    /// Whether a full stop after a word is part of an abbreviation.
    pub fn is_abbreviation(&self, symbols: &Symbols) -> bool {
        self.class(ABBREVIATION)
            .is_some_and(|class| symbols.contains(&class))
    }
}

/// A word in lower case, each accent in one character with its letter.
fn composed(word: &str) -> String {
    word.nfc().flat_map(char::to_lowercase).collect()
}

/// The class of the first token of mentions of a kind, as the last element of a pattern.
fn mention_class(kind: &str) -> String {
    format!("{kind} mention")
}

fn check_classes(count: usize, name: &str) -> Result<(), String> {
    match count < MAX_CLASSES {
        true => Ok(()),
        false => Err(format!(
            "expected \"{name}\" in at most {MAX_CLASSES} classes"
        )),
    }
}
