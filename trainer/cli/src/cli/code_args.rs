//! The options for codes of concepts in standard code systems.

use clap::Args;
use pel_artifacts::codes;
use pel_artifacts::codes::{CodeFile, HierarchyFile};
use pel_io::terminal::counted;
use pel_kb::clean::escaped;
use pel_kb::codes::CodeList;
use pel_kb::error::{Error, Result};
use pel_kb::hierarchy::HierarchyList;
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
    /// Official names of the codes and of the hierarchy's nodes: tables with the columns system, code,
    /// display and, if known, billable (1 or 0) between tabs, or LOINC's own LOINC_NUM and
    /// LONG_COMMON_NAME
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub code_names: Vec<PathBuf>,
    /// Is-a between the concepts and codes of standard systems: a table with the columns child and
    /// parent between tabs, each the identifier of a concept or a code such as ICD10CM:E08-E13, as
    /// hierarchy.tsv of `pel import --hierarchy` (may be gz, bz2, xz or zst)
    #[arg(long, value_name = "FILE")]
    pub hierarchy: Option<PathBuf>,
}

impl CodeArgs {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.codes
            .iter()
            .chain(&self.code_names)
            .chain(&self.hierarchy)
            .map(PathBuf::as_path)
    }

    /// Reads the codes of a knowledge base. Those of a retired identifier are codes of its
    /// successor. `redirects` are in the order of identifiers.
    ///
    /// # Errors
    /// As [`CodeArgs::read`].
    pub fn read_for(&self, kb: &KnowledgeBase, redirects: &[Redirect]) -> Result<Option<CodeList>> {
        self.read(|id| Ok(find(kb, redirects, id)))
    }

    /// As [`CodeArgs::read_for`], for the hierarchy.
    ///
    /// # Errors
    /// As [`CodeArgs::read_hierarchy`].
    pub fn read_hierarchy_for(
        &self,
        kb: &KnowledgeBase,
        redirects: &[Redirect],
    ) -> Result<Option<HierarchyList>> {
        self.read_hierarchy(|id| Ok(find(kb, redirects, id)))
    }

    /// Reads the hierarchy, if it is given, and says which rows were left out. `find` finds the
    /// concept of an identifier.
    ///
    /// # Errors
    /// If the file cannot be read, a line is wrong, or there is a circle.
    pub fn read_hierarchy(
        &self,
        find: impl FnMut(&str) -> Result<Option<ConceptId>>,
    ) -> Result<Option<HierarchyList>> {
        let Some(path) = &self.hierarchy else {
            return Ok(None);
        };
        let HierarchyFile { list, unknown } = codes::read_hierarchy(path, &self.code_names, find)?;
        if let Some((rows, first)) = unknown {
            eprintln!(
                "{}",
                escaped(&format!(
                    "warning: --hierarchy: {} left out: an identifier is neither a concept nor a \
                     code of a known system, the first of them {first}",
                    counted(rows, "row")
                ))
            );
        }
        Ok(Some(list))
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
        if self.codes.is_none() && self.hierarchy.is_none() && !self.code_names.is_empty() {
            return Err(Error::usage(
                "--code-names: expected --codes or --hierarchy with it, found neither",
            ));
        }
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

/// The concept of an identifier, or the successor of a retired one. `redirects` are in the order of
/// identifiers.
fn find(kb: &KnowledgeBase, redirects: &[Redirect], id: &str) -> Option<ConceptId> {
    let successor = || {
        let at = redirects.binary_search_by(|redirect| redirect.id.as_str().cmp(id));
        let redirect = at.ok().and_then(|at| redirects.get(at))?;
        kb.find(redirect.replaced_by.as_ref()?)
    };
    kb.find(id).or_else(successor)
}
