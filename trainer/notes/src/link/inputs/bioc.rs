//! The texts of BioC documents. Their passages, or the sentences of these, stand at their offsets,
//! so that offsets of links are those of the collection (in code points).

use super::{NoteRow, Stated, note_name, number_id};
use pel_io::limits::Bound;
use pel_kb::error::{Context, Error, Result};
use serde_json::Value;

/// Gaps that a document may have, in code points: so many, and so many for each byte of its
/// passages. Parts of an article stand far apart, but a small file must not become a large text.
const GAPS: (u64, u64) = (128 << 10, 64);

/// The text of a document that is put together from its passages.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    text: String,
    /// Its length in code points.
    length: u64,
    /// The code points of it that are gaps.
    gaps: u64,
}

impl Assembly {
    /// Adds a passage or sentence. A line end and spaces fill the gap before its offset.
    ///
    /// # Errors
    /// If the offset, in code points, lies in the text that there is already, the gaps become much
    /// larger than the passages, or the text larger than the limit of a record.
    pub fn add(&mut self, offset: u64, text: &str) -> Result<()> {
        let Some(gap) = offset.checked_sub(self.length) else {
            return Err(Error::input(format!(
                "expected a passage at offset {} or later, found {offset}",
                self.length
            )));
        };
        let bytes = (self.text.len() as u64)
            .saturating_add(gap)
            .saturating_add(text.len() as u64);
        Bound::Record.check("passages", bytes)?;
        self.gaps += gap;
        let passages = bytes.saturating_sub(self.gaps);
        let most = GAPS.0 + GAPS.1 * passages;
        if self.gaps > most {
            return Err(Error::input(format!(
                "expected offsets with gaps of at most {most} code points between {passages} bytes \
                 of passages, found {}",
                self.gaps
            )));
        }
        for at in 0..gap {
            self.text.push(if at == 0 && self.length > 0 {
                '\n'
            } else {
                ' '
            });
        }
        self.text.push_str(text);
        self.length = offset + text.chars().count() as u64;
        Ok(())
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// The notes of a document, or of the documents of a collection.
pub(super) fn notes(value: Value, place: &str) -> Vec<Result<NoteRow>> {
    let documents = match value.get("documents").and_then(Value::as_array) {
        Some(documents) => documents.iter().collect(),
        None => vec![&value],
    };
    let note = |document: &Value| {
        let name = name(document)?;
        let text = text(document).context(|| format!("id {name}"))?;
        Ok(NoteRow {
            name,
            text,
            place: place.to_owned(),
            stated: Stated::default(),
        })
    };
    documents
        .into_iter()
        .map(|document| note(document).context(|| place.to_owned()))
        .collect()
}

fn name(document: &Value) -> Result<String> {
    let id = match document.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => number_id(id)?,
        _ => String::new(),
    };
    note_name(&id).context(|| "id of the document".to_owned())
}

fn text(document: &Value) -> Result<String> {
    let Some(passages) = document.get("passages").and_then(Value::as_array) else {
        return Err(Error::input("the document has no list of passages"));
    };
    let mut assembly = Assembly::default();
    for passage in passages {
        let text = passage.get("text").and_then(Value::as_str);
        let sentences = passage.get("sentences").and_then(Value::as_array);
        // Some writers give a passage of sentences an empty text.
        match sentences.filter(|sentences| !sentences.is_empty()) {
            Some(sentences) if text.is_none_or(str::is_empty) => {
                for sentence in sentences {
                    add(&mut assembly, sentence)?;
                }
            }
            _ => add(&mut assembly, passage)?,
        }
    }
    Ok(assembly.finish())
}

fn add(assembly: &mut Assembly, passage: &Value) -> Result<()> {
    let Some(text) = passage.get("text").and_then(Value::as_str) else {
        return Ok(());
    };
    let offset = match passage.get("offset") {
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    match offset {
        Some(offset) => assembly.add(offset, text),
        None => Err(Error::input("a passage with text has no offset")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(document: Value) -> std::result::Result<String, String> {
        let [note] = &mut notes(document, "in.json")[..] else {
            panic!("one note")
        };
        match note {
            Ok(note) => Ok(note.text.clone()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn passages_stand_at_their_offsets() {
        let text = one(json!({"id": 7, "passages": [
            {"offset": 0, "text": "Fièvre 😷"},
            {"offset": 11, "sentences": [{"offset": 11, "text": "Cough."}, {"offset": 18, "text": "Pain."}]},
            {"offset": 23, "text": "Rash."}
        ]}));
        let text = text.expect("a document");
        assert_eq!(text, "Fièvre 😷\n  Cough.\nPain.Rash.");
        let at = |word: &str| text[..text.find(word).expect(word)].chars().count();
        assert_eq!([at("Cough"), at("Pain"), at("Rash")], [11, 18, 23]);
    }

    #[test]
    fn sentences_of_a_passage_with_an_empty_text_are_read() {
        let text = one(json!({"id": "a", "passages": [
            {"offset": 0, "text": "", "sentences": [{"offset": 0, "text": "Cough."}]},
            {"offset": 7, "text": "Pain.", "sentences": []},
            {"offset": 13, "text": "", "sentences": []}
        ]}));
        assert_eq!(text.as_deref(), Ok("Cough.\nPain.\n"));
    }

    #[test]
    fn first_passage_may_begin_later() {
        let text = one(json!({"id": "a", "passages": [{"offset": "3", "text": "x"}]}));
        assert_eq!(text.as_deref(), Ok("   x"));
    }

    #[test]
    fn gaps_may_be_wide_but_not_endless() {
        let text = one(
            json!({"id": "a", "passages": [{"offset": 120_000, "text": "Cough."},
            {"offset": 120_100, "text": "x".repeat(10_000)}, {"offset": 600_000, "text": "Pain."}]}),
        );
        assert_eq!(text.map(|text| text.len()), Ok(600_005));
        for offsets in [
            vec![5_000_000],
            (1..100).map(|at| at * 100_000).collect::<Vec<u64>>(),
        ] {
            let passages: Vec<Value> = offsets
                .iter()
                .map(|offset| json!({"offset": offset, "text": "x"}))
                .collect();
            let error = one(json!({"id": "a", "passages": passages})).expect_err("endless");
            assert!(error.contains("gaps of at most 13"), "{error}");
        }
    }

    #[test]
    fn wrong_documents_are_errors() {
        for (document, expected) in [
            (json!({"id": "a"}), "has no list of passages"),
            (
                json!({"passages": []}),
                "id of the document: the note has no identifier",
            ),
            (
                json!({"id": "a", "passages": [{"text": "x"}]}),
                "has no offset",
            ),
            (
                json!({"id": "a", "passages": [{"offset": 0, "text": "xyz"},
                    {"offset": 2, "text": "x"}]}),
                "in.json: id a: expected a passage at offset 3 or later, found 2",
            ),
            (
                json!({"id": "a", "passages": [{"offset": u64::MAX, "text": "x"}]}),
                "--max-input",
            ),
        ] {
            let error = one(document).expect_err(expected);
            assert!(
                error.starts_with("in.json: ") && error.contains(expected),
                "{error}"
            );
        }
    }
}
