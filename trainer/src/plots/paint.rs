//! A chart as pixels, two a unit.

use super::font::Typeface;
use super::scene::{Anchor, Colour, SIZE, Scene, Shape, Stroke};
use pel_shared::error::{Error, Result};
use tiny_skia::{Color, FillRule, LineJoin, Paint, PathBuilder, Pixmap, StrokeDash, Transform};

const PIXELS: f32 = 2.0;

/// Paints a scene on white.
pub(super) fn painted(scene: &Scene, typeface: &Typeface) -> Result<Pixmap> {
    let pixels = |units: f64| (units as f32 * PIXELS) as u32;
    let mut picture =
        Pixmap::new(pixels(SIZE.0), pixels(SIZE.1)).ok_or_else(|| Error::io("a chart too large to be painted"))?;
    picture.fill(Color::WHITE);
    for shape in &scene.shapes {
        match shape {
            Shape::Path { points, closed, fill, stroke } => {
                let mut path = PathBuilder::new();
                for (n, &(x, y)) in points.iter().enumerate() {
                    if n == 0 { path.move_to(x as f32, y as f32) } else { path.line_to(x as f32, y as f32) }
                }
                if *closed {
                    path.close();
                }
                // A path without length paints nothing.
                let Some(path) = path.finish() else { continue };
                let scaled = Transform::from_scale(PIXELS, PIXELS);
                if let Some(colour) = fill {
                    picture.fill_path(&path, &paint(*colour), FillRule::Winding, scaled, None);
                }
                if let Some(stroke) = stroke {
                    picture.stroke_path(&path, &paint(stroke.colour), &pen(stroke), scaled, None);
                }
            }
            Shape::Text { text, at, size, anchor, colour, upwards } => {
                let Some(path) = typeface.outline(text, *size) else { continue };
                let before = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => typeface.width(text, *size) / 2.0,
                    Anchor::End => typeface.width(text, *size),
                };
                let turn = if *upwards { Transform::from_rotate(-90.0) } else { Transform::identity() };
                let placed = turn.pre_translate(-before as f32, 0.0).post_translate(at.0 as f32, at.1 as f32);
                let scaled = placed.post_scale(PIXELS, PIXELS);
                picture.fill_path(&path, &paint(*colour), FillRule::Winding, scaled, None);
            }
        }
    }
    Ok(picture)
}

fn paint([red, green, blue]: Colour) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, 0xff);
    paint
}

fn pen(stroke: &Stroke) -> tiny_skia::Stroke {
    let lengths = stroke.dash.iter().map(|&length| length as f32).collect();
    tiny_skia::Stroke {
        width: stroke.width as f32,
        line_join: LineJoin::Round,
        // No dashes gives `None`: a solid line.
        dash: StrokeDash::new(lengths, 0.0),
        ..tiny_skia::Stroke::default()
    }
}
