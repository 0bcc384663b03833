//! Whether runs log in with credentials of their own, and which playbooks make
//! them: fixed with the request of a run.

use serde_json::json;

use super::playbooks;
use crate::domain::name::PlaybookName;
use crate::domain::settings::{
    HOOK_CLEANUP, HOOK_DIR_ROOT, HOOK_ENABLED, HOOK_PREPARE, HOOK_RETAIN,
};
use crate::error::{Error, Kind};
use crate::runner::{HookPlaybook, Hooks, RunRequest};
use crate::store::Tx;

pub(super) fn enabled(tx: &Tx<'_>) -> Result<bool, Error> {
    Ok(tx.settings().flag(&HOOK_ENABLED)?)
}

/// Gives the request its hooks, if they are enabled.
///
/// # Errors
/// `Refused` when nothing would be prepared: the long-lived key would be used,
/// and nobody would notice.
pub(super) fn attach(tx: &Tx<'_>, request: &mut RunRequest) -> Result<(), Error> {
    if !enabled(tx)? {
        return Ok(());
    }
    let settings = tx.settings();
    let prepare = settings.value(&HOOK_PREPARE)?;
    let cleanup = settings.value(&HOOK_CLEANUP)?;
    // A hook by itself, to try it: it works on this machine.
    if [&prepare, &cleanup].contains(&&request.playbook.to_string()) {
        return Ok(());
    }
    let version = playbooks::find(tx, &PlaybookName::parse(&prepare)?, None)
        .map_err(|e| e.hint(format!("it is named by the setting {HOOK_PREPARE}")))?;
    if version.packaged {
        return Err(Error::new(
            Kind::Refused,
            format!(
                "refused to run {}: {HOOK_ENABLED} is true, but {prepare} is the packaged placeholder, which makes no credentials",
                request.playbook
            ),
        )
        .hint(format!(
            "push your own with `kloigos playbook push {prepare} FILE --default`"
        ))
        .hint(format!(
            "or log in with long-lived keys: `kloigos setting set {HOOK_ENABLED} false`"
        )));
    }
    let prepare = hook(tx, &prepare)?;
    let cleanup = match cleanup.as_str() {
        "" => None,
        name => Some(
            hook(tx, name)
                .map_err(|e| e.hint(format!("it is named by the setting {HOOK_CLEANUP}")))?,
        ),
    };
    let told = |h: &HookPlaybook| json!({ "playbook": h.playbook, "version": h.version, "digest": h.digest });
    if let Some(kept) = request.request_json.as_object_mut() {
        kept.insert(
            "ssh_credential_hook".into(),
            json!({ "prepare": told(&prepare), "cleanup": cleanup.as_ref().map(told) }),
        );
    }
    request.hooks = Some(Hooks {
        prepare,
        cleanup,
        dir_root: settings.value(&HOOK_DIR_ROOT)?.into(),
        retain: settings.flag(&HOOK_RETAIN)?,
    });
    Ok(())
}

fn hook(tx: &Tx<'_>, name: &str) -> Result<HookPlaybook, Error> {
    let version = playbooks::find(tx, &PlaybookName::parse(name)?, None)?;
    Ok(HookPlaybook {
        content: tx.playbooks().content(&version)?,
        playbook: version.name,
        version: version.version,
        digest: version.digest,
    })
}
