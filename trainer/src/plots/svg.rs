//! Renders a chart as SVG. Text stays text, which can be searched and read aloud.

use super::scene::{Anchor, Colour, SIZE, Scene, Shape};

/// Fonts no wider than assumed in [`super::letters`].
const FONTS: &str = "Arial, 'Liberation Sans', Helvetica, 'DejaVu Sans', sans-serif";

/// Renders a scene.
pub(super) fn render(scene: &Scene) -> String {
    let (width, height) = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONTS}\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        escaped(&scene.title)
    );
    for shape in &scene.shapes {
        svg += &match shape {
            Shape::Path {
                points,
                closed,
                fill,
                stroke,
            } => {
                let mut element = String::from("<path d=\"");
                for (n, &(x, y)) in points.iter().enumerate() {
                    element += &format!(
                        "{}{} {}",
                        if n == 0 { "M" } else { "L" },
                        short(x),
                        short(y)
                    );
                }
                let fill = fill.map_or("none".to_owned(), hex);
                element += &format!("{}\" fill=\"{fill}\"", if *closed { "Z" } else { "" });
                if let Some(stroke) = stroke {
                    element += &format!(
                        " stroke=\"{}\" stroke-width=\"{}\"",
                        hex(stroke.colour),
                        short(stroke.width)
                    );
                    element += " stroke-linejoin=\"round\"";
                    if !stroke.dash.is_empty() {
                        let lengths: Vec<String> = stroke.dash.iter().copied().map(short).collect();
                        element += &format!(" stroke-dasharray=\"{}\"", lengths.join(" "));
                    }
                }
                element + "/>\n"
            }
            Shape::Text {
                text,
                at: (x, y),
                size,
                anchor,
                colour,
                upwards,
            } => {
                let (x, y) = (short(*x), short(*y));
                let place = if *upwards {
                    format!("transform=\"translate({x} {y}) rotate(-90)\"")
                } else {
                    format!("x=\"{x}\" y=\"{y}\"")
                };
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let (size, colour, text) = (short(*size), hex(*colour), escaped(text));
                format!(
                    "<text {place} font-size=\"{size}\" text-anchor=\"{anchor}\" \
                     fill=\"{colour}\">{text}</text>\n"
                )
            }
        };
    }
    svg + "</svg>\n"
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Two decimals suffice for any screen and hide differences between machines.
fn short(value: f64) -> String {
    let written = format!("{value:.2}");
    written
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
