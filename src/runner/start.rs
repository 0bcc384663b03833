//! From a request to a started ansible-playbook.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::engine::Engine;
use super::files::RunFiles;
use super::request::{Password, RunRequest, Targets, Vault};
use crate::ansible::inventory::{InventoryHost, generated};
use crate::ansible::launch::{self, Launch, Purpose, Running};
use crate::ansible::processes;
use crate::domain::variables::literals;
use crate::error::{Error, Kind};

/// Writes what Ansible needs into the run's directory, and starts it. `own` are
/// variables of ours, which win over all others.
pub(super) fn start(
    engine: &Engine<'_>,
    request: &RunRequest,
    files: &RunFiles,
    purpose: Purpose,
    own: Option<&Map<String, Value>>,
) -> Result<Running, Error> {
    let playbook = files.write_content(&request.content)?;
    let inventory = inventory(engine, request, files)?;
    let mut variable_files = Vec::new();
    if !request.store_variables.is_empty() {
        variable_files.push(files.write_store_variables(&literals(&request.store_variables))?);
    }
    variable_files.extend(request.var_files.iter().cloned());
    for (number, file) in request.secret_files.iter().enumerate() {
        variable_files.push(files.write_secret(&format!("variables-{number}"), file.text())?);
    }
    let mut variables = request.all_variables();
    if let Some(own) = own {
        variables.extend(own.clone());
    }
    if !variables.is_empty() {
        variable_files.push(files.write_variables(&variables)?);
    }
    let only = &request.options.only_hosts;
    let limit = match only.is_empty() {
        true => request.options.limit.clone(),
        false => Some(files.write_limit(only)?),
    };
    let arguments = arguments(request, limit, files)?;
    let known_hosts = engine.paths.known_hosts();
    processes::become_subreaper();
    processes::allow_many_files();
    Ok(launch::start(
        &Launch {
            install: &engine.ansible,
            workdir: &files.project(),
            playbook: &playbook,
            inventory: inventory.as_deref(),
            variable_files: &variable_files,
            arguments: &arguments,
            callback_dir: &files.callback(),
            control_dir: files.control(),
            known_hosts: &known_hosts,
            local_tmp: &files.local_tmp(),
            purpose,
            ssh_only: request.hooks.is_some(),
        },
        engine.env,
    )?)
}

fn inventory(
    engine: &Engine<'_>,
    request: &RunRequest,
    files: &RunFiles,
) -> Result<Option<PathBuf>, Error> {
    let (servers, others): (&[_], &[String]) = match &request.targets {
        Targets::Inventory(path) => return Ok(Some(engine.env.cwd.join(path))),
        Targets::Servers(servers) => (servers, &[]),
        Targets::Hosts { servers, others } => (servers, others),
        Targets::None => (&[], &[]),
    };
    let hosts: Vec<InventoryHost> = servers
        .iter()
        .map(|s| InventoryHost {
            name: s.hostname.to_string(),
            group: s.group.to_owned(),
            address: s.address,
            port: s.port,
            user: s.user.to_string(),
        })
        .collect();
    // The long-lived key is for runs without credentials of their own.
    let key_file = match request.hooks {
        Some(_) => "",
        None => &engine.key_file,
    };
    let text = generated(
        &hosts,
        others,
        key_file,
        &launch::ssh_args(&engine.paths.known_hosts()),
    )
    .map_err(|e| Error::new(Kind::Local, format!("cannot write the inventory: {e}")))?;
    Ok(Some(files.write_inventory(&text)?))
}

/// Options as ansible-playbook takes them.
fn arguments(
    request: &RunRequest,
    limit: Option<String>,
    files: &RunFiles,
) -> Result<Vec<OsString>, Error> {
    let options = &request.options;
    let mut args: Vec<OsString> = Vec::new();
    if options.check {
        args.push("--check".into());
    }
    if options.diff {
        args.push("--diff".into());
    }
    for (flag, value) in [
        ("--limit", &limit),
        ("--tags", &options.tags),
        ("--skip-tags", &options.skip_tags),
        ("--start-at-task", &options.start_at_task),
    ] {
        if let Some(value) = value {
            // One word: a value that begins with a hyphen is no option.
            args.push(format!("{flag}={value}").into());
        }
    }
    if let Some(password) = &options.become_password {
        args.push("--become-password-file".into());
        args.push(password_file(password, "become", files)?.into());
    }
    args.extend(vault_arguments(&options.vaults, files)?);
    if options.verbosity > 1 {
        args.push(format!("-{}", "v".repeat(usize::from(options.verbosity - 1))).into());
    }
    Ok(args)
}

pub(super) fn vault_arguments(vaults: &[Vault], files: &RunFiles) -> Result<Vec<OsString>, Error> {
    let identities = vault_identities(vaults, files)?;
    let argument = |id: OsString| {
        let mut argument = OsString::from("--vault-id=");
        argument.push(id);
        argument
    };
    Ok(identities.into_iter().map(argument).collect())
}

/// `label@file` each.
pub(super) fn vault_identities(vaults: &[Vault], files: &RunFiles) -> Result<Vec<OsString>, Error> {
    let identity = |(number, vault): (usize, &Vault)| {
        let file = password_file(&vault.password, &format!("vault-{number}"), files)?;
        let mut id = OsString::from(format!("{}@", vault.label));
        id.push(file);
        Ok(id)
    };
    vaults.iter().enumerate().map(identity).collect()
}

fn password_file(password: &Password, name: &str, files: &RunFiles) -> Result<PathBuf, Error> {
    match password {
        Password::File(path) => Ok(path.clone()),
        Password::Text(secret) => files.write_secret(name, secret),
    }
}
