//! The command line that prints the numbers of a view.

use crate::http_error::{HttpError, HttpResult};
use crate::query::QueryString;
use crate::selection::{IoSelection, axis};
use serde_json::{Value, json};
use std::path::Path;
use steadfast_analysis::device_layer::device_name;
use steadfast_analysis::filter::ProcessSelector;
use steadfast_domain::Layer;
use steadfast_domain::text::shell_quoted;

pub fn answer(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<Value> {
    let view = query.one("view")?.unwrap_or("streams");
    let (subcommand, more) = match view {
        "series" | "steps" | "rt" | "qd" | "overview" => {
            ("trace steps", Some(format!("--step {}ns", step(selection, query)?)))
        }
        "map" => ("trace map", Some(format!("--step {}ns", step(selection, query)?))),
        "lba" | "hits" | "hot" | "ios" | "subsecond" => {
            return Err(HttpError::bad(
                "no command prints these numbers: the page has ranges and columns of its own",
            ));
        }
        "file" | "cgroup" | "thread" => ("trace groups", Some(format!("--by {view}"))),
        "streams" => ("trace streams", None),
        "processes" => ("trace processes", None),
        "cumulative" | "workload" => ("workload derive", None),
        other => return Err(HttpError::bad(format!("there is no view '{other}'"))),
    };
    let mut line = vec![format!("steadfast {subcommand}")];
    line.extend(selection.capture.paths().map(path_quoted));
    line.extend(filters(selection, view == "file"));
    line.extend(more);
    line.extend(query.all("event").map(|event| format!("--event {}", shell_quoted(event))));
    Ok(json!({ "command": line.join(" ") }))
}

/// Returns the width of a column, in nanoseconds. The command line accepts none below 100 us.
fn step(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<u64> {
    let cells = query.within("cells", 120, 4096)?;
    let cell_ns = selection.index.cells.width_ns;
    Ok(axis(selection.window_ns, cells, cell_ns, cell_ns).width_ns)
}

fn filters(selection: &IoSelection<'_>, of_files: bool) -> Vec<String> {
    let (filter, (from, to)) = (&selection.filter, selection.window_ns);
    let begin = selection.index.begin_ns;
    let mut found = Vec::new();
    if from > begin {
        found.push(format!("--from {}ns", from - begin));
    }
    if to < selection.index.end_ns {
        found.push(format!("--to {}ns", to.saturating_sub(begin)));
    }
    let named = |option: &str, name: &str| format!("{option} {}", shell_quoted(name));
    found.extend(filter.process.as_ref().map(|process| match process {
        ProcessSelector::Pid(pid) => format!("--pid {pid}"),
        ProcessSelector::Command(name) => named("--pid", name),
    }));
    found.extend(filter.thread.map(|tid| format!("--tid {tid}")));
    found.extend(filter.cgroups.iter().map(|(name, _)| named("--cgroup", name)));
    found.extend(filter.files.iter().map(|(name, _)| named("--file", name)));
    found.extend(filter.ops.iter().map(|op| format!("--op {op}")));
    let conditions = selection.capture.conditions();
    let devices = filter.devices.iter().map(|number| device_name(conditions, *number));
    found.extend(devices.map(|name| named("--device", &name)));
    if conditions.layers.len() > 1 {
        match filter.layer {
            _ if of_files => found.push("--layer filesystem".into()),
            Some(Layer::Block) => {}
            Some(Layer::FileSystem) => found.push("--layer filesystem".into()),
            None => found.push("--layer both".into()),
        }
    } else {
        found.extend(filter.layer.map(|layer| format!("--layer {layer}")));
    }
    found.extend(filter.streams.iter().map(|key| named("--stream", &key.to_string())));
    found
}

fn path_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    // A file name with a leading dash must not be read as an option.
    shell_quoted(&if text.starts_with('-') { format!("./{text}") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_and_no_option() {
        assert_eq!(path_quoted(Path::new("<a>; rm $x")), "'<a>; rm $x'");
        assert_eq!(path_quoted(Path::new("-x")), "./-x");
    }
}
