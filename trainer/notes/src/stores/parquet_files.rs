//! Parquet files of vectors.

use super::Written;
use super::rows::{Row, description, rows};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FloatType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};
use pel_io::files::{io_error, write_atomic, write_folder};
use pel_io::interrupt;
use pel_io::outputs::check_new_folder;
use pel_io::parquet::{SharedBuffer, failed};
use pel_io::progress::Progress;
use pel_kb::Concept;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::Bundle;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows of a file in a folder.
pub const ROWS_PER_FILE: u32 = 1_000_000;

/// The bytes of the vectors of a row group, which is kept in memory while it is written.
const GROUP_BYTES: usize = 16 << 20;

/// The most rows of a row group: their concepts are in memory too.
const GROUP_ROWS: usize = 1 << 14;

/// The vectors that are handed to the writer at once.
const VECTORS: usize = 256;

/// The columns. A list of exactly `dim` values has no type of its own in Parquet.
const SCHEMA: &str = "
message vectors {
    REQUIRED INT64 row;
    REQUIRED INT32 concept_number;
    REQUIRED BYTE_ARRAY concept (STRING);
    REQUIRED BYTE_ARRAY name (STRING);
    REQUIRED BYTE_ARRAY kind (STRING);
    REQUIRED GROUP types (LIST) { REPEATED GROUP list { REQUIRED BYTE_ARRAY element (STRING); } }
    REQUIRED GROUP sources (LIST) { REPEATED GROUP list { REQUIRED BYTE_ARRAY element (STRING); } }
    REQUIRED GROUP vector (LIST) { REPEATED GROUP list { REQUIRED FLOAT element; } }
}";

/// Writes the rows of a bundle's index: a file if the name ends in `.parquet`, else a new folder of
/// files with at most `rows_per_file` rows each.
///
/// # Errors
/// If a concept is damaged, or the output cannot be written. Nothing is then left of it.
pub fn write(bundle: &Bundle, out: &Path, rows_per_file: u32) -> Result<Written> {
    let table = Table::new(bundle)?;
    let total = rows(bundle).count();
    let mut progress = Progress::new("writing", total as u64, "rows");
    let mut rows = rows(bundle);
    if is_one_file(out) {
        write_atomic(out, |file| {
            table.write(&mut rows, total, file, out, &mut progress)
        })?;
        return Ok(Written {
            rows: total,
            files: 1,
        });
    }
    check_new_folder(out)?;
    let per_file = rows_per_file as usize;
    let files = total.div_ceil(per_file).max(1);
    write_folder(out, |folder| {
        for at in 0..files {
            let count = per_file.min(total - at * per_file);
            let path = folder.join(format!("vectors-{at:05}.parquet"));
            let failed = |cause| io_error("writing", &path, cause);
            let mut file = std::fs::File::create(&path).map_err(failed)?;
            table.write(&mut rows, count, &mut file, &path, &mut progress)?;
            file.sync_all().map_err(failed)?;
        }
        Ok(())
    })?;
    Ok(Written { rows: total, files })
}

/// Whether an output of this name is one file.
pub(super) fn is_one_file(out: &Path) -> bool {
    out.extension()
        .is_some_and(|extension| extension == "parquet")
}

/// How every file is written.
struct Table<'a> {
    bundle: &'a Bundle,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    rows_per_group: usize,
}

impl<'a> Table<'a> {
    fn new(bundle: &'a Bundle) -> Result<Self> {
        let schema = parse_message_type(SCHEMA).map_err(failed)?;
        // Values of vectors are different, and their bytes hardly repeat.
        let vector = ColumnPath::from(["vector", "list", "element"].map(str::to_owned).to_vec());
        let about = description(bundle)?.to_string();
        let properties = WriterProperties::builder()
            .set_created_by(format!("pel {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_compression(vector.clone(), Compression::UNCOMPRESSED)
            .set_column_dictionary_enabled(vector.clone(), false)
            .set_column_statistics_enabled(vector, EnabledStatistics::None)
            .set_key_value_metadata(Some(vec![KeyValue::new("pel".to_owned(), about)]))
            .build();
        let bytes_of_row = 4 * bundle.index.info().dim;
        Ok(Self {
            bundle,
            schema: Arc::new(schema),
            properties: Arc::new(properties),
            rows_per_group: (GROUP_BYTES / bytes_of_row).clamp(1, GROUP_ROWS),
        })
    }

    /// Writes the next `count` rows as a file.
    fn write(
        &self,
        rows: &mut impl Iterator<Item = Row>,
        count: usize,
        file: &mut dyn Write,
        path: &Path,
        progress: &mut Progress,
    ) -> Result<()> {
        let buffer = SharedBuffer::default();
        let (schema, properties) = (self.schema.clone(), self.properties.clone());
        let mut writer =
            SerializedFileWriter::new(buffer.clone(), schema, properties).map_err(failed)?;
        let mut left = count;
        while left > 0 {
            interrupt::check()?;
            let group: Vec<Row> = rows.by_ref().take(left.min(self.rows_per_group)).collect();
            if group.is_empty() {
                return Err(Error::artifact("the index has fewer rows than it says"));
            }
            left -= group.len();
            let mut columns = writer.next_row_group().map_err(failed)?;
            self.write_group(&group, &mut columns)?;
            columns.close().map_err(failed)?;
            buffer.drain(file, path)?;
            progress.advance(group.len() as u64);
        }
        writer.close().map_err(failed)?;
        buffer.drain(file, path)
    }

    fn write_group<W: Write + Send>(
        &self,
        group: &[Row],
        columns: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let mut concepts: Vec<Concept> = Vec::new();
        // The place of each row's concept. Rows of a concept are adjacent.
        let mut places = Vec::with_capacity(group.len());
        for (at, row) in group.iter().enumerate() {
            if at == 0 || group[at - 1].concept != row.concept {
                concepts.push(self.bundle.concepts.get(row.concept)?);
            }
            places.push(concepts.len() - 1);
        }
        let text = |of: fn(&Concept) -> &str| -> Vec<ByteArray> {
            let one = |at: &usize| ByteArray::from(of(&concepts[*at]));
            places.iter().map(one).collect()
        };
        let lists = |of: fn(&Concept) -> &[String]| -> Vec<&[String]> {
            places.iter().map(|at| of(&concepts[*at])).collect()
        };
        let numbers: Vec<i64> = group.iter().map(|row| row.row as i64).collect();
        put::<Int64Type, _>(columns, &numbers)?;
        let numbers: Vec<i32> = group.iter().map(|row| row.concept.0 as i32).collect();
        put::<Int32Type, _>(columns, &numbers)?;
        put::<ByteArrayType, _>(columns, &text(|concept| &concept.id))?;
        put::<ByteArrayType, _>(columns, &text(|concept| &concept.name))?;
        let kinds: Vec<ByteArray> = group
            .iter()
            .map(|row| ByteArray::from(row.kind.word()))
            .collect();
        put::<ByteArrayType, _>(columns, &kinds)?;
        put_lists(columns, &lists(|concept| &concept.types))?;
        put_lists(columns, &lists(|concept| &concept.sources))?;
        self.put_vectors(group, columns)
    }

    fn put_vectors<W: Write + Send>(
        &self,
        group: &[Row],
        columns: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let dim = self.bundle.index.info().dim;
        let mut column = next(columns)?;
        for some in group.chunks(VECTORS) {
            let vectors: Vec<f32> = some
                .iter()
                .flat_map(|row| self.bundle.index.vector(row.row))
                .collect();
            // Level 0 begins a list.
            let repeated: Vec<i16> = (0..vectors.len())
                .map(|at| i16::from(at % dim != 0))
                .collect();
            let defined = vec![1; vectors.len()];
            column
                .typed::<FloatType>()
                .write_batch(&vectors, Some(&defined), Some(&repeated))
                .map_err(failed)?;
        }
        column.close().map_err(failed)
    }
}

fn next<'c, W: Write + Send>(
    columns: &'c mut SerializedRowGroupWriter<'_, W>,
) -> Result<parquet::file::writer::SerializedColumnWriter<'c>> {
    columns
        .next_column()
        .map_err(failed)?
        .ok_or_else(|| Error::io("writing Parquet: the schema has fewer columns than expected"))
}

/// Writes a column of single values.
fn put<T: DataType, W: Write + Send>(
    columns: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<()> {
    let mut column = next(columns)?;
    column
        .typed::<T>()
        .write_batch(values, None, None)
        .map_err(failed)?;
    column.close().map_err(failed)
}

/// Writes a column of lists of texts.
fn put_lists<W: Write + Send>(
    columns: &mut SerializedRowGroupWriter<'_, W>,
    lists: &[&[String]],
) -> Result<()> {
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for list in lists {
        // An empty list is one undefined value.
        if list.is_empty() {
            defined.push(0);
            repeated.push(0);
        }
        for (at, text) in list.iter().enumerate() {
            values.push(ByteArray::from(text.as_str()));
            defined.push(1);
            repeated.push(i16::from(at > 0));
        }
    }
    let mut column = next(columns)?;
    column
        .typed::<ByteArrayType>()
        .write_batch(&values, Some(&defined), Some(&repeated))
        .map_err(failed)?;
    column.close().map_err(failed)
}
