//! Cold starts: `pel link` as a process of its own, from start to exit.

use crate::bench::{Options, median, milliseconds};
use pel_io::files::io_error;
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The note of a cold start.
const NOTE: &str =
    "Known hypertension. Presents with chest pain and shortness of breath since this morning.";

/// The median time of five runs of `pel link` on a short note, in milliseconds, and the peak memory
/// in bytes.
pub(crate) fn cold_start(options: &Options) -> Result<(f64, Option<u64>)> {
    let note = tempfile::Builder::new()
        .suffix(".txt")
        .tempfile()
        .map_err(failed)?;
    std::fs::write(note.path(), NOTE).map_err(|cause| io_error("writing", note.path(), cause))?;
    let (mut times, mut peak) = (Vec::new(), None);
    for _ in 0..5 {
        let (time, bytes) = link(&options.bundle, &[note.path().as_os_str()])?;
        times.push(time);
        peak = peak.max(bytes);
    }
    Ok((median(&mut times), peak))
}

/// One run of `pel link` with more arguments: its time in milliseconds and its peak memory in
/// bytes.
pub(super) fn link(bundle: &Path, arguments: &[&OsStr]) -> Result<(f64, Option<u64>)> {
    interrupt::check()?;
    let program = std::env::current_exe().map_err(failed)?;
    let began = Instant::now();
    let mut command = Command::new(&program);
    command
        .arg("link")
        .arg("--bundle")
        .arg(bundle)
        .arg("--memory")
        .args(arguments);
    let done = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(failed)?;
    let time = milliseconds(began);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() {
        return Err(Error::artifact("`pel link` failed").caused_by(said));
    }
    let peak = said.lines().find_map(|line| {
        line.strip_prefix("peak memory ")?
            .strip_suffix(" bytes")?
            .parse()
            .ok()
    });
    Ok((time, peak))
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("starting `pel link`").caused_by(cause)
}
