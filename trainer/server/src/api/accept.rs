//! Chooses the media type of a response by `Accept` (RFC 9110).

use hyper::header::{self, HeaderMap};

/// The media type of a FHIR resource as JSON.
pub const FHIR: &str = "application/fhir+json";

/// The media type of FHIR resources, one on each line.
pub const FHIR_LINES: &str = "application/fhir+ndjson";

/// The media type of NDJSON.
pub const NDJSON: &str = "application/x-ndjson";

/// The first of the offers that a client prefers, or the first one if it does not say; `None` if it
/// accepts none.
pub fn preferred<'o>(headers: &HeaderMap, offers: &[&'o str]) -> Option<&'o str> {
    let mut ranges = Vec::new();
    for value in headers.get_all(header::ACCEPT) {
        for range in value.to_str().ok()?.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let quality = parts
                .filter_map(|part| part.split_once('='))
                .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
                .map_or(Some(1.0), |(_, value)| value.trim().parse::<f32>().ok())
                .filter(|quality| (0.0..=1.0).contains(quality));
            if !name.is_empty() {
                ranges.push((name, quality.unwrap_or(0.0)));
            }
        }
    }
    if ranges.is_empty() {
        return offers.first().copied();
    }
    let quality = |offer: &str| {
        let kind = offer.split('/').next().unwrap_or_default();
        let of = |name: &str| {
            ranges
                .iter()
                .find(|(range, _)| range == name)
                .map(|(_, quality)| *quality)
        };
        // The most specific range counts.
        of(offer)
            .or_else(|| of(&format!("{kind}/*")))
            .or_else(|| of("*/*"))
            .unwrap_or(0.0)
    };
    let mut best = None;
    for offer in offers {
        let quality = quality(offer);
        if quality > best.map_or(0.0, |(_, best)| best) {
            best = Some((*offer, quality));
        }
    }
    best.map(|(offer, _)| offer)
}

/// The media type of a body without its parameters, in lower case; `None` if it is missing, or if
/// it states another charset than UTF-8.
pub fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let mut parts = value.split(';').map(str::trim);
    let name = parts.next()?.to_ascii_lowercase();
    let charset = parts
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    charset
        .is_none_or(|(_, value)| value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8"))
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn offers_are_chosen_by_quality() {
        let offers = ["application/json", NDJSON, "text/csv"];
        for (accept, expected) in [
            ("*/*", Some("application/json")),
            ("application/json", Some("application/json")),
            ("TEXT/CSV", Some("text/csv")),
            ("text/*", Some("text/csv")),
            ("application/json;q=0.5, text/csv", Some("text/csv")),
            ("application/*;q=0.1, */*;q=0.2", Some("text/csv")),
            ("application/json;q=0, */*", Some(NDJSON)),
            ("image/png", None),
            ("*/*;q=0", None),
            ("application/json;q=x", None),
            ("", Some("application/json")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(preferred(&headers, &offers), expected, "{accept}");
        }
        assert_eq!(
            preferred(&HeaderMap::new(), &offers),
            Some("application/json")
        );
    }

    #[test]
    fn media_types_are_read() {
        for (value, expected) in [
            ("application/json", Some("application/json")),
            (
                "Application/JSON; charset=\"UTF-8\"",
                Some("application/json"),
            ),
            ("application/json; charset=latin1", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(value));
            assert_eq!(media_type(&headers).as_deref(), expected, "{value}");
        }
        assert_eq!(media_type(&HeaderMap::new()), None);
    }
}
