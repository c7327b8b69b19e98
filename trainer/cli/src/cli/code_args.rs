//! The options for codes of concepts in standard code systems.

use clap::Args;
use pel_artifacts::codes;
use pel_artifacts::codes::CodeFile;
use pel_io::terminal::counted;
use pel_kb::clean::escaped;
use pel_kb::codes::CodeList;
use pel_kb::error::Result;
use pel_kb::redirects::Redirect;
use pel_kb::{ConceptId, KnowledgeBase};
use std::path::{Path, PathBuf};

/// Tables of codes and their names.
#[derive(Debug, Args)]
pub struct CodeArgs {
    /// Table of codes in standard code systems: columns id, system, code and match (exact, broader,
    /// parts) between tabs, preferred codes first; may be gz, bz2, xz or zst
    #[arg(long, value_name = "FILE")]
    pub codes: Option<PathBuf>,
    /// Official names of the codes: tables with the columns system, code, display and, if known,
    /// billable (1 or 0) between tabs, or LOINC's own LOINC_NUM and LONG_COMMON_NAME
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "codes")]
    pub code_names: Vec<PathBuf>,
}

impl CodeArgs {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.codes
            .iter()
            .chain(&self.code_names)
            .map(PathBuf::as_path)
    }

    /// Reads the codes of a knowledge base. Those of a retired identifier are codes of its
    /// successor. `redirects` are in the order of identifiers.
    ///
    /// # Errors
    /// As [`CodeArgs::read`].
    pub fn read_for(&self, kb: &KnowledgeBase, redirects: &[Redirect]) -> Result<Option<CodeList>> {
        let successor = |id: &str| {
            let at = redirects.binary_search_by(|redirect| redirect.id.as_str().cmp(id));
            let redirect = at.ok().and_then(|at| redirects.get(at))?;
            kb.find(redirect.replaced_by.as_ref()?)
        };
        self.read(|id| Ok(kb.find(id).or_else(|| successor(id))))
    }

    /// Reads the codes, if there are any, and says which rows were left out. `find` finds the
    /// concept of an identifier.
    ///
    /// # Errors
    /// If a file cannot be read, or a line is wrong.
    pub fn read(
        &self,
        find: impl FnMut(&str) -> Result<Option<ConceptId>>,
    ) -> Result<Option<CodeList>> {
        let Some(path) = &self.codes else {
            return Ok(None);
        };
        let CodeFile {
            list,
            unknown,
            repeated,
        } = codes::read(path, &self.code_names, find)?;
        if let Some((rows, first)) = unknown {
            eprintln!(
                "{}",
                escaped(&format!(
                    "warning: --codes: {} left out: the knowledge base lacks their ids, the first \
                     of them {first}",
                    counted(rows, "row")
                ))
            );
        }
        if repeated > 0 {
            eprintln!(
                "warning: --codes: {} left out: a row before has the same code of the concept",
                counted(repeated, "row")
            );
        }
        Ok(Some(list))
    }
}
