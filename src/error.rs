//! Errors as the user meets them: a kind, a message, hints. One exhaustive
//! match gives the exit code.

use std::fmt;

use crate::domain::run::RunEnding;

/// Exit codes, a contract with scripts (design: "Commands").
pub mod exit {
    pub const DONE: u8 = 0;
    pub const TASK_FAILED: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const NOT_FOUND: u8 = 3;
    pub const WRONG_STATE: u8 = 4;
    pub const CLAIM_TIMEOUT: u8 = 5;
    pub const UNREACHABLE: u8 = 6;
    pub const REFUSED: u8 = 7;
    pub const NO_HOSTS: u8 = 8;
    pub const STORE: u8 = 9;
    pub const ANSIBLE: u8 = 10;
    pub const EXISTS: u8 = 11;
    pub const NO_CAPACITY: u8 = 12;
    pub const WOULD_CHANGE: u8 = 20;
    pub const HUP: u8 = 129;
    pub const INT: u8 = 130;
    pub const TERM: u8 = 143;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command line or an input is wrong.
    Usage,
    NotFound,
    WrongState,
    /// A policy, hold or interlock says no.
    Refused,
    /// The store or its directory cannot be used.
    Store,
    /// Ansible or ssh is missing or unusable.
    Ansible,
    Exists,
    NoCapacity,
    /// A run ended so; its own report has been shown.
    Run(RunEnding),
    /// A run that was only explained would end so.
    WouldEnd(RunEnding),
    /// A run ended with this code; why, and what to do, has been shown.
    Told {
        exit_code: u8,
    },
    /// The user said no, or could not be asked.
    NotConfirmed,
    /// A local file or process failed in a way that has no code of its own.
    Local,
}

impl Kind {
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Usage | Kind::NotConfirmed => exit::USAGE,
            Kind::NotFound => exit::NOT_FOUND,
            Kind::WrongState => exit::WRONG_STATE,
            Kind::Refused => exit::REFUSED,
            Kind::Store => exit::STORE,
            Kind::Ansible => exit::ANSIBLE,
            Kind::Exists => exit::EXISTS,
            Kind::NoCapacity => exit::NO_CAPACITY,
            Kind::Local => exit::TASK_FAILED,
            Kind::Told { exit_code } => exit_code,
            Kind::Run(ending) | Kind::WouldEnd(ending) => match ending {
                RunEnding::Success => exit::DONE,
                RunEnding::WouldChange => exit::WOULD_CHANGE,
                RunEnding::TaskFailed
                | RunEnding::TargetMissed
                | RunEnding::AnsibleError
                | RunEnding::Interrupted => exit::TASK_FAILED,
                RunEnding::Unreachable => exit::UNREACHABLE,
                RunEnding::NoHosts => exit::NO_HOSTS,
                RunEnding::ClaimTimeout => exit::CLAIM_TIMEOUT,
                RunEnding::CancelledHup => exit::HUP,
                RunEnding::CancelledInt => exit::INT,
                RunEnding::CancelledTerm => exit::TERM,
            },
        }
    }
}

#[derive(Debug)]
pub struct Error {
    pub kind: Kind,
    /// A lower-case fragment: what was tried, on what, why it failed.
    pub message: String,
    /// What the user can do; whole sentences or commands.
    pub hints: Vec<String>,
}

impl Error {
    pub fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Error {
            kind,
            message: message.to_string(),
            hints: Vec::new(),
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub fn usage(message: impl fmt::Display) -> Self {
        Error::new(Kind::Usage, message)
    }

    pub fn not_found(message: impl fmt::Display) -> Self {
        Error::new(Kind::NotFound, message)
    }

    /// A file of the store's own that cannot be used.
    pub fn store(e: crate::fs::FsError) -> Self {
        let too_many = e.source.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error());
        Error {
            kind: if too_many { Kind::Local } else { Kind::Store },
            ..Error::from(e)
        }
    }

    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Errors of `domain` that mean "the input is wrong".
macro_rules! usage_errors {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(e: $error) -> Self {
                Error::usage(e)
            }
        })+
    };
}

usage_errors!(
    crate::domain::name::InvalidName,
    crate::domain::cpu::CpuRangeError,
    crate::domain::address::AddressError,
    crate::domain::ssh_key::SshKeyError,
    crate::domain::secret::SecretError,
    crate::domain::variables::VariableError,
    crate::domain::transition::UnknownWord,
);

impl From<crate::domain::transition::WrongState> for Error {
    fn from(e: crate::domain::transition::WrongState) -> Self {
        Error {
            kind: Kind::WrongState,
            message: e.to_string(),
            hints: e.hints,
        }
    }
}

impl From<crate::domain::settings::SettingError> for Error {
    fn from(e: crate::domain::settings::SettingError) -> Self {
        match e {
            crate::domain::settings::SettingError::Unknown(_) => {
                Error::not_found(e).hint("`kloigos setting list` shows them all")
            }
            crate::domain::settings::SettingError::Value { .. } => Error::usage(e),
        }
    }
}

impl From<crate::fs::FsError> for Error {
    fn from(e: crate::fs::FsError) -> Self {
        let mut error = Error::new(Kind::Local, &e);
        if e.source.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) {
            return error.hint("each host takes an open file: raise the hard limit (`ulimit -Hn`), or run on fewer hosts at once");
        }
        if let Some((path, uid)) = e.foreign_owner() {
            error = error.hint(format!(
                "{} belongs to UID {uid}; give it back with `sudo chown -R \"$(id -u)\" {}`",
                path.display(),
                path.display()
            ));
        }
        error
    }
}

impl From<crate::store::StoreError> for Error {
    fn from(e: crate::store::StoreError) -> Self {
        let kind = match &e {
            crate::store::StoreError::Conflict { .. } => Kind::WrongState,
            _ => Kind::Store,
        };
        Error {
            kind,
            hints: e.hints(),
            message: e.to_string(),
        }
    }
}

impl From<crate::ansible::AnsibleError> for Error {
    fn from(e: crate::ansible::AnsibleError) -> Self {
        Error {
            kind: Kind::Ansible,
            hints: e.hints(),
            message: e.to_string(),
        }
    }
}
