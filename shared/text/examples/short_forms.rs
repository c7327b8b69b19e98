//! Prints the short forms that texts define: for each line `{"id": ..., "text": ...}` of the
//! standard input a line `{"id": ..., "definitions": [{"short": ..., "long": ..., "bracketed":
//! ...}, ...]}`. `bench/abbreviations.py` measures with it.

use pel_text::abbreviations::Abbreviations;
use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        let text = record["text"]
            .as_str()
            .ok_or("expected a field `text` that is a string")?;
        let found = Abbreviations::of(text);
        let definitions: Vec<serde_json::Value> = found
            .definitions()
            .map(|definition| {
                let [short, long] =
                    [definition.short, definition.long].map(|span| &text[span.start..span.end]);
                serde_json::json!({"short": short, "long": long, "bracketed": definition.bracketed})
            })
            .collect();
        writeln!(
            out,
            "{}",
            serde_json::json!({"id": record["id"], "definitions": definitions})
        )?;
    }
    Ok(())
}
