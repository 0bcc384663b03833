//! Use cases: what a command does from start to end. Operations decide, record
//! and start runs; they speak through a
//! [`Reporter`](crate::domain::report::Reporter) and never draw.

pub mod addresses;
pub mod allocations;
pub mod compute_units;
pub mod content;
pub mod events;
mod hooks;
pub mod init;
mod lifecycle;
mod packaged;
pub mod playbooks;
pub mod runs;
pub mod secrets;
pub mod servers;
pub mod settings;
pub mod storage;
mod truth;

use crate::clock::Clock;
use crate::domain::run::{RunOutcome, Wait};
use crate::env::Env;
use crate::error::Error;
use crate::paths::Paths;
use crate::runner;
use crate::store::{self, Store};

pub use crate::store::events::EventFilter;

/// What every operation works with.
#[derive(Clone, Copy)]
pub struct Services<'a> {
    pub store: &'a Store,
    pub paths: &'a Paths,
    pub clock: &'a Clock,
    pub env: &'a Env,
}

/// A lifecycle operation whose run ended, well or badly: `value` is the
/// resource as it now is.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Done<T> {
    pub value: T,
    pub run: RunOutcome,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct LifecycleOptions {
    pub wait: Wait,
    pub verbosity: u8,
}

/// For commands that only read.
pub fn open_reader(paths: &Paths, clock: &Clock, env: &Env) -> Result<Store, Error> {
    Ok(store::open_reader(paths, *clock, env)?)
}

/// For commands that write. First the runs whose processes have died are
/// marked so, and what they were doing with them.
pub fn open_writer(paths: &Paths, clock: &Clock, env: &Env) -> Result<Store, Error> {
    let store = store::open_writer(paths, *clock, env)?;
    runner::sweep(&store, paths, &mut |tx, run| {
        lifecycle::settle(tx, run.id, None)
    })?;
    Ok(store)
}
