//! Mentions in raw text.

mod build;
mod dictionary;
mod fold;
mod inflect;
mod normalise;
mod posting;
mod scan;
mod terms;
mod words;

pub use dictionary::Dictionary;
pub use normalise::normalise_name;

use crate::text::Span;
use scan::Scan;
use serde::{Deserialize, Serialize};

/// A mention found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Detected {
    /// Where it stands, in bytes on char boundaries of the text.
    pub span: Span,
    /// Why it was taken for a mention.
    pub origin: Origin,
}

/// Why a piece of text was taken for a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It is a name in the knowledge base.
    Name,
    /// It is a word that neither the knowledge base nor plain English knows: misspelt, or new.
    UnknownTerm,
    /// The user says so.
    Given,
}

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectOptions {
    /// Report unknown terms.
    pub unknown_terms: bool,
    /// Report every name, also within and across others, instead of the longest from left to right.
    pub overlapping: bool,
}

impl Default for DetectOptions {
    fn default() -> Self {
        Self { unknown_terms: true, overlapping: false }
    }
}

impl Dictionary {
    /// The mentions in a text, in its order.
    pub fn detect(&self, text: &str, options: &DetectOptions) -> Vec<Detected> {
        let mut scan = Scan::new(self, text);
        let (mut detected, mut at, mut covered): (Vec<Detected>, usize, usize) = (Vec::new(), 0, 0);
        // The token after the latest unknown term: a hyphen may join the next to it.
        let mut after_term = None;
        loop {
            let kept = scan.forget(at);
            covered = covered.saturating_sub(at - kept);
            after_term = after_term.and_then(|after: usize| after.checked_sub(at - kept));
            at = kept;
            let Some(token) = scan.token(at) else { return detected };
            let mut end = at;
            if token.gap != normalise::Gap::Glued {
                let names = scan.names_at(at);
                for found in &names {
                    if (!options.overlapping && found.last < end && end > at) || !scan.accepts(at, *found) {
                        continue;
                    }
                    let Some(span) = scan.span(at, found.last) else { continue };
                    let name = Detected { span, origin: Origin::Name };
                    if !options.overlapping && end > at {
                        detected.pop();
                    }
                    if detected.last() != Some(&name) {
                        detected.push(name);
                    }
                    end = end.max(found.last + 1);
                }
                scan.recycle(names);
            }
            covered = covered.max(end);
            if options.unknown_terms && at >= covered && terms::is_unknown_term(&mut scan, self, at) {
                let joined = after_term == Some(at) && token.gap == normalise::Gap::Hyphen;
                match detected.last_mut().filter(|_| joined) {
                    Some(term) => term.span.end = token.end,
                    None => detected.push(Detected { span: Span::new(token.start, token.end), origin: Origin::UnknownTerm }),
                }
                after_term = Some(at + 1);
            }
            at = if options.overlapping { at + 1 } else { end.max(at + 1) };
        }
    }
}
