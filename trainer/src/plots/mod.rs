//! Line charts of training and evaluation, as SVG.
//!
//! `scene` lays out a chart as paths and texts, and `svg` renders them. Output is deterministic.

mod letters;
mod scale;
mod scene;
mod svg;
mod trace;

use crate::io::files::{io_error, write_no_follow};
use pel_shared::error::Result;
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
    /// Range of y; default: the range of the points, extended to zero if near. Curves are clipped.
    pub y_range: Option<(f64, f64)>,
    /// Range of x; default: the range of the points.
    pub x_range: Option<(f64, f64)>,
    /// Whether the x axis is logarithmic. Points with x <= 0 are then dropped.
    pub log_x: bool,
}

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
        let svg = self.svg();
        write_no_follow(&path, |file| {
            file.write_all(svg.as_bytes())
                .map_err(|cause| io_error("writing", &path, cause))
        })
    }

    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        svg::render(&scene::lay_out(self))
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
