//! Limits on the pages of Parquet. The library holds a page in memory, and takes the counts in it
//! on trust.

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use pel_io::interrupt;
use pel_io::limits::Bound;
use pel_kb::error::{Error, Result};
use std::io::{self, BufRead, BufReader, Read, Seek};

/// The largest number of values of a dictionary, or of a page whose lengths are unpacked at once.
const MOST_VALUES: u64 = 1 << 22;
/// The largest page header in bytes. It may have the smallest and the largest value of the page.
const LONGEST_HEADER: u64 = 16 << 20;
/// The largest number of structures within each other in a header.
const DEEPEST: usize = 16;
/// The first bytes of an LZ4 frame.
const LZ4_FRAME: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];
/// What a byte of LZ4 unpacks to at most.
const LZ4_RATIO: u64 = 255;

/// The part of a file that has the pages of a column in a row group.
pub(super) struct Chunk<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// The bytes, from the first page header on.
    pub bytes: u64,
    /// How the pages are packed.
    pub packing: Compression,
}

/// Checks every page of a column, and returns the number of unpacked bytes.
///
/// # Errors
/// If a page would take more memory than the limit, or is damaged.
pub(super) fn check<R: Read + Seek>(reader: &mut BufReader<R>, chunk: &Chunk<'_>) -> Result<u64> {
    let damaged = |what: &str| {
        Error::input(format!(
            "{}: a page of the Parquet file is damaged: {what}",
            chunk.name
        ))
    };
    let mut left = chunk.bytes;
    let mut total = 0;
    while left > 0 {
        interrupt::check()?;
        let mut header = PageHeader::default();
        let mut compact = Compact {
            reader: &mut *reader,
            left: left.min(LONGEST_HEADER),
            read: 0,
        };
        let read = compact.structure(None, 0, &mut |parent, id, value| {
            header.set(parent, id, value)
        });
        left -= compact.read;
        let (Ok(()), Some(unpacked), Some(packed)) = (read, header.unpacked, header.packed) else {
            return Err(damaged("its header"));
        };
        if packed > left {
            return Err(damaged("its size"));
        }
        Bound::Page.check(chunk.name, unpacked.max(packed))?;
        let values = header.dictionary_values.unwrap_or(0);
        if values > MOST_VALUES.min(unpacked / 4) {
            return Err(damaged("the number of values of its dictionary"));
        }
        let levels = header.definition_levels.unwrap_or(0) + header.repetition_levels.unwrap_or(0);
        let more = unpacks_to_more(reader, chunk.packing, packed, levels, unpacked)
            .map_err(|_| damaged("it ends before its bytes"))?;
        if more {
            return Err(damaged("it unpacks to more bytes than its header says"));
        }
        left -= packed;
        total += unpacked.max(packed);
    }
    Ok(total)
}

/// Passes the packed bytes of a page. Returns whether they unpack to more than the header says, for
/// the ways of packing for which the library does not stop there.
fn unpacks_to_more<R: Read + Seek>(
    reader: &mut BufReader<R>,
    packing: Compression,
    packed: u64,
    levels: u64,
    unpacked: u64,
) -> io::Result<bool> {
    let mut page = reader.by_ref().take(packed);
    // Levels are not packed.
    io::copy(&mut page.by_ref().take(levels), &mut io::sink())?;
    let most = unpacked.saturating_sub(levels);
    // The library reports what cannot be unpacked.
    let more = match packing {
        Compression::GZIP(_) => is_longer(MultiGzDecoder::new(&mut page), most),
        Compression::BROTLI(_) => is_longer(brotli::Decompressor::new(&mut page, 1 << 12), most),
        // It falls back to frames.
        Compression::LZ4 => {
            let begins = page.fill_buf()?.starts_with(&LZ4_FRAME);
            begins && packed.saturating_mul(LZ4_RATIO) > Bound::Page.bytes()
        }
        _ => false,
    };
    let rest = i64::try_from(page.limit()).map_err(io::Error::other)?;
    reader.seek_relative(rest)?;
    Ok(more)
}

/// Whether a reader has more bytes than `most`.
fn is_longer(reader: impl Read, most: u64) -> bool {
    let mut reader = reader.take(most.saturating_add(1));
    drop(io::copy(&mut reader, &mut io::sink()));
    reader.limit() == 0
}

/// What is checked of a page header.
#[derive(Default)]
struct PageHeader {
    unpacked: Option<u64>,
    packed: Option<u64>,
    dictionary_values: Option<u64>,
    definition_levels: Option<u64>,
    repetition_levels: Option<u64>,
}

impl PageHeader {
    /// Takes a number by the field of the header in which it is, if any, and its own field.
    fn set(&mut self, parent: Option<i64>, field: i64, value: i64) -> io::Result<()> {
        let place = match (parent, field) {
            (None, 2) => &mut self.unpacked,
            (None, 3) => &mut self.packed,
            (Some(7), 1) => &mut self.dictionary_values,
            (Some(8), 5) => &mut self.definition_levels,
            (Some(8), 6) => &mut self.repetition_levels,
            _ => return Ok(()),
        };
        let value: Option<u64> = i32::try_from(value)
            .ok()
            .and_then(|own| own.try_into().ok());
        match (place.is_none(), value) {
            (true, Some(value)) => {
                *place = Some(value);
                Ok(())
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Reads the compact protocol of Thrift.
struct Compact<'a, R> {
    reader: &'a mut R,
    left: u64,
    read: u64,
}

type Found<'f> = dyn FnMut(Option<i64>, i64, i64) -> io::Result<()> + 'f;

impl<R: Read> Compact<'_, R> {
    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.pass(1)?;
        self.reader.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or(io::ErrorKind::InvalidData)?;
        self.read += bytes;
        Ok(())
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    fn signed(&mut self) -> io::Result<i64> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// Reads a structure. `found` receives each number with its field, and with the field of the
    /// outermost structure in which it is; numbers further inside have the field -1.
    fn structure(
        &mut self,
        parent: Option<i64>,
        depth: usize,
        found: &mut Found<'_>,
    ) -> io::Result<()> {
        let mut field = 0;
        loop {
            let head = self.byte()?;
            if head & 0x0F == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => self.signed()?,
                more => field + i64::from(more),
            };
            if !(0..=i64::from(i16::MAX)).contains(&field) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            match head & 0x0F {
                // The values of a field of this kind.
                1 | 2 => {}
                4..=6 => {
                    let number = self.signed()?;
                    found(parent, field, number)?;
                }
                kind => {
                    let inside = if depth == 0 { field } else { -1 };
                    self.value(kind, inside, depth, found)?;
                }
            }
        }
    }

    /// Reads a value that is no number in a field.
    fn value(
        &mut self,
        kind: u8,
        field: i64,
        depth: usize,
        found: &mut Found<'_>,
    ) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match kind {
            1..=3 => self.byte().map(|_| ()),
            4..=6 => self.number().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.number()?,
                    count => u64::from(count),
                };
                for _ in 0..count {
                    self.value(head & 0x0F, -1, depth + 1, found)?;
                }
                Ok(())
            }
            12 => self.structure(Some(field), depth + 1, found),
            // Page headers have no maps.
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.pass(bytes)?;
        match io::copy(&mut self.reader.by_ref().take(bytes), &mut io::sink())? {
            copied if copied == bytes => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Pages in which the numbers of values are checked that the library unpacks at once.
pub(super) struct CheckedPages {
    pages: Box<dyn PageReader>,
    /// Whether values may be null.
    has_levels: bool,
}

impl CheckedPages {
    pub(super) fn new(pages: Box<dyn PageReader>, has_levels: bool) -> Self {
        Self { pages, has_levels }
    }

    fn check(&self, page: &Page) -> parquet::errors::Result<()> {
        let (bytes, encoding, levels) = match page {
            Page::DataPage {
                buf,
                encoding,
                num_values,
                def_level_encoding,
                ..
            } => {
                let levels = match (self.has_levels, def_level_encoding) {
                    (false, _) => Some(0),
                    (true, Encoding::RLE) => length_at(buf).and_then(|own| own.checked_add(4)),
                    (true, _) => Some(num_values.div_ceil(8) as usize),
                };
                (buf, encoding, levels)
            }
            Page::DataPageV2 {
                buf,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let levels = def_levels_byte_len.checked_add(*rep_levels_byte_len);
                (buf, encoding, levels.map(|own| own as usize))
            }
            Page::DictionaryPage { .. } => return Ok(()),
        };
        let lists = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return Ok(()),
        };
        let mut values = levels.and_then(|own| bytes.get(own..));
        for _ in 0..lists {
            values = values.and_then(after_lengths);
        }
        match values {
            Some(_) => Ok(()),
            None => Err(ParquetError::General(format!(
                "expected lengths of at most {MOST_VALUES} values in a page"
            ))),
        }
    }
}

fn length_at(bytes: &Bytes) -> Option<usize> {
    let (length, _) = bytes.split_first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}

/// What follows a list of numbers in the encoding `DELTA_BINARY_PACKED`; `None` if it has more than
/// [`MOST_VALUES`], or is damaged.
fn after_lengths(bytes: &[u8]) -> Option<&[u8]> {
    let mut unread = bytes;
    let mut compact = Compact {
        left: bytes.len() as u64,
        reader: &mut unread,
        read: 0,
    };
    let mut next = || compact.number().ok();
    let (block, parts, count) = (next()?, next()?, next()?);
    next()?;
    let each = block.checked_div(parts)?;
    if count > MOST_VALUES || each == 0 || parts > block || each > MOST_VALUES {
        return None;
    }
    let mut left = count.saturating_sub(1);
    while left > 0 {
        compact.number().ok()?;
        let mut length = 0;
        for _ in 0..parts {
            let width = u64::from(compact.byte().ok()?);
            if left > 0 {
                length += width * each / 8;
            }
            left = left.saturating_sub(each);
        }
        // The last block may be cut.
        let length = length.min(compact.left);
        compact.skip(length).ok()?;
    }
    let read = usize::try_from(compact.read).ok()?;
    bytes.get(read..)
}

impl Iterator for CheckedPages {
    type Item = parquet::errors::Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> parquet::errors::Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.as_ref().map_or(Ok(()), |page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> parquet::errors::Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> parquet::errors::Result<()> {
        self.pages.skip_next_page()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use parquet::basic::{BrotliLevel, GzipLevel};
    use std::io::{Cursor, Write};

    fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    /// A field of a number that follows the one before it.
    fn field(number: u64) -> Vec<u8> {
        [vec![0x15], varint(number << 1)].concat()
    }

    /// A page with its header: of data, or of a dictionary with a number of values.
    fn page(unpacked: u64, body: &[u8], dictionary: Option<u64>) -> Vec<u8> {
        let kind = if dictionary.is_some() { 2 } else { 0 };
        let inner = match dictionary {
            // Field 7.
            Some(values) => [vec![0x4C], field(values), field(0)].concat(),
            // Field 5.
            None => [vec![0x2C], field(1), field(0), field(3), field(3)].concat(),
        };
        let sizes = [field(unpacked), field(body.len() as u64)].concat();
        [field(kind), sizes, inner, vec![0, 0], body.to_vec()].concat()
    }

    fn checked(bytes: &[u8], packing: Compression) -> std::result::Result<u64, String> {
        let chunk = Chunk {
            name: "notes.parquet",
            bytes: bytes.len() as u64,
            packing,
        };
        let mut reader = BufReader::new(Cursor::new(bytes));
        check(&mut reader, &chunk).map_err(|error| error.to_string())
    }

    #[test]
    fn pages_beyond_the_limit_are_refused_by_their_unpacked_size() {
        let small = [page(40, b"packed", Some(10)), page(6, b"packed", None)].concat();
        assert_eq!(checked(&small, Compression::SNAPPY), Ok(46));
        assert_eq!(checked(b"", Compression::SNAPPY), Ok(0));
        let large = page((256 << 20) + 1, b"packed", None);
        let message = checked(&large, Compression::SNAPPY).expect_err("too large");
        assert!(
            message.contains("at most 256.0 MiB of one page of a Parquet column, unpacked"),
            "{message}"
        );
        let many = page(400, b"packed", Some(1 << 30));
        let message = checked(&many, Compression::SNAPPY).expect_err("too many values");
        assert!(message.contains("values of its dictionary"), "{message}");
    }

    #[test]
    fn pages_that_unpack_to_more_than_they_say_are_refused() {
        let text = vec![b' '; 100_000];
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&text).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let mut packed = Vec::new();
        let mut writer = brotli::CompressorWriter::new(&mut packed, 4096, 5, 20);
        writer.write_all(&text).expect("memory");
        drop(writer);
        for (body, packing) in [
            (gzip, Compression::GZIP(GzipLevel::default())),
            (packed, Compression::BROTLI(BrotliLevel::default())),
        ] {
            let honest = page(100_000, &body, None);
            assert_eq!(checked(&honest, packing), Ok(100_000));
            let message = checked(&page(99_999, &body, None), packing).expect_err("more");
            assert!(message.contains("unpacks to more bytes"), "{message}");
        }
    }

    #[test]
    fn damaged_headers_are_refused() {
        let whole = page(6, b"packed", None);
        let nested = vec![0x19; 1 << 20];
        let twice = [field(0), field(1), vec![0x05, 4, 2], field(1), vec![0]].concat();
        for bytes in [&whole[..3], &whole[..whole.len() - 1], &nested, &twice] {
            let message = checked(bytes, Compression::UNCOMPRESSED).expect_err("damaged");
            assert!(
                message.starts_with("notes.parquet: a page of the Parquet file is damaged"),
                "{message}"
            );
        }
    }

    #[test]
    fn lists_of_lengths_are_bounded() {
        let head = |count: u64| [varint(128), varint(4), varint(count), varint(0)].concat();
        let rest = b"rest";
        assert_eq!(
            after_lengths(&[&head(1), &rest[..]].concat()),
            Some(&rest[..])
        );
        // A block of 4 parts: the first has 32 lengths of 1 bit, the others are all 0.
        let block = [vec![0, 1, 0, 0, 0], vec![0xFF; 4]].concat();
        let list = [head(129), block, rest.to_vec()].concat();
        assert_eq!(after_lengths(&list), Some(&rest[..]));
        let many = [head(MOST_VALUES + 1), vec![0; 1 << 20]].concat();
        assert_eq!(after_lengths(&many), None);
        for damaged in [&[][..], &[0x80, 1, 0, 1, 0], &head(129)] {
            assert_eq!(after_lengths(damaged), None);
        }
    }
}
