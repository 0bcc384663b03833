use clap::Args;
use serde_json::json;

use super::{Addresses, flatten};
use crate::context::Context;
use crate::error::Error;
use crate::ops;
use crate::ui::{Cell, View};

/// Take free addresses out of the pool
///
/// All or none: one that is in use, or not in the pool, keeps them all.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  kloigos ip remove 192.0.2.120")]
pub struct RemoveArgs {
    /// Address, CIDR block or FIRST-LAST
    #[arg(required = true, value_name = "ADDR|CIDR|FIRST-LAST")]
    addresses: Vec<Addresses>,
}

pub fn run(cx: &Context, args: RemoveArgs) -> Result<(), Error> {
    let opened = cx.writer()?;
    let removed = ops::addresses::remove(&opened.services(), flatten(args.addresses))?;
    cx.ui.show(&json!({"removed": removed}), || {
        View::new().fields([("removed", Cell::new(removed.len()))])
    })
}
