//! fio's command line: its job options stand next to this program's own.

use std::ffi::OsString;
use steadfast_exchange::fio::{is_switch, option_names};

/// End of the help.
pub const EXAMPLES: &str = "Examples:
  steadfast fio randread.fio --target /dev/nvme0n1 --plan
  BS=4k steadfast fio job.fio --target scratch.bin --size 1GiB
  steadfast fio --name=t --rw=randread --bs=4k --iodepth=32 --ioengine=libaio --direct=1 \\
    --size=10g --runtime=60 --time_based --filename=/dev/nvme0n1
  steadfast fio job.fio --target /dev/sda=/dev/nvme0n1 --target /dev/sdb=/dev/nvme1n1
fio's options are taken as fio takes them, with one dash or two: those before the first --name
hold for all jobs, also for those of a file. With --name, --size is fio's, and --target-size
creates the target file; without it, --size is this program's. All other options of this list are
this program's. docs/coming-from.md says what differs from fio.";

/// Options of the program fio, not of its jobs, that are accepted without effect. They take a value.
const IGNORED_WITH_VALUE: [&str; 11] = [
    "alloc-size", "aux-path", "debug", "eta", "eta-interval", "eta-newline", "idle-prof",
    "max-jobs", "output-format", "status-interval", "terse-version",
];

/// Options of the program fio that are accepted without effect and take no value.
const IGNORED_SWITCHES: [&str; 3] = ["append-terse", "bandwidth-log", "minimal"];

/// Returns what to do instead of an option of the program fio that is refused; `None` for any other
/// option.
fn advice_if_refused(name: &str) -> Option<&'static str> {
    match name {
        "client" | "remote-config" | "server" => {
            Some("load a device from several hosts with --hosts")
        }
        "cmdhelp" | "enghelp" => Some("see docs/coming-from.md"),
        "crctest" => Some("it tests no device"),
        "parse-only" | "showcmd" => Some("use --plan"),
        "trigger" => Some("no program is started"),
        _ => None,
    }
}

/// An option that steadfast defines.
struct OwnOption {
    /// Long name, or the letter of a short one.
    name: String,
    takes_value: bool,
}

/// Returns the options of `steadfast fio` itself.
fn own_options(command: &clap::Command) -> Vec<OwnOption> {
    let Some(fio) = command.find_subcommand("fio") else { return Vec::new() };
    let mut options: Vec<OwnOption> =
        ["help", "h"].map(|name| OwnOption { name: name.to_owned(), takes_value: false }).into();
    for argument in command.get_arguments().chain(fio.get_arguments()) {
        let takes_value = argument.get_action().takes_values();
        let long = argument.get_long().map(str::to_owned);
        let short = argument.get_short().map(|letter| letter.to_string());
        for name in long.into_iter().chain(short) {
            options.push(OwnOption { name, takes_value });
        }
    }
    options
}

/// Rewrites fio's job options on the command line of `steadfast fio` as `--fio-option=NAME=VALUE`,
/// which clap parses. Other command lines are returned unchanged.
///
/// # Errors
/// Returns the message for an option that is refused, or that neither fio nor this program has.
pub fn rewrite_words(
    words: Vec<OsString>,
    command: &clap::Command,
) -> Result<Vec<OsString>, String> {
    if words.get(1).is_none_or(|word| word != "fio") {
        return Ok(words);
    }
    let own_options = own_options(command);
    let words: Vec<String> =
        words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let names_job = words.iter().any(|word| names_job(word));
    let mut rewritten: Vec<String> = words[..2].to_vec();
    let mut rest = words[2..].iter().peekable();
    while let Some(word) = rest.next() {
        let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or_default();
        if option.is_empty() {
            rewritten.push(word.clone());
            continue;
        }
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if name == "target-size" {
            rewritten.push(word.replacen("target-size", "size", 1));
            if value.is_none() {
                rewritten.extend(rest.next().cloned());
            }
            continue;
        }
        // With a job on the command line, --size is the job's.
        let is_size_of_job = name == "size" && names_job;
        if let Some(own) = own_options.iter().find(|own| own.name == name)
            && !is_size_of_job
        {
            rewritten.push(word.clone());
            if own.takes_value && value.is_none() {
                rewritten.extend(rest.next().cloned());
            }
            continue;
        }
        if let Some(advice) = advice_if_refused(name) {
            return Err(format!("fio's option --{name} is not done here: {advice}"));
        }
        let is_ignored = IGNORED_WITH_VALUE.contains(&name) || IGNORED_SWITCHES.contains(&name);
        if !is_ignored && !option_names().any(|known| known == name) {
            return Err(unknown_option(name, &own_options));
        }
        let is_switch = if is_ignored { IGNORED_SWITCHES.contains(&name) } else { is_switch(name) };
        let value = if value.is_none() && !is_switch {
            rest.next_if(|next| !next.starts_with('-')).map(String::as_str)
        } else {
            value
        };
        match value {
            _ if is_ignored => {}
            Some(value) => rewritten.push(format!("--fio-option={name}={value}")),
            None => rewritten.push(format!("--fio-option={name}")),
        }
    }
    Ok(rewritten.into_iter().map(OsString::from).collect())
}

/// Returns true for fio's option `--name`, which begins a job.
fn names_job(word: &str) -> bool {
    let option = word.trim_start_matches('-');
    option.len() < word.len() && (option == "name" || option.starts_with("name="))
}

fn unknown_option(name: &str, own_options: &[OwnOption]) -> String {
    let mut known: Vec<&str> = own_options.iter().map(|own| own.name.as_str()).collect();
    for name in option_names() {
        known.push(name);
    }
    // A letter is similar to everything.
    known.retain(|known| known.len() > 1);
    let hint = steadfast_domain::suggestion(name, known);
    format!("neither fio nor steadfast has the option --{name}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    /// Returns the words after the command, with `+` for `--fio-option=`.
    fn rewritten(line: &str) -> Result<String, String> {
        let words = line.split(' ').map(OsString::from).collect();
        let words: Vec<String> = rewrite_words(words, &Cli::command())?
            .iter()
            .skip(2)
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        Ok(words.join(" ").replace("--fio-option=", "+"))
    }

    #[test]
    fn options_of_fio_and_our_own_are_told_apart() {
        let cases = [
            ("--name=t --rw=read --target x --plan", "+name=t +rw=read --target x --plan"),
            (
                "-name t -iodepth 4 -thread -rw=read -o out",
                "+name=t +iodepth=4 +thread +rw=read -o out",
            ),
            ("j.fio --size 1g --bs 8k", "j.fio --size 1g +bs=8k"),
            ("--size=1g --name=t --target-size 2g", "+size=1g +name=t --size 2g"),
            (
                "--output-format json --minimal --name=t --group_reporting",
                "+name=t +group_reporting",
            ),
            ("j.fio --seed=7 --json --time_based", "j.fio --seed=7 --json +time_based"),
        ];
        for (line, expected) in cases {
            assert_eq!(
                rewritten(&format!("steadfast fio {line}")).as_deref(),
                Ok(expected),
                "{line}"
            );
        }
        let plain = "steadfast run iops --name=t";
        assert_eq!(
            rewritten(plain).unwrap(),
            "iops --name=t",
            "of another command nothing changes"
        );
    }

    #[test]
    fn an_unknown_option_is_named_with_a_similar_one() {
        let why = rewritten("steadfast fio --name=t --iodepht=4").unwrap_err();
        assert!(why.contains("--iodepht") && why.contains("'iodepth'"), "{why}");
        let why = rewritten("steadfast fio --name=t --taget x").unwrap_err();
        assert!(why.contains("'target'"), "{why}");
        assert!(rewritten("steadfast fio --showcmd j.fio").unwrap_err().contains("--plan"));
    }
}
