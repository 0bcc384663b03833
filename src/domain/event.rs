//! Audit records. Each change of the store comes with one.

use serde::Serialize;

use crate::domain::run::RunId;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    pub id: i64,
    pub at: Timestamp,
    /// The person: login name of the process that did it.
    pub actor: String,
    /// Noun and verb, as in "server.added", "allocation.status".
    pub kind: String,
    /// As in "server lab1".
    pub subject: String,
    pub run_id: Option<RunId>,
    /// What changed: a JSON object.
    pub detail: serde_json::Value,
}

/// An event not yet stored; the store adds id, time and actor.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    pub kind: &'static str,
    pub subject: String,
    pub run_id: Option<RunId>,
    pub detail: serde_json::Value,
}

impl NewEvent {
    pub fn new(kind: &'static str, subject: impl Into<String>) -> Self {
        NewEvent {
            kind,
            subject: subject.into(),
            run_id: None,
            detail: serde_json::Value::Object(serde_json::Map::new()),
        }
    }

    pub fn run(mut self, run: RunId) -> Self {
        self.run_id = Some(run);
        self
    }

    pub fn detail(mut self, detail: serde_json::Value) -> Self {
        self.detail = detail;
        self
    }
}
