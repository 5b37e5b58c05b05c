//! The first screen, printed by `steadfast` and `steadfast --help`, and the answer to an unknown
//! command.

use clap::Command;
use clap::builder::StyledStr;
use std::fmt::Write;
use steadfast_domain::nearest;
use steadfast_procedures::PROCEDURES;

/// The commands by purpose. A test holds that every command is in one group.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Measure",
        &[
            "devices", "doctor", "plan", "run", "resume", "measure", "calibrate", "report",
            "study", "compare", "trend", "check",
        ],
    ),
    ("Learn", &["capture", "mark", "trace", "explore"]),
    ("Replay", &["workload", "replay"]),
    (
        "Other tools' files",
        &["identify", "export", "fio", "fiosynth", "iometer", "crystaldiskmark", "atto", "tkperf"],
    ),
    ("Housekeeping", &["restore", "unlock", "schema", "completions", "man", "help"]),
];

const EXAMPLES: &str = "\
Examples:
  steadfast run iops --target sim:small        a simulated drive: takes seconds
  steadfast devices                            drives and their serial numbers
  steadfast plan iops --target /dev/nvme0n1    steps and time of a test
  steadfast run iops --target /dev/nvme0n1 --yes-destroy SERIAL
  steadfast measure \"RND 4K R\" --target /dev/nvme0n1 --demand T4Q32
  steadfast capture --device /dev/nvme0n1 --duration 24h -o monday.parquet
  steadfast run replay-native --workload monday.parquet --target sim:small
  steadfast help topics                        safety, steady state, exit codes";

/// Description of `help`, which clap adds after this text was made.
const ABOUT_HELP: &str = "Print the help of a command or a topic (`help topics`)";

const TEMPLATE: &str = "{about-with-newline}
{usage-heading} {usage}

{before-help}{options}{after-help}";

/// Commands under names that other tools use.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("list", "devices"),
    ("ls", "devices"),
    ("info", "devices"),
    ("test", "run"),
    ("start", "run"),
    ("bench", "measure"),
    ("benchmark", "measure"),
    ("record", "capture"),
    ("continue", "resume"),
    ("diff", "compare"),
    ("show", "report"),
    ("analyze", "trace"),
];

/// Adds the commands by purpose, and examples, to the help of the program.
pub fn add_to(command: Command) -> Command {
    let text = commands_by_purpose(&command);
    command.help_template(TEMPLATE).before_help(text)
}

fn commands_by_purpose(command: &Command) -> String {
    let mut text = String::new();
    for (purpose, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{purpose}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(|| ABOUT_HELP.to_owned(), StyledStr::to_string);
            let about: Vec<&str> = about.lines().map(str::trim).collect();
            let _ = writeln!(text, "  {name:<16} {}", about.join(" "));
        }
        text.push('\n');
    }
    text + EXAMPLES
}

/// Returns what to type instead of an unknown command, or `None` if clap's own message is the best
/// answer.
pub fn unknown_command(word: &str) -> Option<String> {
    if PROCEDURES.iter().any(|procedure| procedure.name == word) {
        return Some(format!(
            "'{word}' is a procedure, not a command; type: steadfast run {word} --target TARGET"
        ));
    }
    if let Some((_, command)) = OTHER_NAMES.iter().find(|(other, _)| *other == word) {
        return Some(format!("'{word}' is not a command; see: steadfast {command} --help"));
    }
    let commands = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
    if let Some(command) = nearest(word, commands) {
        return Some(format!("'{word}' is not a command; did you mean '{command}'?"));
    }
    let procedure = nearest(word, PROCEDURES.iter().map(|procedure| procedure.name))?;
    Some(format!("'{word}' is not a command; did you mean 'steadfast run {procedure}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.retain(|name| *name != "help");
        let unique: BTreeSet<&str> = grouped.iter().copied().collect();
        assert_eq!(unique.len(), grouped.len(), "a command is in two groups");
        let command = Cli::command();
        let visible: BTreeSet<&str> = command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(Command::get_name)
            .collect();
        assert_eq!(unique, visible);
    }

    #[test]
    fn the_first_screen_has_80_columns() {
        for line in commands_by_purpose(&Cli::command()).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn other_names_lead_to_commands() {
        let command = Cli::command();
        for (other, name) in OTHER_NAMES {
            assert!(command.find_subcommand(name).is_some(), "{name}");
            assert!(command.find_subcommand(other).is_none(), "{other} is a command");
        }
    }

    #[test]
    fn an_unknown_command_says_what_to_type() {
        let text = |word| unknown_command(word).unwrap();
        assert!(text("iops").ends_with("steadfast run iops --target TARGET"));
        assert!(text("list").ends_with("steadfast devices --help"));
        assert!(text("mesure").ends_with("'measure'?"));
        assert!(text("throughputt").ends_with("'steadfast run throughput'?"));
        assert_eq!(unknown_command("zzzzzzzzzz"), None);
    }

    /// The heading of an option must not depend on which group stands before it.
    #[test]
    fn only_options_of_captures_stand_under_captured_workloads() {
        let root = Cli::command();
        for name in ["run", "plan"] {
            let command = root.find_subcommand(name).unwrap();
            let headed = |heading: &str| -> BTreeSet<&str> {
                let args = command.get_arguments();
                args.filter(|arg| arg.get_help_heading() == Some(heading))
                    .map(|arg| arg.get_id().as_str())
                    .collect()
            };
            let captured = headed(crate::cli::heading::CAPTURED);
            assert!(captured.contains("exact") && captured.contains("map"), "{captured:?}");
            assert!(headed(crate::cli::heading::SELECTION).contains("cgroup"));
            for other in ["target", "output", "yes_destroy", "purge", "hosts", "json", "verbose"] {
                assert!(!captured.contains(other), "{name}: {other}");
            }
            assert!(headed(crate::cli::heading::OUTPUT).contains("json"));
            assert!(headed(crate::cli::heading::TARGET).contains("target"));
            let without: Vec<&str> = command
                .get_arguments()
                .filter(|arg| arg.get_help_heading().is_none() && !arg.is_positional())
                .map(|arg| arg.get_id().as_str())
                .collect();
            assert!(without.iter().all(|id| ["help", "version"].contains(id)), "{without:?}");
        }
    }
}
