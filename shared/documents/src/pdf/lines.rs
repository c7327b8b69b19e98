//! Runs of characters to lines in the order in which they are read.
//!
//! Rows of tables are read across, with a tab between their cells: "Na  140". Columns of prose are
//! read one after the other. Which of both it is, the length of the lines beside a gap tells.

use super::content::Run;
use crate::html::raised;
use std::collections::VecDeque;

/// Gaps in parts of the size of the font: from here on words, and cells, are apart.
const WORD: f64 = 0.15;
const CELL: f64 = 1.0;
/// A gap between columns is at least this wide.
const GUTTER: f64 = 0.9;
/// The least lines and characters a line of a column of prose.
const COLUMN: (usize, usize) = (5, 22);
/// The distance of lines, in parts of the size of the font, that leaves a line empty.
const EMPTY: f64 = 1.7;
/// The most lines of a column: pages have fewer.
const LONGEST: usize = 300;
/// Columns within columns that are looked for.
const DEEPEST: usize = 4;

/// Runs that stand in one line, next to each other.
#[derive(Debug)]
struct Segment<'r> {
    runs: Vec<&'r Run>,
    x: (f64, f64),
    size: f64,
}

/// A line of a page.
#[derive(Debug)]
struct Line<'r> {
    segments: Vec<Segment<'r>>,
    y: f64,
    size: f64,
}

/// The text of the runs of a page. `turns` is the direction of lines that the page shows upright.
pub(super) fn text_of(runs: &[Run], turns: u8) -> String {
    let mut parts = Vec::new();
    for turn in 0..4 {
        let own: Vec<&Run> = runs
            .iter()
            .filter(|run| (4 + run.turns - turns) % 4 == turn && !run.text.trim().is_empty())
            .collect();
        if !own.is_empty() {
            parts.push(column_text(lines(own), 0));
        }
    }
    parts.join("\n\n")
}

/// Puts runs into lines, from top to bottom, and cuts these at wide gaps.
fn lines(mut runs: Vec<&Run>) -> Vec<Line<'_>> {
    runs.sort_by(|a, b| b.y.total_cmp(&a.y).then(a.x.0.total_cmp(&b.x.0)));
    let mut lines: Vec<(Vec<&Run>, f64, f64)> = Vec::new();
    for run in runs {
        // Raised and lowered characters stand in the line beside them.
        let near = lines.iter_mut().rev().take(3).find(|(_, y, size)| {
            let (top, bottom) = (y + 0.7 * *size, y - 0.2 * *size);
            let (own_top, own_bottom) = (run.y + 0.7 * run.size, run.y - 0.2 * run.size);
            let shared = top.min(own_top) - bottom.max(own_bottom);
            // A raised 9 of 10⁹ shares less of its line than a word does.
            let least = match (run.size - *size).abs() > 0.1 * run.size {
                true => 0.35,
                false => 0.5,
            };
            shared > least * run.size.min(*size)
        });
        match near {
            Some((all, y, size)) => {
                // The line is that of its largest characters.
                if run.size > 1.2 * *size {
                    (*y, *size) = (run.y, run.size);
                }
                all.push(run);
            }
            None => lines.push((vec![run], run.y, run.size)),
        }
    }
    let mut lines: Vec<Line<'_>> = lines
        .into_iter()
        .map(|(runs, y, size)| Line {
            segments: segments(runs),
            y,
            size,
        })
        .collect();
    lines.sort_by(|a, b| b.y.total_cmp(&a.y));
    lines
}

/// Cuts the runs of a line at wide gaps.
fn segments(mut runs: Vec<&Run>) -> Vec<Segment<'_>> {
    runs.sort_by(|a, b| a.x.0.total_cmp(&b.x.0));
    let mut segments: Vec<Segment<'_>> = Vec::new();
    for run in runs {
        if let Some(last) = segments.last_mut() {
            // Bold characters that are drawn twice.
            let again = last.runs.iter().rev().take(4).any(|one| {
                one.text == run.text
                    && (one.x.0 - run.x.0).abs() < 0.1 * run.size
                    && (one.y - run.y).abs() < 0.1 * run.size
            });
            if again {
                continue;
            }
            if run.x.0 - last.x.1 < GUTTER * run.size.max(last.size) {
                last.x.1 = last.x.1.max(run.x.1);
                last.size = last.size.max(run.size);
                last.runs.push(run);
                continue;
            }
        }
        segments.push(Segment {
            runs: vec![run],
            x: run.x,
            size: run.size,
        });
    }
    segments
}

/// The text of lines, whose columns of prose are read one after the other.
fn column_text(lines: Vec<Line<'_>>, depth: usize) -> String {
    let mut text = String::new();
    let mut pending: Vec<Line<'_>> = Vec::new();
    let mut rest = VecDeque::from(lines);
    while !rest.is_empty() {
        let found = if depth < DEEPEST {
            columns(&rest)
        } else {
            None
        };
        let Some((gutter, count)) = found else {
            pending.extend(rest.pop_front());
            // Only the first line of a block can begin columns: look further down.
            while rest.front().is_some_and(|line| line.segments.len() < 2) {
                pending.extend(rest.pop_front());
            }
            continue;
        };
        push_block(&mut text, &plain_text(&std::mem::take(&mut pending)));
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for line in rest.drain(..count) {
            let (y, size) = (line.y, line.size);
            let (own, other): (Vec<_>, Vec<_>) = line
                .segments
                .into_iter()
                .partition(|segment| middle(segment) < gutter);
            for (side, segments) in [(&mut left, own), (&mut right, other)] {
                if !segments.is_empty() {
                    side.push(Line { segments, y, size });
                }
            }
        }
        push_block(&mut text, &column_text(left, depth + 1));
        push_block(&mut text, &column_text(right, depth + 1));
    }
    push_block(&mut text, &plain_text(&pending));
    text
}

fn middle(segment: &Segment<'_>) -> f64 {
    f64::midpoint(segment.x.0, segment.x.1)
}

fn push_block(text: &mut String, block: &str) {
    if block.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(block);
}

/// Where columns of prose are apart, and how many of the first lines they have.
fn columns(lines: &VecDeque<Line<'_>>) -> Option<(f64, usize)> {
    let first = lines.front()?;
    if first.segments.len() < 2 {
        return None;
    }
    let mut best = None;
    // A gap of the first line that the lines below have, too.
    for pair in first.segments.windows(2).take(3) {
        let mut gap = (pair[0].x.1, pair[1].x.0);
        let (mut both, mut letters, mut count) = (0, (0, 0), 0);
        for line in lines.iter().take(LONGEST) {
            let Some(own) = shared_gap(line, gap) else {
                break;
            };
            gap = own;
            count += 1;
            let centre = f64::midpoint(gap.0, gap.1);
            let side = |is_left: bool| -> usize {
                let own = line.segments.iter();
                own.filter(|segment| (middle(segment) < centre) == is_left)
                    .flat_map(|segment| &segment.runs)
                    .map(|run| run.text.chars().count())
                    .sum()
            };
            let (left, right) = (side(true), side(false));
            if left > 0 && right > 0 {
                both += 1;
                letters = (letters.0 + left, letters.1 + right);
            }
        }
        let is_prose = both >= COLUMN.0
            && 3 * both >= 2 * count
            && letters.0 >= COLUMN.1 * both
            && letters.1 >= COLUMN.1 * both;
        if is_prose && best.is_none_or(|(_, most)| count > most) {
            best = Some((f64::midpoint(gap.0, gap.1), count));
        }
    }
    best
}

/// What is left of a gap beside the segments of a line; `None` if one of them stands in it.
fn shared_gap(line: &Line<'_>, gap: (f64, f64)) -> Option<(f64, f64)> {
    let mut own = gap;
    for segment in &line.segments {
        if segment.x.1 <= own.1 && middle(segment) < f64::midpoint(gap.0, gap.1) {
            own.0 = own.0.max(segment.x.1);
        } else if segment.x.0 >= own.0 {
            own.1 = own.1.min(segment.x.0);
        } else {
            return None;
        }
    }
    (own.1 - own.0 >= 0.8 * line.size).then_some(own)
}

/// The text of lines from top to bottom.
fn plain_text(lines: &[Line<'_>]) -> String {
    let mut text = String::new();
    let mut before: Option<&Line<'_>> = None;
    let pitch = usual_pitch(lines);
    for line in lines {
        if let Some(before) = before {
            let down = before.y - line.y;
            let size = before.size.min(line.size);
            // Rows of a table stand farther apart than lines.
            let is_table = before.segments.len() > 1 && line.segments.len() > 1;
            let wide = if is_table { 1.5 * EMPTY } else { EMPTY };
            let apart = down > (wide * size).max(1.25 * pitch) || down < -size;
            text.push_str(if apart { "\n\n" } else { "\n" });
        }
        before = Some(line);
        add_line(&mut text, line);
    }
    text
}

/// The distance of most lines of a block.
fn usual_pitch(lines: &[Line<'_>]) -> f64 {
    let mut all: Vec<f64> = lines
        .windows(2)
        .map(|pair| pair[0].y - pair[1].y)
        .filter(|pitch| *pitch > 0.0)
        .collect();
    // A few lines tell of no usual distance.
    if all.len() < 4 {
        return 0.0;
    }
    all.sort_by(f64::total_cmp);
    // The lower quartile: distances of paragraphs are in the upper one.
    all.get(all.len() / 4).copied().unwrap_or(0.0)
}

/// Writes a line with spaces between its words and tabs between its cells.
fn add_line(text: &mut String, line: &Line<'_>) {
    let mut before: Option<&Run> = None;
    let start = text.len();
    for run in line.segments.iter().flat_map(|segment| &segment.runs) {
        if let Some(before) = before {
            let gap = run.x.0 - before.x.1;
            let size = run.size.min(before.size);
            if gap >= CELL * run.size.max(before.size) {
                text.truncate(text.trim_end_matches(' ').len());
                text.push('\t');
            } else if gap > WORD * size {
                push_space(text);
            }
        }
        let is_raised = before.is_some_and(|before| {
            run.size < 0.85 * before.size
                && run.y > before.y + 0.15 * before.size
                && run.x.0 - before.x.1 < WORD * before.size
                && before.text.ends_with(|c: char| c.is_ascii_digit())
        });
        let own = match is_raised {
            true => raised(run.text.trim()),
            false => run.text.as_str().into(),
        };
        for c in own.chars() {
            match c {
                c if c.is_whitespace() || c == '\0' => push_space(text),
                '\u{ad}' => text.push('-'),
                '\u{fb00}'..='\u{fb06}' => text.push_str(ligature(c)),
                c if c.is_control() || c == '\u{200b}' || c == '\u{feff}' => {}
                c => text.push(c),
            }
        }
        before = Some(run);
    }
    let end = text.trim_end().len().max(start);
    text.truncate(end);
}

/// Adds a space, unless a blank stands there.
fn push_space(text: &mut String) {
    if !text.is_empty() && !text.ends_with([' ', '\t', '\n']) {
        text.push(' ');
    }
}

fn ligature(c: char) -> &'static str {
    match c {
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        _ => "st",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, x: f64, y: f64) -> Run {
        Run {
            text: text.into(),
            x: (x, x + 5.0 * text.chars().count() as f64),
            y,
            size: 10.0,
            turns: 0,
        }
    }

    #[test]
    fn words_cells_and_empty_lines_are_apart() {
        let runs = [
            run("Na", 0.0, 100.0),
            run("140", 100.0, 100.0),
            run("No", 0.0, 88.0),
            run("fever", 12.0, 88.0),
            run("Plan", 0.0, 60.0),
            run("e\u{fb03}cacy", 0.0, 48.0),
        ];
        assert_eq!(text_of(&runs, 0), "Na\t140\nNo fever\n\nPlan\nefficacy");
    }

    #[test]
    fn columns_of_prose_are_read_one_after_the_other_and_tables_across() {
        let (mut prose, mut table) = (vec![run("Title of the letter", 0.0, 220.0)], Vec::new());
        for row in 0..6 {
            let y = 200.0 - 12.0 * f64::from(row);
            prose.push(run(&format!("the left column has line {row}"), 0.0, y));
            prose.push(run(&format!("the right column has line {row}"), 170.0, y));
            table.push(run(&format!("Test {row}"), 0.0, y));
            table.push(run(&format!("{row} mmol/l"), 170.0, y));
        }
        let text = text_of(&prose, 0);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[0], "Title of the letter");
        assert!(
            lines[1..7].iter().all(|line| line.contains("left")),
            "{text}"
        );
        assert!(
            lines[7..].iter().all(|line| line.contains("right")),
            "{text}"
        );
        assert!(text_of(&table, 0).starts_with("Test 0\t0 mmol/l\nTest 1\t1 mmol/l\n"));
    }

    #[test]
    fn raised_digits_and_doubled_characters_are_read() {
        let mut power = run("9", 10.5, 104.0);
        power.size = 6.0;
        let runs = [
            run("10", 0.0, 100.0),
            power,
            run("/L", 16.0, 100.0),
            run("Bold", 0.0, 80.0),
            run("Bold", 0.3, 80.0),
        ];
        assert_eq!(text_of(&runs, 0), "10⁹/L\n\nBold");
    }
}
