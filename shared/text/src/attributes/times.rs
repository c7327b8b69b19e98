//! What the dates of mentions tell: whether something is past or ahead at the time of the note.

use super::{Attribute, AttributeName, Value};
use crate::context::When;

/// A day, or less of one: the year, then the month and day if they are known.
type Day = (u16, Option<u8>, Option<u8>);

/// What the dates of mentions tell, in their order; `None` without a date that tells anything.
///
/// The latest full date of the text is taken for the time of the note. Without one, a date without
/// a day is past, as notes date what is current to the day. A date "since" which something is tells
/// nothing, nor do weeks that a problem has lasted.
pub fn times(text: &str, found: &[Vec<Attribute>]) -> Vec<Option<When>> {
    times_on(None, text, found)
}

/// As [`times`], for a note of a known day: `YYYY-MM-DD`, with or without what follows it. A day
/// that cannot be read is not known.
pub fn times_on(stated: Option<&str>, text: &str, found: &[Vec<Attribute>]) -> Vec<Option<When>> {
    let stated = stated.and_then(|day| parse(day.get(..10)?));
    let note = stated.filter(|day| day.2.is_some()).or_else(|| {
        let attributes = found.iter().flatten();
        let days = attributes.filter_map(|attribute| day(attribute.value.as_ref()?));
        days.chain(written_days(text))
            .filter(|day| day.2.is_some())
            .max()
    });
    let of = |attributes: &Vec<Attribute>| {
        let mut all = attributes
            .iter()
            .filter(|one| !one.prior && !is_start(text, one));
        let value = attributes
            .iter()
            .any(|one| one.name == AttributeName::Value);
        all.find_map(|attribute| when(attribute, note))
            .filter(|when| !value || *when != When::Ahead)
    };
    found.iter().map(of).collect()
}

/// What an attribute tells of the time of its mention.
fn when(attribute: &Attribute, note: Option<Day>) -> Option<When> {
    let is_date = match attribute.name {
        AttributeName::Date => true,
        AttributeName::Onset => false,
        _ => return None,
    };
    let Some(Value::Text(value)) = &attribute.value else {
        return None;
    };
    if let Some(ago) = value.strip_prefix("-P") {
        let long = ago.ends_with(['Y', 'M']) && !ago.starts_with('T');
        return match (long, is_date) {
            (true, _) => Some(When::LongPast),
            (false, true) => Some(When::Past),
            (false, false) => None,
        };
    }
    if value.starts_with('P') {
        let ahead = is_date && value != "P0D";
        return ahead.then_some(When::Ahead);
    }
    // Of "2010..2011" the end counts.
    let last = value.rsplit("..").next()?;
    let day = parse(last)?;
    match note {
        Some(note) => compared(day, note),
        None => day.2.is_none().then_some(When::LongPast),
    }
}

/// Whether a day is before or behind that of the note; `None` if that is not certain.
fn compared(day: Day, note: Day) -> Option<When> {
    let months = |day: Day| day.1.map(|month| 12 * u32::from(day.0) + u32::from(month));
    if day.0 != note.0 && (day.1.is_none() || note.1.is_none()) {
        return Some(match day.0 < note.0 {
            true => When::LongPast,
            false => When::Ahead,
        });
    }
    let (own, other) = (months(day)?, months(note)?);
    let earlier = day.2.zip(note.2).map(|(own, other)| own.cmp(&other));
    let less = earlier.is_some_and(|order| order.is_lt());
    match own.cmp(&other) {
        std::cmp::Ordering::Greater => Some(When::Ahead),
        std::cmp::Ordering::Equal => less.then_some(When::Past),
        std::cmp::Ordering::Less if other - own == 1 && !less && day.2.is_some() => {
            Some(When::Past)
        }
        std::cmp::Ordering::Less => Some(When::LongPast),
    }
}

/// Whether something has been since a date, or began then: it may last.
fn is_start(text: &str, attribute: &Attribute) -> bool {
    const STARTS: [&str; 12] = [
        "since",
        "from",
        "began",
        "started",
        "starting",
        "beginning",
        "onset",
        "diagnosed",
        "dx",
        "noted",
        "developed",
        "initiated",
    ];
    let before = text.get(..attribute.span.start).unwrap_or_default();
    let words = before.split_whitespace().rev().take(2);
    let mut words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.any(|word| STARTS.iter().any(|start| word.eq_ignore_ascii_case(start)))
}

fn day(value: &Value) -> Option<Day> {
    match value {
        Value::Text(value) => parse(value),
        Value::Timing(_) => None,
    }
}

/// The day of "2021-03-14", "2021-03" or "2021".
fn parse(value: &str) -> Option<Day> {
    let mut parts = value.split('-');
    let year = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let month = parts.next().map(str::parse).transpose().ok()?;
    let day = parts.next().map(str::parse).transpose().ok()?;
    parts.next().is_none().then_some((year, month, day))
}

/// The days that a text writes in digits: "3/14/2021", "2021-03-14".
fn written_days(text: &str) -> impl Iterator<Item = Day> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '/' | '-')));
    words.filter_map(|word| {
        let parts: Vec<&str> = word.split(['/', '-']).collect();
        let [first, second, third] = parts[..] else {
            return None;
        };
        let (year, month, day) = match first.len() {
            4 => (first, second, third),
            _ => (third, first, second),
        };
        let year: u16 = year
            .parse()
            .ok()
            .filter(|year| (1900..2100).contains(year))?;
        let month: u8 = month.parse().ok()?;
        let day: u8 = day.parse().ok()?;
        let fits = (1..=12).contains(&month) && (1..=31).contains(&day);
        fits.then_some((year, Some(month), Some(day)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::attributes::{Anchor, AttributeRules, Kind};

    fn time_of(text: &str, mention: &str, kind: Kind) -> Option<When> {
        let start = text.find(mention).expect("the mention is in the text");
        let pieces = [Span::new(start, start + mention.len())];
        let anchor = Anchor {
            pieces: &pieces,
            kind,
        };
        let found = AttributeRules::english().find(text, &[anchor]);
        times(text, &found)[0]
    }

    #[test]
    fn dates_without_a_day_are_past() {
        let procedure = |text| time_of(text, "CABG", Kind::Procedure);
        assert_eq!(procedure("CABG 2010."), Some(When::LongPast));
        assert_eq!(procedure("CABG 3/2018."), Some(When::LongPast));
        assert_eq!(procedure("CABG 5 years ago."), Some(When::LongPast));
        assert_eq!(procedure("CABG 3 days ago."), Some(When::Past));
        assert_eq!(procedure("CABG in 3 months."), Some(When::Ahead));
        assert_eq!(procedure("CABG today."), None);
        assert_eq!(procedure("CABG on 3/4/2018."), None);
    }

    #[test]
    fn stated_day_of_the_note_comes_before_dates_of_its_text() {
        let text = "MRI on 4/2/2024. Seen 1/1/2026.";
        let pieces = [Span::new(0, 3)];
        let anchor = Anchor {
            pieces: &pieces,
            kind: Kind::Procedure,
        };
        let found = AttributeRules::english().find(text, &[anchor]);
        let of = |day| times_on(day, text, &found)[0];
        assert_eq!(of(None), Some(When::LongPast));
        assert_eq!(of(Some("2024-03-01T10:15:00Z")), Some(When::Ahead));
        assert_eq!(of(Some("2024-04-02")), None);
        assert_eq!(of(Some("2024")), Some(When::LongPast));
    }

    #[test]
    fn the_latest_full_date_is_that_of_the_note() {
        let of = |text| time_of(text, "MRI", Kind::Procedure);
        assert_eq!(of("Date: 3/9/2024. MRI on 4/2/2019."), Some(When::LongPast));
        assert_eq!(of("Date: 3/9/2024. MRI on 3/4/2024."), Some(When::Past));
        assert_eq!(of("Date: 3/9/2024. MRI on 3/9/2024."), None);
        let text = "Date: 3/9/2024. Colonoscopy in 2034.";
        assert_eq!(
            time_of(text, "Colonoscopy", Kind::Procedure),
            Some(When::Ahead)
        );
    }

    #[test]
    fn what_has_been_since_a_date_is_not_past() {
        let problem = |text| time_of(text, "stroke", Kind::Problem);
        assert_eq!(problem("stroke 2016."), Some(When::LongPast));
        assert_eq!(problem("stroke since 2016."), None);
        assert_eq!(problem("stroke 2 weeks ago."), Some(When::Past));
        let text = "Cough 2 weeks ago.";
        assert_eq!(time_of(text, "Cough", Kind::Problem), None);
        assert_eq!(problem("stroke."), None);
    }

    #[test]
    fn any_digits_are_read_without_a_panic() {
        for text in [
            "1/2/3/4",
            "--",
            "99/99/9999",
            "2021-13-40",
            "0/0/0",
            "9-9-19999",
        ] {
            assert_eq!(written_days(text).count(), 0, "{text}");
        }
        assert_eq!(
            written_days("3/14/2021, 2022-01-31").collect::<Vec<_>>(),
            [(2021, Some(3), Some(14)), (2022, Some(1), Some(31))]
        );
    }
}
