//! Everything that is shown: captures and runs, by number.

use crate::answers::{self, json};
use crate::cache::IndexStore;
use crate::capture::ExploredCapture;
use crate::http_error::HttpError;
use crate::query::QueryString;
use crate::run::{self, RunSource};
use serde_json::{Value, json};
use std::sync::Arc;

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
        for item in &self.items {
            if let ExplorerItem::Capture(capture) = item {
                capture.prepare(cache);
            }
        }
    }

    /// Abandons indexes that are being built.
    pub fn give_up(&self) {
        for item in &self.items {
            if let ExplorerItem::Capture(capture) = item {
                capture.progress.is_given_up.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }

    /// Answers a question in JSON.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 404 if there is no such question or item, or another
    /// status if there is no answer.
    pub fn answer(&self, what: &str, query: &QueryString) -> Result<Arc<str>, HttpError> {
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

    fn item(&self, number: Option<u64>) -> Result<&ExplorerItem, HttpError> {
        let number = number.unwrap_or(0);
        let item = usize::try_from(number).ok().and_then(|number| self.items.get(number));
        item.ok_or_else(|| HttpError::missing(format!("there is no number {number}; see api/meta")))
    }

    fn capture(&self, query: &QueryString) -> Result<&ExploredCapture, HttpError> {
        match self.item(query.number("c")?)? {
            ExplorerItem::Capture(capture) => Ok(capture),
            ExplorerItem::Run(_) => Err(HttpError::bad("this is a run; ask api/run")),
        }
    }

    fn run(&self, query: &QueryString) -> Result<&dyn RunSource, HttpError> {
        match self.item(query.number("n")?)? {
            ExplorerItem::Run(run) => Ok(&**run),
            ExplorerItem::Capture(_) => Err(HttpError::bad("this is a capture, not a run")),
        }
    }

    fn meta(&self) -> Value {
        let items = self.items.iter().zip(0..).map(|(item, n)| match item {
            ExplorerItem::Capture(capture) => of_capture(n, capture),
            ExplorerItem::Run(run) => of_run(n, &**run),
        });
        json!({ "version": env!("CARGO_PKG_VERSION"), "items": items.collect::<Vec<_>>() })
    }
}

fn of_capture(n: usize, capture: &ExploredCapture) -> Value {
    let changed = capture.captured().err().map(|refusal| refusal.text);
    let error = capture.failure().map(str::to_owned).or(changed);
    let index = capture.index().ok();
    let state = match (&error, &index) {
        (Some(_), _) => "failed",
        (None, Some(_)) => "ready",
        (None, None) => "indexing",
    };
    let of_index = index.map(|index| answers::of_capture(capture, &index));
    let progress = capture.progress.share();
    item_meta(("capture", n, &capture.name), (state, progress), error, of_index)
}

fn of_run(n: usize, source: &dyn RunSource) -> Value {
    let found = run::meta(source);
    let error = found.as_ref().err().map(|refusal| refusal.text.clone());
    let state = if error.is_some() { "failed" } else { "ready" };
    item_meta(("run", n, source.name()), (state, 1.0), error, found.ok())
}

/// Returns the metadata of an item: what every item has, and those of `own`.
fn item_meta(
    (kind, n, name): (&str, usize, &str),
    (state, progress): (&str, f64),
    error: Option<String>,
    own: Option<Value>,
) -> Value {
    let mut meta =
        json!({ "n": n, "kind": kind, "name": name, "state": state, "progress": progress });
    if let Some(fields) = meta.as_object_mut() {
        fields.extend(error.map(|error| ("error".to_owned(), error.into())));
        fields.extend(own.as_ref().and_then(Value::as_object).cloned().unwrap_or_default());
    }
    meta
}
