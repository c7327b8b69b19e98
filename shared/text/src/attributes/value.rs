//! The normal forms of attributes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What an attribute says, in a form that programs can compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number, a word, an amount with its UCUM unit, or an ISO 8601 date or duration.
    Text(String),
    /// How often, where FHIR has no code for it.
    Timing(Timing),
}

impl fmt::Display for Value {
    /// The text, or a timing as "1..2 per 4..6 h, AC".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Timing(timing) => timing.fmt(f),
        }
    }
}

/// How often something is given: `frequency` times in `period` units. As in FHIR's Timing.repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The number of times in the period.
    pub frequency: u32,
    /// The largest number of times, of "1 to 2 times a day".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_max: Option<u32>,
    /// The period.
    pub period: Number,
    /// The longest period, of "every 4 to 6 hours".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_max: Option<Number>,
    /// The unit of the period: s, min, h, d, wk, mo or a.
    pub unit: String,
    /// When in the day: FHIR's codes such as AC, PC, MORN, HS, AM, BED, NOON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// A number in a form that is compared exactly: thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number(u64);

impl Number {
    const UNIT: u64 = 1000;

    /// The number of a decimal with at most three digits behind the point and no sign.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        if rest.len() > 3 || whole.len() > 12 || whole.is_empty() {
            return None;
        }
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(rest) {
            return None;
        }
        let thousandths: u64 = format!("{rest:0<3}").parse().ok()?;
        Some(Self(whole.parse::<u64>().ok()? * Self::UNIT + thousandths))
    }

    /// The decimal of `factor` times the number.
    pub(super) fn times(self, factor: u32) -> Option<String> {
        let product = self.0.checked_mul(u64::from(factor))?;
        let (whole, rest) = (product / Self::UNIT, product % Self::UNIT);
        let decimal = format!("{whole}.{rest:03}");
        Some(
            decimal
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned(),
        )
    }

    /// The whole number, if it is one.
    pub fn whole(self) -> Option<u32> {
        let whole = self.0.is_multiple_of(Self::UNIT);
        whole.then(|| u32::try_from(self.0 / Self::UNIT).ok())?
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.times(1).unwrap_or_default())
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.frequency)?;
        if let Some(most) = self.frequency_max {
            write!(f, "..{most}")?;
        }
        write!(f, " per {}", self.period)?;
        if let Some(longest) = self.period_max {
            write!(f, "..{longest}")?;
        }
        write!(f, " {}", self.unit)?;
        match &self.when {
            Some(when) => write!(f, ", {when}"),
            None => Ok(()),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.whole() {
            Some(whole) => serializer.serialize_u32(whole),
            None => serializer.serialize_f64(self.0 as f64 / Self::UNIT as f64),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        let thousandths = (number * Self::UNIT as f64).round();
        let fits = (0.0..9e15).contains(&thousandths);
        let found = fits.then_some(thousandths as u64).map(Self);
        found.ok_or_else(|| serde::de::Error::custom("expected a number from 0"))
    }
}

impl Timing {
    /// FHIR's code of the timing, if it has one: "BID".
    fn code(&self) -> Option<&'static str> {
        if self.frequency_max.is_some() || self.period_max.is_some() {
            return None;
        }
        let period = self.period.whole()?;
        match (
            self.frequency,
            period,
            self.unit.as_str(),
            self.when.as_deref(),
        ) {
            (1, 1, "d", None) | (1, 24, "h", None) => Some("QD"),
            (2, 1, "d", None) => Some("BID"),
            (3, 1, "d", None) => Some("TID"),
            (4, 1, "d", None) => Some("QID"),
            (1, 2, "d", None) => Some("QOD"),
            (1, 1, "d", Some("AM")) => Some("AM"),
            (1, 1, "d", Some("PM")) => Some("PM"),
            (1, 1, "d", Some("BED")) => Some("BED"),
            (1, 1, "wk", None) => Some("WK"),
            (1, 1, "mo", None) => Some("MO"),
            (1, 4, "h", None) => Some("Q4H"),
            (1, 6, "h", None) => Some("Q6H"),
            (1, 8, "h", None) => Some("Q8H"),
            _ => None,
        }
    }
}

/// The two ends of "4..6", or one number.
fn ends(text: &str) -> Option<(Number, Option<Number>)> {
    match text.split_once("..") {
        Some((low, high)) => Some((Number::parse(low)?, Some(Number::parse(high)?))),
        None => Some((Number::parse(text)?, None)),
    }
}

/// The timing of `frequency` times in `period` units, or its code.
pub(super) fn timing(
    frequency: &str,
    period: &str,
    unit: &str,
    when: Option<&str>,
) -> Option<Value> {
    let (frequency, most) = ends(frequency)?;
    let (period, longest) = ends(period)?;
    let timing = Timing {
        frequency: frequency.whole()?,
        frequency_max: most.and_then(Number::whole),
        period,
        period_max: longest,
        unit: unit.to_owned(),
        when: when.map(str::to_owned),
    };
    Some(match timing.code() {
        Some(code) => Value::Text(code.to_owned()),
        None => Value::Timing(timing),
    })
}

/// The ISO 8601 duration of an amount of a unit of time, with a sign before it: "P10D", "-P2W". A
/// range has two: "P3D..P4D".
pub(super) fn duration(sign: &str, amount: &str, unit: &str) -> Option<Value> {
    let (before, letter) = match unit {
        "s" => ("PT", 'S'),
        "min" => ("PT", 'M'),
        "h" => ("PT", 'H'),
        "d" => ("P", 'D'),
        "wk" => ("P", 'W'),
        "mo" => ("P", 'M'),
        "a" => ("P", 'Y'),
        _ => return None,
    };
    let one = |number: &str| format!("{sign}{before}{number}{letter}");
    ends(amount)?;
    Some(Value::Text(match amount.split_once("..") {
        Some((low, high)) => format!("{}..{}", one(low), one(high)),
        None => one(amount),
    }))
}

/// The days of a month, that of a leap year without a year.
fn days(year: Option<u32>, month: u32) -> u32 {
    let leap = year
        .is_none_or(|y| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400)));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The ISO 8601 date of a year, month and day as written, each of which may be missing: "2021-03",
/// "--06-14". Two digits are a year from 1930 to 2029. `None` if there is no such date.
pub(super) fn date(year: Option<&str>, month: Option<&str>, day: Option<&str>) -> Option<Value> {
    let number = |text: &str| text.parse::<u32>().ok();
    let year = match year {
        None => None,
        Some(text) => Some(match (text.len(), number(text)?) {
            (4, year) if (1850..=2150).contains(&year) => year,
            (2, year) if year < 30 => 2000 + year,
            (2, year) => 1900 + year,
            _ => return None,
        }),
    };
    let month = match month {
        None => None,
        Some(text) => Some(number(text).filter(|month| (1..=12).contains(month))?),
    };
    let day = match (day, month) {
        (None, _) => None,
        (Some(text), Some(month)) => {
            let all = 1..=days(year, month);
            Some(number(text).filter(|day| all.contains(day))?)
        }
        (Some(_), None) => return None,
    };
    Some(Value::Text(match (year, month, day) {
        (Some(y), Some(m), Some(d)) => format!("{y:04}-{m:02}-{d:02}"),
        (Some(y), Some(m), None) => format!("{y:04}-{m:02}"),
        (Some(y), None, _) => format!("{y:04}"),
        (None, Some(m), Some(d)) => format!("--{m:02}-{d:02}"),
        (None, Some(m), None) => format!("--{m:02}"),
        (None, None, _) => return None,
    }))
}
