//! Kloigos: shares physical Linux servers between workloads through versioned
//! Ansible playbooks.

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
pub mod store;
pub mod ui;
pub mod yaml;
