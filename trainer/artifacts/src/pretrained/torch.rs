//! Weights that `torch.save` wrote, such as `pytorch_model.bin`, as safetensors.
//!
//! | form | content |
//! | --- | --- |
//! | ZIP, since PyTorch 1.6 | members `NAME/data.pkl`, a pickle, and `NAME/data/KEY`, the bytes of each storage |
//! | stream, before 1.6 | pickles of a number, the version, the machine, the tensors and the keys, then each storage |
//! | tar, of the first versions | not read |

use super::pickle::{Pickle, Storage, Strided};
use crate::tensors::{NamedTensor, to_bytes};
use pel_kb::error::{Context, Error, Result};
use rawzip::{CompressionMethod, ZipArchive};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The beginning of the stream form: a pickle of its number.
const STREAM: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
/// The version of the stream form.
const STREAM_VERSION: i64 = 1001;
/// The largest number of members of an archive. BERT-large has 400.
const MOST_MEMBERS: usize = 100_000;
/// How a file of another form can be converted.
const CONVERT: &str = "python -c 'import torch; torch.save(torch.load(\"OLD\", \
                       map_location=\"cpu\", weights_only=True), \"NEW\")'";

/// The tensors of a file, in place.
pub(crate) struct Checkpoint<'a> {
    tensors: BTreeMap<String, Strided<'a>>,
    /// The bytes of each storage.
    storages: HashMap<String, &'a [u8]>,
    /// The length of the file.
    length: usize,
}

impl<'a> Checkpoint<'a> {
    /// Reads the names and places of tensors.
    ///
    /// # Errors
    /// If the file is damaged, of another form, or holds something else than tensors.
    pub fn read(file: &'a [u8]) -> Result<Self> {
        if file.starts_with(b"PK\x03\x04") {
            Self::of_archive(file)
        } else if let Some(rest) = file.strip_prefix(STREAM) {
            Self::of_stream(rest, file.len())
        } else {
            Err(Error::artifact(format!(
                "this is not a file of torch.save in a form that PEL reads; if PyTorch reads it, \
                 convert it: {CONVERT}"
            )))
        }
    }

    fn of_archive(file: &'a [u8]) -> Result<Self> {
        let members = members(file)?;
        let prefix = members.keys().find_map(|name| {
            let folder = name.strip_suffix("data.pkl")?;
            (folder.is_empty() || folder.ends_with('/')).then_some(folder)
        });
        let Some(prefix) = prefix else {
            return Err(Error::artifact(
                "this archive is not from torch.save: it has no data.pkl",
            ));
        };
        if let Some(order) = members.get(&format!("{prefix}byteorder"))
            && *order != b"little"
        {
            return Err(Error::artifact(format!(
                "expected little-endian numbers, found {:?}",
                String::from_utf8_lossy(order)
            )));
        }
        let bytes = members
            .get(&format!("{prefix}data.pkl"))
            .copied()
            .unwrap_or_default();
        let pickle = Pickle::read(bytes).context(|| "data.pkl".into())?;
        let tensors = owned(&pickle).context(|| "data.pkl".into())?;
        let folder = format!("{prefix}data/");
        let storages = members
            .iter()
            .filter_map(|(name, bytes)| Some((name.strip_prefix(&folder)?.to_owned(), *bytes)))
            .collect();
        Ok(Self {
            tensors,
            storages,
            length: file.len(),
        })
    }

    /// Reads what follows the number of the stream form.
    fn of_stream(file: &'a [u8], length: usize) -> Result<Self> {
        let mut rest = file;
        let mut next = |what: &str| -> Result<Pickle<'a>> {
            let pickle = Pickle::read(rest).context(|| what.to_owned())?;
            rest = rest.get(pickle.length..).unwrap_or_default();
            Ok(pickle)
        };
        let version = next("the version")?.int();
        if version != Some(STREAM_VERSION) {
            return Err(Error::artifact(format!(
                "this is not version {STREAM_VERSION} of the old form of torch.save; convert the \
                 file: {CONVERT}"
            )));
        }
        if next("the description of the machine")?.flag("little_endian") != Some(true) {
            return Err(Error::artifact(
                "the numbers are not little-endian, as PEL reads them",
            ));
        }
        let pickle = next("the tensors")?;
        let keys = next("the keys of storages")?;
        let tensors = owned(&pickle).context(|| "the tensors".into())?;
        let mut sizes: HashMap<&str, Storage<'a>> = HashMap::new();
        for tensor in tensors.values() {
            sizes.insert(tensor.storage.key, tensor.storage);
        }
        let mut storages = HashMap::new();
        for key in keys.texts().context(|| "the keys of storages".into())? {
            let damaged = || {
                Error::artifact(format!(
                    "the storage `{key}` is missing or has the wrong size; the file is damaged"
                ))
            };
            // All storages of a state dict are those of tensors.
            let storage = sizes.get(key).ok_or_else(damaged)?;
            let (count, after) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
            if u64::from_le_bytes(*count) != storage.count as u64 {
                return Err(damaged());
            }
            let bytes = storage
                .count
                .checked_mul(storage.width())
                .ok_or_else(damaged)?;
            let (bytes, after) = after.split_at_checked(bytes).ok_or_else(damaged)?;
            storages.insert(key.to_owned(), bytes);
            rest = after;
        }
        Ok(Self {
            tensors,
            storages,
            length,
        })
    }

    /// The names of all tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The bytes of a safetensors file with the tensors to which `rename` gives a name.
    ///
    /// # Errors
    /// If two tensors get one name, a storage is missing or has another size, or the tensors would
    /// take more bytes than the file.
    pub fn to_safetensors(&self, rename: impl Fn(&str) -> Option<String>) -> Result<Vec<u8>> {
        let mut total = 0usize;
        let mut kept: BTreeMap<String, (&Strided<'a>, Cow<'a, [u8]>)> = BTreeMap::new();
        for (name, tensor) in &self.tensors {
            let Some(renamed) = rename(name) else {
                continue;
            };
            let bytes = tensor.count.checked_mul(tensor.storage.width());
            total = bytes
                .and_then(|bytes| total.checked_add(bytes))
                .filter(|total| *total <= self.length)
                .ok_or_else(|| {
                    Error::artifact(format!(
                        "`{name}`: expected tensors of at most the {} bytes of the file, found \
                         more, which share storages",
                        self.length
                    ))
                })?;
            let bytes = self.bytes(tensor).context(|| format!("`{name}`"))?;
            if kept.insert(renamed, (tensor, bytes)).is_some() {
                return Err(Error::artifact(format!(
                    "`{name}`: another tensor of the file gets the same name"
                )));
            }
        }
        let tensors: Vec<_> = kept
            .iter()
            .map(|(name, (tensor, bytes))| NamedTensor {
                name: name.clone(),
                dtype: tensor.storage.dtype,
                shape: tensor.shape.clone(),
                bytes,
            })
            .collect();
        to_bytes(&tensors)
    }

    /// The numbers of a tensor in row-major order.
    fn bytes(&self, tensor: &Strided<'a>) -> Result<Cow<'a, [u8]>> {
        let Storage { key, count, .. } = tensor.storage;
        let width = tensor.storage.width();
        let Some(all) = self.storages.get(key).copied() else {
            return Err(Error::artifact(format!(
                "expected the storage `{key}`, found none"
            )));
        };
        if Some(all.len()) != count.checked_mul(width) {
            return Err(Error::artifact(format!(
                "expected a storage of {count} numbers of {width} bytes, found {} bytes",
                all.len()
            )));
        }
        let number = |at: usize| all.get(at * width..(at + 1) * width).unwrap_or_default();
        if tensor.is_contiguous() {
            let end = tensor.offset + tensor.count;
            return Ok(Cow::Borrowed(
                all.get(tensor.offset * width..end * width)
                    .unwrap_or_default(),
            ));
        }
        let mut gathered = Vec::with_capacity(tensor.count * width);
        let mut index = vec![0; tensor.shape.len()];
        let mut at = tensor.offset;
        for _ in 0..tensor.count {
            gathered.extend_from_slice(number(at));
            // The next index, as an odometer counts.
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                if index[axis] < tensor.shape[axis] {
                    at += tensor.strides[axis];
                    break;
                }
                at -= tensor.strides[axis] * (index[axis] - 1);
                index[axis] = 0;
            }
        }
        Ok(Cow::Owned(gathered))
    }
}

/// The tensors of a pickle, by name.
fn owned<'a>(pickle: &Pickle<'a>) -> Result<BTreeMap<String, Strided<'a>>> {
    let tensors = pickle.tensors()?.into_iter();
    Ok(tensors
        .map(|(name, tensor)| (name.to_owned(), tensor.clone()))
        .collect())
}

/// The members of an archive, which must be stored uncompressed, as `torch.save` stores them.
fn members(file: &[u8]) -> Result<BTreeMap<String, &[u8]>> {
    let damaged =
        |cause: rawzip::Error| Error::artifact("expected a whole ZIP archive").caused_by(cause);
    let archive = ZipArchive::from_slice(file).map_err(damaged)?;
    let mut entries = archive.entries();
    let mut members = BTreeMap::new();
    while let Some(entry) = entries.next_entry().map_err(damaged)? {
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        if members.len() == MOST_MEMBERS {
            return Err(Error::artifact(format!(
                "expected at most {MOST_MEMBERS} members of the archive, found more"
            )));
        }
        if entry.compression_method() != CompressionMethod::STORE || entry.flags().is_encrypted() {
            return Err(Error::artifact(format!(
                "{name}: expected a stored member, as torch.save writes it, found a compressed or \
                 encrypted one"
            )));
        }
        let found = archive.get_entry(entry.wayfinder()).map_err(damaged)?;
        let (begin, end) = found.compressed_data_range();
        let bytes = usize::try_from(begin)
            .ok()
            .zip(usize::try_from(end).ok())
            .and_then(|(begin, end)| file.get(begin..end))
            .ok_or_else(|| {
                Error::artifact(format!("{name}: expected a whole member, found a part"))
            })?;
        members.insert(name, bytes);
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::super::pickle::tests::STATE;
    use super::*;
    use safetensors::tensor::{Dtype, SafeTensors};

    const FLOATS: [f32; 3] = [1.0, 2.0, 3.0];

    /// The archive of [`STATE`] with a storage of these bytes.
    fn archive(data: &[u8]) -> Vec<u8> {
        let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
        for (name, bytes) in [("m/data.pkl", STATE), ("m/data/0", data)] {
            let (mut entry, config) = archive.new_file(name).start().expect("started");
            let mut writer = config.wrap(&mut entry);
            std::io::Write::write_all(&mut writer, bytes).expect("written");
            let (_, descriptor) = writer.finish().expect("finished");
            entry.finish(descriptor).expect("closed");
        }
        archive.finish().expect("closed")
    }

    /// The stream form of the same.
    fn stream(data: &[u8]) -> Vec<u8> {
        let machine = b"\x80\x02}X\x0d\x00\x00\x00little_endian\x88s.";
        // The description of a storage has one more field.
        let split = STATE
            .windows(3)
            .position(|bytes| bytes == b"K\x03t")
            .expect("its size")
            + 2;
        let count = (data.len() as u64 / 4).to_le_bytes();
        [
            STREAM,
            b"\x80\x02M\xe9\x03.",
            machine,
            &STATE[..split],
            b"N",
            &STATE[split..],
            b"\x80\x02]X\x01\x00\x00\x000a.",
            &count,
            data,
        ]
        .concat()
    }

    fn floats(file: &[u8]) -> Result<Vec<f32>> {
        let bytes = Checkpoint::read(file)?.to_safetensors(|name| Some(format!("new.{name}")))?;
        let all = SafeTensors::deserialize(&bytes).expect("safetensors");
        let view = all.tensor("new.a").expect("there");
        assert_eq!(view.dtype(), Dtype::F32);
        Ok(view
            .data()
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect())
    }

    #[test]
    fn both_forms_give_the_tensor_within_its_storage() {
        let data: &[u8] = bytemuck::cast_slice(&FLOATS);
        assert_eq!(floats(&archive(data)).expect("whole"), [2.0, 3.0]);
        assert_eq!(floats(&stream(data)).expect("whole"), [2.0, 3.0]);
    }

    #[test]
    fn storage_of_another_size_is_refused() {
        let data: &[u8] = bytemuck::cast_slice(&FLOATS[..2]);
        let said = floats(&archive(data)).expect_err("short").to_string();
        assert_eq!(
            said,
            "`a`: expected a storage of 3 numbers of 4 bytes, found 8 bytes"
        );
        let said = floats(&stream(data)).expect_err("short").to_string();
        assert!(said.contains("the storage `0` is missing"), "{said}");
    }

    #[test]
    fn every_truncation_is_an_error() {
        let data: &[u8] = bytemuck::cast_slice(&FLOATS);
        for whole in [archive(data), stream(data)] {
            for length in 0..whole.len() {
                floats(&whole[..length]).expect_err("cut");
            }
        }
    }

    #[test]
    fn other_files_are_refused_with_a_way_to_convert_them() {
        let said = floats(b"\x89HDF").expect_err("another").to_string();
        assert!(said.contains("torch.save(torch.load("), "{said}");
    }

    #[test]
    fn transposed_numbers_are_gathered() {
        let numbers: Vec<u8> = (0..6u16).flat_map(u16::to_le_bytes).collect();
        let storage = Storage {
            key: "0",
            dtype: Dtype::F16,
            count: 6,
        };
        let checkpoint = Checkpoint {
            tensors: BTreeMap::new(),
            storages: HashMap::from([("0".to_owned(), &numbers[..])]),
            length: 100,
        };
        // Rows 0 1 2 and 3 4 5, by columns.
        let tensor = Strided {
            storage,
            offset: 0,
            shape: vec![3, 2],
            strides: vec![1, 3],
            count: 6,
        };
        let gathered = checkpoint.bytes(&tensor).expect("within");
        let expected: Vec<u8> = [0u16, 3, 1, 4, 2, 5]
            .into_iter()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(&gathered[..], &expected[..]);
    }
}
