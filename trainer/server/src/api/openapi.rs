//! The description of the interface: OpenAPI 3.1, made from the types and handlers, and a page that
//! shows it.

use crate::api::concepts::ConceptObject;
use crate::api::problem;
use crate::api::problem::Problem;
use crate::api::request::{GivenSpan, Item, LinkRequest, ManyTexts, OneText, Options, TextObject};
use crate::api::schema::{
    AncestorObject, AnswerSetObject, AttributeObject, CandidateObject, CodeObject, CutObject,
    Found, Linked, MentionObject, NoteObject, Place, RelationObject,
};
use crate::api::{concepts, link, state};
use serde_json::{Value, json};
use std::fmt::Write;
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "PEL",
        description = "Links mentions in clinical text to concepts of a knowledge base. Texts are \
                       neither logged nor stored."
    ),
    paths(
        link::link,
        concepts::concept,
        concepts::search,
        state::health,
        state::ready,
        state::metrics,
        state::openapi,
        state::docs,
    ),
    components(schemas(
        LinkRequest,
        OneText,
        ManyTexts,
        Item,
        TextObject,
        GivenSpan,
        Options,
        Linked,
        NoteObject,
        MentionObject,
        AttributeObject,
        RelationObject,
        Place,
        CandidateObject,
        CodeObject,
        AncestorObject,
        AnswerSetObject,
        CutObject,
        ConceptObject,
        Found,
        Problem,
    ))
)]
struct Description;

/// The statuses of problems that every route can answer.
const ALWAYS: &[(u16, &str)] = &[
    (400, "The address or the body cannot be read."),
    (401, "The token is missing or wrong."),
    (405, "The method is not allowed."),
    (406, "No media type of `Accept` is offered."),
    (
        421,
        "The host is not this machine, and the server listens for it alone.",
    ),
    (500, "An error of the server."),
];

/// Those of routes that link.
const LINKING: &[(u16, &str)] = &[
    (422, "A value does not fit."),
    (
        429,
        "The queue is full; try again after `Retry-After` seconds.",
    ),
    (503, "The server is stopping."),
    (504, "The time of the request is over."),
];

/// Those of routes with a body.
const READING: &[(u16, &str)] = &[
    (408, "The body does not come."),
    (413, "The body, a text or the number of texts is too large."),
    (
        415,
        "The body has another media type, or another compression than gzip.",
    ),
];

/// The statuses of problems that a route can answer.
fn problems(path: &str) -> Vec<(u16, &'static str)> {
    match path {
        "/v1/link" => [ALWAYS, LINKING, READING].concat(),
        "/v1/search" => [ALWAYS, LINKING].concat(),
        _ => ALWAYS.to_vec(),
    }
}

/// The description as JSON. With `token` all but the state of the server needs a bearer token.
pub fn description(token: bool) -> Value {
    let mut description = serde_json::to_value(Description::openapi()).unwrap_or_default();
    description["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    description["info"]["license"] = json!({"name": env!("CARGO_PKG_LICENSE")});
    // A detector's labels and no detector at all: refused together.
    description["components"]["schemas"]["Options"]["not"] = json!({
        "required": ["labels", "names_only"],
        "properties": {"labels": {"type": "string"}, "names_only": {"const": true}},
    });
    let Some(paths) = description["paths"].as_object_mut() else {
        return description;
    };
    for (path, item) in paths.iter_mut() {
        let operations = item.as_object_mut().into_iter().flatten();
        for (_, operation) in operations {
            for (status, what) in problems(path) {
                let responses = &mut operation["responses"];
                if responses[status.to_string()].is_null() {
                    responses[status.to_string()] = response(status, what);
                }
            }
            if token && !state::is_open(path) {
                operation["security"] = json!([{"token": []}]);
            }
        }
    }
    if token {
        description["components"]["securitySchemes"] =
            json!({"token": {"type": "http", "scheme": "bearer"}});
    }
    description
}

fn response(status: u16, what: &str) -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    let mut response =
        json!({"description": what, "content": {problem::MEDIA_TYPE: {"schema": schema}}});
    let header = match status {
        401 => "WWW-Authenticate",
        405 => "Allow",
        429 | 503 => "Retry-After",
        _ => return response,
    };
    response["headers"] = json!({header: {"schema": {"type": "string"}, "required": true}});
    response
}

/// A page that lists the operations. It loads nothing else.
pub fn page(description: &Value) -> String {
    let mut rows = String::new();
    for (path, item) in description["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let summary = operation["summary"].as_str().unwrap_or_default();
            let _ = write!(
                rows,
                "<tr><td><code>{} {}</code></td><td>{}</td></tr>",
                escaped(&method.to_uppercase()),
                escaped(path),
                escaped(summary)
            );
        }
    }
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>PEL</title>\
         <style>body{{font:1rem/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}\
         td{{padding:.25rem 1rem .25rem 0;vertical-align:top}}</style></head><body><h1>PEL {}</h1>\
         <p>The interface is described by <a href=\"/openapi.json\">openapi.json</a> (OpenAPI \
         3.1).</p>\
         <table>{rows}</table><pre>curl {{address}}/v1/link -H 'content-type: application/json' \
         -d '{{\"text\": \"No fever.\"}}'</pre></body></html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_problems() {
        let description = description(true);
        assert_eq!(description["openapi"], "3.1.0");
        let paths = description["paths"].as_object().expect("paths");
        let names: Vec<&str> = paths.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "/docs",
                "/health",
                "/metrics",
                "/openapi.json",
                "/ready",
                "/v1/concepts/{id}",
                "/v1/link",
                "/v1/search"
            ]
        );
        let link = &description["paths"]["/v1/link"]["post"];
        for status in ["200", "400", "401", "413", "422", "429", "504"] {
            assert!(!link["responses"][status].is_null(), "{status}");
        }
        assert!(link["security"].is_array());
        assert!(description["paths"]["/health"]["get"]["security"].is_null());
        // As `Options::settings` answers.
        let options = &description["components"]["schemas"]["Options"];
        assert!(options["properties"]["labels"].is_object(), "{options}");
        let refused = &options["not"];
        assert_eq!(refused["required"], json!(["labels", "names_only"]));
        assert_eq!(refused["properties"]["names_only"]["const"], true);
        assert_eq!(refused["properties"]["labels"]["type"], "string");
        assert!(page(&description).contains("<code>POST /v1/link</code>"));
    }
}
