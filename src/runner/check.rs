//! Checks of a content that touch no host.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::engine::Engine;
use super::files::RunFiles;
use super::request::Vault;
use super::start::{vault_arguments, vault_identities};
use crate::ansible::launch::{Launch, Purpose};
use crate::ansible::lint::Lint;
use crate::ansible::{self, syntax};
use crate::domain::playbook::Content;
use crate::domain::variables::{ExtraVar, literals};
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::fs::FsError;
use crate::paths::Paths;

/// A directory for one check, gone with the value.
pub(super) fn scratch(paths: &Paths) -> Result<(tempfile::TempDir, RunFiles), Error> {
    let runs = paths.runs();
    crate::fs::create_private_dir(&runs).map_err(crate::error::Error::store)?;
    let dir = tempfile::Builder::new()
        .prefix("check-")
        .tempdir_in(&runs)
        .map_err(FsError::of("make a directory in", &runs))?;
    let files = RunFiles::create(dir.path().to_owned())?;
    Ok((dir, files))
}

/// How many undefined variables of `hosts:` are told before it is enough.
const UNDEFINED_LIMIT: usize = 16;

/// Ansible's own syntax check; its warnings.
///
/// A variable in `hosts:` that only the run will be given is a warning; the
/// rest is checked with a value in its place.
///
/// # Errors
/// `Usage` with line and column when Ansible refuses the playbook.
pub fn check_syntax(
    engine: &Engine<'_>,
    content: &Content,
    variables: &[ExtraVar],
    vaults: &[Vault],
) -> Result<Vec<String>, Error> {
    let (_dir, files) = scratch(engine.paths)?;
    let playbook = files.write_content(content)?;
    let mut values: Map<String, Value> = Map::new();
    let mut given: Vec<PathBuf> = Vec::new();
    for variable in variables {
        match variable {
            ExtraVar::File(path) => given.push(engine.env.cwd.join(path)),
            ExtraVar::Value { name, value } => {
                values.insert(name.clone(), value.clone());
            }
        }
    }
    let inventory = files.write_inventory("---\nall: {}\n")?;
    let arguments = vault_arguments(vaults, &files)?;
    let mut undefined = Vec::new();
    loop {
        let mut variable_files = given.clone();
        if !values.is_empty() {
            variable_files.push(files.write_variables(&literals(&values))?);
        }
        let verdict = syntax::check(
            &Launch {
                install: &engine.ansible,
                workdir: &files.project(),
                playbook: &playbook,
                inventory: Some(&inventory),
                variable_files: &variable_files,
                arguments: &arguments,
                callback_dir: &files.callback(),
                control_dir: files.control(),
                known_hosts: &engine.paths.known_hosts(),
                local_tmp: &files.local_tmp(),
                purpose: Purpose::Run,
                ssh_only: false,
            },
            engine.env,
        )?;
        match verdict {
            syntax::Verdict::Accepted { warnings } => {
                undefined.extend(warnings);
                return Ok(undefined);
            }
            syntax::Verdict::UndefinedHosts {
                text,
                variable: Some(name),
            } if !values.contains_key(&name) && undefined.len() < UNDEFINED_LIMIT => {
                undefined.push(format!("{text}; give it with -e to the run"));
                values.insert(name, Value::String("all".to_owned()));
            }
            syntax::Verdict::UndefinedHosts { text, .. } => {
                undefined.push(format!("{text}; what comes after it was not checked"));
                return Ok(undefined);
            }
            syntax::Verdict::Refused(text) => {
                let error =
                    Error::new(Kind::Usage, format!("Ansible refuses the playbook: {text}"));
                return Err(if text.contains("no vault secrets found") {
                    error
                        .hint("give the vault password: --vault-id LABEL@FILE, or --ask-vault-pass")
                } else {
                    error
                });
            }
        }
    }
}

/// ansible-lint's word on the content.
pub fn lint(env: &Env, paths: &Paths, content: &Content, vaults: &[Vault]) -> Result<Lint, Error> {
    let (_dir, files) = scratch(paths)?;
    files.write_content(content)?;
    let identities = vault_identities(vaults, &files)?;
    Ok(ansible::lint::lint(
        &files.project(),
        &content.entry,
        &identities,
        env,
    )?)
}
