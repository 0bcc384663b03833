//! How a setting looks.

use serde_json::Value;

use crate::ops::settings::SettingView;
use crate::ui::{Cell, View};

/// The value as `setting set` takes it.
pub fn value(setting: &SettingView) -> String {
    text(&setting.value)
}

pub fn text(value: &Value) -> String {
    match value {
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
        ("default", Cell::new(text(&setting.default))),
        ("type", Cell::new(setting.kind)),
        ("meaning", Cell::new(setting.description)),
    ])
}
