//! Checks the bytes of an automaton before the `fst` crate walks on them: the crate trusts its bytes, and panics or goes round in
//! circles on others.
//!
//! The crate's form (its version 3), lowest address first: a version and a type of 8 bytes each, the nodes, the number of keys and
//! the address of the root of 8 bytes each, a checksum of 4. A node is read backwards from its address, which is that of its last
//! byte:
//!
//! ```text
//! 11 iiiiii   one transition, to the node before this one; iiiiii is its input, or 0 and a byte before
//! 10 iiiiii   one transition: input as above, sizes, address, output
//! 0f nnnnnn   n transitions; 0 and a byte before, 1 there for 256; f: a key ends here. Sizes, an index of 256 bytes if there are
//!             more than 32, inputs, addresses, outputs, the output of the key
//! ```
//!
//! Sizes are the bytes of an address, in the upper half of a byte, and of an output, in the lower. An address is told by the distance
//! from the first byte of the node, 0 for the end without a node. Nodes stand one after the other.

use crate::error::{Error, Result};

const HEAD: usize = 16;
const TAIL: usize = 20;
const VERSION: u64 = 3;
/// More transitions have an index.
const WITHOUT_INDEX: usize = 32;

/// What there is to know of a node.
struct Node {
    /// Its first byte.
    first: usize,
    /// The largest output.
    output: u64,
}

/// Checks that every node is whole, that transitions lead to nodes before their own, and that no output is above `most`: whatever
/// text is looked up, the walk ends and stays inside, and outputs add up without an overflow.
///
/// # Errors
/// If it is no automaton, of another version, cut short, or damaged.
pub(super) fn check(bytes: &[u8], most: u64) -> Result<()> {
    let wrong = |what: &str| Error::artifact(format!("expected an automaton of version {VERSION}, found {what}"));
    if bytes.len() < HEAD + TAIL {
        return Err(wrong(&format!("{} bytes", bytes.len())));
    }
    let version = number(bytes.get(..8).unwrap_or_default());
    if version != VERSION {
        return Err(wrong(&format!("version {version}")));
    }
    // A walk adds up one output a node; this many of them are no overflow.
    if (bytes.len() as u64).checked_mul(most.max(1)).is_none() {
        return Err(wrong(&format!("{} bytes, with outputs up to {most}", bytes.len())));
    }
    let end = bytes.len() - TAIL;
    let root = number(bytes.get(end + 8..end + 16).unwrap_or_default());
    if root == 0 {
        // Nothing, or the empty key alone.
        return if end == HEAD { Ok(()) } else { Err(wrong("nodes without a root")) };
    }
    if end == HEAD || root != end as u64 - 1 {
        return Err(wrong("a root that is not its last node"));
    }
    let (mut nodes, mut wanted) = (Places::new(end), Places::new(end));
    let mut at = end - 1;
    loop {
        let node =
            read(bytes, at, &mut wanted).ok_or_else(|| wrong(&format!("a node that is damaged, at byte {at}")))?;
        if node.output > most {
            return Err(wrong(&format!("an output of {} at byte {at}, expected at most {most}", node.output)));
        }
        nodes.set(at);
        if node.first == HEAD {
            break;
        }
        at = node.first - 1;
    }
    match wanted.is_within(&nodes) {
        true => Ok(()),
        false => Err(wrong("a transition that leads into the middle of a node")),
    }
}

/// The node whose last byte is at an address; nothing if it is not whole. The addresses that it leads to are put among the wanted
/// ones.
fn read(bytes: &[u8], at: usize, wanted: &mut Places) -> Option<Node> {
    let mut back = Backwards { bytes: bytes.get(HEAD..=at)? };
    let state = back.byte()?;
    if state >= 0b1000_0000 {
        if state & 0b0011_1111 == 0 {
            back.byte()?;
        }
        if state >= 0b1100_0000 {
            let first = back.first();
            wanted.set(first.checked_sub(1).filter(|target| *target >= HEAD)?);
            return Some(Node { first, output: 0 });
        }
        let (size, output_size) = sizes(back.byte()?)?;
        let distance = back.take(size)?;
        let output = number(back.take(output_size)?);
        let first = back.first();
        want(first, distance, size, wanted)?;
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
        want(first, distances, size, wanted)?;
    }
    let all = outputs.chunks_exact(output_size.max(1)).chain([own]);
    Some(Node { first, output: all.map(number).max().unwrap_or(0) })
}

/// Puts the addresses at these distances from the first byte of a node among the wanted ones; nothing if one lies before all nodes.
fn want(first: usize, distances: &[u8], size: usize, wanted: &mut Places) -> Option<()> {
    if size == 0 {
        return None;
    }
    for distance in distances.chunks_exact(size).map(number).filter(|distance| *distance != 0) {
        let target = first.checked_sub(usize::try_from(distance).ok()?);
        wanted.set(target.filter(|target| *target >= HEAD)?);
    }
    Some(())
}

/// The bytes of an address and of an output.
fn sizes(byte: u8) -> Option<(usize, usize)> {
    let (address, output) = (usize::from(byte >> 4), usize::from(byte & 15));
    (address <= 8 && output <= 8).then_some((address, output))
}

/// A number of at most 8 bytes, the lowest first.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Bytes that are taken from their end.
struct Backwards<'b> {
    bytes: &'b [u8],
}

impl<'b> Backwards<'b> {
    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (rest, taken) = self.bytes.split_at_checked(self.bytes.len().checked_sub(count)?)?;
        self.bytes = rest;
        Some(taken)
    }

    /// The address of the first byte that was taken.
    fn first(&self) -> usize {
        HEAD + self.bytes.len()
    }
}

/// A set of addresses.
struct Places(Vec<u64>);

impl Places {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn set(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
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
        keys.iter().for_each(|(key, value)| builder.insert(key, *value).expect("in order"));
        builder.into_inner().expect("in memory")
    }

    fn keys() -> impl Strategy<Value = BTreeMap<Vec<u8>, u64>> {
        let key = prop_oneof!["[a-c]{0,6}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..3),];
        prop::collection::btree_map(key, 0u64..70_000, 0..80)
    }

    /// Looks a text up in every way that the scan does: from the root, byte by byte, and all keys.
    fn walk(bytes: &[u8], text: &[u8]) {
        let Ok(fst) = Fst::new(bytes) else { return };
        for from in 0..text.len() {
            let (mut node, mut sum) = (fst.root(), 0u64);
            for byte in &text[from..] {
                let Some(at) = node.find_input(*byte) else { break };
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
    fn what_the_crate_builds_is_whole() {
        let many: BTreeMap<Vec<u8>, u64> = (0..=255u8).map(|byte| (vec![byte], u64::from(byte))).collect();
        let some = (0..40u8).map(|byte| (vec![byte, b'x'], 7)).collect();
        for keys in [BTreeMap::new(), BTreeMap::from([(vec![], 0)]), BTreeMap::from([(vec![], 5)]), many, some] {
            check(&automaton(&keys), 255).expect("whole");
        }
        let keys = BTreeMap::from([(b"fever".to_vec(), 300)]);
        check(&automaton(&keys), 300).expect("whole");
        let said = check(&automaton(&keys), 299).expect_err("an output too large").to_string();
        assert!(said.contains("an output of 300"), "{said}");
    }

    #[test]
    fn what_is_cut_or_something_else_is_refused() {
        let whole = automaton(&BTreeMap::from([(b"chest pain".to_vec(), 1), (b"chest wall".to_vec(), 2)]));
        for length in 0..whole.len() {
            assert!(check(&whole[..length], 9).is_err(), "cut at {length}");
        }
        assert!(check(&whole[1..], 9).is_err() && check(&[0; 100], 9).is_err());
        assert!(check(&[&whole[..], &[0; 8]].concat(), 9).is_err());
    }

    proptest! {
        #[test]
        fn any_keys_make_a_whole_one(keys in keys()) {
            let most = keys.values().copied().max().unwrap_or(0);
            prop_assert!(check(&automaton(&keys), most).is_ok());
        }

        #[test]
        fn a_damaged_one_is_refused_or_walked_on_without_a_panic(
            keys in keys(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            text in prop_oneof!["[a-c]{0,12}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..12)],
        ) {
            let mut bytes = automaton(&keys);
            let length = bytes.len();
            damage.iter().for_each(|(at, byte)| bytes[at.index(length)] = *byte);
            if check(&bytes, 70_000).is_ok() {
                walk(&bytes, &text);
            }
        }
    }
}
