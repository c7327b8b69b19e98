//! Two versions of a knowledge base, as bundles or concept tables, and their differences.

use crate::bundles;
use crate::concept_table;
use pel_io::interrupt;
use pel_io::text_encoding::TextEncoding;
use pel_kb::changes::{ById, Change, ChangeCounts, Pair, Retired, change, pairs};
use pel_kb::error::Result;
use pel_kb::redirects::{RETIRED, Redirect, RedirectList, Redirects, to_bytes};
use pel_kb::{ConceptId, KnowledgeBase};
use pel_linker::bundle::{Bundle, ConceptOrigin};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The first bytes of a bundle that is one file.
const ONE_FILE: &[u8] = b"PELBUNDL";

/// A version of a knowledge base.
pub enum Version {
    /// A concept table.
    Table(KnowledgeBase),
    /// A bundle.
    Bundle(Box<Bundle>),
}

impl Version {
    /// Reads a version: a bundle, if the path is a folder or a file that begins like one, else a
    /// concept table.
    ///
    /// # Errors
    /// If it cannot be read, or a bundle is damaged.
    pub fn read(path: &Path, encoding: &TextEncoding) -> Result<Self> {
        Ok(match path.is_dir() || begins_like_bundle(path) {
            true => Self::Bundle(Box::new(bundles::open(path)?)),
            false => Self::Table(concept_table::read_in(path, encoding)?.kb),
        })
    }

    /// Whether it has a concept with this identifier.
    ///
    /// # Errors
    /// If a record is damaged.
    pub fn has(&self, id: &str) -> Result<bool> {
        Ok(match self {
            Self::Table(kb) => kb.find(id).is_some(),
            Self::Bundle(bundle) => bundle.concepts.find(id)?.is_some(),
        })
    }

    /// Its retired identifiers.
    pub fn redirects(&self) -> Option<&Redirects> {
        match self {
            Self::Table(kb) => kb.redirects(),
            Self::Bundle(bundle) => bundle.redirects.as_ref(),
        }
    }

    /// Its concepts, in the order of their identifiers.
    pub fn by_id(&self) -> ById<'_> {
        match self {
            Self::Table(kb) => kb.by_id(),
            Self::Bundle(bundle) => bundle.concepts.by_id(),
        }
    }
}

fn begins_like_bundle(path: &Path) -> bool {
    let mut head = [0; ONE_FILE.len()];
    path.is_file()
        && File::open(path)
            .and_then(|mut file| file.read_exact(&mut head))
            .is_ok()
        && head == ONE_FILE
}

/// Calls `each` with every difference between two versions, in the order of identifiers. Returns
/// their numbers.
///
/// # Errors
/// If a record is damaged, `each` fails, or the user interrupts.
pub fn compare(
    old: &Version,
    new: &Version,
    redirects: Option<&Redirects>,
    mut each: impl FnMut(Change) -> Result<()>,
) -> Result<ChangeCounts> {
    let mut counts = ChangeCounts::default();
    pairs(old.by_id(), new.by_id(), |pair| {
        interrupt::check()?;
        let redirect = |id: &str| redirects.map_or(Ok(None), |redirects| redirects.find(id));
        match change(&pair, redirect, |id| old.has(id))? {
            None => counts.unchanged += 1,
            Some(change) => {
                counts.count(&change);
                each(change)?;
            }
        }
        Ok(())
    })?;
    Ok(counts)
}

/// The concepts of a bundle and of a new version, matched by identifier.
pub struct Matched {
    /// The origin of each concept of the new version.
    pub origins: Vec<ConceptOrigin>,
    /// The concepts that only the old version has.
    pub retired: Vec<ConceptId>,
    /// Every difference, in the order of identifiers.
    pub changes: Vec<Change>,
    /// Their numbers.
    pub counts: ChangeCounts,
    /// The redirects of the new version.
    pub redirects: UpdatedRedirects,
}

impl Matched {
    /// Matches the concepts of a bundle and a new version. `given` are redirects to the new
    /// version.
    ///
    /// # Errors
    /// If a record is damaged, or the user interrupts; as [`RedirectList::resolved`].
    pub fn of(old: &Bundle, new: &KnowledgeBase, given: RedirectList) -> Result<Self> {
        let mut origins = vec![ConceptOrigin::New; new.len()];
        let (mut retired, mut changes) = (Vec::new(), Vec::new());
        let mut counts = ChangeCounts::default();
        pairs(old.concepts.by_id(), new.by_id(), |pair| {
            interrupt::check()?;
            match &pair {
                Pair::New(..) => {}
                Pair::Old(at, _) => retired.push(*at),
                Pair::Both {
                    old,
                    new: (at, concept),
                } => origins[at.index()] = ConceptOrigin::of(*old, concept),
            }
            // Successors are known when all retired concepts are.
            match change(&pair, |_| Ok(None), |_| Ok(false))? {
                None => counts.unchanged += 1,
                Some(change) => changes.push(change),
            }
            Ok(())
        })?;
        let redirects = UpdatedRedirects::of(old, &changes, given, new)?;
        for change in &mut changes {
            if let Change::Retired(retired) = change {
                let own = redirects.find(&retired.id);
                retired.reason = own.map(|redirect| redirect.reason.clone());
                retired.replaced_by = own.and_then(|redirect| redirect.replaced_by.clone());
                retired.merged = match &retired.replaced_by {
                    None => false,
                    Some(successor) => old.concepts.find(successor)?.is_some(),
                };
            }
            counts.count(change);
        }
        Ok(Self {
            origins,
            retired,
            changes,
            counts,
            redirects,
        })
    }
}

/// The redirects of an updated bundle.
#[derive(Debug, Default)]
pub struct UpdatedRedirects {
    /// All of them, resolved.
    pub all: Vec<Redirect>,
    /// The number of identifiers that the given file lists.
    pub given: usize,
    /// The number of identifiers of the old bundle that stay.
    pub kept: usize,
    /// The retired concepts that no file lists: they have no successor.
    pub unlisted: Vec<String>,
    /// The number of identifiers of the old bundle that are concepts again.
    pub restored: usize,
}

impl UpdatedRedirects {
    /// Joins given redirects, those of the old bundle and concepts that the new version lacks. A
    /// given redirect replaces an older one of the same identifier.
    fn of(
        old: &Bundle,
        changes: &[Change],
        given: RedirectList,
        new: &KnowledgeBase,
    ) -> Result<Self> {
        let mut updated = Self {
            given: given.len(),
            ..Self::default()
        };
        let mut further = Vec::new();
        let listed = given.ids();
        for redirect in old.redirects.iter().flat_map(Redirects::iter) {
            let redirect = redirect?;
            if new.find(&redirect.id).is_some() {
                updated.restored += 1;
            } else if !listed.contains(redirect.id.as_str()) {
                updated.kept += 1;
                further.push(redirect);
            }
        }
        for change in changes {
            if let Change::Retired(Retired { id, .. }) = change
                && !listed.contains(id.as_str())
            {
                updated.unlisted.push(id.clone());
                further.push(Redirect {
                    id: id.clone(),
                    replaced_by: None,
                    reason: RETIRED.to_owned(),
                });
            }
        }
        let mut all = given;
        for redirect in further {
            all.push(redirect);
        }
        updated.all = all.resolved(|id| Ok(new.find(id).is_some()))?;
        Ok(updated)
    }

    fn find(&self, id: &str) -> Option<&Redirect> {
        let at = self
            .all
            .binary_search_by(|redirect| redirect.id.as_str().cmp(id));
        self.all.get(at.ok()?)
    }
}

/// Checks redirects against a version and prepares them for a search.
///
/// # Errors
/// As [`RedirectList::resolved`].
pub fn resolved_for(list: RedirectList, new: &Version) -> Result<Redirects> {
    let all = list.resolved(|id| new.has(id))?;
    Redirects::from_bytes(to_bytes(&all).into())
}
