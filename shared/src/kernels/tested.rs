//! Which instruction sets a test runs, and which it leaves out because the processor lacks them: a kernel that is asked for such a set falls
//! back to another one, and a test of it would test that one again.
//!
//! Each kernel is told once: on standard error, and as a line of the file that the environment variable `PEL_TESTED_SETS` names. `./check`
//! prints these lines after the tests.

use super::Isa;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;

static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Of the sets that a kernel knows, those of this processor.
pub fn here<T: Copy + Debug>(kernel: &str, all: &[T], is_here: impl Fn(T) -> bool) -> Vec<T> {
    let (here, lacking) = parted(all, is_here);
    tell(&words(kernel, &here, &lacking));
    here
}

fn parted<T: Copy>(all: &[T], is_here: impl Fn(T) -> bool) -> (Vec<T>, Vec<T>) {
    all.iter().partition(|set| is_here(**set))
}

fn words<T: Debug>(kernel: &str, here: &[T], lacking: &[T]) -> String {
    let list = |sets: &[T]| sets.iter().map(|set| format!("{set:?}")).collect::<Vec<_>>().join(", ");
    match lacking.is_empty() {
        true => format!("{kernel}: ran {}; none was left out", list(here)),
        false => format!("{kernel}: ran {}; NOT TESTED, for this processor lacks them: {}", list(here), list(lacking)),
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
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).expect("the file can be written");
    }
}

#[test]
fn what_the_processor_lacks_is_left_out_and_told() {
    let (ran, lacking) = parted(&[1, 2, 3], |set| set != 2);
    assert_eq!((&ran[..], &lacking[..]), (&[1, 3][..], &[2][..]));
    assert_eq!(words("a", &ran, &lacking), "a: ran 1, 3; NOT TESTED, for this processor lacks them: 2");
    assert_eq!(words("a", &ran, &[]), "a: ran 1, 3; none was left out");
    // The plain set is on every processor.
    assert!(here("rows", &Isa::ALL, Isa::is_here).contains(&Isa::Base));
    let told = TOLD.lock().expect("no test has failed with it");
    assert!(told.iter().any(|line| line.starts_with("rows: ran Base")), "{told:?}");
}
