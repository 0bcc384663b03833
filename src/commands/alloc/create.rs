use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::view;
use crate::commands::arguments::{self, WaitArgs};
use crate::commands::outcome;
use crate::context::Context;
use crate::domain::address;
use crate::domain::name::{AllocationId, ComputeUnitId, LoginUser, Place, Tag};
use crate::domain::placement::Wish;
use crate::domain::ssh_key::TenantKey;
use crate::error::Error;
use crate::ops;
use crate::ops::allocations::NewAllocation;

/// Give a workload its place
///
/// Chooses a free compute unit (least loaded server first) and a free address,
/// and runs ALLOCATION_CREATE there.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos alloc create web --key ~/.ssh/id_ed25519.pub
  kloigos alloc create --user ana --key - --cpus 4 --region home < ana.pub")]
pub struct CreateArgs {
    /// Id of the allocation [default: alloc-<n>]
    id: Option<AllocationId>,

    /// File with the tenant's OpenSSH public key; - reads standard input
    #[arg(long, value_name = "FILE|-")]
    key: PathBuf,

    /// Login user on the server [default: the id]
    #[arg(long)]
    user: Option<LoginUser>,

    /// A unit with this many CPUs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,

    /// A unit in this region
    #[arg(long)]
    region: Option<Place>,

    /// A unit in this zone
    #[arg(long)]
    zone: Option<Place>,

    /// This very unit
    #[arg(long, value_name = "ID")]
    cu: Option<ComputeUnitId>,

    /// This address of the pool
    #[arg(long, value_name = "A", value_parser = address::parse)]
    ip: Option<IpAddr>,

    /// A label
    #[arg(long = "tag", value_name = "K=V", num_args = 1..)]
    tags: Vec<Tag>,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: CreateArgs) -> Result<(), Error> {
    let key = arguments::text_of(cx, &args.key, "public key")?;
    let new = NewAllocation {
        id: args.id,
        user: args.user,
        key: TenantKey::parse(&key)?,
        wish: Wish {
            cpus: args.cpus,
            region: args.region,
            zone: args.zone,
            unit: args.cu,
        },
        address: args.ip,
        tags: arguments::tags(args.tags)?,
    };
    let opened = cx.writer()?;
    let options = args.wait.lifecycle(cx);
    outcome::act(cx, view::one, |progress| {
        ops::allocations::create(&opened.services(), new, &options, progress)
    })
}
