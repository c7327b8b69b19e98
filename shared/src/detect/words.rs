//! Ordinary words, from two lists that are part of the source.

use std::collections::HashSet;

/// Ordinary words.
pub(super) struct Words {
    pub stopped: HashSet<&'static str>,
    pub ordinary: HashSet<&'static str>,
}

impl Words {
    pub fn new() -> Self {
        Self { stopped: lines(include_str!("stopped.txt")), ordinary: lines(include_str!("ordinary.txt")) }
    }
}

fn lines(list: &'static str) -> HashSet<&'static str> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}
