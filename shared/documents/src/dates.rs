//! Dates of HL7 v2 and CDA (`20260103101500-0500`) as ISO 8601.

/// The date and time of digits as `YYYY`, `YYYY-MM`, `YYYY-MM-DD` or `YYYY-MM-DDThh:mm:ss` with its
/// zone; `None` if it does not begin with a year, or the month or day is out of range.
pub(crate) fn iso(stamp: &str) -> Option<String> {
    let stamp = stamp.trim();
    let digits = stamp
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(stamp.len());
    let (digits, rest) = stamp.split_at(digits);
    let part = |from: usize, to: usize, least: u32, most: u32| {
        let part = digits.get(from..to)?;
        let value: u32 = part.parse().ok()?;
        (least..=most).contains(&value).then_some(part)
    };
    let year = part(0, 4, 1, 9999)?;
    if digits.len() < 6 {
        return Some(year.to_owned());
    }
    let month = part(4, 6, 1, 12)?;
    if digits.len() < 8 {
        return Some(format!("{year}-{month}"));
    }
    let day = part(6, 8, 1, 31)?;
    let date = format!("{year}-{month}-{day}");
    let (Some(hour), Some(minute)) = (part(8, 10, 0, 23), part(10, 12, 0, 59)) else {
        return Some(date);
    };
    let second = part(12, 14, 0, 59).unwrap_or("00");
    let time = format!("{date}T{hour}:{minute}:{second}");
    Some(time + &zone(rest).unwrap_or_default())
}

/// The zone `+hh:mm` of `+hhmm`, `.0000-0500`, `-05'00'` or `Z`.
fn zone(text: &str) -> Option<String> {
    let text = text.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    if text.starts_with('Z') {
        return Some("Z".to_owned());
    }
    let sign = text.chars().next().filter(|c| matches!(c, '+' | '-'))?;
    let digits: String = text[1..].chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = (digits.get(..2)?, digits.get(2..4)?);
    Some(format!("{sign}{hours}:{minutes}"))
}

/// The date or instant of a text that is ISO 8601 already.
pub(crate) fn checked(text: &str) -> Option<String> {
    let text = text.trim();
    let compact: String = text
        .chars()
        .filter(|c| !matches!(c, '-' | ':' | 'T'))
        .collect();
    let is_plain = text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_graphic());
    (is_plain && iso(&compact).is_some()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_every_precision_are_read() {
        for (stamp, expected) in [
            ("2026", Some("2026")),
            ("202601", Some("2026-01")),
            ("20260103", Some("2026-01-03")),
            ("2026010310", Some("2026-01-03")),
            ("202601031015", Some("2026-01-03T10:15:00")),
            ("20260103101559-0500", Some("2026-01-03T10:15:59-05:00")),
            ("20260103101559.123+0100", Some("2026-01-03T10:15:59+01:00")),
            ("20260103101559Z", Some("2026-01-03T10:15:59Z")),
            ("20261303", None),
            ("", None),
            ("today", None),
        ] {
            assert_eq!(iso(stamp).as_deref(), expected, "{stamp}");
        }
        assert_eq!(checked("2026-01-03").as_deref(), Some("2026-01-03"));
        assert_eq!(checked("yesterday"), None);
    }
}
