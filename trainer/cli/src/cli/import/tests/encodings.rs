//! Imports of compressed files and of other encodings.

use super::{OBO, Workspace};
use pel_terminologies::import::concepts::CONCEPTS;
use std::io::Write;

const TABLE: &str =
    "id,name,synonyms\r\nR50,fever,pyrexia|Fi\u{e8}vre\r\nL40,Sj\u{f6}gren syndrome,\r\n";

fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect()
}

fn windows_1252(text: &str) -> Vec<u8> {
    text.chars()
        .map(|letter| u8::try_from(u32::from(letter)).expect("in Latin-1"))
        .collect()
}

#[test]
fn bzip2_with_several_streams_is_decompressed() {
    let mut packed = Vec::new();
    for half in [&OBO[..200], &OBO[200..]] {
        let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        packer.write_all(half.as_bytes()).expect("packed");
        packed.extend(packer.finish().expect("packed"));
    }
    let cut = packed[..packed.len() / 2].to_vec();
    let workspace = Workspace::new(&[
        ("a.obo", OBO.as_bytes()),
        ("b.obo.bz2", &packed),
        ("cut.bz2", &cut),
    ]);
    workspace.import("obo @a.obo").expect("plain");
    let plain = workspace.concepts();
    workspace.import("obo @b.obo.bz2").expect("packed");
    assert_eq!(workspace.concepts(), plain);
    std::fs::remove_dir_all(workspace.path("out")).expect("removed");
    assert!(
        workspace
            .refusal("obo @cut.bz2")
            .to_string()
            .contains("cut.bz2")
    );
}

#[test]
fn spreadsheet_encodings_are_read() {
    let tabs = TABLE.replace(',', "\t");
    let workspace = Workspace::new(&[
        ("utf8.csv", TABLE.as_bytes()),
        ("bom.csv", format!("\u{feff}{TABLE}").as_bytes()),
        ("semi.csv", TABLE.replace(',', ";").as_bytes()),
        (
            "sep.csv",
            format!("sep=;\r\n{}", TABLE.replace(',', ";")).as_bytes(),
        ),
        ("cr.csv", TABLE.replace("\r\n", "\r").as_bytes()),
        ("utf16.csv", &utf16(&tabs)),
        ("cp1252.csv", &windows_1252(TABLE)),
        ("bare16.csv", &utf16(TABLE)[2..]),
    ]);
    workspace.import("csv @utf8.csv").expect("UTF-8");
    let expected = workspace.concepts();
    assert_eq!(
        (expected[0].synonyms.join("+"), expected[1].name.as_str()),
        ("pyrexia+Fi\u{e8}vre".into(), "Sj\u{f6}gren syndrome")
    );
    for line in [
        "csv @bom.csv",
        "csv @semi.csv",
        "csv @sep.csv",
        "csv @cr.csv",
        "csv @utf16.csv",
        "csv @cp1252.csv --encoding windows-1252",
        "csv @cp1252.csv --encoding utf-8,latin1",
        "csv @utf8.csv --encoding utf-8,latin1",
        "csv @bare16.csv --encoding utf-16le",
    ] {
        workspace
            .import(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(workspace.concepts(), expected, "{line}");
    }
    std::fs::remove_dir_all(workspace.path("out")).expect("removed");
    for (line, message) in [
        (
            "csv @cp1252.csv",
            "cp1252.csv: line 2: expected UTF-8, found the byte 0xE8 at byte 10 of field 3",
        ),
        ("csv @cp1252.csv", "--encoding windows-1252"),
        ("csv @bare16.csv", "--encoding utf-16le"),
        ("csv @utf8.csv --encoding windows-1252", "found valid UTF-8"),
        ("csv @cp1252.csv --encoding euc-jp", "expected EUC-JP"),
    ] {
        let error = workspace.refusal(line).to_string();
        assert!(error.contains(message), "{line}: {error}");
    }
}

#[test]
fn every_importer_reads_other_encodings() {
    let obo = "format-version: 1.2\n\n[Term]\nid: T:1\nname: Sj\u{f6}gren syndrome\n";
    let jsonl = "{\"id\": \"T:1\", \"name\": \"Sj\u{f6}gren syndrome\"}\n";
    let pubtator = "1|t|Sj\u{f6}gren syndrome\n1\t0\t7\tSj\u{f6}gren\tT047\tC1\n";
    for (format, text) in [("obo", obo), ("jsonl", jsonl), ("pubtator", pubtator)] {
        let workspace = Workspace::new(&[("a", &windows_1252(text)), ("b", &utf16(text))]);
        let message = workspace.refusal(&format!("{format} @a")).to_string();
        assert!(
            message.contains("expected UTF-8, found the byte 0xF6")
                && message.contains("--encoding"),
            "{message}"
        );
        for line in ["@a --encoding windows-1252", "@b"] {
            let report = workspace.import(&format!("{format} {line}")).expect(line);
            match format {
                "pubtator" => assert_eq!(report.kept("mentions (all)"), 1),
                _ => {
                    assert_eq!(report.kept(CONCEPTS), 1);
                    assert_eq!(workspace.concepts()[0].name, "Sj\u{f6}gren syndrome");
                }
            }
        }
    }
}
