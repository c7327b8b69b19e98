//! Whole charts: what both files contain, and what no input may break.

use super::*;
use flate2::Crc;
use flate2::read::ZlibDecoder;
use proptest::prelude::*;
use std::io::Read;

fn curve(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
    Series { name: name.into(), points: points.into_iter().collect() }
}

/// Pixels of exactly this colour.
fn count(picture: &[[u8; 3]], colour: [u8; 3]) -> usize {
    picture.iter().filter(|&&pixel| pixel == colour).count()
}

/// The pixels of our own kind of PNG, every checksum verified.
fn decoded(chart: &Chart) -> Vec<[u8; 3]> {
    let file = chart.png().expect("painted");
    let mut rest = file.strip_prefix(&png::SIGNATURE).expect("the signature");
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let number = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        let length = number(0) as usize;
        let mut checksum = Crc::new();
        checksum.update(&rest[4..8 + length]);
        assert_eq!(checksum.sum(), number(8 + length));
        chunks.push((&rest[4..8], &rest[8..8 + length]));
        rest = &rest[12 + length..];
    }
    assert_eq!(chunks.iter().map(|(name, _)| *name).collect::<Vec<_>>(), [b"IHDR", b"IDAT", b"IEND"]);
    assert_eq!(chunks[0].1, b"\0\0\x07\x80\0\0\x04\x38\x08\x02\0\0\0", "1920 x 1080, RGB of 8 bits");
    let mut rows = Vec::new();
    ZlibDecoder::new(chunks[1].1).read_to_end(&mut rows).expect("unpacked");
    assert_eq!(rows.len(), 1080 * (1 + 3 * 1920));
    let mut row = vec![0u8; 3 * 1920];
    let mut pixels = Vec::new();
    for line in rows.chunks_exact(1 + 3 * 1920) {
        assert_eq!(line[0], png::UP);
        row.iter_mut().zip(&line[1..]).for_each(|(above, &more)| *above = above.wrapping_add(more));
        pixels.extend(row.as_chunks().0);
    }
    pixels
}

#[test]
fn both_files_show_titles_names_and_curves() {
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
    for words in
        ["Loss &amp; &lt;margin&gt; &quot;δ&quot;", ">step<", ">loss<", ">proxy-based<", ">cross-entropy<", ">10<"]
    {
        assert!(svg.contains(words), "{words} in {svg}");
    }
    let png = std::fs::read(folder.path().join("new/margin-0.1.png")).expect("read");
    assert_eq!(png, chart.png().expect("painted"), "the same chart gives the same bytes");
    let picture = decoded(&chart);
    // A line of 800 units is some 1600 pixels long and four thick, the second one dashed.
    assert!(count(&picture, [0x00, 0x72, 0xb2]) > 4000);
    assert!(count(&picture, [0xd5, 0x5e, 0x00]) > 2500);
    assert!(count(&picture, [0xff, 0xff, 0xff]) > 1920 * 1080 * 8 / 10);
}

#[test]
fn charts_without_points_are_drawn_empty() {
    let nothing = [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, 0.0), (2.0, f64::NEG_INFINITY)];
    for series in [vec![], vec![curve("none", [])], vec![curve("none", nothing)]] {
        for log_x in [false, true] {
            let chart = Chart { title: "Recall".into(), series: series.clone(), log_x, ..Chart::default() };
            let svg = chart.svg().expect("written");
            assert!(svg.contains(">no points<") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert_eq!(svg.contains(">none (no points)<"), !series.is_empty());
            assert!(count(&decoded(&chart), [0xff, 0xff, 0xff]) < 1920 * 1080);
        }
    }
}

#[test]
fn curves_have_gaps_and_points_alone_have_markers() {
    let points = [(0.0, 0.0), (1.0, 1.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, f64::NAN)];
    let svg = Chart { series: vec![curve("a", points)], ..Chart::default() }.svg().expect("written");
    // The legend's line and the first two points; markers of the legend, of these two and of the point alone.
    assert_eq!(svg.matches("stroke-width=\"2\"").count(), 2);
    assert!(svg.matches("Z\"").count() >= 4);
}

#[test]
fn long_names_and_many_series_stay_on_the_paper() {
    let many = (0..60).map(|n| curve(&format!("{} {n}", "margin ".repeat(n)), [(1.0, n as f64)])).collect();
    let chart = Chart { title: "title ".repeat(90), series: many, ..Chart::default() };
    let svg = chart.svg().expect("written");
    assert!(svg.contains(" more<") && svg.contains('…'));
    decoded(&chart);
}

#[test]
fn many_points_do_not_make_a_long_file() {
    let points = (0..200_000).map(|step| (f64::from(step), f64::from(step % 7)));
    let svg = Chart { series: vec![curve("a", points)], ..Chart::default() }.svg().expect("written");
    assert!(svg.len() < 200_000, "{}", svg.len());
}

#[test]
fn the_running_mean_is_centred_and_skips_what_is_not_finite() {
    let points = [(0.0, 1.0), (1.0, 2.0), (2.0, 6.0), (3.0, f64::NAN), (4.0, 8.0)];
    // (1 + 2) / 2, (1 + 2 + 6) / 3, (2 + 6) / 2, (6 + 8) / 2, 8 / 1.
    assert_eq!(smoothed(&points, 3), [(0.0, 1.5), (1.0, 3.0), (2.0, 4.0), (3.0, 7.0), (4.0, 8.0)]);
    assert_eq!(smoothed(&points[..3], 0), points[..3]);
    assert_eq!(smoothed(&points[..3], 2), [(0.0, 1.0), (1.0, 1.5), (2.0, 4.0)]);
    assert!(smoothed(&points[3..4], 1)[0].1.is_nan());
    assert!(smoothed(&[], 5).is_empty());
    assert_eq!(smoothed(&points[..3], usize::MAX)[1].1, 3.0);
}

/// One curve of any numbers at all, with ranges that often are none.
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
            Chart { title, series, y_range, x_range, log_x, ..Chart::default() }
        })
}

proptest! {
    #[test]
    fn every_chart_is_laid_out(chart in any_chart()) {
        let svg = chart.svg().expect("written");
        let numbers = svg.split(['"', ' ', 'M', 'L']).filter(|word| matches!(*word, "NaN" | "inf" | "-inf"));
        prop_assert_eq!(numbers.count(), 0, "{}", svg);
    }
}

proptest! {
    // Two million pixels each time.
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn every_chart_is_painted(chart in any_chart()) {
        decoded(&chart);
    }
}
