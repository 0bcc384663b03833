//! The main path on a real host: a real kernel, real systemd, real SSH.
//!
//! One host is booted and the steps build on each other, since a boot costs
//! half a minute and SERVER_INIT another. Each step says what it saw.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]
#![allow(
    clippy::print_stdout,
    reason = "minutes pass; the watcher wants to see where it is"
)]

mod decommission;
mod disks;
mod faults;
mod host;
mod isolation;
mod main_path;
mod modules;
mod owner;
mod profiles;
mod reboot;
mod snapshot;
mod tenant;
