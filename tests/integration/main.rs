//! The whole program and its rooms, in one binary.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod again;
mod bad_input;
mod cli;
mod engine;
mod engine_claims;
mod engine_end;
mod engine_prompts;
mod history;
mod house;
mod lifecycle;
mod processes;
mod program;
mod ssh;
mod sshd;
mod store;
