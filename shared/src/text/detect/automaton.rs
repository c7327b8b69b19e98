//! Validates the bytes of an automaton for the `fst` crate, which trusts them: on invalid bytes it
//! panics or loops.
//!
//! The format (version 3 of the crate), in ascending order of addresses: version and type, 8 bytes
//! each; the nodes; the number of keys and the address of the root, 8 bytes each; a checksum of 4
//! bytes. A node's address is that of its last byte, and it is read backwards:
//!
//! ```text
//! 11 iiiiii   one transition, to the preceding node; iiiiii is the input, or 0 and a byte before
//! 10 iiiiii   one transition: input as above, sizes, address, output
//! 0f nnnnnn   n transitions: 0 and a byte before, which is 1 for 256; f: final. Then sizes, an index
//!             of 256 bytes for n > 32, inputs, addresses, outputs, the final output
//! ```
//!
//! A sizes byte has the bytes of an address in its upper half and of an output in its lower half.
//! An address is a distance from the first byte of the node; 0 is the empty final node. Nodes are
//! adjacent.

use crate::error::{Error, Result};

const HEAD: usize = 16;
const TAIL: usize = 20;
const VERSION: u64 = 3;
/// The largest number of transitions without an index.
const WITHOUT_INDEX: usize = 32;

/// The properties of a node that are checked.
struct Node {
    /// The first byte.
    first: usize,
    /// The largest output.
    output: u64,
}

/// Checks that every node is valid, that transitions lead to earlier nodes, and that no output is
/// above `most`. Then every lookup ends within the bytes, and sums of outputs do not overflow.
///
/// # Errors
/// If the bytes are not an automaton of this version, are truncated or damaged.
pub(super) fn check(bytes: &[u8], most: u64) -> Result<()> {
    let wrong = |what: &str| {
        Error::artifact(format!(
            "expected an automaton of version {VERSION}, found {what}"
        ))
    };
    if bytes.len() < HEAD + TAIL {
        return Err(wrong(&format!("{} bytes", bytes.len())));
    }
    let version = number(bytes.get(..8).unwrap_or_default());
    if version != VERSION {
        return Err(wrong(&format!("version {version}")));
    }
    // A lookup adds one output per node.
    if (bytes.len() as u64).checked_mul(most.max(1)).is_none() {
        return Err(wrong(&format!(
            "{} bytes, with outputs up to {most}",
            bytes.len()
        )));
    }
    let end = bytes.len() - TAIL;
    let root = number(bytes.get(end + 8..end + 16).unwrap_or_default());
    if root == 0 {
        // No key, or only the empty one.
        return if end == HEAD {
            Ok(())
        } else {
            Err(wrong("nodes without a root"))
        };
    }
    if end == HEAD || root != end as u64 - 1 {
        return Err(wrong("a root that is not its last node"));
    }
    let mut nodes = Addresses::new(end);
    let mut targets = Addresses::new(end);
    let mut at = end - 1;
    loop {
        let node = read(bytes, at, &mut targets)
            .ok_or_else(|| wrong(&format!("a node that is damaged, at byte {at}")))?;
        if node.output > most {
            return Err(wrong(&format!(
                "an output of {} at byte {at}, expected at most {most}",
                node.output
            )));
        }
        nodes.set(at);
        if node.first == HEAD {
            break;
        }
        at = node.first - 1;
    }
    if !targets.is_within(&nodes) {
        return Err(wrong("a transition that leads into the middle of a node"));
    }
    Ok(())
}

/// Reads the node at an address; `None` if it is invalid. Its targets are added to `targets`.
fn read(bytes: &[u8], at: usize, targets: &mut Addresses) -> Option<Node> {
    let mut back = Backwards {
        bytes: bytes.get(HEAD..=at)?,
    };
    let state = back.byte()?;
    if state >= 0b1000_0000 {
        if state & 0b0011_1111 == 0 {
            back.byte()?;
        }
        if state >= 0b1100_0000 {
            let first = back.first();
            targets.set(first.checked_sub(1).filter(|target| *target >= HEAD)?);
            return Some(Node { first, output: 0 });
        }
        let (size, output_size) = sizes(back.byte()?)?;
        let distance = back.take(size)?;
        let output = number(back.take(output_size)?);
        let first = back.first();
        add_targets(first, distance, size, targets)?;
        return Some(Node { first, output });
    }
    let count = match usize::from(state & 0b0011_1111) {
        0 => match usize::from(back.byte()?) {
            1 => 256,
            count => count,
        },
        count => count,
    };
    let (size, output_size) = sizes(back.byte()?)?;
    if count > WITHOUT_INDEX {
        back.take(256)?;
    }
    back.take(count)?;
    let distances = back.take(count * size)?;
    let outputs = back.take(count * output_size)?;
    let is_final = state & 0b0100_0000 != 0;
    let own = back.take(if is_final { output_size } else { 0 })?;
    let first = back.first();
    if count > 0 {
        add_targets(first, distances, size, targets)?;
    }
    let all = outputs.chunks_exact(output_size.max(1)).chain([own]);
    Some(Node {
        first,
        output: all.map(number).max().unwrap_or(0),
    })
}

/// Adds the addresses at these distances from the first byte of a node to `targets`; `None` if one
/// is before all nodes.
fn add_targets(first: usize, distances: &[u8], size: usize, targets: &mut Addresses) -> Option<()> {
    if size == 0 {
        return None;
    }
    for distance in distances
        .chunks_exact(size)
        .map(number)
        .filter(|distance| *distance != 0)
    {
        let target = first.checked_sub(usize::try_from(distance).ok()?);
        targets.set(target.filter(|target| *target >= HEAD)?);
    }
    Some(())
}

/// The sizes of an address and of an output in bytes.
fn sizes(byte: u8) -> Option<(usize, usize)> {
    let address = usize::from(byte >> 4);
    let output = usize::from(byte & 15);
    (address <= 8 && output <= 8).then_some((address, output))
}

/// Reads a little-endian number of at most 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Bytes that are read from the end.
struct Backwards<'b> {
    bytes: &'b [u8],
}

impl<'b> Backwards<'b> {
    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (rest, taken) = self
            .bytes
            .split_at_checked(self.bytes.len().checked_sub(count)?)?;
        self.bytes = rest;
        Some(taken)
    }

    /// The address of the first byte that was read.
    fn first(&self) -> usize {
        HEAD + self.bytes.len()
    }
}

/// A set of addresses.
struct Addresses(Vec<u64>);

impl Addresses {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn set(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    fn is_within(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .all(|(own, other)| own & !other == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fst::raw::{Builder, Fst};
    use fst::{IntoStreamer, Streamer};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn automaton(keys: &BTreeMap<Vec<u8>, u64>) -> Vec<u8> {
        let mut builder = Builder::memory();
        keys.iter()
            .for_each(|(key, value)| builder.insert(key, *value).expect("in order"));
        builder.into_inner().expect("in memory")
    }

    fn keys() -> impl Strategy<Value = BTreeMap<Vec<u8>, u64>> {
        let key = prop_oneof![
            "[a-c]{0,6}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..3),
        ];
        prop::collection::btree_map(key, 0u64..70_000, 0..80)
    }

    /// Looks up a text from every byte, and iterates over keys, as the scan does.
    fn look_up(bytes: &[u8], text: &[u8]) {
        let Ok(fst) = Fst::new(bytes) else { return };
        for from in 0..text.len() {
            let mut node = fst.root();
            let mut sum = 0u64;
            for byte in &text[from..] {
                let Some(at) = node.find_input(*byte) else {
                    break;
                };
                let transition = node.transition(at);
                sum += transition.out.value();
                node = fst.node(transition.addr);
                let _ = sum + node.final_output().value();
            }
        }
        let mut stream = fst.stream().into_stream();
        for _ in 0..1000 {
            if stream.next().is_none() {
                break;
            }
        }
    }

    #[test]
    fn automata_of_the_crate_are_valid() {
        let many: BTreeMap<Vec<u8>, u64> = (0..=255u8)
            .map(|byte| (vec![byte], u64::from(byte)))
            .collect();
        let some = (0..40u8).map(|byte| (vec![byte, b'x'], 7)).collect();
        for keys in [
            BTreeMap::new(),
            BTreeMap::from([(vec![], 0)]),
            BTreeMap::from([(vec![], 5)]),
            many,
            some,
        ] {
            check(&automaton(&keys), 255).expect("whole");
        }
        let keys = BTreeMap::from([(b"fever".to_vec(), 300)]);
        check(&automaton(&keys), 300).expect("whole");
        let message = check(&automaton(&keys), 299)
            .expect_err("an output is too large")
            .to_string();
        assert!(message.contains("an output of 300"), "{message}");
    }

    #[test]
    fn truncated_and_other_bytes_are_errors() {
        let whole = automaton(&BTreeMap::from([
            (b"chest pain".to_vec(), 1),
            (b"chest wall".to_vec(), 2),
        ]));
        for length in 0..whole.len() {
            assert!(check(&whole[..length], 9).is_err(), "cut at {length}");
        }
        assert!(check(&whole[1..], 9).is_err() && check(&[0; 100], 9).is_err());
        assert!(check(&[&whole[..], &[0; 8]].concat(), 9).is_err());
    }

    proptest! {
        #[test]
        fn automata_of_any_keys_are_valid(keys in keys()) {
            let most = keys.values().copied().max().unwrap_or(0);
            prop_assert!(check(&automaton(&keys), most).is_ok());
        }

        #[test]
        fn damaged_automata_are_errors_or_safe_to_use(
            keys in keys(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            text in prop_oneof!["[a-c]{0,12}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..12)],
        ) {
            let mut bytes = automaton(&keys);
            let length = bytes.len();
            damage
                .iter()
                .for_each(|(at, byte)| bytes[at.index(length)] = *byte);
            if check(&bytes, 70_000).is_ok() {
                look_up(&bytes, &text);
            }
        }
    }
}
