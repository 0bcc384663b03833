//! What a run would do, and what would refuse it.

use serde::Serialize;
use serde_json::Value;

use super::from_store::fill;
use super::start::{Given, RunAsk, order, refuse_lifecycle, request};
use crate::domain::name::PlaybookName;
use crate::domain::request::Asked;
use crate::error::{Error, Kind};
use crate::ops::{Services, hooks, lifecycle};
use crate::runner::{self, ExplainedHost, ExplainedPlay, HookPlaybook};

#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    pub playbook: PlaybookName,
    pub version: u32,
    pub digest: String,
    pub plays: Vec<ExplainedPlay>,
    pub hosts: Vec<ExplainedHost>,
    /// Those that Kloigos gives to Ansible; inventory and playbook have more.
    pub variables: Vec<ExplainedVariable>,
    pub options: Asked,
    /// What makes its SSH credentials and takes them back, if anything does.
    pub ssh_credential_hook: Option<ExplainedHooks>,
    pub warnings: Vec<String>,
    pub refused: Vec<Refusal>,
}

/// NAME@VERSION each.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedHooks {
    pub prepare: String,
    pub cleanup: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ExplainedVariable {
    /// None: all that is in the file.
    pub name: Option<String>,
    /// None: secret, or in a file.
    pub value: Option<Value>,
    pub from: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Refusal {
    pub exit_code: u8,
    pub reason: String,
    pub hints: Vec<String>,
    #[serde(skip)]
    pub kind: Kind,
}

impl From<Error> for Refusal {
    fn from(e: Error) -> Self {
        Refusal {
            exit_code: e.exit_code(),
            reason: e.message,
            hints: e.hints,
            kind: e.kind,
        }
    }
}

/// Reads the store, the files that are named, and what Ansible says of the
/// inventory. No host is touched, nothing is recorded.
pub fn explain(services: &Services<'_>, ask: RunAsk) -> Result<Explanation, Error> {
    let mut order = order(services, ask);
    order.settle_secrets()?;
    let mut refused: Vec<Refusal> = Vec::new();
    if let Err(e) = refuse_lifecycle(&order.playbook, order.asked.check) {
        refused.push(e.into());
    }
    let (request, hooked) = {
        services
            .store
            .read(|tx| fill(tx, &order.playbook, &mut order.asked))?;
        let given = Given::read(services, &order)?;
        services.store.read(|tx| {
            let mut request = request(tx, &order, &given)?;
            let hooked = hooks::attach(tx, &mut request);
            Ok::<_, Error>((request, hooked))
        })?
    };
    if let Err(e) = hooked {
        refused.push(e.into());
    }
    let local = order.asked.hosts.is_empty() && order.asked.inventory.is_none();
    let engine = match lifecycle::engine(*services) {
        Ok(engine) => engine,
        Err(e) => {
            let engine = lifecycle::engine_for_checks(*services)?;
            if !local {
                refused.push(e.into());
            }
            engine
        }
    };
    let explained = runner::explain(&engine, &request)?;
    let named = |h: &HookPlaybook| format!("{}@{}", h.playbook, h.version);
    let hooks = request.hooks.as_ref().map(|h| ExplainedHooks {
        prepare: named(&h.prepare),
        cleanup: h.cleanup.as_ref().map(named),
    });
    refused.extend(explained.refusals.into_iter().map(Refusal::from));
    Ok(Explanation {
        playbook: request.playbook,
        version: request.version,
        digest: request.digest,
        plays: explained.plays,
        hosts: explained.hosts,
        variables: variables(&order.asked),
        options: order.asked,
        ssh_credential_hook: hooks,
        warnings: explained.warnings,
        refused,
    })
}

/// Those that win come last, as for Ansible.
fn variables(asked: &Asked) -> Vec<ExplainedVariable> {
    let file = |path: &std::path::PathBuf| ExplainedVariable {
        name: None,
        value: None,
        from: format!("-e @{}", path.display()),
    };
    let plain = |from: &'static str| {
        move |(name, value): (&String, &Value)| ExplainedVariable {
            name: Some(name.clone()),
            value: Some(value.clone()),
            from: from.to_owned(),
        }
    };
    let secret = |name: &String| ExplainedVariable {
        name: Some(name.clone()),
        value: None,
        from: "secret".to_owned(),
    };
    let files = asked.variable_files.iter().map(file);
    let stored = asked.store_variables.iter().map(plain("store"));
    stored
        .chain(files)
        .chain(asked.variables.iter().map(plain("-e")))
        .chain(asked.secrets.iter().map(secret))
        .collect()
}
