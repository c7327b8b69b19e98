//! Who is connected, and who has to go: nobody can keep the server busy by reading or writing slowly, or by connecting often.

use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep};

/// Whoever has moved nothing for so long may be put out where another waits for the place.
const STALLED: Duration = Duration::from_millis(500);

/// A client takes so many bytes of an answer at least in each write timeout: one that takes a byte now and then would else stay for ever.
const LEAST: u64 = 4096;

/// How many may be connected.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// In all.
    pub all: usize,
    /// From one address.
    pub of_address: usize,
    /// How long a client may take to read `LEAST` bytes of an answer.
    pub write_timeout: Duration,
}

/// The connections.
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

/// One connection.
struct Open {
    address: IpAddr,
    pulse: Arc<Pulse>,
    /// Ends it; nothing while it begins.
    end: Option<AbortHandle>,
}

/// When something was last read or written.
struct Pulse {
    begun: Instant,
    /// Milliseconds after that.
    last: AtomicU64,
}

impl Pulse {
    fn new() -> Self {
        Self { begun: Instant::now(), last: AtomicU64::new(0) }
    }

    fn beat(&self) {
        self.last.store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn still(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}

/// The place of a connection; it is free when this is dropped.
pub struct Place {
    number: u64,
    pulse: Arc<Pulse>,
    connections: Connections,
}

impl Connections {
    /// None yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: Arc::default() }
    }

    /// A place for a client; if all are taken, that of the connection in which nothing has moved for longest, of the client's own address
    /// first. Nothing if something moves in every one.
    pub fn admit(&self, address: IpAddr) -> Option<Place> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = state.open.values().filter(|open| open.address == address).count();
        if of_address >= self.limits.of_address && !state.put_out(|open| open.address == address) {
            return None;
        }
        if state.open.len() >= self.limits.all && !state.put_out(|_| true) {
            return None;
        }
        let (number, pulse) = (state.next, Arc::new(Pulse::new()));
        state.next += 1;
        state.open.insert(number, Open { address, pulse: Arc::clone(&pulse), end: None });
        Some(Place { number, pulse, connections: self.clone() })
    }

    /// Makes room where the system gives no further connection, for several of those who wait: a quarter of the connections goes, of those in
    /// which nothing moves. Gives how many have gone.
    pub fn make_room(&self) -> usize {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let most = state.open.len().div_ceil(4);
        (0..most).take_while(|_| state.put_out(|_| true)).count()
    }

    /// Says how a connection is ended.
    pub fn begun(&self, number: u64, end: AbortHandle) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = state.open.get_mut(&number) {
            open.end = Some(end);
        }
    }

    /// A client's stream, which ends if it takes an answer too slowly.
    pub fn watched(&self, stream: TcpStream, place: Place) -> Watched {
        let timeout = self.limits.write_timeout;
        Watched { stream, place, timeout, stalled: None, moved: 0 }
    }
}

impl State {
    /// Ends the connection in which nothing has moved for longest, of those that are meant, if that is long enough.
    fn put_out(&mut self, is_meant: impl Fn(&Open) -> bool) -> bool {
        let meant = self.open.iter().filter(|(_, open)| open.end.is_some() && is_meant(open));
        let longest = meant.map(|(number, open)| (open.pulse.still(), *number)).max();
        let Some((_, number)) = longest.filter(|(still, _)| *still >= STALLED) else { return false };
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
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.connections.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.remove(&self.number);
    }
}

/// A client's stream. Reading has its bound in the server, which waits only so long for the head of a request; writing has it here.
pub struct Watched {
    stream: TcpStream,
    place: Place,
    timeout: Duration,
    /// The end of the time in which the client has to take something, while it does not.
    stalled: Option<Pin<Box<Sleep>>>,
    /// What it has taken in that time.
    moved: u64,
}

impl Watched {
    /// What a write means: bytes that have moved, or time that has passed.
    fn written(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.place.pulse.beat();
                self.moved += bytes as u64;
                if self.moved >= LEAST {
                    (self.stalled, self.moved) = (None, 0);
                }
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(failed) => Poll::Ready(failed),
            Poll::Pending => {
                let timeout = self.timeout;
                let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
                ready!(stalled.as_mut().poll(context));
                Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, "the client does not read")))
            }
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        if into.filled().len() > before {
            self.place.pulse.beat();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
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
        // The answer has been handed over.
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

    /// Connections whose clients are silent for as many seconds as they are told.
    struct Bench {
        connections: Connections,
        runtime: tokio::runtime::Runtime,
        places: Vec<Place>,
    }

    impl Bench {
        fn new(all: usize, of_address: usize) -> Self {
            let limits = Limits { all, of_address, write_timeout: Duration::from_secs(1) };
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            Self { connections: Connections::new(limits), runtime, places: Vec::new() }
        }

        fn admit(&mut self, last: u8, silent: u64) -> Option<u64> {
            let place = self.connections.admit(address(last))?;
            let number = place.number();
            let task = self.runtime.spawn(std::future::pending::<()>());
            self.connections.begun(number, task.abort_handle());
            let mut state = self.connections.state.lock().expect("whole");
            let begun = Instant::now().checked_sub(Duration::from_secs(silent)).expect("the machine runs for longer");
            let pulse = Pulse { begun, last: AtomicU64::new(0) };
            state.open.get_mut(&number).expect("it is open").pulse = Arc::new(pulse);
            drop(state);
            self.places.push(place);
            Some(number)
        }

        fn open(&self) -> Vec<u64> {
            let mut open: Vec<u64> = self.connections.state.lock().expect("whole").open.keys().copied().collect();
            open.sort_unstable();
            open
        }
    }

    #[test]
    fn the_longest_silent_one_makes_room() {
        let mut bench = Bench::new(3, 3);
        for (last, silent) in [(1, 5), (2, 9), (3, 0)] {
            bench.admit(last, silent).expect("a free place");
        }
        assert_eq!(bench.admit(4, 0), Some(3));
        assert_eq!(bench.open(), [0, 2, 3]);
        assert_eq!(bench.admit(5, 0), Some(4));
        assert_eq!(bench.open(), [2, 3, 4]);
        // All of them are at work.
        assert_eq!(bench.admit(6, 0), None);
        bench.places.remove(3);
        assert_eq!(bench.open(), [2, 4]);
        assert_eq!(bench.admit(6, 0), Some(5));
    }

    #[test]
    fn one_address_takes_no_more_than_its_places() {
        let mut bench = Bench::new(10, 2);
        for silent in [0, 0] {
            bench.admit(1, silent).expect("a free place");
        }
        assert_eq!(bench.admit(1, 0), None);
        assert_eq!(bench.admit(2, 9), Some(2));
        // The silent one of another address stays: there is room in all.
        assert_eq!(bench.admit(2, 9), Some(3));
        assert_eq!(bench.admit(2, 0), Some(4));
        assert_eq!(bench.open().len(), 4);
        assert!(bench.open().starts_with(&[0, 1]));
    }
}
