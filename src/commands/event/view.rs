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
        column("detail").wraps().optional(3),
    ])
    .rows(events.iter().map(|e| {
        vec![
            Cell::new(cx.ui.at(e.at)),
            Cell::new(&e.kind),
            Cell::new(&e.subject),
            Cell::optional(e.run_id),
            Cell::new(&e.actor),
            Cell::new(detail(&e.detail)),
        ]
    }))
}

/// `from=FREE to=ALLOCATING`.
fn detail(value: &Value) -> String {
    let Value::Object(map) = value else {
        return value.to_string();
    };
    let parts: Vec<String> = map
        .iter()
        .map(|(key, value)| match value {
            Value::String(s) => format!("{key}={s}"),
            other => format!("{key}={other}"),
        })
        .collect();
    parts.join(" ")
}
