//! Runs every target on its seeds and on mutated copies.

use pel_fuzzed::{Body, targets};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Mutated copies per seed.
const COPIES: u64 = 100;

fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            (
                path.clone(),
                std::fs::read(&path).expect("a seed can be read"),
            )
        })
        .collect()
}

/// A deterministic random generator.
struct Numbers(u64);

impl Numbers {
    /// A number below `end`, which must not be 0.
    fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// A copy with 1 to 4 mutations: bytes changed, removed, repeated or taken from another seed.
fn damaged(seed: &[u8], other: &[u8], number: u64) -> Vec<u8> {
    let (mut bytes, mut numbers) = (seed.to_vec(), Numbers(number));
    for _ in 0..=numbers.below(4) {
        let length = bytes.len();
        let at = numbers.below(length + 1);
        let end = (at + numbers.below(16)).min(length);
        match numbers.below(6) {
            0 if at < length => bytes[at] ^= 1 << numbers.below(8),
            1 if at < length => bytes[at] = [0, 9, 10, 34, 92, 0x7f, 0x80, 0xff][numbers.below(8)],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let from = numbers.below(other.len() + 1);
                let piece = &other[from..other.len().min(from + 64)];
                bytes.splice(at..end, piece.iter().copied());
            }
        }
    }
    bytes
}

/// Runs a target. If it panics, saves the input and panics with its path.
fn run(name: &str, body: Body, input: &[u8], what: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(input))) {
        let kept = std::env::temp_dir().join(format!("pel-fuzzed-{name}"));
        let kept = std::fs::write(&kept, input)
            .map_or_else(|error| error.to_string(), |()| kept.display().to_string());
        let message = panic.downcast_ref::<String>().cloned();
        let message = message
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default();
        panic!("{name}: {what}: {message} (the input: {kept})");
    }
}

fn replay(name: &str) {
    let (_, body) = targets()
        .into_iter()
        .find(|(target, _)| *target == name)
        .expect("a target of that name");
    let seeds = seeds(name);
    for (at, (path, seed)) in seeds.iter().enumerate() {
        run(name, body, seed, &path.display().to_string());
        let other = &seeds[(at + 1) % seeds.len()].1;
        for number in 0..COPIES {
            let what = || format!("copy {number} of {}", path.display());
            run(
                name,
                body,
                &damaged(seed, other, number * 1_000 + at as u64),
                &what(),
            );
        }
    }
}

/// Declares a test per target, so that they run in parallel.
macro_rules! replays {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_has_a_test_and_a_program() {
            let mut tested = [$(stringify!($name)),*];
            tested.sort();
            let mut all: Vec<&str> = targets().iter().map(|(name, _)| *name).collect();
            all.sort();
            assert_eq!(all, tested);
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/fuzz_targets");
            let mut programs: Vec<String> = std::fs::read_dir(folder)
                .expect("the programs are there")
                .map(|entry| entry.expect("listed").path())
                .filter_map(|path| path.file_stem().map(|name| name.display().to_string()))
                .collect();
            programs.sort();
            assert_eq!(programs, tested);
        }
    };
}

replays! {
    archive bioc brat bundle candidates codes compressed concepts config container context corpus
    delimited detector dictionary documents docx fhir hierarchy http icd10cm index loinc manifest mesh note
    notes obo obograph owl parquet pdf pubtator redirects rxnorm settings snomed spans sssom
    tokenizer torch umls weights
}
