//! Tokenization with WordPiece (`tokenizers`), and the papers' input templates.
//!
//! | input | template |
//! | --- | --- |
//! | mention in context | `[CLS] ctxt_l [Ms] mention [Me] ctxt_r [SEP]` (BLINK section 4.1, PEL appendix A) |
//! | bare mention, or a name | `[CLS] mention [SEP]` |
//! | entity | `[CLS] title [ENT] description [SEP]` or `[CLS] title [SEP] types [SEP] description [SEP]` |
//! | pair | the mention, then the entity without its `[CLS]` as the second segment (BLINK section 4.2) |
//!
//! `[Ms]`, `[Me]` and `[ENT]` are the first three `[unusedN]` tokens of the vocabulary.

mod batching;
mod template;
mod view;
mod window;
mod words;

pub use batching::by_length;
pub use template::{EntityTemplate, MentionTemplate};
pub use view::{LONGEST_WINDOW, View, ViewOptions, cut_words};
pub use words::{Word, Words};

use pel_kb::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use tokenizers::{DecoderWrapper, PostProcessorWrapper, Tokenizer};

/// A token sequence with special tokens, and a record of truncation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Encoded {
    /// Token ids, at most as many as the window.
    pub ids: Vec<u32>,
    /// The tokens of the input itself: of a mention without its context, of an entity all tokens.
    pub own: Range<usize>,
    /// The start of the second segment, the entity of a pair. It equals the length without one.
    pub second: usize,
    /// What was truncated.
    pub cut: Cut,
}

impl Encoded {
    /// A sequence whose tokens all belong to the input itself.
    pub fn whole(ids: Vec<u32>, cut: Cut) -> Self {
        Self {
            own: 0..ids.len(),
            second: ids.len(),
            ids,
            cut,
        }
    }

    /// Joins a mention and an entity for a cross-encoder (BLINK, section 4.2). The entity loses its
    /// `[CLS]` and is the second segment. [`Encoded::own`] stays the mention's.
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

/// What the window truncated. Each link reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cut {
    /// Whether the mention's context or the entity's types or description were truncated.
    pub context: bool,
    /// Whether the mention itself or the entity's title was truncated.
    pub mention: bool,
}

/// A padded batch `[batch, seq]` in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBatch {
    /// The number of rows.
    pub batch: usize,
    /// The number of tokens of each row, padding included.
    pub seq: usize,
    /// Token ids; padding has the id of `[PAD]`.
    pub ids: Vec<i32>,
    /// Segment ids: 1 for the entity of a pair, 0 otherwise.
    pub segments: Vec<i32>,
    /// `true` for a real token, `false` for padding.
    pub mask: Vec<bool>,
    /// `true` for the tokens of the input itself ([`Encoded::own`]).
    pub own: Vec<bool>,
}

/// A test text: a word, punctuation, and letters that most vocabularies lack.
const PROBE: &str = "fever, \u{e000}\u{10348} \u{ac00}\u{3042}";

/// The tokenizer of an encoder, with the ids of its special tokens.
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

/// The vocabulary's unused tokens that the templates use as markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Markers {
    /// `[Ms]`, before a mention.
    pub mention_start: u32,
    /// `[Me]`, after a mention.
    pub mention_end: u32,
    /// `[ENT]`, after an entity's title.
    pub entity: u32,
}

impl Tokens {
    /// Reads a `tokenizer.json`. Its padding, truncation and post-processor are ignored: this crate
    /// truncates windows and writes templates itself.
    ///
    /// # Errors
    /// If it is not a tokenizer, lacks `[CLS]`, `[SEP]` or `[PAD]`, or cannot tokenize a test text.
    pub fn from_bytes(json: &[u8]) -> Result<Self> {
        // `Tokenizer::from_bytes` panics inside a decoder on some invalid JSON.
        serde_json::from_slice::<serde_json::Value>(json)
            .map_err(|cause| Error::artifact("tokenizer.json").caused_by(cause))?;
        let mut tokenizer = Tokenizer::from_bytes(json)
            .map_err(|cause| Error::artifact("tokenizer.json").caused_by(cause))?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|cause| Error::artifact("tokenizer.json: truncation").caused_by(cause))?;
        // A damaged post-processor may refer to a sequence that does not exist.
        tokenizer
            .with_post_processor(None::<PostProcessorWrapper>)
            .with_decoder(None::<DecoderWrapper>);
        let id = |token: &str| {
            tokenizer.token_to_id(token).ok_or_else(|| {
                Error::artifact(format!(
                    "tokenizer.json: expected a token `{token}`, found none"
                ))
            })
        };
        let special = Special {
            cls: id("[CLS]")?,
            sep: id("[SEP]")?,
            pad: id("[PAD]")?,
            markers: markers(&tokenizer),
        };
        let size = tokenizer.get_vocab_size(true);
        let tokens = Self {
            tokenizer,
            special,
            size,
        };
        // A vocabulary without its unknown token fails at the first unknown word.
        tokens.pieces(PROBE).map_err(|error| {
            Error::artifact("tokenizer.json cannot read a text").caused_by(error)
        })?;
        Ok(tokens)
    }

    /// The id of `[PAD]`.
    pub fn pad(&self) -> u32 {
        self.special.pad
    }

    /// The id of `[CLS]`.
    pub(crate) fn cls(&self) -> u32 {
        self.special.cls
    }

    /// The id of `[SEP]`.
    pub(crate) fn sep(&self) -> u32 {
        self.special.sep
    }

    /// The number of tokens in the vocabulary, special ones included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The marker tokens of the templates.
    ///
    /// # Errors
    /// If the vocabulary has fewer than three `[unusedN]` tokens.
    pub fn markers(&self) -> Result<Markers> {
        self.special.markers.ok_or_else(|| {
            Error::artifact(
                "tokenizer.json: expected three `[unusedN]` tokens for the templates, found fewer; \
                 use the view `names`",
            )
        })
    }

    /// The text of a token in the vocabulary, or `#id` if there is none.
    pub fn token(&self, id: u32) -> String {
        self.tokenizer
            .id_to_token(id)
            .unwrap_or_else(|| format!("#{id}"))
    }

    /// Splits a text into word pieces, without special tokens.
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

    /// Pads sequences to the length of the longest one.
    pub fn batch(&self, rows: &[&Encoded]) -> TokenBatch {
        TokenBatch::padded(rows, self.pad())
    }
}

impl TokenBatch {
    /// A batch of sequences of `seq` real tokens each.
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

    /// Pads sequences to the length of the longest one with the token `pad`.
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
            batch
                .segments
                .extend(row.segments().map(|segment| segment as i32));
            batch.segments.extend(std::iter::repeat_n(0, padding));
            batch.mask.extend(std::iter::repeat_n(true, row.ids.len()));
            batch.mask.extend(std::iter::repeat_n(false, padding));
            batch.own.extend((0..seq).map(|at| row.own.contains(&at)));
        }
        batch
    }
}

/// The first three `[unusedN]` tokens in ascending order of N.
fn markers(tokenizer: &Tokenizer) -> Option<Markers> {
    let mut rows = (0..1000).filter_map(|n| tokenizer.token_to_id(&format!("[unused{n}]")));
    Some(Markers {
        mention_start: rows.next()?,
        mention_end: rows.next()?,
        entity: rows.next()?,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The tokenizer of the tiny fixture model.
    pub(crate) fn tiny() -> Tokens {
        let json = include_bytes!("../../../tests/fixtures/tiny/tokenizer.json");
        Tokens::from_bytes(json).expect("the fixture is whole")
    }

    #[test]
    fn invalid_json_is_an_error() {
        let whole = include_bytes!("../../../tests/fixtures/tiny/tokenizer.json");
        let decoder = whole
            .windows(9)
            .position(|window| window == b"\"decoder\"")
            .expect("it has one");
        let check_error = |json: &[u8]| {
            let message = Tokens::from_bytes(json)
                .err()
                .expect("invalid JSON")
                .to_string();
            assert!(message.contains("tokenizer.json"), "{message}");
        };
        (decoder..decoder + 80).for_each(|length| check_error(&whole[..length]));
        let mut altered = whole.to_vec();
        for at in decoder + 12..decoder + 40 {
            altered[at] = 0;
            check_error(&altered);
            altered[at] = whole[at];
        }
    }

    #[test]
    fn batch_is_padded_to_its_longest_row() {
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
    fn pair_joins_the_mention_and_the_entity_without_cls() {
        let mention = Encoded {
            ids: vec![1, 7, 8, 2],
            own: 1..3,
            second: 4,
            cut: Cut::default(),
        };
        let entity = Encoded::whole(
            vec![1, 9, 2],
            Cut {
                context: true,
                mention: false,
            },
        );
        let pair = Encoded::pair(&mention, &entity);
        assert_eq!(pair.ids, [1, 7, 8, 2, 9, 2]);
        assert_eq!((pair.own.clone(), pair.second), (1..3, 4));
        assert!(pair.cut.context && !pair.cut.mention);
        let batch = tiny().batch(&[&pair, &mention]);
        assert_eq!(batch.segments, [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn tokenizer_without_its_unknown_token_is_an_error() {
        let json = include_str!("../../../tests/fixtures/tiny/tokenizer.json");
        let without = json.replace("\"unk_token\": \"[UNK]\"", "\"unk_token\": \"[UNKNOWN]\"");
        assert_ne!(json, without);
        let error = Tokens::from_bytes(without.as_bytes())
            .err()
            .expect("there is no such token");
        assert!(
            error
                .to_string()
                .starts_with("tokenizer.json cannot read a text"),
            "{error}"
        );
        assert_eq!(error.kind(), pel_kb::error::Kind::Artifact);
    }

    #[test]
    fn post_processor_of_the_file_is_ignored() {
        let json = include_str!("../../../tests/fixtures/tiny/tokenizer.json");
        let mut value: serde_json::Value = serde_json::from_str(json).expect("JSON");
        // This template needs a second text.
        value["post_processor"] = serde_json::json!({
            "type": "TemplateProcessing", "special_tokens": {},
            "single": [{"Sequence": {"id": "B", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
        });
        let tokens = Tokens::from_bytes(value.to_string().as_bytes()).expect("whole");
        assert_eq!(
            tokens.pieces("fever").expect("read"),
            tiny().pieces("fever").expect("read")
        );
    }

    #[test]
    fn truncated_tokenizer_is_an_error() {
        let error = Tokens::from_bytes(b"{\"version\": \"1.0\"")
            .err()
            .expect("it is no tokenizer");
        assert!(error.to_string().starts_with("tokenizer.json"), "{error}");
    }
}
