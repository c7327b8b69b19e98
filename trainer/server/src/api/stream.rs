//! A stream of texts: a JSON object on each line in, a line for each text out.
//!
//! Lines are linked in jobs as they arrive. While the client does not read, or the queue is full,
//! nothing more is read from it.

use crate::api::Api;
use crate::api::accept::NDJSON;
use crate::api::body::{Reader, Stream};
use crate::api::http::response;
use crate::api::pool::{Note, Render, Settings, jobs};
use crate::api::problem::Problem;
use crate::api::request;
use crate::api::request::{Options, TextObject};
use crate::serve::connections::Activity;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use hyper::Response;
use serde::Serialize;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Pieces of output that wait for the client.
const WAITING: usize = 2;

/// A line for a text that cannot be linked, or for the end of a broken stream.
#[derive(Serialize)]
struct Failure<'a> {
    /// The line of the input, from 1.
    line: u64,
    error: &'a Problem,
}

/// Starts to answer a stream.
///
/// # Errors
/// Status 429 if there are too many streams, or a problem of the options.
pub fn answer(
    api: Arc<Api>,
    reader: Reader,
    options: &Options,
    activity: Option<Activity>,
) -> Result<Response<Body>, Problem> {
    let settings = options.settings(api.linker.linker.bundle())?;
    let Ok(place) = Arc::clone(&api.streams).try_acquire_owned() else {
        return Err(Problem::busy(
            5,
            "the server reads as many requests of application/x-ndjson as it can; try again later",
        ));
    };
    let (pieces, received) = mpsc::channel(WAITING);
    let linking = Linking {
        settings: Arc::new(settings),
        only_given: options.spans_only == Some(true),
        pieces,
        line: 0,
        activity,
        api,
    };
    tokio::spawn(async move {
        linking.run(reader).await;
        drop(place);
    });
    Ok(response(NDJSON, Body::new(Stream(received))))
}

/// The client has left, or has been told why the stream ends.
struct Left;

struct Linking {
    api: Arc<Api>,
    settings: Arc<Settings>,
    only_given: bool,
    pieces: mpsc::Sender<Bytes>,
    /// Lines that were read.
    line: u64,
    activity: Option<Activity>,
}

impl Linking {
    /// Reads lines and sends links until either side ends.
    async fn run(mut self, mut reader: Reader) {
        let (mut held, mut rest) = (self.api.budget.hold(), BytesMut::new());
        loop {
            if self.pieces.is_closed() {
                return;
            }
            let problem = match reader.next().await {
                Ok(Some(piece)) => match self.api.budget.more(&mut held, piece.len()) {
                    Ok(()) => {
                        let before = rest.len();
                        rest.extend_from_slice(&piece);
                        // Only in the new piece: a long line comes in many.
                        let whole = piece.iter().rposition(|byte| *byte == b'\n');
                        let whole = whole.map(|at| before + at);
                        if let Some(end) = whole {
                            let lines = rest.split_to(end + 1);
                            if self.lines(&lines).await.is_err() {
                                return;
                            }
                            held = self.api.budget.hold();
                            // What is left came with this piece, so its bytes were free just now.
                            let _ = self.api.budget.more(&mut held, rest.len());
                        }
                        if rest.len() <= self.api.limits.body {
                            continue;
                        }
                        self.line += 1;
                        let most = self.api.limits.body;
                        Problem::too_large(format!(
                            "the line has more than {most} bytes, the limit of this server \
                             (--max-body); divide its text"
                        ))
                    }
                    Err(problem) => problem,
                },
                Ok(None) => {
                    let last = std::mem::take(&mut rest);
                    let _ = self.lines(&last).await;
                    return;
                }
                Err(problem) => problem,
            };
            let _ = self.fail(&problem).await;
            return;
        }
    }

    /// Links whole lines.
    async fn lines(&mut self, lines: &[u8]) -> Result<(), Left> {
        let mut held = self.api.budget.hold();
        if let Err(problem) = self.api.hold_values(lines, &mut held) {
            self.line += 1;
            self.fail(&problem).await?;
            return Err(Left);
        }
        let mut notes = Vec::new();
        // The last line ends with a line end, behind which there is none.
        let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
        let (k, most) = (self.settings.k, self.api.limits.text);
        for line in lines.split(|byte| *byte == b'\n') {
            self.line += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let note = request::json::<TextObject>(line)
                .and_then(|text| text.note(self.line, most, self.only_given))
                .and_then(|note| note.checked(k, most));
            match note {
                Ok(note) => notes.push((self.line, note)),
                Err(problem) => {
                    // In the order of the input.
                    self.link(std::mem::take(&mut notes)).await?;
                    self.fail(&problem).await?;
                }
            }
        }
        self.link(notes).await
    }

    /// Links notes with the numbers of their lines.
    async fn link(&self, notes: Vec<(u64, Note)>) -> Result<(), Left> {
        let (numbers, notes): (Vec<u64>, Vec<Note>) = notes.into_iter().unzip();
        let mut numbers = numbers.into_iter();
        for job in jobs(notes, self.settings.k) {
            let of_job: Vec<u64> = numbers.by_ref().take(job.len()).collect();
            let linking = self.api.pool.link(job, &self.settings, Render::Line, true);
            let limit = self.api.limits.time;
            let busy = self.activity.as_ref().map(Activity::busy);
            let linked = match timeout(limit, linking).await {
                Ok(linked) => linked,
                Err(_) => Err(Problem::late(limit.as_secs())),
            };
            drop(busy);
            match linked {
                Ok(lines) => self.send(lines.concat()).await?,
                Err(problem) => {
                    for line in of_job {
                        self.send(failure(line, &problem)).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends the problem of the line that was read last.
    async fn fail(&self, problem: &Problem) -> Result<(), Left> {
        self.send(failure(self.line, problem)).await
    }

    async fn send(&self, piece: String) -> Result<(), Left> {
        self.pieces.send(piece.into()).await.map_err(|_| Left)
    }
}

fn failure(line: u64, error: &Problem) -> String {
    serde_json::to_string(&Failure { line, error }).unwrap_or_default() + "\n"
}
