//! A store in PostgreSQL with pgvector: three tables with one prefix.
//!
//! | table | rows |
//! | --- | --- |
//! | `NAME_bundle` | one: the bundle that the vectors come from |
//! | `NAME_vectors` | one for each row of the index |
//! | `NAME_concepts` | one for each concept |

mod address;
mod connection;
mod export;
mod search;
mod values;

pub use export::export;
pub use search::VectorStore;

/// The comment on the tables of a store. Tables without it are not PEL's, and stay.
const MARK: &str = "written by pel export-vectors";

/// The names of a store's tables. The order is that in which they are locked.
struct Tables {
    bundle: String,
    vectors: String,
    concepts: String,
}

impl Tables {
    /// Those of a store. Its name was checked ([`super::store_name`]).
    fn of(name: &str) -> Self {
        Self {
            bundle: format!("{name}_bundle"),
            vectors: format!("{name}_vectors"),
            concepts: format!("{name}_concepts"),
        }
    }

    fn each(&self) -> [&str; 3] {
        [&self.bundle, &self.vectors, &self.concepts]
    }
}
