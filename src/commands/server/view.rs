//! How a server looks.

use std::collections::BTreeMap;

use crate::context::Context;
use crate::domain::server::Server;
use crate::ui::{Cell, Tone, View};

pub fn one(cx: &Context, server: &Server) -> View {
    let address = match server.port {
        22 => server.ansible_host().to_string(),
        port => format!("{}, port {port}", server.ansible_host()),
    };
    let mut fields = vec![
        ("server", Cell::toned(&server.hostname, Tone::Strong)),
        ("status", Cell::status(server.status)),
    ];
    if let Some(reason) = &server.status_reason {
        fields.push(("reason", Cell::new(reason)));
    }
    fields.extend([
        ("health", Cell::status(server.health)),
        ("reached at", Cell::new(address)),
        ("private address", Cell::new(server.private_ip)),
        ("public address", Cell::optional(server.public_ip)),
        ("admin user", Cell::new(&server.admin_user)),
        (
            "place",
            Cell::new(format!("{} / {}", server.region, server.zone)),
        ),
        ("profile", Cell::new(server.profile)),
        ("CPUs", Cell::optional(server.facts.cpus)),
        (
            "memory",
            Cell::optional(server.facts.memory_mb.map(|mb| format!("{mb} MiB"))),
        ),
        ("storage", storage(server)),
        ("tags", tags(&server.tags)),
        ("last run", Cell::optional(server.run_id)),
        ("added", Cell::new(cx.ui.at_with_age(server.created_at))),
        ("changed", Cell::new(cx.ui.at_with_age(server.updated_at))),
    ]);
    View::new().fields(fields)
}

fn storage(server: &Server) -> Cell {
    let wish = &server.storage;
    let place = match (&server.facts.vg, &wish.vg) {
        (Some(vg), _) => Some(format!("volume group {vg}")),
        (None, Some(vg)) => Some(format!("volume group {vg}, as asked")),
        (None, None) if !wish.disks.is_empty() => {
            Some(format!("{}, as asked", wish.disks.join(", ")))
        }
        (None, None) => None,
    };
    let size = wish.disk_size_gb.map(|gb| format!("{gb} GiB a unit"));
    match (place, size) {
        (Some(place), Some(size)) => Cell::new(format!("{place}, {size}")),
        (place, size) => Cell::optional(place.or(size)),
    }
}

pub fn tags(tags: &BTreeMap<String, String>) -> Cell {
    let list: Vec<String> = tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
    Cell::optional((!list.is_empty()).then(|| list.join(" ")))
}
