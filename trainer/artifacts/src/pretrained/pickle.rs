//! Pickles of tensors: the part of Python's format that `torch.save` writes for a state dict.
//!
//! A pickle is a program that can call any function of Python. This reader calls none. It knows
//! tensors, storages, dicts, lists, tuples, texts and numbers; every other global and opcode is an
//! error that names it.

use pel_kb::error::{Error, Result};
use safetensors::tensor::Dtype;
use std::collections::{BTreeMap, HashMap};

/// The longest pickle in bytes. The one of two BERT-large has 120 KB; values take up to a hundred
/// times their bytes.
const MOST_BYTES: usize = 2 << 20;

/// Consecutive numbers of one type, which tensors view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Storage<'a> {
    /// The name of its content in the file.
    pub key: &'a str,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// The number of its numbers.
    pub count: usize,
}

impl Storage<'_> {
    /// Bytes of a number.
    pub fn width(&self) -> usize {
        self.dtype.bitsize() / 8
    }
}

/// A tensor, within the bounds of its storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Strided<'a> {
    /// Its numbers.
    pub storage: Storage<'a>,
    /// The position of its first number.
    pub offset: usize,
    /// Its shape.
    pub shape: Vec<usize>,
    /// The distance of neighbours in each dimension, in numbers; 0 in a dimension of one.
    pub strides: Vec<usize>,
    /// The product of its shape.
    pub count: usize,
}

impl<'a> Strided<'a> {
    /// Checks a view of a storage.
    fn new(
        storage: Storage<'a>,
        offset: usize,
        shape: Vec<usize>,
        mut strides: Vec<usize>,
    ) -> Result<Self> {
        let found = storage.count;
        let outside = || {
            Error::artifact(format!(
                "expected a tensor within the {found} numbers of its storage, found one beyond them"
            ))
        };
        if shape.len() != strides.len() {
            return Err(Error::artifact(format!(
                "expected a stride for each of {} dimensions, found {}",
                shape.len(),
                strides.len()
            )));
        }
        let mut count = 1usize;
        let mut last = offset;
        for (size, stride) in shape.iter().zip(&mut strides) {
            if *size <= 1 {
                *stride = 0;
            }
            count = count.checked_mul(*size).ok_or_else(outside)?;
            let reach = size.saturating_sub(1).checked_mul(*stride);
            last = reach
                .and_then(|reach| last.checked_add(reach))
                .ok_or_else(outside)?;
        }
        if (count > 0 && last >= storage.count) || offset > storage.count {
            return Err(outside());
        }
        Ok(Self {
            storage,
            offset,
            shape,
            strides,
            count,
        })
    }

    /// Whether its numbers lie in a row, in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        let axes = self.shape.iter().zip(&self.strides).rev();
        self.count == 0
            || axes.filter(|(size, _)| **size != 1).all(|(size, stride)| {
                let fits = *stride == expected;
                expected *= size;
                fits
            })
    }
}

/// The globals that a pickle may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Global {
    OrderedDict,
    RebuildTensor,
    Storage(Dtype),
}

/// A value; the numbers of lists, dicts and tensors are their places in the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    None,
    Bool(bool),
    Int(i64),
    Text(&'a str),
    Tuple(usize),
    List(usize),
    Dict(usize),
    Global(Global),
    Storage(Storage<'a>),
    Tensor(usize),
}

impl Value<'_> {
    /// Its kind, for messages.
    fn kind(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "a number",
            Self::Text(_) => "a text",
            Self::Tuple(_) => "a tuple",
            Self::List(_) => "a list",
            Self::Dict(_) => "a dict",
            Self::Global(_) => "a class",
            Self::Storage(_) => "a storage",
            Self::Tensor(_) => "a tensor",
        }
    }
}

/// The values of a pickle that was read.
#[derive(Debug)]
pub(super) struct Pickle<'a> {
    /// Its length in bytes.
    pub length: usize,
    machine: Machine<'a>,
    top: Value<'a>,
}

impl<'a> Pickle<'a> {
    /// Reads the pickle at the start of some bytes.
    ///
    /// # Errors
    /// If it is not whole, longer than 2 MiB, or holds something else than tensors.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut input = Input {
            bytes: bytes.get(..MOST_BYTES).unwrap_or(bytes),
            at: 0,
        };
        let mut machine = Machine::default();
        loop {
            let at = input.at;
            let top = machine
                .step(&mut input)
                .map_err(|error| error.context(format!("byte {at} of the pickle")))?;
            if let Some(top) = top {
                return Ok(Self {
                    length: input.at,
                    machine,
                    top,
                });
            }
        }
    }

    /// The number that the pickle holds.
    pub fn int(&self) -> Option<i64> {
        match self.top {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The truth value of a field in the dict that the pickle holds.
    pub fn flag(&self, name: &str) -> Option<bool> {
        let Value::Dict(at) = self.top else {
            return None;
        };
        self.machine.dicts[at].iter().find_map(|item| match item {
            (Value::Text(key), Value::Bool(flag)) if *key == name => Some(*flag),
            _ => None,
        })
    }

    /// The texts of the list that the pickle holds.
    ///
    /// # Errors
    /// If it holds something else.
    pub fn texts(&self) -> Result<Vec<&'a str>> {
        let Value::List(at) = self.top else {
            return Err(expected("a list of texts", self.top));
        };
        let text = |value: &Value<'a>| match value {
            Value::Text(text) => Ok(*text),
            other => Err(expected("a text", *other)),
        };
        self.machine.sequences[at].iter().map(text).collect()
    }

    /// The tensors of the state dict that the pickle holds, by name.
    ///
    /// # Errors
    /// If it holds something else, or a name twice.
    pub fn tensors(&self) -> Result<BTreeMap<&'a str, &Strided<'a>>> {
        let Value::Dict(at) = self.top else {
            return Err(expected(
                "a dict of tensors, as torch.save(model.state_dict(), FILE) writes it",
                self.top,
            ));
        };
        let mut tensors = BTreeMap::new();
        for (key, value) in &self.machine.dicts[at] {
            let Value::Text(name) = *key else {
                return Err(expected("the name of a tensor", *key));
            };
            let Value::Tensor(place) = *value else {
                return Err(expected("a tensor", *value).context(format!("`{name}`")));
            };
            if tensors.insert(name, &self.machine.tensors[place]).is_some() {
                return Err(Error::artifact(format!(
                    "expected each tensor once, found `{name}` twice"
                )));
            }
        }
        Ok(tensors)
    }
}

fn expected(what: &str, found: Value<'_>) -> Error {
    Error::artifact(format!("expected {what}, found {}", found.kind()))
}

fn truncated() -> Error {
    Error::artifact("expected a whole pickle of at most 2 MiB, found its end or a longer one")
}

fn empty() -> Error {
    Error::artifact("expected a value, found none")
}

/// The bytes of a pickle and the position of the next one.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).ok_or_else(truncated)?;
        let taken = self.bytes.get(self.at..end).ok_or_else(truncated)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    /// A little-endian number of 32 bits.
    fn word(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn text(&mut self, length: usize) -> Result<&'a str> {
        std::str::from_utf8(self.take(length)?)
            .map_err(|cause| Error::artifact("expected a text in UTF-8").caused_by(cause))
    }

    fn line(&mut self) -> Result<&'a str> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(truncated)?;
        let line = self.text(length)?;
        self.take(1)?;
        Ok(line)
    }
}

/// The state of the reader: what Python's unpickler has, without objects.
#[derive(Debug, Default)]
struct Machine<'a> {
    stack: Vec<Value<'a>>,
    /// The height of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<u32, Value<'a>>,
    /// Tuples and lists.
    sequences: Vec<Vec<Value<'a>>>,
    dicts: Vec<Vec<(Value<'a>, Value<'a>)>>,
    tensors: Vec<Strided<'a>>,
}

impl<'a> Machine<'a> {
    /// Runs an opcode. Returns the value that the pickle holds at its end.
    fn step(&mut self, input: &mut Input<'a>) -> Result<Option<Value<'a>>> {
        let value = match input.byte()? {
            // PROTO
            0x80 => {
                let protocol = input.byte()?;
                if protocol != 2 {
                    return Err(Error::artifact(format!(
                        "expected protocol 2, the default of torch.save, found {protocol}"
                    )));
                }
                return Ok(None);
            }
            // STOP
            b'.' => return Ok(Some(self.pop()?)),
            // MARK
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(None);
            }
            // BINPUT, LONG_BINPUT
            b'q' => {
                let place = u32::from(input.byte()?);
                return self.remember(place);
            }
            b'r' => {
                let place = input.word()?;
                return self.remember(place);
            }
            // APPEND, APPENDS
            b'a' => {
                let item = self.pop()?;
                return self.append(vec![item]);
            }
            b'e' => {
                let items = self.above_mark()?;
                return self.append(items);
            }
            // SETITEM, SETITEMS
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                return self.set(&[key, value]);
            }
            b'u' => {
                let items = self.above_mark()?;
                return self.set(&items);
            }
            // BUILD: the attributes of a state dict, such as the versions of its modules.
            b'b' => {
                let (state, object) = (self.pop()?, self.pop()?);
                match (object, state) {
                    (Value::Dict(_), Value::Dict(_)) => object,
                    _ => return Err(expected("a dict with attributes", object)),
                }
            }
            b'N' => Value::None,
            0x88 => Value::Bool(true),
            0x89 => Value::Bool(false),
            // BININT, BININT1, BININT2, LONG1
            b'J' => Value::Int(i64::from(i32::from_le_bytes(input.array()?))),
            b'K' => Value::Int(i64::from(input.byte()?)),
            b'M' => Value::Int(i64::from(u16::from_le_bytes(input.array()?))),
            0x8a => {
                let length = usize::from(input.byte()?);
                Value::Int(long(input.take(length)?)?)
            }
            // BINUNICODE
            b'X' => {
                let length = usize::try_from(input.word()?).map_err(|_| truncated())?;
                Value::Text(input.text(length)?)
            }
            // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3, TUPLE
            b')' => self.tuple(Vec::new()),
            count @ 0x85..=0x87 => {
                let mut items = (0..count - 0x84)
                    .map(|_| self.pop())
                    .collect::<Result<Vec<_>>>()?;
                items.reverse();
                self.tuple(items)
            }
            b't' => {
                let items = self.above_mark()?;
                self.tuple(items)
            }
            // EMPTY_LIST, EMPTY_DICT
            b']' => {
                self.sequences.push(Vec::new());
                Value::List(self.sequences.len() - 1)
            }
            b'}' => self.dict(),
            // BINGET, LONG_BINGET
            b'h' => {
                let place = u32::from(input.byte()?);
                self.recall(place)?
            }
            b'j' => {
                let place = input.word()?;
                self.recall(place)?
            }
            b'c' => Value::Global(global(input.line()?, input.line()?)?),
            // BINPERSID
            b'Q' => self.storage()?,
            b'R' => self.reduce()?,
            other => {
                return Err(Error::artifact(format!(
                    "expected an opcode of a state dict in protocol 2, found {other:#04x}"
                )));
            }
        };
        self.stack.push(value);
        Ok(None)
    }

    /// The value above the last mark.
    fn pop(&mut self) -> Result<Value<'a>> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(empty());
        }
        self.stack.pop().ok_or_else(empty)
    }

    /// The values above the last mark, which is removed.
    fn above_mark(&mut self) -> Result<Vec<Value<'a>>> {
        let floor = self.marks.pop().ok_or_else(empty)?;
        Ok(self.stack.split_off(floor.min(self.stack.len())))
    }

    fn remember(&mut self, place: u32) -> Result<Option<Value<'a>>> {
        let value = *self.stack.last().ok_or_else(empty)?;
        self.memo.insert(place, value);
        Ok(None)
    }

    fn recall(&self, place: u32) -> Result<Value<'a>> {
        self.memo.get(&place).copied().ok_or_else(empty)
    }

    fn tuple(&mut self, items: Vec<Value<'a>>) -> Value<'a> {
        self.sequences.push(items);
        Value::Tuple(self.sequences.len() - 1)
    }

    fn dict(&mut self) -> Value<'a> {
        self.dicts.push(Vec::new());
        Value::Dict(self.dicts.len() - 1)
    }

    fn append(&mut self, items: Vec<Value<'a>>) -> Result<Option<Value<'a>>> {
        match self.stack.last() {
            Some(Value::List(at)) => self.sequences[*at].extend(items),
            other => return Err(expected("a list", other.copied().unwrap_or(Value::None))),
        }
        Ok(None)
    }

    fn set(&mut self, items: &[Value<'a>]) -> Result<Option<Value<'a>>> {
        let Some(Value::Dict(at)) = self.stack.last() else {
            return Err(Error::artifact("expected a dict, found something else"));
        };
        if !items.len().is_multiple_of(2) {
            return Err(Error::artifact(
                "expected a value for each key, found a key without one",
            ));
        }
        self.dicts[*at].extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        Ok(None)
    }

    /// The storage that a persistent id names: a tuple of its kind, type, key, device and size.
    fn storage(&mut self) -> Result<Value<'a>> {
        let id = self.pop()?;
        let Value::Tuple(at) = id else {
            return Err(expected("the description of a storage", id));
        };
        let fields = match self.sequences[at].as_slice() {
            // The older form of the file has the description of a view, of which there is none.
            [fields @ .., Value::None] if fields.len() == 5 => fields,
            fields => fields,
        };
        let [
            Value::Text("storage"),
            Value::Global(Global::Storage(dtype)),
            Value::Text(key),
            Value::Text(_),
            Value::Int(count),
        ] = fields
        else {
            return Err(Error::artifact(
                "expected a storage of a type, key, device and size, found other fields",
            ));
        };
        Ok(Value::Storage(Storage {
            key,
            dtype: *dtype,
            count: size(*count)?,
        }))
    }

    /// Calls a global: one that makes a dict, or a tensor of a storage.
    fn reduce(&mut self) -> Result<Value<'a>> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let Value::Tuple(at) = arguments else {
            return Err(expected("a tuple of arguments", arguments));
        };
        match function {
            Value::Global(Global::OrderedDict) if self.sequences[at].is_empty() => Ok(self.dict()),
            Value::Global(Global::RebuildTensor) => {
                let tensor = self.tensor(&self.sequences[at])?;
                self.tensors.push(tensor);
                Ok(Value::Tensor(self.tensors.len() - 1))
            }
            other => Err(expected("a call that makes a dict or a tensor", other)),
        }
    }

    fn tensor(&self, arguments: &[Value<'a>]) -> Result<Strided<'a>> {
        let [
            Value::Storage(storage),
            Value::Int(offset),
            Value::Tuple(shape),
            Value::Tuple(strides),
            Value::Bool(_),
            ..,
        ] = arguments
        else {
            return Err(Error::artifact(
                "expected a tensor of storage, offset, shape and strides, found other arguments",
            ));
        };
        Strided::new(
            *storage,
            size(*offset)?,
            self.sizes(*shape)?,
            self.sizes(*strides)?,
        )
    }

    fn sizes(&self, tuple: usize) -> Result<Vec<usize>> {
        let sizes = self.sequences[tuple].iter().map(|value| match value {
            Value::Int(value) => size(*value),
            other => Err(expected("a size", *other)),
        });
        sizes.collect()
    }
}

/// A number that counts something.
fn size(value: i64) -> Result<usize> {
    usize::try_from(value).map_err(|_| {
        Error::artifact(format!(
            "expected a size that is not negative, found {value}"
        ))
    })
}

/// A little-endian number in two's complement.
fn long(bytes: &[u8]) -> Result<i64> {
    let mut wide = match bytes.last() {
        Some(last) if *last >= 0x80 => [0xff; 8],
        _ => [0; 8],
    };
    let Some(low) = wide.get_mut(..bytes.len()) else {
        return Err(Error::artifact(format!(
            "expected a number of at most 8 bytes, found {}",
            bytes.len()
        )));
    };
    low.copy_from_slice(bytes);
    Ok(i64::from_le_bytes(wide))
}

/// The global of a name. Its name is all that is read of it.
fn global(module: &str, name: &str) -> Result<Global> {
    Ok(match (module, name) {
        ("collections", "OrderedDict") => Global::OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2") => Global::RebuildTensor,
        ("torch", "FloatStorage") => Global::Storage(Dtype::F32),
        ("torch", "HalfStorage") => Global::Storage(Dtype::F16),
        ("torch", "BFloat16Storage") => Global::Storage(Dtype::BF16),
        ("torch", "LongStorage") => Global::Storage(Dtype::I64),
        _ => {
            return Err(Error::artifact(format!(
                "expected tensors of floats or 64-bit integers alone, found `{module}.{name}`; no \
                 code of a file is run. Save model.state_dict() by itself, or as model.safetensors"
            )));
        }
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `{"a": tensor of shape [2] at 1 of a storage of 3 floats}`, as Python writes it.
    pub(in crate::pretrained) const STATE: &[u8] =
        b"\x80\x02}q\x00X\x01\x00\x00\x00aq\x01ctorch._utils\n_rebuild_tensor_v2\n\
          q\x02((X\x07\x00\x00\x00storageq\x03\
          ctorch\nFloatStorage\n\
          q\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x03tq\x07QK\x01K\x02\x85q\x08K\x01\x85q\x09\
          \x89ccollections\nOrderedDict\nq\x0a)Rq\x0btq\x0cRq\x0ds.";

    fn error(bytes: &[u8]) -> String {
        let error = Pickle::read(bytes)
            .and_then(|pickle| pickle.tensors().map(drop))
            .expect_err("refused");
        error.to_string()
    }

    fn storage(count: usize) -> Storage<'static> {
        Storage {
            key: "0",
            dtype: Dtype::F32,
            count,
        }
    }

    #[test]
    fn state_dict_is_read() {
        let pickle = Pickle::read(STATE).expect("whole");
        assert_eq!(pickle.length, STATE.len());
        let tensors = pickle.tensors().expect("tensors");
        let tensor = tensors["a"];
        assert_eq!(tensor.storage, storage(3));
        assert_eq!((tensor.offset, tensor.count), (1, 2));
        assert_eq!(
            (&tensor.shape[..], &tensor.strides[..]),
            (&[2][..], &[1][..])
        );
    }

    #[test]
    fn every_truncation_is_an_error() {
        for length in 0..STATE.len() {
            error(&STATE[..length]);
        }
    }

    #[test]
    fn other_globals_are_refused_by_name() {
        let found = error(b"\x80\x02cposix\nsystem\nX\x02\x00\x00\x00ls\x85R.");
        assert!(found.contains("found `posix.system`"), "{found}");
        assert!(found.contains("no code of a file is run"), "{found}");
    }

    #[test]
    fn other_opcodes_and_protocols_are_refused() {
        for (bytes, part) in [
            (
                &b"\x80\x04N."[..],
                "protocol 2, the default of torch.save, found 4",
            ),
            (b"\x80\x02i", "found 0x69"),
            (b"\x80\x02N.", "found None"),
            (
                b"\x80\x02}X\x01\x00\x00\x00aK\x01s.",
                "`a`: expected a tensor, found a number",
            ),
            (
                b"\x80\x02}K\x01K\x02s.",
                "expected the name of a tensor, found a number",
            ),
            (b"\x80\x02(.", "expected a value, found none"),
            (b"\x80\x02}(Nu.", "a key without one"),
            (b"\x80\x02h\x07.", "expected a value, found none"),
        ] {
            let found = error(bytes);
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn long_numbers_are_in_twos_complement() {
        assert_eq!(long(&[]).expect("zero"), 0);
        assert_eq!(long(&[0xff]).expect("one byte"), -1);
        assert_eq!(long(&[0xff, 0]).expect("two bytes"), 255);
        assert_eq!(
            long(&[0; 9])
                .map_err(|error| error.to_string())
                .expect_err("long"),
            "expected a number of at most 8 bytes, found 9"
        );
    }

    #[test]
    fn tensor_beyond_its_storage_is_refused() {
        let view = |offset, shape: &[usize], strides: &[usize]| {
            Strided::new(storage(6), offset, shape.to_vec(), strides.to_vec())
        };
        // Rows of 3 at 0 and 3; its transpose; a row repeated; none of none.
        for (offset, shape, strides, contiguous) in [
            (0, &[2, 3][..], &[3, 1][..], true),
            (0, &[3, 2], &[1, 3], false),
            (0, &[100, 6], &[0, 1], false),
            (3, &[1, 3], &[usize::MAX, 1], true),
            (6, &[0], &[1], true),
        ] {
            let tensor = view(offset, shape, strides).expect("within");
            assert_eq!(tensor.is_contiguous(), contiguous, "{shape:?}");
        }
        for (offset, shape, strides) in [
            (1, &[2, 3][..], &[3, 1][..]),
            (6, &[1], &[1]),
            (7, &[0], &[1]),
            (0, &[7], &[1]),
            (0, &[2, 2], &[usize::MAX, 1]),
            (0, &[usize::MAX, 2], &[0, 0]),
            (0, &[2], &[1, 1]),
        ] {
            view(offset, shape, strides).expect_err("beyond");
        }
    }
}
