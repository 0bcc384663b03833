//! One folder a noun, one file a verb: the arguments beside their handler. A
//! handler turns arguments into one resolved value, calls the operation, and
//! shows what came back.

pub mod alloc;
mod arguments;
pub mod cu;
pub mod event;
pub mod init;
pub mod ip;
mod outcome;
pub mod playbook;
pub mod run;
pub mod runs;
mod secrets;
pub mod server;
pub mod setting;
