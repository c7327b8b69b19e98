//! The input templates of mentions and entities.

use super::window::{balance, head, tail};
use super::{Cut, Encoded, Tokens};
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use pel_text::Mention;
use serde::{Deserialize, Serialize};

/// The template of a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MentionTemplate {
    /// `[CLS] mention [SEP]`, for a sentence encoder without training on this task.
    Bare,
    /// `[CLS] ctxt_l [Ms] mention [Me] ctxt_r [SEP]`, as in the papers.
    Context,
}

/// The template of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityTemplate {
    /// `[CLS] title [ENT] description [SEP]` (BLINK, T-Biencoder, PEL on ZESHEL).
    Description,
    /// `[CLS] title [SEP] types [SEP] description [SEP]` (PEL on MedMentions).
    Types,
}

impl Tokens {
    /// Encodes a mention in at most `max_len` tokens.
    ///
    /// `None` if the mention is empty after normalisation.
    ///
    /// # Errors
    /// If `max_len` is too small for the template, or the vocabulary has no marker tokens.
    pub fn mention(
        &self,
        mention: &Mention<'_>,
        template: MentionTemplate,
        max_len: usize,
    ) -> Result<Option<Encoded>> {
        match template {
            MentionTemplate::Bare => self.name(&mention.text, max_len),
            MentionTemplate::Context => self.mention_in_context(mention, max_len),
        }
    }

    /// Encodes a name without context, `[CLS] name [SEP]`, in at most `max_len` tokens.
    ///
    /// `None` if the name is empty after normalisation.
    ///
    /// # Errors
    /// If `max_len` is below 3.
    pub fn name(&self, name: &str, max_len: usize) -> Result<Option<Encoded>> {
        let budget = piece_budget(max_len, 2)?;
        let (mut pieces, all) = head(self, name, budget + 1)?;
        if pieces.is_empty() {
            return Ok(None);
        }
        let cut = Cut {
            context: false,
            mention: pieces.len() > budget || !all,
        };
        pieces.truncate(budget);
        let ids = [&[self.special.cls], pieces.as_slice(), &[self.special.sep]].concat();
        Ok(Some(Encoded::whole(ids, cut)))
    }

    fn mention_in_context(&self, mention: &Mention<'_>, max_len: usize) -> Result<Option<Encoded>> {
        let markers = self.markers()?;
        let budget = piece_budget(max_len, 4)?;
        let (inner, whole) = head(self, &mention.text, budget + 1)?;
        if inner.is_empty() {
            return Ok(None);
        }
        let (left, _) = tail(self, mention.left, budget + 1)?;
        let (right, _) = head(self, mention.right, budget + 1)?;
        let window = balance(left.len(), inner.len(), right.len(), budget);
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
        let ids = ids.concat();
        let start = window.left + 2;
        Ok(Some(Encoded {
            second: ids.len(),
            ids,
            own: start..start + window.mention,
            cut,
        }))
    }

    /// Encodes an entity in at most `max_len` tokens. With `synonyms`, they follow the title,
    /// separated by semicolons. The title has priority over the types, and these over the
    /// description.
    ///
    /// # Errors
    /// If the title is empty after normalisation, `max_len` is too small for the template, or the
    /// vocabulary has no `[ENT]` token.
    pub fn entity(
        &self,
        concept: &Concept,
        template: EntityTemplate,
        synonyms: bool,
        max_len: usize,
    ) -> Result<Encoded> {
        let cls = self.special.cls;
        let sep = self.special.sep;
        let title = if synonyms {
            concept.names().collect::<Vec<_>>().join("; ")
        } else {
            concept.name.clone()
        };
        let description = concept.definition.as_deref().unwrap_or("");
        let special = match template {
            EntityTemplate::Description => 3,
            EntityTemplate::Types => 4,
        };
        let budget = piece_budget(max_len, special)?;
        let (mut title, whole) = head(self, &title, budget + 1)?;
        if title.is_empty() {
            let name = &concept.name;
            return Err(Error::input(format!(
                "expected a name with letters or digits, found {name:?}, which is empty after \
                 normalisation"
            )));
        }
        let cut_title = title.len() > budget || !whole;
        title.truncate(budget);
        let mut types = match template {
            EntityTemplate::Description => Vec::new(),
            EntityTemplate::Types => self.pieces(&concept.types.join("; "))?,
        };
        let rest = budget - title.len();
        let cut_types = types.len() > rest;
        types.truncate(rest);
        let rest = rest - types.len();
        let (mut description, all) = head(self, description, rest + 1)?;
        let cut_description = description.len() > rest || !all;
        description.truncate(rest);
        let ids = match template {
            EntityTemplate::Description => [
                &[cls],
                &title[..],
                &[self.markers()?.entity],
                &description,
                &[sep],
            ]
            .concat(),
            EntityTemplate::Types => [
                &[cls],
                &title[..],
                &[sep],
                &types,
                &[sep],
                &description,
                &[sep],
            ]
            .concat(),
        };
        Ok(Encoded::whole(
            ids,
            Cut {
                context: cut_types || cut_description,
                mention: cut_title,
            },
        ))
    }
}

/// The number of pieces that fit beside `special` special tokens.
fn piece_budget(max_len: usize, special: usize) -> Result<usize> {
    match max_len.checked_sub(special) {
        Some(budget) if budget > 0 => Ok(budget),
        _ => Err(Error::input(format!(
            "expected a window of more than the template's {special} special tokens, found \
             {max_len} tokens"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tiny;
    use super::*;
    use pel_text::Span;
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
    fn templates_equal_the_papers() {
        let tokens = tiny();
        let text = "he has fever today";
        let mention = Mention::cut(text, Span::new(7, 12)).expect("it fits");
        let p = |text: &str| tokens.pieces(text).expect("it can be tokenized");
        let special = tokens.special;
        let markers = tokens.markers().expect("the fixture has marker tokens");
        let encoded = tokens
            .mention(&mention, MentionTemplate::Context, 128)
            .expect("it fits")
            .expect("it is not empty");
        let expected = [
            vec![special.cls],
            p("he has"),
            vec![markers.mention_start],
            p("fever"),
            vec![markers.mention_end],
            p("today"),
            vec![special.sep],
        ];
        assert_eq!(encoded.ids, expected.concat());
        assert_eq!(encoded.cut, Cut::default());
        assert_eq!(encoded.ids[encoded.own.clone()], p("fever"));

        let entity = |template, synonyms| {
            tokens
                .entity(&concept(), template, synonyms, 128)
                .expect("it fits")
                .ids
        };
        let cls = vec![special.cls];
        let sep = vec![special.sep];
        let ent = vec![markers.entity];
        let expected = [
            cls.clone(),
            p("fever"),
            ent,
            p("a high temperature"),
            sep.clone(),
        ]
        .concat();
        assert_eq!(entity(EntityTemplate::Description, false), expected);
        let with_types = [
            cls,
            p("fever; pyrexia"),
            sep.clone(),
            p("finding"),
            sep.clone(),
            p("a high temperature"),
            sep,
        ];
        assert_eq!(entity(EntityTemplate::Types, true), with_types.concat());
    }

    #[test]
    fn truncation_is_reported() {
        let tokens = tiny();
        let long = tokens
            .entity(&concept(), EntityTemplate::Description, false, 6)
            .expect("it fits");
        assert_eq!(long.ids.len(), 6);
        assert!(long.cut.context || long.cut.mention);
        assert_eq!(
            tokens
                .name("\u{200b} \u{7f}", 32)
                .expect("the window is long enough"),
            None
        );
        assert!(tokens.name("fever", 2).is_err());
    }

    proptest! {
        #[test]
        fn mention_fits_its_window_and_keeps_its_markers(
            left in "\\PC{0,80}",
            inner in "[a-z]{1,90}",
            right in "\\PC{0,80}",
            max_len in 5usize..64,
        ) {
            let tokens = tiny();
            let text = format!("{left} {inner} {right}");
            let span = Span::new(left.len() + 1, left.len() + 1 + inner.len());
            let mention = Mention::cut(&text, span).expect("it fits");
            let encoded = tokens.mention(&mention, MentionTemplate::Context, max_len);
            let encoded = encoded.expect("it fits").expect("it is not empty");
            let markers = tokens.markers().expect("the fixture has marker tokens");
            prop_assert!(encoded.ids.len() <= max_len);
            let start = encoded
                .ids
                .iter()
                .position(|id| *id == markers.mention_start);
            let end = encoded.ids.iter().position(|id| *id == markers.mention_end);
            let (Some(start), Some(end)) = (start, end) else {
                return Err(TestCaseError::fail("a marker is missing"));
            };
            let pieces = tokens.pieces(&inner).expect("it is text");
            let kept = &encoded.ids[start + 1..end];
            prop_assert_eq!(kept, &pieces[..kept.len()]);
            prop_assert_eq!(encoded.cut.mention, kept.len() < pieces.len());
            prop_assert!(!encoded.cut.mention || (start == 1 && end == encoded.ids.len() - 2));
            prop_assert!(
                encoded.ids.len() == max_len || !(encoded.cut.mention || encoded.cut.context)
            );
        }
    }
}
