use clap::Args;

use super::{Addresses, flatten};
use crate::context::Context;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, View};

/// Put addresses into the pool
///
/// Of a block, the network and broadcast addresses are left out. Addresses
/// that are in the pool already stay as they are.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos ip add 192.0.2.100-192.0.2.120
  kloigos ip add 192.0.2.128/28 2001:db8::10")]
pub struct AddArgs {
    /// Address, CIDR block or FIRST-LAST
    #[arg(required = true, value_name = "ADDR|CIDR|FIRST-LAST")]
    addresses: Vec<Addresses>,
}

pub fn run(cx: &Context, args: AddArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let done = ops::addresses::add(&opened.services(), flatten(args.addresses))?;
    cx.ui.show(&done, || {
        View::new().fields([
            ("added", Cell::new(done.added.len())),
            ("there already", Cell::new(done.already.len())),
        ])
    })
}
