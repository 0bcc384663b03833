//! Secrets of a run: given, read from files, or typed without echo.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::arguments::text_of;
use crate::context::Context;
use crate::domain::secret::{self, Secret, SecretArg, SecretFile};
use crate::domain::vault::{VaultId, VaultSource};
use crate::error::Error;
use crate::ops::runs::NotKept;
use crate::ops::secrets::SecretAsk;

#[derive(Debug, Args)]
pub struct SecretVariableArgs {
    /// Secret variable, never stored or shown: key asks for the value on the terminal; key=value
    /// stands on this machine's process list, so prefer --secret-file
    #[arg(short = 's', long = "secret", value_name = "KEY[=VALUE]")]
    // Not parsed by clap, which would repeat a wrong one.
    secrets: Vec<Hidden>,

    /// File with secret variables: lines of key=value, or a YAML or JSON mapping; - reads standard
    /// input
    #[arg(long = "secret-file", value_name = "FILE")]
    secret_files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SecretArgs {
    #[command(flatten)]
    variables: SecretVariableArgs,

    /// File with the password for become
    #[arg(long, value_name = "F")]
    pub(super) become_password_file: Option<PathBuf>,

    /// Ask for the password for become
    #[arg(long, short = 'K', conflicts_with = "become_password_file")]
    ask_become_pass: bool,

    #[command(flatten)]
    vault: VaultArgs,
}

#[derive(Debug, Args)]
pub struct VaultArgs {
    /// Vault identity, as Ansible takes it: LABEL@FILE, FILE, or LABEL@prompt
    #[arg(long = "vault-id", value_name = "ID")]
    vault_ids: Vec<VaultId>,

    /// Ask for the vault password
    #[arg(long, short = 'J')]
    ask_vault_pass: bool,
}

impl VaultArgs {
    /// What Ansible will be told; `--ask-vault-pass` is one of them.
    pub(super) fn ids(&self) -> Vec<VaultId> {
        let asked = self.ask_vault_pass.then(VaultId::asked);
        self.vault_ids.iter().cloned().chain(asked).collect()
    }
}

/// An argument that no message and no dump repeats.
#[derive(Clone)]
struct Hidden(String);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Hidden(text)
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secret)")
    }
}

impl SecretArgs {
    pub(super) fn vault_ids(&self) -> Vec<VaultId> {
        self.vault.ids()
    }

    /// Reads the files, then asks for what is left to ask.
    pub(super) fn ask(self, cx: &Context, vault_ids: &[VaultId]) -> Result<SecretAsk, Error> {
        let mut ask = self.variables.ask(cx)?;
        passwords(cx, &mut ask, self.ask_become_pass, vault_ids)?;
        Ok(ask)
    }
}

impl SecretVariableArgs {
    fn ask(self, cx: &Context) -> Result<SecretAsk, Error> {
        let mut ask = SecretAsk::default();
        for path in &self.secret_files {
            read(cx, path, &mut ask)?;
        }
        let secrets: Vec<SecretArg> = self
            .secrets
            .iter()
            .map(|s| s.0.parse().map_err(Error::usage))
            .collect::<Result<_, _>>()?;
        for secret in secrets {
            let (name, value) = match secret {
                SecretArg::Given { name, value } => (name, value),
                SecretArg::Ask { name } => {
                    let value = variable(cx, &name)?;
                    (name, value)
                }
            };
            ask.variables
                .insert(name, Value::String(value.reveal().to_owned()));
        }
        Ok(ask)
    }

    /// For a run that is repeated: what is given here, and what else it had.
    pub(super) fn ask_again(self, cx: &Context, not_kept: &NotKept) -> Result<SecretAsk, Error> {
        let mut ask = self.ask(cx)?;
        let given: Vec<String> = ask.names().into_iter().map(str::to_owned).collect();
        for name in not_kept.secrets.iter().filter(|n| !given.contains(n)) {
            let value = variable(cx, name)?;
            ask.variables
                .insert(name.clone(), Value::String(value.reveal().to_owned()));
        }
        passwords(cx, &mut ask, not_kept.become_password, &not_kept.vault_ids)?;
        Ok(ask)
    }
}

fn variable(cx: &Context, name: &str) -> Result<Secret, Error> {
    cx.ui.ask_secret(
        &format!("value of `{name}`"),
        "give it in a file: `--secret-file FILE`, a line key=value",
    )
}

fn passwords(
    cx: &Context,
    ask: &mut SecretAsk,
    become_password: bool,
    vault_ids: &[VaultId],
) -> Result<(), Error> {
    if become_password {
        let typed = cx.ui.ask_secret(
            "become password",
            "give it with `--become-password-file FILE`",
        )?;
        if typed.reveal().is_empty() {
            return Err(Error::usage("the become password is empty"));
        }
        ask.become_password = Some(typed);
    }
    ask.vault_passwords.extend(vault_passwords(cx, vault_ids)?);
    Ok(())
}

/// One for each identity that asks, in their order.
pub(super) fn vault_passwords(cx: &Context, ids: &[VaultId]) -> Result<Vec<Secret>, Error> {
    ids.iter()
        .filter(|id| id.source == VaultSource::Prompt)
        .map(|id| {
            let typed = cx.ui.ask_secret(
                &format!("vault password ({})", id.label),
                "give it with `--vault-id LABEL@FILE`",
            )?;
            if typed.reveal().trim().is_empty() {
                return Err(Error::usage(format!(
                    "the vault password for `{}` is empty",
                    id.label
                )));
            }
            Ok(typed)
        })
        .collect()
}

fn read(cx: &Context, path: &Path, ask: &mut SecretAsk) -> Result<(), Error> {
    let text = text_of(cx, path, "secrets")?;
    let shown = path.display();
    if secret::is_lines(&text) {
        let lines = secret::parse_lines(&text)
            .map_err(|e| Error::usage(format!("cannot read the secrets of {shown}: {e}")))?;
        ask.variables.extend(lines);
        return Ok(());
    }
    let known = crate::yaml::mapping(&text).map_err(|why| {
        Error::usage(format!("cannot read the secrets of {shown}: {why}"))
            .hint("write lines of key=value, or a YAML or JSON mapping; a file encrypted with ansible-vault goes with `-e @FILE`")
    })?;
    // What Ansible would make of a template nobody here knows, so nobody could
    // hide it.
    if let Some(name) = secret::template(&known) {
        return Err(Error::usage(format!(
            "the secret `{name}` of {shown} has braces in it, which Ansible would take for a template"
        ))
        .hint("write it as a line key=value, in a file of such lines: those are taken literally"));
    }
    ask.files.push(SecretFile::of(text, known));
    Ok(())
}
