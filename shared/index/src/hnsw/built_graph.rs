//! A graph of `instant-distance`, read from its serialised form: the crate has no other access to
//! the links.

use super::links::UPPER_WIDTH;
use instant_distance::{Hnsw, Point};
use pel_kb::error::{Error, Result};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The crate's mark of no link. It follows the links of a row.
pub const NONE: u32 = u32::MAX;

/// The places for links of a row in the crate's lowest layer.
const LOWEST_WIDTH: usize = 64;

/// A graph. A row's position in `points` is its rank, and links are ranks.
#[derive(Deserialize)]
pub struct BuiltGraph {
    #[allow(dead_code)] // the first field of the encoding
    ef_search: usize,
    /// The row of each rank.
    pub points: Vec<u32>,
    /// The lowest layer.
    pub zero: Vec<LowestLinks>,
    /// The upper layers, lowest first.
    pub layers: Vec<Vec<[u32; UPPER_WIDTH]>>,
}

/// Links of a row in the lowest layer, nearest first, then [`NONE`].
pub struct LowestLinks(pub [u32; LOWEST_WIDTH]);

impl BuiltGraph {
    /// Reads a graph whose points are serialised as their rows.
    ///
    /// # Errors
    /// If the crate serialises its graph in another form.
    pub fn of<P: Point + Serialize>(hnsw: &Hnsw<P>) -> Result<Self> {
        let failed =
            |cause| Error::artifact("reading the HNSW graph that was built").caused_by(cause);
        postcard::from_bytes(&postcard::to_stdvec(hnsw).map_err(failed)?).map_err(failed)
    }
}

impl<'de> Deserialize<'de> for LowestLinks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = LowestLinks;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "{LOWEST_WIDTH} links")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> std::result::Result<LowestLinks, A::Error> {
                let mut links = [NONE; LOWEST_WIDTH];
                for (at, link) in links.iter_mut().enumerate() {
                    *link = seq
                        .next_element()?
                        .ok_or_else(|| serde::de::Error::invalid_length(at, &self))?;
                }
                Ok(LowestLinks(links))
            }
        }
        deserializer.deserialize_tuple(LOWEST_WIDTH, Read)
    }
}
