use std::net::IpAddr;

use clap::Args;

use super::{confirm, view};
use crate::commands::arguments::{self, WaitArgs, one_of};
use crate::commands::outcome::{self, Ended};
use crate::context::Context;
use crate::domain::address;
use crate::domain::cpu::CpuRange;
use crate::domain::name::{Hostname, LoginUser, Place, Tag};
use crate::domain::server::{NewServer, Profile, StorageWish};
use crate::error::Error;
use crate::ops;
use crate::ops::servers::StorageAmend;

/// Register a server and make it ready for allocations
///
/// Shows the host's key fingerprint, accepts it into a list of its own, and
/// runs SERVER_INIT unless --no-init is given.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos server add lab1 --private-ip 192.0.2.10 --admin-user debian \\
      --region home --zone rack1 --cu 0-3 --cu 4-7 --disk /dev/sdb")]
pub struct AddArgs {
    /// Name of the server
    host: Hostname,

    /// Address inside the network that allocations use
    #[arg(long, value_name = "A", value_parser = address::parse)]
    private_ip: IpAddr,

    /// Address to reach it by, when that is another one
    #[arg(long, value_name = "A", value_parser = address::parse)]
    public_ip: Option<IpAddr>,

    /// SSH port
    #[arg(long, default_value_t = 22, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,

    /// Login that may use sudo there
    #[arg(long, value_name = "USER", value_parser = LoginUser::admin)]
    admin_user: LoginUser,

    #[arg(long, help = "Where it stands: the larger place")]
    region: Place,

    #[arg(long, help = "Where it stands: the smaller place")]
    zone: Place,

    /// Packages to install beside the needed ones
    #[arg(long, value_parser = one_of(Profile::ALL), default_value = "standard", ignore_case = true)]
    profile: Profile,

    /// CPUs of one compute unit: 0-3, 0-6:2 or 0,2,5; once for each unit
    #[arg(long, value_name = "RANGE", required = true, num_args = 1.., value_parser = unit_range)]
    cu: Vec<CpuRange>,

    #[command(flatten)]
    storage: StorageArgs,

    /// A label
    #[arg(long = "tag", value_name = "K=V", num_args = 1..)]
    tags: Vec<Tag>,

    /// Only register it; `kloigos server init` goes on later
    #[arg(long, conflicts_with_all = ["wait", "no_wait"])]
    no_init: bool,

    /// Take over a host that carries another store's owner stamp
    #[arg(long)]
    adopt: bool,

    #[command(flatten)]
    wait: WaitArgs,
}

#[derive(Debug, Args)]
pub(super) struct StorageArgs {
    /// Volume group for the compute units' volumes
    ///
    /// Without --vg and --disk nothing is written. Where exactly one volume group
    /// has free space, it is shown, and taken once its name is typed on the
    /// terminal. --yes is no answer to that: a script gives --vg.
    #[arg(long, value_name = "NAME", conflicts_with = "disks")]
    pub vg: Option<String>,

    /// Unused disk for the compute units' volumes
    ///
    /// Once for each disk. What an old file system or an empty partition table
    /// left on it is wiped. A disk in use, with partitions, or of a RAID, a pool,
    /// another volume group or LUKS is refused.
    #[arg(long = "disk", value_name = "DEV", num_args = 1..)]
    pub disks: Vec<String>,

    /// GiB for each compute unit [default: the space there is, split evenly]
    #[arg(long = "disk-size", value_name = "GIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub disk_size_gb: Option<u32>,
}

/// `--cu` takes several values, and so also a name that follows them.
pub(super) fn unit_range(typed: &str) -> Result<CpuRange, String> {
    CpuRange::parse(typed).map_err(|e| match Hostname::parse(typed) {
        Ok(_) if typed.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            format!("{e}; the name of the server goes before --cu")
        }
        _ => e.to_string(),
    })
}

pub fn run(cx: &Context, args: AddArgs) -> Result<(), Error> {
    let new = NewServer {
        hostname: args.host.clone(),
        private_ip: args.private_ip,
        public_ip: args.public_ip,
        port: args.port,
        admin_user: args.admin_user,
        region: args.region,
        zone: args.zone,
        profile: args.profile,
        compute_units: args.cu,
        storage: StorageWish {
            vg: args.storage.vg,
            disks: args.storage.disks,
            disk_size_gb: args.storage.disk_size_gb,
        },
        adopt: args.adopt,
        tags: arguments::tags(args.tags)?,
    };
    let opened = cx.writer()?;
    let services = opened.services();
    if args.no_init {
        let server = ops::servers::add(&services, new, &mut *cx.ui.progress())?;
        cx.ui.show(
            &Ended {
                value: &server,
                run: None,
            },
            || view::one(cx, &server),
        )?;
        cx.ui.note(&format!(
            "`kloigos server init {}` makes it ready",
            server.hostname
        ));
        return Ok(());
    }
    let done = {
        let mut progress = cx.ui.progress();
        ops::servers::add(&services, new, &mut *progress)?;
        let options = args.wait.lifecycle(cx);
        let amend = StorageAmend::default();
        ops::servers::init(&services, &args.host, amend, &options, &mut *progress)?
    };
    let done = confirm::go_on(cx, &services, &args.host, done, &args.wait)?;
    outcome::done(cx, view::one, &done)
}
