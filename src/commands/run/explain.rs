//! What a run would do.

use crate::commands::event::view::said;
use crate::context::Context;
use crate::error::Error;
use crate::ops::runs::Explanation;
use crate::ui::{Cell, Table, Tone, View, ago, column};

pub(super) fn show(cx: &Context, explained: &Explanation) -> Result<(), Error> {
    cx.ui.show(explained, || {
        let plays = Table::new([
            column("play").wraps(),
            column("pattern"),
            column("hosts").right(),
        ])
        .rows(explained.plays.iter().map(|p| {
            vec![
                Cell::new(&p.name),
                Cell::new(&p.pattern),
                Cell::new(p.hosts.len()),
            ]
        }));
        View::new()
            .fields([
                (
                    "playbook",
                    Cell::toned(
                        format!("{}@{}", explained.playbook, explained.version),
                        Tone::Strong,
                    ),
                ),
                ("sha256", Cell::new(&explained.digest)),
                ("options", Cell::new(options(explained))),
                ("credentials", Cell::new(credentials(explained))),
            ])
            .section("Plays", plays)
            .section("Hosts", hosts(cx, explained))
            .section("Variables from Kloigos", variables(explained))
            .section("Would refuse", refusals(explained))
    })?;
    for warning in &explained.warnings {
        cx.ui.warning(warning);
    }
    end(explained)
}

pub(super) fn list_hosts(cx: &Context, explained: &Explanation) -> Result<(), Error> {
    let names: Vec<&str> = explained.hosts.iter().map(|h| h.name.as_str()).collect();
    cx.ui.show(&names, || {
        View::new().text(names.iter().map(|n| format!("{n}\n")).collect::<String>())
    })?;
    end(explained)
}

/// The exit code is the one that the run would have had.
fn end(explained: &Explanation) -> Result<(), Error> {
    match explained.refused.first() {
        None => Ok(()),
        Some(first) => {
            let kind = match first.kind {
                crate::error::Kind::Run(ending) => crate::error::Kind::WouldEnd(ending),
                other => other,
            };
            let error = Error::new(kind, format!("the run would not be done: {}", first.reason));
            Err(first.hints.iter().fold(error, |e, hint| e.hint(hint)))
        }
    }
}

/// What the run would log in with.
fn credentials(explained: &Explanation) -> String {
    match &explained.ssh_credential_hook {
        None => "what ssh finds, and ssh.private_key_file for servers".to_owned(),
        Some(hooks) => match &hooks.cleanup {
            Some(cleanup) => format!("of its own: {} before, {cleanup} after", hooks.prepare),
            None => format!("of its own: {} before", hooks.prepare),
        },
    }
}

/// Those that were given.
fn options(explained: &Explanation) -> String {
    let mut all = serde_json::to_value(&explained.options).unwrap_or_default();
    if let Some(map) = all.as_object_mut() {
        for shown_elsewhere in [
            "cwd",
            "variables",
            "store_variables",
            "variable_files",
            "secrets",
        ] {
            map.remove(shown_elsewhere);
        }
        map.retain(|_, v| match v {
            serde_json::Value::Null | serde_json::Value::Bool(false) => false,
            serde_json::Value::Array(list) => !list.is_empty(),
            _ => true,
        });
    }
    said(&all)
}

fn hosts(cx: &Context, explained: &Explanation) -> Table {
    Table::new([
        column("host"),
        column("address"),
        column("claim"),
        column("now"),
    ])
    .rows(explained.hosts.iter().map(|h| {
        let address = match (h.connection.as_str(), h.port) {
            ("local", _) => "this machine".to_owned(),
            (_, Some(port)) => format!("{} port {port}", h.address),
            (_, None) => h.address.clone(),
        };
        let now = match h.held_by.first() {
            None => Cell::toned("free", Tone::Good),
            Some(first) => Cell::toned(
                format!(
                    "{} run {} of {}, {}{}",
                    if first.holds { "held by" } else { "wanted by" },
                    first.run,
                    first.requester.user,
                    ago(first.since, cx.ui.now()),
                    match h.held_by.len() {
                        1 => String::new(),
                        n => format!("; {} more in line", n - 1),
                    }
                ),
                Tone::Warn,
            ),
        };
        vec![
            Cell::new(match h.delegate {
                true => format!("{} (delegate)", h.name),
                false => h.name.clone(),
            }),
            Cell::new(address),
            Cell::optional(h.claim.as_ref()),
            now,
        ]
    }))
}

fn variables(explained: &Explanation) -> Table {
    Table::new([column("name"), column("value").wraps(), column("from")]).rows(
        explained.variables.iter().map(|v| {
            vec![
                Cell::new(v.name.as_deref().unwrap_or("all of the file")),
                match (&v.value, &v.name) {
                    (Some(value), _) => Cell::new(value),
                    (None, Some(_)) => Cell::new("(secret)"),
                    (None, None) => Cell::new(""),
                },
                Cell::new(&v.from),
            ]
        }),
    )
}

fn refusals(explained: &Explanation) -> Table {
    Table::new([column("exit").right(), column("reason").wraps()]).rows(
        explained
            .refused
            .iter()
            .map(|r| vec![Cell::new(r.exit_code), Cell::toned(&r.reason, Tone::Bad)]),
    )
}
