//! Tests of the options of all commands: a name means the same everywhere, docs/options.md lists
//! every option, and advised command lines use existing ones.

use super::Cli;
use super::overview::GROUPS;
use clap::{Arg, Command, CommandFactory};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One option of one command.
struct OptionUse {
    command: String,
    group: &'static str,
    short: Option<char>,
    values: Vec<String>,
    help: String,
}

/// Heading of the options that every command has.
const EVERY_COMMAND: &str = "Every command";
/// Heading of the options of commands of more than one group.
const SEVERAL_GROUPS: &str = "Several groups";

/// Value names of quantities. An option that takes one of them accepts no other kind of value in any
/// command.
const QUANTITIES: [&str; 4] = ["N", "TIME", "BYTES", "PERCENT"];

/// Returns every visible option by its long name.
fn options() -> BTreeMap<String, Vec<OptionUse>> {
    let mut found: BTreeMap<String, Vec<OptionUse>> = BTreeMap::new();
    let root = Cli::command();
    for argument in root.get_arguments() {
        add_option(&mut found, "", EVERY_COMMAND, argument);
    }
    for (group, names) in GROUPS {
        for command in names.iter().filter_map(|name| root.find_subcommand(name)) {
            add_command(&mut found, command.get_name(), group, command);
        }
    }
    found
}

/// Adds the options of a command and of its subcommands.
fn add_command(
    found: &mut BTreeMap<String, Vec<OptionUse>>,
    name: &str,
    group: &'static str,
    command: &Command,
) {
    for argument in command.get_arguments() {
        add_option(found, name, group, argument);
    }
    for subcommand in command.get_subcommands() {
        add_command(found, &format!("{name} {}", subcommand.get_name()), group, subcommand);
    }
}

fn add_option(
    found: &mut BTreeMap<String, Vec<OptionUse>>,
    command: &str,
    group: &'static str,
    argument: &Arg,
) {
    let Some(long) = argument.get_long().filter(|_| !argument.is_hide_set()) else { return };
    let takes_value = argument.get_action().takes_values();
    let value_names =
        if takes_value { argument.get_value_names().unwrap_or_default() } else { &[] };
    let values = value_names.iter().flat_map(|name| name.split('|'));
    let option = OptionUse {
        command: command.to_owned(),
        group,
        short: argument.get_short(),
        values: values.map(str::to_owned).collect(),
        help: argument.get_help().map(ToString::to_string).unwrap_or_default(),
    };
    found.entry(long.to_owned()).or_default().push(option);
}

/// Returns the part of a help text that is the same in all commands: what follows `:`, `;`, a full stop or
/// a parenthesis is the command's own.
fn meaning(help: &str) -> &str {
    let ends = [": ", "; ", ". ", " ("].iter().filter_map(|end| help.find(end));
    &help[..ends.min().unwrap_or(help.len())]
}

#[test]
fn a_name_means_one_thing_and_a_meaning_has_one_name() {
    let mut wrong = Vec::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (long, found) in options() {
        let meanings: BTreeSet<&str> = found.iter().map(|option| meaning(&option.help)).collect();
        if meanings.len() > 1 {
            wrong.push(format!("--{long} means several things: {meanings:#?}"));
        }
        for meaning in meanings {
            if let Some(other) = names.insert(meaning.to_owned(), long.clone()) {
                wrong.push(format!("--{long} and --{other} both mean: {meaning}"));
            }
        }
        let values: BTreeSet<&str> =
            found.iter().flat_map(|option| &option.values).map(String::as_str).collect();
        if values.len() > 1 && QUANTITIES.iter().any(|kind| values.contains(kind)) {
            wrong.push(format!("--{long} takes values of several kinds: {values:?}"));
        }
        let takes_value: BTreeSet<bool> =
            found.iter().map(|option| !option.values.is_empty()).collect();
        if takes_value.len() > 1 {
            wrong.push(format!("--{long} takes a value in some commands only"));
        }
        // TKperf's one-letter options stay TKperf's.
        let ours = found.iter().filter(|option| option.command != "tkperf");
        let shorts: BTreeSet<Option<char>> = ours.map(|option| option.short).collect();
        if shorts.len() > 1 {
            wrong.push(format!("--{long} has a short form in some commands only: {shorts:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `--force` and `--group` are refused where no file is written. The commands that decide this after
/// parsing are in `options_without_effect_are_refused`.
#[test]
fn options_for_files_need_a_file() {
    const DECIDED_LATER: [&str; 4] = ["report", "crystaldiskmark", "iometer", "tkperf"];
    let root = Cli::command();
    let mut checked = Vec::new();
    let mut pending: Vec<(Vec<String>, &Command)> = vec![(vec!["steadfast".to_owned()], &root)];
    while let Some((words, command)) = pending.pop() {
        for subcommand in command.get_subcommands() {
            pending.push(([&words[..], &[subcommand.get_name().to_owned()]].concat(), subcommand));
        }
        // The root has no --force, so that every other line has a command.
        let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
        if !has("force") || DECIDED_LATER.contains(&words[1].as_str()) {
            continue;
        }
        let mut line = words.clone();
        // Required unless --mount is given, which `is_required_set` does not tell.
        if command.get_name() == "capture" {
            line.extend(["--device", "x"].map(str::to_owned));
        }
        for required in command.get_arguments().filter(|argument| argument.is_required_set()) {
            line.extend(required.get_long().map(|long| format!("--{long}")));
            let values = required.get_possible_values();
            line.push(values.first().map_or("1", |value| value.get_name()).to_owned());
        }
        let parses = |more: &[&str]| {
            let more = more.iter().map(|word| (*word).to_owned());
            Cli::command().try_get_matches_from(line.iter().cloned().chain(more))
        };
        parses(&[]).unwrap_or_else(|why| panic!("{line:?}: {why}"));
        let always_writes = command
            .get_arguments()
            .any(|argument| argument.get_id() == "output" && argument.is_required_set());
        for options in [&["--force"][..], &["--group", "0"]] {
            assert_eq!(parses(options).is_ok(), always_writes, "{line:?} {options:?}");
        }
        checked.push(words.join(" "));
    }
    // The loop must not pass because it checked nothing.
    assert!(checked.len() > 12, "{checked:?}");
}

/// `BLESS=1` rewrites docs/options.md.
#[test]
fn the_page_of_options_lists_them_all() {
    let page = page();
    let path = repository_root().join("docs/options.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "{}: run this test with BLESS=1 and read the diff", path.display());
}

fn page() -> String {
    let mut page = "\
# Options

Every option has one name and one meaning in all commands. `steadfast COMMAND --help` shows what is specific to a command. This page is
generated from the program's help (`BLESS=1 cargo test --bin steadfast option_tests`).

```
steadfast run --help          the options of one command
steadfast help topics         pages that can be read in a terminal
```

Values: TIME is a duration (`90s`, `5min`, `24h`), BYTES a size (`4KiB`, `2GB`), MOMENT a time in a capture (`90min` from its start,
`02:00`, `2026-11-21 06:16:17`, a mark), N a whole number, PERCENT a share (`75%`). Lists are separated by commas.
"
    .to_owned();
    let options = options();
    let headings =
        [EVERY_COMMAND, SEVERAL_GROUPS].into_iter().chain(GROUPS.iter().map(|(group, _)| *group));
    for heading in headings {
        let rows: Vec<String> = options
            .iter()
            .filter(|(_, found)| heading_of(found) == heading)
            .map(|(long, found)| row(long, found))
            .collect();
        if rows.is_empty() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {heading}\n\n| option | value | meaning | commands |\n");
        let _ = writeln!(page, "|---|---|---|---|\n{}", rows.join("\n"));
    }
    page
}

fn heading_of(found: &[OptionUse]) -> &'static str {
    let groups: BTreeSet<&'static str> = found.iter().map(|option| option.group).collect();
    if groups.contains(EVERY_COMMAND) {
        EVERY_COMMAND
    } else if groups.len() > 1 {
        SEVERAL_GROUPS
    } else {
        found[0].group
    }
}

fn row(long: &str, found: &[OptionUse]) -> String {
    let short = found.iter().find_map(|option| option.short);
    let short = short.map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let values: BTreeSet<&str> =
        found.iter().flat_map(|option| &option.values).map(String::as_str).collect();
    let values = values.into_iter().collect::<Vec<_>>().join(", ");
    let meaning = meaning(&found[0].help).replace('|', "\\|");
    format!("| {short}`--{long}` | {values} | {meaning} | {} |", commands(found))
}

/// Number of subcommands, and of commands, up to which they are listed by name.
const SUBCOMMANDS_LISTED_MAX: usize = 7;
const COMMANDS_LISTED_MAX: usize = 12;

/// Returns the commands that have an option; long lists as counts.
fn commands(found: &[OptionUse]) -> String {
    let mut by_parent: Vec<(&str, Vec<&str>)> = Vec::new();
    for option in found {
        let (parent, subcommand) = option.command.split_once(' ').unwrap_or((&option.command, ""));
        match by_parent.last_mut() {
            Some((last, subcommands)) if *last == parent => subcommands.push(subcommand),
            _ => by_parent.push((parent, vec![subcommand])),
        }
    }
    let mut names = Vec::new();
    for (parent, subcommands) in by_parent {
        if subcommands.len() > SUBCOMMANDS_LISTED_MAX {
            names.push(format!("{parent} ({} commands)", subcommands.len()));
        } else {
            let full_name = |subcommand| format!("{parent} {subcommand}").trim_end().to_owned();
            names.extend(subcommands.into_iter().map(full_name));
        }
    }
    if names.len() > COMMANDS_LISTED_MAX {
        format!("{} commands", found.len())
    } else {
        names.join(", ")
    }
}

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every command line of this program in code, scripts and docs uses only options of its command.
#[test]
fn advised_command_lines_use_existing_options() {
    let command = Cli::command();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for place in ["crates", "docs", "scripts", "fleet", "lab/src", "packaging", "README.md"] {
        for file in files(&repository_root().join(place)) {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let is_code = file.extension().is_some_and(|extension| extension == "rs");
            for line in command_lines(&text, is_code) {
                checked += 1;
                let unknown = unknown_options(&command, &line).into_iter();
                wrong.extend(unknown.map(|option| format!("{}: {option}: {line}", file.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 500, "{checked} command lines found");
}

/// Returns the files below a directory, or the path itself if it is a file. Skips tests, and what was
/// built or recorded.
fn files(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(place) else { return vec![place.to_owned()] };
    let mut found = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !["journal", "assets", "data", "target", "tests"].contains(&name.as_ref()) {
            found.extend(files(&path));
        }
    }
    found
}

/// Returns the command lines of this program in a text.
fn command_lines(text: &str, is_code: bool) -> Vec<String> {
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    // A line that ends with a backslash continues.
    let mut joined = String::new();
    for line in text.lines() {
        match line.strip_suffix('\\') {
            Some(part) => {
                joined += part.trim_start();
                joined.push(' ');
            }
            None => {
                joined += line.trim_start();
                joined.push('\n');
            }
        }
    }
    if is_code {
        joined = joined.replace("\\n", "\n").replace("\\\"", "'");
    }
    let ends = if is_code { &['\n', '`', ';', '"'][..] } else { &['\n', '`', ';'] };
    joined
        .match_indices("steadfast ")
        .map(|(at, _)| joined[at..].split(ends).next().unwrap_or_default())
        // Help texts explain a command after three blanks or in parentheses.
        .filter_map(|line| line.split("   ").next()?.split(" (").next())
        .map(str::to_owned)
        .collect()
}

/// Returns the options of a command line that its command does not have; none if the command is
/// unknown.
fn unknown_options<'a>(root: &Command, line: &'a str) -> Vec<&'a str> {
    let mut command = root;
    let mut words = line.split_whitespace().skip(1).peekable();
    while let Some(subcommand) = words.peek().and_then(|word| command.find_subcommand(word)) {
        words.next();
        command = subcommand;
    }
    if command.get_name() == root.get_name() {
        return Vec::new();
    }
    // Options of every command.
    let mut accepted: BTreeSet<String> = ["help", "quiet", "color"].map(str::to_owned).into();
    accepted.extend(command.get_arguments().filter_map(Arg::get_long).map(str::to_owned));
    if command.get_name() == "fio" {
        // Our --size, renamed where fio's is also possible.
        accepted.insert("target-size".to_owned());
        accepted.extend(steadfast_exchange::fio::option_names().map(str::to_owned));
    }
    words
        .filter_map(|word| word.strip_prefix("--"))
        // The name ends at the first character that no option has in its name, such as '='.
        .filter_map(|word| word.split(|c: char| !c.is_alphanumeric() && !"-_".contains(c)).next())
        .filter(|name| !name.is_empty() && !accepted.contains(*name))
        .collect()
}
