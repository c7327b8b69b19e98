//! What a text says of its mentions: their kind, and whether they are absent, past, uncertain or
//! someone else's.

use super::{Linker, Prepared};
use crate::error::Result;
use crate::kb::ConceptId;
use crate::kb::group::Group;
use crate::text::Span;
use crate::text::context::Target;
use crate::text::markup::Readable;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The bytes before and after some mentions of a long text that are read to judge them. A section
/// that begins earlier is not seen.
const AROUND: usize = 1 << 16;

impl Linker {
    /// The kind of the first of some concepts that has one.
    fn group_of(&self, concepts: &[ConceptId]) -> Result<Option<Group>> {
        for concept in concepts {
            let group = Group::of(&self.concept(*concept)?);
            if group.is_some() {
                return Ok(group);
            }
        }
        Ok(None)
    }

    /// Finds the kind and the context of the mentions of one text. [`Linker::prepare`] calls it.
    /// Mentions that are prepared in parts are judged together, so that cues in one mention do not
    /// reach another.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn judge(&self, text: &str, prepared: &mut Prepared) -> Result<()> {
        let readable = Readable::new(text);
        let text = &*readable.text;
        // Many concepts may have one name, and many mentions may share their list.
        let mut known: HashMap<Arc<[ConceptId]>, Option<Group>> = HashMap::new();
        for mention in &mut prepared.mentions {
            mention.group = mention.detected.group;
            if mention.group.is_none() && !mention.named.is_empty() {
                mention.group = match known.get(&mention.named) {
                    Some(group) => *group,
                    None => {
                        let group = self.group_of(&mention.named)?;
                        known.insert(Arc::clone(&mention.named), group);
                        group
                    }
                };
            }
        }
        let spans = prepared
            .mentions
            .iter()
            .map(|mention| mention.detected.span);
        let first = spans.clone().map(|span| span.start).min().unwrap_or(0);
        let last = spans.map(|span| span.end).max().unwrap_or(0);
        // Whole lines around the mentions.
        let from = text.floor_char_boundary(first.saturating_sub(AROUND));
        let from = match from {
            0 => 0,
            from => text[from..first]
                .find('\n')
                .map_or(from, |at| from + at + 1),
        };
        let to = text.ceil_char_boundary(text.len().min(last + AROUND));
        let moved = |span: &Span| Span::new(span.start - from, span.end - from);
        let pieces: Vec<Cow<'_, [Span]>> = prepared
            .mentions
            .iter()
            .map(|mention| match (from, mention.detected.pieces()) {
                (0, pieces) => Cow::Borrowed(pieces),
                (_, pieces) => Cow::Owned(pieces.iter().map(moved).collect()),
            })
            .collect();
        let targets: Vec<Target<'_>> = prepared
            .mentions
            .iter()
            .zip(&pieces)
            .map(|(mention, pieces)| Target {
                pieces,
                group: mention.group,
            })
            .collect();
        let contexts = self.context_rules.judge(&text[from..to], &targets);
        for (mention, mut context) in prepared.mentions.iter_mut().zip(contexts) {
            for cue in &mut context.cues {
                for span in [&mut cue.span, &mut cue.scope] {
                    *span = Span::new(span.start + from, span.end + from);
                }
            }
            mention.context = context;
        }
        Ok(())
    }
}
