//! Signals as a stream, so that one place decides what they mean.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::domain::run::RunEnding;
use crate::error::{Error, Kind};

/// Who asked for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cancel {
    Hup,
    Int,
    Term,
}

impl Cancel {
    pub(super) fn name(self) -> &'static str {
        match self {
            Cancel::Hup => "HUP",
            Cancel::Int => "INT",
            Cancel::Term => "TERM",
        }
    }

    pub(super) fn ending(self) -> RunEnding {
        match self {
            Cancel::Hup => RunEnding::CancelledHup,
            Cancel::Int => RunEnding::CancelledInt,
            Cancel::Term => RunEnding::CancelledTerm,
        }
    }
}

pub(super) struct Signals {
    hup: Signal,
    int: Signal,
    term: Signal,
}

impl Signals {
    /// From here on the signals no longer end the process.
    pub(super) fn listen() -> Result<Self, Error> {
        let open = |kind| {
            signal(kind)
                .map_err(|e| Error::new(Kind::Local, format!("cannot listen for signals: {e}")))
        };
        Ok(Signals {
            hup: open(SignalKind::hangup())?,
            int: open(SignalKind::interrupt())?,
            term: open(SignalKind::terminate())?,
        })
    }

    pub(super) async fn next(&mut self) -> Cancel {
        tokio::select! {
            _ = self.hup.recv() => Cancel::Hup,
            _ = self.int.recv() => Cancel::Int,
            _ = self.term.recv() => Cancel::Term,
        }
    }
}
