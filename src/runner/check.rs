//! Checks of a content that touch no host.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::engine::Engine;
use super::files::RunFiles;
use crate::ansible::launch::{Launch, Purpose};
use crate::ansible::lint::Lint;
use crate::ansible::{self, syntax};
use crate::domain::playbook::Content;
use crate::domain::variables::ExtraVar;
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

/// Ansible's own syntax check; its warnings.
///
/// # Errors
/// `Usage` with line and column when Ansible refuses the playbook.
pub fn check_syntax(
    engine: &Engine<'_>,
    content: &Content,
    variables: &[ExtraVar],
) -> Result<Vec<String>, Error> {
    let (_dir, files) = scratch(engine.paths)?;
    let playbook = files.write_content(content)?;
    let mut values: Map<String, Value> = Map::new();
    let mut variable_files: Vec<PathBuf> = Vec::new();
    for variable in variables {
        match variable {
            ExtraVar::File(path) => variable_files.push(engine.env.cwd.join(path)),
            ExtraVar::Value { name, value } => {
                values.insert(name.clone(), value.clone());
            }
        }
    }
    if !values.is_empty() {
        variable_files.push(files.write_variables(&values)?);
    }
    let inventory = files.write_inventory("---\nall: {}\n")?;
    let arguments: [OsString; 0] = [];
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
        },
        engine.env,
    )?;
    match verdict {
        syntax::Verdict::Accepted { warnings } => Ok(warnings),
        syntax::Verdict::Refused(text) => Err(Error::new(
            Kind::Usage,
            format!("Ansible refuses the playbook: {text}"),
        )),
    }
}

/// ansible-lint's word on the content.
pub fn lint(env: &Env, paths: &Paths, content: &Content) -> Result<Lint, Error> {
    let (_dir, files) = scratch(paths)?;
    files.write_content(content)?;
    Ok(ansible::lint::lint(&files.project(), &content.entry, env)?)
}
