//! Ansible's output and events as lines, always drained: a full pipe would stop
//! the whole run.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::UnixStream;

/// A longer line is passed on in pieces, so that memory stays flat.
const LONGEST_LINE: usize = 64 * 1024;
/// What Ansible left unread is read to its end, unless a stray goes on writing.
const REST: Duration = Duration::from_secs(2);

/// Bytes cut into lines: any bytes, of any length.
pub(super) struct Lines {
    pending: Vec<u8>,
    /// A line longer than this comes in pieces.
    longest: usize,
    pub(super) closed: bool,
    /// No more bytes come: what is pending is the last line.
    flushed: bool,
}

impl Lines {
    /// For output: memory stays flat whatever is written.
    pub(super) fn in_pieces() -> Self {
        Lines::of(LONGEST_LINE)
    }

    /// For events, each of which must come whole; the callback bounds them.
    pub(super) fn whole() -> Self {
        Lines::of(usize::MAX)
    }

    fn of(longest: usize) -> Self {
        Lines {
            pending: Vec::new(),
            longest,
            closed: false,
            flushed: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    pub(super) fn close(&mut self) {
        self.flushed = true;
    }

    /// The next line with its end, or a piece of a long one without. Bytes
    /// that are no UTF-8 are replaced.
    pub(super) fn next(&mut self) -> Option<String> {
        let end = self.pending.iter().position(|b| *b == b'\n');
        let (length, last) = match end {
            Some(end) => (end + 1, false),
            None if self.pending.len() >= self.longest => (whole_characters(&self.pending), false),
            None if self.flushed && !self.pending.is_empty() => (self.pending.len(), true),
            None => return None,
        };
        let line: Vec<u8> = self.pending.drain(..length).collect();
        let mut text = String::from_utf8_lossy(&line).into_owned();
        if last {
            text.push('\n');
        }
        Some(text)
    }
}

/// How many bytes there are before a character that is only begun at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let begun = bytes.iter().rev().take(3).position(|b| *b >= 0xc0);
    let Some(back) = begun else {
        return bytes.len();
    };
    let lead = bytes.len() - 1 - back;
    let needed = match bytes[lead] {
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    };
    if back + 1 < needed { lead } else { bytes.len() }
}

pub(super) struct Output<R> {
    reader: R,
    pub(super) lines: Lines,
    pub(super) closed: bool,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Output<R> {
    pub(super) fn new(reader: R) -> Self {
        Output {
            reader,
            lines: Lines::in_pieces(),
            closed: false,
            buffer: vec![0; 32 * 1024],
        }
    }

    pub(super) async fn fill(&mut self) {
        match self.reader.read(&mut self.buffer).await {
            Ok(0) | Err(_) => {
                self.closed = true;
                self.lines.close();
            }
            Ok(n) => self.lines.push(&self.buffer[..n]),
        }
    }
}

impl<R: AsFd> Output<R> {
    /// What lies in the pipe now, without waiting.
    pub(super) fn rest(&mut self) {
        rest(&self.reader, &mut self.lines, &mut self.buffer);
        self.lines.close();
    }
}

/// What the callback has sent and nobody has read yet, without waiting.
pub(super) fn rest_of_channel(channel: &UnixStream, lines: &mut Lines) {
    rest(channel, lines, &mut vec![0; 32 * 1024]);
}

/// Reads a non-blocking descriptor until it has no more. Its readiness as the
/// runtime remembers it may be older than what was written last.
fn rest(from: &impl AsFd, lines: &mut Lines, buffer: &mut [u8]) {
    let started = Instant::now();
    while started.elapsed() < REST {
        match rustix::io::read(from, &mut *buffer) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) | Err(_) => return,
            Ok(n) => lines.push(&buffer[..n]),
        }
    }
}

/// Reads what there is of the callback's events. Their lines have no limit of
/// length here; the callback has one.
pub(super) async fn read_channel(channel: &UnixStream, lines: &mut Lines) -> std::io::Result<()> {
    let mut buffer = [0; 32 * 1024];
    channel.readable().await?;
    match channel.try_read(&mut buffer) {
        Ok(0) => lines.closed = true,
        Ok(n) => lines.push(&buffer[..n]),
        // The last process of Ansible ended with something of ours unread.
        Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => lines.closed = true,
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
        Err(e) => return Err(e),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lines: &mut Lines) -> Vec<String> {
        std::iter::from_fn(|| lines.next()).collect()
    }

    #[test]
    fn lines_come_whole_and_the_last_one_at_the_end() {
        let mut lines = Lines::in_pieces();
        lines.push(b"one\ntw");
        assert_eq!(all(&mut lines), ["one\n"]);
        lines.push(b"o\n\xe9\xff\nrest");
        assert_eq!(all(&mut lines), ["two\n", "\u{fffd}\u{fffd}\n"]);
        lines.close();
        assert_eq!(all(&mut lines), ["rest\n"]);
    }

    #[test]
    fn an_event_comes_whole_however_long() {
        let mut lines = Lines::whole();
        lines.push(&vec![b'x'; 10 * LONGEST_LINE]);
        assert!(lines.next().is_none());
        lines.push(b"\n");
        assert_eq!(lines.next().map(|l| l.len()), Some(10 * LONGEST_LINE + 1));
    }

    #[test]
    fn a_line_without_an_end_is_passed_on_in_pieces_cut_on_a_character() {
        let mut lines = Lines::in_pieces();
        let long = "x".to_owned() + &"é".repeat(LONGEST_LINE);
        let mut text = String::new();
        for chunk in long.as_bytes().chunks(1000) {
            lines.push(chunk);
            text.extend(all(&mut lines));
            assert!(lines.pending.len() < LONGEST_LINE);
        }
        lines.close();
        text.extend(all(&mut lines));
        assert_eq!(text, long + "\n");
    }
}
