//! Links as a Parquet table with flat columns.

pub(crate) use super::link_row::LinkRow;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, FloatType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use pel_io::interrupt;
use pel_io::parquet::{SharedBuffer, failed};
use pel_kb::codes::System;
use pel_kb::error::{Error, Result};
use pel_output::beside_columns;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group, which is kept in memory.
const GROUP_ROWS: usize = 1 << 15;

/// The columns, in the order in which [`LinkTable::write_group`] writes them. Those of attributes and
/// of the chosen code systems follow.
const COLUMNS: &str = "
message links {
    REQUIRED BYTE_ARRAY doc (STRING);
    REQUIRED INT64 start;
    REQUIRED INT64 end;
    REQUIRED INT64 start_code_point;
    REQUIRED INT64 end_code_point;
    REQUIRED INT64 start_utf16;
    REQUIRED INT64 end_utf16;
    OPTIONAL BYTE_ARRAY fragments (STRING);
    REQUIRED BYTE_ARRAY text (STRING);
    OPTIONAL BYTE_ARRAY read_as (STRING);
    REQUIRED BYTE_ARRAY origin (STRING);
    OPTIONAL BYTE_ARRAY group (STRING);
    REQUIRED BOOLEAN negated;
    REQUIRED BYTE_ARRAY certainty (STRING);
    REQUIRED BYTE_ARRAY temporality (STRING);
    REQUIRED BYTE_ARRAY experiencer (STRING);
    OPTIONAL BYTE_ARRAY section (STRING);
    OPTIONAL BYTE_ARRAY laterality (STRING);
    OPTIONAL BYTE_ARRAY severity (STRING);
    OPTIONAL BYTE_ARRAY allergy (STRING);
    REQUIRED BYTE_ARRAY decision (STRING);
    OPTIONAL BYTE_ARRAY nil_reason (STRING);
    OPTIONAL FLOAT probability;
    OPTIONAL BYTE_ARRAY id (STRING);
    OPTIONAL BYTE_ARRAY name (STRING);
    OPTIONAL BYTE_ARRAY type (STRING);
    OPTIONAL FLOAT score;
    OPTIONAL BYTE_ARRAY xrefs (STRING);
";

/// The schema of a table. Each attribute has a column, each chosen code system two, as in CSV.
fn schema(systems: &[System]) -> String {
    let beside = beside_columns().map(|name| format!("    OPTIONAL BYTE_ARRAY {name} (STRING);\n"));
    let beside: String = beside.collect();
    let columns = systems.iter().map(|system| {
        let prefix = system.prefix();
        format!(
            "    OPTIONAL BYTE_ARRAY {prefix} (STRING);\n    \
             OPTIONAL BYTE_ARRAY {prefix}_match (STRING);\n"
        )
    });
    format!("{COLUMNS}{beside}{}}}", columns.collect::<String>())
}

/// A table that is being written.
pub(crate) struct LinkTable<'a> {
    file: &'a mut dyn Write,
    path: &'a Path,
    writer: SerializedFileWriter<SharedBuffer>,
    buffer: SharedBuffer,
    rows: Vec<LinkRow>,
    /// The number of code systems that have columns.
    systems: usize,
}

impl<'a> LinkTable<'a> {
    /// Begins a table with columns for these code systems, each of them once.
    ///
    /// # Errors
    /// If the schema is refused.
    pub fn new(file: &'a mut dyn Write, path: &'a Path, systems: &[System]) -> Result<Self> {
        let schema = Arc::new(parse_message_type(&schema(systems)).map_err(failed)?);
        let properties = WriterProperties::builder()
            .set_created_by(format!("pel {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let buffer = SharedBuffer::default();
        let writer = SerializedFileWriter::new(buffer.clone(), schema, Arc::new(properties))
            .map_err(failed)?;
        Ok(Self {
            file,
            path,
            writer,
            buffer,
            rows: Vec::new(),
            systems: systems.len(),
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn put(&mut self, rows: Vec<LinkRow>) -> Result<()> {
        self.rows.extend(rows);
        if self.rows.len() >= GROUP_ROWS {
            self.write_group()?;
        }
        Ok(())
    }

    /// Completes the table.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<()> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        let Self {
            file,
            path,
            writer,
            buffer,
            ..
        } = self;
        writer.close().map_err(failed)?;
        buffer.drain(file, path)
    }

    fn write_group(&mut self) -> Result<()> {
        interrupt::check()?;
        let rows = std::mem::take(&mut self.rows);
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let columns = &mut Columns {
            group: &mut group,
            rows: &rows,
        };
        columns.texts(|row| &row.doc)?;
        columns.numbers(|row| row.start)?;
        columns.numbers(|row| row.end)?;
        columns.numbers(|row| row.start_code_point)?;
        columns.numbers(|row| row.end_code_point)?;
        columns.numbers(|row| row.start_utf16)?;
        columns.numbers(|row| row.end_utf16)?;
        columns.some_texts(|row| row.fragments.as_deref())?;
        columns.texts(|row| &row.text)?;
        columns.some_texts(|row| row.read_as.as_deref())?;
        columns.texts(|row| &row.origin)?;
        columns.some_texts(|row| row.group)?;
        let negated: Vec<bool> = rows.iter().map(|row| row.negated).collect();
        columns.put::<BoolType>(&negated, None)?;
        columns.texts(|row| row.certainty)?;
        columns.texts(|row| row.temporality)?;
        columns.texts(|row| row.experiencer)?;
        columns.some_texts(|row| row.section.as_deref())?;
        columns.some_texts(|row| row.laterality)?;
        columns.some_texts(|row| row.severity)?;
        columns.some_texts(|row| row.allergy)?;
        columns.texts(|row| row.decision)?;
        columns.some_texts(|row| row.nil_reason.as_deref())?;
        columns.some_scores(|row| row.probability)?;
        columns.some_texts(|row| row.id.as_deref())?;
        columns.some_texts(|row| row.name.as_deref())?;
        columns.some_texts(|row| row.kind.as_deref())?;
        columns.some_scores(|row| row.score)?;
        columns.some_texts(|row| row.xrefs.as_deref())?;
        for at in 0..beside_columns().count() {
            columns.some_texts(|row| {
                let cell = row.beside.get(at).map(String::as_str);
                cell.filter(|cell| !cell.is_empty())
            })?;
        }
        for at in 0..self.systems {
            columns.some_texts(|row| {
                let (codes, _) = row.codes.get(at)?.as_ref()?;
                Some(codes)
            })?;
            columns.some_texts(|row| {
                let (_, matches) = row.codes.get(at)?.as_ref()?;
                Some(matches.name())
            })?;
        }
        group.close().map_err(failed)?;
        self.buffer.drain(self.file, self.path)
    }
}

/// The columns of a row group, written one after the other.
struct Columns<'a, 'g, W: Write + Send> {
    group: &'a mut SerializedRowGroupWriter<'g, W>,
    rows: &'a [LinkRow],
}

impl<W: Write + Send> Columns<'_, '_, W> {
    fn texts(&mut self, of: impl Fn(&LinkRow) -> &str) -> Result<()> {
        let values: Vec<ByteArray> = self.rows.iter().map(|row| of(row).into()).collect();
        self.put::<ByteArrayType>(&values, None)
    }

    fn some_texts(&mut self, of: impl Fn(&LinkRow) -> Option<&str>) -> Result<()> {
        let found = self.rows.iter().map(&of);
        let defined: Vec<i16> = found.clone().map(|text| text.is_some().into()).collect();
        let values: Vec<ByteArray> = found.flatten().map(ByteArray::from).collect();
        self.put::<ByteArrayType>(&values, Some(&defined))
    }

    fn numbers(&mut self, of: impl Fn(&LinkRow) -> usize) -> Result<()> {
        let values: Vec<i64> = self.rows.iter().map(|row| of(row) as i64).collect();
        self.put::<Int64Type>(&values, None)
    }

    fn some_scores(&mut self, of: impl Fn(&LinkRow) -> Option<f32>) -> Result<()> {
        let found = self.rows.iter().map(&of);
        let defined: Vec<i16> = found.clone().map(|score| score.is_some().into()).collect();
        let values: Vec<f32> = found.flatten().collect();
        self.put::<FloatType>(&values, Some(&defined))
    }

    fn put<T: DataType>(&mut self, values: &[T::T], defined: Option<&[i16]>) -> Result<()> {
        let mut column = self
            .group
            .next_column()
            .map_err(failed)?
            .ok_or_else(|| Error::io("writing Parquet: expected more columns in the schema"))?;
        column
            .typed::<T>()
            .write_batch(values, defined, None)
            .map_err(failed)?;
        column.close().map_err(failed)
    }
}

/// Checks that this build can write Parquet.
///
/// # Errors
/// Never.
pub fn check_build() -> Result<()> {
    Ok(())
}
