//! Messages of HL7 v2 in the encoding with delimiters: results (ORU) and documents (MDM).
//!
//! Own reader: hl7-parser and rust-hl7 split segments and fields, which is the smaller part; neither
//! reads formatting escapes, line ends within a field, or character sets. The work is linear.

mod escapes;
mod message;
mod segment;

use crate::Entry;
use crate::decode::lenient;
use crate::limits::Limits;
use pel_kb::error::Error;
use segment::{Segment, charset, segments};

/// Reads the messages of a file, with or without the frames of MLLP and of batches.
pub(crate) fn read(bytes: &[u8], limits: Limits) -> Vec<Entry> {
    let text = lenient(bytes, None);
    let all = segments(&text);
    match all.iter().find_map(charset) {
        Some(name) if std::str::from_utf8(bytes).is_err() => {
            let text = lenient(bytes, Some(&name));
            messages(&segments(&text), limits)
        }
        _ => messages(&all, limits),
    }
}

fn messages(all: &[Segment<'_>], limits: Limits) -> Vec<Entry> {
    let starts: Vec<usize> = (0..all.len())
        .filter(|at| all[*at].name() == "MSH")
        .collect();
    let parts: Vec<&[Segment<'_>]> = match starts.first() {
        // A part of a message.
        None => vec![all],
        Some(_) => starts
            .iter()
            .enumerate()
            .map(|(number, start)| {
                let end = starts.get(number + 1).copied().unwrap_or(all.len());
                &all[*start..end]
            })
            .collect(),
    };
    if all.is_empty() {
        return vec![Entry::whole(Err(Error::input(
            "expected a message of HL7 v2, which begins with MSH, found none",
        )))];
    }
    let several = parts.len() > 1;
    let entry = |(number, part): (usize, &&[Segment<'_>])| Entry {
        place: match several {
            true => format!("message {}", number + 1),
            false => String::new(),
        },
        document: message::read(part, limits),
    };
    parts.iter().enumerate().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    fn one(message: &str) -> Document {
        let mut found = read(message.as_bytes(), Limits::default());
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0).document.expect("readable")
    }

    const HEAD: &str = "MSH|^~\\&|RAD|H|E|H|20260103101500-0500||ORU^R01|M7|P|2.5.1\r\
                        PID|1||998991^^^H^MR||Roe^Ann\rPV1|1|I|W^1^2||||||||||||||||V12^^^H\r";

    #[test]
    fn report_of_text_lines_has_headings_and_facts() {
        let text = format!(
            "{HEAD}OBR|1|O1|F1|71020^Chest X-ray^L|||20260102||||||||||||||||||F|||||||77&Low&Bo\r\
             OBX|1|TX|IMP^Impression^L||No acute\\.br\\disease.||||||F\r\
             OBX|2|TX|IMP^Impression^L||CHF \\T\\ edema~stable||||||F\r\
             OBX|3|TX|11^Deleted^L||wrong||||||W\r\
             NTE|1||Read by Dr. Low\r"
        );
        let found = one(&text);
        assert_eq!(
            found.text,
            "Chest X-ray\nImpression\nNo acute\ndisease.\nCHF & edema\nstable\nRead by Dr. Low"
        );
        assert_eq!(found.id.as_deref(), Some("M7"));
        assert_eq!(found.title.as_deref(), Some("Chest X-ray"));
        assert_eq!(found.date.as_deref(), Some("2026-01-02"));
        assert_eq!(found.author.as_deref(), Some("Bo Low"));
        assert_eq!(found.patient.as_deref(), Some("998991"));
        assert_eq!(found.encounter.as_deref(), Some("V12"));
    }

    #[test]
    fn values_have_units_range_and_flag() {
        let text = format!(
            "{HEAD}OBR|1|||24323-8^CMP^LN\r\
             OBX|1|NM|2823-3^Potassium^LN||5.9|mmol/L|3.5-5.1|H|||F\r\
             OBX|2|SN|1^CRP^L||>^200|mg/L|||||F\r\
             OBX|3|CWE|2^Culture^L||1^E. coli^L||||||F\r\
             OBX|4|ST|3^Color^L||yellow||||||F\r"
        );
        let found = one(&text);
        assert_eq!(
            found.text,
            "CMP\nPotassium: 5.9 mmol/L (3.5-5.1) H\nCRP: >200 mg/L\nCulture: E. coli\nColor: yellow"
        );
        assert_eq!(found.sections[0].code.as_deref(), Some("24323-8"));
    }

    #[test]
    fn documents_of_mdm_have_the_facts_of_txa_and_packed_contents() {
        let text = "MSH|^~\\&|T|H|E|H|20260103||MDM^T02|M8|P|2.3\r\
                    TXA|1|DS^Discharge Summary|TX|20260101||||||||D9^T|||||AU\r\
                    OBX|1|ED|DS^Discharge Summary||T^TEXT^RTF^Base64^e1xydGYxIEdvdXQufQ==||||||F\r";
        let found = one(text);
        assert_eq!(found.text, "Gout.");
        assert_eq!(found.id.as_deref(), Some("D9"));
        assert_eq!(found.title.as_deref(), Some("Discharge Summary"));
        assert_eq!(found.date.as_deref(), Some("2026-01-01"));
    }

    #[test]
    fn batches_frames_and_raw_line_ends_are_read() {
        let text = "FHS|^~\\&|A\nBHS|^~\\&|A\n\u{b}MSH|^~\\&|A|B|C|D|2026||ORU^R01|1|P|2.3\n\
                    OBX|1|TX|R^Report||first line\nsecond line||||||F\n\u{1c}\n\
                    MSH|^~\\&|A|B|C|D|2026||ORU^R01|2|P|2.3\nPID|1\n\
                    MSH#^~\\&#A#B#C#D#2026##ORU^R01#3#P#2.3\nNTE#1##third\n";
        let found = read(text.as_bytes(), Limits::default());
        let texts: Vec<_> = found
            .iter()
            .map(|entry| {
                let document = entry.document.as_ref();
                document
                    .map(|document| &*document.text)
                    .map_err(ToString::to_string)
            })
            .collect();
        assert_eq!(texts[0], Ok("Report\nfirst line\nsecond line"));
        assert!(
            texts[1]
                .as_ref()
                .is_err_and(|error| error.contains("no OBX"))
        );
        assert_eq!(texts[2], Ok("third"));
        let places: Vec<_> = found.iter().map(|entry| &*entry.place).collect();
        assert_eq!(places, ["message 1", "message 2", "message 3"]);
    }

    #[test]
    fn character_set_is_that_of_the_header() {
        let text = b"MSH|^~\\&|A|B|C|D|2026||ORU^R01|1|P|2.3||||||8859/2\rNTE|1||\xb9\r";
        let found = read(text, Limits::default());
        let document = found[0].document.as_ref().expect("readable");
        assert_eq!(document.text, "š");
    }
}
