//! The command line that gives the numbers of a view.

use crate::query::Query;
use crate::refusal::Refusal;
use crate::selection::{Selection, axis};
use serde::Serialize;
use std::path::Path;
use steadfast_domain::Layer;
use steadfast_trace::filter::Process;

/// A line for a shell.
#[derive(Serialize)]
pub struct CommandLine {
    command: String,
}

/// Answers `command`.
pub fn answer(selection: &Selection<'_>, query: &Query) -> Result<CommandLine, Refusal> {
    let view = query.one("view")?.unwrap_or("streams");
    let (words, more): (&[&str], Option<String>) = match view {
        "series" | "steps" | "rt" | "qd" | "overview" => {
            (&["trace", "steps"], Some(format!("--step {}ns", step(selection, query)?)))
        }
        "map" => (&["trace", "map"], Some(format!("--step {}ns", step(selection, query)?))),
        "lba" | "hits" | "hot" => (&["trace", "hits"], None),
        "streams" | "ios" | "subsecond" => (&["trace", "streams"], None),
        "processes" => (&["trace", "processes"], None),
        "cumulative" | "workload" => (&["workload", "derive"], None),
        other => return Err(Refusal::bad(format!("there is no view '{other}'"))),
    };
    let mut line: Vec<String> = vec!["steadfast".into()];
    line.extend(words.iter().map(|word| (*word).to_owned()));
    line.extend(selection.capture.paths().map(path_quoted));
    line.extend(filters(selection));
    line.extend(more);
    if query.one("event")?.is_some() {
        line.extend(query.all("event").map(|event| format!("--event {}", quoted(event))));
    }
    Ok(CommandLine { command: line.join(" ") })
}

/// The width of a column; the command line has none below 100 us.
fn step(selection: &Selection<'_>, query: &Query) -> Result<u64, Refusal> {
    let cells = query.within("cells", 120, 4096)?;
    Ok(axis(selection.window_ns, cells, selection.index.cells.width_ns, false).width_ns)
}

fn filters(selection: &Selection<'_>) -> Vec<String> {
    let (filter, (from, to)) = (&selection.filter, selection.window_ns);
    let mut found = Vec::new();
    if from > 0 {
        found.push(format!("--from {from}ns"));
    }
    if to < selection.index.end_ns {
        found.push(format!("--to {to}ns"));
    }
    found.extend(filter.process.as_ref().map(|process| match process {
        Process::Pid(pid) => format!("--pid {pid}"),
        Process::Command(name) => format!("--pid {}", quoted(name)),
    }));
    found.extend(filter.ops.iter().map(|op| format!("--op {op}")));
    let conditions = selection.capture.conditions();
    let device = |number: &u16| steadfast_trace::compare::device_name(conditions, *number);
    found.extend(filter.devices.iter().map(|n| format!("--device {}", quoted(&device(n)))));
    if conditions.layers.len() > 1 {
        match filter.layer {
            Some(Layer::Block) => {}
            Some(Layer::FileSystem) => found.push("--layer filesystem".into()),
            None => found.push("--layer both".into()),
        }
    } else {
        found.extend(filter.layer.map(|layer| format!("--layer {layer}")));
    }
    found.extend(filter.streams.iter().map(|key| format!("--stream {}", quoted(&key.to_string()))));
    found
}

fn path_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    // What begins like an option is a file all the same.
    quoted(&if text.starts_with('-') { format!("./{text}") } else { text })
}

/// A word that a shell takes as it is.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+=@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_every_name_as_a_word() {
        assert_eq!(quoted("/tmp/a-b.parquet"), "/tmp/a-b.parquet");
        assert_eq!(quoted("<script>"), "'<script>'");
        assert_eq!(quoted("it's; rm $x"), "'it'\\''s; rm $x'");
        assert_eq!(quoted(""), "''");
        assert_eq!(path_quoted(Path::new("-x")), "./-x");
    }
}
