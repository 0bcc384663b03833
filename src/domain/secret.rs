//! Values that nobody shall read: they go into private files for Ansible and
//! nowhere else.

use std::fmt;

use serde_json::{Map, Value};
use thiserror::Error;

use super::variables::{is_template, is_variable_name};

/// A text that is never shown, not even by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// For a private file, and for the masker.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// No message repeats what was typed: it may hold the value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SecretError {
    #[error("a secret needs a name: write key=value, or key alone to be asked")]
    NoName,
    #[error(
        "the name of a secret is no variable name: a letter or underscore, then letters, digits or underscores"
    )]
    Name,
    #[error("line {0} is not key=value")]
    Line(usize),
    #[error("the name in line {0} is no variable name")]
    LineName(usize),
}

/// One `-s` of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretArg {
    Given {
        name: String,
        value: Secret,
    },
    /// To be asked for.
    Ask {
        name: String,
    },
}

impl std::str::FromStr for SecretArg {
    type Err = SecretError;

    fn from_str(s: &str) -> Result<Self, SecretError> {
        let (name, value) = match s.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (s, None),
        };
        if name.is_empty() {
            return Err(SecretError::NoName);
        }
        if !is_variable_name(name) {
            return Err(SecretError::Name);
        }
        let name = name.to_owned();
        Ok(match value {
            Some(value) => SecretArg::Given {
                name,
                value: Secret::new(value),
            },
            None => SecretArg::Ask { name },
        })
    }
}

/// Variables whose values are secret. Only their names are ever shown.
#[derive(Clone, Default, PartialEq)]
pub struct SecretVars(Map<String, Value>);

impl fmt::Debug for SecretVars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl SecretVars {
    pub fn of(values: Map<String, Value>) -> Self {
        SecretVars(values)
    }

    pub fn insert(&mut self, name: String, value: Value) {
        self.0.insert(name, value);
    }

    pub fn extend(&mut self, more: SecretVars) {
        self.0.extend(more.0);
    }

    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// For the private variables file.
    pub fn reveal(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// Lines of key=value; empty ones and those that begin with `#` say nothing.
pub fn parse_lines(text: &str) -> Result<SecretVars, SecretError> {
    let mut values = Map::new();
    for (number, line) in (1..).zip(text.lines()) {
        let begin = line.trim_start();
        if begin.is_empty() || begin.starts_with('#') {
            continue;
        }
        let (name, value) = begin.split_once('=').ok_or(SecretError::Line(number))?;
        if !is_variable_name(name) {
            return Err(SecretError::LineName(number));
        }
        values.insert(name.to_owned(), Value::String(value.to_owned()));
    }
    Ok(SecretVars(values))
}

/// A file of secret variables. A mapping is for Ansible to read: its types are
/// Ansible's, and what is known of it here serves to hide it.
#[derive(Clone, PartialEq)]
pub struct SecretFile {
    text: Secret,
    known: Map<String, Value>,
}

impl fmt::Debug for SecretFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.known.keys()).finish()
    }
}

impl SecretFile {
    pub fn of(text: String, known: Map<String, Value>) -> Self {
        SecretFile {
            text: Secret::new(text),
            known,
        }
    }

    pub fn text(&self) -> &Secret {
        &self.text
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }

    pub fn values(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.known.iter()
    }
}

/// Whether a file of secrets has lines of key=value, judged by its first one.
pub fn is_lines(text: &str) -> bool {
    text.lines()
        .map(str::trim_start)
        .find(|l| !l.is_empty() && !l.starts_with('#'))
        .is_none_or(|l| {
            l.split_once('=')
                .is_some_and(|(name, _)| is_variable_name(name))
        })
}

/// The first of the variables with a value that would be a template.
pub fn template(values: &Map<String, Value>) -> Option<&str> {
    let is = |value: &Value| texts(value).iter().any(|t| is_template(t));
    let found = values.iter().find(|(_, value)| is(value));
    found.map(|(name, _)| name.as_str())
}

/// The texts in a value that are worth hiding: `true` and `null` are not.
pub fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Number(n) => vec![n.to_string()],
        Value::String(s) => vec![s.clone()],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_argument_is_a_value_or_a_question() {
        assert_eq!(
            "pw=a=b".parse(),
            Ok(SecretArg::Given {
                name: "pw".into(),
                value: Secret::new("a=b")
            })
        );
        assert_eq!("pw".parse(), Ok(SecretArg::Ask { name: "pw".into() }));
        assert_eq!("=x".parse::<SecretArg>(), Err(SecretError::NoName));
        assert_eq!("a-b=x".parse::<SecretArg>(), Err(SecretError::Name));
    }

    #[test]
    fn nothing_prints_a_value() {
        let mut vars = SecretVars::default();
        vars.insert("pw".into(), json!("hunter22"));
        let said = format!(
            "{:?} {:?} {vars:?}",
            Secret::new("hunter22"),
            "pw=hunter22".parse::<SecretArg>()
        );
        assert!(!said.contains("hunter22"), "{said}");
        let refused = "pw-x=hunter22".parse::<SecretArg>().unwrap_err();
        assert!(!refused.to_string().contains("hunter22"));
    }

    #[test]
    fn lines_are_strings_with_all_their_characters() {
        let vars = parse_lines("# note\n\na=1 \n  b= x=y#z\r\n").unwrap();
        assert_eq!(vars.reveal()["a"], json!("1 "));
        assert_eq!(vars.reveal()["b"], json!(" x=y#z"));
        assert_eq!(parse_lines("a=1\nhunter22"), Err(SecretError::Line(2)));
        assert_eq!(parse_lines("a b=1"), Err(SecretError::LineName(1)));
    }

    #[test]
    fn texts_of_a_value_are_its_strings_and_numbers() {
        let value = json!({"a": ["x", 12], "b": true, "c": null});
        assert_eq!(texts(&value), ["x", "12"]);
    }
}
