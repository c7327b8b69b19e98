//! Tables in Apache Parquet, as pandas, polars, Spark and DuckDB write them.

use super::columns::Columns;
use super::parquet_pages::{self, CheckedPages, Chunk};
use super::{Each, NoteRow, ReadOptions, Stated, note_name, numbered};
use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{
    ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader,
};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use pel_io::files::io_error;
use pel_io::interrupt;
use pel_io::limits::{Bound, Size};
use pel_kb::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// What the texts of a table may be larger than its file, if they exceed the limit of a file that is
/// held in memory. One text of a dictionary may stand in any number of rows.
const UNPACKING: u64 = 1_000;

/// Reads the rows of a table. A row without identifier, or with a text that is not UTF-8, is passed
/// on as an error. A text of null is empty.
///
/// # Errors
/// If the file cannot be opened, is no Parquet or damaged, lacks the columns, or has others of the
/// name.
pub(super) fn read(path: &Path, options: &ReadOptions, each: &mut Each<'_>) -> Result<()> {
    let file = File::open(path).map_err(|cause| io_error("opening", path, cause))?;
    let length = file
        .metadata()
        .map_err(|cause| io_error("opening", path, cause))?
        .len();
    Bound::Stream.check(path.display(), length)?;
    let failed = |cause| failed(path, cause);
    let file = CheckedFile {
        file: Arc::new(file),
        length,
    };
    let reader = guarded(path, || {
        SerializedFileReader::new(file.clone()).map_err(failed)
    })?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let columns = find_columns(&schema, options)
        .map_err(|error| error.context(path.display().to_string()))?;
    let mut table = Table {
        path,
        text: name(&schema, columns.text),
        id: columns.id.map(|at| name(&schema, at)),
        ids_are_unsigned: columns.id.is_some_and(|at| is_unsigned(&schema.column(at))),
        rows: 0,
        file,
        unpacked: 0,
        text_bytes: 0,
    };
    for at in 0..reader.num_row_groups() {
        interrupt::check()?;
        let group = guarded(path, || reader.get_row_group(at).map_err(failed))?;
        table.read_group(&*group, columns, each)?;
    }
    Ok(())
}

/// The columns among those of the table that hold one value in a row.
fn find_columns(schema: &SchemaDescriptor, options: &ReadOptions) -> Result<Columns> {
    let flat: Vec<usize> = (0..schema.num_columns())
        .filter(|at| is_flat(&schema.column(*at)))
        .collect();
    let names: Vec<String> = flat.iter().map(|at| name(schema, *at)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = Columns::find(&names, &options.columns)?;
    let place = |at: usize| flat.get(at).copied().unwrap_or_default();
    let columns = Columns {
        text: place(found.text),
        id: found.id.map(place),
    };
    let text = schema.column(columns.text);
    if text.physical_type() != Type::BYTE_ARRAY || is_decimal(&text) {
        return Err(Error::input(format!(
            "column {}: expected texts, found {}",
            text.name(),
            text.physical_type()
        )));
    }
    if let Some(id) = columns.id.map(|at| schema.column(at)) {
        let is_id = matches!(
            id.physical_type(),
            Type::BYTE_ARRAY | Type::INT32 | Type::INT64
        );
        if !is_id || is_decimal(&id) {
            return Err(Error::input(format!(
                "column {}: expected texts or whole numbers as identifiers, found {}",
                id.name(),
                id.physical_type()
            )));
        }
    }
    Ok(columns)
}

/// Whether a column has at most one value in a row, directly in the table.
fn is_flat(column: &ColumnDescriptor) -> bool {
    column.max_rep_level() == 0 && column.path().parts().len() == 1
}

fn is_decimal(column: &ColumnDescriptor) -> bool {
    matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }))
}

/// Whether the numbers of a column have no sign. They are stored as signed ones of the same bits.
fn is_unsigned(column: &ColumnDescriptor) -> bool {
    matches!(
        column.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    )
}

fn name(schema: &SchemaDescriptor, at: usize) -> String {
    schema.column(at).name().to_owned()
}

/// The table that is being read.
struct Table<'a> {
    path: &'a Path,
    text: String,
    id: Option<String>,
    /// Whether identifiers are numbers without a sign.
    ids_are_unsigned: bool,
    /// The rows that were read.
    rows: u64,
    file: CheckedFile,
    /// The bytes of all pages up to here.
    unpacked: u64,
    /// The bytes of all texts up to here.
    text_bytes: u64,
}

impl Table<'_> {
    fn read_group(
        &mut self,
        group: &dyn RowGroupReader,
        columns: Columns,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let path = self.path;
        for at in std::iter::once(columns.text).chain(columns.id) {
            self.check_pages(group, at)?;
        }
        self.check_texts(group, columns.text)?;
        let column = |at: usize| column(group, at, path);
        let mut texts = column(columns.text)?;
        let mut ids = columns.id.map(column).transpose()?;
        loop {
            interrupt::check()?;
            let texts = guarded(path, || values(&mut texts, path))?;
            let ids = ids
                .as_mut()
                .map(|ids| guarded(path, || values(ids, path)))
                .transpose()?;
            if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != texts.len()) {
                return Err(Error::input(format!(
                    "{}: row {}: expected as many identifiers as texts, found {} and {}",
                    self.path.display(),
                    self.rows + 1,
                    ids.len(),
                    texts.len()
                )));
            }
            if texts.is_empty() {
                return Ok(());
            }
            let mut ids = ids.map(Vec::into_iter);
            for text in texts {
                self.rows += 1;
                let id = ids.as_mut().map(|ids| ids.next().flatten());
                let place = format!("{}: row {}", self.path.display(), self.rows);
                let note = self.note(text, id, &place);
                each(note.map_err(|error| error.context(place)))?;
            }
        }
    }

    /// Checks the pages of a column before the library reads them.
    fn check_pages(&mut self, group: &dyn RowGroupReader, at: usize) -> Result<()> {
        let name = self.path.display().to_string();
        let column = guarded(self.path, || {
            let column = group.metadata().column(at);
            Ok((column.byte_range(), column.compression()))
        })?;
        let ((start, bytes), packing) = column;
        let file = self
            .file
            .from(start)
            .map_err(|cause| failed(self.path, cause))?;
        let chunk = Chunk {
            name: &name,
            bytes: bytes.min(self.file.length.saturating_sub(start)),
            packing,
        };
        self.unpacked += parquet_pages::check(&mut BufReader::new(file), &chunk)?;
        Bound::Stream.check(name, self.unpacked)
    }

    /// Checks how large the texts of a row group are, before the first one is passed on. A damaged
    /// page ends this; it is reported behind the texts before it.
    fn check_texts(&mut self, group: &dyn RowGroupReader, at: usize) -> Result<()> {
        let most = Bound::Records
            .bytes()
            .max(self.file.length.saturating_mul(UNPACKING));
        let mut texts = column(group, at, self.path)?;
        loop {
            interrupt::check()?;
            let some = guarded(self.path, || values(&mut texts, self.path)).unwrap_or_default();
            if some.is_empty() {
                return Ok(());
            }
            for text in some.iter().flatten() {
                self.text_bytes += text.length();
            }
            if self.text_bytes > most {
                let file = Size(self.file.length).display().iec();
                let most = Size(most).display().iec();
                return Err(Error::input(format!(
                    "{}: the file of {file} has more than {most} of texts; --max-input SIZE raises \
                     the limit",
                    self.path.display()
                )));
            }
        }
    }

    fn note(&self, text: Option<Value>, id: Option<Option<Value>>, place: &str) -> Result<NoteRow> {
        let name = match id {
            None => numbered(self.path, self.rows),
            Some(id) => id
                .map_or_else(
                    || Ok(String::new()),
                    |id| match self.ids_are_unsigned {
                        true => id.unsigned(),
                        false => id.text(),
                    },
                )
                .and_then(|id| note_name(&id))
                .map_err(|error| {
                    error.context(format!("column {}", self.id.as_deref().unwrap_or_default()))
                })?,
        };
        let text = text
            .map_or_else(|| Ok(String::new()), Value::text)
            .map_err(|error| error.context(format!("column {}", self.text)))?;
        Bound::Record.check(format!("column {}", self.text), text.len() as u64)?;
        Ok(NoteRow {
            name,
            text,
            place: place.to_owned(),
            stated: Stated::default(),
        })
    }
}

/// A value that is not null.
enum Value {
    Bytes(ByteArray),
    Int32(i32),
    Int64(i64),
}

impl Value {
    /// The bytes of a text.
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Int32(_) | Self::Int64(_) => 0,
        }
    }

    /// The text of a value; a number is one without a sign.
    fn unsigned(self) -> Result<String> {
        match self {
            Self::Int32(number) => Ok(number.cast_unsigned().to_string()),
            Self::Int64(number) => Ok(number.cast_unsigned().to_string()),
            bytes => bytes.text(),
        }
    }

    fn text(self) -> Result<String> {
        match self {
            Self::Int32(number) => Ok(number.to_string()),
            Self::Int64(number) => Ok(number.to_string()),
            Self::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
                Ok(text) => Ok(text.to_owned()),
                Err(cause) => Err(Error::input(format!(
                    "the text is not UTF-8 from byte {} on; write the column again as UTF-8",
                    cause.valid_up_to()
                ))),
            },
        }
    }
}

/// A reader of a column.
fn column(group: &dyn RowGroupReader, at: usize, path: &Path) -> Result<ColumnReader> {
    guarded(path, || {
        let about = group.metadata().schema_descr().column(at);
        let pages = group
            .get_column_page_reader(at)
            .map_err(|cause| failed(path, cause))?;
        let pages = CheckedPages::new(pages, about.max_def_level() > 0);
        Ok(get_column_reader(about, Box::new(pages)))
    })
}

/// Calls the library, which panics on some damaged files.
fn guarded<T>(path: &Path, call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        Err(Error::input(format!(
            "{}: the Parquet file is damaged; copy or write it again",
            path.display()
        )))
    })
}

/// The next value of a column; none at its end. Values can be made of each other, so that several
/// would be larger than their page.
fn values(reader: &mut ColumnReader, path: &Path) -> Result<Vec<Option<Value>>> {
    match reader {
        ColumnReader::ByteArrayColumnReader(reader) => typed(reader, Value::Bytes, path),
        ColumnReader::Int64ColumnReader(reader) => typed(reader, Value::Int64, path),
        ColumnReader::Int32ColumnReader(reader) => typed(reader, Value::Int32, path),
        // The schema has been checked.
        _ => Err(Error::input(format!(
            "{}: a column of the note is neither text nor a whole number; choose others with \
             --text-column and --id-column",
            path.display()
        ))),
    }
}

fn typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    value: impl Fn(T::T) -> Value,
    path: &Path,
) -> Result<Vec<Option<Value>>> {
    let (mut defined, mut found) = (Vec::new(), Vec::new());
    let (rows, _, _) = reader
        .read_records(1, Some(&mut defined), None, &mut found)
        .map_err(|cause| failed(path, cause))?;
    let mut found = found.into_iter();
    // A column that cannot be null has no levels.
    if defined.is_empty() {
        return Ok(found.take(rows).map(|one| Some(value(one))).collect());
    }
    let one = |level: &i16| match level {
        0 => None,
        _ => found.next().map(&value),
    };
    Ok(defined.iter().take(rows).map(one).collect())
}

fn failed(path: &Path, cause: ParquetError) -> Error {
    match interrupt::check() {
        Err(interrupted) => interrupted,
        Ok(()) => Error::input(format!("{}: expected Parquet", path.display())).caused_by(cause),
    }
}

/// A file of which only existing bytes are read, so that no buffer is larger than the file.
#[derive(Clone)]
struct CheckedFile {
    file: Arc<File>,
    length: u64,
}

impl CheckedFile {
    fn from(&self, start: u64) -> parquet::errors::Result<File> {
        if start > self.length {
            return Err(ParquetError::EOF(format!(
                "a part at byte {start} of a file of {} bytes",
                self.length
            )));
        }
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file)
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

/// Reads a part of a file, and fails at its end: the library skips values of a damaged page header
/// without noticing that there are none, some 2^31 times.
struct PartReader(Take<BufReader<File>>);

impl Read for PartReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if interrupt::is_requested() {
            return Err(io::Error::other("interrupted"));
        }
        let read = self.0.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(read)
    }
}

impl ChunkReader for CheckedFile {
    type T = PartReader;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let file = self.from(start)?;
        Ok(PartReader(BufReader::new(file).take(self.length - start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!(
                "a part of {length} bytes at byte {start} of a file of {} bytes",
                self.length
            )));
        }
        if interrupt::is_requested() {
            return Err(io::Error::other("interrupted").into());
        }
        let mut bytes = vec![0; length];
        self.from(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_as;
    use super::super::{Kind, ReadOptions};
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    /// A table with the identifiers -1 and 7, which are stored in 32 bits.
    fn table(kind: &str) -> Vec<u8> {
        let schema = format!(
            "message notes {{ REQUIRED INT32 id {kind}; REQUIRED BYTE_ARRAY text (STRING); }}"
        );
        let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
        let properties = Arc::new(WriterProperties::default());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).expect("begun");
        let mut group = writer.next_row_group().expect("begun");
        let mut ids = group.next_column().expect("begun").expect("the first");
        ids.typed::<Int32Type>()
            .write_batch(&[-1, 7], None, None)
            .expect("written");
        ids.close().expect("written");
        let mut texts = group.next_column().expect("begun").expect("the second");
        texts
            .typed::<ByteArrayType>()
            .write_batch(&["fever", "cough"].map(ByteArray::from), None, None)
            .expect("written");
        texts.close().expect("written");
        group.close().expect("written");
        writer.into_inner().expect("written")
    }

    #[test]
    fn identifiers_have_the_sign_of_their_type() {
        for (kind, first) in [("", "-1"), ("(UINT_32)", "4294967295"), ("(INT_32)", "-1")] {
            let found = read_as(
                "notes.parquet",
                &table(kind),
                Kind::Parquet,
                &ReadOptions::default(),
            );
            assert_eq!(found.stopped, None);
            let names: Vec<&str> = found.notes.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, [first, "7"], "{kind}");
        }
    }

    #[test]
    fn texts_that_a_dictionary_repeats_count_in_every_row() {
        let schema = "message notes { REQUIRED BYTE_ARRAY text (STRING); }";
        let schema = Arc::new(parse_message_type(schema).expect("a schema"));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let mut writer =
            SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("begun");
        let mut group = writer.next_row_group().expect("begun");
        let mut texts = group.next_column().expect("begun").expect("the first");
        // The writer gives up dictionaries of 1 MiB.
        let text = ByteArray::from("fever and cough ".repeat(60_000).as_str());
        texts
            .typed::<ByteArrayType>()
            .write_batch(&vec![text; 4_700], None, None)
            .expect("written");
        texts.close().expect("written");
        group.close().expect("written");
        let table = writer.into_inner().expect("written");
        assert!(table.len() < 100_000, "{}", table.len());
        let found = read_as(
            "notes.parquet",
            &table,
            Kind::Parquet,
            &ReadOptions::default(),
        );
        let message = found.stopped.expect("refused");
        assert!(
            message.contains("has more than 4.0 GiB of texts"),
            "{message}"
        );
        assert!(found.notes.is_empty());
    }
}
