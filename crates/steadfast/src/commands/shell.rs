//! `steadfast completions` and `steadfast man`.

use crate::cli::{Cli, CompletionsArguments};
use crate::exit::ExitState;
use crate::terminal;
use clap::CommandFactory;

/// Prints a shell's completion script.
pub fn completions(arguments: &CompletionsArguments) -> anyhow::Result<ExitState> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "steadfast", &mut script);
    terminal::print(&String::from_utf8(script)?)?;
    Ok(ExitState::Done)
}

/// Prints one manual page with every command in it.
pub fn man() -> anyhow::Result<ExitState> {
    let command = Cli::command();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for subcommand in command.get_subcommands() {
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_description_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_options_section(&mut page)?;
        man.render_extra_section(&mut page)?;
    }
    terminal::print(&String::from_utf8(page)?)?;
    Ok(ExitState::Done)
}
