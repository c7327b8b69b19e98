use super::*;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory does not run out");
    encoder.finish().expect("memory does not run out")
}

fn stream(dict: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<<{dict}/Length {}>>stream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// A file of objects with a page 3 whose content is object 4 and whose font is object 5.
fn pdf(content: &[u8], font: &str, more: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut objects: Vec<Vec<u8>> = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>>>"
            .to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>".to_vec(),
        stream("/Filter/FlateDecode", &packed(content)),
        font.as_bytes().to_vec(),
    ];
    objects.extend_from_slice(more);
    let mut file = b"%PDF-1.4\n".to_vec();
    for (at, object) in objects.iter().enumerate() {
        file.extend(format!("{} 0 obj\n", at + 1).bytes());
        file.extend_from_slice(object);
        file.extend(b"\nendobj\n");
    }
    file.extend(format!("trailer<</Root 1 0 R{trailer}>>\nstartxref\n0\n%%EOF").bytes());
    file
}

const HELVETICA: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";

fn text(content: &str, font: &str, more: &[Vec<u8>]) -> String {
    read(&pdf(content.as_bytes(), font, more, ""), Limits::default())
        .expect("readable")
        .text
}

#[test]
fn lines_kerning_and_escapes_are_read() {
    let content = "BT /F1 12 Tf 72 700 Td (No fe\\(v\\)er) Tj 0 -14 Td [(Co)20(ugh)-400(and)] TJ \
                   T* 14 TL (x) ' (caf\\351) ' ET";
    assert_eq!(
        text(content, HELVETICA, &[]),
        "No fe(v)er\nCough and\nx\ncafé"
    );
}

#[test]
fn forms_turned_pages_and_actual_text_are_read() {
    let form = stream(
        "/Type/XObject/Subtype/Form/Matrix[1 0 0 1 0 -50]",
        b"BT /F1 10 Tf 72 700 Td (form) Tj ET",
    );
    let content =
        "BT /F1 10 Tf 72 700 Td /Span<</ActualText(office)>>BDC (o\\256ce) Tj EMC ET /X Do";
    assert_eq!(text(content, HELVETICA, &[form]), "office\n\nform");
    let content = "BT /F1 10 Tf 0 1 -1 0 300 72 Tm (turned) Tj 0 -12 Td (twice) Tj ET";
    assert_eq!(text(content, HELVETICA, &[]), "turned\ntwice");
}

#[test]
fn characters_are_those_of_the_map_of_the_font_or_its_names() {
    let map = stream(
        "",
        b"1 begincodespacerange <0000> <FFFF> endcodespacerange \
          1 beginbfrange <0001> <0003> <0047> endbfrange",
    );
    let font = "<</Type/Font/Subtype/Type0/Encoding/Identity-H/ToUnicode 6 0 R\
                /DescendantFonts[<</Subtype/CIDFontType2/DW 600>>]>>";
    let content = "BT /F1 10 Tf 72 700 Td <000100020003> Tj ET";
    assert_eq!(text(content, font, &[map]), "GHI");
    let font = "<</Type/Font/Subtype/Type1/BaseFont/X/FirstChar 1/Widths[500 500]\
                /Encoding<</Differences[1/alpha/f_f_i]>>>>";
    let content = "BT /F1 10 Tf 72 700 Td (\\001\\002) Tj ET";
    assert_eq!(text(content, font, &[]), "αffi");
}

#[test]
fn objects_in_streams_and_the_last_version_of_an_object_are_read() {
    let inside = b"3 0 <</Type/Page/Parent 2 0 R/Contents 7 0 R>>";
    let objects = stream(
        "/Type/ObjStm/N 1/First 4/Filter/FlateDecode",
        &packed(inside),
    );
    let newer = stream("", b"BT /F1 10 Tf 72 700 Td (new) Tj ET");
    let content = b"BT /F1 10 Tf 72 700 Td (old) Tj ET";
    let found = read(
        &pdf(content, HELVETICA, &[objects, newer], ""),
        Limits::default(),
    );
    assert_eq!(found.expect("readable").text, "new");
}

#[test]
fn title_and_author_are_those_of_the_file_and_its_date_is_none_of_the_note() {
    let info = b"<</Title(Op note)/Author<FEFF0041006E006E>/CreationDate(D:20260103101500Z)>>";
    let content = b"BT /F1 10 Tf 72 700 Td (x) Tj ET";
    let file = pdf(content, HELVETICA, &[info.to_vec()], "/Info 6 0 R");
    let found = read(&file, Limits::default()).expect("readable");
    assert_eq!(found.title.as_deref(), Some("Op note"));
    assert_eq!(found.author.as_deref(), Some("Ann"));
    assert_eq!(found.date, None);
}

#[test]
fn encrypted_scanned_and_damaged_files_are_errors() {
    let picture = stream("/Subtype/Image/Width 1/Height 1/Filter/DCTDecode", b"x");
    let content = b"BT /F1 10 Tf 72 700 Td (x) Tj ET";
    let small = Limits {
        unpacked: 1000,
        ..Limits::default()
    };
    let long = "% a comment\n".repeat(1000);
    let unnamed = "<</Type/Font/Subtype/Type0/Encoding/Identity-H>>";
    for (bytes, limits, why) in [
        (
            pdf(content, HELVETICA, &[], "/Encrypt<</Filter/Standard>>"),
            small,
            "is encrypted",
        ),
        (
            pdf(b"/X Do", HELVETICA, &[picture], ""),
            small,
            "as of a scan",
        ),
        (pdf(b"", HELVETICA, &[], ""), small, "show no text"),
        (
            pdf(b"BT /F1 9 Tf <00010002> Tj ET", unnamed, &[], ""),
            small,
            "do not tell",
        ),
        (
            pdf(long.as_bytes(), HELVETICA, &[], ""),
            small,
            "unpacks to more than",
        ),
        (b"%PDF-1.4\n".to_vec(), small, "found no object"),
        (
            b"%PDF-1.4\n1 0 obj 5 endobj".to_vec(),
            small,
            "found no page",
        ),
    ] {
        let error = read(&bytes, limits).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn file_without_tables_and_with_a_cut_end_is_read() {
    let content = b"BT /F1 10 Tf 72 700 Td (kept) Tj ET";
    let whole = pdf(content, HELVETICA, &[], "");
    let cut = crate::kind::find(&whole, b"trailer").expect("there");
    let found = read(&whole[..cut], Limits::default()).expect("readable");
    assert_eq!(found.text, "kept");
}

#[test]
fn forms_that_draw_each_other_end() {
    let draw = "/X Do ".repeat(20);
    let form = stream("/Subtype/Form", draw.as_bytes());
    let bytes = pdf(b"/X Do", HELVETICA, &[form], "");
    let limits = Limits {
        unpacked: 1 << 20,
        ..Limits::default()
    };
    let error = read(&bytes, limits).expect_err("too much").to_string();
    assert!(error.contains("unpacks to more than"), "{error}");
}
