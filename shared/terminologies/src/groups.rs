//! Records in the order of their keys, and the values of each key.

use pel_kb::error::Result;

/// Collects records to sort. Those with equal keys keep their order.
pub trait Sorter {
    /// Adds a record.
    ///
    /// # Errors
    /// If there is no place for it, or after an interrupt.
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// The records in the order of their keys.
    ///
    /// # Errors
    /// If they cannot be sorted.
    fn finish(self: Box<Self>) -> Result<Box<dyn Sorted>>;
}

/// A key and a value.
pub type KeyAndValue<'a> = (&'a [u8], &'a [u8]);

/// Sorted records.
pub trait Sorted: std::fmt::Debug {
    /// The next key and value; `None` at the end.
    ///
    /// # Errors
    /// If they cannot be read, or after an interrupt.
    fn next_record(&mut self) -> Result<Option<KeyAndValue<'_>>>;

    /// Refuses values of one key that take too many bytes in memory.
    ///
    /// # Errors
    /// If they do.
    fn check_group(&self, key: &[u8], bytes: usize) -> Result<()>;
}

/// The values of one key.
#[derive(Debug, Default)]
pub struct Group {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Group {
    /// The values in their order.
    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(|(begin, end)| self.bytes.get(begin..*end).unwrap_or_default())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
    }

    /// The bytes that it takes in memory.
    fn size(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }
}

/// Sorted records, read by key.
#[derive(Debug)]
pub struct Groups {
    sorted: Box<dyn Sorted>,
    /// The first record that has not been passed on.
    next: Option<(Vec<u8>, Vec<u8>)>,
    started: bool,
}

impl Groups {
    /// Groups sorted records.
    #[must_use]
    pub fn new(sorted: Box<dyn Sorted>) -> Self {
        Self {
            sorted,
            next: None,
            started: false,
        }
    }

    fn advance(&mut self) -> Result<()> {
        self.started = true;
        let record = self.sorted.next_record()?;
        match (record, &mut self.next) {
            (None, next) => *next = None,
            (Some((key, value)), Some(next)) => {
                next.0.clear();
                next.0.extend_from_slice(key);
                next.1.clear();
                next.1.extend_from_slice(value);
            }
            (Some((key, value)), next) => *next = Some((key.to_vec(), value.to_vec())),
        }
        Ok(())
    }

    /// Reads the next key and its values; `false` at the end.
    ///
    /// # Errors
    /// If a temporary file cannot be read, or the values of a key exceed the limit of a record.
    pub fn next_group(&mut self, key: &mut Vec<u8>, group: &mut Group) -> Result<bool> {
        if !self.started {
            self.advance()?;
        }
        let Some((next, _)) = &self.next else {
            return Ok(false);
        };
        key.clone_from(next);
        self.read(key, group)?;
        Ok(true)
    }

    /// Reads the values of a key, which may have none. Keys must be asked for in ascending order.
    ///
    /// # Errors
    /// As [`Groups::next_group`].
    pub fn of(&mut self, key: &[u8], group: &mut Group) -> Result<()> {
        if !self.started {
            self.advance()?;
        }
        while self
            .next
            .as_ref()
            .is_some_and(|(next, _)| next.as_slice() < key)
        {
            self.advance()?;
        }
        self.read(key, group)
    }

    fn read(&mut self, key: &[u8], group: &mut Group) -> Result<()> {
        group.clear();
        while let Some((_, value)) = self.next.as_ref().filter(|(next, _)| next == key) {
            group.push(value);
            self.sorted.check_group(key, group.size())?;
            self.advance()?;
        }
        Ok(())
    }
}
