//! Bodies: read within limits of size, time and memory, or sent as a stream.

use crate::api::coding::Unpacking;
use crate::api::problem::Problem;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Frame, Incoming, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

/// How much is read of a body that is too large, so that the client can read the answer.
const DRAINED: usize = 64 << 20;

/// Bytes of an answer that are passed on at once.
const PIECE: usize = 64 << 10;

/// The memory for all bodies and unread answers together.
#[derive(Clone)]
pub struct Budget(Arc<Semaphore>);

/// Memory that a request holds until this is dropped.
pub struct Held(Option<OwnedSemaphorePermit>);

impl Budget {
    /// A budget in bytes.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    /// Holds nothing yet.
    pub fn hold(&self) -> Held {
        Held(None)
    }

    /// Holds some more bytes.
    ///
    /// # Errors
    /// Status 429 if too many are in use.
    pub fn more(&self, held: &mut Held, bytes: usize) -> Result<(), Problem> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.0)
            .try_acquire_many_owned(bytes)
            .map_err(|_| {
                Problem::busy(
                    2,
                    "other requests use the memory of this server (--max-memory); try again later",
                )
            })?;
        match &mut held.0 {
            Some(held) => held.merge(permit),
            none => *none = Some(permit),
        }
        Ok(())
    }
}

/// An answer that holds its memory until the client has read it, but for the last pieces.
pub struct Answer {
    rest: Bytes,
    _held: Held,
}

impl Answer {
    /// An answer. It holds at most half of the free memory, so that a client that reads slowly
    /// leaves some to others.
    pub fn new(answer: String, budget: &Budget) -> Self {
        let mut held = budget.hold();
        let bytes = answer.len().min(budget.0.available_permits() / 2);
        // Another request can take it first; then the answer holds nothing.
        let _ = budget.more(&mut held, bytes);
        Self {
            rest: answer.into(),
            _held: held,
        }
    }
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(bytes);
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// A body that is read piece by piece.
pub struct Reader {
    body: Body,
    patience: Duration,
    /// Unpacks what is read.
    unpacking: Option<Unpacking>,
}

impl Reader {
    /// A reader that waits for at most `patience` for each piece.
    pub fn new(body: Body, patience: Duration) -> Self {
        Self {
            body,
            patience,
            unpacking: None,
        }
    }

    /// Unpacks the body by gzip.
    pub fn unpack(&mut self) {
        self.unpacking = Some(Unpacking::new());
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// Status 408 if the client sends nothing, 400 if the body breaks off or cannot be unpacked.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            if let Some(unpacking) = &mut self.unpacking
                && let Some(piece) = unpacking.next()?
            {
                return Ok(Some(piece));
            }
            let piece = self.sent().await?;
            match (&mut self.unpacking, piece) {
                (None, piece) => return Ok(piece),
                (Some(unpacking), Some(piece)) => unpacking.put(piece),
                (Some(unpacking), None) => {
                    let rest = unpacking.finish()?;
                    self.unpacking = None;
                    return Ok(rest);
                }
            }
        }
    }

    /// The next piece as the client sends it.
    async fn sent(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let frame = timeout(self.patience, self.body.frame())
                .await
                .map_err(|_| {
                    let seconds = self.patience.as_secs();
                    let detail = format!(
                        "no more of the body came within {seconds} s; send it again, without pauses"
                    );
                    Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
                })?;
            match frame {
                None => return Ok(None),
                Some(Err(_)) => {
                    return Err(Problem::bad_request(
                        "the body breaks off; send it again, whole",
                    ));
                }
                // Trailers are ignored.
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// Reads a whole body of at most `most` bytes.
    ///
    /// # Errors
    /// Status 413 if it is larger, 429 if the budget is used up, or as [`Reader::next`].
    pub async fn whole(
        &mut self,
        most: usize,
        budget: &Budget,
        held: &mut Held,
    ) -> Result<Bytes, Problem> {
        let mut whole = BytesMut::new();
        while let Some(piece) = self.next().await? {
            if whole.len() + piece.len() > most {
                let detail = format!(
                    "the body has more than {most} bytes, the limit of this server (--max-body); \
                     send fewer texts at once"
                );
                return Err(Problem::too_large(detail));
            }
            budget.more(held, piece.len())?;
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// Reads on for a while and forgets what it reads.
    pub async fn drain(&mut self) {
        let mut left = DRAINED;
        while let Ok(Some(piece)) = self.next().await {
            left = left.saturating_sub(piece.len());
            if left == 0 {
                return;
            }
        }
    }
}

/// The body of a request, which the server can read to its end after a route has refused it.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Incoming>>);

impl Shared {
    /// Shares a body.
    pub fn new(body: Incoming) -> Self {
        Self(Arc::new(Mutex::new(body)))
    }
}

impl hyper::body::Body for Shared {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hyper::body::Body::poll_frame(Pin::new(&mut *body), context)
    }
}

/// A body of pieces that another task sends. The task waits while the client does not read.
pub struct Stream(pub mpsc::Receiver<Bytes>);

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(context)
            .map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
