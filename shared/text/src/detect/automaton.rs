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

use pel_kb::error::{Error, Result};
use pel_kernels::{for_each_chunk, threads};

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
    check_in_parts(bytes, most, threads().min(MOST_PARTS), LEAST_PART)
}

/// As [`check`], in at most `count` parts of about `least` bytes or more.
fn check_in_parts(bytes: &[u8], most: u64, count: usize, least: usize) -> Result<()> {
    let wrong = |what: &str| {
        Error::artifact(format!(
            "expected an automaton of version {VERSION}, found {what}"
        ))
    };
    if bytes.len() < HEAD + TAIL {
        return Err(wrong(&format!("{} bytes", bytes.len())));
    }
    let version = number_at(bytes, 0, 8).unwrap_or_default();
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
    let root = number_at(bytes, end + 8, 8).unwrap_or_default();
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
    let roots = targets_of_root(bytes, root as usize).ok_or_else(|| wrong("a damaged root"))?;
    let parts = parts(&roots, root as usize, count.min(end / least));
    let checked = for_each_chunk(&parts, 1, |_, part| {
        part.iter()
            .map(|part| part.check(bytes, most))
            .collect::<std::result::Result<Vec<_>, _>>()
    });
    let mut nodes = Addresses::new(end);
    let mut targets = Addresses::new(end);
    for part in checked {
        for of_part in part.map_err(|what| wrong(&what))? {
            nodes.add(&of_part.nodes);
            targets.add(&of_part.targets);
        }
    }
    if !targets.is_within(&nodes) {
        return Err(wrong(MIDDLE));
    }
    Ok(())
}

const MIDDLE: &str = "a transition that leads into the middle of a node";

/// The most parts that are checked at the same time: each has sets of addresses of its own.
const MOST_PARTS: usize = 4;
/// The least bytes of a part.
const LEAST_PART: usize = 1 << 20;

/// Adjacent nodes: the last one is at `last`, the first one follows the node at `before`, or all
/// nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    before: Option<usize>,
    last: usize,
}

/// The addresses of a part's nodes, and those that its transitions lead to.
struct Checked {
    nodes: Addresses,
    targets: Addresses,
}

/// Parts of nearly equal size, in ascending order. Each ends at a node that the root leads to.
fn parts(roots: &[usize], root: usize, count: usize) -> Vec<Part> {
    let wanted = (1..count).map(|part| HEAD + (root - HEAD) / count * part);
    let mut ends: Vec<usize> = wanted
        .filter_map(|at| roots.iter().copied().min_by_key(|end| end.abs_diff(at)))
        .chain([root])
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let before = std::iter::once(None).chain(ends.iter().copied().map(Some));
    ends.iter()
        .zip(before)
        .map(|(last, before)| Part {
            before,
            last: *last,
        })
        .collect()
}

/// The nodes that the root leads to; `None` if it is invalid.
fn targets_of_root(bytes: &[u8], root: usize) -> Option<Vec<usize>> {
    let mut targets = Vec::new();
    if following(bytes, root).is_none() {
        read(bytes, root, |target| targets.push(target))?;
    }
    Some(targets)
}

impl Part {
    /// Checks each node, from the last to the first.
    ///
    /// # Errors
    /// What was found, if a node is invalid.
    fn check(&self, bytes: &[u8], most: u64) -> std::result::Result<Checked, String> {
        let mut nodes = Addresses::new(self.last + 1);
        let mut targets = Addresses::new(self.last + 1);
        let mut at = self.last;
        loop {
            let node = match following(bytes, at) {
                Some(node) => Some(node),
                None => read(bytes, at, |target| targets.set(target)),
            };
            let node = node.ok_or_else(|| format!("a node that is damaged, at byte {at}"))?;
            if node.output > most {
                return Err(format!(
                    "an output of {} at byte {at}, expected at most {most}",
                    node.output
                ));
            }
            nodes.set(at);
            // The last byte of the preceding node; `None` before the first of all.
            let preceding = Some(node.first - 1).filter(|at| *at >= HEAD);
            match preceding {
                _ if preceding == self.before => return Ok(Checked { nodes, targets }),
                Some(preceding) if Some(preceding) > self.before => at = preceding,
                _ => return Err(MIDDLE.to_owned()),
            }
        }
    }
}

/// The node at an address, if its one transition leads to the preceding node, which is read next:
/// most nodes of an automaton of names are such.
fn following(bytes: &[u8], at: usize) -> Option<Node> {
    let state = *bytes.get(at)?;
    let first = at - usize::from(state & 0b0011_1111 == 0);
    (state >= 0b1100_0000 && first > HEAD).then_some(Node { first, output: 0 })
}

/// Reads the node at an address, if it is none of [`following`]; `None` if it is invalid. Calls
/// `take` with the nodes that it leads to.
fn read(bytes: &[u8], at: usize, take: impl FnMut(usize)) -> Option<Node> {
    let mut back = Backwards {
        bytes,
        first: at + 1,
    };
    let state = back.byte()?;
    if state >= 0b1100_0000 {
        return None;
    }
    if state >= 0b1000_0000 {
        if state & 0b0011_1111 == 0 {
            back.byte()?;
        }
        let (size, output_size) = sizes(back.byte()?)?;
        let distance = back.skip(size)?;
        let output = number_at(bytes, back.skip(output_size)?, output_size)?;
        let first = back.first;
        take_targets(bytes, distance, 1, size, first, take)?;
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
        back.skip(256)?;
    }
    back.skip(count)?;
    let distances = back.skip(count * size)?;
    let outputs = back.skip(count * output_size)?;
    let is_final = state & 0b0100_0000 != 0;
    let own = back.skip(if is_final { output_size } else { 0 })?;
    let first = back.first;
    if count > 0 {
        take_targets(bytes, distances, count, size, first, take)?;
    }
    let mut output = if is_final {
        number_at(bytes, own, output_size)?
    } else {
        0
    };
    if output_size > 0 {
        for at in 0..count {
            output = output.max(number_at(bytes, outputs + at * output_size, output_size)?);
        }
    }
    Some(Node { first, output })
}

/// Calls `take` with the addresses at `count` distances from the first byte of a node; `None` if one
/// is before all nodes. The distances have `size` bytes each, from `from` on.
fn take_targets(
    bytes: &[u8],
    from: usize,
    count: usize,
    size: usize,
    first: usize,
    mut take: impl FnMut(usize),
) -> Option<()> {
    if size == 0 {
        return None;
    }
    for at in 0..count {
        let distance = number_at(bytes, from + at * size, size)?;
        if distance != 0 {
            let target = first.checked_sub(usize::try_from(distance).ok()?);
            take(target.filter(|target| *target >= HEAD)?);
        }
    }
    Some(())
}

/// The sizes of an address and of an output in bytes.
fn sizes(byte: u8) -> Option<(usize, usize)> {
    let address = usize::from(byte >> 4);
    let output = usize::from(byte & 15);
    (address <= 8 && output <= 8).then_some((address, output))
}

/// The little-endian number of `size` bytes at a place, at most 8. After the nodes there are always
/// as many.
fn number_at(bytes: &[u8], from: usize, size: usize) -> Option<u64> {
    let eight = bytes.get(from..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*eight) & MASKS.get(size)?)
}

/// The bits of a number of so many bytes.
const MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut size = 0;
    while size < 8 {
        masks[size] = (1 << (8 * size)) - 1;
        size += 1;
    }
    masks
};

/// Reads bytes from the end.
struct Backwards<'b> {
    bytes: &'b [u8],
    /// The first byte that was read.
    first: usize,
}

impl Backwards<'_> {
    fn byte(&mut self) -> Option<u8> {
        let at = self.skip(1)?;
        self.bytes.get(at).copied()
    }

    /// Skips bytes, and returns the first of them; `None` if there are not so many.
    fn skip(&mut self, count: usize) -> Option<usize> {
        self.first = self
            .first
            .checked_sub(count)
            .filter(|first| *first >= HEAD)?;
        Some(self.first)
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

    fn add(&mut self, other: &Self) {
        let both = self.0.iter_mut().zip(&other.0);
        both.for_each(|(own, other)| *own |= other);
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
        fn parts_of_an_automaton_are_adjacent(keys in keys(), count in 2usize..5) {
            let bytes = automaton(&keys);
            let root = bytes.len() - TAIL - 1;
            prop_assume!(root >= HEAD);
            let parts = parts(&targets_of_root(&bytes, root).expect("whole"), root, count);
            prop_assert!(parts.len() <= count);
            let mut before = None;
            for part in &parts {
                prop_assert_eq!(part.before, before);
                prop_assert!(part.check(&bytes, 70_000).is_ok());
                before = Some(part.last);
            }
            prop_assert_eq!(before, Some(root));
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
            let checked = check(&bytes, 70_000);
            for count in 2..5 {
                prop_assert_eq!(check_in_parts(&bytes, 70_000, count, 1).is_ok(), checked.is_ok());
            }
            if checked.is_ok() {
                look_up(&bytes, &text);
            }
        }
    }
}
