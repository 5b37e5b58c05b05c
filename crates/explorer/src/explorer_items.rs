//! Everything that is shown: captures and runs, by number.

use crate::answers::{self, json};
use crate::cache::IndexStore;
use crate::capture::ExploredCapture;
use crate::http_error::{HttpError, HttpResult};
use crate::query::QueryString;
use crate::run::{self, RunSource};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A capture or a run.
pub enum ExplorerItem {
    /// A capture.
    Capture(Box<ExploredCapture>),
    /// A run.
    Run(Box<dyn RunSource>),
}

/// Everything that is shown.
pub struct ExplorerItems {
    /// Captures and runs, in the order in which they were named.
    pub items: Vec<ExplorerItem>,
}

impl ExplorerItems {
    /// Builds the indexes of all captures, one after the other.
    pub fn prepare(&self, cache: Option<&dyn IndexStore>) {
        self.captures().for_each(|capture| capture.prepare(cache));
    }

    /// Abandons indexes that are being built.
    pub fn abandon(&self) {
        for capture in self.captures() {
            capture.progress.is_abandoned.store(true, Ordering::Relaxed);
        }
    }

    fn captures(&self) -> impl Iterator<Item = &ExploredCapture> {
        self.items.iter().filter_map(|item| match item {
            ExplorerItem::Capture(capture) => Some(&**capture),
            ExplorerItem::Run(_) => None,
        })
    }

    /// Answers a question in JSON.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 404 if there is no such question or item, or another
    /// status if there is no answer.
    pub fn answer(&self, what: &str, query: &QueryString) -> HttpResult<Arc<str>> {
        query.check_names()?;
        match what {
            "meta" => Ok(json(&self.meta())?.into()),
            "run" => Ok(json(&run::view(self.run(query)?)?)?.into()),
            "run/step" => Ok(json(&run::step(self.run(query)?, query)?)?.into()),
            what if answers::QUESTIONS.contains(&what) => {
                answers::answer(self.capture(query)?, what, query)
            }
            _ => Err(HttpError::missing("there is no such question")),
        }
    }

    fn item(&self, number: Option<u64>) -> HttpResult<&ExplorerItem> {
        let number = number.unwrap_or(0);
        let item = usize::try_from(number).ok().and_then(|number| self.items.get(number));
        item.ok_or_else(|| HttpError::missing(format!("there is no number {number}; see api/meta")))
    }

    fn capture(&self, query: &QueryString) -> HttpResult<&ExploredCapture> {
        match self.item(query.number("c")?)? {
            ExplorerItem::Capture(capture) => Ok(capture),
            ExplorerItem::Run(_) => Err(HttpError::bad("this is a run; ask api/run")),
        }
    }

    fn run(&self, query: &QueryString) -> HttpResult<&dyn RunSource> {
        match self.item(query.number("n")?)? {
            ExplorerItem::Run(run) => Ok(&**run),
            ExplorerItem::Capture(_) => Err(HttpError::bad("this is a capture, not a run")),
        }
    }

    fn meta(&self) -> Value {
        let items = self.items.iter().zip(0..).map(|(item, n)| match item {
            ExplorerItem::Capture(capture) => capture_meta(n, capture),
            ExplorerItem::Run(run) => run_meta(n, &**run),
        });
        json!({ "version": env!("CARGO_PKG_VERSION"), "items": items.collect::<Vec<_>>() })
    }
}

fn capture_meta(n: usize, capture: &ExploredCapture) -> Value {
    let changed = capture.captured().err().map(|refusal| refusal.text);
    let error = capture.failure().map(str::to_owned).or(changed);
    let index = capture.index().ok();
    let state = match (&error, &index) {
        (Some(_), _) => "failed",
        (None, Some(_)) => "ready",
        (None, None) => "indexing",
    };
    let meta = json!({
        "n": n, "kind": "capture", "name": capture.name, "state": state,
        "progress": capture.progress.share(),
    });
    with_fields(meta, error, index.map(|index| answers::of_capture(capture, &index)))
}

fn run_meta(n: usize, source: &dyn RunSource) -> Value {
    let found = run::meta(source);
    let error = found.as_ref().err().map(|refusal| refusal.text.clone());
    let state = if error.is_some() { "failed" } else { "ready" };
    let meta =
        json!({ "n": n, "kind": "run", "name": source.name(), "state": state, "progress": 1.0 });
    with_fields(meta, error, found.ok())
}

/// Adds an error and further fields to the metadata of an item, if there are any.
fn with_fields(mut meta: Value, error: Option<String>, fields: Option<Value>) -> Value {
    if let Some(all) = meta.as_object_mut() {
        all.extend(error.map(|error| ("error".to_owned(), error.into())));
        all.extend(fields.as_ref().and_then(Value::as_object).cloned().unwrap_or_default());
    }
    meta
}
