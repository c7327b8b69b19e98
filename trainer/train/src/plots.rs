//! Line charts of training and evaluation, as SVG. Output is deterministic.

use pel_io::files::{io_error, write_no_follow};
use pel_kb::error::{Error, Result};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A curve with its name and its points `(x, y)` in order.
///
/// A point with a non-finite value leaves a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

/// A line chart. Series differ in colour, dashes and markers, so that they can be distinguished in
/// print.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Title above the chart.
    pub title: String,
    /// Label of the x axis, with unit.
    pub x: String,
    /// Label of the y axis, with unit.
    pub y: String,
    /// The curves, in legend order.
    pub series: Vec<Series>,
    /// Range of y; default: the range of the points, extended to zero if near. Points outside are
    /// left out.
    pub y_range: Option<(f64, f64)>,
    /// Range of x; default: the range of the points.
    pub x_range: Option<(f64, f64)>,
    /// Whether the x axis is logarithmic. Points with x <= 0 are then left out.
    pub log_x: bool,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What drawing returns.
type Drawn<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The size of a chart, in units of the document.
const SIZE: (u32, u32) = (960, 540);
/// Positions are whole numbers of pixels, so that a unit has several.
const SCALE: i32 = 4;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GREY: RGBColor = RGBColor(0x55, 0x55, 0x55);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
/// The colour-blind safe palette of Okabe and Ito, without yellow, which is invisible on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x00, 0x00, 0x00),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
];
/// The lengths of a dash and of the gap behind it; none for a solid line. With 5 markers there are
/// 20 combinations.
const DASHES: [Option<(i32, i32)>; 4] = [None, Some((9, 4)), Some((3, 3)), Some((14, 4))];
const MARKERS: usize = 5;

const TITLE: i32 = 20;
const LABEL: i32 = 15;
const NUMBER: i32 = 13;
const LEGEND_ROW: i32 = 22;
const LEGEND_ROWS: i32 = 5;
const SWATCH: i32 = 36;
/// The most letters of a name in the legend, and of a title.
const LETTERS: usize = 80;
/// Curves up to this many points have a marker at each; others have a few.
const MARKED_POINTS: usize = 40;
const FEW_MARKERS: usize = 8;
/// A curve that climbs and falls by more heights of the chart than this is drawn pale and thin, so
/// that its mean stays visible.
const NOISE: f64 = 40.0;
/// Points of a curve that are drawn: the lowest and the highest of each group of points.
const DRAWN_POINTS: usize = 4_000;
/// Values beyond this are left out, and on a logarithmic axis those below its inverse.
const HUGE: f64 = 1e12;
const TINY: f64 = 1.0 / HUGE;
const X_LABELS: usize = 11;
const Y_LABELS: usize = 7;

impl Chart {
    /// Writes `stem.svg` (960 x 540 units) atomically.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, stem: &Path) -> Result<()> {
        // `with_extension` would cut a stem such as `margin-0.1`.
        let mut path = stem.as_os_str().to_owned();
        path.push(".svg");
        let path = PathBuf::from(path);
        let svg = self.svg()?;
        write_no_follow(&path, |file| {
            file.write_all(svg.as_bytes())
                .map_err(|cause| io_error("writing", &path, cause))
        })
    }

    /// The chart as an SVG document.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        let pixels = (SIZE.0 * SCALE as u32, SIZE.1 * SCALE as u32);
        let area = SVGBackend::with_string(&mut svg, pixels).into_drawing_area();
        self.draw(&area)
            .map_err(|cause| Error::io("drawing a chart").caused_by(cause))?;
        drop(area);
        let [large, small] =
            [pixels, SIZE].map(|(width, height)| format!("width=\"{width}\" height=\"{height}\""));
        Ok(svg.replacen(&large, &format!("{small} role=\"img\""), 1))
    }

    fn draw(&self, area: &Area<'_>) -> Drawn<()> {
        area.fill(&WHITE)?;
        let drawable = |value: f64| value.abs() <= HUGE;
        let shown = |&(x, y): &(f64, f64)| drawable(x) && drawable(y) && (!self.log_x || x >= TINY);
        let all = || {
            self.series
                .iter()
                .flat_map(|series| &series.points)
                .filter(|at| shown(at))
        };
        let default = if self.log_x { (1.0, 10.0) } else { (0.0, 1.0) };
        let mut x = range(self.x_range, all().map(|at| at.0), default, self.log_x);
        // The first step is 1, and the axis begins with 0.
        if self.x_range.is_none() && !self.log_x && x.start > 0.0 && x.start < x.end / 40.0 {
            x.start = 0.0;
        }
        let within = |at: &&(f64, f64)| x.start <= at.0 && at.0 <= x.end;
        let ys = all().filter(within).map(|at| at.1);
        let y = match range(self.y_range, ys, (0.0, 1.0), false) {
            y if self.y_range == Some((y.start, y.end)) => y,
            y => rounded(y, Y_LABELS - 1),
        };
        // Rounding must not leave out the labels at the ends.
        let log_axis = (x.start * (1.0 - 1e-9)..x.end * (1.0 + 1e-9)).log_scale();
        match self.log_x {
            true => self.draw_over(area, log_axis, x, y),
            false => self.draw_over(area, x.clone(), x, y),
        }
    }

    fn draw_over<X>(&self, area: &Area<'_>, axis: X, x: Range<f64>, y: Range<f64>) -> Drawn<()>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let margin = 28 * SCALE;
        let mut top = 14 * SCALE;
        let title = fitted(&self.title);
        if !title.is_empty() {
            area.draw_text(&title, &text(TITLE, INK).pos(left_top()), (margin, top))?;
            top += (TITLE + 12) * SCALE;
        }
        top = self.legend(area, margin, top)?;
        let (_, below) = area.split_vertically(top);
        let digits = [y.start, y.start + (y.end - y.start) / 4.0, y.end].map(|value| {
            let size = area.estimate_text_size(&number(&value), &text(NUMBER, GREY));
            size.map_or(0, |(width, _)| width as i32)
        });
        let digits = digits.into_iter().max().unwrap_or(0);
        let mut chart = ChartBuilder::on(&below)
            .margin_right(margin)
            .margin_top(8 * SCALE)
            .margin_left(12 * SCALE)
            .margin_bottom(8 * SCALE)
            .x_label_area_size(48 * SCALE)
            .y_label_area_size(digits + (LABEL + 26) * SCALE)
            .build_cartesian_2d(axis, y.clone())?;
        chart
            .configure_mesh()
            .x_labels(X_LABELS)
            .y_labels(Y_LABELS)
            .max_light_lines(1)
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(SCALE as u32))
            .axis_style(GREY.stroke_width(SCALE as u32))
            .set_all_tick_mark_size(5 * SCALE)
            .label_style(text(NUMBER, GREY))
            .axis_desc_style(text(LABEL, INK))
            .x_desc(fitted(&self.x))
            .y_desc(fitted(&self.y))
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .draw()?;
        let mut markers = Vec::new();
        let inside =
            |&(a, b): &(f64, f64)| x.start <= a && a <= x.end && y.start <= b && b <= y.end;
        for (at, series) in self.series.iter().enumerate() {
            let parts = series.points.chunk_by(|a, b| inside(a) && inside(b));
            let parts = parts.filter(|part| inside(&part[0]));
            let lines: Vec<_> = parts.clone().map(thinned).collect();
            let climbed = |part: &Vec<(f64, f64)>| {
                let steps = part.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs());
                steps.sum::<f64>()
            };
            let climbed = lines.iter().map(climbed).sum::<f64>();
            let noisy = climbed > NOISE * (y.end - y.start);
            // A point alone has a marker.
            for points in lines.into_iter().filter(|points| points.len() > 1) {
                let style = line(at, noisy);
                match DASHES[at % DASHES.len()].filter(|_| !noisy) {
                    None => drop(chart.draw_series(LineSeries::new(points, style))?),
                    Some((dash, gap)) => {
                        let (dash, gap) = (dash * SCALE, gap * SCALE);
                        chart.draw_series(DashedLineSeries::new(points, dash, gap, style))?;
                    }
                }
            }
            let seen: Vec<_> = parts.flatten().copied().collect();
            let every = match seen.len() {
                ..=MARKED_POINTS => 1,
                more => more.div_ceil(FEW_MARKERS),
            };
            // Other places for each series, so that markers of similar curves do not overlap.
            let first = every * at / self.series.len();
            let marked = seen.iter().skip(first).step_by(every);
            markers.extend(marked.map(|place| (chart.backend_coord(place), at)));
        }
        if markers.is_empty() {
            let (width, height) = below.dim_in_pixel();
            let place = (width as i32 / 2, height as i32 / 2);
            below.draw_text("no points", &text(LABEL, GREY).pos(middle()), place)?;
        }
        for (place, at) in markers {
            marker(area, place, at)?;
        }
        area.present()?;
        Ok(())
    }

    /// Draws the legend in rows from `top` and returns its lower end.
    fn legend(&self, area: &Area<'_>, left: i32, top: i32) -> Drawn<i32> {
        let style = text(LABEL, INK).pos(Pos::new(HPos::Left, VPos::Center));
        let right = area.dim_in_pixel().0 as i32 - left;
        let swatch = SWATCH * SCALE;
        let (mut x, mut y) = (left, top + LEGEND_ROW * SCALE / 2);
        for (at, series) in self.series.iter().enumerate() {
            let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
            let mut name = fitted(&series.name);
            if !series.points.iter().any(finite) {
                name += " (no points)";
            }
            let width = swatch + 8 * SCALE + area.estimate_text_size(&name, &style)?.0 as i32;
            if x > left && x + width > right {
                (x, y) = (left, y + LEGEND_ROW * SCALE);
            }
            if y > top + LEGEND_ROWS * LEGEND_ROW * SCALE {
                let more = format!("and {} more", self.series.len() - at);
                area.draw_text(&more, &style, (left, y))?;
                break;
            }
            area.draw(&PathElement::new(
                [(x, y), (x + swatch, y)],
                line(at, false),
            ))?;
            marker(area, (x + swatch / 2, y), at)?;
            area.draw_text(&name, &style, (x + swatch + 8 * SCALE, y))?;
            x += width + 28 * SCALE;
        }
        Ok(match self.series.is_empty() {
            true => top,
            false => y + LEGEND_ROW * SCALE / 2,
        })
    }
}

fn left_top() -> Pos {
    Pos::new(HPos::Left, VPos::Top)
}

fn middle() -> Pos {
    Pos::new(HPos::Center, VPos::Center)
}

/// The style of a text.
fn text(size: i32, colour: RGBColor) -> TextStyle<'static> {
    // The back end divides by 1.24.
    let size = f64::from(size * SCALE) * 1.24;
    ("Arial, 'Liberation Sans', Helvetica, sans-serif", size)
        .into_font()
        .color(&colour)
}

/// The line of series `at`, pale and thin if it is noisy.
fn line(at: usize, noisy: bool) -> ShapeStyle {
    let colour = COLOURS[at % COLOURS.len()];
    match noisy {
        true => colour.mix(0.5).stroke_width(SCALE as u32),
        false => colour.stroke_width(2 * SCALE as u32),
    }
}

/// Draws the marker of series `at`: circle, square, triangle, diamond or inverted triangle of
/// similar area.
fn marker(area: &Area<'_>, (x, y): (i32, i32), at: usize) -> Drawn<()> {
    let (corners, radius, turn) = [
        (16, 4.2, 0.0),
        (4, 5.3, 0.125),
        (3, 6.2, 0.75),
        (4, 5.8, 0.0),
        (3, 6.2, 0.25),
    ][at % MARKERS];
    for (border, colour) in [(1.0, WHITE), (0.0, COLOURS[at % COLOURS.len()])] {
        let length = (radius + border) * f64::from(SCALE);
        let corner = |n: u32| {
            let angle = (f64::from(n) / f64::from(corners) + turn) * std::f64::consts::TAU;
            let place = [angle.cos(), angle.sin()].map(|part| (length * part).round() as i32);
            (x + place[0], y + place[1])
        };
        let corners: Vec<_> = (0..corners).map(corner).collect();
        area.draw(&Polygon::new(corners, colour.filled()))?;
    }
    Ok(())
}

/// A range that was given, if it is valid, or that of the values, or the default without values.
fn range(
    given: Option<(f64, f64)>,
    values: impl Iterator<Item = f64>,
    default: (f64, f64),
    log: bool,
) -> Range<f64> {
    let least = |low: f64, high: f64| TINY.max(low.abs().max(high.abs()) * 1e-9);
    let is_wide = |low: f64, high: f64| high - low > least(low, high);
    let is_drawn = |&(low, high): &(f64, f64)| low.abs() <= HUGE && high.abs() <= HUGE;
    let valid = |at: &(f64, f64)| is_drawn(at) && is_wide(at.0, at.1) && (!log || at.0 >= TINY);
    if let Some((low, high)) = given.filter(valid) {
        return low..high;
    }
    match values.fold(None, |found, value| match found {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    }) {
        None => default.0..default.1,
        Some((low, high)) if is_wide(low, high) => low..high,
        Some((low, high)) if log => low / 2.0..high * 2.0,
        Some((0.0, 0.0)) => 0.0..1.0,
        Some((low, high)) => {
            let more = (10.0 * TINY).max(low.abs().max(high.abs()) / 10.0);
            low - more..high + more
        }
    }
}

/// Extends a range to zero if it is near, and to multiples of the step of its labels.
fn rounded(Range { start, end }: Range<f64>, labels: usize) -> Range<f64> {
    let start = if start > 0.0 && start < end / 4.0 {
        0.0
    } else {
        start
    };
    let end = if end < 0.0 && end > start / 4.0 {
        0.0
    } else {
        end
    };
    let least = (end - start) / labels as f64;
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    let step = step
        .into_iter()
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(least);
    (start / step + 1e-9).floor() * step..(end / step - 1e-9).ceil() * step
}

/// A number of an axis: up to 6 digits, thousands apart.
fn number(value: &f64) -> String {
    if *value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.3e}").replace('-', "−");
    }
    let digits = format!("{value:.6}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    digits.replace(
        '-',
        if digits.trim_start_matches('-') == "0" {
            ""
        } else {
            "−"
        },
    )
}

/// The lowest and the highest of each group of points, in order, so that the curve looks the same.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let width = (2 * points.len()).div_ceil(DRAWN_POINTS).max(1);
    if width == 1 {
        return points.to_vec();
    }
    let ends = |group: &[(f64, f64)]| {
        let by_y = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
        let ends = [group.iter().min_by(by_y), group.iter().max_by(by_y)];
        let mut ends: Vec<_> = ends.into_iter().flatten().copied().collect();
        ends.sort_by(|one, other| one.0.total_cmp(&other.0));
        ends.dedup();
        ends
    };
    points.chunks(width).flat_map(ends).collect()
}

/// A text on one line, without characters that XML forbids; the end of a long one is cut.
fn fitted(text: &str) -> String {
    let is_bad = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    let text = text.replace(is_bad, " ");
    let text = text.trim();
    match text.char_indices().nth(LETTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Centred running mean of y over `window` points, fewer at the ends; x is unchanged.
///
/// Non-finite values are ignored; y is NaN without finite values. An even window extends one point
/// further back.
pub fn smoothed(points: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    let window = window.max(1);
    let (back, ahead) = (window / 2, (window - 1) / 2);
    let mean = |at: usize| {
        let inside = &points[at.saturating_sub(back)..points.len().min(at + ahead + 1)];
        // A running sum would keep the rounding error of large values.
        let (count, sum) = inside
            .iter()
            .filter(|(_, y)| y.is_finite())
            .fold((0usize, 0.0), |(count, sum), (_, y)| (count + 1, sum + y));
        sum / count as f64
    };
    points
        .iter()
        .enumerate()
        .map(|(at, &(x, _))| (x, mean(at)))
        .collect()
}

#[cfg(test)]
mod tests;
