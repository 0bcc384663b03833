//! How allocations look.

use crate::commands::server;
use crate::context::Context;
use crate::domain::allocation::Allocation;
use crate::ui::{Cell, Table, Tone, View, column};

pub fn one(cx: &Context, allocation: &Allocation) -> View {
    View::new().fields(fields(cx, allocation))
}

pub fn table(allocations: &[Allocation]) -> Table {
    Table::new([
        column("allocation"),
        column("status"),
        column("user").optional(1),
        column("uid").right().optional(3),
        column("address"),
        column("unit"),
        column("tags").wraps().optional(2),
    ])
    .rows(allocations.iter().map(|a| {
        vec![
            Cell::new(&a.id),
            Cell::status(a.status),
            Cell::new(&a.login_user),
            Cell::new(a.uid),
            Cell::new(a.ip_address),
            Cell::new(&a.compute_unit),
            server::view::tags(&a.tags),
        ]
    }))
}

pub fn fields(cx: &Context, a: &Allocation) -> Vec<(&'static str, Cell)> {
    let mut fields = vec![
        ("allocation", Cell::toned(&a.id, Tone::Strong)),
        ("status", Cell::status(a.status)),
    ];
    if let Some(reason) = &a.status_reason {
        fields.push(("reason", Cell::new(reason)));
    }
    fields.extend([
        (
            "login user",
            Cell::new(format!("{} (UID {})", a.login_user, a.uid)),
        ),
        ("address", Cell::new(a.ip_address)),
        ("server", Cell::new(&a.server)),
        ("compute unit", Cell::new(&a.compute_unit)),
        ("key", Cell::new(short_key(&a.ssh_public_key))),
        ("tags", server::view::tags(&a.tags)),
        ("last run", Cell::optional(a.run_id)),
        ("created", Cell::new(cx.ui.at_with_age(a.created_at))),
        ("changed", Cell::new(cx.ui.at_with_age(a.updated_at))),
    ]);
    fields
}

/// Type, the material's end (its beginning is the same for all keys of a
/// type), and comment.
fn short_key(line: &str) -> String {
    let mut parts = line.splitn(3, ' ');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(kind), Some(material), comment) => {
            let from = material
                .char_indices()
                .rev()
                .nth(11)
                .map_or(0, |(at, _)| at);
            let end = &material[from..];
            format!("{kind} …{end} {}", comment.unwrap_or_default())
                .trim_end()
                .to_owned()
        }
        _ => line.to_owned(),
    }
}
