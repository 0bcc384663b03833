//! How changes of a playbook look.

use crate::context::Context;
use crate::error::Error;
use crate::ops::playbooks::DefaultChange;
use crate::ui::{Cell, View};

pub(super) fn default_change(cx: &Context, change: &DefaultChange) -> Result<(), Error> {
    if !change.changed {
        cx.ui.note(&format!(
            "version {} is the default already",
            change.version
        ));
    }
    cx.ui.show(change, || {
        View::new().fields([
            ("playbook", Cell::new(&change.name)),
            ("default", Cell::new(change.version)),
            ("before", Cell::new(change.previous)),
        ])
    })
}
