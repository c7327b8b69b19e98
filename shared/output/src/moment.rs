//! When links were written: this crate has no clock, so the caller gives it.

use pel_kb::error::{Error, Result};

/// An instant in UTC with seconds, as output formats write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    date: String,
    time: String,
}

impl Moment {
    /// An instant of a date (`2026-11-26`) and a time (`10:45:00`) in UTC.
    ///
    /// # Errors
    /// If either is not written so. The calendar is not checked.
    pub fn new(date: &str, time: &str) -> Result<Self> {
        if !is_like(date, "dddd-dd-dd") || !is_like(time, "dd:dd:dd") {
            return Err(Error::input(format!(
                "expected a date YYYY-MM-DD and a time hh:mm:ss, found {date:?} and {time:?}"
            )));
        }
        Ok(Self {
            date: date.to_owned(),
            time: time.to_owned(),
        })
    }

    /// The date: `2026-11-26`.
    pub(super) fn date(&self) -> &str {
        &self.date
    }

    /// The instant of ISO 8601: `2026-11-26T10:45:00Z`.
    pub(super) fn instant(&self) -> String {
        format!("{}T{}Z", self.date, self.time)
    }

    /// The date and time of SQL, without a zone: `2026-11-26 10:45:00`.
    pub(super) fn date_time(&self) -> String {
        format!("{} {}", self.date, self.time)
    }
}

/// Whether a text has the characters of a pattern, in which `d` is a digit.
fn is_like(text: &str, pattern: &str) -> bool {
    text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(found, wanted)| {
            if wanted == b'd' {
                found.is_ascii_digit()
            } else {
                found == wanted
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moment_is_written_as_each_format_needs_it() {
        let moment = Moment::new("2026-11-26", "10:45:07").expect("valid");
        assert_eq!(moment.date(), "2026-11-26");
        assert_eq!(moment.instant(), "2026-11-26T10:45:07Z");
        assert_eq!(moment.date_time(), "2026-11-26 10:45:07");
        for (date, time) in [
            ("2026-1-26", "10:45:07"),
            ("2026-11-26", "10:45"),
            ("", ""),
            ("2026-11-26T", "10:45:07"),
        ] {
            assert!(Moment::new(date, time).is_err(), "{date} {time}");
        }
    }
}
