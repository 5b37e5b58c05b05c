//! `steadfast completions` and `steadfast man`.

use crate::cli::{Cli, CompletionsArguments};
use crate::exit::ExitState;
use crate::terminal;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::io;

/// Prints a shell's completion script.
pub fn completions(arguments: &CompletionsArguments) -> anyhow::Result<ExitState> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "steadfast", &mut script);
    terminal::print(&String::from_utf8(script)?)?;
    Ok(ExitState::Done)
}

/// Prints the manual pages of the program and of every command, one after the other.
/// scripts/man-pages writes them to files.
pub fn man() -> anyhow::Result<ExitState> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    write_pages(&command, &mut pages)?;
    terminal::print(&String::from_utf8(pages)?)?;
    Ok(ExitState::Done)
}

/// Appends the page of a command, then those of its subcommands. Hidden commands have no page.
fn write_pages(command: &Command, pages: &mut Vec<u8>) -> io::Result<()> {
    let source = concat!("steadfast ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(source).render(pages)?;
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_pages(subcommand, pages)?;
    }
    Ok(())
}
