//! Everything that is shown: captures and runs, by number.

use crate::answers::{self, CaptureMeta, json};
use crate::cache::IndexStore;
use crate::capture::ExploredCapture;
use crate::query::QueryString;
use crate::refusal::HttpError;
use crate::run::{self, RunMeta, RunSource};
use serde::Serialize;
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

#[derive(Serialize)]
struct ExplorerMeta {
    version: &'static str,
    items: Vec<ItemMeta>,
}

#[derive(Serialize)]
struct ItemMeta {
    n: usize,
    kind: &'static str,
    name: String,
    state: &'static str,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    capture: Option<CaptureMeta>,
    #[serde(flatten)]
    run: Option<RunMeta>,
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
    /// Returns a [`HttpError`] with status 404 if there is no such question or item, or another
    /// status if there is no answer.
    pub fn answer(&self, what: &str, query: &QueryString) -> Result<Arc<str>, HttpError> {
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

    fn meta(&self) -> ExplorerMeta {
        let items = self.items.iter().enumerate().map(|(n, item)| match item {
            ExplorerItem::Capture(capture) => of_capture(n, capture),
            ExplorerItem::Run(run) => of_run(n, &**run),
        });
        ExplorerMeta { version: env!("CARGO_PKG_VERSION"), items: items.collect() }
    }
}

fn of_capture(n: usize, capture: &ExploredCapture) -> ItemMeta {
    let changed = capture.captured().err().map(|refusal| refusal.text);
    let index = capture.index().ok();
    let error = capture.failure().map(str::to_owned).or(changed);
    let state = match (&error, &index) {
        (Some(_), _) => "failed",
        (None, Some(_)) => "ready",
        (None, None) => "indexing",
    };
    ItemMeta {
        n,
        kind: "capture",
        name: capture.name.clone(),
        state,
        progress: capture.progress.share(),
        error,
        capture: index.map(|index| answers::of_capture(capture, &index)),
        run: None,
    }
}

fn of_run(n: usize, source: &dyn RunSource) -> ItemMeta {
    let found = run::meta(source);
    let error = found.as_ref().err().map(|refusal| refusal.text.clone());
    ItemMeta {
        n,
        kind: "run",
        name: source.name().to_owned(),
        state: if error.is_some() { "failed" } else { "ready" },
        progress: 1.0,
        error,
        capture: None,
        run: found.ok(),
    }
}
