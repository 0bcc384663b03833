//! How a setting looks.

use serde_json::Value;

use crate::ops::settings::SettingView;
use crate::ui::{Cell, View};

/// The value as `setting set` takes it.
pub fn value(setting: &SettingView) -> String {
    match &setting.value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

pub fn one(setting: &SettingView) -> View {
    let origin = if setting.is_default { "default" } else { "set" };
    View::new().fields([
        ("setting", Cell::new(setting.name)),
        ("value", Cell::new(value(setting))),
        ("origin", Cell::new(origin)),
    ])
}
