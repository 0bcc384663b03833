//! Settings.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::Services;
use crate::domain::settings::{ANSIBLE_PLAYBOOK, DEFINITIONS, Definition, SettingType, find};
use crate::error::Error;
use crate::fs;
use crate::runner;
use crate::store::Tx;

#[derive(Debug, Clone, Serialize)]
pub struct SettingView {
    pub name: &'static str,
    pub value: Value,
    pub default: Value,
    pub is_default: bool,
    #[serde(rename = "type")]
    pub kind: SettingType,
    pub description: &'static str,
    pub secret: bool,
}

fn view(tx: &Tx<'_>, definition: &'static Definition) -> Result<SettingView, Error> {
    let stored = tx.settings().stored(definition)?;
    let value = match &stored {
        Some(_) if definition.secret => Value::String("(secret)".into()),
        Some(value) => definition.json(value),
        None => definition.json(definition.default),
    };
    Ok(SettingView {
        name: definition.name,
        value,
        default: definition.json(definition.default),
        is_default: stored.is_none(),
        kind: definition.kind,
        description: definition.description,
        secret: definition.secret,
    })
}

pub fn list(services: &Services<'_>) -> Result<Vec<SettingView>, Error> {
    services
        .store
        .read(|tx| DEFINITIONS.iter().map(|d| view(tx, d)).collect())
}

pub fn get(services: &Services<'_>, name: &str) -> Result<SettingView, Error> {
    let definition = find(name)?;
    services.store.read(|tx| view(tx, definition))
}

pub fn set(services: &Services<'_>, name: &str, value: &str) -> Result<SettingView, Error> {
    let definition = find(name)?;
    let value = definition.check(value)?;
    if definition.kind == SettingType::Path && !value.is_empty() {
        let path = Path::new(&value);
        let unusable = |why: String| {
            Error::usage(format!(
                "`{}` is not a value for {name}: {why}",
                value.escape_debug()
            ))
        };
        let meta = std::fs::metadata(path)
            .map_err(fs::FsError::of("read", path))
            .map_err(|e| unusable(e.to_string()))?;
        if !meta.is_file() {
            return Err(unusable("it is not a file".to_owned()));
        }
        if *definition == ANSIBLE_PLAYBOOK {
            runner::check_ansible(services.paths, services.env, &value)
                .map_err(|e| unusable(e.message))?;
        }
    }
    services.store.write(|tx| {
        tx.settings().set(definition, &value)?;
        view(tx, definition)
    })
}

pub fn reset(services: &Services<'_>, name: &str) -> Result<SettingView, Error> {
    let definition = find(name)?;
    services.store.write(|tx| {
        tx.settings().reset(definition)?;
        view(tx, definition)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::domain::time::Timestamp;
    use crate::store::events::EventFilter;
    use crate::store::open_memory;

    static TOKEN: Definition = Definition {
        name: "test.token",
        kind: SettingType::Path,
        default: "",
        description: "a setting that nobody may see",
        secret: true,
    };

    #[test]
    fn a_secret_setting_is_masked_in_lists_and_in_the_audit_log() {
        let store = open_memory(Clock::Fixed(Timestamp(1))).unwrap();
        let (shown, events) = store
            .write(|tx| {
                tx.settings().set(&TOKEN, "/hush")?;
                let events = tx.events().list(&EventFilter::default())?;
                Ok::<_, Error>((view(tx, &TOKEN)?, events))
            })
            .unwrap();
        assert_eq!(shown.value, "(secret)");
        assert!(!format!("{shown:?}{events:?}").contains("hush"));
    }
}
