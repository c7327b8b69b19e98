//! The forms that links are written in, to the letter.

use pel_shared::detect::Origin;
use pel_shared::index::Precision;
use pel_shared::linker::{LinkOptions, Linker};
use pel_shared::nil::NilReason;
use pel_shared::report::{Form, Note, Record};
use pel_tests::devices;
use pel_tests::table::{Table, linker, recipe};
use pel_trainer::commands::link::link;
use pel_trainer::device::OpenDevice;

const TEXT: &str = "Note 😷\nfever of the toe\nand =chest\r\npain";

fn records(linker: &Linker) -> Vec<Record> {
    let options = LinkOptions::default();
    let links = link(linker, TEXT, linker.detect(TEXT, &options), &options).expect("linked");
    links.iter().map(|link| linker.record(link).expect("whole")).collect()
}

fn written(change: impl Fn(&mut Vec<Record>)) -> impl Fn(Form) -> String {
    let (name, device) = devices().remove(0);
    let linker = linker(recipe(&Table::read(), Precision::F32), &OpenDevice { device, name });
    let mut records = records(&linker);
    change(&mut records);
    move |form| Note { name: "a,b|c", text: TEXT, records: &records, linker: &linker }.write(form).expect("written")
}

#[test]
fn offsets_are_those_of_each_form() {
    let write = written(|records| assert_eq!(records.len(), 2));
    assert_eq!(
        write(Form::Brat),
        "T1\tSign 7 12\tfever\nN1\tReference T1 KB:D1\tfever\n\
         T2\tSign 29 34;36 40\tchest pain\nN2\tReference T2 KB:D2\tchest pain\n"
    );
    assert_eq!(
        write(Form::Pubtator),
        "a,b c|t|Note 😷\na,b c|a|fever of the toe and =chest  pain\n\
         a,b c\t7\t12\tfever\tSign\tD1\na,b c\t29\t40\tchest  pain\tSign\tD2\n"
    );
    assert_eq!(
        write(Form::Csv),
        "doc,start,end,text,read_as,decision,id,name,type,score,found\r\n\
         \"a,b|c\",7,12,fever,,linked,D1,fever,Sign,1,found\r\n\
         \"a,b|c\",29,40,\"chest\r\npain\",,linked,D2,chest pain,Sign,1,found\r\n"
    );
    let lines = write(Form::Jsonl);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    for (field, expected) in [("start", 10), ("start_code_point", 7), ("start_utf16", 8), ("end_utf16", 13)] {
        assert_eq!(first[field], expected, "{field}");
    }
    let whole: serde_json::Value = serde_json::from_str(&write(Form::Json)).expect("JSON");
    assert_eq!((whole["text"].as_str(), whole["mentions"].as_array().map(Vec::len)), (Some(TEXT), Some(2)));
    assert_eq!(whole["mentions"][1]["concept"]["id"], "D2");
}

#[test]
fn what_a_reader_has_changed_is_written() {
    let write = written(|records| {
        records[0].decision = Err(NilReason::Reader);
        records[0].read_as = Some("+fever".into());
        let other = records[1].candidates[1].clone();
        records[1].decision = Ok(other);
        records[1].origin = Origin::Given;
        // With the sign before it, which a spreadsheet would run.
        records[1].span.start -= 1;
    });
    assert!(write(Form::Brat).contains("T1\tNIL 7 12\tfever\n#1\tAnnotatorNotes T1\tNIL: a reader's decision\n"));
    assert!(write(Form::Pubtator).contains("a,b c\t7\t12\tfever\tNIL\t-\n"));
    let csv = write(Form::Csv);
    assert!(csv.contains("fever,'+fever,NIL: a reader's decision,,,,,found\r\n"), "{csv}");
    assert!(csv.contains("\"'=chest\r\npain\""), "{csv}");
    let html = write(Form::Html);
    assert!(html.contains("a reader&#x27;s decision") && html.contains("read as &quot;+fever&quot;"), "{html}");
    assert!(html.contains("<td>given</td>"), "{html}");
}
