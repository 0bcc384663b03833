//! Storage that SERVER_INIT found and left alone, until its name is given.

use serde::Deserialize;

use crate::domain::run::{RunOutcome, RunStatus};

/// The only volume group with free space, where nobody named storage: what a
/// playbook returned as `candidate_vg`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OnlyGroup {
    pub name: String,
    pub free_mb: u64,
    /// What would be made there: so many volumes of this size.
    pub volumes: u64,
    pub volume_mb: u64,
}

/// What a failed SERVER_INIT leaves to be confirmed. An operator's own playbook
/// may return something else under that name, which is then nothing.
pub fn only_group(run: &RunOutcome) -> Option<OnlyGroup> {
    if run.status != RunStatus::Failed {
        return None;
    }
    OnlyGroup::deserialize(run.data.as_ref()?.get("candidate_vg")?).ok()
}
