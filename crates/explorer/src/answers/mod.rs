//! The answers of the API about captures, with one file per kind of question.

mod command;
mod groups;
mod heat;
mod hot;
mod ios;
mod meta;
mod read_out;
mod series;
mod streams_and_processes;
mod views;

use crate::capture::ExploredCapture;
use crate::http_error::{HttpError, HttpResult};
use crate::query::QueryString;
use crate::selection::IoSelection;
use serde::Serialize;
use std::sync::Arc;
use steadfast_domain::Layer;

pub(crate) use groups::recorded as groups_recorded;
pub(crate) use meta::capture_meta;
pub(crate) use views::refused as refused_views;

/// Names of all questions about a capture.
pub const QUESTIONS: [&str; 12] = [
    "series", "heat", "streams", "processes", "cumulative", "ios", "steps", "workload", "command",
    "hot", "read-out", "groups",
];

/// Answers a question about a capture in JSON. Answers are cached.
///
/// # Errors
/// Returns an [`HttpError`] with status 404 if there is no such question, with 400 if its query is
/// invalid, and otherwise with the status of the failure.
pub fn answer(capture: &ExploredCapture, what: &str, query: &QueryString) -> HttpResult<Arc<str>> {
    let cache_key = format!("{what}?{}", query.sorted());
    // Refuses if a file changed since it was opened, even where the answer is cached.
    capture.captured()?;
    if let Some(answer) = capture.cached_answer(&cache_key) {
        return Ok(answer);
    }
    let view = match (what, query.one("kind")?) {
        ("heat", Some("qd")) => "depths",
        ("heat", Some(kind)) => kind,
        _ => what,
    };
    if let Some(reason) = views::refused(capture).remove(view) {
        return Err(HttpError::bad(reason));
    }
    let names_processes = query.one("by")? == Some("process")
        || query.one("pid")?.is_some()
        || query.one("process")?.is_some();
    if names_processes && let Some(reason) = capture.lacks_processes() {
        return Err(HttpError::bad(reason));
    }
    let mut selection = IoSelection::from_query(capture, query)?;
    // Files exist only at the file-system layer, whichever layer is counted elsewhere.
    let is_of_files = query.one("by")? == Some("file") || query.one("view")? == Some("file");
    if is_of_files && query.one("layer")?.is_none() {
        selection.filter.layer = Some(Layer::FileSystem);
    }
    let text = match what {
        "series" => json(&series::answer(selection, query)?),
        "heat" => json(&heat::answer(&selection, query)?),
        "streams" => json(&streams_and_processes::streams(&selection, query)?),
        "processes" => json(&streams_and_processes::processes(&selection, query)?),
        "cumulative" => json(&streams_and_processes::cumulative(&selection, query)?),
        "ios" => json(&ios::answer(&selection, query)?),
        "steps" => json(&series::steps(&selection, query)?),
        "workload" => json(&streams_and_processes::workload(&selection, query)?),
        "command" => json(&command::answer(&selection, query)?),
        "hot" => json(&hot::answer(&selection, query)?),
        "read-out" => json(&read_out::answer(&selection, query)?),
        "groups" => json(&groups::answer(&selection, query)?),
        _ => Err(HttpError::missing(format!("there is no question '{what}'"))),
    }?;
    let text: Arc<str> = text.into();
    capture.cache_answer(cache_key, &text);
    Ok(text)
}

/// Returns an answer as JSON.
///
/// # Errors
/// Returns an [`HttpError`] with status 500 if the answer cannot be serialized.
pub fn json<T: Serialize>(answer: &T) -> HttpResult<String> {
    serde_json::to_string(answer).map_err(|error| HttpError::failed(error.to_string()))
}
