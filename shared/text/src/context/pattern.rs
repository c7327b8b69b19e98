//! Patterns of rule files: words, marks, classes, alternatives and optional parts.

use super::tokens::normalise;
use super::trie::Element;
use super::vocabulary::Vocabulary;
use crate::rule_lines::{check_count, joined};

/// The patterns that an entry stands for.
///
/// # Errors
/// A message that says what was expected and what was found.
pub(super) fn expand(
    entry: &str,
    vocabulary: &mut Vocabulary,
) -> Result<Vec<Vec<Element>>, String> {
    let mut rest = entry;
    let expanded = sequence(&mut rest, vocabulary, 0)?;
    if !rest.is_empty() {
        return Err(format!("expected no \"{rest}\" in \"{entry}\""));
    }
    for pattern in &expanded {
        if !pattern
            .iter()
            .any(|element| matches!(element, Element::Symbol(_)))
        {
            return Err(format!(
                "expected a pattern with a word or mark, found \"{entry}\""
            ));
        }
    }
    Ok(expanded)
}

/// Reads alternatives up to the closing bracket.
fn alternatives(
    rest: &mut &str,
    vocabulary: &mut Vocabulary,
    close: char,
    depth: usize,
) -> Result<Vec<Vec<Element>>, String> {
    let mut all = Vec::new();
    loop {
        all.extend(sequence(rest, vocabulary, depth)?);
        check_count(all.len())?;
        if let Some(after) = rest.strip_prefix('|') {
            *rest = after;
        } else if let Some(after) = rest.strip_prefix(close) {
            *rest = after;
            return Ok(all);
        } else {
            return Err(format!("expected '{close}', found \"{rest}\""));
        }
    }
}

/// Reads a sequence up to its end, `|` or a closing bracket.
fn sequence(
    rest: &mut &str,
    vocabulary: &mut Vocabulary,
    depth: usize,
) -> Result<Vec<Vec<Element>>, String> {
    if depth > 4 {
        return Err("expected at most 4 brackets inside each other".to_owned());
    }
    let mut all: Vec<Vec<Element>> = vec![Vec::new()];
    loop {
        *rest = rest.trim_start();
        let Some(c) = rest.chars().next() else {
            return Ok(all);
        };
        let part = match c {
            '|' | ')' | ']' => return Ok(all),
            '(' | '[' => {
                *rest = &rest[1..];
                let close = if c == '(' { ')' } else { ']' };
                let mut part = alternatives(rest, vocabulary, close, depth + 1)?;
                if c == '[' {
                    part.push(Vec::new());
                }
                part
            }
            _ => vec![elements(rest, c, vocabulary)?],
        };
        // Brackets around nothing.
        if part.len() == 1 && part[0].is_empty() {
            continue;
        }
        all = joined(&all, &part, <[Element]>::len)?;
    }
}

/// Reads an anchor, a class, a quoted text, or a word.
fn elements(rest: &mut &str, c: char, vocabulary: &mut Vocabulary) -> Result<Vec<Element>, String> {
    let text = *rest;
    let until = |close: char| {
        text[1..]
            .split_once(close)
            .ok_or_else(|| format!("expected a closing '{close}', found \"{text}\""))
    };
    match c {
        '^' => {
            *rest = &text[1..];
            Ok(vec![Element::Start])
        }
        '$' => {
            *rest = &text[1..];
            Ok(vec![Element::End])
        }
        '<' => {
            let (name, after) = until('>')?;
            *rest = after;
            let class = vocabulary.class(name).ok_or_else(|| {
                format!("expected the name of a class declared above, found \"{name}\"")
            })?;
            Ok(vec![Element::Symbol(class)])
        }
        '"' => {
            let (quoted, after) = until('"')?;
            *rest = after;
            Ok(words(quoted, vocabulary))
        }
        _ => {
            let end = text
                .find(|c: char| c.is_whitespace() || "()[]|<\"^$".contains(c))
                .unwrap_or(text.len());
            let (word, after) = text.split_at(end);
            *rest = after;
            match word.strip_prefix('=').filter(|word| !word.is_ascii()) {
                Some(word) => Ok(vec![Element::Symbol(vocabulary.accented(word))]),
                None => Ok(words(word, vocabulary)),
            }
        }
    }
}

/// The tokens of a word of a pattern: "r/o" is three, "follow-up" two.
fn words(text: &str, vocabulary: &mut Vocabulary) -> Vec<Element> {
    let empty = Vocabulary::new();
    let mut word = String::new();
    super::tokens::tokenize(text, &empty)
        .iter()
        .map(|token| {
            if token.mark == ' ' {
                let written = &text[token.start..token.end];
                normalise(written, &mut word);
                return Element::Symbol(vocabulary.written(written, &word));
            }
            word.clear();
            word.push(token.mark);
            Element::Symbol(vocabulary.word(&word))
        })
        .collect()
}
