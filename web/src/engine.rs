//! A linker in a web page. The worker that owns it queues calls, so that one runs at a time.

use crate::additions::{Addition, concepts_of};
use crate::browser::Timer;
use crate::failure::{Failure, Outcome};
use crate::files::Files;
use crate::gpu;
use crate::shapes::{
    GivenMention, JsConcept, JsExplanation, JsLink, JsMatchedText, JsNote, LinkRequest, Rows,
};
use burn::tensor::Device;
use pel_kb::Concept;
use pel_kb::codes::System;
use pel_kb::error::{Context, Error};
use pel_linker::DetectorInput;
use pel_linker::bundle::{Bundle, Encoders, NEWEST_FORMAT, Parts, names};
use pel_linker::{Link, LinkOptions, Linker, Part, Prepared, Queries, SearchedCandidates};
use pel_model::burn::floats;
use pel_model::encode::{BatchSize, Encodings, Vectors};
use pel_model::nil::Decision;
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use pel_output::{Form, Named, NamedCode, Note, NoteWriter, Record, combine_codes};
use pel_terminologies::import::report::Report;
use pel_text::context::ContextRules;
use pel_text::detect::{Detected, Origin, join};
use pel_text::{Offsets, Span, text_of};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::wasm_bindgen;

/// A text whose linking has begun.
struct Work {
    text: String,
    options: LinkOptions,
    given: Vec<Detected>,
    /// Whether no more mentions are detected.
    spans_only: bool,
    /// The code systems of the codes to keep, in their order; `None` keeps all.
    systems: Option<Vec<System>>,
    /// What the detector reads, until its windows are there.
    input: Option<DetectorInput>,
    batches: Vec<Batch>,
    /// The number of batches that were not searched.
    left: usize,
    /// The links so far with their places in the text.
    links: Vec<(usize, Link)>,
    ms: Milliseconds,
    /// Of the detection, until it has ended.
    timer: Option<Timer>,
}

/// Mentions that are encoded together.
struct Batch {
    part: Part,
    /// Their vectors, once they are encoded.
    queries: Queries,
    /// Their candidates, once they were searched.
    searched: SearchedCandidates,
}

/// The milliseconds of each step: detection from beginning to end, the others summed over batches,
/// without those that a helper encodes.
#[derive(Clone, Copy, Default, Serialize)]
struct Milliseconds {
    detect: f64,
    encode: f64,
    search: f64,
}

/// The links of a text with the time of each step.
#[derive(Serialize)]
struct Linked {
    links: Vec<JsLink>,
    ms: Milliseconds,
}

impl Work {
    /// The links so far, in the order of the text.
    fn in_order(&self) -> Vec<&Link> {
        let mut order: Vec<&(usize, Link)> = self.links.iter().collect();
        order.sort_unstable_by_key(|(place, _)| *place);
        order.into_iter().map(|(_, link)| link).collect()
    }

    /// Links as the page has them.
    fn shown<'l>(
        &self,
        linker: &Linker,
        links: impl IntoIterator<Item = &'l Link>,
    ) -> Outcome<Vec<JsLink>> {
        let links = links.into_iter();
        let records = links.map(|link| Record::new(linker, link));
        let mut records: Vec<Record> = records.collect::<Result<_, _>>()?;
        combine_codes(&self.text, &mut records);
        if let Some(systems) = &self.systems {
            let all = records.iter_mut();
            all.for_each(|record| record.keep_codes(systems));
        }
        let note = Note {
            name: "",
            text: &self.text,
            records: &records,
            linker,
        };
        Ok(JsLink::all(&note, &Offsets::new(&self.text)))
    }

    /// Decides the links of all batches together.
    fn finish(&mut self, linker: &Linker) {
        let (mut places, mut parts) = (Vec::new(), Vec::new());
        let (mut queries, mut searched) = (Queries::default(), SearchedCandidates::default());
        for batch in self.batches.drain(..) {
            places.extend(batch.part.places);
            parts.push(batch.part.prepared);
            queries.extend(batch.queries);
            searched.extend(batch.searched);
        }
        let whole = Prepared::join(parts).of_one_text();
        let links = linker
            .steps()
            .finish_searched(&whole, &queries, &self.options, searched);
        self.links = places.into_iter().zip(links).collect();
    }

    fn batch(&self, at: usize) -> Result<&Batch, Error> {
        let missing = || Error::input(format!("the text has no batch {at}"));
        self.batches.get(at).ok_or_else(missing)
    }
}

/// A bundle with its encoder on a device.
#[wasm_bindgen]
pub struct Engine {
    linker: Linker,
    work: Option<Work>,
    /// The concepts that are being added.
    addition: Option<Addition>,
}

/// The added concepts of a list; `None` for concepts without a list.
#[derive(Serialize)]
struct AddedList<'a> {
    list: Option<&'a str>,
    concepts: Vec<&'a Concept>,
}

#[wasm_bindgen]
impl Engine {
    /// Checks a bundle and builds its encoder on the GPU or the CPU.
    ///
    /// # Errors
    /// If the bundle is damaged, of another version or inconsistent, or there is no WebGPU, in the
    /// browser or in this build.
    pub async fn load(files: Files, gpu: bool) -> Outcome<Engine> {
        let device = match gpu {
            true => gpu::device().await?,
            false => Device::flex(),
        };
        let parts = files.into_parts();
        let newer = is_newer(&parts);
        let bundle = Bundle::read(parts).map_err(|error| match newer {
            true => Failure::newer_bundle(error),
            false => error.into(),
        })?;
        Ok(Self {
            linker: Linker::new(bundle, &device)?,
            work: None,
            addition: None,
        })
    }

    /// The manifest of the bundle, as JSON.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn manifest(&self) -> Outcome<String> {
        Ok(serde_json::to_string(&self.linker.bundle().manifest)?)
    }

    /// Sets the rules of context for the texts that follow: built-in rules by name, or the text of
    /// a rule file, whose name is for messages.
    ///
    /// # Errors
    /// If no built-in rules have the name, or a line of the text is invalid. The rules stay as they
    /// are then.
    #[wasm_bindgen(js_name = setContextRules)]
    pub fn set_context_rules(&mut self, name: &str, text: Option<String>) -> Outcome<()> {
        let rules = match text {
            Some(text) => ContextRules::parse(&text, name)?,
            None => ContextRules::built_in(name).ok_or_else(|| no_such_rules(name))??,
        };
        self.linker.settings().set_context_rules(rules);
        Ok(())
    }

    /// Begins to link a text. Returns the number of windows in which the detector reads it: each is
    /// computed by [`Engine::read_window`], or by [`Helper::read_window`](crate::helper::Helper)
    /// and [`Engine::take_window`], in any order, before [`Engine::detect`].
    ///
    /// # Errors
    /// If the request is invalid, or a span is outside the text.
    pub fn begin(&mut self, text: String, request: &str) -> Outcome<usize> {
        let LinkRequest {
            spans,
            spans_only,
            overlapping,
            k,
            threshold,
            codes,
        } = serde_json::from_str(request)?;
        let systems = self.systems(codes)?;
        let timer = Timer::start("pel: detect");
        let offsets = Offsets::new(&text);
        let mut options = LinkOptions::default().threshold(threshold);
        options.k = k.unwrap_or(options.k);
        options.detect.overlapping = overlapping;
        let given = spans.iter().map(|given| given.detected(&text, &offsets));
        let mut given: Vec<Detected> = given.collect::<Result<_, Error>>()?;
        given.sort_unstable();
        given.dedup();
        let input = match spans_only {
            true => None,
            false => self
                .linker
                .bundle()
                .detector_input(&text, &options.detect)?,
        };
        let windows = input.as_ref().map_or(0, |input| input.rows().len());
        self.work = Some(Work {
            text,
            options,
            given,
            spans_only,
            systems,
            input,
            batches: Vec::new(),
            left: 0,
            links: Vec::new(),
            ms: Milliseconds::default(),
            timer: Some(timer),
        });
        Ok(windows)
    }

    /// A window for [`Helper::read_window`](crate::helper::Helper).
    ///
    /// # Errors
    /// If there is no such window.
    pub fn window(&self, at: usize) -> Outcome<String> {
        to_json(&Rows::of([self.window_row(at)?]))
    }

    /// Computes a window.
    ///
    /// # Errors
    /// If there is no such window.
    #[wasm_bindgen(js_name = readWindow)]
    pub fn read_window(&mut self, at: usize) -> Outcome<()> {
        let row = self.window_row(at)?;
        let detector = self.linker.bundle().detector.as_ref();
        let hidden = detector.map(|detector| detector.last_layer(std::slice::from_ref(row)));
        let hidden = hidden.and_then(|mut rows| rows.pop()).unwrap_or_default();
        self.take_window(at, &hidden)
    }

    /// Takes the values of a window.
    ///
    /// # Errors
    /// If there is no such window, or these are not its values.
    #[wasm_bindgen(js_name = takeWindow)]
    pub fn take_window(&mut self, at: usize, values: &[f32]) -> Outcome<()> {
        let work = self.work.as_mut().ok_or_else(nothing_linked)?;
        let input = work.input.as_mut().ok_or_else(nothing_linked)?;
        Ok(self.linker.bundle().take_window(input, at, values)?)
    }

    /// Finds and tokenizes the mentions of the text, whose windows were computed. Returns their
    /// number.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn detect(&mut self) -> Outcome<usize> {
        let work = self.work.as_mut().ok_or_else(nothing_linked)?;
        let (text, linker) = (&work.text, &self.linker);
        let found = match work.input.take() {
            Some(input) => linker.steps().detect_from(text, &work.options, input)?,
            None if work.spans_only => Vec::new(),
            None => linker.detect(text, &work.options)?,
        };
        let given = std::mem::take(&mut work.given);
        let prepared = linker.steps().prepare(text, join(given, found))?;
        let total = prepared.mentions();
        let rows = prepared.sequences().iter();
        let lengths: Vec<usize> = rows.map(|row| row.ids.len()).collect();
        let batch = |part| Batch {
            part,
            queries: Queries::default(),
            searched: SearchedCandidates::default(),
        };
        let parts = prepared.split(&linker.steps().encoder().batches(&lengths));
        work.batches = parts.into_iter().map(batch).collect();
        work.left = work.batches.len();
        work.ms.detect = work.timer.take().map_or(0.0, Timer::stop);
        Ok(total)
    }

    /// The number of batches of mentions. Each is computed by [`Engine::encode`], or by
    /// [`Helper::encode`](crate::helper::Helper) and [`Engine::take_vectors`], and then searched,
    /// in any order.
    ///
    /// # Errors
    /// If no text was begun.
    pub fn batches(&self) -> Outcome<usize> {
        Ok(self.work.as_ref().ok_or_else(nothing_linked)?.batches.len())
    }

    /// A batch for [`Helper::encode`](crate::helper::Helper).
    ///
    /// # Errors
    /// If there is no such batch.
    pub fn batch(&self, at: usize) -> Outcome<String> {
        let work = self.work.as_ref().ok_or_else(nothing_linked)?;
        to_json(&Rows::of(work.batch(at)?.part.prepared.sequences()))
    }

    /// Encodes a batch.
    ///
    /// # Errors
    /// If there is no such batch, or the device fails.
    pub async fn encode(&mut self, at: usize) -> Outcome<()> {
        let timer = Timer::start("pel: encode");
        let work = self.work.as_ref().ok_or_else(nothing_linked)?;
        let rows: Vec<&Encoded> = work.batch(at)?.part.prepared.sequences().iter().collect();
        let vectors = self.vectors(Side::Mention, &rows).await?;
        let ms = timer.stop();
        self.encoded(at, vectors, ms)
    }

    /// Takes the values of a batch.
    ///
    /// # Errors
    /// If there is no such batch, or these are not its values.
    #[wasm_bindgen(js_name = takeVectors)]
    pub fn take_vectors(&mut self, at: usize, values: Vec<f32>) -> Outcome<()> {
        let work = self.work.as_ref().ok_or_else(nothing_linked)?;
        let rows: Vec<&Encoded> = work.batch(at)?.part.prepared.sequences().iter().collect();
        let (encoder, scorer) = (self.linker.steps().encoder(), self.linker.steps().scorer());
        let vectors = encoder.encodings(scorer, &rows, values)?;
        self.encoded(at, vectors, 0.0)
    }

    fn encoded(&mut self, at: usize, vectors: Encodings, ms: f64) -> Outcome<()> {
        let queries = Queries::new(self.linker.steps().encoder().dim(), vectors);
        let work = self.work.as_mut().ok_or_else(nothing_linked)?;
        work.batches[at].queries = queries;
        work.ms.encode += ms;
        Ok(())
    }

    /// Searches and decides for an encoded batch. Returns its links as JSON. After the last batch
    /// the links of all are decided together: the mentions of a text bear on each other.
    ///
    /// # Errors
    /// If there is no such batch, or a concept is damaged.
    pub fn search(&mut self, at: usize) -> Outcome<String> {
        let work = self.work.as_mut().ok_or_else(nothing_linked)?;
        work.batch(at)?;
        let timer = Timer::start("pel: search");
        let (linker, options) = (&self.linker, &work.options);
        let Batch {
            part,
            queries,
            searched,
        } = &mut work.batches[at];
        *searched = linker
            .steps()
            .search_candidates(&part.prepared, queries, options);
        let links =
            linker
                .steps()
                .finish_searched(&part.prepared, queries, options, searched.clone());
        let places = part.places.clone();
        let found = to_json(&work.shown(linker, &links)?)?;
        work.links.extend(places.into_iter().zip(links));
        work.left -= 1;
        if work.left == 0 {
            work.finish(linker);
        }
        work.ms.search += timer.stop();
        Ok(found)
    }

    /// The links of the text so far, in its order, with the milliseconds of each step, as JSON.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn linked(&self) -> Outcome<String> {
        let work = self.work.as_ref().ok_or_else(nothing_linked)?;
        to_json(&Linked {
            links: work.shown(&self.linker, work.in_order())?,
            ms: work.ms,
        })
    }

    /// Decides the links of the text again, by a threshold or the bundle's policy. Returns them as
    /// JSON.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub fn decide(&mut self, threshold: Option<f32>) -> Outcome<String> {
        let work = self.work.as_mut().ok_or_else(nothing_linked)?;
        work.links
            .iter_mut()
            .for_each(|(_, link)| self.linker.steps().decide_again(link, threshold));
        work.options.threshold = threshold;
        to_json(&work.shown(&self.linker, work.in_order())?)
    }

    /// The steps to the decision on a mention of the text, as JSON.
    ///
    /// # Errors
    /// If no text was linked, the span is outside the text, or the device fails.
    pub async fn explain(
        &self,
        mention: &str,
        k: usize,
        threshold: Option<f32>,
    ) -> Outcome<String> {
        let work = self.work.as_ref().ok_or_else(nothing_linked)?;
        let given: GivenMention = serde_json::from_str(mention)?;
        let given = given.detected(&work.text, &Offsets::new(&work.text))?;
        let text = text_of(&work.text, given.pieces())?;
        let prepared = self
            .linker
            .steps()
            .prepare(&work.text, vec![given.clone()])?;
        let rows: Vec<&Encoded> = prepared.sequences().iter().collect();
        let own = self.vectors(Side::Mention, &rows).await?;
        let options = LinkOptions::default().k(k).threshold(threshold);
        let links = self.linker.steps().finish(
            &prepared,
            &Queries::new(self.linker.steps().encoder().dim(), own.clone()),
            &options,
        );
        let link = links.first().ok_or_else(|| Error::input("no mention"))?;
        // The other mentions of the text bear on the decision.
        let mut of_text = work.links.iter().map(|(_, link)| link);
        let same = of_text.find(|of_text| of_text.pieces() == given.pieces());
        let mut whole = same.unwrap_or(link).clone();
        self.linker.steps().decide_again(&mut whole, threshold);
        let mut record = Record::new(&self.linker, &whole)?;
        record.add_sets(&self.linker, &whole)?;
        let texts = self.linker.steps().candidate_texts(link)?;
        let vectors = self.vectors(Side::Entity, &texts.rows()).await?;
        let met = rows.first().map(|row| {
            self.linker
                .steps()
                .matched_texts(&texts, row, &own, &vectors)
        });
        let met = met.into_iter().flatten();
        let named = |(met, candidate)| {
            Ok::<_, Error>(JsMatchedText::new(
                Named::new(&self.linker, candidate)?,
                met,
            ))
        };
        let bundle = self.linker.bundle();
        let ids = rows.first().map_or(&[][..], |encoded| &encoded.ids);
        let explanation = JsExplanation {
            text,
            tokens: ids.iter().map(|id| bundle.tokens.token(*id)).collect(),
            decision: if matches!(whole.decision, Decision::Linked { .. }) {
                "linked"
            } else {
                "nil"
            },
            threshold: threshold.or(bundle.manifest.nil.threshold),
            margin: link.margin(),
            probability: whole.probability,
            answer_sets: record.answer_sets,
            candidates: met
                .zip(&link.candidates)
                .map(named)
                .collect::<Result<_, _>>()?,
        };
        Ok(serde_json::to_string(&explanation)?)
    }

    /// The candidates of some words as a mention without context, as JSON.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn find(&self, words: &str, k: usize) -> Outcome<String> {
        let prepared = self.words(words)?;
        let vectors = self
            .vectors(
                Side::Mention,
                &prepared.sequences().iter().collect::<Vec<_>>(),
            )
            .await?;
        let queries = Queries::new(self.linker.steps().encoder().dim(), vectors);
        let links = self
            .linker
            .steps()
            .finish(&prepared, &queries, &LinkOptions::default().k(k));
        let candidates = links.iter().flat_map(|link| &link.candidates);
        let named = candidates
            .map(|candidate| Named::new(&self.linker, candidate))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(serde_json::to_string(&named)?)
    }

    /// A concept with all its fields and its codes, as JSON. For a retired identifier it is the successor.
    ///
    /// # Errors
    /// If the concept is damaged.
    pub fn concept(&self, id: &str) -> Outcome<Option<String>> {
        let Some(at) = self.linker.resolve(id)?.concept() else {
            return Ok(None);
        };
        let codes = NamedCode::of_concept(self.linker.bundle(), at);
        let concept = JsConcept::new(self.linker.concept(at)?, codes);
        Ok(Some(to_json(&concept)?))
    }

    /// Begins to add concepts, given as JSON. With the name of a list they replace the concepts
    /// that were added under this name before; only new texts are encoded. Returns the number of
    /// texts of each batch: each batch is computed by [`Engine::encode_concepts`], or by
    /// [`Helper::encode_concepts`](crate::helper::Helper) and [`Engine::take_concepts`], in any
    /// order, before [`Engine::finish_concepts`]. Until then nothing is added, and the added
    /// concepts may not change.
    ///
    /// # Errors
    /// If the JSON is invalid, or no concept can be added.
    #[wasm_bindgen(js_name = beginConcepts)]
    pub fn begin_concepts(&mut self, concepts: &str, list: Option<String>) -> Outcome<Vec<u32>> {
        let concepts: Vec<Concept> = serde_json::from_str(concepts)?;
        self.begin_addition(list.as_deref(), concepts, Report::default())
    }

    /// As [`Engine::begin_concepts`], for the concepts of a file: `csv`, `tsv`, `obo` or `jsonl`.
    /// They replace the concepts of an earlier file of the same name.
    ///
    /// # Errors
    /// If the file cannot be read, or no concept can be added.
    #[wasm_bindgen(js_name = beginFile)]
    pub fn begin_file(&mut self, name: &str, format: &str, text: &str) -> Outcome<Vec<u32>> {
        let (concepts, report) = concepts_of(name, format, text)?;
        self.begin_addition(Some(name), concepts, report)
    }

    fn begin_addition(
        &mut self,
        list: Option<&str>,
        concepts: Vec<Concept>,
        report: Report,
    ) -> Outcome<Vec<u32>> {
        let addition = Addition::new(&self.linker, list, concepts, report)?;
        Ok(self.addition.insert(addition).sizes())
    }

    /// A batch for [`Helper::encode_concepts`](crate::helper::Helper).
    ///
    /// # Errors
    /// If there is no such batch.
    #[wasm_bindgen(js_name = conceptBatch)]
    pub fn concept_batch(&self, at: usize) -> Outcome<String> {
        to_json(&Rows::of(self.concept_rows(at)?))
    }

    /// Encodes a batch.
    ///
    /// # Errors
    /// If there is no such batch, or the device fails.
    #[wasm_bindgen(js_name = encodeConcepts)]
    pub async fn encode_concepts(&mut self, at: usize) -> Outcome<()> {
        let rows = self.concept_rows(at)?;
        let found = self.vectors(Side::Entity, &rows).await?;
        self.put_concepts(at, found)
    }

    /// Takes the values of a batch.
    ///
    /// # Errors
    /// If there is no such batch, or these are not its values.
    #[wasm_bindgen(js_name = takeConcepts)]
    pub fn take_concepts(&mut self, at: usize, values: Vec<f32>) -> Outcome<()> {
        let (encoder, scorer) = (self.linker.steps().encoder(), self.linker.steps().scorer());
        let found = encoder.encodings(scorer, &self.concept_rows(at)?, values)?;
        self.put_concepts(at, found)
    }

    /// Adds the concepts whose batches were encoded. Returns what has changed, as JSON.
    ///
    /// # Errors
    /// If none are being added, or an identifier is taken.
    #[wasm_bindgen(js_name = finishConcepts)]
    pub fn finish_concepts(&mut self) -> Outcome<String> {
        let addition = self.addition.take().ok_or_else(nothing_added)?;
        addition.finish(&mut self.linker)
    }

    /// Ends an addition without adding anything.
    #[wasm_bindgen(js_name = dropConcepts)]
    pub fn drop_concepts(&mut self) {
        self.addition = None;
    }

    fn concept_rows(&self, at: usize) -> Outcome<Vec<&Encoded>> {
        let addition = self.addition.as_ref().ok_or_else(nothing_added)?;
        addition.rows(at)
    }

    fn put_concepts(&mut self, at: usize, found: Encodings) -> Outcome<()> {
        let addition = self.addition.as_mut().ok_or_else(nothing_added)?;
        addition.put(at, found)
    }

    /// Removes the added concepts with these identifiers (a JSON list), or all. Returns their
    /// number.
    ///
    /// # Errors
    /// If the list is invalid.
    #[wasm_bindgen(js_name = removeConcepts)]
    pub fn remove_concepts(&mut self, ids: Option<String>) -> Outcome<usize> {
        let ids: Option<Vec<String>> = ids.map(|ids| serde_json::from_str(&ids)).transpose()?;
        Ok(self
            .linker
            .settings()
            .remove_concepts(|concept| ids.as_ref().is_none_or(|ids| ids.contains(&concept.id)))?)
    }

    /// The added concepts, as a JSON list.
    ///
    /// # Errors
    /// If they cannot be encoded.
    #[wasm_bindgen(js_name = addedConcepts)]
    pub fn added_concepts(&self) -> Outcome<String> {
        Ok(serde_json::to_string(
            &self
                .linker
                .steps()
                .added_concepts()
                .concepts()
                .collect::<Vec<_>>(),
        )?)
    }

    /// The added concepts by list, as a JSON list. Adding these groups one after the other gives
    /// the same concepts again.
    ///
    /// # Errors
    /// If they cannot be encoded.
    #[wasm_bindgen(js_name = addedLists)]
    pub fn added_lists(&self) -> Outcome<String> {
        let lists = self.linker.steps().added_concepts().lists();
        let lists = lists
            .into_iter()
            .map(|(list, concepts)| AddedList { list, concepts });
        Ok(serde_json::to_string(&lists.collect::<Vec<_>>())?)
    }

    /// Writes a note in a format: `json`, `csv`, `brat`, `pubtator` or `html`.
    ///
    /// # Errors
    /// If the note or the format is invalid, or a concept is damaged.
    pub fn write(&self, form: &str, note: &str) -> Outcome<String> {
        let form: Form = serde_json::from_value(form.into())?;
        let JsNote {
            name,
            text,
            links,
            removed,
            codes,
        } = serde_json::from_str(note)?;
        let systems = self.systems(codes)?;
        let offsets = Offsets::new(&text);
        let records = links.into_iter().map(|link| link.record(&text, &offsets));
        let mut records: Vec<Record> = records.collect::<Result<_, _>>()?;
        for record in &mut records {
            record.complete_codes(&self.linker)?;
        }
        combine_codes(&text, &mut records);
        if let Some(systems) = &systems {
            let all = records.iter_mut();
            all.for_each(|record| record.keep_codes(systems));
        }
        let writer = NoteWriter::new(form, &name, &text, &self.linker);
        let mut writer = writer.coded_in(&systems.unwrap_or_default());
        if let Some(removed) = removed {
            let removed = removed.into_iter().map(|one| one.mention(&text, &offsets));
            writer = writer.reviewed(removed.collect::<Result<_, _>>()?);
        }
        Ok(writer.head()? + &writer.part(&records)? + &writer.tail()?)
    }

    /// The files that [`Helper::load`](crate::helper::Helper) needs.
    #[wasm_bindgen(js_name = helperFiles)]
    #[must_use]
    pub fn helper_files(&self) -> Vec<String> {
        let parts = self.linker.bundle().parts();
        let names = Encoders::FILES.into_iter();
        let there = names.filter(|name| parts.0.contains_key(*name));
        there.map(str::to_owned).collect()
    }

    /// A file of the bundle.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        let parts = self.linker.bundle().parts();
        parts.0.get(name).map(|bytes| bytes.to_vec())
    }

    /// A text of the bundle such as `LICENSES.md`.
    #[must_use]
    pub fn document(&self, name: &str) -> Option<String> {
        let bytes = self
            .linker
            .bundle()
            .parts()
            .0
            .get(name)
            .filter(|_| name == names::LICENCES)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The code systems that were chosen, if any were.
    fn systems(&self, names: Option<Vec<String>>) -> Outcome<Option<Vec<System>>> {
        let systems = names.map(|names| self.linker.bundle().chosen_systems(&names));
        Ok(systems.transpose().context(|| "codes".to_owned())?)
    }

    fn window_row(&self, at: usize) -> Outcome<&Encoded> {
        let work = self.work.as_ref().ok_or_else(nothing_linked)?;
        let rows = work.input.as_ref().map_or(&[][..], DetectorInput::rows);
        let missing = || Error::input(format!("the text has no window {at}"));
        Ok(rows.get(at).ok_or_else(missing)?)
    }

    /// Some words as a mention without context.
    pub(crate) fn words(&self, words: &str) -> Outcome<Prepared> {
        let words = words.trim();
        let whole = Detected::new(Span::new(0, words.len()), Origin::Given);
        Ok(self.linker.steps().prepare(
            words,
            if words.is_empty() {
                Vec::new()
            } else {
                vec![whole]
            },
        )?)
    }

    /// Encodes rows batch by batch. Each batch is read back once.
    pub(crate) async fn vectors(&self, side: Side, rows: &[&Encoded]) -> Outcome<Encodings> {
        let (encoder, scorer) = (self.linker.steps().encoder(), self.linker.steps().scorer());
        let batches = BatchSize::default().batches(rows);
        let mut vectors = Encodings::zeros(scorer, rows.len(), encoder.dim());
        for step in encoder.steps(scorer, side, rows, &batches) {
            let step = step?;
            let found = match step.vectors {
                Vectors::Here(found) => found,
                Vectors::OnDevice(tensor) => floats(tensor.into_data_async().await)?,
            };
            vectors.put(&step.part.places(), step.part.encodings(found));
        }
        Ok(vectors)
    }
}

/// Whether the manifest has a format that a later version of PEL writes.
fn is_newer(parts: &Parts) -> bool {
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let manifest = parts.0.get(names::MANIFEST);
    let version = manifest.and_then(|json| serde_json::from_slice::<Version>(json).ok());
    version.is_some_and(|version| version.format > u64::from(NEWEST_FORMAT))
}

fn to_json(value: &impl Serialize) -> Outcome<String> {
    Ok(serde_json::to_string(value)?)
}

fn no_such_rules(name: &str) -> Error {
    let names: Vec<&str> = ContextRules::built_in_names().collect();
    Error::input(format!(
        "context rules: expected {} or a text of rules, found {name:?}",
        names.join(", ")
    ))
}

fn nothing_added() -> Error {
    Error::input("no concepts are being added")
}

fn nothing_linked() -> Error {
    Error::input("no text has been linked yet")
}
