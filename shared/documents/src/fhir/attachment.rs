//! Attachments: which one is read, and its text.

use super::Contents;
use crate::base64::decoded;
use crate::document::Document;
use crate::kind::Kind;
use crate::limits::Limits;
use pel_kb::error::{Context, Error, Result};
use serde_json::Value;

/// The formats in the order in which one is chosen among several of the same document.
const ORDER: [Kind; 8] = [
    Kind::Text,
    Kind::Html,
    Kind::Cda,
    Kind::Docx,
    Kind::Rtf,
    Kind::Hl7,
    Kind::Pdf,
    Kind::Fhir,
];

/// A media type in lower case, and its character set.
#[must_use]
pub fn media_type(declared: &str) -> (String, Option<String>) {
    let mut parts = declared.split(';');
    let media = parts.next().unwrap_or_default().trim().to_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"').to_owned())
    });
    (media, charset)
}

/// The addresses of attachments that a resource names.
pub(super) fn urls(resource: &Value) -> impl Iterator<Item = &str> {
    let content = resource.get("content").and_then(Value::as_array);
    let content = content.into_iter().flatten();
    let content = content.filter_map(|content| content.get("attachment"));
    let forms = resource.get("presentedForm").and_then(Value::as_array);
    content
        .chain(forms.into_iter().flatten())
        .filter_map(|attachment| attachment.get("url")?.as_str())
}

/// The Binary that an address names, if it is at hand.
pub(super) fn content<'v>(url: &str, contents: &Contents<'v>) -> Option<&'v Value> {
    let own = contents.get(url);
    let relative = || {
        let at = url.rfind("Binary/")?;
        let named = &url[at..];
        let end = named.find("/_history").unwrap_or(named.len());
        contents.get(&named[..end])
    };
    own.or_else(relative).copied()
}

/// Reads attachments of one document: all in plain text, else the first in the best other format.
///
/// # Errors
/// If there is none, or none in a format that is read.
pub(super) fn read(
    attachments: &[&Value],
    what: &str,
    contents: &Contents<'_>,
    limits: Limits,
) -> Result<Vec<Result<Document>>> {
    let mut known: Vec<(usize, &Value)> = Vec::new();
    let mut others = Vec::new();
    for attachment in attachments {
        let declared = declared_type(attachment, contents);
        let (media, _) = media_type(declared.unwrap_or("none"));
        let kind = Kind::of_media_type(&media);
        match kind.and_then(|kind| ORDER.iter().position(|known| *known == kind)) {
            Some(rank) => known.push((rank, attachment)),
            None => others.push(media),
        }
    }
    let best = known.iter().map(|(rank, _)| *rank).min();
    let Some(best) = best else {
        return Err(match others.is_empty() {
            true => Error::input(format!("the {what} has no attachment in its `content`")),
            false => {
                let others: Vec<String> = others
                    .iter()
                    .take(4)
                    .map(|media| media.chars().take(60).collect())
                    .collect();
                Error::input(format!(
                    "PEL reads attachments in plain text, HTML, RTF, DOCX, PDF, CDA and HL7 v2; \
                     this {what} has only {}",
                    others.join(", ")
                ))
            }
        });
    };
    let chosen = known.iter().filter(|(rank, _)| *rank == best);
    // Other formats are the same document again.
    let most = if best == 0 { usize::MAX } else { 1 };
    let chosen = chosen.take(most);
    Ok(chosen
        .map(|(_, attachment)| one(attachment, contents, limits))
        .collect())
}

fn declared_type<'v>(attachment: &'v Value, contents: &Contents<'v>) -> Option<&'v str> {
    let own = attachment.get("contentType").and_then(Value::as_str);
    own.or_else(|| {
        let url = attachment.get("url")?.as_str()?;
        content(url, contents)?.get("contentType")?.as_str()
    })
}

/// Reads one attachment or Binary.
pub(super) fn one(attachment: &Value, contents: &Contents<'_>, limits: Limits) -> Result<Document> {
    let declared = declared_type(attachment, contents).unwrap_or_default();
    let (media, charset) = media_type(declared);
    let mut data = attachment.get("data").and_then(Value::as_str);
    if data.is_none()
        && let Some(url) = attachment.get("url").and_then(Value::as_str)
    {
        data = content(url, contents).and_then(|binary| binary.get("data")?.as_str());
        if data.is_none() {
            return Err(Error::input(
                "the attachment has a url and no `data`; PEL fetches nothing, so put the content \
                 into `data`, or its Binary into the same Bundle",
            ));
        }
    }
    let Some(data) = data else {
        return Err(Error::input("the attachment has no `data`"));
    };
    let bytes = decoded(data).context(|| "`data` of the attachment".to_owned())?;
    let declared = Kind::of_media_type(&media);
    // `text/plain` is what it says. Of others the bytes tell more than the type.
    let kind = match declared {
        Some(Kind::Text) => Kind::Text,
        declared => Kind::of_bytes(&bytes).or(declared).ok_or_else(|| {
            Error::input(format!(
                "the content has the type {media:?}, which PEL does not read"
            ))
        })?,
    };
    crate::read_one(&bytes, kind, charset.as_deref(), limits.within()?)
        .context(|| format!("the attachment ({})", kind.label()))
}
