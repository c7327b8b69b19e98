//! The font of the charts: how wide a text is, and the outlines of its letters.

use pel_shared::error::{Error, Result};
use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, MetadataProvider};
use tiny_skia::{Path, PathBuilder};

/// Open Sans Regular, under the Apache License 2.0, which lies beside it.
const OPEN_SANS: &[u8] = include_bytes!("../../assets/open-sans/OpenSans-Regular.ttf");

/// The built-in font, ready to measure and to draw.
pub(super) struct Typeface {
    font: FontRef<'static>,
}

impl Typeface {
    /// Reads the font that is compiled in.
    pub fn built_in() -> Result<Self> {
        let font = FontRef::new(OPEN_SANS)
            .map_err(|cause| Error::artifact("reading the built-in font").caused_by(cause.to_string()))?;
        Ok(Self { font })
    }

    /// How wide `text` is, in the unit of `size`.
    pub fn width(&self, text: &str, size: f64) -> f64 {
        let metrics = self.font.glyph_metrics(Size::new(size as f32), LocationRef::default());
        let letters = self.font.charmap();
        let advance = |letter| metrics.advance_width(letters.map(letter).unwrap_or_default()).unwrap_or(0.0);
        text.chars().map(|letter| f64::from(advance(letter))).sum()
    }

    /// `text`, cut to `width` with an ellipsis if it is wider.
    pub fn fitted(&self, text: &str, size: f64, width: f64) -> String {
        if self.width(text, size) <= width {
            return text.to_owned();
        }
        let mut cut = String::new();
        let mut left = width - self.width("…", size);
        for letter in text.chars() {
            left -= self.width(letter.encode_utf8(&mut [0; 4]), size);
            if left < 0.0 {
                break;
            }
            cut.push(letter);
        }
        format!("{}…", cut.trim_end())
    }

    /// The outlines of `text` from the start of its base line, y downwards; `None` if it is blank.
    pub fn outline(&self, text: &str, size: f64) -> Option<Path> {
        let (size, everywhere) = (Size::new(size as f32), LocationRef::default());
        let metrics = self.font.glyph_metrics(size, everywhere);
        let (letters, outlines) = (self.font.charmap(), self.font.outline_glyphs());
        let mut pen = Pen { path: PathBuilder::new(), x: 0.0 };
        for letter in text.chars() {
            let glyph = letters.map(letter).unwrap_or_default();
            if let Some(outline) = outlines.get(glyph) {
                // A glyph that cannot be drawn leaves its space: a chart without it is better than none.
                let _ = outline.draw(DrawSettings::unhinted(size, everywhere), &mut pen);
            }
            pen.x += metrics.advance_width(glyph).unwrap_or(0.0);
        }
        pen.path.finish()
    }
}

/// Collects outlines, each moved to its letter's x and turned over: a font's y points up.
struct Pen {
    path: PathBuilder,
    x: f32,
}

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x + x, -y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x + x, -y);
    }

    fn quad_to(&mut self, cx0: f32, cy0: f32, x: f32, y: f32) {
        self.path.quad_to(self.x + cx0, -cy0, self.x + x, -y);
    }

    fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32) {
        self.path.cubic_to(self.x + cx0, -cy0, self.x + cx1, -cy1, self.x + x, -y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
