//! Widths of the fonts that every reader has, for files that do not state them.

/// The widths of Helvetica for the characters from the space to the tilde, in 1/1000 of the size.
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 222, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 222, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// The widths of Times for the same characters.
const TIMES: [u16; 95] = [
    250, 333, 408, 500, 500, 833, 778, 333, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500,
    500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611,
    556, 722, 722, 333, 389, 722, 611, 889, 722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722,
    722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500,
    278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
];

/// The width of every character of Courier.
const COURIER: f64 = 0.6;
/// The width of other characters.
const OTHER: f64 = 0.556;
/// How much wider bold characters are.
const BOLD: f64 = 1.05;

/// The width of a character in a font of this name, in parts of its size.
pub(super) fn width(font: &str, c: char) -> f64 {
    let font = font.to_ascii_lowercase();
    let is = |names: &[&str]| names.iter().any(|name| font.contains(name));
    if is(&["courier", "mono", "consol"]) {
        return COURIER;
    }
    let table = match is(&["times", "serif", "roman", "georgia", "garamond"]) {
        true => &TIMES,
        false => &HELVETICA,
    };
    let known = u32::from(c)
        .checked_sub(0x20)
        .and_then(|at| table.get(at as usize));
    let plain = known.map_or(OTHER, |width| f64::from(*width) / 1000.0);
    match is(&["bold", "black", "heavy"]) {
        true => plain * BOLD,
        false => plain,
    }
}
