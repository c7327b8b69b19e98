//! What a text says of its mentions: their kind, whether they are absent, past, uncertain or
//! someone else's, and what stands beside them.

use crate::linker::Steps;
use crate::prepared::Prepared;
use pel_kb::error::Result;
use pel_text::Span;
use pel_text::attributes::{Anchor, Kind, times_on};
use pel_text::context::{Stated, Target};
use pel_text::markup::Readable;
use std::borrow::Cow;

/// The bytes before and after some mentions of a long text that are read to judge them. A section
/// that begins earlier is not seen.
const AROUND: usize = 1 << 16;

impl<'l> Steps<'l> {
    /// Finds the kind, the context and the attributes of the mentions of one text. [`Steps::prepare`] calls it.
    /// Mentions that are prepared in parts are judged together, so that cues in one mention do not
    /// reach another.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn judge(&self, text: &str, prepared: &mut Prepared) -> Result<()> {
        self.judge_stated(text, &Stated::default(), prepared)
    }

    /// As [`Steps::judge`], for a text of which its document states the day and the sections.
    ///
    /// # Errors
    /// As [`Steps::judge`].
    pub fn judge_stated(&self, text: &str, stated: &Stated, prepared: &mut Prepared) -> Result<()> {
        let readable = Readable::new(text);
        let text = &*readable.text;
        for mention in &mut prepared.mentions {
            mention.group = self.linker.group_of(text, mention)?;
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
        let anchors: Vec<Anchor<'_>> = targets
            .iter()
            .map(|target| Anchor {
                pieces: target.pieces,
                kind: Kind::of_group(target.group),
            })
            .collect();
        let attributes = self.linker.attribute_rules.find(&text[from..to], &anchors);
        let stated = stated.within(Span::new(from, to));
        let times = times_on(stated.day.as_deref(), &text[from..to], &attributes);
        let contexts = self.linker.context_rules.judge_stated(
            &text[from..to],
            &targets,
            &times,
            &stated.sections,
        );
        let found = contexts.into_iter().zip(attributes);
        for (mention, (mut context, mut attributes)) in prepared.mentions.iter_mut().zip(found) {
            for attribute in &mut attributes {
                let Span { start, end } = attribute.span;
                attribute.span = Span::new(start + from, end + from);
            }
            mention.attributes = attributes;
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
