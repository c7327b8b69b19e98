//! Links as an Arrow record batch, a row for each mention.

use crate::links::{Linked, decision, word};
use arrow_array::builder::{
    BooleanBuilder, Float32Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder,
};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use pel_kb::error::{Error, Result};
use pel_output::{Named, NamedCode, Record};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// An Arrow record batch.
#[pyclass(frozen, module = "pel_linker")]
pub struct RecordBatch(arrow_array::RecordBatch);

impl RecordBatch {
    /// The links of texts. `ids` has the identifier of each text.
    ///
    /// # Errors
    /// If the columns cannot be joined.
    pub fn new(ids: &[String], texts: &[Linked]) -> Result<Self> {
        let mut columns = Columns::default();
        for (id, text) in ids.iter().zip(texts) {
            for at in 0..text.records.len() {
                columns.push(id, text, at);
            }
        }
        let failed = |cause| Error::io("building an Arrow batch").caused_by(cause);
        Ok(Self(columns.finish().map_err(failed)?))
    }
}

#[pymethods]
impl RecordBatch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.0.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        names.collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(unfit)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Another schema than its own is not offered, which the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let rows = StructArray::from(self.0.clone());
        let array = FFI_ArrowArray::new(&rows.to_data());
        Ok((
            self.__arrow_c_schema__(py)?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        format!(
            "<pel_linker.RecordBatch {} rows, {} columns>",
            self.0.num_rows(),
            self.0.num_columns()
        )
    }
}

fn unfit(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A list of strings in each row.
type Strings = ListBuilder<StringBuilder>;

struct Columns {
    doc: StringBuilder,
    start: Int64Builder,
    end: Int64Builder,
    start_byte: Int64Builder,
    end_byte: Int64Builder,
    fragments: ListBuilder<StructBuilder>,
    text: StringBuilder,
    read_as: StringBuilder,
    origin: StringBuilder,
    group: StringBuilder,
    negated: BooleanBuilder,
    certainty: StringBuilder,
    temporality: StringBuilder,
    experiencer: StringBuilder,
    section: StringBuilder,
    laterality: StringBuilder,
    severity: StringBuilder,
    allergy: StringBuilder,
    decision: StringBuilder,
    nil_reason: StringBuilder,
    probability: Float32Builder,
    concept: StringBuilder,
    name: StringBuilder,
    types: Strings,
    xrefs: Strings,
    codes: ListBuilder<StructBuilder>,
    score: Float32Builder,
    candidates: ListBuilder<StructBuilder>,
}

fn place_fields() -> Fields {
    let field = |name| Field::new(name, DataType::Int64, false);
    vec![field("start"), field("end")].into()
}

fn candidate_fields() -> Fields {
    vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("name", DataType::Utf8, false),
        Field::new("score", DataType::Float32, false),
    ]
    .into()
}

fn code_fields() -> Fields {
    let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
    vec![
        text("system", false),
        text("code", false),
        text("display", true),
        text("match", false),
        Field::new("billable", DataType::Boolean, true),
    ]
    .into()
}

impl Default for Columns {
    fn default() -> Self {
        let list = |fields| ListBuilder::new(StructBuilder::from_fields(fields, 0));
        Self {
            doc: StringBuilder::new(),
            start: Int64Builder::new(),
            end: Int64Builder::new(),
            start_byte: Int64Builder::new(),
            end_byte: Int64Builder::new(),
            fragments: list(place_fields()),
            text: StringBuilder::new(),
            read_as: StringBuilder::new(),
            origin: StringBuilder::new(),
            group: StringBuilder::new(),
            negated: BooleanBuilder::new(),
            certainty: StringBuilder::new(),
            temporality: StringBuilder::new(),
            experiencer: StringBuilder::new(),
            section: StringBuilder::new(),
            laterality: StringBuilder::new(),
            severity: StringBuilder::new(),
            allergy: StringBuilder::new(),
            decision: StringBuilder::new(),
            nil_reason: StringBuilder::new(),
            probability: Float32Builder::new(),
            concept: StringBuilder::new(),
            name: StringBuilder::new(),
            types: Strings::new(StringBuilder::new()),
            xrefs: Strings::new(StringBuilder::new()),
            codes: list(code_fields()),
            score: Float32Builder::new(),
            candidates: list(candidate_fields()),
        }
    }
}

impl Columns {
    fn push(&mut self, doc: &str, text: &Linked, at: usize) {
        let record = &text.records[at];
        let (start, end) = text.extent(at);
        self.doc.append_value(doc);
        self.start.append_value(start as i64);
        self.end.append_value(end as i64);
        self.start_byte.append_value(record.span.start as i64);
        self.end_byte.append_value(record.span.end as i64);
        if !record.fragments.is_empty() {
            text.pieces[at]
                .iter()
                .for_each(|piece| self.push_place(*piece));
        }
        self.fragments.append(true);
        self.text.append_value(text.mention(at));
        self.read_as.append_option(record.read_as.as_deref());
        self.origin.append_value(word(&record.origin));
        self.group
            .append_option(record.group.map(|group| group.name()));
        self.push_context(record);
        self.push_decision(record);
        for candidate in &record.candidates {
            self.push_candidate(candidate);
        }
        self.candidates.append(true);
    }

    fn push_context(&mut self, record: &Record) {
        let context = &record.context;
        self.negated.append_value(context.negated);
        self.certainty.append_value(context.certainty.name());
        self.temporality.append_value(context.temporality.name());
        self.experiencer.append_value(context.experiencer.name());
        self.section.append_option(context.section.as_deref());
        self.laterality
            .append_option(context.laterality.map(|side| side.name()));
        self.severity
            .append_option(context.severity.map(|severity| severity.name()));
        self.allergy
            .append_option(context.allergy.map(|allergy| allergy.name()));
    }

    fn push_decision(&mut self, record: &Record) {
        let concept = record.decision.as_ref().ok();
        self.decision.append_value(decision(record));
        self.nil_reason
            .append_option(record.decision.as_ref().err().map(word));
        self.probability.append_option(record.probability);
        self.concept
            .append_option(concept.map(|concept| concept.id.as_str()));
        self.name
            .append_option(concept.map(|concept| concept.name.as_str()));
        self.score
            .append_option(concept.map(|concept| concept.score));
        for (column, values) in [
            (&mut self.types, concept.map(|concept| &concept.types)),
            (&mut self.xrefs, concept.map(|concept| &concept.xrefs)),
        ] {
            for value in values.into_iter().flatten() {
                column.values().append_value(value);
            }
            column.append(true);
        }
        for code in concept.into_iter().flat_map(|concept| &concept.codes) {
            self.push_code(code);
        }
        self.codes.append(true);
    }

    fn push_code(&mut self, code: &NamedCode) {
        let row = self.codes.values();
        let texts = [
            Some(code.system.prefix()),
            Some(code.code.as_str()),
            code.display.as_deref(),
            Some(code.matches.name()),
        ];
        for (field, value) in texts.into_iter().enumerate() {
            if let Some(column) = row.field_builder::<StringBuilder>(field) {
                column.append_option(value);
            }
        }
        if let Some(column) = row.field_builder::<BooleanBuilder>(texts.len()) {
            column.append_option(code.billable);
        }
        row.append(true);
    }

    fn push_place(&mut self, (start, end): (usize, usize)) {
        let row = self.fragments.values();
        for (field, value) in [start, end].into_iter().enumerate() {
            if let Some(column) = row.field_builder::<Int64Builder>(field) {
                column.append_value(value as i64);
            }
        }
        row.append(true);
    }

    fn push_candidate(&mut self, candidate: &Named) {
        let row = self.candidates.values();
        for (field, value) in [&candidate.id, &candidate.name].into_iter().enumerate() {
            if let Some(column) = row.field_builder::<StringBuilder>(field) {
                column.append_value(value);
            }
        }
        if let Some(column) = row.field_builder::<Float32Builder>(2) {
            column.append_value(candidate.score);
        }
        row.append(true);
    }

    fn finish(mut self) -> std::result::Result<arrow_array::RecordBatch, ArrowError> {
        let column = |name, array: ArrayRef, nullable| (name, array, nullable);
        macro_rules! columns {
            ($($name:ident: $nullable:literal),* $(,)?) => {
                vec![$(column(stringify!($name), Arc::new(self.$name.finish()), $nullable)),*]
            };
        }
        arrow_array::RecordBatch::try_from_iter_with_nullable(columns![
            doc: false, start: false, end: false, start_byte: false, end_byte: false,
            fragments: false, text: false, read_as: true, origin: false, group: true,
            negated: false, certainty: false, temporality: false, experiencer: false,
            section: true, laterality: true, severity: true, allergy: true,
            decision: false, nil_reason: true, probability: true,
            concept: true, name: true, types: false, xrefs: false, codes: false, score: true,
            candidates: false,
        ])
    }
}
