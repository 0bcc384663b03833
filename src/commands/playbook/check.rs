//! What Ansible's check of a playbook is given.

use clap::Args;

use crate::commands::secrets::{VaultArgs, vault_passwords};
use crate::context::Context;
use crate::domain::variables::ExtraVar;
use crate::error::Error;
use crate::ops::playbooks::CheckOptions;

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Variable for the check: key=value, key:=JSON or @file
    #[arg(short = 'e', long = "extra-vars", value_name = "VAR")]
    variables: Vec<ExtraVar>,

    #[command(flatten)]
    vault: VaultArgs,
}

impl CheckArgs {
    /// Asks for the passwords that are to be asked for.
    pub(super) fn options(self, cx: &Context) -> Result<CheckOptions, Error> {
        let vault_ids = self.vault.ids();
        Ok(CheckOptions {
            variables: self.variables,
            vault_passwords: vault_passwords(cx, &vault_ids)?,
            vault_ids,
        })
    }
}
