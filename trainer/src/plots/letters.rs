//! Estimates the width of a text before a browser chooses its font.
//!
//! A browser takes the first installed font of the list in [`super::svg`]. Widths here are those of
//! the wider of Arial and DejaVu Sans, rounded up per class of letters, so that text fits with
//! either.

/// The width of `text` in units of `size`.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// Cuts `text` to width `limit` with an ellipsis if it is wider.
pub(super) fn fitted(text: &str, size: f64, limit: f64) -> String {
    if width(text, size) <= limit {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut left = limit - width("…", size);
    for letter in text.chars() {
        left -= advance(letter) * size;
        if left < 0.0 {
            break;
        }
        cut.push(letter);
    }
    format!("{}…", cut.trim_end())
}

/// The width of a letter in units of the font size.
fn advance(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '\'' => 0.3,
        ' ' | ',' | '.' | '/' | ':' | ';' | '\\' | 'f' | '|' => 0.36,
        '!' | '(' | ')' | '-' | '[' | ']' | 'r' | 't' | '·' => 0.42,
        '"' | '*' | '?' | 'J' | '_' | 'c' | 's' | 'z' => 0.56,
        '0'..='9' | 'a'..='z' | '$' | '`' | '{' | '}' if !matches!(letter, 'm' | 'w') => 0.64,
        'E' | 'F' | 'L' | 'P' | 'S' | 'T' | 'Y' | 'Z' => 0.69,
        'A' | 'B' | 'C' | 'K' | 'R' | 'V' | 'X' => 0.73,
        'D' | 'G' | 'H' | 'N' | 'O' | 'Q' | 'U' | '&' => 0.79,
        'w' | 'M' | '#' | '+' | '<' | '=' | '>' | '^' | '~' => 0.87,
        // Latin, Greek and Cyrillic letters with and without marks.
        '\u{a0}'..='\u{52f}' => 0.87,
        // 'm', 'W', '%', '@', the ellipsis, and CJK letters.
        _ => 1.02,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_cover_arial_and_dejavu_sans() {
        // Widths of printable ASCII in Helvetica and Arial, in thousandths, from Adobe's Core 14
        // metrics.
        let arial: [u16; 95] = [
            278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556,
            556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667,
            667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722,
            667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500,
            556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278,
            556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
        ];
        // Widths in DejaVu Sans, measured by Chromium.
        let dejavu: [u16; 95] = [
            318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636,
            636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684,
            686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695,
            635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550,
            635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392,
            634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
        ];
        for (letter, (arial, dejavu)) in (' '..='~').zip(arial.into_iter().zip(dejavu)) {
            let (found, least) = (advance(letter), f64::from(arial.max(dejavu)) / 1000.0);
            assert!(
                found >= least && found < least + 0.15,
                "{letter:?}: {found}, {least} in a font"
            );
        }
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(fitted("loss", 10.0, 40.0), "loss");
        let cut = fitted("a long title", 10.0, 40.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 40.0, "{cut}");
        assert_eq!(fitted("loss", 10.0, 0.0), "…");
    }
}
