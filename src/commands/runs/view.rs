//! How runs look.

use serde_json::Value;

use crate::commands::event::view::said;
use crate::context::Context;
use crate::domain::run::{Run, RunStatus};
use crate::domain::run_event::{HostCounts, WaitsFor};
use crate::ops::runs::RunSummary;
use crate::ui::{Cell, Table, Tone, View, ago, column, duration};

pub fn table(cx: &Context, runs: &[RunSummary]) -> Table {
    Table::new([
        column("run").right(),
        column("status"),
        column("playbook"),
        column("subject").optional(2),
        column("asked by").optional(4),
        column("queued").optional(1),
        column("took").right().optional(3),
        column("reason").below(),
    ])
    .rows(runs.iter().map(|summary| {
        let r = &summary.run;
        let waits = summary.waits_for.first().map(|w| {
            let more = match summary.waits_for.len() {
                1 => String::new(),
                n => format!("; and {} more", n - 1),
            };
            format!("waits for {}{more}", waits_for(cx, w))
        });
        vec![
            Cell::new(r.id),
            status(r),
            Cell::new(format!("{}@{}", r.playbook, r.version)),
            Cell::optional(r.subject.as_ref()),
            Cell::new(&r.requester.user),
            Cell::new(ago(r.queued_at, cx.ui.now())),
            Cell::optional(took(cx, r)),
            Cell::new(r.reason.clone().or(waits).unwrap_or_default()),
        ]
    }))
}

fn status(run: &Run) -> Cell {
    match run.check {
        true => Cell::toned(format!("{} (check)", run.status), run.status.into()),
        false => Cell::status(run.status),
    }
}

/// From the start to the end, or to now.
fn took(cx: &Context, run: &Run) -> Option<String> {
    let started = run.started_at?;
    let end = match run.status {
        RunStatus::Running => cx.ui.now(),
        _ => run.ended_at?,
    };
    Some(duration(end.since(started)))
}

pub fn fields(cx: &Context, run: &Run) -> Vec<(&'static str, Cell)> {
    let mut fields = vec![
        ("run", Cell::toned(run.id, Tone::Strong)),
        ("status", status(run)),
    ];
    if let Some(reason) = &run.reason {
        fields.push(("reason", Cell::new(reason)));
    }
    fields.extend([
        (
            "playbook",
            Cell::new(format!("{}@{}", run.playbook, run.version)),
        ),
        ("sha256", Cell::new(&run.digest)),
        ("subject", Cell::optional(run.subject.as_ref())),
        (
            "asked by",
            Cell::new(format!(
                "{} on {} (pid {})",
                run.requester.user, run.requester.host, run.requester.pid
            )),
        ),
        ("queued", Cell::new(cx.ui.at_with_age(run.queued_at))),
        (
            "started",
            Cell::optional(run.started_at.map(|t| cx.ui.at(t))),
        ),
        ("ended", Cell::optional(run.ended_at.map(|t| cx.ui.at(t)))),
        ("took", Cell::optional(took(cx, run))),
        ("variables", Cell::new(variables(&run.request))),
        ("request", Cell::new(said(&without_variables(&run.request)))),
    ]);
    if let Some(hooks) = run.request.get("ssh_credential_hook") {
        let hook = |which: &str| {
            let hook = hooks.get(which)?;
            let name = hook.get("playbook")?.as_str()?;
            Some(format!("{which} {name}@{}", hook.get("version")?))
        };
        let both: Vec<String> = ["prepare", "cleanup"]
            .into_iter()
            .filter_map(hook)
            .collect();
        fields.push(("credentials", Cell::new(both.join(", "))));
    }
    if let Some(stored) = run.request.get("store_variables") {
        fields.push(("from store", Cell::new(said(stored))));
    }
    if let Some(data) = &run.data {
        fields.push(("data", Cell::new(said(data))));
    }
    if let Some(code) = run.exit_code {
        fields.push(("exit code", Cell::new(code)));
    }
    if let Some(code) = run.ansible_exit {
        fields.push(("Ansible exit", Cell::toned(code, Tone::Muted)));
    }
    fields
}

/// `reboot=yes pw=(secret)`: the value of a secret was never kept.
fn variables(request: &Value) -> String {
    let plain = request.get("variables").map(said).unwrap_or_default();
    let secret = request.get("secrets").and_then(Value::as_array);
    let secret = secret
        .into_iter()
        .flatten()
        .filter_map(|name| Some(format!("{}=(secret)", name.as_str()?)));
    let all: Vec<String> = [plain]
        .into_iter()
        .filter(|p| !p.is_empty())
        .chain(secret)
        .collect();
    all.join(" ")
}

fn without_variables(request: &Value) -> Value {
    let mut rest = request.clone();
    if let Some(map) = rest.as_object_mut() {
        map.remove("variables");
        map.remove("store_variables");
        map.remove("secrets");
        map.remove("ssh_credential_hook");
    }
    rest
}

pub fn hosts(hosts: &[HostCounts]) -> Table {
    Table::new([
        column("host"),
        column("result"),
        column("ok").right(),
        column("changed").right(),
        column("failed").right(),
        column("unreachable").right().optional(3),
        column("skipped").right().optional(2),
        column("rescued").right().optional(5),
        column("ignored").right().optional(4),
    ])
    .rows(hosts.iter().map(|h| {
        vec![
            Cell::new(&h.host),
            View::verdict(h),
            Cell::count(h.ok, Tone::Good),
            Cell::count(h.changed, Tone::Changed),
            Cell::count(h.failed, Tone::Bad),
            Cell::count(h.unreachable, Tone::Bad),
            Cell::count(h.skipped, Tone::Plain),
            Cell::count(h.rescued, Tone::Warn),
            Cell::count(h.ignored, Tone::Warn),
        ]
    }))
}

/// "lab1: run 12 of ana on ops1 (pid 42), since 2026-12-01 09:30:12 CET".
pub fn waits_for(cx: &Context, w: &WaitsFor) -> String {
    let what = w.host.as_deref().unwrap_or("a free slot");
    let mut text = match w.run {
        Some(run) => format!("{what}: run {run}"),
        None => what.to_owned(),
    };
    if let Some(r) = &w.requester {
        text.push_str(&format!(" of {} on {} (pid {})", r.user, r.host, r.pid));
    }
    if let Some(since) = w.since {
        text.push_str(&format!(", since {}", cx.ui.at_with_age(since)));
    }
    text
}
