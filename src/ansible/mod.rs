//! The only code that knows Ansible: which one, how it is started, what it
//! says, and how it is ended.
//!
//! A run is one `ansible-playbook` process in a session of its own. The
//! callback plugin `callback.py` (embedded) writes its events to one end of a
//! socket pair and waits there, before the first task, until the runner has
//! the claims.

mod config;
pub mod error;
pub mod events;
pub mod install;
pub mod inventory;
pub mod launch;
pub mod lint;
pub mod processes;
pub mod syntax;

pub use error::AnsibleError;
pub use install::Install;

/// The event callback, written beside each run.
pub const CALLBACK: &str = include_str!("callback.py");
