//! An ansible-playbook that is no run: started, heard to its end, its events
//! all at once. It claims nothing, so it must change nothing.

use std::time::Duration;

use super::engine::Engine;
use super::files::RunFiles;
use super::progress::Exit;
use super::request::RunRequest;
use super::start::start;
use super::streams::{Lines, Output, read_channel, rest_of_channel};
use crate::ansible::events::{Message, decode};
use crate::ansible::launch::{self, Purpose, Running};
use crate::ansible::processes;
use crate::error::{Error, Kind};

/// Reading a large inventory takes its time; a plugin of it that hangs does not
/// end by itself.
const LIMIT: Duration = Duration::from_secs(300);
const KILL_LIMIT: Duration = Duration::from_secs(3);

pub(super) struct Heard {
    pub(super) messages: Vec<Message>,
    /// Ansible's error stream.
    pub(super) said: String,
    pub(super) exit: Exit,
}

pub(super) fn listen(
    engine: &Engine<'_>,
    request: &RunRequest,
    files: &RunFiles,
    purpose: Purpose,
) -> Result<Heard, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::new(Kind::Local, format!("cannot start Ansible: {e}")))?;
    runtime.block_on(heard(engine, request, files, purpose))
}

/// The same where a runtime is there already.
pub(super) async fn heard(
    engine: &Engine<'_>,
    request: &RunRequest,
    files: &RunFiles,
    purpose: Purpose,
) -> Result<Heard, Error> {
    let running = start(engine, request, files, purpose, None)?;
    let heard = tokio::time::timeout(LIMIT, to_the_end(running)).await;
    processes::end_masters(files.control());
    heard.map_err(|_| {
        processes::kill_all(KILL_LIMIT);
        Error::new(
            Kind::Ansible,
            format!("Ansible did not end within {} s", LIMIT.as_secs()),
        )
    })?
}

async fn to_the_end(running: Running) -> Result<Heard, Error> {
    let Running {
        mut child,
        stdout,
        stderr,
        channel,
    } = running;
    let mut events = Lines::whole();
    let (mut out, mut err) = (Output::new(stdout), Output::new(stderr));
    let (mut messages, mut said) = (Vec::new(), String::new());
    let mut exit = None;
    while exit.is_none() {
        tokio::select! {
            read = read_channel(&channel, &mut events), if !events.closed => {
                read.map_err(|e| {
                    Error::new(Kind::Local, format!("cannot read Ansible's events: {e}"))
                })?;
                while let Some(line) = events.next() {
                    let Ok(message) = decode(line.trim_end()) else { continue };
                    if matches!(message, Message::Claim { .. }) {
                        // One that only explains does not wait for this.
                        let _ = launch::answer_go(&channel, &[]);
                    }
                    messages.push(message);
                }
            }
            () = out.fill(), if !out.closed => while out.lines.next().is_some() {},
            () = err.fill(), if !err.closed => {
                while let Some(line) = err.lines.next() {
                    said.push_str(&line);
                }
            }
            status = child.wait() => exit = Some(Exit::of(status.ok())),
        }
    }
    rest_of_channel(&channel, &mut events);
    while let Some(line) = events.next() {
        messages.extend(decode(line.trim_end()).ok());
    }
    err.rest();
    while let Some(line) = err.lines.next() {
        said.push_str(&line);
    }
    Ok(Heard {
        messages,
        said,
        exit: exit.unwrap_or_default(),
    })
}
