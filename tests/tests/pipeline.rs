//! The table `pipeline.json`: from text to decisions, on every device of this machine.

use bytes::Bytes;
use pel_shared::biencoder::{Pooling, Reduction};
use pel_shared::bundle::{Bundle, EncoderInfo, KbInfo, Parts, ViewOptions, names};
use pel_shared::detect::{Detected, Origin};
use pel_shared::index::Precision;
use pel_shared::kb::{Concept, KnowledgeBase};
use pel_shared::linker::{LinkOptions, Linker};
use pel_shared::nil::{Decision, NilPolicy};
use pel_shared::score::Score;
use pel_shared::text::Span;
use pel_shared::tokens::MentionTemplate;
use pel_tests::{bytes, devices, model};
use pel_trainer::commands::link::link;
use pel_trainer::device::OpenDevice;
use pel_trainer::indexing::{Recipe, WorkFolder, build};
use pel_trainer::spans;
use serde::Deserialize;

#[derive(Deserialize)]
struct Table {
    threshold: f32,
    concepts: Vec<Concept>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    text: String,
    #[serde(default)]
    spans: Vec<(usize, usize)>,
    links: Vec<(usize, usize, Option<String>)>,
}

fn recipe(table: &Table, precision: Precision) -> Recipe {
    let mut kb = KnowledgeBase::new();
    for concept in &table.concepts {
        kb.push(concept.clone()).expect("the table's ids are unique");
    }
    let mut files = Parts::default();
    for name in [names::CONFIG, names::WEIGHTS, names::TOKENIZER] {
        let bytes = std::fs::read(model("tiny").join(name)).expect(name);
        files.0.insert(name.into(), Bytes::from(bytes));
    }
    Recipe {
        encoder: EncoderInfo {
            name: "tiny".into(),
            licence: "MIT OR Apache-2.0".into(),
            tied: true,
            reduction: Reduction { pooling: Pooling::Mean, score: Score::Cosine },
            precision,
        },
        kb_info: KbInfo {
            name: "table".into(),
            concepts: kb.len(),
            names: 7,
            blake3: String::new(),
            licences: Vec::new(),
        },
        kb,
        licence_text: None,
        files,
        view: ViewOptions::names(),
        precision: Precision::Int8,
        hnsw: None,
        nil: NilPolicy { threshold: Some(table.threshold), calibrated_on: None },
        batch_tokens: 2048,
        bf16: false,
    }
}

#[test]
fn the_table_is_linked_as_it_says_on_every_device() {
    let table: Table = serde_json::from_slice(&bytes("pipeline.json")).expect("the table has its form");
    for (name, device) in devices() {
        let device = OpenDevice { device, name };
        for precision in [Precision::F32, Precision::Int8] {
            check(&table, &device, precision);
        }
    }
}

fn check(table: &Table, device: &OpenDevice, precision: Precision) {
    let folder = tempfile::tempdir().expect("a folder");
    let work = WorkFolder::beside(&folder.path().join("bundle"));
    let built = build(recipe(table, precision), device, &work).expect("it fits together");
    let bundle = Bundle::read(built.parts).expect("what was built can be read");
    let linker = Linker::new(bundle, &device.device).expect("the encoder fits");
    let options = LinkOptions::default();
    for row in &table.rows {
        let given =
            row.spans.iter().map(|(start, end)| Detected { span: Span::new(*start, *end), origin: Origin::Given });
        let mentions = spans::join(given.collect(), linker.detect(&row.text, &options));
        let links = link(&linker, &row.text, mentions, &options).expect("the spans fit");
        let found: Vec<_> = links
            .iter()
            .map(|link| {
                let id = match link.decision {
                    Decision::Linked { best } => Some(linker.bundle().concepts.get(best.concept).expect("there").id),
                    Decision::Nil { .. } => None,
                };
                (link.span.start, link.span.end, id)
            })
            .collect();
        assert_eq!(found, row.links, "{}, {precision:?}: {:?}", device.name, row.text);
    }
}

#[test]
fn a_known_name_in_context_is_linked_below_the_bundles_threshold_but_not_below_the_users() {
    let table: Table = serde_json::from_slice(&bytes("pipeline.json")).expect("the table has its form");
    let (name, device) = devices().remove(0);
    let device = OpenDevice { device, name };
    let folder = tempfile::tempdir().expect("a folder");
    let work = WorkFolder::beside(&folder.path().join("bundle"));
    let mut recipe = recipe(&table, Precision::F32);
    // No cosine reaches it.
    recipe.nil.threshold = Some(2.0);
    recipe.view.mention_template = MentionTemplate::Context;
    recipe.encoder.reduction.pooling = Pooling::Mention;
    let bundle = Bundle::read(build(recipe, &device, &work).expect("it fits together").parts).expect("whole");
    let linker = Linker::new(bundle, &device.device).expect("the encoder fits");
    let mut linked = 0;
    for text in table.concepts.iter().map(|concept| concept.name.as_str()).chain(["toe"]) {
        let decide = |threshold: Option<f32>| {
            let given = vec![Detected { span: Span::new(0, text.len()), origin: Origin::Given }];
            let options = LinkOptions { threshold, ..LinkOptions::default() };
            link(&linker, text, given, &options).expect("the span fits").remove(0)
        };
        assert!(matches!(decide(Some(2.0)).decision, Decision::Nil { .. }), "{text}");
        let found = decide(None);
        let best = linker.bundle().concepts.get(found.candidates[0].concept).expect("there");
        let named = best.names().any(|name| name == text);
        assert_eq!(matches!(found.decision, Decision::Linked { .. }), named, "{text}: {:?}", best.name);
        linked += usize::from(named);
    }
    assert!(linked > 0, "the tiny encoder finds no name at all");
}
