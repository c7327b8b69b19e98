//! FHIR in JSON (STU3 to R5): documents and reports with their attachments or narratives.
//!
//! serde_json parses, with its bound of 128 values in one another. No FHIR model is needed for the
//! few members that have texts and facts.

mod attachment;
mod resources;

use crate::document::Document;
use crate::limits::Limits;
use crate::{Entry, decode};
use pel_kb::error::{Context, Error, Result};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

pub use attachment::media_type;

/// Bundles within bundles that are read.
const DEEPEST: usize = 4;

/// The contents of resources that others name: `Binary/7` or a full URL.
pub(crate) type Contents<'v> = HashMap<String, &'v Value>;

/// Reads a resource or a Bundle.
pub(crate) fn read(bytes: &[u8], limits: Limits) -> Vec<Entry> {
    let text = decode::lenient(bytes, Some("utf-8"));
    let parsed: Result<Value, _> = serde_json::from_str(&text);
    match parsed {
        Ok(resource) => documents(&resource, limits),
        Err(cause) => vec![Entry::whole(Err(not_json(cause)))],
    }
}

/// Reads a resource on each line. A line that is cut or no JSON is one error.
pub(crate) fn read_lines(bytes: &[u8], limits: Limits) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let place = format!("line {}", at + 1);
        for entry in read(line, limits) {
            entries.push(Entry {
                place: match entry.place.is_empty() {
                    true => place.clone(),
                    false => format!("{place}: {}", entry.place),
                },
                document: entry.document,
            });
        }
    }
    entries
}

fn not_json(cause: serde_json::Error) -> Error {
    let message = match cause.is_eof() {
        true => "the JSON is cut: it ends within a value",
        false => "expected a JSON object",
    };
    let at = cause.to_string();
    let own = at.split(" at line ").next().unwrap_or_default();
    Error::input(message).caused_by(Error::input(format!("{own} at column {}", cause.column())))
}

/// The documents of a resource: a DocumentReference, DiagnosticReport, Composition or Binary, or
/// those of a Bundle. Resources of other types have none. A second attachment in plain text is a
/// document of its own, named `ID#2`.
#[must_use]
pub fn documents(resource: &Value, limits: Limits) -> Vec<Entry> {
    let mut entries = Vec::new();
    let contents = Contents::new();
    add(resource, "", 0, &contents, limits, &mut entries);
    entries
}

fn add(
    resource: &Value,
    place: &str,
    depth: usize,
    contents: &Contents<'_>,
    limits: Limits,
    entries: &mut Vec<Entry>,
) {
    let found = match resource.get("resourceType").and_then(Value::as_str) {
        Some("Bundle") if depth < DEEPEST => {
            return add_entries(resource, place, depth, limits, entries);
        }
        Some("Bundle") => vec![Err(Error::input(
            "more Bundles are in one another than PEL reads",
        ))],
        Some("DocumentReference") => resources::document_reference(resource, contents, limits),
        Some("DiagnosticReport") => resources::diagnostic_report(resource, contents, limits),
        Some("Composition") => vec![resources::composition(resource)],
        Some("Binary") => vec![resources::binary(resource, limits)],
        Some(_) => Vec::new(),
        None => vec![Err(Error::input(
            "this object has no resourceType, so it is not FHIR; PEL reads rows of a table from \
             JSON Lines (.jsonl)",
        ))],
    };
    let entry = |document: Result<Document>| Entry {
        place: place.to_owned(),
        document,
    };
    entries.extend(found.into_iter().map(entry));
}

/// The documents of a Bundle. A Binary that another resource of it names is read as part of this.
fn add_entries(
    bundle: &Value,
    place: &str,
    depth: usize,
    limits: Limits,
    entries: &mut Vec<Entry>,
) {
    let all = bundle.get("entry").and_then(Value::as_array);
    let all: Vec<&Value> = all.into_iter().flatten().collect();
    let resource = |entry: &'_ Value| entry.get("resource").is_some();
    let mut contents = Contents::new();
    for entry in all.iter().filter(|entry| resource(entry)) {
        let resource = &entry["resource"];
        if resource.get("resourceType").and_then(Value::as_str) != Some("Binary") {
            continue;
        }
        if let Some(url) = entry.get("fullUrl").and_then(Value::as_str) {
            contents.insert(url.to_owned(), resource);
        }
        if let Some(id) = resource.get("id").and_then(Value::as_str) {
            contents.insert(format!("Binary/{id}"), resource);
        }
    }
    let resources: Vec<&Value> = all
        .iter()
        .map(|entry| entry.get("resource").unwrap_or(entry))
        .collect();
    let named: HashSet<*const Value> = resources
        .iter()
        .flat_map(|resource| attachment::urls(resource))
        .filter_map(|url| attachment::content(url, &contents))
        .map(std::ptr::from_ref)
        .collect();
    for (at, resource) in resources.into_iter().enumerate() {
        if named.contains(&std::ptr::from_ref(resource)) {
            continue;
        }
        let own = format!("entry {}", at + 1);
        let place = match place.is_empty() {
            true => own,
            false => format!("{place}: {own}"),
        };
        add(resource, &place, depth + 1, &contents, limits, entries);
    }
}

/// The identifier of a resource: its id, else the first value of a business identifier.
fn identifier(resource: &Value) -> Option<String> {
    let business = ["masterIdentifier", "identifier"]
        .into_iter()
        .find_map(|member| {
            let member = resource.get(member)?;
            member.get(0).unwrap_or(member).get("value")?.as_str()
        });
    let id = resource.get("id").and_then(Value::as_str).or(business)?;
    Some(id.to_owned())
}

/// Adds the place of a member to the error of its reader.
fn within<T>(member: &str, found: Result<T>) -> Result<T> {
    found.context(|| member.to_owned())
}

#[cfg(test)]
mod tests;
