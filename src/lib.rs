//! Kloigos: shares physical Linux servers between workloads through versioned
//! Ansible playbooks.

pub mod clock;
pub mod domain;
pub mod env;
pub mod error;
pub mod fs;
pub mod paths;
pub mod store;
pub mod yaml;
