//! When links are made: as given, as builds that can be repeated state it, or by the clock.

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, Utc};
use pel_kb::error::{Error, Result};
use pel_output::Moment;
use std::time::SystemTime;

/// The variable with seconds since 1970 that stands for the clock (reproducible-builds.org).
const VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// The instant of a given date (`2026-11-26`, midnight UTC) or instant (`2026-11-26T10:45:00Z`),
/// else that of the variable `SOURCE_DATE_EPOCH`, else now.
///
/// # Errors
/// If the date or the variable is invalid.
pub fn moment(given: Option<&str>) -> Result<Moment> {
    if let Some(given) = given {
        return parsed(given).and_then(written).ok_or_else(|| {
            Error::input(format!(
                "--date: expected YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ, found {given:?}"
            ))
        });
    }
    match std::env::var_os(VARIABLE) {
        Some(seconds) => {
            let seconds = seconds.to_string_lossy();
            of_seconds(&seconds).and_then(written).ok_or_else(|| {
                Error::input(format!(
                    "{VARIABLE}: expected seconds since 1970, found {seconds:?}"
                ))
            })
        }
        None => written(SystemTime::now().into())
            .ok_or_else(|| Error::input("expected the clock between the years 1 and 9999")),
    }
}

fn parsed(given: &str) -> Option<DateTime<Utc>> {
    if let Ok(instant) = DateTime::parse_from_rfc3339(given) {
        return Some(instant.to_utc());
    }
    let date = NaiveDate::parse_from_str(given, "%Y-%m-%d").ok()?;
    Some(date.and_time(NaiveTime::MIN).and_utc())
}

fn of_seconds(seconds: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(seconds.trim().parse().ok()?, 0)
}

/// `None` outside the years that dates of four digits can name.
fn written(instant: DateTime<Utc>) -> Option<Moment> {
    if !(1..=9999).contains(&instant.year()) {
        return None;
    }
    let part = |pattern| instant.format(pattern).to_string();
    Moment::new(&part("%Y-%m-%d"), &part("%H:%M:%S")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_instants_and_seconds_are_read() {
        let moment = |date, time| Moment::new(date, time).ok();
        for (given, expected) in [
            ("2026-11-26", moment("2026-11-26", "00:00:00")),
            ("2026-11-26T10:45:07Z", moment("2026-11-26", "10:45:07")),
            (
                "2026-01-01T00:30:00+02:00",
                moment("2025-12-31", "22:30:00"),
            ),
            ("2026-02-30", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(parsed(given).and_then(written), expected, "{given}");
        }
        for (seconds, expected) in [
            ("0", moment("1970-01-01", "00:00:00")),
            ("1790505907", moment("2026-09-27", "10:45:07")),
            ("9999999999999", None),
            ("x", None),
        ] {
            assert_eq!(of_seconds(seconds).and_then(written), expected, "{seconds}");
        }
    }

    #[test]
    fn bad_date_names_its_option() {
        let error = moment(Some("26.11.2026")).expect_err("it is no date");
        assert!(error.to_string().contains("--date"), "{error}");
    }
}
