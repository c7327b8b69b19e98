use super::*;
use ::base64::Engine;
use serde_json::json;

fn encoded(text: &[u8]) -> String {
    ::base64::engine::general_purpose::STANDARD.encode(text)
}

fn all(resource: &Value) -> Vec<(String, std::result::Result<Document, String>)> {
    documents(resource, Limits::default())
        .into_iter()
        .map(|entry| {
            (
                entry.place,
                entry.document.map_err(|error| error.to_string()),
            )
        })
        .collect()
}

fn one(resource: &Value) -> Document {
    let mut found = all(resource);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0).1.expect("readable")
}

fn reference(attachment: Value) -> Value {
    json!({
        "resourceType": "DocumentReference", "id": "d1", "status": "current",
        "type": {"coding": [{"display": "Progress note"}]},
        "subject": {"reference": "Patient/p1"}, "date": "2026-01-03T10:15:00Z",
        "author": [{"display": "Ann Roe"}],
        "context": {"encounter": [{"reference": "Encounter/e1"}], "period": {"start": "2026-01-02"}},
        "content": [{"attachment": attachment}],
    })
}

#[test]
fn attachments_of_every_format_are_read_with_the_facts_of_the_resource() {
    for (media, content) in [
        ("text/plain", &b"Gout."[..]),
        ("text/html; charset=utf-8", b"<p>Gout."),
        ("application/rtf", b"{\\rtf1 Gout.}"),
        ("text/rtf", b"{\\rtf1 Gout.}"),
    ] {
        let found = one(&reference(
            json!({"contentType": media, "data": encoded(content)}),
        ));
        assert_eq!(found.text, "Gout.", "{media}");
        assert_eq!(found.id.as_deref(), Some("d1"));
        assert_eq!(found.title.as_deref(), Some("Progress note"));
        assert_eq!(found.date.as_deref(), Some("2026-01-02"));
        assert_eq!(found.author.as_deref(), Some("Ann Roe"));
        assert_eq!(found.patient.as_deref(), Some("Patient/p1"));
        assert_eq!(found.encounter.as_deref(), Some("Encounter/e1"));
    }
}

#[test]
fn plain_text_is_preferred_to_the_same_document_in_other_formats() {
    let mut resource = reference(Value::Null);
    let attachment = |media: &str, content: &[u8]| {
        let data = encoded(content);
        json!({"attachment": {"contentType": media, "data": data}})
    };
    resource["content"] = json!([
        attachment("application/pdf", b"%PDF-"),
        attachment("text/html", b"<p>no"),
        attachment("text/plain", b"one"),
        attachment("text/plain", b"two"),
    ]);
    let found = all(&resource);
    let texts: Vec<_> = found
        .iter()
        .map(|(_, document)| {
            let document = document.as_ref().expect("readable");
            (document.id.as_deref().unwrap_or_default(), &*document.text)
        })
        .collect();
    assert_eq!(texts, [("d1", "one"), ("d1#2", "two")]);
}

#[test]
fn binaries_of_a_bundle_are_read_where_they_are_named() {
    let binary = json!({"resourceType": "Binary", "id": "b1", "contentType": "text/html",
        "data": encoded(b"<p>Gout.")});
    let alone = json!({"resourceType": "Binary", "id": "b2", "contentType": "text/plain",
        "data": encoded(b"Fever.")});
    let bundle = json!({"resourceType": "Bundle", "entry": [
        {"resource": {"resourceType": "Patient"}},
        {"resource": reference(json!({"url": "https://example.org/fhir/Binary/b1/_history/1"}))},
        {"resource": binary},
        {"resource": alone},
    ]});
    let found = all(&bundle);
    let found: Vec<_> = found
        .iter()
        .map(|(place, document)| {
            let document = document.as_ref().expect("readable");
            (&**place, document.id.as_deref(), &*document.text)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("entry 2", Some("d1"), "Gout."),
            ("entry 4", Some("b2"), "Fever.")
        ]
    );
}

#[test]
fn reports_have_a_form_or_a_narrative() {
    let report = |more: Value| {
        let mut report = json!({"resourceType": "DiagnosticReport", "id": "r1",
            "code": {"text": "Chest CT"}, "effectiveDateTime": "2026-01-02",
            "encounter": {"reference": "Encounter/e1"}, "performer": [{"display": "Bo Low"}]});
        for (key, value) in more.as_object().expect("an object") {
            report[key] = value.clone();
        }
        report
    };
    let form = json!({"presentedForm": [{"contentType": "text/plain", "data": encoded(b"PE.")}]});
    let found = one(&report(form));
    assert_eq!(
        (&*found.text, found.title.as_deref()),
        ("PE.", Some("Chest CT"))
    );
    assert_eq!(found.author.as_deref(), Some("Bo Low"));
    let narrative = json!({"text": {"div": "<div>No <b>PE</b></div>"}, "conclusion": "Clear."});
    assert_eq!(one(&report(narrative)).text, "No PE\n\nClear.");
    assert!(all(&report(json!({"result": []}))).is_empty());
}

#[test]
fn sections_of_a_composition_have_codes() {
    let section = |code: &str, title: &str, div: &str| {
        json!({"title": title, "text": {"div": format!("<div>{div}</div>")},
            "code": {"coding": [{"system": "http://loinc.org", "code": code}]}})
    };
    let mut outer = section("8648-8", "Course", "<p>Better.</p>");
    outer["section"] = json!([section("10160-0", "Drugs", "<ul><li>ASA</li></ul>")]);
    let resource = json!({"resourceType": "Composition", "id": "c1", "title": "Summary",
        "date": "2026-01-03", "subject": {"identifier": {"value": "7"}}, "section": [outer]});
    let found = one(&resource);
    assert_eq!(found.text, "Course\n\nBetter.\n\nDrugs\nASA");
    let sections: Vec<_> = found
        .sections
        .iter()
        .map(|one| (one.start, one.code.as_deref()))
        .collect();
    assert_eq!(sections, [(0, Some("8648-8")), (17, Some("10160-0"))]);
    assert_eq!(found.patient.as_deref(), Some("7"));
}

#[test]
fn cut_line_is_one_error_and_the_others_are_read() {
    let good = reference(json!({"contentType": "text/plain", "data": encoded(b"Gout.")}));
    let lines = format!(
        "{good}\n{}\n\n{{\"resourceType\": \"Patient\"}}\n[1]\n{good}",
        &good.to_string()[..50]
    );
    let found = read_lines(lines.as_bytes(), Limits::default());
    let found: Vec<_> = found
        .into_iter()
        .map(|entry| {
            (
                entry.place,
                entry.document.map_err(|error| error.to_string()),
            )
        })
        .collect();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].1.is_ok() && found[3].1.is_ok());
    assert_eq!(found[1].0, "line 2");
    assert!(
        found[1]
            .1
            .as_ref()
            .is_err_and(|error| error.contains("is cut"))
    );
    assert_eq!((&*found[2].0, &*found[3].0), ("line 5", "line 6"));
}

#[test]
fn what_has_no_text_is_an_error() {
    let plain = |more: Value| {
        let mut attachment = json!({"contentType": "text/plain"});
        for (key, value) in more.as_object().expect("an object") {
            attachment[key] = value.clone();
        }
        reference(attachment)
    };
    let mut withdrawn = plain(json!({"data": "ZmV2ZXI="}));
    withdrawn["status"] = "entered-in-error".into();
    let mut empty = plain(json!({}));
    empty["content"] = json!([]);
    for (resource, expected) in [
        (
            plain(json!({"url": "http://example.org/1"})),
            "has a url and no `data`; PEL fetches nothing",
        ),
        (plain(json!({})), "has no `data`"),
        (plain(json!({"data": "Zm?="})), "is not base64"),
        (
            plain(json!({"data": encoded(b"Fi\xe8vre")})),
            "not UTF-8 from byte 2 on",
        ),
        (
            reference(json!({"contentType": "image/png", "data": ""})),
            "has only image/png",
        ),
        (empty, "has no attachment"),
        (withdrawn, "entered-in-error"),
        (json!({"resourceType": "Composition"}), "no narrative"),
        (json!({"id": "x"}), "has no resourceType"),
    ] {
        let found = all(&resource);
        let [(_, Err(error))] = &found[..] else {
            panic!("{resource}: {found:?}")
        };
        assert!(error.contains(expected), "{error}");
    }
    assert!(all(&json!({"resourceType": "Patient"})).is_empty());
    assert!(all(&json!({"resourceType": "Bundle"})).is_empty());
}
