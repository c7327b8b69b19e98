//! The layout of a chart: every line, marker and text with its position.

use super::Chart;
use super::letters;
use super::scale::{Scale, Tick};
use super::trace::{Place, inside, is_inside, thinned};

/// Size of a chart. Positions are in these units from the top left, y downwards.
pub(super) const SIZE: (f64, f64) = (960.0, 540.0);

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

const INK: Colour = [0x22, 0x22, 0x22];
const GREY: Colour = [0x55, 0x55, 0x55];
const GRID: Colour = [0xdd, 0xdd, 0xdd];
const PAPER: Colour = [0xff, 0xff, 0xff];

/// The colour-blind safe palette of Okabe and Ito, without yellow, which is invisible on white.
const COLOURS: [Colour; 7] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0x00, 0x00, 0x00],
    [0xe6, 0x9f, 0x00],
    [0x56, 0xb4, 0xe9],
];
/// Dash patterns. With 5 markers there are 20 combinations.
const DASHES: [&[f64]; 4] = [&[], &[9.0, 4.0], &[2.5, 2.5], &[10.0, 3.0, 2.5, 3.0]];
const MARKERS: usize = 5;

const TITLE: f64 = 20.0;
const LABEL: f64 = 15.0;
const NUMBER: f64 = 13.0;
const LEGEND_ROW: f64 = 22.0;
const LEGEND_ROWS: usize = 5;
const SWATCH: f64 = 36.0;
const X_TICKS: usize = 10;
const Y_TICKS: usize = 6;
/// Curves up to this many points have a marker at each; others one every `MARKER_STEP`.
const MARKED_POINTS: usize = 40;
const MARKER_STEP: f64 = 120.0;
/// A curve whose vertical path exceeds this many frame widths is drawn as noise.
const NOISE: f64 = 25.0;

/// A shape to draw; later ones cover earlier ones.
pub(super) enum Shape {
    /// A polyline.
    Path {
        points: Vec<Place>,
        closed: bool,
        fill: Option<Colour>,
        stroke: Option<Stroke>,
    },
    /// A text with its anchor on the baseline.
    Text {
        text: String,
        at: Place,
        size: f64,
        anchor: Anchor,
        colour: Colour,
        upwards: bool,
    },
}

/// The style of a line.
pub(super) struct Stroke {
    pub colour: Colour,
    pub width: f64,
    /// Dash pattern; empty for a solid line.
    pub dash: &'static [f64],
}

/// The anchor of a text.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The layout of a chart.
pub(super) struct Scene {
    pub title: String,
    pub shapes: Vec<Shape>,
}

/// The area of the curves.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, place: f64) -> f64 {
        self.left + place * (self.right - self.left)
    }

    fn y(&self, place: f64) -> f64 {
        self.bottom - place * (self.bottom - self.top)
    }
}

/// Lays a chart out.
pub(super) fn lay_out(chart: &Chart) -> Scene {
    let points = || {
        chart
            .series
            .iter()
            .flat_map(|series| series.points.iter().copied())
    };
    let xs = points().filter(|(_, y)| y.is_finite()).map(|(x, _)| x);
    let x_scale = Scale::from_range(chart.x_range, chart.log_x)
        .unwrap_or_else(|| Scale::of(xs, chart.log_x).rounded(X_TICKS, 0.03));
    let shown = |x: f64| {
        x_scale
            .place(x)
            .is_some_and(|place| (0.0..=1.0).contains(&place))
    };
    let ys = points().filter(|&(x, _)| shown(x)).map(|(_, y)| y);
    let y_scale = Scale::from_range(chart.y_range, false)
        .unwrap_or_else(|| Scale::of(ys, false).to_zero().rounded(Y_TICKS, 1.0));

    let mut shapes = Vec::new();
    let y_ticks = y_scale.ticks(Y_TICKS);
    let widest = |ticks: &[Tick]| {
        ticks
            .iter()
            .map(|tick| letters::width(&tick.label, NUMBER))
            .fold(0.0, f64::max)
    };
    let left = 24.0 + LABEL + widest(&y_ticks) + 8.0;
    let right = SIZE.0 - 28.0;
    let title = clean(&chart.title);
    let mut top = 16.0;
    if !title.is_empty() {
        top += TITLE;
        let text = letters::fitted(&title, TITLE, right - left);
        shapes.push(Shape::Text {
            text,
            at: (left, top),
            size: TITLE,
            anchor: Anchor::Start,
            colour: INK,
            upwards: false,
        });
        top += 10.0;
    }
    top += legend(chart, (left, right), top, &mut shapes) + 12.0;
    let frame = Frame {
        left,
        right,
        top,
        bottom: SIZE.1 - 64.0,
    };

    let mut most = X_TICKS;
    let mut x_ticks = x_scale.ticks(most);
    // Labels need some space between them.
    while most > 3 && (widest(&x_ticks) + 22.0) * x_ticks.len() as f64 > right - left {
        most -= 1;
        x_ticks = x_scale.ticks(most);
    }
    axes(chart, &frame, &x_ticks, &y_ticks, &mut shapes);
    curves(chart, &frame, &x_scale, &y_scale, &mut shapes);
    Scene { title, shapes }
}

/// Draws the legend in rows from `top` and returns its height.
fn legend(chart: &Chart, (left, right): (f64, f64), top: f64, shapes: &mut Vec<Shape>) -> f64 {
    let (mut x, mut row) = (left, 0);
    for (at, series) in chart.series.iter().enumerate() {
        let mut name = clean(&series.name);
        if !series
            .points
            .iter()
            .any(|(x, y)| x.is_finite() && y.is_finite())
        {
            name += " (no points)";
        }
        let name = letters::fitted(&name, LABEL, right - left - SWATCH - 8.0);
        let width = SWATCH + 8.0 + letters::width(&name, LABEL);
        if x > left && x + width > right {
            (x, row) = (left, row + 1);
        }
        let middle = top + LEGEND_ROW * (row as f64 + 0.5);
        let label = |x, text| Shape::Text {
            text,
            at: (x, middle + 5.0),
            size: LABEL,
            anchor: Anchor::Start,
            colour: INK,
            upwards: false,
        };
        if row == LEGEND_ROWS {
            shapes.push(label(left, format!("and {} more", chart.series.len() - at)));
            break;
        }
        shapes.push(line(vec![(x, middle), (x + SWATCH, middle)], at, false));
        shapes.push(marker((x + SWATCH / 2.0, middle), at));
        shapes.push(label(x + SWATCH + 8.0, name));
        x += width + 28.0;
    }
    if chart.series.is_empty() {
        0.0
    } else {
        LEGEND_ROW * (row as f64 + 1.0)
    }
}

/// Draws grid, tick labels, axes and axis labels.
fn axes(chart: &Chart, frame: &Frame, x_ticks: &[Tick], y_ticks: &[Tick], shapes: &mut Vec<Shape>) {
    let straight = |from: Place, to: Place, colour: Colour| Shape::Path {
        points: vec![from, to],
        closed: false,
        fill: None,
        stroke: Some(Stroke {
            colour,
            width: 1.0,
            dash: &[],
        }),
    };
    let label = |text: String, at: Place, size: f64, anchor: Anchor, upwards: bool| {
        let colour = if size == NUMBER { GREY } else { INK };
        Shape::Text {
            text,
            at,
            size,
            anchor,
            colour,
            upwards,
        }
    };
    for tick in y_ticks {
        let y = frame.y(tick.at);
        shapes.push(straight((frame.left, y), (frame.right, y), GRID));
        shapes.push(label(
            tick.label.clone(),
            (frame.left - 8.0, y + 4.5),
            NUMBER,
            Anchor::End,
            false,
        ));
    }
    for tick in x_ticks {
        let x = frame.x(tick.at);
        shapes.push(straight((x, frame.top), (x, frame.bottom), GRID));
        shapes.push(straight((x, frame.bottom), (x, frame.bottom + 5.0), GREY));
        // Keeps a wide last label inside the chart.
        let half = letters::width(&tick.label, NUMBER) / 2.0;
        let at = (x.min(SIZE.0 - 4.0 - half), frame.bottom + 20.0);
        shapes.push(label(tick.label.clone(), at, NUMBER, Anchor::Middle, false));
    }
    shapes.push(straight(
        (frame.left, frame.top),
        (frame.left, frame.bottom),
        GREY,
    ));
    shapes.push(straight(
        (frame.left, frame.bottom),
        (frame.right, frame.bottom),
        GREY,
    ));
    let (middle, height) = ((frame.left + frame.right) / 2.0, frame.bottom - frame.top);
    let text = letters::fitted(&clean(&chart.x), LABEL, frame.right - frame.left);
    shapes.push(label(
        text,
        (middle, SIZE.1 - 16.0),
        LABEL,
        Anchor::Middle,
        false,
    ));
    let text = letters::fitted(&clean(&chart.y), LABEL, height);
    shapes.push(label(
        text,
        (12.0 + LABEL, frame.top + height / 2.0),
        LABEL,
        Anchor::Middle,
        true,
    ));
}

/// Draws all lines, then all markers.
fn curves(chart: &Chart, frame: &Frame, x_scale: &Scale, y_scale: &Scale, shapes: &mut Vec<Shape>) {
    let to_chart = |(x, y): Place| (frame.x(x), frame.y(y));
    let mut markers = Vec::new();
    let mut empty = true;
    for (at, series) in chart.series.iter().enumerate() {
        let places = series
            .points
            .iter()
            .map(|&(x, y)| Some((x_scale.place(x)?, y_scale.place(y)?)));
        let parts = inside(places.clone())
            .into_iter()
            .map(|part| part.into_iter().map(to_chart).collect::<Vec<_>>());
        let parts: Vec<_> = parts.map(|part| thinned(&part, 0.5)).collect();
        empty &= parts.is_empty();
        let climbed = |part: &Vec<Place>| {
            part.windows(2)
                .map(|pair| (pair[1].1 - pair[0].1).abs())
                .sum::<f64>()
        };
        let noisy = parts.iter().map(climbed).sum::<f64>() > NOISE * (frame.right - frame.left);
        for part in parts {
            if let [alone] = part[..] {
                markers.push(marker(alone, at));
            } else {
                shapes.push(line(part, at, noisy));
            }
        }
        let seen: Vec<Place> = places
            .flatten()
            .filter(|&place| is_inside(place))
            .map(to_chart)
            .collect();
        let step = if seen.len() <= MARKED_POINTS {
            0.0
        } else {
            MARKER_STEP
        };
        // Offset per series, so that markers of similar curves do not overlap.
        let mut left = step * at as f64 / chart.series.len() as f64;
        let mut last = seen.first().map_or(0.0, |place| place.0);
        for place in seen {
            // Distance along x only, since noisy curves have long paths.
            if (place.0 - last).abs() >= left {
                markers.push(marker(place, at));
                (last, left) = (place.0, step);
            }
        }
    }
    if empty {
        let at = (
            (frame.left + frame.right) / 2.0,
            (frame.top + frame.bottom) / 2.0,
        );
        let text = "no points".to_owned();
        shapes.push(Shape::Text {
            text,
            at,
            size: LABEL,
            anchor: Anchor::Middle,
            colour: GREY,
            upwards: false,
        });
    }
    shapes.append(&mut markers);
}

/// A line of series `at`; noise is pale and thin, so that its mean stays visible.
fn line(points: Vec<Place>, at: usize, noisy: bool) -> Shape {
    let (colour, dash) = (COLOURS[at % COLOURS.len()], DASHES[at % DASHES.len()]);
    let stroke = if noisy {
        Stroke {
            colour: colour.map(|part| 0xff - (0xff - part) / 2),
            width: 1.0,
            dash: &[],
        }
    } else {
        Stroke {
            colour,
            width: 2.0,
            dash,
        }
    };
    Shape::Path {
        points,
        closed: false,
        fill: None,
        stroke: Some(stroke),
    }
}

/// The marker of series `at`: circle, square, triangle, diamond or inverted triangle of similar
/// area.
fn marker((x, y): Place, at: usize) -> Shape {
    let (corners, radius, turn) = [
        (16, 4.2, 0.0),
        (4, 5.3, 0.125),
        (3, 6.2, 0.75),
        (4, 5.8, 0.0),
        (3, 6.2, 0.25),
    ][at % MARKERS];
    let corner = |n: usize| {
        let angle = (n as f64 / f64::from(corners) + turn) * std::f64::consts::TAU;
        (x + radius * angle.cos(), y + radius * angle.sin())
    };
    Shape::Path {
        points: (0..corners as usize).map(corner).collect(),
        closed: true,
        fill: Some(COLOURS[at % COLOURS.len()]),
        stroke: Some(Stroke {
            colour: PAPER,
            width: 1.0,
            dash: &[],
        }),
    }
}

/// Text on one line without characters that XML forbids.
fn clean(text: &str) -> String {
    let one_line = text.replace(
        |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}'),
        " ",
    );
    one_line.trim().to_owned()
}
