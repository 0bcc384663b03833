//! The whole program and its rooms, in one binary.

mod engine;
mod house;
mod store;
