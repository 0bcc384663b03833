//! The exact content that a run was given.

use base64ct::{Base64, Encoding as _};
use serde::Serialize;

use super::find;
use crate::domain::name::PlaybookName;
use crate::domain::playbook::{ContentFile, ContentKind};
use crate::domain::run::RunId;
use crate::error::{Error, Kind};
use crate::ops::{Services, playbooks};

#[derive(Debug, Clone, Serialize)]
pub struct RunContent {
    pub run: RunId,
    pub playbook: PlaybookName,
    pub version: u32,
    pub digest: String,
    pub kind: ContentKind,
    pub entry: String,
    pub files: Vec<RunFile>,
}

#[derive(Debug, Clone, Serialize)]
pub struct RunFile {
    pub path: String,
    pub executable: bool,
    /// How `content` has the bytes.
    pub encoding: Encoding,
    pub content: String,
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

/// A version that a run recorded is never removed, so it is there.
pub fn content(services: &Services<'_>, id: RunId) -> Result<RunContent, Error> {
    services.store.read(|tx| {
        let run = find(tx, id)?;
        let version = playbooks::find(tx, &run.playbook, Some(run.version))?;
        if version.digest != run.digest {
            return Err(Error::new(
                Kind::WrongState,
                format!(
                    "cannot show what run {id} ran: {}@{} is another content now",
                    run.playbook, run.version
                ),
            ));
        }
        let content = tx.playbooks().content(&version)?;
        Ok(RunContent {
            run: id,
            playbook: run.playbook,
            version: version.version,
            digest: version.digest,
            kind: content.kind,
            entry: content.entry,
            files: content.files.into_iter().map(file).collect(),
        })
    })
}

fn file(file: ContentFile) -> RunFile {
    let (encoding, content) = match std::str::from_utf8(&file.bytes) {
        Ok(text) => (Encoding::Utf8, text.to_owned()),
        Err(_) => (Encoding::Base64, Base64::encode_string(&file.bytes)),
    };
    RunFile {
        path: file.path,
        executable: file.executable,
        encoding,
        content,
        bytes: file.bytes,
    }
}
