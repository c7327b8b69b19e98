//! A table as Markdown, LaTeX (booktabs) and CSV.

use super::cells::Table;
use std::fmt::Write;

impl Table {
    /// The table with its title and notes.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", self.title);
        let mut line = |cells: &[String]| {
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        };
        line(&self.head);
        line(&vec!["---".to_owned(); self.head.len()]);
        self.rows.iter().for_each(|row| line(row));
        for note in &self.notes {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }

    /// The table as a float of LaTeX with its title and notes. It needs the package `booktabs`.
    pub fn latex(&self) -> String {
        let columns: String = (0..self.head.len())
            .map(|column| match self.is_numeric(column) {
                true => 'r',
                false => 'l',
            })
            .collect();
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| latex(cell)).collect();
            // After the end of a line, LaTeX would read a bracket as an option.
            format!("{{}}{} \\\\\n", cells.join(" & "))
        };
        let mut text = format!(
            "% \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\
             \\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n",
            latex(&self.title),
            line(&self.head)
        );
        self.rows.iter().for_each(|row| text += &line(row));
        text += "\\bottomrule\n\\end{tabular}\n";
        for note in &self.notes {
            let _ = writeln!(
                text,
                "\n\\par\\smallskip{{\\footnotesize {}\\par}}",
                latex(note)
            );
        }
        text + "\\end{table}\n"
    }

    /// The cells with their heads. A mean with its deviation or interval takes a column for each
    /// number.
    pub fn csv(&self) -> String {
        let mut columns: Vec<Vec<String>> = Vec::new();
        for (at, head) in self.head.iter().enumerate() {
            let cells: Vec<&str> = self
                .rows
                .iter()
                .map(|row| row.get(at).map_or("", String::as_str))
                .collect();
            if !self.is_numeric(at) {
                let cells = cells.into_iter().map(str::to_owned);
                columns.push([head.clone()].into_iter().chain(cells).collect());
                continue;
            }
            let parts: Vec<[&str; 4]> = cells.into_iter().map(parts).collect();
            for (part, name) in ["", "deviation", "low", "high"].into_iter().enumerate() {
                if part > 0 && parts.iter().all(|parts| parts[part].is_empty()) {
                    continue;
                }
                let head = format!("{head} {name}").trim_end().to_owned();
                let cells = parts.iter().map(|parts| parts[part].to_owned());
                columns.push([head].into_iter().chain(cells).collect());
            }
        }
        let mut text = String::new();
        for row in 0..=self.rows.len() {
            let fields: Vec<String> = columns.iter().map(|column| field(&column[row])).collect();
            text += &(fields.join(",") + "\n");
        }
        text
    }

    /// Whether the cells of a column are numbers, of which some may be missing.
    fn is_numeric(&self, column: usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(column));
        cells().all(|cell| cell == "-" || parts(cell)[0].parse::<f64>().is_ok())
            && cells().any(|cell| cell != "-")
    }
}

/// The parts of `51.0 ± 1.4 [49.0, 53.0]`: mean, deviation, and both ends of the interval; empty
/// where there are none.
fn parts(cell: &str) -> [&str; 4] {
    let (mean, interval) = match cell
        .strip_suffix(']')
        .and_then(|cell| cell.split_once(" ["))
    {
        Some((mean, interval)) => (mean, interval.split_once(", ").unwrap_or_default()),
        None => (cell, ("", "")),
    };
    let (mean, deviation) = mean.split_once(" ± ").unwrap_or((mean, ""));
    let mean = if mean == "-" { "" } else { mean };
    [mean, deviation, interval.0, interval.1]
}

/// A field of CSV.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Markdown of a table as LaTeX: special characters, bold words and code.
fn latex(text: &str) -> String {
    let mut out = String::new();
    let (mut bold, mut code) = (false, false);
    let toggle = |out: &mut String, open: &mut bool, command: &str| {
        out.push_str(if *open { "}" } else { command });
        *open = !*open;
    };
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '*' if rest.next_if_eq(&'*').is_some() => toggle(&mut out, &mut bold, "\\textbf{"),
            '`' => toggle(&mut out, &mut code, "\\texttt{"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(character);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' | '>' => {
                out.push('$');
                out.push(character);
                out.push('$');
            }
            '±' => out.push_str("$\\pm$"),
            '≤' => out.push_str("$\\leq$"),
            'ε' => out.push_str("$\\varepsilon$"),
            '…' => out.push_str("\\ldots{}"),
            _ => out.push(character),
        }
    }
    // Texts of a corpus may have single marks.
    for _ in 0..usize::from(bold) + usize::from(code) {
        out.push('}');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("Recall@1, K = 2", &["Method", "Neg.", "Recall_1"]);
        table.line(&["PEL-Pb + FGSM", "4", "51.0 ± 1.4 [49.0, 53.0]"]);
        table.line(&["a, \"b\"", "-", "-"]);
        table.note("Of `x_1` **all** 95 %.");
        table
    }

    #[test]
    fn markdown_has_title_cells_and_notes() {
        let expected = "# Recall@1, K = 2\n\n| Method | Neg. | Recall_1 |\n| --- | --- | --- |\n\
                        | PEL-Pb + FGSM | 4 | 51.0 ± 1.4 [49.0, 53.0] |\n| a, \"b\" | - | - |\n\n\
                        Of `x_1` **all** 95 %.\n";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn latex_has_booktabs_rules_and_escaped_text() {
        let expected = "% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\
                        \\caption{Recall@1, K = 2}\n\\begin{tabular}{lrr}\n\\toprule\n\
                        {}Method & Neg. & Recall\\_1 \\\\\n\\midrule\n\
                        {}PEL-Pb + FGSM & 4 & 51.0 $\\pm$ 1.4 [49.0, 53.0] \\\\\n\
                        {}a, \"b\" & - & - \\\\\n\\bottomrule\n\\end{tabular}\n\n\
                        \\par\\smallskip{\\footnotesize Of \\texttt{x\\_1} \\textbf{all} 95 \
                        \\%.\\par}\n\\end{table}\n";
        assert_eq!(table().latex(), expected);
        assert_eq!(
            latex("a*b **c `d ε<2"),
            "a*b \\textbf{c \\texttt{d $\\varepsilon$$<$2}}"
        );
    }

    #[test]
    fn csv_has_a_column_for_each_number() {
        let expected = "Method,Neg.,Recall_1,Recall_1 deviation,Recall_1 low,Recall_1 high\n\
            PEL-Pb + FGSM,4,51.0,1.4,49.0,53.0\n\"a, \"\"b\"\"\",,,,,\n";
        assert_eq!(table().csv(), expected);
    }
}
