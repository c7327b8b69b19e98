//! Line charts of training and evaluation, as SVG.
//!
//! `scene` lays a chart out in paths and text, and `svg` writes these down. The same chart gives the same bytes.

mod letters;
mod scale;
mod scene;
mod svg;
mod trace;

use crate::io::files::{io_error, write_own};
use pel_shared::error::Result;
use std::path::{Path, PathBuf};

/// One curve: its name for the legend, and its points `(x, y)` in the order in which they are joined.
///
/// A point that is not finite is left out and the curve has a gap there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// The points, in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

/// A line chart. Series differ by colour, by dashes and by markers, so that they can be told apart in print.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// What stands above it.
    pub title: String,
    /// What the x axis says, with its unit.
    pub x: String,
    /// What the y axis says, with its unit.
    pub y: String,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
    /// Lowest and highest y; without it the range of the points, with zero where that is near. Curves are cut at the frame.
    pub y_range: Option<(f64, f64)>,
    /// Lowest and highest x; without it the range of the points.
    pub x_range: Option<(f64, f64)>,
    /// Whether the x axis is logarithmic; points whose x is not positive are then left out.
    pub log_x: bool,
}

impl Chart {
    /// Writes `stem.svg` (960 x 540 units), whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, stem: &Path) -> Result<()> {
        // Not `with_extension`, which would cut a stem such as `margin-0.1`.
        let mut path = stem.as_os_str().to_owned();
        path.push(".svg");
        let path = PathBuf::from(path);
        let svg = self.svg();
        write_own(&path, |file| file.write_all(svg.as_bytes()).map_err(|cause| io_error("writing", &path, cause)))
    }

    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        svg::render(&scene::lay_out(self))
    }
}

/// Running mean of y over `window` points centred on each point (fewer at the ends, at least one); x stays.
///
/// Values that are not finite do not count; y is NaN where none counts. An even window reaches one point further back.
pub fn smoothed(points: &[(f64, f64)], window: usize) -> Vec<(f64, f64)> {
    let window = window.max(1);
    let (back, ahead) = (window / 2, (window - 1) / 2);
    let mean = |at: usize| {
        let inside = &points[at.saturating_sub(back)..points.len().min(at + ahead + 1)];
        // Summed anew for every point: a running sum would carry the rounding error of a spike along.
        let (count, sum) = inside
            .iter()
            .filter(|(_, y)| y.is_finite())
            .fold((0usize, 0.0), |(count, sum), (_, y)| (count + 1, sum + y));
        sum / count as f64
    };
    points.iter().enumerate().map(|(at, &(x, _))| (x, mean(at))).collect()
}

#[cfg(test)]
mod tests;
