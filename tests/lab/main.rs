//! The main path on a real host: a real kernel, real systemd, real SSH.
//!
//! One host is booted and the steps build on each other, since a boot costs
//! half a minute and SERVER_INIT another. Each step says what it saw.

mod host;
mod main_path;
