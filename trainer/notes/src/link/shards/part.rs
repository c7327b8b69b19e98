//! A share of the tables, for several processes or machines.
//!
//! A part is chosen by the place of a table in the list. Lock files would balance the work better,
//! but a killed process would leave them behind.

use pel_output::RowIds;
use std::fmt;
use std::str::FromStr;

/// The largest number of parts.
const MOST: u32 = 1_000_000;

/// Part `number` of `of`, from 1: `3/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    number: u32,
    of: u32,
}

impl Part {
    /// Whether the part has the table with this number, from 0.
    pub fn has(self, at: usize) -> bool {
        at as u64 % u64::from(self.of) == u64::from(self.number - 1)
    }

    /// The identifiers of the rows of this part, from `first` on and not before `next`. Those of
    /// other parts lie between them.
    pub fn row_ids(self, first: u32, next: u32) -> RowIds {
        let first = first.saturating_add(self.number - 1);
        let used = next.saturating_sub(first).div_ceil(self.of);
        RowIds::new(first.saturating_add(used.saturating_mul(self.of)), self.of)
    }

    /// The word of the part in a file name: `3-of-16`.
    pub fn word(self) -> String {
        format!("{}-of-{}", self.number, self.of)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) && of <= MOST => {
                Ok(Self { number, of })
            }
            _ => Err(format!(
                "expected a part such as 3/16, from 1/16 to 16/16, found {text:?}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_different_row_ids() {
        let ids = |text: &str, next| {
            let part: Part = text.parse().expect(text);
            let ids = part.row_ids(10, next);
            (ids.next(), ids.step())
        };
        assert_eq!([ids("1/3", 0), ids("3/3", 0)], [(10, 3), (12, 3)]);
        assert_eq!([ids("1/3", 13), ids("1/3", 14)], [(13, 3), (16, 3)]);
        assert_eq!([ids("2/3", 100), ids("3/3", 100)], [(101, 3), (102, 3)]);
    }

    #[test]
    fn every_table_is_in_one_part() {
        let parts: Vec<Part> = ["1/3", "2/3", "3/3"]
            .map(|text| text.parse().expect(text))
            .to_vec();
        for at in 0..10 {
            let having = parts.iter().filter(|part| part.has(at)).count();
            assert_eq!(having, 1, "{at}");
        }
        assert!(parts[0].has(0) && parts[2].has(2) && parts[2].has(5));
        for wrong in ["", "3", "0/3", "4/3", "-1/3", "1/0", "1/9999999", "1/3/3"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }
}
