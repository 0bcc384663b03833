//! Kloigos: shares physical Linux servers between workloads through versioned
//! Ansible playbooks.
//!
//! The map of the crate, and who may use whom (`tests/integration/house.rs`
//! holds this table):
//!
//! | room | what is in it | uses |
//! |---|---|---|
//! | [`domain`] | pure rules and state machines: no SQL, I/O or clock | nothing |
//! | [`store`] | all SQL: open, migrate, one file a table family | domain |
//! | [`ansible`] | the only code that knows Ansible | domain |
//! | [`runner`] | one run from claim to outcome | ansible, store, domain |
//! | [`ops`] | use cases, one file a family | domain, store, runner |
//! | [`ui`] | tables, progress, JSON shapes, prompts | domain |
//! | [`commands`] | one folder a noun, one file a verb | ops, ui, domain, and the [`context`] that each is given |
//!
//! The doors to the outside are open to every room but `domain`: [`env`] (the
//! environment), [`clock`], [`paths`], [`fs`] (files), [`yaml`], and [`error`]
//! (kinds, hints, exit codes). [`app`], [`cli`] and [`context`] put the program
//! together and may see everything.

pub mod ansible;
pub mod app;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod context;
pub mod domain;
pub mod env;
pub mod error;
pub mod fs;
pub mod ops;
pub mod paths;
pub mod runner;
pub mod store;
pub mod ui;
pub mod yaml;
