//! Content streams: which characters a page shows, and where.

use super::file::File;
use super::font::Font;
use super::lexer::{Lexer, is_blank};
use super::object::{Dict, Object, text_string};
use std::collections::HashMap;
use std::rc::Rc;

/// The most operands of an operator that are kept.
const OPERANDS: usize = 64;
/// The most saved states.
const SAVED: usize = 256;
/// Forms within forms that are read.
const DEEPEST: usize = 12;
/// The most runs of characters of one page.
const MOST_RUNS: usize = 200_000;

/// Characters that stand next to each other. Coordinates are turned so that they run to the right,
/// and y grows upwards.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub text: String,
    /// The left and the right end.
    pub x: (f64, f64),
    /// The line on which they stand.
    pub y: f64,
    /// The size of the font.
    pub size: f64,
    /// The direction of the line in quarter turns to the left.
    pub turns: u8,
}

/// A matrix `[a b c d e f]`.
#[derive(Clone, Copy, Debug)]
struct Matrix([f64; 6]);

impl Matrix {
    const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// This matrix, then another one.
    fn then(self, next: Self) -> Self {
        let ([a, b, c, d, e, f], [p, q, r, s, t, u]) = (self.0, next.0);
        Self([
            a * p + b * r,
            a * q + b * s,
            c * p + d * r,
            c * q + d * s,
            e * p + f * r + t,
            e * q + f * s + u,
        ])
    }

    fn apply(self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }

    fn of(numbers: &[f64]) -> Option<Self> {
        let found: [f64; 6] = numbers.try_into().ok()?;
        found
            .iter()
            .all(|one| one.is_finite())
            .then_some(Self(found))
    }
}

/// The graphics state as far as it concerns text.
#[derive(Clone)]
struct State {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    character_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

/// What marked content says of its text.
struct Marked {
    /// The text that stands for what is shown.
    actual: Option<String>,
    /// The extent of what is shown.
    shown: Option<Run>,
}

/// The interpreter of a page.
pub(super) struct Page<'f, 'b> {
    file: &'f File<'b>,
    /// Fonts by the number of their object.
    fonts: &'f mut HashMap<u32, Rc<Font>>,
    pub runs: Vec<Run>,
    /// Glyphs whose characters the font does not tell.
    pub unknown: usize,
    /// Whether the page shows a picture.
    pub has_picture: bool,
    state: State,
    saved: Vec<State>,
    line: Matrix,
    text: Matrix,
    marked: Vec<Marked>,
}

impl<'f, 'b> Page<'f, 'b> {
    pub fn new(file: &'f File<'b>, fonts: &'f mut HashMap<u32, Rc<Font>>) -> Self {
        Self {
            file,
            fonts,
            runs: Vec::new(),
            unknown: 0,
            has_picture: false,
            state: State {
                matrix: Matrix::IDENTITY,
                font: None,
                size: 0.0,
                character_space: 0.0,
                word_space: 0.0,
                scale: 1.0,
                leading: 0.0,
                rise: 0.0,
            },
            saved: Vec::new(),
            line: Matrix::IDENTITY,
            text: Matrix::IDENTITY,
            marked: Vec::new(),
        }
    }

    /// Runs a content stream with its resources.
    pub fn run(&mut self, content: &[u8], resources: &Dict, depth: usize) {
        let mut stream = Stream {
            resources,
            fonts: HashMap::new(),
            depth,
        };
        let mut lexer = Lexer::of_content(content);
        let mut operands: Vec<Object> = Vec::new();
        while let Some(object) = lexer.object() {
            let Object::Word(operator) = object else {
                if operands.len() < OPERANDS {
                    operands.push(object);
                }
                continue;
            };
            if operator == "BI" {
                skip_picture(content, &mut lexer);
            } else {
                self.operate(&operator, &operands, &mut stream);
            }
            operands.clear();
            if self.runs.len() >= MOST_RUNS {
                break;
            }
        }
    }

    fn operate(&mut self, operator: &str, operands: &[Object], stream: &mut Stream<'_>) {
        let number = |at: usize| operands.get(at).and_then(Object::number).unwrap_or(0.0);
        match operator {
            "q" if self.saved.len() < SAVED => self.saved.push(self.state.clone()),
            "Q" => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            "cm" => {
                if let Some(matrix) = matrix(operands) {
                    self.state.matrix = matrix.then(self.state.matrix);
                }
            }
            "BT" => {
                self.line = Matrix::IDENTITY;
                self.text = Matrix::IDENTITY;
            }
            "Tc" => self.state.character_space = number(0),
            "Tw" => self.state.word_space = number(0),
            "Tz" => self.state.scale = number(0) / 100.0,
            "TL" => self.state.leading = number(0),
            "Ts" => self.state.rise = number(0),
            "Tf" => {
                if let Some(name) = operands.first().and_then(Object::name) {
                    self.state.font = self.font(name, stream);
                }
                self.state.size = number(1);
            }
            "Td" => self.move_line(number(0), number(1)),
            "TD" => {
                self.state.leading = -number(1);
                self.move_line(number(0), number(1));
            }
            "Tm" => {
                if let Some(matrix) = matrix(operands) {
                    self.line = matrix;
                    self.text = matrix;
                }
            }
            "T*" => self.move_line(0.0, -self.state.leading),
            "Tj" => self.show_operand(operands.first()),
            "'" => {
                self.move_line(0.0, -self.state.leading);
                self.show_operand(operands.first());
            }
            "\"" => {
                self.state.word_space = number(0);
                self.state.character_space = number(1);
                self.move_line(0.0, -self.state.leading);
                self.show_operand(operands.get(2));
            }
            "TJ" => self.show_array(operands.first()),
            "Do" => {
                if let Some(name) = operands.first().and_then(Object::name) {
                    self.draw(name, stream);
                }
            }
            "BMC" => self.begin_marked(None),
            "BDC" => {
                let properties = self.properties(operands.get(1), stream);
                self.begin_marked(properties.as_ref());
            }
            "EMC" => self.end_marked(),
            _ => {}
        }
    }

    /// The font that the resources have under a name.
    fn font(&mut self, name: &str, stream: &mut Stream<'_>) -> Option<Rc<Font>> {
        if let Some(font) = stream.fonts.get(name) {
            return font.clone();
        }
        let fonts = self.file.dict(stream.resources.get("Font"));
        let named = fonts.as_ref().map(|fonts| fonts.get(name).clone());
        let known = match named {
            Some(Object::Reference(number)) => self.fonts.get(&number).cloned(),
            _ => None,
        };
        let font = known.or_else(|| {
            let named = named.as_ref()?;
            let font = Rc::new(Font::read(self.file, &self.file.dict(named)?));
            if let Object::Reference(number) = named {
                self.fonts.insert(*number, Rc::clone(&font));
            }
            Some(font)
        });
        stream.fonts.insert(name.to_owned(), font.clone());
        font
    }

    fn move_line(&mut self, x: f64, y: f64) {
        self.line = Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(self.line);
        self.text = self.line;
    }

    fn show_operand(&mut self, operand: Option<&Object>) {
        if let Some(text) = operand.and_then(Object::text) {
            self.show(text);
        }
    }

    fn show_array(&mut self, operand: Option<&Object>) {
        for item in operand.map_or(&[][..], Object::array) {
            match item {
                Object::Text(text) => self.show(text),
                Object::Number(back) => {
                    let State { size, scale, .. } = self.state;
                    self.advance(-back / 1000.0 * size * scale);
                }
                _ => {}
            }
        }
    }

    fn advance(&mut self, x: f64) {
        self.text = Matrix([1.0, 0.0, 0.0, 1.0, x, 0.0]).then(self.text);
    }

    /// Shows the glyphs of a string.
    fn show(&mut self, text: &[u8]) {
        let Some(font) = self.state.font.clone() else {
            return;
        };
        for glyph in font.glyphs(text) {
            let State {
                size, scale, rise, ..
            } = self.state;
            let whole = self.text.then(self.state.matrix);
            let start = whole.apply(0.0, rise);
            let width = glyph.width * size * scale;
            let end = whole.apply(width, rise);
            let up = whole.apply(0.0, rise + size);
            let height = (up.0 - start.0).hypot(up.1 - start.1);
            let along = whole.apply(scale.signum() * size.signum(), rise);
            let along = (along.0 - start.0, along.1 - start.1);
            self.place(glyph.text, start, end, height, along);
            let word = if glyph.is_space {
                self.state.word_space
            } else {
                0.0
            };
            self.advance(width + (self.state.character_space + word) * scale);
        }
    }

    /// Adds a glyph to the runs.
    fn place(
        &mut self,
        text: Option<String>,
        start: (f64, f64),
        end: (f64, f64),
        size: f64,
        along: (f64, f64),
    ) {
        let all = [start.0, start.1, end.0, end.1, size];
        if !all.iter().all(|one| one.is_finite() && one.abs() < 1e7) || size <= 0.0 {
            return;
        }
        let turns = turns(along);
        let (first, last) = (turned(start, turns), turned(end, turns));
        let run = Run {
            text: text.clone().unwrap_or_default(),
            x: (first.0.min(last.0), first.0.max(last.0)),
            y: first.1,
            size,
            turns,
        };
        if let Some(marked) = self.marked.iter_mut().find(|one| one.actual.is_some()) {
            match &mut marked.shown {
                Some(shown) => shown.x.1 = shown.x.1.max(run.x.1),
                None => marked.shown = Some(run),
            }
            return;
        }
        if text.is_none() {
            self.unknown += 1;
            return;
        }
        self.add(run);
    }

    /// Adds a run, or lengthens the last one if it goes on.
    fn add(&mut self, run: Run) {
        if let Some(last) = self.runs.last_mut() {
            let gap = run.x.0 - last.x.1;
            let goes_on = last.turns == run.turns
                && (last.y - run.y).abs() < 0.05 * run.size
                && (last.size - run.size).abs() < 0.1 * run.size
                && (-0.3 * run.size..0.12 * run.size).contains(&gap)
                && run.x.0 > last.x.0;
            if goes_on {
                last.text.push_str(&run.text);
                last.x.1 = last.x.1.max(run.x.1);
                return;
            }
        }
        self.runs.push(run);
    }

    /// The properties of marked content: a dictionary, or a name in the resources.
    fn properties(&self, operand: Option<&Object>, stream: &Stream<'_>) -> Option<Dict> {
        match operand? {
            Object::Dict(dict) => Some(dict.clone()),
            Object::Name(name) => {
                let all = self.file.dict(stream.resources.get("Properties"))?;
                self.file.dict(all.get(name))
            }
            _ => None,
        }
    }

    fn begin_marked(&mut self, properties: Option<&Dict>) {
        if self.marked.len() >= SAVED {
            return;
        }
        let actual = properties.and_then(|dict| dict.get("ActualText").text());
        self.marked.push(Marked {
            actual: actual.map(text_string),
            shown: None,
        });
    }

    fn end_marked(&mut self) {
        let Some(Marked { actual, shown }) = self.marked.pop() else {
            return;
        };
        if let (Some(text), Some(mut run)) = (actual, shown) {
            run.text = text;
            self.add(run);
        }
    }

    /// Draws a form, or notes a picture.
    fn draw(&mut self, name: &str, stream: &Stream<'_>) {
        let Some(all) = self.file.dict(stream.resources.get("XObject")) else {
            return;
        };
        let named = all.get(name);
        let kind = self.file.dict(named);
        let subtype = kind.as_ref().map(|dict| self.file.get(dict, "Subtype"));
        match subtype.as_ref().and_then(Object::name) {
            Some("Image") => {
                self.has_picture = true;
                return;
            }
            Some("Form") if stream.depth < DEEPEST => {}
            _ => return,
        }
        let Some((dict, content)) = self.file.stream(named) else {
            return;
        };
        let own = self.file.dict(dict.get("Resources"));
        let before = (self.state.clone(), self.saved.len(), self.line, self.text);
        if let Some(matrix) = matrix(self.file.get(&dict, "Matrix").array()) {
            self.state.matrix = matrix.then(self.state.matrix);
        }
        self.run(
            &content,
            own.as_ref().unwrap_or(stream.resources),
            stream.depth + 1,
        );
        self.saved.truncate(before.1);
        (self.state, self.line, self.text) = (before.0, before.2, before.3);
    }
}

/// A content stream that is run.
struct Stream<'r> {
    resources: &'r Dict,
    /// Its fonts by their names.
    fonts: HashMap<String, Option<Rc<Font>>>,
    /// The forms that it is in.
    depth: usize,
}

fn matrix(operands: &[Object]) -> Option<Matrix> {
    let numbers: Vec<f64> = operands.iter().filter_map(Object::number).collect();
    Matrix::of(&numbers)
}

/// The direction in quarter turns to the left.
fn turns((x, y): (f64, f64)) -> u8 {
    match (x.abs() >= y.abs(), x >= 0.0, y >= 0.0) {
        (true, true, _) => 0,
        (false, _, true) => 1,
        (true, false, _) => 2,
        (false, _, false) => 3,
    }
}

/// A place on a page that is turned so that a direction runs to the right.
fn turned((x, y): (f64, f64), turns: u8) -> (f64, f64) {
    match turns {
        0 => (x, y),
        1 => (y, -x),
        2 => (-x, -y),
        _ => (-y, x),
    }
}

/// Passes over the data of a picture in the stream, from `BI` to `EI`.
fn skip_picture(content: &[u8], lexer: &mut Lexer<'_>) {
    let mut at = lexer.at;
    while at + 2 <= content.len() {
        let is_end = &content[at..at + 2] == b"EI"
            && at > 0
            && is_blank(content[at - 1])
            && content.get(at + 2).is_none_or(|byte| is_blank(*byte));
        if is_end {
            break;
        }
        at += 1;
    }
    lexer.at = (at + 2).min(content.len());
}
