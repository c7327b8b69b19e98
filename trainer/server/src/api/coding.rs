//! Compression of bodies by gzip: of requests, and of answers to clients that accept it.

use crate::api::problem::Problem;
use crate::serve::answer::accepted;
use crate::serve::site::Coding;
use axum::body::Body;
use bytes::{Buf, Bytes};
use flate2::Compression;
use flate2::write::{GzEncoder, MultiGzDecoder};
use hyper::body::{Body as HttpBody, Frame};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Unpacked bytes that are passed on at once.
const PIECE: usize = 64 << 10;

/// Answers with fewer bytes are not compressed.
const SHORT: u64 = 1 << 10;

/// Whether the body of a request is compressed by gzip.
///
/// # Errors
/// Status 415 if it has another coding.
pub fn is_packed(headers: &HeaderMap) -> Result<bool, Problem> {
    let mut packed = false;
    for value in headers.get_all(header::CONTENT_ENCODING) {
        match value.as_bytes().to_ascii_lowercase().as_slice() {
            b"identity" => {}
            b"gzip" | b"x-gzip" if !packed => packed = true,
            _ => {
                let detail = "the body has a compression that this server does not read; send it \
                              with gzip, or without compression";
                let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
                    .field("Content-Encoding")
                    .header(header::ACCEPT_ENCODING, "gzip, identity");
                return Err(problem);
            }
        }
    }
    Ok(packed)
}

/// Unpacks a body piece by piece, so that a small one that unpacks to a large one is not in memory.
pub struct Unpacking {
    decoder: MultiGzDecoder<Vec<u8>>,
    /// What is not yet unpacked.
    pending: Bytes,
}

impl Unpacking {
    /// Unpacks nothing yet.
    pub fn new() -> Self {
        Self {
            decoder: MultiGzDecoder::new(Vec::new()),
            pending: Bytes::new(),
        }
    }

    /// Takes a piece of the body. The one before it must be unpacked.
    pub fn put(&mut self, piece: Bytes) {
        self.pending = piece;
    }

    /// The next piece; `None` if more of the body is needed.
    ///
    /// # Errors
    /// Status 400 if it is not gzip.
    pub fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        while !self.pending.is_empty() {
            match self.decoder.write(&self.pending) {
                Ok(bytes) if bytes > 0 => self.pending.advance(bytes),
                _ => return Err(not_packed()),
            }
            if self.decoder.get_ref().len() >= PIECE {
                return Ok(self.taken());
            }
        }
        // A client may wait for the answer to what it has sent.
        self.decoder.flush().map_err(|_| not_packed())?;
        Ok(self.taken())
    }

    /// The last piece, at the end of the body.
    ///
    /// # Errors
    /// Status 400 if the body breaks off.
    pub fn finish(&mut self) -> Result<Option<Bytes>, Problem> {
        self.decoder.try_finish().map_err(|_| not_packed())?;
        Ok(self.taken())
    }

    fn taken(&mut self) -> Option<Bytes> {
        let unpacked = std::mem::take(self.decoder.get_mut());
        (!unpacked.is_empty()).then(|| unpacked.into())
    }
}

fn not_packed() -> Problem {
    Problem::bad_request(
        "the body is not gzip, or it breaks off; send it whole, or without this header",
    )
    .field("Content-Encoding")
}

/// Compresses a response if its client accepts gzip and it is not short.
pub fn pack(accepts: bool, response: Response<Body>) -> Response<Body> {
    let is_short = response
        .body()
        .size_hint()
        .upper()
        .is_some_and(|bytes| bytes < SHORT);
    if !accepts || is_short || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers
        .insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(head, Body::new(Packing::new(body)))
}

/// Whether a client accepts gzip.
pub fn accepts(headers: &HeaderMap) -> bool {
    accepted(headers).contains(&Coding::Gzip)
}

/// A body that is compressed while it is sent. Each piece can be unpacked as it comes.
struct Packing {
    body: Body,
    /// `None` at the end.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl Packing {
    fn new(body: Body) -> Self {
        Self {
            body,
            encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())),
        }
    }
}

impl HttpBody for Packing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(mut encoder) = self.encoder.take() else {
            return Poll::Ready(None);
        };
        let frame = match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending => {
                self.encoder = Some(encoder);
                return Poll::Pending;
            }
            Poll::Ready(frame) => frame,
        };
        let packed = match frame {
            None => encoder.finish(),
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            Some(Ok(frame)) => {
                let piece = frame.into_data().unwrap_or_default();
                let written = encoder.write_all(&piece).and_then(|()| encoder.flush());
                let packed = std::mem::take(encoder.get_mut());
                self.encoder = Some(encoder);
                written.map(|()| packed)
            }
        };
        Poll::Ready(Some(
            packed
                .map(|packed| Frame::data(packed.into()))
                .map_err(axum::Error::new),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).expect("in memory");
        encoder.finish().expect("in memory")
    }

    #[test]
    fn bodies_are_unpacked_in_pieces() {
        let text = vec![b'a'; 10 << 20];
        let mut unpacking = Unpacking::new();
        let (mut found, mut pieces) = (0, 0);
        for piece in packed(&text).chunks(1000) {
            unpacking.put(Bytes::copy_from_slice(piece));
            while let Some(unpacked) = unpacking.next().expect("gzip") {
                assert!(unpacked.len() < 2 * PIECE, "{}", unpacked.len());
                (found, pieces) = (found + unpacked.len(), pieces + 1);
            }
        }
        found += unpacking
            .finish()
            .expect("whole")
            .map_or(0, |rest| rest.len());
        assert_eq!(found, text.len());
        assert!(pieces > 100, "{pieces}");
    }

    #[test]
    fn what_has_come_is_unpacked_before_the_rest() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut unpacking = Unpacking::new();
        for line in ["{\"text\": \"fever\"}\n", "{\"text\": \"cough\"}\n"] {
            encoder.write_all(line.as_bytes()).expect("in memory");
            encoder.flush().expect("in memory");
            unpacking.put(std::mem::take(encoder.get_mut()).into());
            let found = unpacking.next().expect("gzip");
            assert_eq!(found.as_deref(), Some(line.as_bytes()));
            assert!(unpacking.next().expect("gzip").is_none());
        }
    }

    #[test]
    fn what_is_no_gzip_is_refused() {
        let all = |bytes: &[u8]| -> Result<Vec<u8>, Problem> {
            let mut unpacking = Unpacking::new();
            unpacking.put(Bytes::copy_from_slice(bytes));
            let mut all = Vec::new();
            while let Some(piece) = unpacking.next()? {
                all.extend_from_slice(&piece);
            }
            unpacking
                .finish()
                .map(|rest| [all, rest.unwrap_or_default().to_vec()].concat())
        };
        let whole = packed(b"fever");
        assert_eq!(all(&whole).expect("gzip"), b"fever");
        for bytes in [&b"fever"[..], b"", &whole[..whole.len() - 3], &whole[..7]] {
            assert!(all(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn long_answers_are_packed_if_the_client_accepts_it() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let long = "fever ".repeat(1000);
        for (accepts, text, is_packed) in [
            (true, long.as_str(), true),
            (false, long.as_str(), false),
            (true, "fever", false),
        ] {
            let response = pack(accepts, Response::new(Body::from(text.to_owned())));
            let coding = response.headers().get(header::CONTENT_ENCODING).cloned();
            assert_eq!(coding.is_some(), is_packed);
            let body = runtime.block_on(response.into_body().collect());
            let body = body.expect("whole").to_bytes();
            let plain = match is_packed {
                true => {
                    let mut unpacking = Unpacking::new();
                    unpacking.put(body.clone());
                    assert!(body.len() < text.len() / 10);
                    let unpacked = unpacking.next().expect("gzip");
                    assert!(unpacking.finish().expect("whole").is_none());
                    unpacked.unwrap_or_default()
                }
                false => body,
            };
            assert_eq!(plain, text.as_bytes());
        }
    }
}
