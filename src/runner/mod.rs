//! One run from claim to outcome: its request, the queue for its hosts, the
//! child process, the record, the cancel.
//!
//! A run executes only with [`claims::HostClaims`] in hand, and its status and
//! the states of what it acts on change in one transaction.

mod cancel;
mod check;
pub mod claims;
mod credentials;
mod engine;
mod execute;
mod explain;
mod files;
mod hidden;
mod hook_variables;
mod key;
mod listen;
mod listeners;
mod liveness;
mod orphans;
mod owner;
mod progress;
mod recorder;
mod request;
mod ssh;
mod start;
mod strays;
mod streams;
mod unreachable;
mod waiting;

pub use crate::ansible::Install;
pub use crate::ansible::lint::Lint;
pub use check::{check_syntax, lint};
pub use claims::waits_for;
pub use engine::{Engine, check_ansible, prepare_ansible};
pub use execute::execute;
pub use explain::{Explained, ExplainedHost, ExplainedPlay, explain};
pub use key::check_key;
pub use liveness::is_alive;
pub use orphans::{orphan_ids, sweep};
pub use owner::ask_to_end;
pub use request::{
    HookPlaybook, Hooks, Password, RegisteredRun, RunOptions, RunRequest, TargetServer, Targets,
    Vault, register,
};
pub use ssh::{forget_host_key, known_host_keys, learn_host_key, ssh_session};
pub use strays::{Look, Stray, look_for_strays};
