//! How events look.

use serde_json::Value;

use crate::context::Context;
use crate::domain::event::Event;
use crate::ui::{Cell, Table, column};

pub fn table(cx: &Context, events: &[Event]) -> Table {
    Table::new([
        column("at"),
        column("event"),
        column("subject"),
        column("run").right().optional(1),
        column("by").optional(2),
        column("detail").below(),
    ])
    .rows(events.iter().map(|e| {
        vec![
            Cell::new(cx.ui.at(e.at)),
            Cell::new(&e.kind),
            Cell::new(&e.subject),
            Cell::optional(e.run_id),
            Cell::new(&e.actor),
            Cell::new(said(&e.detail)),
        ]
    }))
}

/// `from=FREE to=ALLOCATING`: what is there, in one line.
pub fn said(value: &Value) -> String {
    let Value::Object(map) = value else {
        return value.to_string();
    };
    let parts: Vec<String> = map
        .iter()
        .filter_map(|(key, value)| match value {
            Value::Null | Value::Bool(false) => None,
            Value::Array(list) if list.is_empty() => None,
            Value::Object(map) if map.is_empty() => None,
            Value::Bool(true) => Some(key.clone()),
            Value::String(s) => Some(format!("{key}={s}")),
            Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(format!("{key}={value}")),
        })
        .collect();
    parts.join(" ")
}
