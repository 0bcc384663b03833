//! Variables that a user gives to a run.

use serde_json::Value;
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
}

/// As Ansible takes it.
pub fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
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
            serde_json::from_str(right).map_err(|e| VariableError::Json {
                name: name.to_owned(),
                why: e.to_string(),
            })?
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
