//! [`ExplorerItems`]: the captures and runs that the page shows, by number, and the answers to
//! questions about them.

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

/// All captures and runs that the page shows.
pub struct ExplorerItems {
    /// Captures and runs, in the order in which they were named.
    pub items: Vec<ExplorerItem>,
}

impl ExplorerItems {
    /// Builds the indexes of all captures, one after the other.
    pub fn prepare(&self, cache: Option<&dyn IndexStore>) {
        self.captures().for_each(|capture| capture.prepare(cache));
    }

    /// Abandons the indexes that are being built.
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
    pub fn answer(&self, question: &str, query: &QueryString) -> HttpResult<Arc<str>> {
        query.check_names()?;
        if answers::QUESTIONS.contains(&question) {
            return answers::answer(self.capture(query)?, question, query);
        }
        let answer = match question {
            "meta" => self.meta(),
            "run" => run::view(self.run(query)?)?,
            "run/step" => run::step(self.run(query)?, query)?,
            _ => return Err(HttpError::missing("there is no such question")),
        };
        Ok(json(&answer)?.into())
    }

    /// Returns the item with the number that the query parameter `parameter` gives, by default 0.
    fn item(&self, query: &QueryString, parameter: &str) -> HttpResult<&ExplorerItem> {
        let number = query.number(parameter)?.unwrap_or(0);
        let item = usize::try_from(number).ok().and_then(|index| self.items.get(index));
        item.ok_or_else(|| HttpError::missing(format!("there is no number {number}; see api/meta")))
    }

    fn capture(&self, query: &QueryString) -> HttpResult<&ExploredCapture> {
        match self.item(query, "c")? {
            ExplorerItem::Capture(capture) => Ok(capture),
            ExplorerItem::Run(_) => Err(HttpError::bad("this is a run; ask api/run")),
        }
    }

    fn run(&self, query: &QueryString) -> HttpResult<&dyn RunSource> {
        match self.item(query, "n")? {
            ExplorerItem::Run(run) => Ok(&**run),
            ExplorerItem::Capture(_) => Err(HttpError::bad("this is a capture, not a run")),
        }
    }

    fn meta(&self) -> Value {
        let items: Vec<Value> = self
            .items
            .iter()
            .enumerate()
            .map(|(number, item)| match item {
                ExplorerItem::Capture(capture) => capture_meta(number, capture),
                ExplorerItem::Run(run) => run_meta(number, &**run),
            })
            .collect();
        json!({ "version": env!("CARGO_PKG_VERSION"), "items": items })
    }
}

fn capture_meta(number: usize, capture: &ExploredCapture) -> Value {
    let build_error = capture.failure().map(str::to_owned);
    let error = build_error.or_else(|| capture.captured().err().map(|refusal| refusal.text));
    let index = capture.index().ok();
    let state = if error.is_some() {
        "failed"
    } else if index.is_some() {
        "ready"
    } else {
        "indexing"
    };
    let mut meta = json!({
        "n": number, "kind": "capture", "name": capture.name, "state": state,
        "progress": capture.progress.share(),
    });
    if let Some(error) = error {
        meta["error"] = error.into();
    }
    if let Some(index) = index {
        append_fields(&mut meta, answers::capture_meta(capture, &index));
    }
    meta
}

fn run_meta(number: usize, source: &dyn RunSource) -> Value {
    let fields = run::meta(source);
    let state = if fields.is_ok() { "ready" } else { "failed" };
    let mut meta = json!({
        "n": number, "kind": "run", "name": source.name(), "state": state, "progress": 1.0,
    });
    match fields {
        Ok(fields) => append_fields(&mut meta, fields),
        Err(refusal) => meta["error"] = refusal.text.into(),
    }
    meta
}

/// Appends the fields of one JSON object to another.
fn append_fields(object: &mut Value, fields: Value) {
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
}
