//! What a run that was cut short has left at work on its hosts. With pipelining
//! a module runs to its end after any kind of cancel.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::check::scratch;
use super::engine::Engine;
use super::listen::{Heard, listen};
use super::request::RunRequest;
use super::unreachable;
use crate::ansible::events::Message;
use crate::ansible::launch::Purpose;
use crate::domain::playbook::{Content, ContentFile, ContentKind};
use crate::domain::run_event::ResultStatus;
use crate::error::Error;

const PLAYBOOK: &str = include_str!("../ansible/strays/playbook.yml");
const MODULE: &str = include_str!("../ansible/strays/library/kloigos_strays.py");

/// A process on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stray {
    pub pid: u32,
    /// How long it has been there.
    pub seconds: u64,
    pub command: String,
}

/// What one host says.
#[derive(Debug, Clone, Serialize)]
pub struct Look {
    pub host: String,
    pub strays: Vec<Stray>,
    /// Why the host could not be asked.
    pub not_asked: Option<String>,
}

/// Looks at `hosts` over SSH, as `request` reaches them: read-only, without a
/// claim and without become. The ages are seconds.
pub fn look_for_strays(
    engine: &Engine<'_>,
    request: RunRequest,
    hosts: &[String],
    started_ago: u64,
    ended_ago: u64,
) -> Result<Vec<Look>, Error> {
    let mut request = request;
    request.content = content();
    request.options.only_hosts = hosts.to_vec();
    request.options.check = false;
    request.options.tags = None;
    request.options.skip_tags = None;
    request.options.start_at_task = None;
    request.options.become_password = None;
    for (name, ago) in [
        ("kloigos_started_ago", started_ago),
        ("kloigos_ended_ago", ended_ago),
    ] {
        request.variables.insert(name.to_owned(), json!(ago));
    }
    let (_dir, files) = scratch(engine.paths)?;
    let Heard { messages, said, .. } = listen(engine, &request, &files, Purpose::Run)?;
    let mut found: BTreeMap<String, Vec<Stray>> = BTreeMap::new();
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    for message in messages {
        match message {
            Message::Stats {
                data: Some(data), ..
            } => found = serde_json::from_value(data).unwrap_or_default(),
            Message::Result {
                host,
                status: status @ (ResultStatus::Failed | ResultStatus::Unreachable),
                message,
                ..
            } => {
                let said = message.unwrap_or_default();
                let why = match status {
                    ResultStatus::Unreachable => {
                        unreachable::explain(&said, &engine.paths.known_hosts(), &host, None).0
                    }
                    _ => said.lines().next().unwrap_or("no message").to_owned(),
                };
                refused.insert(host, why);
            }
            _ => {}
        }
    }
    let silent = crate::ansible::syntax::error_text(&said, &files.project());
    Ok(hosts
        .iter()
        .map(|host| {
            let strays = found.remove(host);
            Look {
                not_asked: match (&strays, refused.remove(host)) {
                    (Some(_), _) => None,
                    (None, Some(why)) => Some(why),
                    (None, None) => Some(silent.clone()),
                },
                strays: strays.unwrap_or_default(),
                host: host.clone(),
            }
        })
        .collect())
}

fn content() -> Content {
    let file = |path: &str, text: &str| ContentFile {
        path: path.to_owned(),
        executable: false,
        bytes: text.as_bytes().to_vec(),
    };
    Content {
        kind: ContentKind::Bundle,
        entry: "playbook.yml".to_owned(),
        files: vec![
            file("library/kloigos_strays.py", MODULE),
            file("playbook.yml", PLAYBOOK),
        ],
    }
}
