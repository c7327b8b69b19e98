//! Targets: bundles, their files, notes linked with them, and rules of context.

use crate::checksums;
use crate::mutations;
use crate::seeds::SeedBundle;
use burn::tensor::Device;
use bytes::Bytes;
use pel_index::{Index, TokenStore};
use pel_kb::ConceptId;
use pel_kb::container::Check;
use pel_kb::group::Group;
use pel_kb::table::ConceptTable;
use pel_linker::bundle::{Bundle, Manifest, Parts};
use pel_linker::{LinkOptions, Linker};
use pel_model::config::BertConfig;
use pel_model::cpu::Tower;
use pel_model::detector::decode::without_overlap;
use pel_model::detector::{Detector, DetectorInfo, Features};
use pel_model::tokens::{EntityTemplate, MentionTemplate, Tokens};
use pel_model::tower::TowerBytes;
use pel_output::{Form, Note, Record};
use pel_text::context::{ContextRules, Target};
use pel_text::detect::{DetectOptions, Detected, Dictionary};
use pel_text::{Mention, Span};

/// A note with names, inflected names, an abbreviation and multi-byte characters.
pub const TEXT: &str = "Chest pains and Fever (38.5 °C), no diabetes mellitus (DM).\n\
                        DM\u{a0}type 2? naïve 😷 α-blocker ½";

/// The input as given, and with corrected checksums.
pub fn both(data: &[u8]) -> [Bytes; 2] {
    let mut fixed = data.to_vec();
    checksums::fix_container(&mut fixed);
    [Bytes::copy_from_slice(data), fixed.into()]
}

/// The bytes before and after the first zero byte.
pub fn two(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|byte| *byte == 0);
    at.map_or((data, &[]), |at| (&data[..at], &data[at + 1..]))
}

/// Checks that mentions are in order and that their spans are valid.
pub fn check_spans(text: &str, mentions: &[Detected]) {
    for mention in mentions {
        for span in std::iter::once(&mention.span).chain(&mention.fragments) {
            span.of(text)
                .unwrap_or_else(|error| panic!("{mention:?}: {error}"));
        }
        let pieces = &mention.fragments;
        assert!(
            pieces.is_sorted_by(|one, next| one.end <= next.start),
            "{mention:?}"
        );
    }
    assert!(
        mentions.is_sorted_by_key(|mention| mention.span.start),
        "{mentions:?}"
    );
}

/// A packed bundle.
pub fn container(data: &[u8]) {
    for bytes in both(data) {
        let Ok(parts) = Parts::from_one_file(&bytes) else {
            continue;
        };
        let written = Bytes::from(parts.to_one_file().expect("what was read can be written"));
        let again = Parts::from_one_file(&written).expect("what was written can be read");
        assert_eq!(parts.0, again.0, "a written bundle reads back differently");
        if let Ok(bundle) = Bundle::read(parts) {
            link(bundle, TEXT, sum(data));
        }
    }
}

/// A dictionary.
pub fn dictionary(data: &[u8]) {
    for bytes in both(data) {
        let Ok(dictionary) = Dictionary::from_bytes(bytes) else {
            continue;
        };
        for overlapping in [false, true] {
            let found = dictionary.detect(
                TEXT,
                &DetectOptions {
                    overlapping,
                    ..DetectOptions::default()
                },
            );
            check_spans(TEXT, &found);
            for mention in found {
                let name = mention.span.of(TEXT).expect("checked");
                dictionary.lookup(name);
                dictionary.lookup_mention(name);
            }
        }
    }
}

/// Indexes, token stores and concept tables, which are told apart by their magic.
pub fn index(data: &[u8]) {
    for bytes in both(data) {
        if let Ok(mut index) = Index::from_bytes(&bytes, Check::Checksums) {
            search(&mut index);
        }
        if let Ok(store) = TokenStore::from_bytes(&bytes, Check::Checksums) {
            let dim = store.info().dim;
            if dim <= 1 << 12 {
                let query = store.query(&vec![0.5; 3 * dim]);
                assert!(store.search(&query, 3).len() <= 3);
                store.rank(&query, (0..8).map(ConceptId));
            }
        }
        if let Ok(table) = ConceptTable::from_bytes(&bytes, Check::Checksums) {
            for at in 0..table.len().min(64) as u32 {
                if let Ok(concept) = table.get(ConceptId(at)) {
                    let _ = table.find(&concept.id);
                }
            }
            let _ = table.to_knowledge_base();
        }
    }
}

fn search(index: &mut Index) {
    let (dim, rows) = (index.info().dim, index.info().rows);
    if dim > 1 << 12 {
        return;
    }
    if rows > 0 {
        assert_eq!(index.vector(rows - 1).len(), dim);
    }
    // A bundle compares the last concept with its number of concepts.
    let few = index
        .last_concept()
        .is_none_or(|last| last.index() < 1 << 12);
    for mix in [0.0, 0.5] {
        let queries: Vec<f32> = (0..2 * dim)
            .map(|at| if at % 3 == 0 { 0.5 } else { -0.25 })
            .collect();
        for found in [index.search(&queries, 3), index.search_exact(&queries, 3)] {
            assert_eq!(found.len(), 2);
            assert!(found.iter().all(|found| found.len() <= 3));
        }
        index.score(&queries[..dim], (0..8).map(ConceptId));
        if few && mix == 0.0 {
            index.set_mix(0.5);
        }
    }
}

/// A tokenizer, used on a text, a concept and a mention.
pub fn tokenizer(data: &[u8]) {
    let Ok(tokens) = Tokens::from_bytes(data) else {
        return;
    };
    let _ = tokens.pieces(TEXT);
    let concept = crate::seeds::concepts().remove(0);
    for template in [EntityTemplate::Description, EntityTemplate::Types] {
        if let Ok(encoded) = tokens.entity(&concept, template, true, 16) {
            assert!(encoded.ids.len() <= 16, "{encoded:?}");
        }
    }
    let mention = Mention::cut(TEXT, Span::new(16, 21)).expect("a word");
    for template in [MentionTemplate::Bare, MentionTemplate::Context] {
        if let Ok(Some(encoded)) = tokens.mention(&mention, template, 12) {
            assert!(
                encoded.ids.len() <= 12 && encoded.own.end <= encoded.ids.len(),
                "{encoded:?}"
            );
        }
    }
}

/// The configuration of an encoder.
pub fn config(data: &[u8]) {
    let Ok(config) = BertConfig::from_bytes(data) else {
        return;
    };
    let written = serde_json::to_vec(&config).expect("memory does not run out");
    assert_eq!(
        BertConfig::from_bytes(&written).expect("what was written can be read"),
        config
    );
    // Weights of the wrong shape are an error, however large the expected shape is.
    let none = Bytes::from_static(&[2, 0, 0, 0, 0, 0, 0, 0, b'{', b'}']);
    let tower = TowerBytes {
        config: data,
        weights: &none,
        projection: None,
    };
    assert!(Tower::from_bytes(tower, &crate::seeds::small_encoder().tokens).is_err());
}

/// The manifest of a bundle.
pub fn manifest(data: &[u8]) {
    for json in [data.to_vec(), checksums::fix_manifest(data.to_vec())] {
        let Ok(manifest) = Manifest::from_bytes(&json) else {
            continue;
        };
        let (sealed, written) = manifest.clone().sealed().expect("memory does not run out");
        let again = Manifest::from_bytes(&written).expect("what was written can be read");
        // Compares as text, because NaN is not equal to itself.
        assert_eq!(format!("{sealed:?}"), format!("{again:?}"));
        let fields = Manifest {
            format: sealed.format,
            digest: sealed.digest,
            ..manifest
        };
        assert_eq!(format!("{fields:?}"), format!("{again:?}"));
    }
}

/// The weights of a small encoder, used to encode, or of its projection.
pub fn weights(data: &[u8]) {
    let weights = Bytes::copy_from_slice(data);
    let small = crate::seeds::small_encoder();
    for (weights, projection) in [(&weights, None), (&small.weights, Some(data))] {
        let tower = TowerBytes {
            config: &small.config,
            weights,
            projection,
        };
        let reduction = small.reduction;
        let Ok(encoder) =
            pel_model::encode::Encoder::new(tower, None, &small.tokens, reduction, &Device::flex())
        else {
            continue;
        };
        let row = small.row();
        let vectors = encoder
            .encode(pel_model::tower::Side::Mention, &[&row])
            .expect("the row fits");
        assert_eq!(vectors.len(), encoder.dim());
    }
}

/// A detector: its description, a zero byte and its weights. It has the embeddings of the small
/// encoder.
pub fn detector(data: &[u8]) {
    let (json, weights) = two(data);
    let Ok(info) = serde_json::from_slice::<DetectorInfo>(json) else {
        return;
    };
    if info.check().is_ok() {
        let written = serde_json::to_vec(&info).expect("memory does not run out");
        let again: DetectorInfo = serde_json::from_slice(&written).expect("it was written");
        assert_eq!(again, info);
    }
    let small = crate::seeds::small_encoder();
    let weights = Bytes::copy_from_slice(weights);
    let Ok(detector) = Detector::from_bytes(info, &small.config, &weights, &small.weights) else {
        return;
    };
    let (tokens, info) = (&small.tokens, detector.info());
    let words = tokens.words(TEXT).expect("it is text");
    detector
        .check_tokens(tokens, &words)
        .expect("the encoder and the tokenizer fit");
    let features = Features::of_text(TEXT, &words);
    for (number, scheme) in info.schemes.iter().enumerate().take(4) {
        let spans = detector.spans(tokens, &words, &features, number, scheme.threshold);
        assert!(spans.len() <= words.words.len() * info.words);
        for span in &spans {
            assert!(
                span.first <= span.last
                    && span.last - span.first < info.words
                    && span.last < words.words.len()
                    && span.label < scheme.labels.len()
                    && (scheme.threshold..=1.0).contains(&span.probability),
                "{span:?}"
            );
        }
        let chosen = without_overlap(spans);
        assert!(
            chosen.is_sorted_by(|one, next| one.last < next.first),
            "{chosen:?}"
        );
        for span in chosen {
            let (first, last) = (&words.words[span.first], &words.words[span.last]);
            let place = Span::new(first.span.start, last.span.end);
            place
                .of(TEXT)
                .unwrap_or_else(|error| panic!("{span:?}: {error}"));
        }
    }
}

/// The words of a text: the most that a fuzzer judges.
const JUDGED: usize = 256;

/// Rules of context, a zero byte and a text, whose words are judged as mentions.
pub fn context(data: &[u8]) {
    let (rules, text) = two(data);
    let (rules, text) = (
        String::from_utf8_lossy(rules),
        String::from_utf8_lossy(text),
    );
    let text: &str = if text.is_empty() { TEXT } else { &text };
    let rules = match ContextRules::parse(&rules, "fuzzed.rules") {
        Ok(rules) => rules,
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains(".rules:"), "no line: {message}");
            return;
        }
    };
    let mut spans: Vec<Span> = text
        .split_whitespace()
        .map(|word| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            Span::new(start, start + word.len())
        })
        .take(JUDGED)
        .collect();
    // Spans that the text does not have.
    spans.extend([(0, 0), (7, 3), (1, 4), (text.len(), usize::MAX)].map(|(a, b)| Span::new(a, b)));
    let groups = [None, Some(Group::Problem), Some(Group::Anatomy)];
    // One word each, then two.
    let pieces = spans.chunks(1).chain(spans.windows(2));
    let targets: Vec<Target<'_>> = pieces
        .zip(groups.into_iter().cycle())
        .map(|(pieces, group)| Target { pieces, group })
        .collect();
    let contexts = rules.judge(text, &targets);
    assert_eq!(contexts.len(), targets.len());
    for cue in contexts.iter().flat_map(|context| &context.cues) {
        for span in [cue.span, cue.scope] {
            assert!(text.get(span.start..span.end).is_some(), "{cue:?}");
        }
        assert!(rules.rule(cue.rule).is_some(), "{cue:?}");
    }
}

/// A mutated bundle: the first byte chooses it, 8 bytes each a mutation (`mutations.rs`).
pub fn bundle(data: &[u8]) {
    let Some((which, changes)) = data.split_first() else {
        return;
    };
    let bundles = SeedBundle::all();
    let sound = &bundles[usize::from(*which) % bundles.len()].parts;
    let mut parts = sound.clone();
    mutations::mutate(changes, &mut parts.0);
    checksums::fix_bundle(&mut parts.0, &sound.0);
    let one = Bundle::read(parts.clone());
    let written = parts
        .to_one_file()
        .and_then(|written| Parts::from_one_file(&Bytes::from(written)));
    // Equal files have the same outcome.
    if written.as_ref().ok().map(|written| &written.0) != Some(&parts.0) {
        assert_eq!(
            one.is_ok(),
            written.and_then(Bundle::read).is_ok(),
            "folder and file have different outcomes"
        );
    }
    if let Ok(bundle) = one {
        link(bundle, TEXT, sum(data));
    }
}

/// The sum of the bytes of an input, which chooses what is done with it.
fn sum(data: &[u8]) -> usize {
    data.iter().map(|byte| usize::from(*byte)).sum()
}

/// Links a text with a bundle, and writes the links in some formats. Errors are allowed.
fn link(bundle: Bundle, text: &str, choice: usize) {
    let Ok(linker) = Linker::new(bundle, &Device::flex()) else {
        return;
    };
    let Some(records) = records(&linker, text) else {
        return;
    };
    write(&linker, text, &records, choice);
}

/// Links as `pel link`, and explains the first mention as `pel explain`; `None` after an error.
fn records(linker: &Linker, text: &str) -> Option<Vec<Record>> {
    let options = LinkOptions::default();
    let mentions = linker.detect(text, &options).ok()?;
    check_spans(text, &mentions);
    let prepared = linker.steps().prepare(text, mentions).ok()?;
    let queries = linker.steps().encode(&prepared, |_| Ok(())).ok()?;
    let links = linker.steps().finish(&prepared, &queries, &options);
    assert_eq!(links.len(), prepared.mentions());
    if let (Some(link), Some(sequence)) = (links.first(), prepared.sequences().first()) {
        let side = pel_model::tower::Side::Entity;
        let own = linker
            .steps()
            .encoder()
            .encode_for(
                linker.steps().scorer(),
                pel_model::tower::Side::Mention,
                &[sequence],
            )
            .ok()?;
        let texts = linker.steps().candidate_texts(link).ok()?;
        let vectors = linker
            .steps()
            .encoder()
            .encode_for(linker.steps().scorer(), side, &texts.rows())
            .ok()?;
        linker
            .steps()
            .matched_texts(&texts, sequence, &own, &vectors);
    }
    links
        .iter()
        .map(|link| pel_output::Record::new(linker, link).ok())
        .collect()
}

/// How many formats an input is written in; all take more time than linking.
const WRITTEN: usize = 3;

/// Writes some output formats, which `choice` chooses, and parses the machine-readable ones.
fn write(linker: &Linker, text: &str, records: &[Record], choice: usize) {
    let note = Note {
        name: "note",
        text,
        records,
        linker,
    };
    for form in Form::ALL
        .iter()
        .cycle()
        .skip(choice % Form::ALL.len())
        .take(WRITTEN)
    {
        if let Ok(written) = note.write(*form) {
            parse(*form, &written, text, records);
        }
    }
}

/// Parses what was written in a machine-readable format.
fn parse(form: Form, written: &str, text: &str, records: &[Record]) {
    match form {
        Form::Json
        | Form::Fhir
        | Form::BiocJson
        | Form::SpacyJson
        | Form::CasJson
        | Form::Phenopackets => {
            serde_json::from_str::<serde_json::Value>(written).expect("JSON");
        }
        Form::Jsonl => {
            let read = written
                .lines()
                .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
            assert_eq!(read.count(), records.len());
        }
        Form::Csv => {
            let rows = csv::Reader::from_reader(written.as_bytes())
                .into_records()
                .map(|row| row.expect("as many fields"));
            assert_eq!(rows.count(), records.len());
        }
        Form::Brat => {
            let letters = text.chars().count();
            for line in written.lines().filter(|line| line.starts_with('T')) {
                let fields: Vec<&str> = line.split('\t').collect();
                assert_eq!(fields.len(), 3, "{line:?}");
                let mut places = fields[1]
                    .split([' ', ';'])
                    .skip(1)
                    .map(|number| number.parse::<usize>());
                assert!(
                    places.all(|place| place.is_ok_and(|place| place <= letters)),
                    "{line:?}"
                );
            }
        }
        _ => {}
    }
}

/// A note, linked with the seed bundle chosen by its length.
pub fn note(data: &[u8]) {
    let (text, bundles) = (String::from_utf8_lossy(data), SeedBundle::all());
    let linker = &bundles[data.len() % bundles.len()].linker;
    let records = records(linker, &text).expect("a sound bundle links any text");
    write(linker, &text, &records, sum(data));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_linker::bundle::names;
    use serde_json::{Value, json};

    /// The files of the seed bundle with a detector, with one changed as JSON.
    fn changed(name: &str, change: impl Fn(&mut Value)) -> Parts {
        let bundles = SeedBundle::all();
        let bundle = bundles
            .iter()
            .find(|bundle| bundle.parts.0.contains_key(names::DETECTOR_WEIGHTS))
            .expect("one has a detector");
        let mut parts = bundle.parts.clone();
        let mut value: Value = serde_json::from_slice(&parts.0[name]).expect("JSON");
        change(&mut value);
        parts.0.insert(name.into(), value.to_string().into());
        checksums::fix_bundle(&mut parts.0, &bundle.parts.0);
        parts
    }

    fn detect(parts: &Parts, text: &str) -> Result<Vec<Detected>, String> {
        let bundle = Bundle::read(parts.clone()).map_err(|error| error.to_string())?;
        let found = bundle.detect(text, &DetectOptions::default());
        found.map_err(|error| error.to_string())
    }

    #[test]
    fn a_character_that_becomes_several_words_has_one_mention() {
        let everything = changed(names::MANIFEST, |manifest| {
            manifest["detector"]["schemes"][0]["threshold"] = json!(0.0);
        });
        let mut parts = changed(names::TOKENIZER, |tokenizer| {
            tokenizer["normalizer"] = json!({"type": "NFKC"});
        });
        // "…" becomes three words.
        let text = "fever… cold… ⑴";
        check_spans(text, &detect(&everything, text).expect("whole"));
        let manifest = everything.0[names::MANIFEST].clone();
        parts.0.insert(names::MANIFEST.into(), manifest);
        checksums::fix_bundle(&mut parts.0, &everything.0);
        let found = detect(&parts, text).expect("whole");
        assert!(!found.is_empty());
        check_spans(text, &found);
    }

    #[test]
    fn detector_with_another_vocabulary_is_an_error() {
        let parts = changed(names::TOKENIZER, |tokenizer| {
            tokenizer["model"]["vocab"]["fever"] = json!(1 << 20);
        });
        let error = detect(&parts, TEXT).expect_err("the encoder has 16 tokens");
        assert!(error.contains("token 1048576"), "{error}");
    }
}
