//! Deflate with a bound of the unpacked bytes.

use flate2::read::{DeflateDecoder, ZlibDecoder};
use std::io::Read;

/// What was unpacked.
pub(crate) struct Inflated {
    /// The bytes, up to the bound or to the first damage.
    pub bytes: Vec<u8>,
    /// Whether there are more bytes than the bound.
    pub exceeded: bool,
    /// Whether the stream ends early or is damaged.
    pub damaged: bool,
}

/// Unpacks raw Deflate to at most `most` bytes.
pub(crate) fn raw(packed: &[u8], most: usize) -> Inflated {
    unpack(DeflateDecoder::new(packed), most)
}

/// Unpacks Deflate with the frame of zlib to at most `most` bytes.
pub(crate) fn zlib(packed: &[u8], most: usize) -> Inflated {
    unpack(ZlibDecoder::new(packed), most)
}

fn unpack(reader: impl Read, most: usize) -> Inflated {
    let mut bytes = Vec::new();
    // One byte more tells that there is more. What was read before damage is kept.
    let done = reader.take(most as u64 + 1).read_to_end(&mut bytes);
    let exceeded = bytes.len() > most;
    bytes.truncate(most);
    Inflated {
        bytes,
        exceeded,
        damaged: done.is_err(),
    }
}
