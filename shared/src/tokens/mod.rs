//! Text to token ids: WordPiece through `tokenizers`, and the papers' templates.
//!
//! | input | template |
//! | --- | --- |
//! | mention in context | `[CLS] ctxt_l [Ms] mention [Me] ctxt_r [SEP]` (BLINK section 4.1, PEL appendix A) |
//! | bare mention, or a name | `[CLS] mention [SEP]` |
//! | entity | `[CLS] title [ENT] description [SEP]` or `[CLS] title [SEP] types [SEP] description [SEP]` |
//! | pair | the mention, then the entity without its `[CLS]` as the second segment (BLINK section 4.2) |
//!
//! `[Ms]`, `[Me]` and `[ENT]` are the first three `[unusedN]` rows of the vocabulary.

mod batching;
mod template;
mod view;
mod window;

pub use batching::by_length;
pub use template::{EntityTemplate, MentionTemplate};
pub use view::{LONGEST_WINDOW, View, ViewOptions, cut_words};

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use tokenizers::{DecoderWrapper, PostProcessorWrapper, Tokenizer};

/// A token sequence with its special tokens, and what did not fit into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Encoded {
    /// Token ids, at most the window's length.
    pub ids: Vec<u32>,
    /// The tokens that stand for the input: a mention's own ones, without its context; all of an entity's.
    pub own: Range<usize>,
    /// Where the second segment begins: the entity of a pair. There is none if it is the length.
    pub second: usize,
    /// What was left out.
    pub cut: Cut,
}

impl Encoded {
    /// A sequence whose tokens all stand for the input.
    pub fn whole(ids: Vec<u32>, cut: Cut) -> Self {
        Self { own: 0..ids.len(), second: ids.len(), ids, cut }
    }

    /// A mention and an entity in one sequence, as a cross-encoder reads them: the entity loses its `[CLS]` and is the second
    /// segment; the mention's tokens stay those that stand for the input.
    #[must_use]
    pub fn pair(mention: &Self, entity: &Self) -> Self {
        let cut = Cut {
            context: mention.cut.context || entity.cut.context,
            mention: mention.cut.mention || entity.cut.mention,
        };
        let second = mention.ids.len();
        Self {
            ids: [&mention.ids, entity.ids.get(1..).unwrap_or_default()].concat(),
            own: mention.own.clone(),
            second,
            cut,
        }
    }

    /// The segment of each token.
    pub fn segments(&self) -> impl Iterator<Item = u32> {
        let second = self.second;
        (0..self.ids.len()).map(move |at| u32::from(at >= second))
    }
}

/// What a window left out. Nothing is cut silently: a link carries this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cut {
    /// Context tokens of a mention, or the end of an entity's description.
    pub context: bool,
    /// Tokens of the mention itself, or of an entity's title.
    pub mention: bool,
}

/// A padded batch: `[batch, seq]`, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBatch {
    /// Rows.
    pub batch: usize,
    /// Tokens of each row, padding included.
    pub seq: usize,
    /// Token ids; padding has the id of `[PAD]`.
    pub ids: Vec<i32>,
    /// Segment ids: 1 for the entity of a pair, 0 for all else.
    pub segments: Vec<i32>,
    /// `true` = real token.
    pub mask: Vec<bool>,
    /// `true` = one of the tokens that stand for the input ([`Encoded::own`]).
    pub own: Vec<bool>,
}

/// A word, a sign, and letters that few vocabularies have.
const PROBE: &str = "fever, \u{e000}\u{10348} \u{ac00}\u{3042}";

/// The tokenizer of one encoder, with its special tokens.
pub struct Tokens {
    tokenizer: Tokenizer,
    special: Special,
    size: usize,
}

#[derive(Clone, Copy, Debug)]
struct Special {
    cls: u32,
    sep: u32,
    pad: u32,
    markers: Option<Markers>,
}

/// The unused vocabulary rows that the templates took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Markers {
    /// `[Ms]`: a mention begins.
    pub mention_start: u32,
    /// `[Me]`: a mention has ended.
    pub mention_end: u32,
    /// `[ENT]`: an entity's title has ended.
    pub entity: u32,
}

impl Tokens {
    /// Reads a `tokenizer.json`. Its padding, truncation and templates are dropped: windows are cut and templates written here.
    ///
    /// # Errors
    /// If it is no tokenizer, lacks `[CLS]`, `[SEP]` or `[PAD]`, or cannot read a text.
    pub fn from_bytes(json: &[u8]) -> Result<Self> {
        // First as JSON of any form: where it is none, the library panics inside a decoder instead of giving an error.
        serde_json::from_slice::<serde_json::Value>(json)
            .map_err(|cause| Error::artifact("tokenizer.json").caused_by(cause))?;
        let mut tokenizer =
            Tokenizer::from_bytes(json).map_err(|cause| Error::artifact("tokenizer.json").caused_by(cause))?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|cause| Error::artifact("tokenizer.json: truncation").caused_by(cause))?;
        // They would run on each text, and a damaged template may name a sequence that there is not.
        tokenizer.with_post_processor(None::<PostProcessorWrapper>).with_decoder(None::<DecoderWrapper>);
        let id = |token: &str| {
            tokenizer
                .token_to_id(token)
                .ok_or_else(|| Error::artifact(format!("tokenizer.json: expected a token `{token}`, found none")))
        };
        let special = Special { cls: id("[CLS]")?, sep: id("[SEP]")?, pad: id("[PAD]")?, markers: markers(&tokenizer) };
        let size = tokenizer.get_vocab_size(true);
        let tokens = Self { tokenizer, special, size };
        // A vocabulary without the token for unknown words fails at the first one.
        tokens.pieces(PROBE).map_err(|error| Error::artifact("tokenizer.json cannot read a text").caused_by(error))?;
        Ok(tokens)
    }

    /// The id of `[PAD]`.
    pub fn pad(&self) -> u32 {
        self.special.pad
    }

    /// The number of tokens, special ones included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The rows that mark mentions and titles.
    ///
    /// # Errors
    /// If the vocabulary has fewer than three `[unusedN]` rows.
    pub fn markers(&self) -> Result<Markers> {
        self.special.markers.ok_or_else(|| {
            Error::artifact(
                "the templates need three `[unusedN]` rows in the vocabulary; it has fewer: use the view of names",
            )
        })
    }

    /// The token of an id, as the vocabulary writes it.
    pub fn token(&self, id: u32) -> String {
        self.tokenizer.id_to_token(id).unwrap_or_else(|| format!("#{id}"))
    }

    /// Word pieces of a text, without special tokens.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn pieces(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self
            .tokenizer
            .encode_fast(text, false)
            .map_err(|cause| Error::input("a text cannot be tokenized").caused_by(cause))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Pads sequences to the longest of them.
    pub fn batch(&self, rows: &[&Encoded]) -> TokenBatch {
        TokenBatch::padded(rows, self.pad())
    }
}

impl TokenBatch {
    /// Sequences of `seq` real tokens, row by row.
    pub fn full(seq: usize, ids: Vec<i32>) -> Self {
        let tokens = ids.len();
        Self {
            batch: tokens / seq.max(1),
            seq,
            ids,
            segments: vec![0; tokens],
            mask: vec![true; tokens],
            own: vec![true; tokens],
        }
    }

    /// Pads sequences to the longest of them with the token `pad`.
    pub fn padded(rows: &[&Encoded], pad: u32) -> Self {
        let seq = rows.iter().map(|row| row.ids.len()).max().unwrap_or(0);
        let mut batch = Self {
            batch: rows.len(),
            seq,
            ids: Vec::with_capacity(rows.len() * seq),
            segments: Vec::with_capacity(rows.len() * seq),
            mask: Vec::with_capacity(rows.len() * seq),
            own: Vec::with_capacity(rows.len() * seq),
        };
        for row in rows {
            let padding = seq - row.ids.len();
            batch.ids.extend(row.ids.iter().map(|id| *id as i32));
            batch.ids.extend(std::iter::repeat_n(pad as i32, padding));
            batch.segments.extend(row.segments().map(|segment| segment as i32));
            batch.segments.extend(std::iter::repeat_n(0, padding));
            batch.mask.extend(std::iter::repeat_n(true, row.ids.len()));
            batch.mask.extend(std::iter::repeat_n(false, padding));
            batch.own.extend((0..seq).map(|at| row.own.contains(&at)));
        }
        batch
    }
}

/// The first three `[unusedN]` tokens by number.
fn markers(tokenizer: &Tokenizer) -> Option<Markers> {
    let mut rows = (0..1000).filter_map(|n| tokenizer.token_to_id(&format!("[unused{n}]")));
    Some(Markers { mention_start: rows.next()?, mention_end: rows.next()?, entity: rows.next()? })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The committed tiny model's tokenizer.
    pub(crate) fn tiny() -> Tokens {
        let json = include_bytes!("../../tests/fixtures/tiny/tokenizer.json");
        Tokens::from_bytes(json).expect("the fixture is whole")
    }

    #[test]
    fn a_tokenizer_that_is_no_json_is_an_error() {
        let whole = include_bytes!("../../tests/fixtures/tiny/tokenizer.json");
        let decoder = whole.windows(9).position(|window| window == b"\"decoder\"").expect("it has one");
        let refused = |json: &[u8]| {
            let said = Tokens::from_bytes(json).err().expect("no JSON").to_string();
            assert!(said.contains("tokenizer.json"), "{said}");
        };
        (decoder..decoder + 80).for_each(|length| refused(&whole[..length]));
        let mut altered = whole.to_vec();
        for at in decoder + 12..decoder + 40 {
            altered[at] = 0;
            refused(&altered);
            altered[at] = whole[at];
        }
    }

    #[test]
    fn batches_are_padded_to_the_longest_row() {
        let tokens = tiny();
        let row = |ids: &[u32]| Encoded::whole(ids.to_vec(), Cut::default());
        let batch = tokens.batch(&[&row(&[7, 8, 9]), &row(&[5])]);
        let pad = tokens.special.pad as i32;
        assert_eq!((batch.batch, batch.seq), (2, 3));
        assert_eq!(batch.ids, [7, 8, 9, 5, pad, pad]);
        assert_eq!(batch.mask, [true, true, true, true, false, false]);
        assert_eq!(batch.own, batch.mask);
    }

    #[test]
    fn a_pair_is_the_mention_and_the_entity_without_its_first_token() {
        let mention = Encoded { ids: vec![1, 7, 8, 2], own: 1..3, second: 4, cut: Cut::default() };
        let entity = Encoded::whole(vec![1, 9, 2], Cut { context: true, mention: false });
        let pair = Encoded::pair(&mention, &entity);
        assert_eq!((&pair.ids[..], pair.own.clone(), pair.second), (&[1, 7, 8, 2, 9, 2][..], 1..3, 4));
        assert!(pair.cut.context && !pair.cut.mention);
        let batch = tiny().batch(&[&pair, &mention]);
        assert_eq!(batch.segments, [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_tokenizer_that_fails_at_unknown_words_is_refused() {
        let json = include_str!("../../tests/fixtures/tiny/tokenizer.json");
        let without = json.replace("\"unk_token\": \"[UNK]\"", "\"unk_token\": \"[UNKNOWN]\"");
        assert_ne!(json, without);
        let error = Tokens::from_bytes(without.as_bytes()).err().expect("there is no such token");
        assert!(error.to_string().starts_with("tokenizer.json cannot read a text"), "{error}");
        assert_eq!(error.kind(), crate::error::Kind::Artifact);
    }

    #[test]
    fn templates_of_the_file_are_not_used() {
        let json = include_str!("../../tests/fixtures/tiny/tokenizer.json");
        let mut value: serde_json::Value = serde_json::from_str(json).expect("JSON");
        // It wants a second text.
        value["post_processor"] = serde_json::json!({
            "type": "TemplateProcessing", "special_tokens": {},
            "single": [{"Sequence": {"id": "B", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
        });
        let tokens = Tokens::from_bytes(value.to_string().as_bytes()).expect("whole");
        assert_eq!(tokens.pieces("fever").expect("read"), tiny().pieces("fever").expect("read"));
    }

    #[test]
    fn a_tokenizer_that_is_cut_short_is_refused() {
        let error = Tokens::from_bytes(b"{\"version\": \"1.0\"").err().expect("it is no tokenizer");
        assert!(error.to_string().starts_with("tokenizer.json"), "{error}");
    }
}
