//! The whole program and its rooms, in one binary.

mod house;
mod store;
