//! The one volume group with room, shown and confirmed (design: "Storage").

use crate::commands::arguments::WaitArgs;
use crate::context::Context;
use crate::domain::name::Hostname;
use crate::domain::server::Server;
use crate::error::Error;
use crate::ops::servers::StorageAmend;
use crate::ops::{self, Done, Services, storage};
use crate::ui::{bytes, count};

/// Where SERVER_INIT stopped because nobody named storage, shows the only
/// volume group that there is room in, and goes on with it once its name is
/// typed. Everything else is as it was.
pub(super) fn go_on(
    cx: &Context,
    services: &Services<'_>,
    host: &Hostname,
    done: Done<Server>,
    wait: &WaitArgs,
) -> Result<Done<Server>, Error> {
    let Some(found) = storage::only_group(&done.run) else {
        return Ok(done);
    };
    let mib = |n: u64| bytes(n.saturating_mul(1024 * 1024));
    let consequence = format!(
        "On {host} only the volume group {} has free space ({}); this makes {} of {} there.",
        found.name,
        mib(found.free_mb),
        count(
            usize::try_from(found.volumes).unwrap_or(usize::MAX),
            "volume"
        ),
        mib(found.volume_mb),
    );
    if !cx.ui.confirm_seen(&found.name, &consequence)? {
        return Ok(done);
    }
    let amend = StorageAmend {
        vg: Some(found.name),
        ..StorageAmend::default()
    };
    let mut progress = cx.ui.progress();
    ops::servers::init(services, host, amend, &wait.lifecycle(cx), &mut *progress)
}
