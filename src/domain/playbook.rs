//! Playbooks and their versions.

use serde::Serialize;

use crate::domain::name::PlaybookName;
use crate::domain::time::Timestamp;

/// Whether a version is one YAML file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentKind {
    File,
    Bundle,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Playbook {
    pub name: PlaybookName,
    pub default_version: u32,
    pub latest_version: u32,
    pub versions: u32,
    /// Whether the default version is a packaged one.
    pub packaged: bool,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlaybookVersion {
    pub name: PlaybookName,
    pub version: u32,
    pub is_default: bool,
    /// sha256 of the canonical content, hex.
    pub digest: String,
    pub kind: ContentKind,
    /// The file that Ansible is given, relative to the content's root.
    pub entry: String,
    /// Uncompressed, all files together.
    pub size_bytes: u64,
    pub author: String,
    pub message: Option<String>,
    pub packaged: bool,
    pub created_at: Timestamp,
}

/// One file of a version, byte-exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentFile {
    /// Relative, `/`-separated, no `.` or `..`.
    pub path: String,
    pub executable: bool,
    pub bytes: Vec<u8>,
}

/// The whole content of a version, files sorted by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub kind: ContentKind,
    pub entry: String,
    pub files: Vec<ContentFile>,
}

impl Content {
    pub fn file(&self, path: &str) -> Option<&ContentFile> {
        self.files.iter().find(|f| f.path == path)
    }
}
