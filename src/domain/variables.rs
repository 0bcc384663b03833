//! Variables that a user gives to a run.

use serde_json::{Map, Value};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VariableError {
    #[error("`{0}` is not a variable: write key=value, key:=JSON or @file")]
    Form(String),
    #[error(
        "`{0}` is not a variable name: a letter or underscore, then letters, digits or underscores"
    )]
    Name(String),
    #[error("the value of `{name}` is not JSON: {why}")]
    Json { name: String, why: String },
    #[error(
        "the value of `{0}` has a number that would not arrive as it is: give it as text, with `=`"
    )]
    Inexact(String),
    #[error(
        "the value of `{0}` has a key that begins with `__ansible_`, which Ansible keeps for itself"
    )]
    Reserved(String),
}

/// As Ansible takes it.
pub fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether Ansible would take the text for a template.
pub fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

/// What a value means to Ansible as a variable: itself. Texts that look like
/// templates would else be run as such, on this machine, whoever wrote them.
pub fn literal(value: Value) -> Value {
    match value {
        Value::String(s) if is_template(&s) => serde_json::json!({ "__ansible_unsafe": s }),
        Value::Array(list) => list.into_iter().map(literal).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (k, literal(v))).collect(),
        other => other,
    }
}

pub fn literals(values: &Map<String, Value>) -> Map<String, Value> {
    let literal = |(name, value): (&String, &Value)| (name.clone(), literal(value.clone()));
    values.iter().map(literal).collect()
}

/// Whether a number is one that JSON readers round.
fn is_inexact(value: &Value) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(n) => {
            n.as_i64().is_none()
                && n.as_u64().is_none()
                && n.as_f64()
                    .is_none_or(|f| f.fract() == 0.0 && f.abs() > LARGEST)
        }
        Value::Array(list) => list.iter().any(is_inexact),
        Value::Object(map) => map.values().any(is_inexact),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn has_reserved_key(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_reserved_key),
        Value::Object(map) => map
            .iter()
            .any(|(k, v)| k.starts_with("__ansible_") || has_reserved_key(v)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// One `-e` of the command line.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtraVar {
    /// `key=value`: always a string. `key:=JSON`: typed.
    Value { name: String, value: Value },
    /// `@file`: handed to Ansible unparsed.
    File(std::path::PathBuf),
}

impl std::str::FromStr for ExtraVar {
    type Err = VariableError;

    fn from_str(s: &str) -> Result<Self, VariableError> {
        let shown = || s.escape_debug().to_string();
        if let Some(path) = s.strip_prefix('@') {
            if path.is_empty() {
                return Err(VariableError::Form(shown()));
            }
            return Ok(ExtraVar::File(path.into()));
        }
        let (left, right) = s
            .split_once('=')
            .ok_or_else(|| VariableError::Form(shown()))?;
        let (name, typed) = match left.strip_suffix(':') {
            Some(name) => (name, true),
            None => (left, false),
        };
        if !is_variable_name(name) {
            return Err(VariableError::Name(name.escape_debug().to_string()));
        }
        let value = if typed {
            let value = serde_json::from_str(right).map_err(|e| VariableError::Json {
                name: name.to_owned(),
                why: e.to_string(),
            })?;
            if is_inexact(&value) {
                return Err(VariableError::Inexact(name.to_owned()));
            }
            if has_reserved_key(&value) {
                return Err(VariableError::Reserved(name.to_owned()));
            }
            value
        } else {
            Value::String(right.to_owned())
        };
        Ok(ExtraVar::Value {
            name: name.to_owned(),
            value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_would_arrive_as_something_else_is_refused() {
        for given in [
            "x:=12345678901234567890123",
            "x:=[{\"__ansible_unsafe\": 1}]",
            "x:={",
        ] {
            assert!(given.parse::<ExtraVar>().is_err(), "{given}");
        }
        assert_eq!(value("x:=18446744073709551615"), json!(u64::MAX));
        assert_eq!(
            literal(json!({"a": ["{{ x }}", "y"]})),
            json!({"a": [{"__ansible_unsafe": "{{ x }}"}, "y"]})
        );
    }

    fn value(s: &str) -> Value {
        match s.parse().unwrap() {
            ExtraVar::Value { value, .. } => value,
            ExtraVar::File(_) => panic!("a file"),
        }
    }

    #[test]
    fn strings_stay_strings_and_typed_values_are_typed() {
        assert_eq!(value("flag=false"), json!("false"));
        assert_eq!(value("title=a b"), json!("a b"));
        assert_eq!(value("n=3"), json!("3"));
        assert_eq!(value("x={{ y }}'\"$é"), json!("{{ y }}'\"$é"));
        assert_eq!(value("n:=3"), json!(3));
        assert_eq!(value("l:=[1,\"a\"]"), json!([1, "a"]));
        assert_eq!(value("x=a:=1"), json!("a:=1"));
    }

    #[test]
    fn the_rest_is_refused() {
        for bad in ["", "x", "1x=2", "=1", "n:=", "n:={", "@", "a-b=1", "a b=1"] {
            assert!(bad.parse::<ExtraVar>().is_err(), "{bad}");
        }
    }
}
