//! What a run was asked, as the history keeps it: enough to ask for exactly
//! the same again.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::run::RunId;

/// A column of JSON. Every field has a default, so that what an older build
/// wrote is read too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Where the paths below begin.
    pub cwd: Option<PathBuf>,
    /// Registered servers, or addresses and names as ssh takes them.
    pub hosts: Vec<String>,
    pub inventory: Option<PathBuf>,
    /// Ansible's pattern.
    pub limit: Option<String>,
    /// Of a retry: the hosts by their names, and no others.
    pub only_hosts: Vec<String>,
    pub tags: Option<String>,
    pub skip_tags: Option<String>,
    pub start_at_task: Option<String>,
    pub check: bool,
    pub diff: bool,
    pub detailed_exitcode: bool,
    /// In their JSON types.
    pub variables: Map<String, Value>,
    /// What the store gave to the check of a lifecycle playbook; any other
    /// variable wins over them.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub store_variables: Map<String, Value>,
    /// Handed to Ansible unparsed; the content is not kept.
    pub variable_files: Vec<PathBuf>,
    /// Names of secret variables. Their values are never kept.
    pub secrets: Vec<String>,
    pub become_password_file: Option<PathBuf>,
    /// Whether the password for become was typed.
    pub ask_become_pass: bool,
    /// `label@source` each.
    pub vault_ids: Vec<String>,
    #[serde(flatten)]
    pub again: Option<Again>,
}

/// The run that this one repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    RerunOf(RunId),
    RetryOf(RunId),
}

impl Asked {
    /// `path` as it was meant; `here` where older builds did not say.
    pub fn at(&self, path: &Path, here: &Path) -> PathBuf {
        self.cwd.as_deref().unwrap_or(here).join(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_recorded_comes_back_and_older_rows_are_read() {
        let asked = Asked {
            cwd: Some("/home/ana".into()),
            only_hosts: vec!["a".into()],
            variables: [("n".to_owned(), json!("3")), ("m".to_owned(), json!(3))]
                .into_iter()
                .collect(),
            again: Some(Again::RetryOf(RunId(12))),
            ..Asked::default()
        };
        let kept = serde_json::to_value(&asked).unwrap();
        assert_eq!(kept["retry_of"], 12);
        assert_eq!(serde_json::from_value::<Asked>(kept).unwrap(), asked);

        let older = json!({"hosts": ["a"], "inventory": null, "variables": {"x": "1"}});
        let read: Asked = serde_json::from_value(older).unwrap();
        assert_eq!((read.hosts.len(), read.again), (1, None));
        assert_eq!(
            read.at(Path::new("hosts"), Path::new("/here")),
            Path::new("/here/hosts")
        );
    }
}
