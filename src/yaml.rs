//! The only door to YAML. It writes; it never reads a playbook's values, since
//! Ansible alone may say what a playbook means.

use serde::Serialize;

/// A document that begins with `---`.
///
/// # Errors
/// Only for values that YAML cannot carry (maps with non-scalar keys).
pub fn to_string<T: Serialize>(value: &T) -> Result<String, serde_yaml::Error> {
    serde_yaml::to_string(value).map(|text| format!("---\n{text}"))
}
