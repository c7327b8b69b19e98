//! Codes of concepts before they are written.

use super::{Match, System};
use crate::ConceptId;
use std::collections::{HashMap, HashSet};

/// The codes of concepts, with the names of the codes.
#[derive(Clone, Debug, Default)]
pub struct CodeList {
    pub(super) rows: Vec<Row>,
    pub(super) names: HashMap<(System, String), Name>,
    seen: HashSet<(ConceptId, System, String)>,
}

/// A code of a concept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub concept: ConceptId,
    pub system: System,
    pub code: String,
    pub matches: Match,
}

/// What is known of a code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The official name; empty if there is none.
    pub display: String,
    /// Whether the code may be billed, if the system says so.
    pub billable: Option<bool>,
}

impl CodeList {
    /// No codes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of codes of all concepts.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no concept has a code.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a code after those that its concept has. Returns whether the concept lacked it.
    pub fn push(&mut self, concept: ConceptId, system: System, code: &str, matches: Match) -> bool {
        let code = code.to_owned();
        let is_new = self.seen.insert((concept, system, code.clone()));
        if is_new {
            self.rows.push(Row {
                concept,
                system,
                code,
                matches,
            });
        }
        is_new
    }

    /// Sets the name of a code.
    pub fn set_name(&mut self, system: System, code: &str, name: Name) {
        self.names.insert((system, code.to_owned()), name);
    }

    /// Whether a code of a system is in the list.
    pub fn has(&self, system: System) -> bool {
        self.rows.iter().any(|row| row.system == system)
    }
}
