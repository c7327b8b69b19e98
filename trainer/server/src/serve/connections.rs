//! Admits and closes connections, so that slow or frequent clients cannot block the server.

use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep};

/// A connection idle for this long may be closed if another client is waiting.
const STALLED: Duration = Duration::from_millis(500);

/// Minimum number of bytes a client must read per write timeout.
const MIN_BYTES_READ: u64 = 4096;

/// Limits on connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number in total.
    pub all: usize,
    /// Maximum number per address.
    pub of_address: usize,
    /// Time for a client to read `MIN_BYTES_READ` bytes.
    pub write_timeout: Duration,
}

/// The limit that lets a client not in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// [`Limits::all`].
    All(usize),
    /// [`Limits::of_address`].
    Address(usize),
}

/// The open connections.
#[derive(Clone)]
pub struct Connections {
    limits: Limits,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, Open>,
}

/// A connection.
struct Open {
    address: IpAddr,
    pulse: Arc<Pulse>,
    /// Aborts it; `None` until it has started.
    end: Option<AbortHandle>,
}

/// Time of the last read or write.
struct Pulse {
    begun: Instant,
    /// Milliseconds after `begun`.
    last: AtomicU64,
    /// Requests whose answer the server computes.
    busy: AtomicUsize,
}

impl Pulse {
    fn new() -> Self {
        Self {
            begun: Instant::now(),
            last: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
        }
    }

    fn beat(&self) {
        self.last
            .store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Zero while the client waits for the server.
    fn idle_time(&self) -> Duration {
        if self.busy.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        self.begun
            .elapsed()
            .saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}

/// What a connection is doing. Requests have it as an extension.
#[derive(Clone)]
pub struct Activity(Arc<Pulse>);

impl Activity {
    /// The connection does not count as idle until the guard is dropped.
    #[must_use]
    pub fn busy(&self) -> Busy {
        self.0.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(&self.0))
    }
}

/// See [`Activity::busy`].
pub struct Busy(Arc<Pulse>);

impl Drop for Busy {
    fn drop(&mut self) {
        // The client's turn begins.
        self.0.beat();
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection's slot, which is freed when dropped.
pub struct Place {
    number: u64,
    pulse: Arc<Pulse>,
    connections: Connections,
}

impl Connections {
    /// No connections.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: Arc::default(),
        }
    }

    /// Admits a client. If no slot is free, the longest idle connection is closed, of the same
    /// address if that is at its limit.
    ///
    /// # Errors
    /// The limit that is reached, if no connection is idle.
    pub fn admit(&self, address: IpAddr) -> Result<Place, Full> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = state
            .open
            .values()
            .filter(|open| open.address == address)
            .count();
        let Limits {
            all,
            of_address: most,
            ..
        } = self.limits;
        // Where an address may have all connections, its limit says nothing.
        if of_address >= most && most < all && !state.close_idle(|open| open.address == address) {
            return Err(Full::Address(most));
        }
        if state.open.len() >= all && !state.close_idle(|_| true) {
            return Err(Full::All(all));
        }
        let (number, pulse) = (state.next, Arc::new(Pulse::new()));
        state.next += 1;
        state.open.insert(
            number,
            Open {
                address,
                pulse: Arc::clone(&pulse),
                end: None,
            },
        );
        Ok(Place {
            number,
            pulse,
            connections: self.clone(),
        })
    }

    /// Closes up to a quarter of the connections, idle ones only, when the system accepts no more.
    /// Returns their number.
    pub fn close_some(&self) -> usize {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let most = state.open.len().div_ceil(4);
        (0..most).take_while(|_| state.close_idle(|_| true)).count()
    }

    /// Sets the handle that aborts a connection.
    pub fn set_abort_handle(&self, number: u64, end: AbortHandle) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = state.open.get_mut(&number) {
            open.end = Some(end);
        }
    }

    /// Wraps a client's stream, which fails if the client reads too slowly.
    pub fn with_timeout(&self, stream: TcpStream, place: Place) -> TimedStream {
        let timeout = self.limits.write_timeout;
        TimedStream {
            stream,
            place,
            timeout,
            stalled: None,
            moved: 0,
        }
    }
}

impl State {
    /// Closes the longest idle of the matching connections, if idle for at least [`STALLED`].
    fn close_idle(&mut self, matches: impl Fn(&Open) -> bool) -> bool {
        let matching = self
            .open
            .iter()
            .filter(|(_, open)| open.end.is_some() && matches(open));
        let longest = matching
            .map(|(number, open)| (open.pulse.idle_time(), *number))
            .max();
        let Some((_, number)) = longest.filter(|(idle, _)| *idle >= STALLED) else {
            return false;
        };
        if let Some(Open { end: Some(end), .. }) = self.open.remove(&number) {
            end.abort();
        }
        true
    }
}

impl Place {
    /// The number of the connection.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What the connection is doing.
    pub fn activity(&self) -> Activity {
        Activity(Arc::clone(&self.pulse))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self
            .connections
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.open.remove(&self.number);
    }
}

/// A client's stream with a write timeout. The server itself limits the time for reading a request
/// head.
pub struct TimedStream {
    stream: TcpStream,
    place: Place,
    timeout: Duration,
    /// Timeout of the current wait for the client.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Bytes read by the client since the last reset.
    moved: u64,
}

impl TimedStream {
    /// Updates the timeout after a write.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.place.pulse.beat();
                self.moved += bytes as u64;
                if self.moved >= MIN_BYTES_READ {
                    (self.stalled, self.moved) = (None, 0);
                }
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(failed) => Poll::Ready(failed),
            Poll::Pending => {
                let timeout = self.timeout;
                let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
                ready!(stalled.as_mut().poll(context));
                Poll::Ready(Err(io::Error::new(
                    ErrorKind::TimedOut,
                    "the client does not read",
                )))
            }
        }
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        if into.filled().len() > before {
            self.place.pulse.beat();
        }
        read
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The response has been written.
        (self.stalled, self.moved) = (None, 0);
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, last).into()
    }

    /// Connections of clients that have been idle for given times.
    struct TestClients {
        connections: Connections,
        runtime: tokio::runtime::Runtime,
        places: Vec<Place>,
    }

    impl TestClients {
        fn new(all: usize, of_address: usize) -> Self {
            let limits = Limits {
                all,
                of_address,
                write_timeout: Duration::from_secs(1),
            };
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .expect("a runtime");
            Self {
                connections: Connections::new(limits),
                runtime,
                places: Vec::new(),
            }
        }

        fn admit(&mut self, last: u8, silent: u64) -> Option<u64> {
            let place = self.connections.admit(address(last)).ok()?;
            let number = place.number();
            let task = self.runtime.spawn(std::future::pending::<()>());
            self.connections
                .set_abort_handle(number, task.abort_handle());
            let mut state = self.connections.state.lock().expect("whole");
            let begun = Instant::now()
                .checked_sub(Duration::from_secs(silent))
                .expect("the machine runs for longer");
            let pulse = Pulse {
                begun,
                last: AtomicU64::new(0),
                busy: AtomicUsize::new(0),
            };
            state.open.get_mut(&number).expect("it is open").pulse = Arc::new(pulse);
            drop(state);
            self.places.push(place);
            Some(number)
        }

        fn open(&self) -> Vec<u64> {
            let mut open: Vec<u64> = self
                .connections
                .state
                .lock()
                .expect("whole")
                .open
                .keys()
                .copied()
                .collect();
            open.sort_unstable();
            open
        }
    }

    #[test]
    fn longest_idle_connection_is_closed() {
        let mut clients = TestClients::new(3, 3);
        for (last, silent) in [(1, 5), (2, 9), (3, 0)] {
            clients.admit(last, silent).expect("a free place");
        }
        assert_eq!(clients.admit(4, 0), Some(3));
        assert_eq!(clients.open(), [0, 2, 3]);
        assert_eq!(clients.admit(5, 0), Some(4));
        assert_eq!(clients.open(), [2, 3, 4]);
        // None is idle.
        assert_eq!(clients.admit(6, 0), None);
        clients.places.remove(3);
        assert_eq!(clients.open(), [2, 4]);
        assert_eq!(clients.admit(6, 0), Some(5));
    }

    #[test]
    fn connections_that_wait_for_an_answer_stay_open() {
        let mut clients = TestClients::new(2, 2);
        clients.admit(1, 9).expect("a free place");
        clients.admit(2, 5).expect("a free place");
        let activity = {
            let state = clients.connections.state.lock().expect("whole");
            Activity(Arc::clone(&state.open[&0].pulse))
        };
        let busy = activity.busy();
        // The one that is idle is closed, though for a shorter time.
        assert_eq!(clients.admit(3, 0), Some(2));
        assert_eq!(clients.open(), [0, 2]);
        assert_eq!(clients.admit(4, 0), None);
        // Its client has just got the answer.
        drop(busy);
        assert_eq!(clients.admit(4, 0), None);
        assert_eq!(clients.open(), [0, 2]);
    }

    #[test]
    fn connections_per_address_are_limited() {
        let mut clients = TestClients::new(10, 2);
        for silent in [0, 0] {
            clients.admit(1, silent).expect("a free place");
        }
        assert_eq!(clients.admit(1, 0), None);
        assert_eq!(clients.admit(2, 9), Some(2));
        // Idle connections of other addresses stay open, since the total is below its limit.
        assert_eq!(clients.admit(2, 9), Some(3));
        assert_eq!(clients.admit(2, 0), Some(4));
        assert_eq!(clients.open().len(), 4);
        assert!(clients.open().starts_with(&[0, 1]));
        let full = clients.connections.admit(address(1)).err();
        assert_eq!(full, Some(Full::Address(2)));
        let mut clients = TestClients::new(2, 2);
        clients.admit(1, 0).expect("a free place");
        clients.admit(1, 0).expect("a free place");
        let full = clients.connections.admit(address(1)).err();
        assert_eq!(full, Some(Full::All(2)));
    }
}
