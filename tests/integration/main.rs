//! The whole program and its rooms, in one binary.

mod bad_input;
mod engine;
mod house;
mod lifecycle;
mod processes;
mod program;
mod ssh;
mod sshd;
mod store;
