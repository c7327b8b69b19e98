//! Output written in parts equals output written at once.

use pel_index::Precision;
use pel_output::{Form, Moment, NoteWriter};
use pel_tests::cpu;
use pel_tests::table::{Table, linker, recipe, records};

const TEXT: &str =
    "Note 😷\nfever of the toe\nand chest\r\npain, fever; again fever, chest pain, fever";

#[test]
fn parts_of_any_size_equal_the_whole() {
    let linker = linker(recipe(&Table::read(), Precision::F32), &cpu());
    let all = records(&linker, TEXT);
    assert!(all.len() >= 5, "{}", all.len());
    for records in [&all[..], &all[..1], &[]] {
        for form in Form::ALL {
            let moment = Moment::new("2026-11-26", "10:45:07").ok();
            let mut whole = NoteWriter::new(form, "note", TEXT, &linker).dated(moment.clone());
            let whole = whole.head().expect("written")
                + &whole.part(records).expect("written")
                + &whole.tail().expect("written");
            for size in [1, 2, 3, 100] {
                let mut parts = NoteWriter::new(form, "note", TEXT, &linker).dated(moment.clone());
                let mut text = parts.head().expect("written");
                for some in records.chunks(size) {
                    text += &parts.part(some).expect("written");
                }
                assert_eq!(
                    text + &parts.tail().expect("written"),
                    whole,
                    "{form:?} in parts of {size}"
                );
            }
            if form == Form::Json {
                let read: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
                assert_eq!(
                    read["mentions"].as_array().map(Vec::len),
                    Some(records.len())
                );
                let indented = if records.is_empty() {
                    "\"mentions\": []\n}\n"
                } else {
                    "\n    }\n  ]\n}\n"
                };
                assert!(whole.ends_with(indented), "{whole}");
            }
        }
    }
}
