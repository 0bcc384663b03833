//! Questions whose answers are not shown while they are typed.

use std::io;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::{Ui, text};
use crate::domain::secret::Secret;
use crate::error::{Error, Kind};

const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const CTRL_U: u8 = 0x15;
const CTRL_BACKSLASH: u8 = 0x1c;

impl Ui {
    /// Asks on the terminal, without echo. `otherwise` says how to give the
    /// answer where there is none.
    ///
    /// # Errors
    /// [`Kind::Usage`] when nobody can be asked.
    pub fn ask_secret(&self, what: &str, otherwise: &str) -> Result<Secret, Error> {
        if !self.streams.can_ask() {
            return Err(
                Error::usage(format!("cannot ask for the {what}: there is no terminal"))
                    .hint(otherwise),
            );
        }
        self.streams.err(&format!("{}: ", text::line(what)));
        let typed = type_unseen();
        self.streams.err("\n");
        match typed {
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Secret::new(text)),
                Err(_) => Err(Error::usage(format!("the {what} is not UTF-8"))),
            },
            Ok(None) => {
                // As if the terminal had sent it, now that the echo is back.
                let me = rustix::process::getpid();
                let _ = rustix::process::kill_process(me, rustix::process::Signal::INT);
                Err(Error::new(Kind::NotConfirmed, "interrupted"))
            }
            Err(e) => Err(Error::usage(format!("cannot read the {what}: {e}"))),
        }
    }
}

/// The terminal as it was, whatever happens.
struct Unseen(Termios);

impl Unseen {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut now = before.clone();
        // Signals come as characters: one that ended us here would leave the
        // user's shell without echo.
        now.local_modes
            .remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Drain, &now)?;
        Ok(Unseen(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.0);
    }
}

/// One line, byte by byte, so that the next question has what follows. None
/// when it was interrupted.
fn type_unseen() -> io::Result<Option<Vec<u8>>> {
    let _unseen = Unseen::begin()?;
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        match rustix::io::read(io::stdin(), &mut byte) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
        }
        match byte[0] {
            b'\n' | b'\r' => return Ok(Some(line)),
            CTRL_C | CTRL_BACKSLASH => return Ok(None),
            CTRL_D if line.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
            CTRL_D => return Ok(Some(line)),
            CTRL_U => line.clear(),
            0x08 | 0x7f => {
                // A whole character.
                while line.pop().is_some_and(|b| b & 0xc0 == 0x80) {}
            }
            b => line.push(b),
        }
    }
}
