//! The instruction sets that a test runs, without those that the processor lacks. A kernel falls
//! back from such a set to another one, so its test would repeat that one.
//!
//! Each kernel is reported once: on standard error, and as a line of the file that the environment
//! variable `PEL_TESTED_SETS` names. `./check` prints these lines after the tests.

use super::Isa;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;

static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The sets of a kernel that this processor has.
pub fn supported_sets(kernel: &str, sets: &[Isa]) -> Vec<Isa> {
    let (here, lacking) = parted(sets, Isa::is_supported);
    tell(&words(kernel, &here, &lacking));
    here
}

fn parted(sets: &[Isa], is_supported: impl Fn(Isa) -> bool) -> (Vec<Isa>, Vec<Isa>) {
    sets.iter().partition(|set| is_supported(**set))
}

fn words(kernel: &str, here: &[Isa], lacking: &[Isa]) -> String {
    let list = |sets: &[Isa]| {
        sets.iter()
            .map(|set| format!("{set:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match lacking.is_empty() {
        true => format!("{kernel}: ran {}; none was left out", list(here)),
        false => {
            format!(
                "{kernel}: ran {}; NOT TESTED, because this processor lacks them: {}",
                list(here),
                list(lacking)
            )
        }
    }
}

fn tell(line: &str) {
    let mut told = TOLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !told.insert(line.to_owned()) {
        return;
    }
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("PEL_TESTED_SETS") {
        // One write of a short line: other test processes write there too.
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .expect("the file can be written");
    }
}

#[test]
fn unsupported_sets_are_left_out_and_reported() {
    let (ran, lacking) = parted(&[Isa::Base, Isa::Avx2, Isa::Amx], |set| set != Isa::Avx2);
    assert_eq!(
        (&ran[..], &lacking[..]),
        (&[Isa::Base, Isa::Amx][..], &[Isa::Avx2][..])
    );
    assert_eq!(
        words("a", &ran, &lacking),
        "a: ran Base, Amx; NOT TESTED, because this processor lacks them: Avx2"
    );
    assert_eq!(words("a", &ran, &[]), "a: ran Base, Amx; none was left out");
    // The plain set is on every processor.
    assert!(supported_sets("rows", Isa::LANES).contains(&Isa::Base));
    let told = TOLD.lock().expect("no test has failed with it");
    assert!(
        told.iter().any(|line| line.starts_with("rows: ran Base")),
        "{told:?}"
    );
}
