//! Writes the binary seeds: whole bundles and each of their files.

use pel_fuzzed::seeds::{SeedBundle, small_detector, small_encoder};
use pel_kb::ConceptId;
use pel_kb::codes::{CodeList, CodeTable, Match, Name, System};
use pel_kb::hierarchy::HierarchyReader;
use pel_linker::bundle::names;
use std::path::Path;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let write = |target: &str, name: &str, bytes: &[u8]| {
        let path = folder.join(target).join(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("a folder");
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    };
    for (at, bundle) in SeedBundle::all().iter().enumerate() {
        write(
            "container",
            &format!("{at}.pel"),
            &bundle.parts.to_one_file().expect("it can be written"),
        );
        for (file, bytes) in &bundle.parts.0 {
            let target = match file.as_str() {
                names::DICTIONARY if at == 0 => "dictionary",
                names::INDEX | names::TOKEN_VECTORS if at < 3 => "index",
                names::CONCEPTS if at == 0 => "index",
                names::MANIFEST => "manifest",
                names::WEIGHTS if at == 0 || at == 2 => "weights",
                names::TOKENIZER if at == 0 => "tokenizer",
                names::CONFIG if at == 0 => "config",
                _ => continue,
            };
            write(target, &format!("{at}.{file}"), bytes);
        }
    }
    write("codes", "table.codes.bin", &code_table());
    write("hierarchy", "hierarchy.bin", &hierarchy_file());
    let (info, weights) = small_detector();
    let info = serde_json::to_vec(info).expect("memory does not run out");
    write(
        "detector",
        "small",
        &[&info[..], &[0][..], &weights[..]].concat(),
    );
    let floats: Vec<u8> = (0..12)
        .flat_map(|at| (at as f32 / 12.0).to_le_bytes())
        .collect();
    let (weight, bias) = (&floats[..32], &floats[32..40]);
    let header = r#"{"bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"weight":{"dtype":"F32","shape":[2,4],"data_offsets":[8,40]}}"#;
    let projection = [
        &(header.len() as u64).to_le_bytes(),
        header.as_bytes(),
        bias,
        weight,
    ]
    .concat();
    write("weights", "projection.safetensors", &projection);
    assert!(!small_encoder().weights.is_empty());
}

/// A hierarchy of concepts and codes, with the name of a code.
fn hierarchy_file() -> Vec<u8> {
    let mut reader = HierarchyReader::new();
    let mut find = |id: &str| {
        let number = id.strip_prefix('C').and_then(|digits| digits.parse().ok());
        Ok(number.map(ConceptId))
    };
    for line in [
        "child\tparent\tparent_name",
        "C0\tC1",
        "C2\tC1",
        "C1\tICD10CM:E11\tType 2 diabetes mellitus",
        "ICD10CM:E11\tICD10CM:E08-E13",
    ] {
        reader.read_line(line, &mut find).expect("a valid line");
    }
    let list = reader.finish().expect("it has no circle");
    list.to_bytes(4).expect("it can be written")
}

/// A code file with each match, a code of two concepts, and names of codes.
fn code_table() -> Vec<u8> {
    let mut list = CodeList::new();
    for (concept, system, code, matches) in [
        (0, System::SnomedCt, "386661006", Match::Exact),
        (0, System::Icd10Cm, "R50.9", Match::Exact),
        (2, System::Icd10Cm, "R50.9", Match::Broader),
        (3, System::RxNorm, "1191", Match::Parts),
        (3, System::RxNorm, "7052", Match::Parts),
    ] {
        list.push(ConceptId(concept), system, code, matches);
    }
    for (system, code, display, billable) in [
        (System::Icd10Cm, "R50.9", "Fever, unspecified", Some(true)),
        (System::RxNorm, "1191", "aspirin µ", None),
    ] {
        let name = Name {
            display: display.to_owned(),
            billable,
        };
        list.set_name(system, code, name);
    }
    CodeTable::build(&list, 4).expect("its concepts are there")
}
