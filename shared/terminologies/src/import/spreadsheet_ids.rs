//! Identifiers that a spreadsheet program changed: "4.22132E+14" for a long number, "Jul-51" for
//! "1751-7", "#N/A" for a lookup without a result.

/// How a spreadsheet program changed an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A long number was rounded.
    Rounded,
    /// A code was taken for a date.
    Date,
    /// The value of a formula that failed.
    Failed,
}

/// The values of failed formulas, in the languages of the rules of context.
const FAILED: [&str; 17] = [
    "#BEZUG!", "#CALC!", "#DIV/0!", "#FELD!", "#N/A", "#NAME?", "#NOM?", "#NULL!", "#NUM!", "#NV",
    "#REF!", "#SPILL!", "#VALEUR!", "#VALUE!", "#WERT!", "#ZAHL!", "#¡REF!",
];

/// The beginnings of the names of months in English, German, French and Spanish.
const MONTHS: [&str; 26] = [
    "abr", "ago", "aou", "apr", "aug", "avr", "dec", "dez", "dic", "ene", "feb", "fev", "jan",
    "jui", "jul", "jun", "mai", "mar", "may", "mrz", "mär", "nov", "oct", "okt", "out", "sep",
];

/// How a spreadsheet program changed an identifier; `None` if it looks unchanged. Identifiers of a
/// terminology may look like a date.
pub(super) fn change_of(id: &str) -> Option<Change> {
    if id.starts_with('#') {
        let is_failed = FAILED.contains(&id.to_uppercase().as_str());
        return is_failed.then_some(Change::Failed);
    }
    if is_rounded(id) {
        return Some(Change::Rounded);
    }
    is_date(id).then_some(Change::Date)
}

/// Whether an identifier is a number in scientific notation, as spreadsheet programs write it.
fn is_rounded(id: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let Some((digits, exponent)) = id.split_once("E+").or_else(|| id.split_once("e+")) else {
        return false;
    };
    let (first, rest) = digits.split_once(['.', ',']).unwrap_or((digits, "0"));
    first.len() == 1 && [first, rest, exponent].into_iter().all(is_number)
}

/// Whether an identifier is a date, as spreadsheet programs write it.
fn is_date(id: &str) -> bool {
    let day = id
        .strip_suffix(" 00:00:00")
        .or_else(|| id.strip_suffix(" 00:00"))
        .unwrap_or(id);
    let is_number = |part: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    let is_month = |part: &str| {
        let part = part.trim_end_matches('.').to_lowercase();
        let is_word = part.chars().all(char::is_alphabetic) && part.chars().count() <= 4;
        is_word && MONTHS.iter().any(|month| part.starts_with(month))
    };
    let parts: Vec<&str> = day
        .split(['-', '/', '.', ' '])
        .filter(|part| !part.is_empty())
        .collect();
    let separators = day.matches(['-', '/', '.', ' ']).count();
    match parts[..] {
        // "1-May", "May-51"
        [one, two] if separators <= 2 => {
            is_number(one, 1..=2) && is_month(two) || is_month(one) && is_number(two, 2..=2)
        }
        // "1-May-51", "7/1/1751", "1751-07-01"
        [one, two, three] if separators <= 4 => {
            let is_year = is_number(three, 2..=2) || is_number(three, 4..=4);
            let named = is_number(one, 1..=2) && is_month(two) && is_year;
            let is_numeric = day.contains('/') || day.contains('.');
            let short = |part: &str| is_number(part, 1..=2);
            let numeric = is_numeric && short(one) && short(two) && is_number(three, 4..=4);
            let in_range = |part: &str, most: u32| {
                part.len() == 2
                    && part
                        .parse()
                        .is_ok_and(|number: u32| (1..=most).contains(&number))
            };
            let is_iso = is_number(one, 4..=4) && in_range(two, 12) && in_range(three, 31);
            named || numeric || is_iso && day.matches('-').count() == 2
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_identifiers_are_recognised() {
        for (id, change) in [
            ("4.22132E+14", Change::Rounded),
            ("4,22E+14", Change::Rounded),
            ("1E+15", Change::Rounded),
            ("3.8e+17", Change::Rounded),
            ("#N/A", Change::Failed),
            ("#REF!", Change::Failed),
            ("#NV", Change::Failed),
            ("#Name?", Change::Failed),
            ("1-May", Change::Date),
            ("May-51", Change::Date),
            ("01-Jul-51", Change::Date),
            ("7/1/1751", Change::Date),
            ("01.07.1751", Change::Date),
            ("1751-07-01", Change::Date),
            ("1751-07-01 00:00:00", Change::Date),
            ("1. Mai", Change::Date),
            ("2-Sept", Change::Date),
        ] {
            assert_eq!(change_of(id), Some(change), "{id}");
        }
    }

    #[test]
    fn identifiers_of_terminologies_are_unchanged() {
        for id in [
            "422132004",
            "1751-7",
            "C0011849",
            "I21.9",
            "HP:0001250",
            "0002-1433-80",
            "E10",
            "1E5",
            "2.7.11.1",
            "MAR1",
            "10-2024",
            "#12",
            "D012345",
            "may-1234",
            "1-Mayo clinic",
            "12.3E4",
            "1.2/3",
            "2345-13-01",
            "",
        ] {
            assert_eq!(change_of(id), None, "{id}");
        }
    }
}
