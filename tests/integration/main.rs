//! The whole program and its rooms, in one binary.
#![allow(clippy::unwrap_used, reason = "a test may stop where it fails")]

mod accepted;
mod again;
mod bad_input;
mod cases;
mod cli;
mod decommission;
mod edit;
mod engine;
mod engine_claims;
mod engine_end;
mod engine_prompts;
mod explain;
mod history;
mod hooks;
mod hooks_end;
mod house;
mod lifecycle;
mod operators;
mod power_cut;
mod processes;
mod program;
mod secrets;
mod secrets_typed;
mod ssh;
mod sshd;
mod storage;
mod store;
mod variables;
mod versions;
