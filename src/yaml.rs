//! The only door to YAML. It writes; it never reads a playbook's values, since
//! Ansible alone may say what a playbook means. What it reads of secrets serves
//! to hide them.

use serde::Serialize;
use serde_json::{Map, Value};

/// A document that begins with `---`.
///
/// # Errors
/// Only for values that YAML cannot carry (maps with non-scalar keys).
pub fn to_string<T: Serialize>(value: &T) -> Result<String, serde_yaml::Error> {
    serde_yaml::to_string(value).map(|text| format!("---\n{text}"))
}

/// The mapping that a text of JSON or YAML is; tags are dropped.
///
/// # Errors
/// Where it is none, in words that repeat nothing of it: it may be secret.
pub fn mapping(text: &str) -> Result<Map<String, Value>, String> {
    if let Ok(Value::Object(map)) = serde_json::from_str(text) {
        return Ok(map);
    }
    let value: serde_yaml::Value = serde_yaml::from_str(text).map_err(|e| match e.location() {
        Some(at) => format!(
            "YAML cannot be read at line {}, column {}",
            at.line(),
            at.column()
        ),
        None => "YAML cannot be read".to_owned(),
    })?;
    match json(value) {
        Some(Value::Object(map)) => Ok(map),
        _ => Err("it is no mapping of names to values".to_owned()),
    }
}

fn json(value: serde_yaml::Value) -> Option<Value> {
    use serde_yaml::Value as Yaml;
    Some(match value {
        Yaml::Null => Value::Null,
        Yaml::Bool(b) => Value::Bool(b),
        Yaml::Number(n) => serde_json::to_value(n).ok()?,
        Yaml::String(s) => Value::String(s),
        Yaml::Sequence(list) => Value::Array(list.into_iter().map(json).collect::<Option<_>>()?),
        Yaml::Mapping(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                let key = match key {
                    Yaml::String(s) => s,
                    Yaml::Number(n) => n.to_string(),
                    Yaml::Bool(b) => b.to_string(),
                    _ => return None,
                };
                out.insert(key, json(value)?);
            }
            Value::Object(out)
        }
        Yaml::Tagged(tagged) => json(tagged.value)?,
    })
}
