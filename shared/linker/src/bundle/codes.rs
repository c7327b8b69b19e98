//! The codes of a bundle's concepts: read, written, and given to a bundle that exists.

use super::manifest::WRITTEN_BY;
use super::{Bundle, Manifest, Parts, hierarchy, names};
use bytes::Bytes;
use pel_kb::codes::{CodeList, CodeTable, LOINC_NOTICE, System};
use pel_kb::container::Check;
use pel_kb::error::{Error, Result};
use pel_kb::hierarchy::HierarchyList;

/// The codes of a bundle, if its manifest lists them.
pub(super) fn read(
    manifest: &Manifest,
    parts: &Parts,
    concepts: usize,
) -> Result<Option<CodeTable>> {
    if !manifest.files.contains_key(names::CODES) {
        return Ok(None);
    }
    let codes = CodeTable::from_bytes(parts.get(names::CODES)?, Check::Trusted)?;
    if codes.concepts() != concepts {
        let found = codes.concepts();
        return Err(Error::artifact(format!(
            "expected codes of {concepts} concepts, found those of {found}"
        )));
    }
    Ok(Some(codes))
}

/// Puts codes in the place of those that a bundle has. An empty list leaves it without. The notice
/// of LOINC is there if a code of LOINC is.
pub(super) fn insert(parts: &mut Parts, list: &CodeList, concepts: usize) -> Result<()> {
    parts.0.remove(names::CODES);
    parts.0.remove(names::LOINC_NOTICE);
    if list.is_empty() {
        return Ok(());
    }
    let table = CodeTable::build(list, concepts)?;
    parts.0.insert(names::CODES.into(), table.into());
    if list.has(System::Loinc) {
        let notice = Bytes::from_static(LOINC_NOTICE.as_bytes());
        parts.0.insert(names::LOINC_NOTICE.into(), notice);
    }
    Ok(())
}

impl Bundle {
    /// The code systems that a user chose by prefix or name, in their order.
    ///
    /// # Errors
    /// If a system is unknown or stands twice, or the bundle has no codes.
    pub fn chosen_systems<T: AsRef<str>>(&self, names: &[T]) -> Result<Vec<System>> {
        let systems = System::chosen(names)?;
        self.check_codes()?;
        Ok(systems)
    }

    /// Checks that the bundle has codes.
    ///
    /// # Errors
    /// If it has none.
    pub fn check_codes(&self) -> Result<()> {
        match &self.codes {
            Some(_) => Ok(()),
            None => Err(Error::input(
                "expected a bundle with codes, found none; `pel update --codes FILE` gives it some",
            )),
        }
    }

    /// The files of the bundle with other codes or another hierarchy, and their manifest. Its other
    /// files stay as they are.
    ///
    /// # Errors
    /// If a code belongs to no concept, or a file cannot be encoded.
    pub fn with_codes(
        &self,
        list: Option<&CodeList>,
        parents: Option<&HierarchyList>,
    ) -> Result<(Parts, Manifest)> {
        let mut parts = self.parts.clone();
        if let Some(list) = list {
            insert(&mut parts, list, self.concepts.len())?;
        }
        if let Some(parents) = parents {
            hierarchy::insert(&mut parts, parents, self.concepts.len())?;
        }
        let manifest = Manifest {
            written_by: WRITTEN_BY.to_owned(),
            files: parts.file_infos(),
            ..self.manifest.clone()
        };
        let (manifest, written) = manifest.sealed()?;
        parts.0.insert(names::MANIFEST.into(), written.into());
        Ok((parts, manifest))
    }
}
