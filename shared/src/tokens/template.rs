//! The templates: what is written around a mention and an entity before they are encoded.

use super::window::{balance, head, tail};
use super::{Cut, Encoded, Tokens};
use crate::error::{Error, Result};
use crate::kb::Concept;
use crate::text::Mention;
use serde::{Deserialize, Serialize};

/// How a mention is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MentionTemplate {
    /// `[CLS] mention [SEP]`: what an untrained sentence encoder understands.
    Bare,
    /// `[CLS] ctxt_l [Ms] mention [Me] ctxt_r [SEP]`: what the papers train.
    Context,
}

/// How an entity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityTemplate {
    /// `[CLS] title [ENT] description [SEP]` (BLINK, T-Biencoder, PEL on ZESHEL).
    Description,
    /// `[CLS] title [SEP] types [SEP] description [SEP]` (PEL on MedMentions).
    Types,
}

impl Tokens {
    /// A mention in at most `max_len` tokens.
    ///
    /// `None` if nothing is left of the mention after normalising.
    ///
    /// # Errors
    /// If the window is too short, or the vocabulary has no rows for the markers.
    pub fn mention(&self, mention: &Mention<'_>, template: MentionTemplate, max_len: usize) -> Result<Option<Encoded>> {
        match template {
            MentionTemplate::Bare => self.name(&mention.text, max_len),
            MentionTemplate::Context => self.mention_in_context(mention, max_len),
        }
    }

    /// A name alone, `[CLS] name [SEP]`, in at most `max_len` tokens.
    ///
    /// `None` if nothing is left of it after normalising.
    ///
    /// # Errors
    /// If the window is too short.
    pub fn name(&self, name: &str, max_len: usize) -> Result<Option<Encoded>> {
        let room = room(max_len, 2)?;
        let (mut pieces, all) = head(self, name, room + 1)?;
        if pieces.is_empty() {
            return Ok(None);
        }
        let cut = Cut { context: false, mention: pieces.len() > room || !all };
        pieces.truncate(room);
        let ids = [&[self.special.cls], pieces.as_slice(), &[self.special.sep]].concat();
        Ok(Some(Encoded::whole(ids, cut)))
    }

    fn mention_in_context(&self, mention: &Mention<'_>, max_len: usize) -> Result<Option<Encoded>> {
        let markers = self.markers()?;
        let room = room(max_len, 4)?;
        let (inner, whole) = head(self, &mention.text, room + 1)?;
        if inner.is_empty() {
            return Ok(None);
        }
        let (left, _) = tail(self, mention.left, room + 1)?;
        let (right, _) = head(self, mention.right, room + 1)?;
        let window = balance(left.len(), inner.len(), right.len(), room);
        let cut = Cut {
            context: window.left < left.len() || window.right < right.len(),
            mention: window.mention < inner.len() || !whole,
        };
        let ids = [
            &[self.special.cls],
            &left[left.len() - window.left..],
            &[markers.mention_start],
            &inner[..window.mention],
            &[markers.mention_end],
            &right[..window.right],
            &[self.special.sep],
        ];
        let (ids, first) = (ids.concat(), window.left + 2);
        Ok(Some(Encoded { second: ids.len(), ids, own: first..first + window.mention, cut }))
    }

    /// An entity in at most `max_len` tokens; with `synonyms`, they follow the title, separated by semicolons.
    ///
    /// # Errors
    /// If nothing is left of the title after normalising, or the vocabulary has no row for `[ENT]`.
    pub fn entity(
        &self,
        concept: &Concept,
        template: EntityTemplate,
        synonyms: bool,
        max_len: usize,
    ) -> Result<Encoded> {
        let (cls, sep) = (self.special.cls, self.special.sep);
        let title = if synonyms { concept.names().collect::<Vec<_>>().join("; ") } else { concept.name.clone() };
        let description = concept.definition.as_deref().unwrap_or("");
        let separators = match template {
            EntityTemplate::Description => 3,
            EntityTemplate::Types => 4,
        };
        let room = room(max_len, separators)?;
        let (mut title, whole) = head(self, &title, room + 1)?;
        if title.is_empty() {
            return Err(Error::input(format!("nothing is left of the name {:?} after normalising", concept.name)));
        }
        let cut_title = title.len() > room || !whole;
        title.truncate(room);
        let mut types = match template {
            EntityTemplate::Description => Vec::new(),
            EntityTemplate::Types => self.pieces(&concept.types.join("; "))?,
        };
        let rest = room - title.len();
        let cut_types = types.len() > rest;
        types.truncate(rest);
        let rest = rest - types.len();
        let (mut description, all) = head(self, description, rest + 1)?;
        let cut_description = description.len() > rest || !all;
        description.truncate(rest);
        let ids = match template {
            EntityTemplate::Description => {
                [&[cls], &title[..], &[self.markers()?.entity], &description, &[sep]].concat()
            }
            EntityTemplate::Types => [&[cls], &title[..], &[sep], &types, &[sep], &description, &[sep]].concat(),
        };
        Ok(Encoded::whole(ids, Cut { context: cut_types || cut_description, mention: cut_title }))
    }
}

/// Pieces that fit beside the special tokens.
fn room(max_len: usize, special: usize) -> Result<usize> {
    match max_len.checked_sub(special) {
        Some(room) if room > 0 => Ok(room),
        _ => {
            Err(Error::input(format!("a window of {max_len} tokens is too short: the template alone takes {special}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tiny;
    use super::*;
    use crate::text::Span;
    use proptest::prelude::*;

    fn concept() -> Concept {
        Concept {
            id: "D1".into(),
            name: "fever".into(),
            synonyms: vec!["pyrexia".into()],
            types: vec!["Finding".into()],
            definition: Some("a high temperature".into()),
            ..Concept::default()
        }
    }

    #[test]
    fn templates_are_those_of_the_papers() {
        let tokens = tiny();
        let text = "he has fever today";
        let mention = Mention::cut(text, Span::new(7, 12)).expect("it fits");
        let p = |text: &str| tokens.pieces(text).expect("it is text");
        let (special, markers) = (tokens.special, tokens.markers().expect("the fixture has rows"));
        let encoded =
            tokens.mention(&mention, MentionTemplate::Context, 128).expect("it fits").expect("letters are left");
        let expected = [
            vec![special.cls],
            p("he has"),
            vec![markers.mention_start],
            p("fever"),
            vec![markers.mention_end],
            p("today"),
            vec![special.sep],
        ];
        assert_eq!((encoded.ids.clone(), encoded.cut), (expected.concat(), Cut::default()));
        assert_eq!(encoded.ids[encoded.own.clone()], p("fever"));

        let entity = |template, synonyms| tokens.entity(&concept(), template, synonyms, 128).expect("it fits").ids;
        let (cls, sep, ent) = (vec![special.cls], vec![special.sep], vec![markers.entity]);
        let expected = [cls.clone(), p("fever"), ent, p("a high temperature"), sep.clone()].concat();
        assert_eq!(entity(EntityTemplate::Description, false), expected);
        let with_types =
            [cls, p("fever; pyrexia"), sep.clone(), p("finding"), sep.clone(), p("a high temperature"), sep];
        assert_eq!(entity(EntityTemplate::Types, true), with_types.concat());
    }

    #[test]
    fn what_is_cut_is_said() {
        let tokens = tiny();
        let long = tokens.entity(&concept(), EntityTemplate::Description, false, 6).expect("it fits");
        assert_eq!(long.ids.len(), 6);
        assert!(long.cut.context || long.cut.mention);
        assert_eq!(tokens.name("\u{200b} \u{7f}", 32).expect("the window is long enough"), None);
        assert!(tokens.name("fever", 2).is_err());
    }

    proptest! {
        #[test]
        fn a_mention_never_exceeds_its_window_and_keeps_its_markers(
            left in "\\PC{0,80}", inner in "[a-z]{1,90}", right in "\\PC{0,80}", max_len in 5usize..64,
        ) {
            let tokens = tiny();
            let text = format!("{left} {inner} {right}");
            let span = Span::new(left.len() + 1, left.len() + 1 + inner.len());
            let mention = Mention::cut(&text, span).expect("it fits");
            let encoded = tokens.mention(&mention, MentionTemplate::Context, max_len).expect("long enough").expect("letters are left");
            let markers = tokens.markers().expect("the fixture has rows");
            prop_assert!(encoded.ids.len() <= max_len);
            let start = encoded.ids.iter().position(|id| *id == markers.mention_start);
            let end = encoded.ids.iter().position(|id| *id == markers.mention_end);
            let (Some(start), Some(end)) = (start, end) else { return Err(TestCaseError::fail("a marker is missing")); };
            let pieces = tokens.pieces(&inner).expect("it is text");
            let kept = &encoded.ids[start + 1..end];
            prop_assert_eq!(kept, &pieces[..kept.len()]);
            prop_assert_eq!(encoded.cut.mention, kept.len() < pieces.len());
            prop_assert!(!encoded.cut.mention || (start == 1 && end == encoded.ids.len() - 2));
            prop_assert!(encoded.ids.len() == max_len || !(encoded.cut.mention || encoded.cut.context));
        }
    }
}
