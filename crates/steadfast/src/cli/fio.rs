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

/// Options of the program fio that have no effect here, with whether they have a value.
const WITHOUT_EFFECT: [(&str, bool); 14] = [
    ("alloc-size", true),
    ("append-terse", false),
    ("aux-path", true),
    ("bandwidth-log", false),
    ("debug", true),
    ("eta", true),
    ("eta-interval", true),
    ("eta-newline", true),
    ("idle-prof", true),
    ("max-jobs", true),
    ("minimal", false),
    ("output-format", true),
    ("status-interval", true),
    ("terse-version", true),
];

/// Options of the program fio that are not done here, with what to type instead.
const REFUSED: [(&str, &str); 9] = [
    ("client", "load a device from several hosts with --hosts"),
    ("cmdhelp", "see docs/coming-from.md"),
    ("crctest", "it tests no device"),
    ("enghelp", "see docs/coming-from.md"),
    ("parse-only", "use --plan"),
    ("remote-config", "load a device from several hosts with --hosts"),
    ("server", "load a device from several hosts with --hosts"),
    ("showcmd", "use --plan"),
    ("trigger", "no program is started"),
];

/// This program's options of `steadfast fio`: name, and whether it takes a value.
fn own_options(command: &clap::Command) -> Vec<(String, bool)> {
    let Some(fio) = command.find_subcommand("fio") else { return Vec::new() };
    let mut own = vec![("help".to_owned(), false), ("h".to_owned(), false)];
    for argument in command.get_arguments().chain(fio.get_arguments()) {
        let takes_value = argument.get_action().takes_values();
        own.extend(argument.get_long().map(|long| (long.to_owned(), takes_value)));
        own.extend(argument.get_short().map(|short| (short.to_string(), takes_value)));
    }
    own
}

/// Turns fio's options in the words of a command line into `--fio-option=NAME=VALUE`, so that
/// the rest is as everywhere.
///
/// # Errors
/// An option that neither fio nor this program has.
pub fn separated(words: Vec<OsString>, command: &clap::Command) -> Result<Vec<OsString>, String> {
    if words.get(1).is_none_or(|word| word != "fio") {
        return Ok(words);
    }
    let own = own_options(command);
    let words: Vec<String> =
        words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let has_jobs = words.iter().any(|word| {
        let name = word.trim_start_matches('-');
        name.len() < word.len() && (name == "name" || name.starts_with("name="))
    });
    let mut separated: Vec<String> = words[..2].to_vec();
    let mut rest = words[2..].iter().peekable();
    while let Some(word) = rest.next() {
        let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let Some(option) = option.filter(|option| !option.is_empty()) else {
            separated.push(word.clone());
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        if name == "target-size" {
            separated.push(word.replacen("target-size", "size", 1));
            separated.extend(value.is_none().then(|| rest.next().cloned()).flatten());
            continue;
        }
        let is_fio_size = name == "size" && has_jobs;
        if let Some((_, takes_value)) = own.iter().find(|(own, _)| own == name)
            && !is_fio_size
        {
            separated.push(word.clone());
            if *takes_value && value.is_none() {
                separated.extend(rest.next().cloned());
            }
            continue;
        }
        if let Some((_, instead)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(format!("fio's option --{name} is not done here: {instead}"));
        }
        let idle = WITHOUT_EFFECT.iter().find(|(idle, _)| *idle == name);
        let is_job_option = option_names().any(|known| known == name);
        if idle.is_none() && !is_job_option {
            let mut known: Vec<&str> = own.iter().map(|(own, _)| own.as_str()).collect();
            for name in option_names() {
                known.push(name);
            }
            known.retain(|known| known.len() > 1);
            let hint = steadfast_domain::suggestion(name, known);
            return Err(format!("neither fio nor steadfast has the option --{name}{hint}"));
        }
        let is_alone = idle.map_or_else(|| is_switch(name), |(_, takes_value)| !takes_value);
        let value = match value {
            None if !is_alone => rest.next_if(|next| !next.starts_with('-')).cloned(),
            value => value,
        };
        if idle.is_some() {
            continue;
        }
        let option = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
        separated.push(format!("--fio-option={option}"));
    }
    Ok(separated.into_iter().map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    fn of(line: &str) -> Result<String, String> {
        let words = line.split(' ').map(OsString::from).collect();
        let separated = separated(words, &Cli::command())?;
        let words: Vec<String> =
            separated.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
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
            assert_eq!(of(&format!("steadfast fio {line}")).as_deref(), Ok(expected), "{line}");
        }
        let plain = "steadfast run iops --name=t";
        assert_eq!(of(plain).unwrap(), "iops --name=t", "of another command nothing changes");
    }

    #[test]
    fn an_unknown_option_is_named_with_a_similar_one() {
        let why = of("steadfast fio --name=t --iodepht=4").unwrap_err();
        assert!(why.contains("--iodepht") && why.contains("'iodepth'"), "{why}");
        let why = of("steadfast fio --name=t --taget x").unwrap_err();
        assert!(why.contains("'target'"), "{why}");
        assert!(of("steadfast fio --showcmd j.fio").unwrap_err().contains("--plan"));
    }
}
