//! `pel serve --api` over real connections.

mod access;
mod client;
mod coding;
mod limits;
mod stream;

use crate::common::{KB, bundle, index, output_of, pel};
use client::{JSON, Server};
use serde_json::{Value, json};

const TEXT: &str = "No fever, but chest pain. \u{1f637} pyrexia";

/// What `pel link` writes of [`TEXT`] in a note named `note`.
fn linked(format: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("note.txt");
    std::fs::write(&note, TEXT).expect("written");
    let note = note.display().to_string();
    let args = [
        "link",
        "--device",
        "cpu",
        "--bundle",
        bundle(),
        &note,
        "--format",
        format,
    ];
    let done = output_of(pel(&[&args[..], more].concat()));
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.out
}

/// A body with [`TEXT`] and options.
fn body(options: Value) -> String {
    json!({"id": "note", "text": TEXT, "options": options}).to_string()
}

/// The texts of the mentions of a note.
fn texts(note: &Value) -> Vec<&str> {
    let mentions = note["mentions"].as_array().expect("mentions");
    mentions
        .iter()
        .map(|mention| mention["text"].as_str().expect("a text"))
        .collect()
}

#[test]
fn links_are_those_of_the_command_line() {
    let server = Server::new(&[]);
    let answer = server.link(&body(json!({})));
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json")
    );
    let expected: Value = serde_json::from_str(&linked("json", &[])).expect("JSON");
    assert_eq!(answer.json(), expected);
    assert_eq!(texts(&expected), ["fever", "chest pain", "pyrexia"]);

    let answer = server.ask(
        "POST /v1/link",
        &[JSON, "Accept: text/csv"],
        body(json!({})).as_bytes(),
    );
    assert!(answer.header("content-type").starts_with("text/csv"));
    assert_eq!(answer.text(), linked("csv", &[]));

    let accept = "Accept: application/x-ndjson";
    let answer = server.ask("POST /v1/link", &[JSON, accept], body(json!({})).as_bytes());
    let lines: Vec<Value> = linked("jsonl", &[])
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(answer.lines(), [json!({"doc": "note", "mentions": lines})]);
}

#[test]
fn links_are_bundles_of_fhir() {
    let server = Server::new(&[]);
    let ask = |accept: &str, body: &str| {
        server.ask(
            "POST /v1/link",
            &[JSON, &format!("Accept: {accept}")],
            body.as_bytes(),
        )
    };
    let one = ask("application/fhir+json", &body(json!({})));
    assert_eq!(
        (one.status, one.header("content-type")),
        (200, "application/fhir+json")
    );
    assert_eq!(one.json()["resourceType"], "Bundle");
    assert!(
        one.json()["entry"]
            .as_array()
            .is_some_and(|entries| entries.len() > 1)
    );
    let several = ask("application/fhir+ndjson", "[\"fever\", \"chest pain\"]").lines();
    assert_eq!(several.len(), 2);
    assert!(several.iter().all(|line| line["resourceType"] == "Bundle"));
    ask("application/fhir+json", "[\"fever\"]").is_problem(406, Some("Accept"), "a list");
}

#[test]
fn documents_are_linked_by_their_media_type() {
    let server = Server::new(&[]);
    let ask = |media: &str, content: &[u8]| {
        server.ask(
            "POST /v1/link",
            &[&format!("Content-Type: {media}")],
            content,
        )
    };
    let report = br#"{"resourceType": "DiagnosticReport", "id": "r1",
        "subject": {"reference": "Patient/p1"}, "text": {"div": "<div>Fever.</div>"}}"#;
    for (media, content, doc) in [
        ("text/plain", &b"Fever."[..], "1"),
        ("text/plain; charset=windows-1252", b"Fever.", "1"),
        ("text/html", b"<p>Fev<b>er</b>.", "1"),
        ("application/rtf", b"{\\rtf1 Fever.}", "1"),
        (
            "application/hl7-v2",
            b"MSH|^~\\&|A|B|C|D|2026||ORU^R01|M1|P|2.3\rNTE|1||Fever.",
            "M1",
        ),
        ("application/fhir+json", report, "r1"),
    ] {
        let answer = ask(media, content);
        assert_eq!(answer.status, 200, "{media}: {}", answer.text());
        let note = answer.json();
        assert_eq!(
            (&note["doc"], &note["text"]),
            (&doc.into(), &"Fever.".into()),
            "{media}"
        );
        assert_eq!(note["mentions"][0]["concept"]["id"], "D1", "{media}");
        assert_eq!(note["mentions"][0]["start"], 0, "{media}");
    }
    assert_eq!(
        ask("application/fhir+json", report).json()["patient"],
        "Patient/p1"
    );
    for (media, content, told) in [
        ("application/pdf", &b"%PDF-1.4"[..], "expected a whole PDF"),
        ("text/plain", b"\xff", "not UTF-8"),
        (
            "application/fhir+json",
            b"{\"resourceType\": \"Patient\"}",
            "no document",
        ),
        ("application/fhir+json", b"{", "cut"),
    ] {
        let answer = ask(media, content);
        assert!(answer.text().contains(told), "{}", answer.text());
        answer.is_problem(422, None, media);
    }
}

#[test]
fn several_texts_keep_their_order() {
    let server = Server::new(&[]);
    let mut texts: Vec<Value> = (0..40).map(|n| format!("fever {n}").into()).collect();
    texts[7] = json!({"id": "seven", "text": ""});
    for body in [json!({"texts": texts}), json!(texts)] {
        let answer = server.link(&body.to_string());
        let notes = answer.json();
        let notes = notes.as_array().expect("a list");
        assert_eq!(notes.len(), 40);
        for (at, note) in notes.iter().enumerate() {
            let (doc, count) = if at == 7 {
                ("seven".to_owned(), 0)
            } else {
                ((at + 1).to_string(), 1)
            };
            assert_eq!(note["doc"], doc);
            let fevers = note["mentions"].as_array().expect("mentions").iter();
            let fevers = fevers.filter(|mention| mention["concept"]["id"] == "D1");
            assert_eq!(fevers.count(), count, "{note}");
        }
    }
    assert_eq!(server.link("[]").json(), json!([]));
    let answer = server.ask("POST /v1/link", &[JSON, "Accept: text/csv"], b"[]");
    assert!(
        answer
            .text()
            .starts_with("doc,start_code_point,end_code_point,text")
    );
}

#[test]
fn options_are_those_of_the_command_line() {
    let server = Server::new(&[]);
    for (options, query, more) in [
        (json!({"k": 1}), "k=1", &["-k", "1"][..]),
        (json!({"asserted": true}), "asserted=true", &["--asserted"]),
        (
            json!({"threshold": 0.99}),
            "threshold=0.99",
            &["--threshold", "0.99"],
        ),
        (
            json!({"names_only": true}),
            "names_only=true",
            &["--names-only"],
        ),
        (
            json!({"overlapping": true}),
            "overlapping=true",
            &["--overlapping"],
        ),
        (
            json!({"xrefs": ["ICD10CM", "X"]}),
            "xrefs=ICD10CM,X",
            &["--xrefs", "ICD10CM,X"],
        ),
    ] {
        let expected: Value = serde_json::from_str(&linked("json", more)).expect("JSON");
        assert_eq!(server.link(&body(options)).json(), expected, "{query}");
        let by_address = server.post(&format!("/v1/link?{query}"), &body(json!({})));
        assert_eq!(by_address.json(), expected, "{query}");
    }
    // Options of the body replace those of the address.
    let answer = server.post("/v1/link?k=3", &body(json!({"k": 1}))).json();
    assert_eq!(
        answer["mentions"][0]["candidates"].as_array().map(Vec::len),
        Some(1)
    );
    for (options, field) in [
        (json!({"k": 0}), "options.k"),
        (json!({"k": 1001}), "options.k"),
        (json!({"threshold": 1e7}), "options.threshold"),
        (json!({"sets": true}), "options.sets"),
        (json!({"labels": "clinical"}), "options.labels"),
        (json!({"labels": "x", "names_only": true}), "options.labels"),
    ] {
        let answer = server.link(&body(options.clone()));
        answer.is_problem(422, Some(field), &options.to_string());
    }
}

#[test]
fn codes_are_those_of_the_command_line() {
    let place = crate::codes::coded();
    let path = |name: &str| place.path(name).display().to_string();
    let server = Server::of(&path("coded"), &[]);
    let text = crate::codes::NOTE;
    let by_command = |format: &str, codes: &[&str]| {
        let (bundle, note) = (path("coded"), path("note.txt"));
        let args = ["link", "--device", "cpu", "--bundle", &bundle, &note];
        let date = ["--date", "2026-11-26", "--format", format];
        output_of(pel(&[&args[..], &date, codes].concat())).out
    };
    let of = |options: Value| json!({"id": "note", "text": text, "options": options}).to_string();
    let all: Value = serde_json::from_str(&by_command("json", &[])).expect("JSON");
    assert_eq!(server.link(&of(json!({}))).json(), all);
    assert_eq!(
        all["mentions"][0]["concept"]["codes"][0]["display"],
        "Fever"
    );

    let chosen = ["--codes", "UMLS,ICD10CM"];
    let expected: Value = serde_json::from_str(&by_command("json", &chosen)).expect("JSON");
    assert_ne!(expected, all);
    for answer in [
        server.link(&of(json!({"codes": ["UMLS", "ICD10CM"]}))),
        server.post("/v1/link?codes=umls,icd-10-cm", &of(json!({}))),
    ] {
        assert_eq!(answer.json(), expected);
    }
    let ask = |accept: &str| {
        let address = "POST /v1/link?codes=UMLS,ICD10CM";
        server.ask(address, &[JSON, accept], of(json!({})).as_bytes())
    };
    assert_eq!(ask("Accept: text/csv").text(), by_command("csv", &chosen));
    let systems = |bundle: &str| -> Vec<String> {
        let resources = bundle.split("\"system\":\"").skip(1);
        let uris = resources.map(|rest| rest.split('"').next().unwrap_or_default().to_owned());
        uris.filter(|uri| uri.contains("icd") || uri.contains("umls") || uri.contains("sct"))
            .collect()
    };
    let fhir = ask("Accept: application/fhir+json").text();
    assert_eq!(systems(&fhir), systems(&by_command("fhir", &chosen)));
    assert!(fhir.contains("sid/icd-10-cm") && !fhir.contains("386661006"));

    let concept = server.get("/v1/concepts/D1").json();
    assert_eq!(concept["codes"], all["mentions"][0]["concept"]["codes"]);
    assert!(server.get("/v1/concepts/D2").json().get("codes").is_none());
}

#[test]
fn links_are_chosen_by_a_value_set_and_have_ancestors() {
    let place = crate::hierarchy::place();
    let server = Server::of(&place.path("bundle").display().to_string(), &[]);
    let body = |options: Value| {
        let text = "Fever and chest pain. Diabetes, diabetic foot. Takes aspirin.";
        json!({ "text": text, "options": options }).to_string()
    };
    let concepts = |answer: client::Answer| {
        let linked = answer.json();
        let mentions = linked["mentions"].as_array().cloned().expect("a list");
        let concept = |one: &Value| one["concept"].clone();
        mentions.iter().map(concept).collect::<Vec<Value>>()
    };
    let found = concepts(server.link(&body(json!({
        "under": ["ICD10CM:E08-E13", " RXNORM:1191"], "ancestors": true
    }))));
    let ids: Vec<&Value> = found.iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["D3", "D4", "D5"]);
    assert_eq!(
        found[1]["ancestors"],
        json!([
            {"id": "D3", "name": "diabetes mellitus"},
            {"id": "ICD10CM:E11", "name": "Type 2 diabetes mellitus"},
            {"id": "ICD10CM:E08-E13"},
            {"id": "ICD10CM:E00-E89", "name": "Endocrine, nutritional and metabolic diseases"},
        ])
    );
    let found = concepts(server.post("/v1/link?under=D3,ICD10CM:R07", &body(json!({}))));
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].get("ancestors"), None);
    for (options, field, expected) in [
        (
            json!({"under": ["OPCS4:X"]}),
            "options.under",
            "expected the identifier of a concept",
        ),
        (
            json!({"under": []}),
            "options.under",
            "expected 1 to 100 identifiers",
        ),
        (
            json!({"under": "D3"}),
            "options.under",
            "expected a sequence",
        ),
    ] {
        let answer = server.link(&body(options)).json();
        assert_eq!(answer["status"], 422, "{answer}");
        assert_eq!(answer["field"], field, "{answer}");
        let detail = answer["detail"].as_str().expect("a text");
        assert!(detail.contains(expected), "{expected}: {detail}");
    }
    let csv = server.ask(
        "POST /v1/link?ancestors=true",
        &[JSON, "Accept: text/csv"],
        body(json!({})).as_bytes(),
    );
    assert_eq!(csv.json()["field"], "ancestors");
    // The common bundle has no hierarchy.
    let server = Server::new(&[]);
    for options in [json!({"under": ["D1"]}), json!({"ancestors": true})] {
        let answer = server.link(&body(options)).json();
        let detail = answer["detail"].as_str().expect("a text");
        assert!(
            detail.contains("expected a bundle with a hierarchy"),
            "{answer}"
        );
    }
}

#[test]
fn unsuitable_codes_are_problems_with_the_known_systems() {
    let place = crate::codes::coded();
    let server = Server::of(&place.path("coded").display().to_string(), &[]);
    for (codes, detail) in [
        (
            json!(["ICD10CM", "OPCS4"]),
            "expected a code system (SNOMEDCT, ICD10CM, RXNORM, ATC, LOINC",
        ),
        (
            json!(["ICD10CM", "ICD10CM"]),
            "each code system once, found ICD10CM twice",
        ),
    ] {
        let answer = server.link(&body(json!({ "codes": codes })));
        answer.is_problem(422, Some("options.codes"), detail);
        let found = answer.json()["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(found.contains(detail), "{found}");
    }
    let query = server.post("/v1/link?codes=", &body(json!({})));
    query.is_problem(422, Some("codes"), "no system");
    let plain = Server::new(&[]).link(&body(json!({"codes": ["LOINC"]})));
    plain.is_problem(422, Some("options.codes"), "a bundle without codes");
}

#[test]
fn given_spans_are_linked() {
    let server = Server::new(&[]);
    let ask = |spans: Value, only: bool| {
        let body = json!({"text": TEXT, "spans": spans, "options": {"spans_only": only}});
        server.link(&body.to_string()).json()
    };
    // "pyrexia" is behind the emoji: 26 bytes, then 4 bytes, 1 code point or 2 UTF-16 units.
    for (start, end, unit) in [
        (31, 38, "bytes"),
        (28, 35, "code_points"),
        (29, 36, "utf16"),
    ] {
        let note = ask(json!([{"start": start, "end": end, "unit": unit}]), true);
        assert_eq!(texts(&note), ["pyrexia"], "{unit}");
        assert_eq!(note["mentions"][0]["origin"], "given");
        assert_eq!(note["mentions"][0]["concept"]["id"], "D1");
    }
    let note = ask(json!([{"fragments": [[14, 19], [28, 35]]}]), false);
    assert_eq!(texts(&note), ["fever", "chest pyrexia"]);
    let answer = server.link(
        &json!({"texts": ["a", {"text": "b", "spans": [{"start": 0, "end": 2}]}]}).to_string(),
    );
    answer.is_problem(422, Some("texts[1].spans[0]"), "outside");
}

#[test]
fn mistakes_are_problems() {
    let server = Server::new(&[]);
    let deep = "[".repeat(200_000);
    for (body, status, field) in [
        ("", 400, None),
        ("{", 400, None),
        ("nothing", 400, None),
        (deep.as_str(), 422, Some("[0]")),
        ("{\"text\": \"\\ud800\"}", 400, None),
        ("{\"text\": \"a\"} x", 400, None),
        ("{}", 422, Some("text")),
        ("3", 422, None),
        ("null", 422, None),
        ("{\"text\": 3}", 422, Some("text")),
        ("{\"text\": \"a\", \"text\": \"b\"}", 422, Some("text")),
        ("{\"text\": \"a\", \"other\": 1}", 422, Some("other")),
        (
            "{\"text\": \"a\", \"options\": {\"k\": \"1\"}}",
            422,
            Some("options.k"),
        ),
        (
            "{\"texts\": [\"a\", {\"text\": 1}]}",
            422,
            Some("texts[1].text"),
        ),
    ] {
        let what: String = body.chars().take(40).collect();
        server.link(body).is_problem(status, field, &what);
    }
    let answer = server.ask("POST /v1/link", &[JSON], b"{\"text\": \"\xff\"}");
    assert!(matches!(answer.status, 400 | 422), "{}", answer.text());
    let id = "x".repeat(1025);
    server
        .link(&json!({"text": "", "id": id}).to_string())
        .is_problem(422, Some("id"), "id");
    for query in ["k=x", "other=1", "k=1&k=2", "asserted=yes"] {
        let status = if query.starts_with("other") { 400 } else { 422 };
        let field = query.split('=').next();
        server
            .post(&format!("/v1/link?{query}"), "{\"text\": \"\"}")
            .is_problem(status, field, query);
    }
    assert_eq!(server.link(&body(json!({}))).status, 200);
}

#[test]
fn other_methods_and_media_types_are_refused() {
    let server = Server::new(&[]);
    for (first, allow) in [
        ("GET /v1/link", "POST"),
        ("DELETE /v1/link", "POST"),
        ("POST /health", "GET,HEAD"),
        ("PUT /v1/search", "GET,HEAD"),
        ("OPTIONS /v1/link", "POST"),
    ] {
        let answer = server.ask(first, &[], b"");
        answer.is_problem(405, None, first);
        assert_eq!(answer.header("allow"), allow, "{first}");
    }
    for lines in [
        &["Content-Type: image/png"][..],
        &["Content-Type: application/json; charset=latin1"],
        &[],
    ] {
        let answer = server.ask("POST /v1/link", lines, b"{\"text\": \"\"}");
        answer.is_problem(415, Some("Content-Type"), &lines.concat());
    }
    let answer = server.ask("POST /v1/link", &[JSON, "Content-Encoding: br"], b"x");
    answer.is_problem(415, Some("Content-Encoding"), "another coding");
    assert_eq!(answer.header("accept-encoding"), "gzip, identity");
    for (first, lines) in [
        ("POST /v1/link", &[JSON, "Accept: image/png"][..]),
        ("GET /health", &["Accept: text/csv"]),
        ("GET /v1/search?q=a", &["Accept: text/csv"]),
    ] {
        server
            .ask(first, lines, b"{\"text\": \"\"}")
            .is_problem(406, Some("Accept"), first);
    }
    for path in ["/", "/v1", "/v1/other", "/v1/link/", "/..%2f", "/%00"] {
        server.get(path).is_problem(404, None, path);
    }
    for path in [
        "/health?x=1",
        "/metrics?x",
        "/v1/concepts/D1?k=1",
        "/v1/search?q=a&x=1",
    ] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
    let head = server.ask("HEAD /health", &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn concepts_follow_redirects() {
    let folder = tempfile::tempdir().expect("a folder");
    let (kb, redirects) = (folder.path().join("kb.jsonl"), folder.path().join("r.tsv"));
    std::fs::write(&kb, KB).expect("written");
    std::fs::write(
        &redirects,
        "id\treplaced_by\treason\nGONE\t\tretired\nOLD\tD1\tmerged\n",
    )
    .expect("written");
    let out = folder.path().join("bundle");
    let done = index(
        &kb,
        &out,
        &["--redirects", &redirects.display().to_string()],
    );
    assert_eq!(done.code, Some(0), "{}", done.err);
    let server = Server::of(&out.display().to_string(), &[]);
    let concept = server.get("/v1/concepts/D1");
    assert_eq!(
        concept.json(),
        json!({
            "id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign"], "type_ids": [],
            "definition": "A high temperature.", "xrefs": [], "sources": ["TEST"]
        })
    );
    let mut expected = concept.json();
    expected["redirected_from"] = "OLD".into();
    expected["redirect_reason"] = "merged".into();
    assert_eq!(server.get("/v1/concepts/OLD").json(), expected);
    server
        .get("/v1/concepts/GONE")
        .is_problem(410, Some("id"), "retired");
    server
        .get("/v1/concepts/D9")
        .is_problem(404, Some("id"), "unknown");
    server
        .get("/v1/concepts/%ff")
        .is_problem(400, Some("id"), "no UTF-8");
}

#[test]
fn search_finds_names() {
    let server = Server::new(&[]);
    let ids = |path: &str| -> Vec<String> {
        let found = server.get(path).json();
        let results = found["results"].as_array().expect("results").iter();
        results
            .map(|result| result["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids("/v1/search?q=Pyrexia&k=1"), ["D1"]);
    assert_eq!(ids("/v1/search?q=chest%20pain")[0], "D2");
    assert_eq!(ids("/v1/search?q=diabetes&k=2").len(), 2);
    assert!(ids("/v1/search?q=%20").is_empty());
    for (path, field) in [
        ("/v1/search", "q"),
        ("/v1/search?q=", "q"),
        ("/v1/search?q=a&k=0", "k"),
    ] {
        server.get(path).is_problem(422, Some(field), path);
    }
}

#[test]
fn metrics_count_and_tell_no_text() {
    let server = Server::new(&[]);
    assert_eq!(server.get("/health").json()["status"], "ok");
    assert_eq!(server.get("/ready").json()["status"], "ok");
    server.link(&body(json!({})));
    server.link("{}");
    assert_eq!(server.metric("pel_texts_total"), 1.0);
    assert_eq!(server.metric("pel_text_bytes_total"), TEXT.len() as f64);
    assert_eq!(server.metric("pel_mentions_total"), 3.0);
    let requests = |status| {
        server.metric(&format!(
            "pel_http_requests_total{{route=\"/v1/link\",status=\"{status}\"}}"
        ))
    };
    assert_eq!((requests(200), requests(422)), (1.0, 1.0));
    let answer = server.get("/metrics");
    assert!(
        answer
            .header("content-type")
            .starts_with("text/plain; version=0.0.4")
    );
    assert!(!answer.text().contains("fever"));
    let secure = ["cache-control", "x-content-type-options", "referrer-policy"];
    assert_eq!(
        secure.map(|name| answer.header(name)),
        ["no-store", "nosniff", "no-referrer"]
    );
}

#[test]
fn description_has_the_fields_of_answers() {
    let server = Server::new(&[]);
    let description = server.get("/openapi.json").json();
    assert_eq!(description["openapi"], "3.1.0");
    let schema = |name: &str| description["components"]["schemas"][name].clone();
    let fits = |value: &Value, name: &str| {
        let schema = schema(name);
        let known = schema["properties"].as_object().expect(name);
        for (key, _) in value.as_object().expect("an object") {
            assert!(known.contains_key(key), "{name} lacks {key}");
        }
        for key in schema["required"].as_array().expect("required") {
            assert!(
                !value[key.as_str().expect("a name")].is_null() || key == "concept",
                "{name} has {key}"
            );
        }
    };
    let note = server.link(&body(json!({}))).json();
    fits(&note, "NoteObject");
    fits(&note["mentions"][1], "MentionObject");
    fits(&note["mentions"][1]["concept"], "CandidateObject");
    fits(&server.link("{}").json(), "Problem");
    fits(&server.get("/v1/concepts/D1").json(), "ConceptObject");
    assert!(server.get("/docs").text().contains("/v1/search"));
}
