//! Damaged bundles. With unchanged checksums, every flipped bit is an error. With recomputed
//! checksums, as an attacker would write them, each bundle is an error or links, without a panic
//! and in bounded memory.

use burn::tensor::Device;
use bytes::Bytes;
use cap::Cap;
use pel_artifacts::device::OpenDevice;
use pel_index::{HnswOptions, Precision};
use pel_kb::container::{Check, Container, Format, write};
use pel_kb::error::{Error, Kind, Result};
use pel_kb::score::Scorer;
use pel_linker::bundle::{Bundle, Manifest, OLDEST_FORMAT, Parts, names};
use pel_linker::{LinkOptions, Linker};
use pel_model::tokens::MentionTemplate;
use pel_model::tokens::{View, ViewOptions};
use pel_notes::link::link;
use pel_tests::table::{Table, built, recipe};
use pel_tests::{model_bytes, sealed};
use pel_text::Span;
use pel_text::detect::{DetectOptions, Detected, Origin, join};
use serde_json::{Map, Value, json};
use std::alloc::System;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Allocations above [`MAX_MEMORY`] end the test.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// The memory in bytes for opening a bundle of some hundred kilobytes and linking a sentence.
const MAX_MEMORY: usize = 256 << 20;

/// The number of damaged bundles of each kind.
const CASES: u64 = 700;

const TEXTS: [&str; 2] = [
    "Fever and severe chest pains, but no pyrexia (PX); a qwertz in the toe.",
    "PX",
];

/// A pseudo-random generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    fn choice<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// A projection to 4 dimensions.
fn projection() -> Bytes {
    let header = json!({
        "weight": {"dtype": "F32", "shape": [4, 32], "data_offsets": [0, 512]},
        "bias": {"dtype": "F32", "shape": [4], "data_offsets": [512, 528]},
    });
    let values: Vec<f32> = (0..132u8).map(|at| f32::from(at % 7) - 3.0).collect();
    safetensors(&header, little_endian(&values))
}

fn little_endian(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn safetensors(header: &Value, data: Vec<u8>) -> Bytes {
    let header = header.to_string().into_bytes();
    [(header.len() as u64).to_le_bytes().to_vec(), header, data]
        .concat()
        .into()
}

/// Bundles that together have every optional part.
fn kinds() -> [(&'static str, Parts); 3] {
    let plain = recipe(&Table::read(), Precision::F32);
    let mut full = recipe(&Table::read(), Precision::Int8);
    full.view = ViewOptions {
        concepts: View::Both,
        mix: 0.25,
        spelling: 0.25,
        ..ViewOptions::template()
    };
    full.view.mention_template = MentionTemplate::Context;
    full.scorer = Scorer::SumOfMax;
    full.hnsw = Some(HnswOptions::default());
    full.licence_text = Some("# Licences".into());
    let mut two = recipe(&Table::read(), Precision::F32);
    two.encoder.tied = false;
    two.precision = Precision::Int4;
    for (name, from) in [
        (names::ENTITY_CONFIG, names::CONFIG),
        (names::ENTITY_WEIGHTS, names::WEIGHTS),
    ] {
        let bytes = two.files.0[from].clone();
        two.files.0.insert(name.into(), bytes);
    }
    for name in [names::PROJECTION, names::ENTITY_PROJECTION] {
        two.files.0.insert(name.into(), projection());
    }
    let device = OpenDevice {
        device: Device::flex(),
        name: "cpu".into(),
    };
    [("plain", plain), ("full", full), ("two towers", two)]
        .map(|(name, recipe)| (name, built(recipe, &device)))
}

/// Opens a bundle and links sentences with the calls of the commands and the page.
fn use_bundle(parts: Parts) -> Result<usize> {
    let linker = Linker::new(Bundle::read(parts)?, &Device::flex())?;
    let mut links = 0;
    for text in TEXTS {
        for overlapping in [false, true] {
            let detect = DetectOptions {
                overlapping,
                ..DetectOptions::default()
            };
            let options = LinkOptions::default().detect(detect);
            let given = vec![Detected::new(Span::new(0, 2), Origin::Given)];
            let mentions = if overlapping {
                linker.detect(text, &options).expect("detected")
            } else {
                join(given, linker.detect(text, &options).expect("detected"))
            };
            for link in link(&linker, text, mentions, &options)? {
                links += 1;
                link.candidates
                    .iter()
                    .try_for_each(|candidate| linker.concept(candidate.concept).map(drop))?;
                linker.steps().candidate_texts(&link)?;
            }
        }
    }
    let table = &linker.bundle().concepts;
    table.find("D1")?;
    table.to_knowledge_base()?;
    linker.bundle().dictionary.lookup("fever");
    Ok(links)
}

/// The magic, version, fields and sections of a container.
type Opened = ([u8; 8], u32, Value, BTreeMap<String, Vec<u8>>);

fn open(file: &Bytes) -> Opened {
    let magic: [u8; 8] = file[..8].try_into().expect("eight");
    let version = u32::from_le_bytes(file[8..12].try_into().expect("four"));
    let format = Format {
        magic: Box::leak(Box::new(magic)),
        version,
        name: "file",
    };
    let container = Container::<Value>::read(format, file, Check::Checksums).expect("whole");
    let sections = container.names().map(|name| {
        (
            name.to_owned(),
            container.section(name).expect("there").to_vec(),
        )
    });
    (magic, version, container.fields.clone(), sections.collect())
}

fn close((magic, version, fields, sections): Opened) -> Bytes {
    let format = Format {
        magic: Box::leak(Box::new(magic)),
        version,
        name: "file",
    };
    let sections: Vec<(&str, &[u8])> = sections
        .iter()
        .map(|(name, body)| (name.as_str(), &body[..]))
        .collect();
    write(format, &fields, &sections)
        .expect("it can be written")
        .into()
}

/// The JSON pointers of all values, parents first.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| pointers(value, &format!("{at}/{}", escaped(key)), all)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), all)),
        _ => {}
    }
}

/// Changes a random value in a JSON document. Returns a description.
fn change_value(random: &mut Random, value: &mut Value) -> String {
    let mut all = Vec::new();
    pointers(value, "", &mut all);
    // Otherwise elements of long lists would be chosen nearly always.
    let few: Vec<String> = all
        .iter()
        .filter(|at| at.matches('/').count() <= 2)
        .take(200)
        .cloned()
        .collect();
    let at = if random.below(3) > 0 {
        random.choice(&few)
    } else {
        random.choice(&all)
    };
    let numbers = [
        json!(0),
        json!(1),
        json!(-1),
        json!(3),
        json!(43_200),
        json!(i32::MAX),
        json!(u32::MAX),
        json!(1u64 << 53),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e39),
        json!(-1e300),
        json!(1e-60),
        json!(0.5),
    ];
    let others = [
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!(""),
        json!("x".repeat(1000)),
        json!([[1], "a"]),
    ];
    let Some(place) = value.pointer_mut(&at) else {
        return at;
    };
    let new = match (&*place, random.below(4)) {
        (Value::Number(number), 0) => json!(number.as_u64().unwrap_or(1).wrapping_add(1)),
        (Value::Number(number), 1) => json!(number.as_u64().unwrap_or(1).saturating_sub(1)),
        (Value::Number(_), 2) => random.choice(&numbers),
        (Value::Array(list), 0) => json!(list.iter().chain(list.iter().rev()).collect::<Vec<_>>()),
        (Value::Array(list), 1) => json!(list.iter().skip(1).collect::<Vec<_>>()),
        (Value::Object(map), 0 | 1) => {
            let gone = random.below(map.len());
            let left = map
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != gone)
                .map(|(_, (key, value))| (key.clone(), value.clone()));
            Value::Object(left.collect::<Map<_, _>>())
        }
        (_, 3) => random.choice(&numbers),
        _ => random.choice(&others),
    };
    let description = format!(
        "{at}: {}",
        new.to_string().chars().take(40).collect::<String>()
    );
    *place = new;
    description
}

/// Changes random bytes of a section or of tensors. Returns a description.
fn change_bytes(random: &mut Random, body: &mut Vec<u8>) -> String {
    let extremes: [&[u8]; 12] = [
        &[0; 4],
        &[0xff; 4],
        &[0xff; 8],
        &[0, 0, 0, 0x80],
        &[0, 0, 0xc0, 0x7f],
        &[0, 0, 0x80, 0x7f],
        &[0, 0, 0x80, 0xff],
        &[0xff, 0xff, 0x7f, 0x7f],
        &[1, 0, 0, 0],
        &[0x80; 5],
        &[0x7f],
        &[0xff, 0xff, 0xff, 0x7f],
    ];
    match random.below(8) {
        0 => body.truncate(random.below(body.len() + 1)),
        1 => {
            let more = 1 + random.below(64);
            (0..more).for_each(|_| body.push(random.next() as u8));
        }
        2 => body.clear(),
        3 | 4 if !body.is_empty() => {
            for _ in 0..1 + random.below(3) {
                let at = random.below(body.len());
                body[at] = random.next() as u8;
            }
        }
        _ => {
            let extreme = random.choice(&extremes);
            let at = random.below((body.len() / 4).max(1)) * 4;
            for (place, byte) in body.iter_mut().skip(at).zip(extreme) {
                *place = *byte;
            }
            return format!("{extreme:x?} at {at}");
        }
    }
    format!("{} bytes", body.len())
}

fn change_container(random: &mut Random, file: &Bytes) -> (Bytes, String) {
    let mut opened = open(file);
    let of: Vec<String> = opened.3.keys().cloned().collect();
    let description = match random.below(8) {
        0 | 1 => format!("fields {}", change_value(random, &mut opened.2)),
        2 => {
            let (one, other) = (random.choice(&of), random.choice(&of));
            let body = opened.3[&other].clone();
            opened.3.insert(one.clone(), body);
            format!("{one} is {other}")
        }
        3 if random.below(4) == 0 => {
            let gone = random.choice(&of);
            opened.3.remove(&gone);
            format!("without {gone}")
        }
        _ => {
            let name = random.choice(&of);
            let body = opened.3.get_mut(&name).expect("there");
            format!("{name}: {}", change_bytes(random, body))
        }
    };
    (close(opened), description)
}

fn change_tensors(random: &mut Random, file: &Bytes) -> (Bytes, String) {
    let length = u64::from_le_bytes(file[..8].try_into().expect("eight")) as usize;
    let mut header: Value = serde_json::from_slice(&file[8..8 + length]).expect("JSON");
    let mut data = file[8 + length..].to_vec();
    let description = match random.below(3) {
        0 => change_value(random, &mut header),
        _ => change_bytes(random, &mut data),
    };
    (safetensors(&header, data), description)
}

/// Changes a random file. Returns a description.
fn change(random: &mut Random, parts: &mut Parts) -> String {
    let files: Vec<String> = parts.0.keys().cloned().collect();
    let name = random.choice(&files);
    let file = parts.0[&name].clone();
    let (bytes, description) = match name.rsplit('.').next() {
        Some("bin") => change_container(random, &file),
        Some("safetensors") => change_tensors(random, &file),
        Some("json") => {
            let mut value: Value = serde_json::from_slice(&file).expect("JSON");
            let description = change_value(random, &mut value);
            (value.to_string().into(), description)
        }
        _ => (Bytes::from_static(b"\xff\xfe"), "no text".to_owned()),
    };
    parts.0.insert(name.clone(), bytes);
    format!("{name} {description}")
}

/// Recomputes all checksums of a bundle, and mostly also the manifest's descriptions of its files.
fn reseal(random: &mut Random, parts: &mut Parts) {
    let Ok(Value::Object(mut manifest)) =
        serde_json::from_slice::<Value>(&parts.0[names::MANIFEST])
    else {
        return;
    };
    manifest.insert(
        "files".into(),
        serde_json::to_value(parts.file_infos()).expect("JSON"),
    );
    for (file, field) in [
        (names::INDEX, "index"),
        (names::TOKEN_VECTORS, "token_vectors"),
    ] {
        if let Some(bytes) = parts.0.get(file).filter(|_| random.below(8) > 0) {
            manifest.insert(field.into(), open(bytes).2);
        }
    }
    parts.0.insert(
        names::MANIFEST.into(),
        sealed(Value::Object(manifest)).into(),
    );
}

#[test]
fn damage_with_correct_checksums_never_panics() {
    let mut outcomes = BTreeMap::new();
    for (kind, whole) in kinds() {
        assert!(use_bundle(whole.clone()).expect("whole") >= 4, "{kind}");
        for seed in 0..CASES {
            let mut random = Random(seed);
            let mut parts = whole.clone();
            let mut changes: Vec<String> = (0..1 + random.below(2))
                .map(|_| change(&mut random, &mut parts))
                .collect();
            reseal(&mut random, &mut parts);
            if random.below(2) == 0 {
                changes.push("packed".into());
                let one = Bytes::from(parts.to_one_file().expect("it can be written"));
                parts = Parts::from_one_file(&one).expect("the content is not checked");
            }
            MEMORY
                .set_limit(MEMORY.allocated() + MAX_MEMORY)
                .expect("more than there is");
            let outcome = catch_unwind(AssertUnwindSafe(|| use_bundle(parts)));
            MEMORY.set_limit(usize::MAX).expect("no limit");
            match outcome {
                Ok(Ok(_)) => *outcomes.entry("linked").or_insert(0) += 1,
                Ok(Err(error)) => {
                    assert!(
                        matches!(error.kind(), Kind::Artifact | Kind::Input),
                        "{kind} {seed} {changes:?}: {error:?}"
                    );
                    *outcomes.entry("refused").or_insert(0) += 1;
                }
                Err(_) => panic!("{kind}, seed {seed}: a panic after {changes:?}"),
            }
        }
    }
    // Both outcomes occur often.
    assert!(
        outcomes["refused"] > CASES && outcomes["linked"] > CASES / 8,
        "{outcomes:?}"
    );
}

fn refused(parts: Result<Parts>) -> bool {
    parts.and_then(Bundle::read).is_err()
}

#[test]
fn every_flipped_bit_of_a_packed_bundle_is_an_error() {
    let [(_, parts), ..] = kinds();
    let whole = parts.to_one_file().expect("it can be written");
    assert!(!refused(Parts::from_one_file(&Bytes::from(whole.clone()))));
    let manifest = whole
        .windows(9)
        .position(|bytes| bytes == b"\"written_")
        .expect("there");
    let header = u32::from_le_bytes(whole[12..16].try_into().expect("four")) as usize + 48;
    let everywhere = (0..whole.len()).step_by(61);
    let dense = (0..header)
        .step_by(3)
        .chain(manifest - 30..manifest + 1200)
        .chain(whole.len() - 70..whole.len());
    for (count, at) in everywhere.chain(dense).enumerate() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (count % 8);
        assert!(
            refused(Parts::from_one_file(&Bytes::from(bytes))),
            "bit {} of byte {at}",
            count % 8
        );
    }
    for more in [&b"\0"[..], &[0; 64]] {
        assert!(refused(Parts::from_one_file(&Bytes::from(
            [&whole[..], more].concat()
        ))));
    }
}

#[test]
fn every_flipped_bit_of_an_unpacked_bundle_is_an_error_or_whitespace() {
    let [(_, whole), ..] = kinds();
    let before = Manifest::from_bytes(&whole.0[names::MANIFEST]).expect("whole");
    for (name, file) in &whole.0 {
        let is_manifest = name == names::MANIFEST;
        let step = if is_manifest {
            1
        } else {
            (file.len() / 150).max(1)
        };
        for (count, at) in (0..file.len()).step_by(step).enumerate() {
            for bit in if is_manifest {
                0..8
            } else {
                count % 8..count % 8 + 1
            } {
                let mut bytes = file.to_vec();
                bytes[at] ^= 1 << bit;
                // The flip replaced one blank by another.
                if is_manifest && Manifest::from_bytes(&bytes).is_ok_and(|found| found == before) {
                    continue;
                }
                let mut parts = whole.clone();
                parts.0.insert(name.clone(), bytes.into());
                assert!(refused(Ok(parts)), "bit {bit} of byte {at} of {name}");
            }
        }
    }
}

#[test]
fn other_format_versions_and_altered_manifests_are_refused() {
    let [(_, whole), ..] = kinds();
    let json: Value = serde_json::from_slice(&whole.0[names::MANIFEST]).expect("JSON");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut json = json.clone();
        change(&mut json);
        let mut parts = whole.clone();
        parts
            .0
            .insert(names::MANIFEST.into(), json.to_string().into());
        Bundle::read(parts)
            .map(|bundle| bundle.manifest.format)
            .map_err(|error: Error| error.to_string())
    };
    let read = Bundle::read(whole.clone()).expect("whole");
    assert_eq!(read.manifest.format, OLDEST_FORMAT);
    for (change, expected) in [
        (
            json!({"format": 7}),
            "format version 7, this build reads 8 to 11",
        ),
        (
            json!({"format": 12}),
            "format version 12, this build reads 8 to 11",
        ),
        (json!({"format": 9}), "expected format version 8"),
        (json!({"digest": null}), "invalid type: null"),
    ] {
        let message = with(&|json| {
            let change = change.as_object().expect("an object");
            json.as_object_mut()
                .expect("an object")
                .extend(change.clone());
        })
        .expect_err("refused");
        assert!(message.contains(expected), "{message}");
    }
    let message = with(&|json| json["nil"]["threshold"] = 0.25.into()).expect_err("altered");
    assert!(
        message.contains("manifest.json has been altered: its digest differs")
            && message.contains("pel pack --edited"),
        "{message}"
    );
    let message =
        with(&|json| json["view"]["mention_tokens"] = 43_200.into()).expect_err("altered");
    assert!(message.contains("digest"), "{message}");
}

#[test]
fn manifest_numbers_out_of_range_are_errors() {
    let [(_, whole), ..] = kinds();
    let message = |parts: &Parts, change: &dyn Fn(&mut Value)| {
        let mut json: Value = serde_json::from_slice(&parts.0[names::MANIFEST]).expect("JSON");
        change(&mut json);
        let mut parts = parts.clone();
        parts.0.insert(names::MANIFEST.into(), sealed(json).into());
        Bundle::read(parts)
            .map(drop)
            .expect_err("refused")
            .to_string()
    };
    let limit: Value = serde_json::from_slice(&model_bytes("tiny", "config.json")).expect("JSON");
    let limit = limit["max_position_embeddings"].as_u64().expect("a number");
    for field in ["mention_tokens", "entity_tokens", "name_tokens"] {
        let found = message(&whole, &|json| json["view"][field] = 43_200.into());
        assert_eq!(
            found,
            format!(
                "manifest.json: `view.{field}`: expected at most the {limit} tokens that the \
                 encoder reads, found 43200"
            )
        );
        let found = message(&whole, &|json| json["view"][field] = 0.into());
        assert!(
            found.contains(&format!(
                "`view.{field}`: expected 1 to 1048576 tokens, found 0"
            )),
            "{found}"
        );
        let found = message(&whole, &|json| json["view"][field] = u64::MAX.into());
        assert!(found.contains("expected 1 to 1048576 tokens"), "{found}");
    }
    let found = message(&whole, &|json| json["nil"]["threshold"] = 1e39.into());
    assert!(
        found.contains("manifest.json: number out of range at line 1 column"),
        "{found}"
    );
    let found = message(&whole, &|json| json["nil"]["model"] = json!({}));
    assert!(found.contains("unknown field `model`"), "{found}");
    let found = message(&whole, &|json| json["kb"]["concepts"] = 1.into());
    assert!(found.contains("the manifest says 1"), "{found}");
    for name in ["../x", "a/b", ".unfinished", "manifest.json", ""] {
        let found = message(&whole, &|json| {
            json["files"][name] = json!({"bytes": 0, "blake3": ""})
        });
        assert!(
            found.contains("`files`: expected names of letters"),
            "{found}"
        );
    }
}
