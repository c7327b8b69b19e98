//! The body and the parameters of `POST /v1/link`.

use crate::api::pool::{K, Note, Settings};
use crate::api::problem::Problem;
use pel_corpora::spans;
use pel_corpora::spans::Unit;
use pel_kb::ConceptId;
use pel_kb::codes::System;
use pel_linker::bundle::Bundle;
use pel_notes::link::inputs::Stated;
use pel_text::Offsets;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use utoipa::ToSchema;

/// The largest number of candidates per mention.
const MOST_K: u16 = 1000;

/// The largest threshold, positive or negative.
const THRESHOLD: f64 = 1e6;

/// How the message of a member that stands twice begins.
const DOUBLED: &str = ": duplicate field `";

/// The most prefixes, and the most code systems, of a request.
const MOST_NAMES: usize = 100;

/// The most pieces of a mention.
const MOST_FRAGMENTS: usize = 100;

/// The longest identifier of a text, in code points.
const ID: usize = 1024;

/// The texts of a list that are kept at most. The others are only counted.
pub const MOST_TEXTS: usize = 1 << 16;

/// Memory for a value of a body, such as a text or a given mention, beside its own bytes.
const VALUE: usize = 64;

/// Options of linking, as those of `pel link`. Options in the body replace those of the address.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Number of candidates per mention [default: 5].
    #[schema(minimum = 1, maximum = 1000)]
    pub k: Option<u16>,
    /// NIL threshold instead of the bundle's: the lowest probability that is linked, or the lowest
    /// score if the bundle has no probabilities.
    #[schema(minimum = -1e6, maximum = 1e6)]
    pub threshold: Option<f64>,
    /// Only what is stated of the patient now: nothing negated, uncertain, past, planned or of
    /// someone else.
    pub asserted: Option<bool>,
    /// Sets of answers that hold the right one with a stated probability. Needs a bundle with
    /// probabilities.
    pub sets: Option<bool>,
    /// Only cross-references with these prefixes, in any case [default: all].
    #[schema(max_items = 100)]
    pub xrefs: Option<Vec<String>>,
    /// Only codes of these systems, in this order, each once: SNOMEDCT, ICD10CM, RXNORM, ATC, LOINC,
    /// CVX, HPO, MEDRT, MESH, UMLS, UNII, MONDO. The first one in which a concept has a code gives
    /// its primary code. Needs a bundle with codes [default: all].
    #[schema(max_items = 100)]
    pub codes: Option<Vec<String>>,
    /// Nested and overlapping mentions too ("knee" in "left knee pain").
    pub overlapping: Option<bool>,
    /// Only names of the knowledge base: neither unknown terms nor what the detector finds.
    pub names_only: Option<bool>,
    /// The set of labels of the bundle's detector [default: its first one]. Not with `names_only`.
    pub labels: Option<String>,
    /// Only given mentions; no others are looked for.
    pub spans_only: Option<bool>,
    /// Only links to these concepts and those below: identifiers of concepts, or codes with their
    /// system, such as ICD10CM:E08-E13. Needs a bundle with a hierarchy [default: all].
    #[schema(max_items = 100)]
    pub under: Option<Vec<String>>,
    /// The concepts and codes above each linked concept, the nearest first. Needs a bundle with a
    /// hierarchy, and an answer in JSON.
    pub ancestors: Option<bool>,
}

/// A given mention: `start` and `end`, or `fragments`.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenSpan {
    /// Where it begins.
    #[serde(default)]
    pub start: Option<u32>,
    /// Where it ends, exclusive.
    #[serde(default)]
    pub end: Option<u32>,
    /// The pieces of a discontinuous mention, each with start and end.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Vec<u32>>>, max_items = 100)]
    pub fragments: Option<Vec<(u32, u32)>>,
    /// The unit of its numbers.
    #[serde(default)]
    #[schema(inline)]
    pub unit: Unit,
}

/// A text with its name and given mentions.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TextObject {
    /// Its name in the answer [default: its number, from 1].
    #[serde(default)]
    #[schema(max_length = 1024)]
    pub id: Option<String>,
    /// The text.
    pub text: String,
    /// Given mentions. Detected ones that overlap them are left out.
    #[serde(default)]
    pub spans: Option<Vec<GivenSpan>>,
}

/// One text with options.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // describes `Body`
pub struct OneText {
    /// Its name in the answer [default: 1].
    #[schema(max_length = 1024)]
    id: Option<String>,
    /// The text.
    text: String,
    /// Given mentions. Detected ones that overlap them are left out.
    spans: Option<Vec<GivenSpan>>,
    /// Options of linking.
    #[schema(nullable = false)]
    options: Option<Options>,
}

/// Several texts with options.
#[derive(Debug, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // describes `Body`
pub struct ManyTexts {
    /// The texts.
    texts: Vec<Item>,
    /// Options of linking.
    #[schema(nullable = false)]
    options: Option<Options>,
}

/// A text alone, or with its name and given mentions.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)] // the schema has its variants
pub enum Item {
    /// A text.
    Text(String),
    /// A text with more.
    Object(TextObject),
}

/// The body of a request to link.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)] // the schema has its variants
pub enum LinkRequest {
    /// One text.
    One(OneText),
    /// Several texts.
    Many(ManyTexts),
    /// Several texts without options.
    List(Vec<Item>),
}

/// The body of a request as it is read.
pub struct Body {
    /// The texts, at most [`MOST_TEXTS`].
    pub texts: Vec<TextObject>,
    /// The number of all texts.
    pub count: usize,
    /// Whether it was one text, not a list.
    pub one: bool,
    /// The options.
    pub options: Options,
}

/// The members of a body that is an object. A member that is null differs from a missing one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    #[serde(default, deserialize_with = "present")]
    id: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    text: Option<String>,
    #[serde(default, deserialize_with = "present")]
    spans: Option<Option<Vec<GivenSpan>>>,
    #[serde(default, deserialize_with = "present")]
    texts: Option<Items>,
    #[serde(default, deserialize_with = "present")]
    options: Option<Options>,
}

/// A value that is not null, unless its type has null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// An item of a list of texts.
struct AnyItem(TextObject);

impl<'de> Deserialize<'de> for AnyItem {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = AnyItem;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or an object with `text`")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<AnyItem, E> {
                self.visit_string(text.to_owned())
            }
            fn visit_string<E: serde::de::Error>(self, text: String) -> Result<AnyItem, E> {
                Ok(AnyItem(TextObject {
                    id: None,
                    text,
                    spans: None,
                }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AnyItem, A::Error> {
                TextObject::deserialize(MapAccessDeserializer::new(map)).map(AnyItem)
            }
        }
        from.deserialize_any(Reader)
    }
}

/// A list of texts: the first ones, and the number of all.
#[derive(Default)]
struct Items {
    first: Vec<TextObject>,
    count: usize,
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Items;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Items, A::Error> {
                let mut items = Items::default();
                while items.count < MOST_TEXTS {
                    let Some(item) = list.next_element::<AnyItem>()? else {
                        return Ok(items);
                    };
                    items.first.push(item.0);
                    items.count += 1;
                }
                while list.next_element::<IgnoredAny>()?.is_some() {
                    items.count += 1;
                }
                Ok(items)
            }
        }
        from.deserialize_seq(Reader)
    }
}

/// An object or a list.
enum AnyBody {
    Object(Box<Members>),
    List(Items),
}

impl<'de> Deserialize<'de> for AnyBody {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = AnyBody;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with `text` or `texts`, or a list of texts")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AnyBody, A::Error> {
                let members = Members::deserialize(MapAccessDeserializer::new(map))?;
                Ok(AnyBody::Object(Box::new(members)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<AnyBody, A::Error> {
                Items::deserialize(SeqAccessDeserializer::new(list)).map(AnyBody::List)
            }
        }
        from.deserialize_any(Reader)
    }
}

/// The message of the JSON reader without a string that it quotes. It could be a text, and clients
/// log messages.
fn without_text(message: &str) -> String {
    let quotes = ["invalid type: string ", "invalid value: string "];
    match message.rsplit_once(", expected ") {
        Some((found, expected)) if quotes.iter().any(|start| found.starts_with(start)) => {
            format!("found a string, expected {expected}")
        }
        _ => message.to_owned(),
    }
}

/// The memory for the values of a body beside its bytes: so much for each comma and each brace
/// outside of strings.
pub fn memory(json: &[u8]) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    let mut values = 0;
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b',' | b'{' if !quoted => values += 1,
            _ => {}
        }
    }
    values * VALUE
}

/// Reads JSON. A mistake in its form is status 400, a value that does not fit 422.
///
/// # Errors
/// A problem that names the field.
pub fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        let form = match cause.classify() {
            serde_json::error::Category::Data => "the JSON has another form than in /openapi.json",
            _ => "this is not valid JSON",
        };
        let detail = format!("{form}: {}", without_text(&cause.to_string()));
        let path = if path == "." { "" } else { &path };
        match cause.classify() {
            // The reader does not say where: it finds the member before its value.
            serde_json::error::Category::Data if detail.contains(DOUBLED) => {
                let name = detail.split('`').nth(1).unwrap_or_default();
                let problem = Problem::unprocessable(name, &*detail);
                match path {
                    "" => problem,
                    path => problem.within(path),
                }
            }
            serde_json::error::Category::Data => Problem::unprocessable(path, detail),
            _ => Problem::bad_request(detail),
        }
    })?;
    reader.end().map_err(|cause| {
        Problem::bad_request(format!(
            "more follows after the JSON value; send one value: {cause}"
        ))
    })?;
    Ok(value)
}

impl Body {
    /// Reads a body.
    ///
    /// # Errors
    /// A problem that names the field.
    pub fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let members = match json::<AnyBody>(bytes)? {
            AnyBody::List(items) => {
                return Ok(Self {
                    texts: items.first,
                    count: items.count,
                    one: false,
                    options: Options::default(),
                });
            }
            AnyBody::Object(members) => *members,
        };
        let options = members.options.unwrap_or_default();
        match (members.text, members.texts) {
            (Some(text), None) => Ok(Self {
                texts: vec![TextObject {
                    id: members.id.flatten(),
                    text,
                    spans: members.spans.flatten(),
                }],
                count: 1,
                one: true,
                options,
            }),
            (None, Some(items)) => {
                for (field, given) in [
                    ("id", members.id.is_some()),
                    ("spans", members.spans.is_some()),
                ] {
                    if given {
                        return Err(Problem::unprocessable(
                            field,
                            format!(
                                "`{field}` belongs to an item of `texts`, not next to `texts`; \
                                 give the item as {{\"text\": ..., \"{field}\": ...}}"
                            ),
                        ));
                    }
                }
                Ok(Self {
                    texts: items.first,
                    count: items.count,
                    one: false,
                    options,
                })
            }
            (Some(_), Some(_)) => Err(Problem::unprocessable(
                "text",
                "the body has both `text` and `texts`; give one of them",
            )),
            (None, None) => Err(Problem::unprocessable(
                "text",
                "the body has neither `text` nor `texts`; give one text as `text`, or a list as \
                 `texts`",
            )),
        }
    }
}

impl Options {
    /// Reads the parameters of an address.
    ///
    /// # Errors
    /// A problem that names the parameter.
    pub fn of_query(query: &str) -> Result<Self, Problem> {
        let mut options = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let wrong = |what: &str| {
                Problem::unprocessable(
                    name.clone(),
                    format!("expected {what}, found {value:?} in the address"),
                )
            };
            let flag = || match &*value {
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                _ => Err(wrong("true or false")),
            };
            let twice = match &*name {
                "k" => {
                    let k = value
                        .parse()
                        .map_err(|_| wrong("a number from 1 to 1000"))?;
                    options.k.replace(k).is_some()
                }
                "threshold" => {
                    let threshold = value.parse().map_err(|_| wrong("a number"))?;
                    options.threshold.replace(threshold).is_some()
                }
                "asserted" => std::mem::replace(&mut options.asserted, flag()?).is_some(),
                "sets" => std::mem::replace(&mut options.sets, flag()?).is_some(),
                "overlapping" => std::mem::replace(&mut options.overlapping, flag()?).is_some(),
                "names_only" => std::mem::replace(&mut options.names_only, flag()?).is_some(),
                "spans_only" => std::mem::replace(&mut options.spans_only, flag()?).is_some(),
                "ancestors" => std::mem::replace(&mut options.ancestors, flag()?).is_some(),
                "under" => {
                    let ids = value.split(',').map(str::to_owned).collect();
                    options.under.replace(ids).is_some()
                }
                "labels" => options.labels.replace(value.to_string()).is_some(),
                "xrefs" => {
                    let prefixes = value.split(',').map(str::to_owned).collect();
                    options.xrefs.replace(prefixes).is_some()
                }
                "codes" => {
                    let systems = value.split(',').map(str::to_owned).collect();
                    options.codes.replace(systems).is_some()
                }
                _ => {
                    let detail = "this address has no such parameter; /openapi.json lists those \
                                  that it has";
                    return Err(Problem::bad_request(detail).field(name));
                }
            };
            if twice {
                let detail = "the address has this parameter twice; give it once";
                return Err(Problem::unprocessable(name, detail));
            }
        }
        Ok(options)
    }

    /// These options, and those of `rest` where nothing is given.
    #[must_use]
    pub fn or(self, rest: Self) -> Self {
        Self {
            k: self.k.or(rest.k),
            threshold: self.threshold.or(rest.threshold),
            asserted: self.asserted.or(rest.asserted),
            sets: self.sets.or(rest.sets),
            xrefs: self.xrefs.or(rest.xrefs),
            codes: self.codes.or(rest.codes),
            overlapping: self.overlapping.or(rest.overlapping),
            names_only: self.names_only.or(rest.names_only),
            labels: self.labels.or(rest.labels),
            spans_only: self.spans_only.or(rest.spans_only),
            under: self.under.or(rest.under),
            ancestors: self.ancestors.or(rest.ancestors),
        }
    }

    /// The settings of a linker.
    ///
    /// # Errors
    /// A problem that names the option.
    pub fn settings(&self, bundle: &Bundle) -> Result<Settings, Problem> {
        let k = self.k.unwrap_or(K);
        if !(1..=MOST_K).contains(&k) {
            let detail = format!("expected a number from 1 to {MOST_K}, found {k}");
            return Err(Problem::unprocessable("k", detail));
        }
        if let Some(threshold) = self.threshold
            && !(-THRESHOLD..=THRESHOLD).contains(&threshold)
        {
            let detail = format!("expected a number within {THRESHOLD} of 0, found {threshold}");
            return Err(Problem::unprocessable("threshold", detail));
        }
        let (sets, names_only) = (self.sets == Some(true), self.names_only == Some(true));
        if sets && bundle.manifest.nil.sets.is_empty() {
            let detail = "the bundle of this server has no probabilities for sets; omit sets, or \
                          serve a bundle that `pel calibrate` has written";
            return Err(Problem::unprocessable("sets", detail));
        }
        if let Some(prefixes) = &self.xrefs
            && prefixes.len() > MOST_NAMES
        {
            let found = prefixes.len();
            let detail = format!("expected at most {MOST_NAMES} prefixes, found {found}");
            return Err(Problem::unprocessable("xrefs", detail));
        }
        let scheme = match &self.labels {
            None => 0,
            Some(_) if names_only => {
                let detail = "labels choose what the detector finds, and names_only excludes it; \
                              give one of them";
                return Err(Problem::unprocessable("labels", detail));
            }
            Some(name) => scheme(name, bundle)?,
        };
        Ok(Settings {
            k: usize::from(k),
            threshold: self.threshold.map(|threshold| threshold as f32),
            asserted: self.asserted == Some(true),
            sets,
            xrefs: self.xrefs.clone(),
            codes: self.code_systems(bundle)?,
            overlapping: self.overlapping == Some(true),
            names_only,
            scheme,
            under: self.concepts_under(bundle)?,
            ancestors: self.with_ancestors(bundle)?,
        })
    }
}

impl Options {
    /// The concepts below those that are chosen, if any are.
    fn concepts_under(&self, bundle: &Bundle) -> Result<Option<Arc<BTreeSet<ConceptId>>>, Problem> {
        let Some(ids) = &self.under else {
            return Ok(None);
        };
        if ids.is_empty() || ids.len() > MOST_NAMES {
            let found = ids.len();
            let detail = format!(
                "expected 1 to {MOST_NAMES} identifiers or codes with their system, found {found}"
            );
            return Err(Problem::unprocessable("under", detail));
        }
        let mut all = BTreeSet::new();
        for id in ids {
            let found = bundle.under(id.trim());
            all.extend(found.map_err(|error| Problem::unprocessable("under", error.to_string()))?);
        }
        Ok(Some(Arc::new(all)))
    }

    /// Whether ancestors are asked for.
    fn with_ancestors(&self, bundle: &Bundle) -> Result<bool, Problem> {
        let is_asked = self.ancestors == Some(true);
        if is_asked {
            let hierarchy = bundle.needed_hierarchy();
            hierarchy.map_err(|error| Problem::unprocessable("ancestors", error.to_string()))?;
        }
        Ok(is_asked)
    }

    /// The code systems that are chosen, if any are.
    fn code_systems(&self, bundle: &Bundle) -> Result<Option<Vec<System>>, Problem> {
        let Some(names) = &self.codes else {
            return Ok(None);
        };
        let wrong = |detail: &str| Problem::unprocessable("codes", detail);
        if names.len() > MOST_NAMES {
            let found = names.len();
            return Err(wrong(&format!(
                "expected at most {MOST_NAMES} code systems, found {found}"
            )));
        }
        let systems = bundle.chosen_systems(names);
        systems.map(Some).map_err(|error| wrong(&error.to_string()))
    }
}

/// The number of the set of labels with this name.
fn scheme(name: &str, bundle: &Bundle) -> Result<usize, Problem> {
    let wrong = |detail: String| Problem::unprocessable("labels", detail);
    let Some(detector) = &bundle.detector else {
        return Err(wrong(
            "the bundle of this server has no detector, so it has no sets of labels; omit labels"
                .into(),
        ));
    };
    detector.info().scheme(name).ok_or_else(|| {
        let schemes = detector.info().schemes.iter();
        let known: Vec<&str> = schemes.map(|scheme| scheme.name.as_str()).collect();
        wrong(format!("expected {}, found {name:?}", known.join(" or ")))
    })
}

impl TextObject {
    /// The note with its given mentions. `number` counts texts from 1; `most` is the largest text
    /// in bytes.
    ///
    /// # Errors
    /// A problem that names the field within the object.
    pub fn note(self, number: u64, most: usize, only_given: bool) -> Result<Note, Problem> {
        let Self { id, text, spans } = self;
        let length = id.as_ref().map_or(0, |id| id.chars().count());
        if length > ID {
            let detail = format!("expected at most {ID} characters, found {length}");
            return Err(Problem::unprocessable("id", detail));
        }
        if text.len() > most {
            let detail = format!(
                "expected at most {most} bytes of text, found {}",
                text.len()
            );
            return Err(Problem::too_large(detail).field("text"));
        }
        let mut given = Vec::new();
        if let Some(spans) = spans {
            let offsets = Offsets::new(&text);
            for (at, span) in spans.into_iter().enumerate() {
                let found = span.fragments().and_then(|(fragments, unit)| {
                    spans::mention(fragments, unit, &text, &offsets)
                        .map_err(|error| Problem::from(error).field(""))
                });
                given.push(found.map_err(|problem| problem.within(&format!("spans[{at}]")))?);
            }
            given.sort_unstable();
            given.dedup();
        }
        Ok(Note {
            id: id.unwrap_or_else(|| number.to_string()),
            text,
            given,
            only_given,
            stated: Stated::default(),
        })
    }
}

impl GivenSpan {
    fn fragments(self) -> Result<(Vec<(usize, usize)>, Unit), Problem> {
        let wrong = |detail: String| Problem::new(hyper::StatusCode::UNPROCESSABLE_ENTITY, detail);
        let fragments = match (self.start, self.end, self.fragments) {
            (Some(start), Some(end), None) => vec![(start, end)],
            (None, None, Some(fragments)) if !fragments.is_empty() => fragments,
            _ => {
                let detail = "a mention has either start and end, or fragments with at least one \
                              pair of them";
                return Err(wrong(detail.to_owned()));
            }
        };
        if fragments.len() > MOST_FRAGMENTS {
            return Err(wrong(format!(
                "expected at most {MOST_FRAGMENTS} fragments, found {}",
                fragments.len()
            )));
        }
        if let Some((start, end)) = fragments.iter().find(|(start, end)| start >= end) {
            return Err(wrong(format!(
                "a mention must start before it ends; this one has the start {start} and the end \
                 {end}"
            )));
        }
        let wide = |(start, end): (u32, u32)| (start as usize, end as usize);
        Ok((fragments.into_iter().map(wide).collect(), self.unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &str) -> serde_json::Value {
        let problem = Body::read(body.as_bytes()).err().expect(body);
        serde_json::to_value(problem).expect("JSON")
    }

    #[test]
    fn one_text_and_lists_are_read() {
        for (body, one, texts) in [
            (r#"{"text": "a"}"#, true, vec!["a"]),
            (
                r#"{"texts": ["a", {"id": "x", "text": "b"}]}"#,
                false,
                vec!["a", "b"],
            ),
            (r#"[{"text": "a"}, "b"]"#, false, vec!["a", "b"]),
            ("[]", false, vec![]),
        ] {
            let read = Body::read(body.as_bytes()).expect(body);
            let found: Vec<&str> = read.texts.iter().map(|text| text.text.as_str()).collect();
            assert_eq!(read.count, found.len(), "{body}");
            assert_eq!((read.one, found), (one, texts), "{body}");
        }
    }

    #[test]
    fn texts_beyond_a_number_are_only_counted() {
        let body = format!("[\"a\"{}]", ",\"\"".repeat(MOST_TEXTS + 9));
        let read = Body::read(body.as_bytes()).expect("a list");
        assert_eq!(
            (read.texts.len(), read.count),
            (MOST_TEXTS, MOST_TEXTS + 10)
        );
    }

    #[test]
    fn memory_follows_from_the_values_outside_of_strings() {
        for (json, values) in [
            ("[]", 0),
            (r#"{"text": "a, {b}, \"c, d\", \\"}"#, 1),
            (r#"["a", "b", "c"]"#, 2),
            (r#"{"text": "a", "spans": [{}, {"start": 1, "end": 2}]}"#, 6),
        ] {
            assert_eq!(memory(json.as_bytes()), values * VALUE, "{json}");
        }
    }

    #[test]
    fn mistakes_name_their_field() {
        for (body, status, field) in [
            (r#"{"text": 3}"#, 422, Some("text")),
            (
                r#"{"texts": ["a", {"text": null}]}"#,
                422,
                Some("texts[1].text"),
            ),
            (r#"{"texts": ["a", 3]}"#, 422, Some("texts[1]")),
            (
                r#"{"text": "a", "options": {"k": -1}}"#,
                422,
                Some("options.k"),
            ),
            (
                r#"{"text": "a", "options": {"kk": 1}}"#,
                422,
                Some("options.kk"),
            ),
            (r#"{"text": "a", "options": null}"#, 422, Some("options")),
            (
                r#"{"text": "a", "spans": [{"start": "x"}]}"#,
                422,
                Some("spans[0].start"),
            ),
            (r#"{"text": "a", "texts": []}"#, 422, Some("text")),
            (r#"{"texts": [], "id": "x"}"#, 422, Some("id")),
            ("{}", 422, Some("text")),
            (r#"{"text": "a", "text": "b"}"#, 422, Some("text")),
            ("3", 422, None),
            (r#"{"text": "a"} {}"#, 400, None),
            (r#"{"text": "a"#, 400, None),
            (r#"{"text": "\ud800"}"#, 400, None),
            ("", 400, None),
        ] {
            let found = problem(body);
            assert_eq!(found["status"], status, "{body}: {found}");
            assert_eq!(found["field"].as_str(), field, "{body}: {found}");
        }
        let deep = format!("{{\"text\": {}", "[".repeat(100_000));
        assert!(matches!(problem(&deep)["status"].as_u64(), Some(400 | 422)));
        assert!(Body::read(b"{\"text\": \"\xff\"}").is_err());
    }

    #[test]
    fn messages_have_no_text() {
        for body in [
            r#"{"texts": "zyx has fever, expected by \"all\""}"#,
            r#"{"text": "a", "spans": "zyx"}"#,
            r#"{"text": "a", "options": {"k": "zyx"}}"#,
            r#"["a", {"text": "b", "spans": ["zyx"]}]"#,
        ] {
            let found = problem(body);
            let detail = found["detail"].as_str().expect("a detail");
            assert!(detail.contains("found a string, expected "), "{detail}");
            assert!(!detail.contains("zyx"), "{detail}");
        }
    }

    #[test]
    fn options_of_the_address_are_read() {
        let found = Options::of_query(
            "k=3&threshold=0.5&asserted=true&xrefs=ICD10CM,MESH&codes=LOINC&\
                               under=ICD10CM:E08-E13,D3&ancestors=true",
        );
        let expected = Options {
            k: Some(3),
            threshold: Some(0.5),
            asserted: Some(true),
            xrefs: Some(vec!["ICD10CM".into(), "MESH".into()]),
            codes: Some(vec!["LOINC".into()]),
            under: Some(vec!["ICD10CM:E08-E13".into(), "D3".into()]),
            ancestors: Some(true),
            ..Options::default()
        };
        assert_eq!(found.expect("options"), expected);
        for query in ["k=x", "k=1&k=2", "asserted=1", "other=1", "threshold="] {
            assert!(Options::of_query(query).is_err(), "{query}");
        }
    }

    #[test]
    fn given_spans_are_checked() {
        let note = |spans: &str| {
            let body = format!(r#"{{"text": "\ud83d\ude37 has fever", "spans": {spans}}}"#);
            let text = Body::read(body.as_bytes()).expect(spans).texts.remove(0);
            text.note(1, 100, false)
        };
        for spans in [
            r#"[{"start": 6, "end": 11}]"#,
            r#"[{"start": 9, "end": 14, "unit": "bytes"}]"#,
            r#"[{"fragments": [[7, 12]], "unit": "utf16"}]"#,
        ] {
            let note = note(spans).expect(spans);
            let span = note.given[0].span;
            assert_eq!(
                (span.start, span.end, note.id.as_str()),
                (9, 14, "1"),
                "{spans}"
            );
        }
        for spans in [
            r#"[{"start": 6, "end": 12}]"#,
            r#"[{"start": 6, "end": 6}]"#,
            r#"[{"start": 6}]"#,
            r#"[{"start": 1, "end": 9, "unit": "bytes"}]"#,
            r#"[{"fragments": []}]"#,
            r#"[{"start": 7, "end": 6}]"#,
            r#"[{"fragments": [[0, 1], [6, 6]]}]"#,
            &format!(r#"[{{"fragments": [[0, 1]{}]}}]"#, ", [2, 3]".repeat(100)),
            "[{}]",
        ] {
            let problem = serde_json::to_value(note(spans).expect_err(spans)).expect("JSON");
            assert_eq!(
                (&problem["status"], &problem["field"]),
                (&422.into(), &"spans[0]".into())
            );
        }
    }
}
