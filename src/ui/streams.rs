//! The process's three standard streams, and the only place that writes to
//! them.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, IsTerminal, Write};
use std::ops::ControlFlow;

use console::Term;

use crate::error::{Error, Kind};

pub(super) struct Streams {
    in_terminal: bool,
    out_terminal: bool,
    err_terminal: bool,
    /// Nobody reads stdout any more, or it could not be written.
    closed: Cell<bool>,
    failure: RefCell<Option<io::Error>>,
}

impl Streams {
    pub fn standard() -> Self {
        Streams {
            in_terminal: io::stdin().is_terminal(),
            out_terminal: io::stdout().is_terminal(),
            err_terminal: io::stderr().is_terminal(),
            closed: Cell::new(false),
            failure: RefCell::new(None),
        }
    }

    pub fn out_is_terminal(&self) -> bool {
        self.out_terminal
    }

    pub fn err_is_terminal(&self) -> bool {
        self.err_terminal
    }

    /// Whether a question can be asked and answered.
    pub fn can_ask(&self) -> bool {
        self.in_terminal && self.err_terminal
    }

    /// Columns and rows.
    pub fn out_size(&self) -> (usize, usize) {
        size(&Term::stdout())
    }

    pub fn err_size(&self) -> (usize, usize) {
        size(&Term::stderr())
    }

    pub fn out(&self, text: &str) -> ControlFlow<()> {
        self.out_bytes(text.as_bytes())
    }

    pub fn out_bytes(&self, bytes: &[u8]) -> ControlFlow<()> {
        if self.closed.get() {
            return ControlFlow::Break(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.closed.set(true);
                // `| head` has seen enough; that is no failure.
                if e.kind() != io::ErrorKind::BrokenPipe {
                    *self.failure.borrow_mut() = Some(e);
                }
                ControlFlow::Break(())
            }
        }
    }

    /// Best effort: there is nowhere left to complain.
    pub fn err(&self, text: &str) {
        let mut err = io::stderr().lock();
        let _ = err.write_all(text.as_bytes());
        let _ = err.flush();
    }

    pub fn read_line(&self) -> io::Result<String> {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        Ok(line)
    }

    pub fn read_input(&self, limit: u64) -> Result<Vec<u8>, Error> {
        crate::fs::take_at_most(io::stdin().lock(), limit)
            .map_err(|e| Error::usage(format!("cannot read standard input: {e}")))
    }

    pub fn take_failure(&self) -> Option<Error> {
        self.failure
            .borrow_mut()
            .take()
            .map(|e| Error::new(Kind::Local, format!("cannot write to standard output: {e}")))
    }
}

fn size(term: &Term) -> (usize, usize) {
    let (rows, columns) = term.size_checked().unwrap_or((24, 80));
    // Some pseudo-terminals say 0 × 0 until somebody sets a size.
    match (columns, rows) {
        (0, _) | (_, 0) => (80, 24),
        (c, r) => (usize::from(c), usize::from(r)),
    }
}
