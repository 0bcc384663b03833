//! Playbooks and their immutable versions.
//!
//! A version's content is a tar in canonical form (files sorted by path, no
//! times, no owners) under zstd; its digest is the sha256 of that tar with
//! kind and entry before it, so the same content always has the same digest.

use std::io::Read;

use rusqlite::{OptionalExtension, Row, named_params, params};
use sha2::{Digest, Sha256};

use super::values::{damaged, parsed, time};
use super::{StoreError, Tx};
use crate::domain::event::NewEvent;
use crate::domain::name::PlaybookName;
use crate::domain::playbook::{Content, ContentFile, ContentKind, Playbook, PlaybookVersion};
use crate::domain::run::RunId;

pub struct Playbooks<'t>(pub(in crate::store) &'t Tx<'t>);

/// How an audit event names a playbook.
pub fn subject(name: &PlaybookName) -> String {
    format!("playbook {name}")
}

/// Content in its stored form.
pub struct Packed {
    tar: Vec<u8>,
    digest: String,
}

impl Packed {
    pub fn of(content: &Content) -> std::io::Result<Packed> {
        let mut builder = tar::Builder::new(Vec::new());
        for file in &content.files {
            let mut header = tar::Header::new_gnu();
            header.set_size(file.bytes.len() as u64);
            header.set_mode(if file.executable { 0o755 } else { 0o644 });
            builder.append_data(&mut header, &file.path, file.bytes.as_slice())?;
        }
        let tar = builder.into_inner()?;
        let mut hash = Sha256::new();
        hash.update(kind_word(content.kind));
        hash.update([0]);
        hash.update(&content.entry);
        hash.update([0]);
        hash.update(&tar);
        Ok(Packed {
            digest: hash.finalize().iter().map(|b| format!("{b:02x}")).collect(),
            tar,
        })
    }

    pub fn digest(&self) -> &str {
        &self.digest
    }
}

fn kind_word(kind: ContentKind) -> &'static str {
    match kind {
        ContentKind::File => "file",
        ContentKind::Bundle => "bundle",
    }
}

/// Guards against a content that unpacks to more than anyone pushes.
const MAX_UNPACKED: u64 = 256 * 1024 * 1024;

fn unpack(kind: ContentKind, entry: String, packed: &[u8]) -> std::io::Result<Content> {
    let tar = zstd::stream::Decoder::new(packed)?.take(MAX_UNPACKED);
    let mut files = Vec::new();
    for item in tar::Archive::new(tar).entries()? {
        let mut item = item?;
        let path = item.path()?.to_string_lossy().into_owned();
        let executable = item.header().mode()? & 0o100 != 0;
        let mut bytes = Vec::new();
        item.read_to_end(&mut bytes)?;
        files.push(ContentFile {
            path,
            executable,
            bytes,
        });
    }
    Ok(Content { kind, entry, files })
}

/// Who pushed it, and why.
#[derive(Debug, Clone)]
pub struct Authorship<'a> {
    pub author: &'a str,
    pub message: Option<&'a str>,
    pub packaged: bool,
}

impl Playbooks<'_> {
    pub fn list(&self) -> Result<Vec<Playbook>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT p.name, p.default_version, p.updated_at,
                        max(v.version) AS latest, count(*) AS versions,
                        max(v.packaged AND v.version = p.default_version) AS packaged
                 FROM playbooks p JOIN playbook_versions v ON v.name = p.name
                 GROUP BY p.name ORDER BY p.name",
            )
            .and_then(|mut s| {
                s.query_map([], |row| {
                    Ok(Playbook {
                        name: parsed(row, "name")?,
                        default_version: row.get("default_version")?,
                        latest_version: row.get("latest")?,
                        versions: row.get("versions")?,
                        packaged: row.get("packaged")?,
                        updated_at: time(row, "updated_at")?,
                    })
                })?
                .collect()
            })
            .map_err(self.0.wrap())
    }

    /// Newest first; empty when there is no such playbook.
    pub fn versions(&self, name: &PlaybookName) -> Result<Vec<PlaybookVersion>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT v.*, p.default_version FROM playbook_versions v
                 JOIN playbooks p ON p.name = v.name
                 WHERE v.name = ?1 ORDER BY v.version DESC",
            )
            .and_then(|mut s| s.query_map([name.as_str()], version)?.collect())
            .map_err(self.0.wrap())
    }

    /// One version; None means the default one.
    pub fn get(
        &self,
        name: &PlaybookName,
        wanted: Option<u32>,
    ) -> Result<Option<PlaybookVersion>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT v.*, p.default_version FROM playbook_versions v
                 JOIN playbooks p ON p.name = v.name
                 WHERE v.name = ?1 AND v.version = coalesce(?2, p.default_version)",
            )
            .and_then(|mut s| {
                s.query_row(params![name.as_str(), wanted], version)
                    .optional()
            })
            .map_err(self.0.wrap())
    }

    pub fn content(&self, version: &PlaybookVersion) -> Result<Content, StoreError> {
        let packed: Vec<u8> = self
            .0
            .conn()
            .prepare_cached(
                "SELECT content FROM playbook_versions WHERE name = ?1 AND version = ?2",
            )
            .and_then(|mut s| {
                s.query_row(params![version.name.as_str(), version.version], |r| {
                    r.get(0)
                })
            })
            .map_err(self.0.wrap())?;
        unpack(version.kind, version.entry.clone(), &packed)
            .map_err(|e| (self.0.wrap())(damaged("content", &e)))
    }

    /// Adds the next version. The first one is the default; a later one only
    /// by [`set_default`](Self::set_default).
    pub fn insert_version(
        &self,
        name: &PlaybookName,
        content: &Content,
        packed: &Packed,
        by: &Authorship<'_>,
    ) -> Result<u32, StoreError> {
        let now = self.0.now().0;
        let conn = self.0.conn();
        let compressed = zstd::encode_all(packed.tar.as_slice(), 9)
            .map_err(|e| (self.0.wrap())(rusqlite::Error::ToSqlConversionFailure(e.into())))?;
        let number: u32 = conn
            .query_row(
                "SELECT coalesce(max(last_version), 0) + 1 FROM playbooks WHERE name = ?1",
                [name.as_str()],
                |r| r.get(0),
            )
            .map_err(self.0.wrap())?;
        conn.execute(
            "INSERT INTO playbooks (name, default_version, last_version, updated_at)
             VALUES (?1, ?2, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET last_version = excluded.last_version",
            params![name.as_str(), number, now],
        )
        .map_err(self.0.wrap())?;
        conn.execute(
            "INSERT INTO playbook_versions (name, version, digest, kind, entry, size_bytes,
               author, message, packaged, content, created_at)
             VALUES (:name, :version, :digest, :kind, :entry, :size, :author, :message,
               :packaged, :content, :now)",
            named_params! {
                ":name": name.as_str(),
                ":version": number,
                ":digest": packed.digest,
                ":kind": kind_word(content.kind),
                ":entry": content.entry,
                ":size": content.files.iter().map(|f| f.bytes.len() as i64).sum::<i64>(),
                ":author": by.author,
                ":message": by.message,
                ":packaged": by.packaged,
                ":content": compressed,
                ":now": now,
            },
        )
        .map_err(self.0.wrap())?;
        self.0
            .events()
            .append(
                NewEvent::new("playbook.pushed", subject(name)).detail(serde_json::json!({
                    "version": number,
                    "digest": packed.digest,
                    "packaged": by.packaged,
                })),
            )?;
        Ok(number)
    }

    /// The one that was the default is where a rollback goes.
    pub fn set_default(&self, name: &PlaybookName, version: u32) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "INSERT INTO playbook_defaults (name, version, until)
                 SELECT name, default_version, ?2 FROM playbooks WHERE name = ?1",
                params![name.as_str(), self.0.now().0],
            )
            .map_err(self.0.wrap())?;
        self.make_default(name, version)?;
        self.0.events().append(
            NewEvent::new("playbook.default", subject(name))
                .detail(serde_json::json!({ "version": version })),
        )
    }

    /// The default before this one.
    pub fn previous_default(&self, name: &PlaybookName) -> Result<Option<u32>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT d.version FROM playbook_defaults d JOIN playbooks p ON p.name = d.name
                 WHERE d.name = ?1 AND d.version <> p.default_version
                 ORDER BY d.id DESC LIMIT 1",
            )
            .and_then(|mut s| s.query_row([name.as_str()], |r| r.get(0)).optional())
            .map_err(self.0.wrap())
    }

    /// Makes `version` the default as it was before: what came after it is no
    /// place to roll back to any more, least of all the one that is left now.
    pub fn roll_back(&self, name: &PlaybookName, version: u32) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "DELETE FROM playbook_defaults WHERE name = ?1 AND id >= coalesce(
                   (SELECT max(id) FROM playbook_defaults WHERE name = ?1 AND version = ?2),
                   9223372036854775807)",
                params![name.as_str(), version],
            )
            .map_err(self.0.wrap())?;
        self.make_default(name, version)?;
        self.0.events().append(
            NewEvent::new("playbook.rolled_back", subject(name))
                .detail(serde_json::json!({ "version": version })),
        )
    }

    fn make_default(&self, name: &PlaybookName, version: u32) -> Result<(), StoreError> {
        self.0
            .conn()
            .execute(
                "UPDATE playbooks SET default_version = ?2, updated_at = ?3 WHERE name = ?1",
                params![name.as_str(), version, self.0.now().0],
            )
            .map_err(self.0.wrap())?;
        Ok(())
    }

    /// The versions that a run recorded, as its own or as one of its hooks, each
    /// with the latest such run.
    pub fn recorded(&self, name: &PlaybookName) -> Result<Vec<(u32, RunId)>, StoreError> {
        self.0
            .conn()
            .prepare_cached(
                "SELECT version, max(id) FROM (
                   SELECT version, id FROM runs WHERE playbook = ?1
                   UNION ALL
                   SELECT request ->> '$.ssh_credential_hook.prepare.version', id FROM runs
                   WHERE request ->> '$.ssh_credential_hook.prepare.playbook' = ?1
                   UNION ALL
                   SELECT request ->> '$.ssh_credential_hook.cleanup.version', id FROM runs
                   WHERE request ->> '$.ssh_credential_hook.cleanup.playbook' = ?1)
                 GROUP BY version ORDER BY version",
            )
            .and_then(|mut s| {
                s.query_map([name.as_str()], |r| Ok((r.get(0)?, RunId(r.get(1)?))))?
                    .collect()
            })
            .map_err(self.0.wrap())
    }

    /// Removes one version; its number is not given again.
    pub fn remove_version(&self, name: &PlaybookName, version: u32) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM playbook_versions WHERE name = ?1 AND version = ?2",
            "DELETE FROM playbook_defaults WHERE name = ?1 AND version = ?2",
        ] {
            self.0
                .conn()
                .execute(sql, params![name.as_str(), version])
                .map_err(self.0.wrap())?;
        }
        self.0.events().append(
            NewEvent::new("playbook.version_removed", subject(name))
                .detail(serde_json::json!({ "version": version })),
        )
    }

    /// Removes the playbook and all of its versions.
    pub fn remove(&self, name: &PlaybookName) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM playbook_versions WHERE name = ?1",
            "DELETE FROM playbook_defaults WHERE name = ?1",
            "DELETE FROM playbooks WHERE name = ?1",
        ] {
            self.0
                .conn()
                .execute(sql, [name.as_str()])
                .map_err(self.0.wrap())?;
        }
        self.0
            .events()
            .append(NewEvent::new("playbook.removed", subject(name)))
    }
}

fn version(row: &Row<'_>) -> rusqlite::Result<PlaybookVersion> {
    let kind: String = row.get("kind")?;
    let number: u32 = row.get("version")?;
    Ok(PlaybookVersion {
        name: parsed(row, "name")?,
        version: number,
        is_default: row.get::<_, u32>("default_version")? == number,
        digest: row.get("digest")?,
        kind: match kind.as_str() {
            "file" => ContentKind::File,
            "bundle" => ContentKind::Bundle,
            other => return Err(damaged("kind", &other)),
        },
        entry: row.get("entry")?,
        size_bytes: row
            .get::<_, i64>("size_bytes")
            .map(|n| u64::try_from(n).unwrap_or(0))?,
        author: row.get("author")?,
        message: row.get("message")?,
        packaged: row.get("packaged")?,
        created_at: time(row, "created_at")?,
    })
}
