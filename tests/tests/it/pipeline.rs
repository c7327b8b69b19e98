//! The test table `pipeline.json`: from text to decisions, on every device.

use pel_artifacts::device::OpenDevice;
use pel_index::Precision;
use pel_linker::LinkOptions;
use pel_model::nil::Decision;
use pel_model::tokens::MentionTemplate;
use pel_model::tower::Pooling;
use pel_notes::link::link;
use pel_tests::table::{Table, linker, recipe};
use pel_tests::{cpu, devices};
use pel_text::Span;
use pel_text::detect::{Detected, Origin, join};

#[test]
fn table_is_linked_as_expected_on_every_device() {
    let table = Table::read();
    for (name, device) in devices() {
        let device = OpenDevice { device, name };
        for precision in [Precision::F32, Precision::Int8] {
            check(&table, &device, precision);
        }
    }
}

fn check(table: &Table, device: &OpenDevice, precision: Precision) {
    let linker = linker(recipe(table, precision), device);
    let options = LinkOptions::default();
    for row in &table.rows {
        let given = row
            .spans
            .iter()
            .map(|(start, end)| Detected::new(Span::new(*start, *end), Origin::Given));
        let mentions = join(
            given.collect(),
            linker.detect(&row.text, &options).expect("detected"),
        );
        let links = link(&linker, &row.text, mentions, &options).expect("the spans fit");
        let found: Vec<_> = links
            .iter()
            .map(|link| {
                let id = match link.decision {
                    Decision::Linked { best } => Some(
                        linker
                            .bundle()
                            .concepts
                            .get(best.concept)
                            .expect("there")
                            .id,
                    ),
                    Decision::Nil { .. } => None,
                };
                (link.span.start, link.span.end, id)
            })
            .collect();
        assert_eq!(
            found, row.links,
            "{}, {precision:?}: {:?}",
            device.name, row.text
        );
    }
}

#[test]
fn exact_name_is_linked_below_the_bundle_threshold_but_not_below_the_user_threshold() {
    let table = Table::read();
    let mut recipe = recipe(&table, Precision::F32);
    // Unreachable for a cosine.
    recipe.nil.threshold = Some(2.0);
    recipe.view.mention_template = MentionTemplate::Context;
    recipe.encoder.reduction.pooling = Pooling::Mention;
    let linker = linker(recipe, &cpu());
    let mut linked = 0;
    for text in table
        .concepts
        .iter()
        .map(|concept| concept.name.as_str())
        .chain(["toe"])
    {
        let decide = |threshold: Option<f32>| {
            let given = vec![Detected::new(Span::new(0, text.len()), Origin::Given)];
            let options = LinkOptions::default().threshold(threshold);
            link(&linker, text, given, &options)
                .expect("the span fits")
                .remove(0)
        };
        assert!(
            matches!(decide(Some(2.0)).decision, Decision::Nil { .. }),
            "{text}"
        );
        let found = decide(None);
        let best = linker
            .bundle()
            .concepts
            .get(found.candidates[0].concept)
            .expect("there");
        let named = best.names().any(|name| name == text);
        assert_eq!(
            matches!(found.decision, Decision::Linked { .. }),
            named,
            "{text}: {:?}",
            best.name
        );
        linked += usize::from(named);
    }
    assert!(linked > 0, "the tiny encoder finds no name");
}
