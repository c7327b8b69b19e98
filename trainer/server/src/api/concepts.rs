//! `GET /v1/concepts/{id}` and `GET /v1/search`.

use crate::api::Api;
use crate::api::http::{JSON, offered, response};
use crate::api::pool::{Note, Render, Settings};
use crate::api::problem::Problem;
use crate::api::schema::CodeObject;
use crate::serve::connections::Activity;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use pel_linker::bundle::Resolved;
use pel_notes::link::inputs::Stated;
use pel_output::NamedCode;
use pel_text::Span;
use pel_text::detect::{Detected, Origin};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// The number of results, if none is given.
const RESULTS: usize = 10;

/// The most results.
const MOST_RESULTS: usize = 100;

/// The longest query, in code points.
const QUERY: usize = 256;

/// A concept of the knowledge base.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConceptObject {
    /// The identifier.
    id: String,
    /// The preferred name.
    name: String,
    /// Other names.
    synonyms: Vec<String>,
    /// The semantic types, the primary one first.
    types: Vec<String>,
    /// The identifiers of the semantic types, if the source has them.
    type_ids: Vec<String>,
    /// The definition.
    definition: Option<String>,
    /// Cross-references: the concept in other vocabularies.
    xrefs: Vec<String>,
    /// The vocabularies that the concept comes from.
    sources: Vec<String>,
    /// Its codes in standard systems, the preferred ones first, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Option<Vec<CodeObject>>, nullable = false)]
    codes: Vec<NamedCode>,
    /// The retired identifier that was asked for, if this concept has replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    redirected_from: Option<String>,
    /// Why it was retired.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    redirect_reason: Option<String>,
}

/// A concept by its identifier. Retired identifiers lead to their successor.
#[utoipa::path(
    get,
    path = "/v1/concepts/{id}",
    operation_id = "concept",
    params(("id" = String, Path, description = "The identifier, percent-encoded.")),
    responses(
        (status = 200, description = "The concept, or the successor of a retired one.",
            body = ConceptObject, content_type = "application/json"),
        (status = 404, description = "There is no such identifier.", body = Problem,
            content_type = "application/problem+json"),
        (status = 410, description = "It is retired and has no successor.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn concept(
    State(api): State<Arc<Api>>,
    id: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> Response<Body> {
    let found = || {
        no_parameters(&request)?;
        offered(request.headers(), &[JSON])?;
        let Ok(Path(id)) = id else {
            let detail =
                "the identifier in the address is not UTF-8; percent-encode its UTF-8 bytes";
            return Err(Problem::bad_request(detail).field("id"));
        };
        find(&api, &id)
    };
    match found() {
        Ok(body) => response(JSON, body),
        Err(problem) => problem.response(),
    }
}

fn find(api: &Api, id: &str) -> Result<String, Problem> {
    let linker = &api.linker.linker;
    let gone = |status, detail: &str| Problem::new(status, detail).field("id");
    let (concept, redirect) = match linker.resolve(id)? {
        Resolved::Concept(concept) => (concept, None),
        Resolved::Redirected { concept, redirect } => (concept, Some(redirect)),
        Resolved::Retired(_) => {
            let detail = "this identifier is retired, and no concept of the knowledge base has \
                          replaced it";
            return Err(gone(StatusCode::GONE, detail));
        }
        Resolved::Unknown => {
            let detail = "the knowledge base has no concept with this identifier; /v1/search finds \
                          concepts by name";
            return Err(gone(StatusCode::NOT_FOUND, detail));
        }
    };
    let codes = NamedCode::of_concept(linker.bundle(), concept);
    let concept = linker.concept(concept)?;
    let (redirected_from, redirect_reason) = match redirect {
        None => (None, None),
        Some(redirect) => (Some(redirect.id), Some(redirect.reason)),
    };
    serde_json::to_string(&ConceptObject {
        id: concept.id,
        name: concept.name,
        synonyms: concept.synonyms,
        types: concept.types,
        type_ids: concept.type_ids,
        definition: concept.definition,
        xrefs: concept.xrefs,
        sources: concept.sources,
        codes,
        redirected_from,
        redirect_reason,
    })
    .map_err(|_| Problem::internal())
}

/// Concepts whose names are like a query, found by the linker: by names and by vectors.
#[utoipa::path(
    get,
    path = "/v1/search",
    operation_id = "search",
    params(
        ("q" = String, Query, min_length = 1, max_length = 256, description = "A name."),
        ("k" = Option<u16>, Query, minimum = 1, maximum = 100, nullable = false,
            description = "The number of concepts [default: 10]."),
    ),
    responses(
        (status = 200, description = "The concepts, best first.", body = crate::api::schema::Found,
            content_type = "application/json"),
    )
)]
pub async fn search(State(api): State<Arc<Api>>, request: Request<Body>) -> Response<Body> {
    let (head, _) = request.into_parts();
    match results(&api, &head).await {
        Ok(body) => response(JSON, body),
        Err(problem) => problem.response(),
    }
}

async fn results(api: &Api, head: &Parts) -> Result<String, Problem> {
    offered(&head.headers, &[JSON])?;
    let (query, k) = parameters(head.uri.query().unwrap_or_default())?;
    let name = query.trim();
    if name.is_empty() {
        return Ok("{\"results\":[]}".into());
    }
    let span = Span::new(0, name.len());
    let note = Note {
        id: String::new(),
        text: name.to_owned(),
        given: vec![Detected::new(span, Origin::Given)],
        only_given: true,
        stated: Stated::default(),
    };
    let settings = Arc::new(Settings {
        k,
        threshold: None,
        asserted: false,
        sets: false,
        xrefs: None,
        codes: None,
        overlapping: false,
        names_only: false,
        scheme: 0,
        under: None,
        ancestors: false,
    });
    let activity = head.extensions.get::<Activity>();
    let _busy = activity.map(Activity::busy);
    let found = api
        .pool
        .link(vec![note], &settings, Render::Candidates, false)
        .await?;
    Ok(format!("{{\"results\":{}}}", found.concat()))
}

/// The query and the number of results.
fn parameters(address: &str) -> Result<(String, usize), Problem> {
    let (mut query, mut k) = (None, None);
    for (name, value) in form_urlencoded::parse(address.as_bytes()) {
        let twice = match &*name {
            "q" => query.replace(value.into_owned()).is_some(),
            "k" => {
                let number = value.parse::<usize>().ok();
                let number = number.filter(|number| (1..=MOST_RESULTS).contains(number));
                let detail =
                    format!("expected a whole number from 1 to {MOST_RESULTS}, found {value:?}");
                let number = number.ok_or_else(|| Problem::unprocessable("k", detail))?;
                k.replace(number).is_some()
            }
            _ => return Err(unknown(&name, "it has q and k")),
        };
        if twice {
            return Err(
                Problem::bad_request("the address has this parameter twice; give it once")
                    .field(name),
            );
        }
    }
    match query {
        Some(query) if (1..=QUERY).contains(&query.chars().count()) => {
            Ok((query, k.unwrap_or(RESULTS)))
        }
        Some(query) => {
            let count = query.chars().count();
            let detail = format!("expected a name of 1 to {QUERY} characters, found {count}");
            Err(Problem::unprocessable("q", detail))
        }
        None => {
            let detail = format!(
                "the address has no parameter q; give a name of 1 to {QUERY} characters to search"
            );
            Err(Problem::unprocessable("q", detail))
        }
    }
}

fn unknown(name: &str, known: &str) -> Problem {
    Problem::bad_request(format!("this address has no such parameter; {known}")).field(name)
}

/// Refuses parameters where there are none.
///
/// # Errors
/// Status 400.
pub fn no_parameters(request: &Request<Body>) -> Result<(), Problem> {
    let query = request.uri().query().unwrap_or_default();
    match form_urlencoded::parse(query.as_bytes()).next() {
        Some((name, _)) => Err(unknown(&name, "it has none")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_search_are_checked() {
        let read = |address: &str| parameters(address).ok();
        assert_eq!(read("q=a+b%20c&k=3"), Some(("a b c".into(), 3)));
        assert_eq!(read("q=a"), Some(("a".into(), RESULTS)));
        for address in ["", "q=", "q=a&k=0", "q=a&k=101", "q=a&q=b", "q=a&x=1"] {
            assert_eq!(read(address), None, "{address}");
        }
        assert_eq!(read(&format!("q={}", "a".repeat(257))), None);
    }
}
