//! What differs between two runs.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Map, Value};

use super::now_is;
use crate::domain::run::{Run, RunId};
use crate::domain::run_event::{HostCounts, ResultStatus};
use crate::error::Error;
use crate::ops::Services;
use crate::store::runs::{HostTask, TaskSummary};

/// Less than this is noise.
const SLOWER_MS: u64 = 1000;

#[derive(Debug, Serialize)]
pub struct RunDiff {
    pub a: Run,
    pub b: Run,
    /// Of what was asked, and what came of it as a whole.
    pub fields: Vec<FieldDiff>,
    /// Hosts of one run only, and those with another result.
    pub hosts: Vec<HostDiff>,
    /// On hosts of both runs.
    pub tasks: Vec<TaskDiff>,
    /// At least half as long again, and a second or more.
    pub slower: Vec<TimeDiff>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct FieldDiff {
    pub field: String,
    pub a: Value,
    pub b: Value,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct HostDiff {
    pub host: String,
    /// The host's one word; None where it is not in the run.
    pub a: Option<&'static str>,
    pub b: Option<&'static str>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct TaskDiff {
    pub play: String,
    pub task: String,
    pub host: String,
    /// None where the task gave no result there.
    pub a: Option<ResultStatus>,
    pub b: Option<ResultStatus>,
}

/// The longest that a task took on one host.
#[derive(Debug, PartialEq, Serialize)]
pub struct TimeDiff {
    pub play: String,
    pub task: String,
    pub a_ms: u64,
    pub b_ms: u64,
}

struct Side {
    run: Run,
    hosts: Vec<HostCounts>,
    tasks: Vec<TaskSummary>,
    results: Vec<HostTask>,
}

pub fn diff(services: &Services<'_>, a: RunId, b: RunId) -> Result<RunDiff, Error> {
    let side = |id| {
        let run = now_is(services, id)?;
        services.store.read(|tx| {
            Ok::<_, Error>(Side {
                hosts: tx.runs().hosts(id)?,
                tasks: tx.runs().tasks(id)?,
                results: tx.runs().results(id)?,
                run,
            })
        })
    };
    let (a, b) = (side(a)?, side(b)?);
    Ok(RunDiff {
        fields: fields(&a.run, &b.run),
        hosts: hosts(&a.hosts, &b.hosts),
        tasks: tasks(&a, &b),
        slower: slower(&a, &b),
        a: a.run,
        b: b.run,
    })
}

fn fields(a: &Run, b: &Run) -> Vec<FieldDiff> {
    let flat = |run: &Run| {
        let mut all: Map<String, Value> = Map::new();
        all.insert("playbook".into(), run.playbook.as_str().into());
        all.insert("version".into(), run.version.into());
        all.insert("sha256".into(), run.digest.clone().into());
        for (key, value) in run.request.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("rerun_of" | "retry_of", _) => {}
                ("variables", Value::Object(variables)) => {
                    for (name, value) in variables {
                        all.insert(format!("variable {name}"), value.clone());
                    }
                }
                ("store_variables", Value::Object(variables)) => {
                    for (name, value) in variables {
                        // Those that were given won over them.
                        all.entry(format!("variable {name}"))
                            .or_insert_with(|| value.clone());
                    }
                }
                ("ssh_credential_hook", Value::Object(hooks)) => {
                    for (stage, hook) in hooks {
                        if let (Some(name), Some(version)) =
                            (hook["playbook"].as_str(), hook["version"].as_u64())
                        {
                            let named = format!("{name}@{version}");
                            all.insert(format!("{stage} playbook"), named.into());
                        }
                    }
                }
                _ => {
                    all.insert(key.clone(), value.clone());
                }
            }
        }
        all.insert("status".into(), run.status.as_str().into());
        all.insert("exit_code".into(), run.exit_code.into());
        all
    };
    let (a, b) = (flat(a), flat(b));
    let only_b = b.keys().filter(|k| !a.contains_key(*k));
    a.keys()
        .chain(only_b)
        .map(|key| FieldDiff {
            field: key.clone(),
            a: a.get(key).cloned().unwrap_or(Value::Null),
            b: b.get(key).cloned().unwrap_or(Value::Null),
        })
        // An option that is not given is recorded as null, false or empty.
        .filter(|d| d.a != d.b && !(nothing(&d.a) && nothing(&d.b)))
        .collect()
}

fn nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn hosts(a: &[HostCounts], b: &[HostCounts]) -> Vec<HostDiff> {
    let mut all: BTreeMap<&str, (Option<&'static str>, Option<&'static str>)> = BTreeMap::new();
    for h in a {
        all.entry(&h.host).or_default().0 = Some(h.verdict());
    }
    for h in b {
        all.entry(&h.host).or_default().1 = Some(h.verdict());
    }
    all.into_iter()
        .filter(|(_, (a, b))| a != b)
        .map(|(host, (a, b))| HostDiff {
            host: host.to_owned(),
            a,
            b,
        })
        .collect()
}

/// A task in any run of a playbook: its play, its name, and which of that name
/// it is.
type TaskKey = (String, String, usize);

fn keys(side: &Side) -> Vec<(TaskKey, &TaskSummary)> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    side.tasks
        .iter()
        .map(|t| {
            let nth = seen.entry((&t.play, &t.name)).or_default();
            *nth += 1;
            ((t.play.clone(), t.name.clone(), *nth), t)
        })
        .collect()
}

fn tasks(a: &Side, b: &Side) -> Vec<TaskDiff> {
    let by_key = |side: &Side| {
        let keys: HashMap<_, _> = keys(side).into_iter().map(|(k, t)| (t.task, k)).collect();
        side.results
            .iter()
            .filter_map(|r| Some(((keys.get(&r.task)?.clone(), r.host.clone()), r.status)))
            .collect::<HashMap<_, _>>()
    };
    let (results_a, results_b) = (by_key(a), by_key(b));
    let both: Vec<&str> = a
        .hosts
        .iter()
        .map(|h| h.host.as_str())
        .filter(|h| b.hosts.iter().any(|o| o.host == *h))
        .collect();
    let mut order: Vec<TaskKey> = keys(a).into_iter().map(|(k, _)| k).collect();
    let only_b = keys(b).into_iter().map(|(k, _)| k);
    let known: std::collections::HashSet<TaskKey> = order.iter().cloned().collect();
    order.extend(only_b.filter(|k| !known.contains(k)));
    let mut found = Vec::new();
    for key in order {
        for host in &both {
            let at = (key.clone(), (*host).to_owned());
            let (a, b) = (results_a.get(&at).copied(), results_b.get(&at).copied());
            if a != b {
                found.push(TaskDiff {
                    play: key.0.clone(),
                    task: key.1.clone(),
                    host: at.1,
                    a,
                    b,
                });
            }
        }
    }
    found
}

fn slower(a: &Side, b: &Side) -> Vec<TimeDiff> {
    let before: HashMap<TaskKey, u64> = keys(a)
        .into_iter()
        .map(|(k, t)| (k, t.duration_ms))
        .collect();
    keys(b)
        .into_iter()
        .filter_map(|(key, t)| {
            let a_ms = *before.get(&key)?;
            let b_ms = t.duration_ms;
            (b_ms >= a_ms + SLOWER_MS && b_ms >= a_ms + a_ms / 2).then_some(TimeDiff {
                play: key.0,
                task: key.1,
                a_ms,
                b_ms,
            })
        })
        .collect()
}
