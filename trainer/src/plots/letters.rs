//! How wide a text will be, before a browser chooses its font.
//!
//! The widths are those of Arial, rounded up within each class of letters. Every font of [`super::svg`]'s list has the
//! widths of Arial or narrower ones, so that a text never needs more room than was left for it.

/// The width of `text`, in the unit of `size`.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// `text`, cut to `room` with an ellipsis if it is wider.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut left = room - width("…", size);
    for letter in text.chars() {
        left -= advance(letter) * size;
        if left < 0.0 {
            break;
        }
        cut.push(letter);
    }
    format!("{}…", cut.trim_end())
}

/// The width of a letter, in its size.
fn advance(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' => 0.23,
        ' ' | '!' | ',' | '.' | '/' | ':' | ';' | '\\' | '[' | ']' | '|' | 'f' | 't' | 'I' | '·' => 0.28,
        '"' | '(' | ')' | '-' | '`' | 'r' | '{' | '}' => 0.36,
        'J' | 'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' | '^' => 0.5,
        '0'..='9' | 'a'..='z' if !matches!(letter, 'm' | 'w') => 0.56,
        '#' | '$' | '*' | '+' | '<' | '=' | '>' | '?' | '_' | '~' => 0.59,
        'F' | 'L' | 'T' | 'Z' => 0.62,
        'A' | 'B' | 'E' | 'K' | 'P' | 'S' | 'V' | 'X' | 'Y' | '&' => 0.67,
        'w' | 'C' | 'D' | 'H' | 'N' | 'R' | 'U' => 0.73,
        'G' | 'O' | 'Q' => 0.78,
        'm' | 'M' => 0.84,
        // Latin, Greek and Cyrillic letters with and without marks.
        '\u{a0}'..='\u{52f}' => 0.84,
        // Also '%', '@', 'W', the ellipsis, and the letters of Chinese, Japanese and Korean.
        _ => 1.02,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_width_is_below_that_of_arial() {
        // Advance widths of Helvetica's printable ASCII, in thousandths, which Arial has too; from Adobe's Core 14 metrics.
        let arial: [u16; 95] = [
            278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
            556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
            500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
            556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
            278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
        ];
        for (letter, thousandths) in (' '..='~').zip(arial) {
            let (found, least) = (advance(letter), f64::from(thousandths) / 1000.0);
            assert!(found >= least && found < least + 0.22, "{letter:?}: {found}, {least} in Arial");
        }
    }

    #[test]
    fn text_is_cut_to_the_room() {
        assert_eq!(fitted("loss", 10.0, 30.0), "loss");
        let cut = fitted("a long title", 10.0, 40.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 40.0, "{cut}");
        assert_eq!(fitted("loss", 10.0, 0.0), "…");
    }
}
