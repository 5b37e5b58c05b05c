//! The user's purge command as it is given: a program and its arguments.

use std::fmt;
use std::time::Duration;

/// Time limit of a command (our choice: that of a security erase).
const COMMAND_TIMEOUT: Duration = Duration::from_secs(12 * 3600);

/// A purge command of the user: a program and its arguments, one of which names the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgeCommandLine {
    words: Vec<String>,
    /// Time after which the command is killed.
    pub limit: Duration,
}

impl PurgeCommandLine {
    /// Text that stands for the path of the device.
    pub const DEVICE: &str = "{device}";

    /// Splits a command at blanks.
    ///
    /// # Errors
    /// The command has no program, or does not name the device exactly once, after the program;
    /// the message says what to type.
    pub fn parse(text: &str) -> Result<PurgeCommandLine, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let Some((program, arguments)) = words.split_first() else {
            return Err("the command is empty; give a program and its arguments".to_owned());
        };
        if program.contains(Self::DEVICE) {
            return Err("the command begins with {device}; give a program first".to_owned());
        }
        let named: usize = arguments.iter().map(|word| word.matches(Self::DEVICE).count()).sum();
        match named {
            1 => Ok(PurgeCommandLine { words, limit: COMMAND_TIMEOUT }),
            0 => {
                Err("the command does not name the device; write {device} in its place".to_owned())
            }
            _ => Err(format!("the command has {{device}} {named} times; write it once")),
        }
    }

    /// Returns the words with the path of a device.
    pub(super) fn words_for(&self, path: &str) -> Vec<String> {
        self.words.iter().map(|word| word.replace(Self::DEVICE, path)).collect()
    }
}

impl fmt::Display for PurgeCommandLine {
    /// Writes the command as it was given, with single blanks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_device_once_and_after_its_program() {
        let line = PurgeCommandLine::parse("  /opt/tool erase  --dev={device} -y ").unwrap();
        assert_eq!(line.words_for("/dev/sdx"), ["/opt/tool", "erase", "--dev=/dev/sdx", "-y"]);
        for (text, why) in [
            ("", "is empty"),
            ("  ", "is empty"),
            ("/opt/tool erase", "does not name the device"),
            ("{device} erase", "begins with {device}"),
            ("tool {device} {device}", "2 times"),
            ("tool {device}{device}", "2 times"),
            ("tool {Device}", "does not name the device"),
        ] {
            let error = PurgeCommandLine::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
