//! The pool of floating addresses.

mod add;
mod list;
mod remove;

use std::net::IpAddr;

use clap::Subcommand;

use crate::context::Context;
use crate::domain::address::{self, AddressError};
use crate::error::Error;

/// The pool of floating addresses
#[derive(Debug, Subcommand)]
#[command(
    before_help = "Example:\n  kloigos ip list",
    disable_help_subcommand = true
)]
pub enum IpCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Remove(remove::RemoveArgs),
}

impl IpCommand {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            IpCommand::Add(args) => add::run(cx, args),
            IpCommand::List(args) => list::run(cx, args),
            IpCommand::Remove(args) => remove::run(cx, args),
        }
    }
}

/// What one argument names: an address, a block or a range.
#[derive(Debug, Clone)]
struct Addresses(Vec<IpAddr>);

impl std::str::FromStr for Addresses {
    type Err = AddressError;

    fn from_str(s: &str) -> Result<Self, AddressError> {
        address::parse_range(s).map(Addresses)
    }
}

/// All of them in order, each once.
fn flatten(ranges: Vec<Addresses>) -> Vec<IpAddr> {
    let mut all: Vec<IpAddr> = ranges.into_iter().flat_map(|r| r.0).collect();
    all.sort_unstable();
    all.dedup();
    all
}
