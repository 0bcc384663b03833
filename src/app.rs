//! The composition root: parse, build the context, run, show the error.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::clock::Clock;
use crate::context::Context;
use crate::env::Env;
use crate::paths::Paths;
use crate::ui::{Ui, UiOptions};

pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let env = Env::snapshot();
    let clock = Clock::System;
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(refusal) => {
            let options = UiOptions {
                color: crate::cli::color_choice(&args),
                ..UiOptions::default()
            };
            return ExitCode::from(Ui::new(options, &env, clock).parse_refusal(&refusal));
        }
    };
    let context = Context {
        ui: Ui::new(cli.global.ui_options(), &env, clock),
        paths: Paths::resolve(cli.global.store.as_deref(), &env),
        clock,
        env,
    };
    let outcome = cli.command.run(&context);
    let failure = match outcome {
        Ok(()) => context.ui.write_failure(),
        Err(e) => Some(e),
    };
    match failure {
        None => ExitCode::from(crate::error::exit::DONE),
        Some(error) => {
            context.ui.error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}
