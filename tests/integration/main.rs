//! The whole program and its rooms, in one binary.

mod bad_input;
mod cli;
mod engine;
mod house;
mod lifecycle;
mod processes;
mod program;
mod store;
