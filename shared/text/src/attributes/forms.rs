//! The parser of normal forms: "timing 1 per $amount $time".

use super::pattern::Names;
use super::rules::{Normal, Part, Symbol};

impl Names {
    /// Reads a normal form for one form of a pattern. `forms` are all forms of the entry.
    pub fn normal(
        &self,
        text: &str,
        symbols: &[Symbol],
        forms: &[Vec<Symbol>],
    ) -> std::result::Result<Normal, String> {
        let parts = |text: &str| self.parts(text, symbols, forms);
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let duration = |sign| match words.as_slice() {
            [amount, unit] => Ok(Normal::Duration(
                sign,
                Box::new([parts(amount)?, parts(unit)?]),
            )),
            _ => Err(format!("expected an amount and a unit, found \"{text}\"")),
        };
        Ok(match word {
            "lower" if rest.is_empty() => Normal::Lower,
            "null" if rest.is_empty() => Normal::Null,
            "duration" => duration("")?,
            "times" => match words.as_slice() {
                [factor, number] => {
                    let found = factor.parse();
                    let factor = found.map_err(|_| {
                        format!("expected a whole number after \"times\", found \"{factor}\"")
                    })?;
                    Normal::Times(factor, parts(number)?)
                }
                _ => {
                    return Err(format!(
                        "expected \"times FACTOR NUMBER\", found \"{text}\""
                    ));
                }
            },
            "ago" => duration("-")?,
            "ahead" => duration("")?,
            "timing" => match words.as_slice() {
                [times, "per", period, unit] => Normal::Timing(Box::new([
                    parts(times)?,
                    parts(period)?,
                    parts(unit)?,
                    Vec::new(),
                ])),
                [times, "per", period, unit, "at", when] => Normal::Timing(Box::new([
                    parts(times)?,
                    parts(period)?,
                    parts(unit)?,
                    parts(when)?,
                ])),
                _ => {
                    return Err(format!(
                        "expected \"timing TIMES per PERIOD UNIT [at WHEN]\", found \"{text}\""
                    ));
                }
            },
            "date" => match words.as_slice() {
                [year, month, day] => {
                    let part = |text: &str| match text {
                        "-" => Ok(Vec::new()),
                        text => parts(text),
                    };
                    Normal::Date(Box::new([part(year)?, part(month)?, part(day)?]))
                }
                _ => {
                    return Err(format!(
                        "expected \"date YEAR MONTH DAY\", each of which may be \"-\", found \
                         \"{text}\""
                    ));
                }
            },
            _ => Normal::Text(parts(text)?),
        })
    }

    /// Reads a text with $CLASS, or $CLASS.2 for the second of a class, in it.
    fn parts(
        &self,
        text: &str,
        symbols: &[Symbol],
        forms: &[Vec<Symbol>],
    ) -> std::result::Result<Vec<Part>, String> {
        let mut pieces = text.split('$');
        let mut parts = Vec::new();
        if let Some(first) = pieces.next().filter(|first| !first.is_empty()) {
            parts.push(Part::Text(first.to_owned()));
        }
        for piece in pieces {
            let end = piece.find(|c: char| !c.is_ascii_lowercase() && c != '_');
            let (name, rest) = piece.split_at(end.unwrap_or(piece.len()));
            let digit = rest.strip_prefix('.').and_then(|rest| rest.chars().next());
            let number = digit.and_then(|c| c.to_digit(10)).filter(|n| *n > 0);
            let rest = match number {
                Some(_) => rest.get(2..).unwrap_or_default(),
                None => rest,
            };
            let class = self.classes.iter().position(|known| known == name);
            let class = class.and_then(|at| u16::try_from(at).ok());
            let nth = number.unwrap_or(1) as usize - 1;
            let find = |symbols: &[Symbol]| {
                let symbols = symbols.iter().enumerate();
                let of_class = symbols.filter(|(_, symbol)| match symbol {
                    Symbol::Class(found) => Some(*found) == class,
                    _ => false,
                });
                of_class.map(|(at, _)| at).nth(nth)
            };
            if !forms.iter().any(|form| find(form).is_some()) {
                return Err(format!(
                    "expected a class of the pattern after '$', found \"{piece}\""
                ));
            }
            parts.push(find(symbols).map_or(Part::Missing, Part::Element));
            if !rest.is_empty() {
                parts.push(Part::Text(rest.to_owned()));
            }
        }
        Ok(parts)
    }
}
