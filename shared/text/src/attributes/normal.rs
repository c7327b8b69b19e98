//! The words and normal forms of matches.

use super::lexer::Kind as Lexical;
use super::matcher::{Element, Note, Reading, Step};
use super::rules::{Normal, Part};
use super::value::{Number, Value, date, duration, timing};
use crate::Span;

impl Note<'_> {
    /// The bytes of elements. The last point of "p.o." belongs to them.
    pub fn span(&self, steps: &[Step]) -> Option<Span> {
        let (first, last) = (steps.first()?, steps.last()?);
        let start = self.lexemes.get(first.first)?.start;
        let mut end = self.lexemes.get(last.end.checked_sub(1)?)?.end;
        let tokens = self.lexemes.get(first.first..last.end)?;
        let mut dotted = false;
        let mut before = Lexical::Broken;
        for token in tokens {
            dotted |= token.kind == Lexical::Mark('.') && token.glued && before == Lexical::Word;
            before = token.kind;
        }
        if let Some(next) = self.lexemes.get(last.end)
            && dotted
            && before == Lexical::Word
            && next.glued
            && next.kind == Lexical::Mark('.')
        {
            end = next.end;
        }
        Some(Span::new(start, end))
    }

    /// The normal form of a match, or of its elements from `first` to `end`.
    pub fn normal(
        &self,
        normal: &Normal,
        path: &[Step],
        first: usize,
        end: usize,
    ) -> Option<Value> {
        let text = |parts: &[Part]| self.joined(parts, path);
        let steps = path.get(first..end)?;
        match normal {
            Normal::Null => None,
            Normal::Lower => self.lower(steps),
            Normal::Values => {
                let with_class: Vec<&Step> = steps.iter().filter(|step| step.is_class()).collect();
                match with_class.as_slice() {
                    [] => self.lower(steps),
                    [one] => self.value(one).cloned(),
                    many => {
                        let mut joined = String::new();
                        for step in many {
                            let Value::Text(text) = self.value(step)? else {
                                return None;
                            };
                            if !joined.is_empty() {
                                joined.push(' ');
                            }
                            joined.push_str(text);
                        }
                        Some(Value::Text(joined))
                    }
                }
            }
            Normal::Text(parts) => match parts.as_slice() {
                [Part::Element(at)] => self.value(path.get(*at)?).cloned(),
                parts => text(parts).map(Value::Text),
            },
            Normal::Times(factor, parts) => {
                let number = Number::parse(&text(parts)?)?;
                number.times(*factor).map(Value::Text)
            }
            Normal::Timing(parts) => {
                let [times, period, unit, when] = &**parts;
                let when = match when.is_empty() {
                    true => None,
                    false => Some(text(when)?),
                };
                timing(&text(times)?, &text(period)?, &text(unit)?, when.as_deref())
            }
            Normal::Duration(sign, parts) => {
                let [amount, unit] = &**parts;
                duration(sign, &text(amount)?, &text(unit)?)
            }
            Normal::Date(parts) => {
                let mut fields = [None, None, None];
                for (field, parts) in fields.iter_mut().zip(&**parts) {
                    if !parts.is_empty() {
                        *field = Some(text(parts)?);
                    }
                }
                let [year, month, day] = &fields;
                date(year.as_deref(), month.as_deref(), day.as_deref())
            }
        }
    }

    /// The parts of a normal form as one text; `None` if a part is missing.
    fn joined(&self, parts: &[Part], path: &[Step]) -> Option<String> {
        let mut joined = String::new();
        for part in parts {
            match part {
                Part::Text(text) => joined.push_str(text),
                Part::Missing => return None,
                Part::Element(at) => match self.value(path.get(*at)?)? {
                    Value::Text(text) => joined.push_str(text),
                    Value::Timing(_) => return None,
                },
            }
        }
        Some(joined)
    }

    fn value(&self, step: &Step) -> Option<&Value> {
        let readings = self.readings.get(step.first)?;
        let is_own = |reading: &&Reading| {
            step.element == Element::Class(reading.class) && reading.end == step.end
        };
        readings.iter().find(is_own)?.value.as_ref()
    }

    /// The words of elements in lower case, with one blank for whitespace.
    fn lower(&self, steps: &[Step]) -> Option<Value> {
        let span = self.span(steps)?;
        let text = self.text.get(span.start..span.end)?.to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        Some(Value::Text(words.join(" ")))
    }
}
