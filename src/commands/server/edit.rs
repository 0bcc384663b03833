use std::net::IpAddr;

use clap::Args;

use super::add::unit_range;
use super::view;
use crate::commands::arguments::{self, WaitArgs, one_of};
use crate::commands::outcome::{self, Ended};
use crate::context::Context;
use crate::domain::address;
use crate::domain::cpu::CpuRange;
use crate::domain::name::{Hostname, LoginUser, Place, Tag};
use crate::domain::server::{Profile, ServerEdit};
use crate::error::Error;
use crate::ops;
use crate::ops::servers::Edited;

/// Change what is known of a server
///
/// What is not named stays. Further compute units and another profile need the
/// host too: SERVER_INIT runs, and the units are free when it has succeeded.
#[derive(Debug, Args)]
#[command(before_help = "\
Example:
  kloigos server edit lab1 --private-ip 192.0.2.20 --tag rack=7
  kloigos server edit lab1 --cu 8-11")]
#[command(override_usage = "kloigos server edit [OPTIONS] <HOST> <CHANGE>...")]
#[group(skip)]
#[command(group = clap::ArgGroup::new("change").multiple(true).required(true))]
pub struct EditArgs {
    /// Name of the server
    host: Hostname,

    /// Address inside the network that allocations use
    #[arg(long, value_name = "A", value_parser = address::parse, group = "change")]
    private_ip: Option<IpAddr>,

    /// Address to reach it by, when that is another one
    #[arg(long, value_name = "A", value_parser = address::parse, group = "change")]
    public_ip: Option<IpAddr>,

    /// It is reached by its private address
    #[arg(long, conflicts_with = "public_ip", group = "change")]
    no_public_ip: bool,

    /// SSH port
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..), group = "change")]
    port: Option<u16>,

    /// Login that may use sudo there
    #[arg(long, value_name = "USER", value_parser = LoginUser::admin, group = "change")]
    admin_user: Option<LoginUser>,

    #[arg(long, help = "Where it stands: the larger place", group = "change")]
    region: Option<Place>,

    #[arg(long, help = "Where it stands: the smaller place", group = "change")]
    zone: Option<Place>,

    /// Packages to install beside the needed ones; what is there stays
    #[arg(long, value_parser = one_of(Profile::ALL), ignore_case = true, group = "change")]
    profile: Option<Profile>,

    /// A label, set or replaced
    #[arg(long = "tag", value_name = "K=V", num_args = 1.., group = "change")]
    tags: Vec<Tag>,

    /// A label that goes
    #[arg(long, value_name = "K", num_args = 1.., group = "change")]
    untag: Vec<String>,

    /// CPUs of a further compute unit; once for each
    #[arg(long, value_name = "RANGE", num_args = 1.., value_parser = unit_range, group = "change")]
    cu: Vec<CpuRange>,

    #[command(flatten)]
    wait: WaitArgs,
}

pub fn run(cx: &Context, args: EditArgs) -> Result<(), Error> {
    let edit = ServerEdit {
        private_ip: args.private_ip,
        public_ip: match (args.public_ip, args.no_public_ip) {
            (None, true) => Some(None),
            (ip, _) => ip.map(Some),
        },
        port: args.port,
        admin_user: args.admin_user,
        region: args.region,
        zone: args.zone,
        profile: args.profile,
        tags: arguments::tags(args.tags)?,
        untag: args.untag,
        compute_units: args.cu,
    };
    let opened = cx.writer()?;
    let options = args.wait.lifecycle(cx);
    let edited = ops::servers::edit(
        &opened.services(),
        &args.host,
        &edit,
        &options,
        &mut *cx.ui.progress(),
    )?;
    match edited {
        Edited::Host(done) => outcome::done(cx, view::one, &done),
        Edited::Record(server) => cx.ui.show(
            &Ended {
                value: &server,
                run: None,
            },
            || view::one(cx, &server),
        ),
    }
}
