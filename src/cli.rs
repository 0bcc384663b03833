//! The command line: global options, the commands, and their one match.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands;
use crate::context::Context;
use crate::error::Error;
use crate::ui::{ColorChoice, Format, UiOptions};

/// Shares physical Linux servers between workloads through versioned Ansible
/// playbooks.
#[derive(Debug, Parser)]
#[command(
    name = "kloigos",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    before_help = "\
Example:
  kloigos init
  kloigos server add lab1 --private-ip 192.0.2.10 --admin-user debian \\
      --region home --zone rack1 --cu 0-3 --cu 4-7 --disk /dev/sdb
  kloigos ip add 192.0.2.100-192.0.2.120
  kloigos alloc create web --key ~/.ssh/id_ed25519.pub
  kloigos alloc ssh web -i ~/.ssh/id_ed25519"
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Directory of the store, instead of KLOIGOS_HOME or the platform's data directory
    #[arg(long, global = true, value_name = "DIR")]
    pub store: Option<PathBuf>,

    /// How results are written to stdout
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_default_value = true
    )]
    pub format: Format,

    /// Results, warnings and errors only
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// Ansible's own output too; -vv and -vvv make Ansible more talkative
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// When to colour; NO_COLOR is honoured
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_default_value = true,
        value_name = "WHEN"
    )]
    pub color: ColorChoice,

    /// Plain lines instead of the live display
    #[arg(long, global = true)]
    pub no_progress: bool,

    /// Go ahead without a question
    #[arg(long, short, global = true)]
    pub yes: bool,
}

impl GlobalArgs {
    pub fn ui_options(&self) -> UiOptions {
        UiOptions {
            format: self.format,
            color: self.color,
            quiet: self.quiet,
            verbosity: self.verbose,
            no_progress: self.no_progress,
            yes: self.yes,
        }
    }
}

/// The colour choice of a command line that could not be parsed.
pub fn color_choice(args: &[OsString]) -> ColorChoice {
    let words: Vec<_> = args.iter().map(|a| a.to_string_lossy()).collect();
    let given =
        words
            .iter()
            .enumerate()
            .find_map(|(i, word)| match word.strip_prefix("--color=") {
                Some(choice) => Some(choice),
                None if word == "--color" => words.get(i + 1).map(AsRef::as_ref),
                None => None,
            });
    match given {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Init(commands::init::InitArgs),
    #[command(subcommand)]
    Server(commands::server::ServerCommand),
    #[command(subcommand)]
    Cu(commands::cu::CuCommand),
    #[command(subcommand)]
    Ip(commands::ip::IpCommand),
    #[command(subcommand)]
    Alloc(commands::alloc::AllocCommand),
    #[command(subcommand)]
    Playbook(commands::playbook::PlaybookCommand),
    Run(commands::run::RunArgs),
    #[command(subcommand)]
    Runs(commands::runs::RunsCommand),
    #[command(subcommand)]
    Setting(commands::setting::SettingCommand),
    #[command(subcommand)]
    Event(commands::event::EventCommand),
}

impl Command {
    pub fn run(self, cx: &Context) -> Result<(), Error> {
        match self {
            Command::Init(args) => commands::init::run(cx, args),
            Command::Server(command) => command.run(cx),
            Command::Cu(command) => command.run(cx),
            Command::Ip(command) => command.run(cx),
            Command::Alloc(command) => command.run(cx),
            Command::Playbook(command) => command.run(cx),
            Command::Run(args) => commands::run::run(cx, args),
            Command::Runs(command) => command.run(cx),
            Command::Setting(command) => command.run(cx),
            Command::Event(command) => command.run(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use clap::CommandFactory;

    /// Every command and group, the program itself included.
    fn all(command: clap::Command, into: &mut Vec<clap::Command>) {
        for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
            all(sub.clone(), into);
        }
        into.push(command);
    }

    fn commands() -> Vec<clap::Command> {
        let mut root = Cli::command();
        root.build();
        let mut list = Vec::new();
        all(root, &mut list);
        list
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_help_begins_with_an_example_of_that_command() {
        let list = commands();
        assert!(list.len() > 40, "{}", list.len());
        for mut command in list {
            let name = command.get_bin_name().unwrap_or("kloigos").to_owned();
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                assert!(help.starts_with("Example:\n  kloigos "), "{name}: {help}");
                let example = help.split("\n\n").next().unwrap_or_default();
                assert!(example.contains(&name), "{name}: {example}");
            }
        }
    }

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        for mut command in commands() {
            let help = command.render_help().to_string();
            let example = help.split("\n\n").next().unwrap_or_default();
            let example = example.replace("\\\n", " ");
            for line in example.lines().skip(1) {
                let line = line.split(['|', '<']).next().unwrap_or_default();
                let words: Vec<String> = line
                    .split('\'')
                    .enumerate()
                    .flat_map(|(i, part)| match i % 2 {
                        1 => vec![part.to_owned()],
                        _ => part.split_whitespace().map(str::to_owned).collect(),
                    })
                    .collect();
                if let Err(e) = Cli::try_parse_from(&words) {
                    panic!("{line}: {e}");
                }
            }
        }
    }

    #[test]
    fn every_option_says_what_it_is_for() {
        for command in commands() {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
            assert!(command.get_about().is_some(), "{}", command.get_name());
        }
    }
}
