//! Counts, times and sizes in the text format of Prometheus. Never text.

use hyper::StatusCode;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The media type of the text format.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the buckets of times, in seconds.
const SECONDS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// Upper bounds of the buckets of texts in a batch.
const TEXTS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// What the server has done since its start.
pub struct Metrics {
    /// Requests by route and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// Times of requests by route, up to the head of the response.
    times: Mutex<BTreeMap<&'static str, Histogram>>,
    /// Requests that are being answered.
    pub in_flight: Gauge,
    /// Texts that were linked.
    pub texts: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// Their mentions.
    pub mentions: AtomicU64,
    /// Mentions with a concept.
    pub linked: AtomicU64,
    /// Texts of each batch.
    batches: Mutex<Histogram>,
    /// Times of batches.
    batch_times: Mutex<Histogram>,
    /// Batches that failed.
    pub failures: AtomicU64,
}

/// A value that rises and falls.
#[derive(Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// Counts one more until the guard is dropped.
    pub fn enter(&self) -> Entered<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Entered(self)
    }
}

/// See [`Gauge::enter`].
pub struct Entered<'g>(&'g Gauge);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts of values up to each bound.
struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len()],
            count: 0,
            sum: 0.0,
        }
    }

    fn add(&mut self, value: f64) {
        for (bound, count) in self.bounds.iter().zip(&mut self.counts) {
            *count += u64::from(value <= *bound);
        }
        self.count += 1;
        self.sum += value;
    }

    /// Writes its lines. `label` is empty or `name="value",`.
    fn write(&self, out: &mut String, name: &str, label: &str) {
        for (bound, count) in self.bounds.iter().zip(&self.counts) {
            let _ = writeln!(out, "{name}_bucket{{{label}le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(out, "{name}_bucket{{{label}le=\"+Inf\"}} {}", self.count);
        let label = match label.strip_suffix(',') {
            Some(label) => format!("{{{label}}}"),
            None => String::new(),
        };
        let _ = writeln!(out, "{name}_sum{label} {}", self.sum);
        let _ = writeln!(out, "{name}_count{label} {}", self.count);
    }
}

/// The size of the queue.
pub struct Queue {
    /// Jobs that wait.
    pub waiting: usize,
    /// Jobs that may wait.
    pub places: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Mutex::default(),
            times: Mutex::default(),
            in_flight: Gauge::default(),
            texts: AtomicU64::default(),
            bytes: AtomicU64::default(),
            mentions: AtomicU64::default(),
            linked: AtomicU64::default(),
            batches: Mutex::new(Histogram::new(&TEXTS)),
            batch_times: Mutex::new(Histogram::new(&SECONDS)),
            failures: AtomicU64::default(),
        }
    }
}

impl Metrics {
    /// Adds a request.
    pub fn add_request(&self, route: &'static str, status: StatusCode, time: Duration) {
        *lock(&self.requests)
            .entry((route, status.as_u16()))
            .or_default() += 1;
        lock(&self.times)
            .entry(route)
            .or_insert_with(|| Histogram::new(&SECONDS))
            .add(time.as_secs_f64());
    }

    /// Adds a batch of texts that were linked together.
    pub fn add_batch(&self, texts: usize, time: Duration) {
        lock(&self.batches).add(texts as f64);
        lock(&self.batch_times).add(time.as_secs_f64());
    }

    /// The mean time of a batch; zero before the first.
    pub fn mean_batch(&self) -> Duration {
        let times = lock(&self.batch_times);
        match times.count {
            0 => Duration::ZERO,
            count => Duration::from_secs_f64(times.sum / count as f64),
        }
    }

    /// The metrics in the text format.
    pub fn text(&self, queue: &Queue, memory: Option<u64>) -> String {
        let mut out = String::new();
        self.write_requests(&mut out);
        self.write_work(&mut out);
        number(
            &mut out,
            "pel_queue_jobs",
            "gauge",
            "Jobs that wait.",
            queue.waiting,
        );
        number(
            &mut out,
            "pel_queue_places",
            "gauge",
            "Jobs that may wait.",
            queue.places,
        );
        if let Some(bytes) = memory {
            let name = "process_resident_memory_bytes";
            number(&mut out, name, "gauge", "Memory of the process.", bytes);
        }
        let version = env!("CARGO_PKG_VERSION");
        head(&mut out, "pel_build_info", "gauge", "The version.");
        let _ = writeln!(out, "pel_build_info{{version=\"{version}\"}} 1");
        out
    }

    /// Writes the requests and their times.
    fn write_requests(&self, out: &mut String) {
        head(
            out,
            "pel_http_requests_total",
            "counter",
            "Requests by route and status.",
        );
        for ((route, status), count) in lock(&self.requests).iter() {
            let _ = writeln!(
                out,
                "pel_http_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}"
            );
        }
        let name = "pel_http_request_duration_seconds";
        head(out, name, "histogram", "Time to the head of the response.");
        for (route, times) in lock(&self.times).iter() {
            times.write(out, name, &format!("route=\"{route}\","));
        }
        let in_flight = self.in_flight.0.load(Ordering::Relaxed);
        number(
            out,
            "pel_http_requests_in_flight",
            "gauge",
            "Requests being answered.",
            in_flight,
        );
    }

    /// Writes the texts and mentions linked, and the batches.
    fn write_work(&self, out: &mut String) {
        for (name, what, count) in [
            ("pel_texts_total", "Texts linked.", &self.texts),
            (
                "pel_text_bytes_total",
                "Bytes of the texts linked.",
                &self.bytes,
            ),
            (
                "pel_mentions_total",
                "Mentions found or given.",
                &self.mentions,
            ),
            (
                "pel_linked_mentions_total",
                "Mentions with a concept.",
                &self.linked,
            ),
            (
                "pel_batch_failures_total",
                "Batches that failed.",
                &self.failures,
            ),
        ] {
            number(out, name, "counter", what, count.load(Ordering::Relaxed));
        }
        let name = "pel_batch_texts";
        head(out, name, "histogram", "Texts linked together.");
        lock(&self.batches).write(out, name, "");
        let name = "pel_batch_duration_seconds";
        head(out, name, "histogram", "Time of a batch.");
        lock(&self.batch_times).write(out, name, "");
    }
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn head(out: &mut String, name: &str, kind: &str, what: &str) {
    let _ = writeln!(out, "# HELP {name} {what}\n# TYPE {name} {kind}");
}

fn number(out: &mut String, name: &str, kind: &str, what: &str, value: impl std::fmt::Display) {
    head(out, name, kind, what);
    let _ = writeln!(out, "{name} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let mut histogram = Histogram::new(&TEXTS);
        for value in [1.0, 3.0, 100.0] {
            histogram.add(value);
        }
        let mut out = String::new();
        histogram.write(&mut out, "n", "route=\"a\",");
        assert_eq!(
            out,
            "n_bucket{route=\"a\",le=\"1\"} 1\nn_bucket{route=\"a\",le=\"2\"} 1\n\
             n_bucket{route=\"a\",le=\"4\"} 2\nn_bucket{route=\"a\",le=\"8\"} 2\n\
             n_bucket{route=\"a\",le=\"16\"} 2\nn_bucket{route=\"a\",le=\"32\"} 2\n\
             n_bucket{route=\"a\",le=\"64\"} 2\nn_bucket{route=\"a\",le=\"+Inf\"} 3\n\
             n_sum{route=\"a\"} 104\nn_count{route=\"a\"} 3\n"
        );
    }

    #[test]
    fn requests_are_counted_by_route_and_status() {
        let metrics = Metrics::default();
        for status in [200, 200, 422] {
            let status = StatusCode::from_u16(status).expect("a status");
            metrics.add_request("/v1/link", status, Duration::from_millis(20));
        }
        let entered = metrics.in_flight.enter();
        let queue = Queue {
            waiting: 2,
            places: 8,
        };
        let text = metrics.text(&queue, Some(5));
        for line in [
            "pel_http_requests_total{route=\"/v1/link\",status=\"200\"} 2",
            "pel_http_requests_total{route=\"/v1/link\",status=\"422\"} 1",
            "pel_http_request_duration_seconds_bucket{route=\"/v1/link\",le=\"0.025\"} 3",
            "pel_http_requests_in_flight 1",
            "pel_queue_jobs 2",
            "process_resident_memory_bytes 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        drop(entered);
        assert!(metrics.text(&queue, None).contains("in_flight 0"));
    }
}
