//! Headings of option groups in `--help`, in the order in which they appear. The attribute of
//! an option names its heading; those that stand under one heading in every command are listed here.

use clap::{Arg, Command};

/// The device, and the consent to overwrite it.
pub const TARGET: &str = "Target";
/// The load of `measure`.
pub const LOAD: &str = "Load";
/// Parameters of the procedure.
pub const METHOD: &str = "Method";
/// Applying or replaying a captured workload.
pub const CAPTURED: &str = "Captured workload";
/// Conditions on the I/Os of a capture.
pub const SELECTION: &str = "Selection of captured I/Os";
/// Files and printed output.
pub const OUTPUT: &str = "Output";

/// Gives the options of a command and of its subcommands their headings.
pub fn group(command: Command) -> Command {
    command.mut_args(grouped).mut_subcommands(group)
}

/// Gives an option of every command its heading.
pub fn grouped(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "color" | "export_csv" | "export_markdown" | "force" | "format" | "group" | "json"
        | "keep" | "meta" | "output" | "prometheus" | "quiet" | "result" | "verbose"
        | "workload_file" => arg.help_heading(OUTPUT),
        _ => arg,
    }
}
