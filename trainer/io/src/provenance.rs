//! The program and machine that wrote a file.

use serde::Serialize;

/// The program and the machine.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The version of pel.
    pub pel: &'static str,
    /// The operating system.
    pub os: &'static str,
    /// The processor's architecture.
    pub arch: &'static str,
    /// Maximum number of threads.
    pub threads: usize,
    /// Seconds since 1970.
    pub unix_time: Option<u64>,
}

impl Run {
    /// This program on this machine, now.
    pub fn here() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            pel: env!("CARGO_PKG_VERSION"),
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            threads: rayon::current_num_threads(),
            unix_time: since.ok().map(|since| since.as_secs()),
        }
    }
}
