//! Tests of whole charts.

use super::*;
use proptest::prelude::*;

fn curve(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
    Series {
        name: name.into(),
        points: points.into_iter().collect(),
    }
}

#[test]
fn file_contains_title_names_and_curves() {
    let folder = tempfile::tempdir().expect("a folder");
    let stem = folder.path().join("new/margin-0.1");
    let chart = Chart {
        title: "Loss & <margin> \"δ\"".into(),
        x: "step".into(),
        y: "loss".into(),
        series: vec![
            curve("proxy-based", [(0.0, 4.0), (10.0, 1.0)]),
            curve("cross-entropy", [(0.0, 5.0), (10.0, 3.0)]),
        ],
        ..Chart::default()
    };
    chart.write(&stem).expect("written");
    let svg = std::fs::read_to_string(folder.path().join("new/margin-0.1.svg")).expect("read");
    for words in [
        "Loss &amp; &lt;margin&gt; &quot;δ&quot;",
        ">\nstep\n<",
        ">\nloss\n<",
        ">\nproxy-based\n<",
        ">\ncross-entropy\n<",
        ">\n10\n<",
    ] {
        assert!(svg.contains(words), "{words} in {svg}");
    }
    assert_eq!(
        svg,
        chart.svg().expect("drawn"),
        "the same chart gives the same bytes"
    );
    // A curve and its legend line per series; the second is dashed.
    for (colour, dashed) in [("#0072B2", false), ("#D55E00", true)] {
        let lines = svg.lines().filter(|line| {
            line.starts_with("<polyline") && line.contains(&format!("stroke=\"{colour}\""))
        });
        assert_eq!(lines.count() > 2, dashed, "{svg}");
    }
    let files: Vec<_> = std::fs::read_dir(folder.path().join("new"))
        .expect("a folder")
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

#[test]
fn charts_without_points_are_drawn_empty() {
    let nothing = [
        (f64::NAN, 1.0),
        (1.0, f64::NAN),
        (f64::INFINITY, 0.0),
        (2.0, f64::NEG_INFINITY),
    ];
    for series in [
        vec![],
        vec![curve("none", [])],
        vec![curve("none", nothing)],
    ] {
        for log_x in [false, true] {
            let chart = Chart {
                title: "Recall".into(),
                series: series.clone(),
                log_x,
                ..Chart::default()
            };
            let svg = chart.svg().expect("drawn");
            assert!(
                svg.contains(">\nno points\n<") && !svg.contains("NaN") && !svg.contains("inf"),
                "{svg}"
            );
            assert_eq!(svg.contains(">\nnone (no points)\n<"), !series.is_empty());
        }
    }
}

#[test]
fn curves_have_gaps_and_isolated_points_have_markers() {
    let points = [
        (0.0, 0.0),
        (1.0, 1.0),
        (2.0, f64::NAN),
        (3.0, 1.0),
        (4.0, f64::NAN),
    ];
    let svg = Chart {
        series: vec![curve("a", points)],
        ..Chart::default()
    }
    .svg()
    .expect("drawn");
    let count = |element: &str, colour: &str| {
        let all = svg.lines();
        all.filter(|line| line.starts_with(element) && line.contains(colour))
            .count()
    };
    // Legend and the first two points.
    assert_eq!(count("<polyline", "stroke-width=\"8\""), 2);
    // Legend, these two and the isolated point.
    assert_eq!(count("<polygon", "#0072B2"), 4);
}

#[test]
fn long_names_and_many_series_stay_inside_the_chart() {
    let many = (0..60)
        .map(|n| curve(&format!("{} {n}", "margin ".repeat(n)), [(1.0, n as f64)]))
        .collect();
    let chart = Chart {
        title: "title ".repeat(90),
        series: many,
        ..Chart::default()
    };
    let svg = chart.svg().expect("drawn");
    assert!(svg.contains(" more\n<") && svg.contains('…'));
    // The last row of the legend is above the curves.
    let rows = svg
        .lines()
        .filter(|line| line.contains("text-anchor=\"start\""));
    let y = |line: &str| {
        line.split(" y=\"")
            .nth(1)?
            .split('"')
            .next()?
            .parse::<i32>()
            .ok()
    };
    let lowest = rows.filter_map(y).max().expect("a row");
    assert!(lowest < 200 * SCALE, "{lowest}");
}

#[test]
fn many_points_make_a_short_file() {
    let points = (0..200_000).map(|step| (f64::from(step), f64::from(step % 7)));
    let svg = Chart {
        series: vec![curve("a", points)],
        ..Chart::default()
    }
    .svg()
    .expect("drawn");
    assert!(svg.len() < 200_000, "{}", svg.len());
}

#[test]
fn running_mean_is_centred_and_skips_non_finite_values() {
    let points = [
        (0.0, 1.0),
        (1.0, 2.0),
        (2.0, 6.0),
        (3.0, f64::NAN),
        (4.0, 8.0),
    ];
    // (1 + 2) / 2, (1 + 2 + 6) / 3, (2 + 6) / 2, (6 + 8) / 2, 8 / 1.
    assert_eq!(
        smoothed(&points, 3),
        [(0.0, 1.5), (1.0, 3.0), (2.0, 4.0), (3.0, 7.0), (4.0, 8.0)]
    );
    assert_eq!(smoothed(&points[..3], 0), points[..3]);
    assert_eq!(
        smoothed(&points[..3], 2),
        [(0.0, 1.0), (1.0, 1.5), (2.0, 4.0)]
    );
    assert!(smoothed(&points[3..4], 1)[0].1.is_nan());
    assert!(smoothed(&[], 5).is_empty());
    assert_eq!(smoothed(&points[..3], usize::MAX)[1].1, 3.0);
}

/// A curve of arbitrary numbers, with ranges that are often invalid.
fn any_chart() -> impl Strategy<Value = Chart> {
    let number = || proptest::num::f64::ANY;
    (
        proptest::collection::vec((number(), number()), 0..20),
        proptest::option::of((number(), number())),
        proptest::option::of((number(), -9.0..9.0)),
        any::<bool>(),
        "\\PC{0,9}|[\\x00-\\x20&<]{0,9}",
    )
        .prop_map(|(points, y_range, x_range, log_x, title)| {
            let series = vec![curve(&title, points)];
            Chart {
                title,
                series,
                y_range,
                x_range,
                log_x,
                ..Chart::default()
            }
        })
}

proptest! {
    #[test]
    fn every_chart_is_rendered(chart in any_chart()) {
        let svg = chart.svg().expect("drawn");
        let numbers = svg
            .split(['"', ' ', ','])
            .filter(|word| matches!(*word, "NaN" | "inf" | "-inf"));
        prop_assert_eq!(numbers.count(), 0, "{}", svg);
    }
}
