//! Prints the text of documents, or with `--json` what was read of each, and in how many seconds.
//!
//! `cargo run -p pel-documents --example text -- [--json] FILE...`

use pel_documents::{Kind, Limits, read};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let json = names.first().is_some_and(|name| name == "--json");
    if json {
        names.remove(0);
    }
    for name in names {
        let bytes = std::fs::read(&name)?;
        let kind = Kind::of(&name, &bytes).unwrap_or(Kind::Text);
        let start = Instant::now();
        let entries = read(&bytes, kind, None, Limits::default());
        let seconds = start.elapsed().as_secs_f64();
        for entry in entries {
            match (entry.document, json) {
                (Ok(document), true) => {
                    let line = serde_json::json!({
                        "file": name, "kind": kind.label(), "seconds": seconds,
                        "text": document.text, "id": document.id, "title": document.title,
                        "date": document.date, "author": document.author,
                        "patient": document.patient, "encounter": document.encounter,
                        "sections": document.sections.iter().map(|section| {
                            (section.start, section.code.clone(), section.title.clone())
                        }).collect::<Vec<_>>(),
                    });
                    println!("{line}");
                }
                (Err(error), true) => {
                    let error = error.to_string();
                    println!("{}", serde_json::json!({"file": name, "error": error}));
                }
                (Ok(document), false) => println!("{}\n", document.text),
                (Err(error), false) => eprintln!("{name}: {}: {error}", entry.place),
            }
        }
    }
    Ok(())
}
