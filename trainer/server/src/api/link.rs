//! `POST /v1/link`.

use crate::api::accept::{FHIR, FHIR_LINES, NDJSON, media_type};
use crate::api::body::{Answer, Reader};
use crate::api::http::{CSV, JSON, offered, response};
use crate::api::pool::{Note, Render, Settings, jobs};
use crate::api::problem::Problem;
use crate::api::request::{Body as LinkBody, Options, TextObject};
use crate::api::{Api, coding, stream};
use crate::serve::connections::Activity;
use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use hyper::header::{self, HeaderMap};
use hyper::{Request, Response, StatusCode};
use pel_notes::link::inputs::{self, DocumentKind, ReadDocument};
use std::sync::Arc;

/// A body longer than this is read on a thread of its own, since the others wait meanwhile.
const LONG: usize = 64 << 10;

/// What a document in a body may unpack to.
const UNPACKED: usize = 16 << 20;

/// The media types of documents, for messages.
const DOCUMENTS: &str = "text/plain, text/html, application/rtf, application/pdf, \
                         application/vnd.openxmlformats-officedocument.wordprocessingml.document, \
                         application/hl7-cda+xml, application/hl7-v2, application/fhir+json";

/// Links texts.
#[utoipa::path(
    post,
    path = "/v1/link",
    operation_id = "link",
    params(
        ("k" = Option<u16>, Query, minimum = 1, maximum = 1000, nullable = false,
            description = "See `Options`."),
        ("threshold" = Option<f64>, Query, minimum = -1e6, maximum = 1e6, nullable = false,
            description = "See `Options`."),
        ("asserted" = Option<bool>, Query, nullable = false, description = "See `Options`."),
        ("sets" = Option<bool>, Query, nullable = false, description = "See `Options`."),
        ("xrefs" = Option<Vec<String>>, Query, style = Form, explode = false, nullable = false,
            description = "See `Options`. Separated by commas."),
        ("codes" = Option<Vec<String>>, Query, style = Form, explode = false, nullable = false,
            description = "See `Options`. Separated by commas."),
        ("overlapping" = Option<bool>, Query, nullable = false, description = "See `Options`."),
        ("names_only" = Option<bool>, Query, nullable = false, description = "See `Options`."),
        ("labels" = Option<String>, Query, nullable = false,
            description = "See `Options`. Not with `names_only=true`."),
        ("spans_only" = Option<bool>, Query, nullable = false, description = "See `Options`."),
        ("under" = Option<Vec<String>>, Query, style = Form, explode = false, nullable = false,
            description = "See `Options`. Separated by commas."),
        ("ancestors" = Option<bool>, Query, nullable = false, description = "See `Options`."),
    ),
    request_body(
        description = "One text, several texts, or a stream with a text object on each line; or a \
                       document. Offsets then count in the text that the answer has.",
        content(
            (crate::api::request::LinkRequest = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/plain"),
            (String = "text/html"),
            (String = "application/rtf"),
            (String = "application/pdf"),
            (String = "application/hl7-cda+xml"),
            (String = "application/hl7-v2"),
            (serde_json::Value = "application/fhir+json"),
        )
    ),
    responses(
        (status = 200, description = "The links: an object for one text, a list for several; a \
                                      line for each text; or a table.",
            content(
                (crate::api::schema::Linked = "application/json"),
                (String = "application/x-ndjson"),
                (String = "text/csv"),
                (serde_json::Value = "application/fhir+json"),
                (String = "application/fhir+ndjson"),
            )
        ),
    )
)]
pub async fn link(State(api): State<Arc<Api>>, request: Request<Body>) -> Response<Body> {
    match answer(api, request).await {
        Ok(response) => response,
        Err(problem) => problem.response(),
    }
}

async fn answer(api: Arc<Api>, request: Request<Body>) -> Result<Response<Body>, Problem> {
    let (head, body) = request.into_parts();
    let options = Options::of_query(head.uri.query().unwrap_or_default())?;
    let is_packed = coding::is_packed(&head.headers)?;
    let activity = head.extensions.get::<Activity>().cloned();
    let mut reader = Reader::new(body, api.limits.patience);
    if is_packed {
        reader.unpack();
    }
    let form = match media_type(&head.headers).as_deref() {
        Some(JSON) => BodyForm::Json,
        Some(NDJSON) => {
            offered(&head.headers, &[NDJSON])?;
            return stream::answer(api, reader, &options, activity);
        }
        _ => BodyForm::Document(document_kind(&head.headers)?),
    };
    let offer = offered(&head.headers, &[JSON, NDJSON, CSV, FHIR, FHIR_LINES])?;
    let render = match offer {
        NDJSON => Render::Line,
        CSV => Render::Csv,
        FHIR | FHIR_LINES => Render::Fhir,
        _ => Render::Json,
    };
    let mut held = api.budget.hold();
    let bytes = reader
        .whole(api.limits.body, &api.budget, &mut held)
        .await?;
    // From here on the client waits for the server.
    let _busy = activity.as_ref().map(Activity::busy);
    let reading = Arc::clone(&api);
    let length = match form {
        BodyForm::Json => bytes.len(),
        // A short one can take long, too.
        BodyForm::Document(_) => usize::MAX,
    };
    let (held, (one, settings, notes)) = apart(length, move || {
        let read = match form {
            BodyForm::Json => {
                reading.hold_values(&bytes, &mut held)?;
                read(&reading, &bytes, options)?
            }
            BodyForm::Document(form) => {
                // The text, and what it is unpacked from.
                reading.budget.more(&mut held, bytes.len())?;
                read_documents(&reading, &bytes, &form, options)?
            }
        };
        Ok((held, read))
    })
    .await?;
    if offer == FHIR && !one {
        let detail = format!(
            "several texts have a Bundle each, as {FHIR_LINES}, not {FHIR}; accept that, or send \
             one text"
        );
        return Err(Problem::new(StatusCode::NOT_ACCEPTABLE, detail).field("Accept"));
    }
    if settings.ancestors && !matches!(render, Render::Json | Render::Line) {
        let detail = format!("expected an answer in {JSON} or {NDJSON}, found {offer}");
        return Err(Problem::unprocessable("ancestors", detail));
    }
    let settings = Arc::new(settings);
    let mut linked = Vec::with_capacity(notes.len());
    for (at, job) in jobs(notes, settings.k).into_iter().enumerate() {
        linked.extend(api.pool.link(job, &settings, render, at > 0).await?);
    }
    let body = match render {
        Render::Json if !one => format!("[{}]\n", linked.join(",")),
        Render::Csv => csv_head(&api, &settings)? + &linked.concat(),
        // Without a copy of what may be long.
        _ if linked.len() == 1 => linked.pop().unwrap_or_default(),
        _ => linked.concat(),
    };
    drop(held);
    let answer = Answer::new(body, &api.budget);
    Ok(response(offer, Body::new(answer)))
}

/// What a body is.
enum BodyForm {
    /// A request in JSON.
    Json,
    /// A document.
    Document(DocumentForm),
}

/// The format of a document, and its declared character set.
type DocumentForm = (DocumentKind, Option<String>);

/// The format of a document in the body by its Content-Type.
///
/// # Errors
/// Status 415 if it is none that is read.
fn document_kind(headers: &HeaderMap) -> Result<DocumentForm, Problem> {
    let declared = headers.get(header::CONTENT_TYPE);
    let declared = declared.and_then(|value| value.to_str().ok());
    let (media, charset) = inputs::media_type(declared.unwrap_or_default());
    match DocumentKind::of_media_type(&media) {
        // NDJSON is a stream of text objects.
        Some(kind) if kind != DocumentKind::FhirLines => Ok((kind, charset)),
        _ => {
            let detail = format!(
                "the body must be application/json or application/x-ndjson in UTF-8, or one of \
                 {DOCUMENTS}; set Content-Type to the one that it is"
            );
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
                .field("Content-Type")
                .header(header::ACCEPT, "application/json, application/x-ndjson"))
        }
    }
}

/// Reads documents to their notes; whether it is one; and the settings.
fn read_documents(
    api: &Api,
    bytes: &Bytes,
    (kind, charset): &DocumentForm,
    options: Options,
) -> Result<(bool, Settings, Vec<Note>), Problem> {
    let settings = options.settings(api.linker.linker.bundle())?;
    let documents = inputs::read_body(bytes, *kind, charset.as_deref(), UNPACKED)
        .map_err(|error| Problem::from(error).field(""))?;
    let most = api.limits.texts;
    if documents.len() > most {
        let detail = format!(
            "expected at most {most} documents (--max-texts), found {}; send several requests",
            documents.len()
        );
        return Err(Problem::too_large(detail));
    }
    let one = documents.len() == 1;
    let k = settings.k;
    let note = |(at, document): (usize, ReadDocument)| {
        let object = TextObject {
            id: document.id,
            text: document.text,
            spans: None,
        };
        let note = object.note(at as u64 + 1, api.limits.text, false)?;
        let note = note.checked(k, api.limits.text)?;
        Ok(Note {
            stated: document.stated,
            ..note
        })
    };
    let notes = documents.into_iter().enumerate().map(note);
    Ok((one, settings, notes.collect::<Result<_, Problem>>()?))
}

/// Runs a function, on another thread if it has much to read.
async fn apart<T: Send + 'static>(
    bytes: usize,
    read: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    if bytes <= LONG {
        return read();
    }
    tokio::task::spawn_blocking(read)
        .await
        .unwrap_or_else(|_| Err(Problem::internal()))
}

/// Reads a body to its notes; whether it is one text; and the settings.
fn read(api: &Api, bytes: &Bytes, given: Options) -> Result<(bool, Settings, Vec<Note>), Problem> {
    let LinkBody {
        texts,
        count,
        one,
        options,
    } = LinkBody::read(bytes)?;
    let in_body = options != Options::default();
    let options = options.or(given);
    let settings = options.settings(api.linker.linker.bundle());
    let settings = settings.map_err(|problem| {
        if in_body {
            problem.within("options")
        } else {
            problem
        }
    })?;
    if count > api.limits.texts {
        let most = api.limits.texts;
        let detail = format!(
            "expected at most {most} texts (--max-texts), found {count}; send several requests, or \
             application/x-ndjson"
        );
        return Err(Problem::too_large(detail).field("texts"));
    }
    let only_given = options.spans_only == Some(true);
    let k = settings.k;
    let note = |(at, text): (usize, TextObject)| {
        let most = api.limits.text;
        let note = text
            .note(at as u64 + 1, most, only_given)
            .and_then(|note| note.checked(k, most));
        note.map_err(|problem| match one {
            true => problem,
            false => problem.within(&format!("texts[{at}]")),
        })
    };
    let notes = texts.into_iter().enumerate().map(note);
    Ok((one, settings, notes.collect::<Result<_, _>>()?))
}

/// The head of a table.
fn csv_head(api: &Api, settings: &Settings) -> Result<String, Problem> {
    use pel_output::{Form, NoteWriter};
    let systems = settings.codes.as_deref().unwrap_or_default();
    let writer = NoteWriter::new(Form::Csv, "", "", &api.linker.linker);
    Ok(writer.coded_in(systems).head()?)
}
