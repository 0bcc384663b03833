//! Pure rules and state machines: no SQL, no I/O, no clock, no environment.
//!
//! Everything here is a value or a function of values. Statuses change only
//! through the methods of this module, which hand out [`transition::Change`]s.

pub mod address;
pub mod allocation;
pub mod compute_unit;
pub mod cpu;
pub mod duration;
pub mod event;
pub mod ip;
pub mod lifecycle;
pub mod masker;
pub mod memory;
pub mod name;
pub mod placement;
pub mod playbook;
pub mod report;
pub mod request;
pub mod run;
pub mod run_event;
pub mod secret;
pub mod server;
pub mod settings;
pub mod since;
pub mod ssh_key;
pub mod text;
pub mod time;
pub mod transition;
pub mod variables;
pub mod vault;
