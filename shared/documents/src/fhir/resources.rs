//! What resources state of a document, and where they have its text.

use super::{Contents, attachment, identifier, within};
use crate::dates;
use crate::document::Document;
use crate::flow::Flow;
use crate::html;
use crate::limits::Limits;
use pel_kb::error::{Error, Result};
use serde_json::Value;

/// The deepest section of a Composition.
const DEEPEST: usize = 32;

/// A DocumentReference: its attachments.
pub(super) fn document_reference(
    resource: &Value,
    contents: &Contents<'_>,
    limits: Limits,
) -> Vec<Result<Document>> {
    if let Some(error) = withdrawn(resource, "document") {
        return vec![Err(error)];
    }
    let content = resource.get("content").and_then(Value::as_array);
    let attachments: Vec<&Value> = content
        .into_iter()
        .flatten()
        .map(|content| content.get("attachment").unwrap_or(&Value::Null))
        .collect();
    let created = attachments.iter().find_map(|one| text(one, &["creation"]));
    let facts = Document {
        title: text(resource, &["description"])
            .or_else(|| words_of(resource.get("type")))
            .or_else(|| attachments.iter().find_map(|one| text(one, &["title"]))),
        date: first_date(
            resource,
            &[&["context", "period", "start"], &["period", "start"]],
        )
        .or_else(|| created.and_then(|date| dates::checked(&date)))
        .or_else(|| first_date(resource, &[&["date"], &["created"], &["indexed"]])),
        author: person(resource, &["author"]),
        ..facts(resource)
    };
    match attachment::read(&attachments, "DocumentReference", contents, limits) {
        Ok(found) => named(found, &facts),
        Err(error) => vec![Err(error)],
    }
}

/// A DiagnosticReport: its presented forms, else its narrative and conclusion. One of observations
/// alone has none.
pub(super) fn diagnostic_report(
    resource: &Value,
    contents: &Contents<'_>,
    limits: Limits,
) -> Vec<Result<Document>> {
    let forms = resource.get("presentedForm").and_then(Value::as_array);
    let forms: Vec<&Value> = forms.into_iter().flatten().collect();
    let mut flow = Flow::default();
    narrative(resource, &mut flow);
    if let Some(conclusion) = text(resource, &["conclusion"]) {
        flow.block();
        flow.verbatim(&conclusion);
    }
    let (shown, _) = flow.finish();
    if forms.is_empty() && shown.is_empty() {
        return Vec::new();
    }
    if let Some(error) = withdrawn(resource, "report") {
        return vec![Err(error)];
    }
    let facts = Document {
        title: words_of(resource.get("code")),
        date: first_date(
            resource,
            &[
                &["effectiveDateTime"],
                &["effectivePeriod", "start"],
                &["issued"],
            ],
        ),
        author: person(resource, &["resultsInterpreter", "performer"]),
        ..facts(resource)
    };
    if forms.is_empty() {
        return named(vec![Ok(Document::of_text(shown))], &facts);
    }
    match attachment::read(&forms, "DiagnosticReport", contents, limits) {
        Ok(found) => named(found, &facts),
        Err(error) => vec![Err(error)],
    }
}

/// A Composition: the narratives of its sections.
pub(super) fn composition(resource: &Value) -> Result<Document> {
    if let Some(error) = withdrawn(resource, "document") {
        return Err(error);
    }
    let mut flow = Flow::default();
    sections(resource, &mut flow, 0);
    let (mut shown, mut marked) = flow.finish();
    if shown.is_empty() {
        let mut flow = Flow::default();
        narrative(resource, &mut flow);
        (shown, marked) = flow.finish();
    }
    if shown.is_empty() {
        return Err(Error::input("the Composition has no narrative"));
    }
    Ok(Document {
        text: shown,
        sections: marked,
        title: text(resource, &["title"]).or_else(|| words_of(resource.get("type"))),
        date: first_date(resource, &[&["event", "period", "start"], &["date"]]),
        author: person(resource, &["author"]),
        ..facts(resource)
    })
}

/// A Binary: its content.
pub(super) fn binary(resource: &Value, limits: Limits) -> Result<Document> {
    let found = within(
        "Binary",
        attachment::one(resource, &Contents::new(), limits),
    )?;
    Ok(Document {
        id: identifier(resource).or(found.id.clone()),
        ..found
    })
}

/// The sections of a Composition or of a section.
fn sections(parent: &Value, flow: &mut Flow, depth: usize) {
    let all = parent.get("section").and_then(Value::as_array);
    if depth >= DEEPEST {
        return;
    }
    for section in all.into_iter().flatten() {
        let title = text(section, &["title"]);
        let name = title.clone().or_else(|| words_of(section.get("code")));
        flow.block();
        flow.section(loinc(section.get("code")), name.unwrap_or_default());
        if let Some(title) = title {
            flow.collapsed(&title);
            flow.line();
        }
        narrative(section, flow);
        sections(section, flow, depth + 1);
    }
}

/// The narrative of a resource or section.
fn narrative(parent: &Value, flow: &mut Flow) {
    if let Some(div) = text(parent, &["text", "div"]) {
        html::read_into(flow, &div);
    }
}

/// The error of a resource that was withdrawn.
fn withdrawn(resource: &Value, what: &str) -> Option<Error> {
    let status = resource.get("status").and_then(Value::as_str)?;
    matches!(status, "entered-in-error" | "cancelled").then(|| {
        Error::input(format!(
            "the {what} has the status {status}, so it is not linked"
        ))
    })
}

/// What resources of all types state alike.
fn facts(resource: &Value) -> Document {
    let encounter = ["encounter", "context"].into_iter().find_map(|member| {
        let member = resource.get(member)?;
        let own = member.get("encounter").unwrap_or(member);
        reference(own.get(0).unwrap_or(own))
    });
    Document {
        id: identifier(resource),
        patient: resource.get("subject").and_then(reference),
        encounter,
        ..Document::default()
    }
}

/// The facts of the resource for each text of it. A second one is named `ID#2`.
fn named(found: Vec<Result<Document>>, facts: &Document) -> Vec<Result<Document>> {
    let one = |(at, document): (usize, Result<Document>)| {
        let document = document?;
        let mut own = Document {
            text: document.text.clone(),
            sections: document.sections.clone(),
            ..facts.clone()
        };
        own.complete_from(&document);
        if let (Some(id), 1..) = (&facts.id, at) {
            own.id = Some(format!("{id}#{}", at + 1));
        }
        Ok(own)
    };
    found.into_iter().enumerate().map(one).collect()
}

/// The reference of a Reference, else the value of its identifier.
fn reference(value: &Value) -> Option<String> {
    text(value, &["reference"]).or_else(|| text(value, &["identifier", "value"]))
}

/// The name of the first person of these members.
fn person(resource: &Value, members: &[&str]) -> Option<String> {
    members.iter().find_map(|member| {
        let member = resource.get(member)?;
        let first = member.get(0).unwrap_or(member);
        // STU3 has an actor in a performer.
        let first = first.get("actor").unwrap_or(first);
        text(first, &["display"])
    })
}

/// The words of a CodeableConcept.
fn words_of(concept: Option<&Value>) -> Option<String> {
    let concept = concept?;
    text(concept, &["text"]).or_else(|| text(concept.get("coding")?.get(0)?, &["display"]))
}

/// The code of LOINC of a CodeableConcept.
fn loinc(concept: Option<&Value>) -> Option<String> {
    let coding = concept?.get("coding")?.as_array()?;
    let own = coding
        .iter()
        .find(|one| text(one, &["system"]).as_deref() == Some("http://loinc.org"))?;
    text(own, &["code"])
}

/// The first date or instant among members.
fn first_date(resource: &Value, paths: &[&[&str]]) -> Option<String> {
    let dates = paths.iter().filter_map(|path| text(resource, path));
    dates.filter_map(|date| dates::checked(&date)).next()
}

/// The string at a path; of a list on the way its first element. `None` if it is empty.
fn text(value: &Value, path: &[&str]) -> Option<String> {
    let mut at = value;
    for member in path {
        at = at.get(member)?;
        at = match at {
            Value::Array(all) => all.first()?,
            one => one,
        };
    }
    let text = at.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}
