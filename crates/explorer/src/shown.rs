//! Everything that is shown: captures and runs, by number.

use crate::answers::{self, CaptureMeta, json};
use crate::cache::IndexStore;
use crate::capture::Capture;
use crate::query::Query;
use crate::refusal::Refusal;
use crate::run::{self, RunMeta, RunSource};
use serde::Serialize;
use std::sync::Arc;

/// A capture or a run.
pub enum Item {
    /// A capture.
    Capture(Box<Capture>),
    /// A run.
    Run(Box<dyn RunSource>),
}

/// Everything that is shown.
pub struct Shown {
    /// Captures and runs, in the order in which they were named.
    pub items: Vec<Item>,
}

#[derive(Serialize)]
struct Meta {
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

impl Shown {
    /// Builds the indexes of all captures, one after the other.
    pub fn prepare(&self, cache: Option<&dyn IndexStore>) {
        for item in &self.items {
            if let Item::Capture(capture) = item {
                capture.prepare(cache);
            }
        }
    }

    /// Abandons indexes that are being built.
    pub fn give_up(&self) {
        for item in &self.items {
            if let Item::Capture(capture) = item {
                capture.progress.is_given_up.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }

    /// Answers a question in JSON.
    ///
    /// # Errors
    /// Returns a [`Refusal`] with status 404 if there is no such question or item, or another
    /// status if there is no answer.
    pub fn answer(&self, what: &str, query: &Query) -> Result<Arc<str>, Refusal> {
        match what {
            "meta" => Ok(json(&self.meta())?.into()),
            "run" => Ok(json(&run::view(self.run(query)?)?)?.into()),
            "run/step" => Ok(json(&run::step(self.run(query)?, query)?)?.into()),
            what if answers::QUESTIONS.contains(&what) => {
                answers::answer(self.capture(query)?, what, query)
            }
            _ => Err(Refusal::missing("there is no such question")),
        }
    }

    fn item(&self, number: Option<u64>) -> Result<&Item, Refusal> {
        let number = number.unwrap_or(0);
        let item = usize::try_from(number).ok().and_then(|number| self.items.get(number));
        item.ok_or_else(|| Refusal::missing(format!("there is no number {number}; see api/meta")))
    }

    fn capture(&self, query: &Query) -> Result<&Capture, Refusal> {
        match self.item(query.number("c")?)? {
            Item::Capture(capture) => Ok(capture),
            Item::Run(_) => Err(Refusal::bad("this is a run; ask api/run")),
        }
    }

    fn run(&self, query: &Query) -> Result<&dyn RunSource, Refusal> {
        match self.item(query.number("n")?)? {
            Item::Run(run) => Ok(&**run),
            Item::Capture(_) => Err(Refusal::bad("this is a capture, not a run")),
        }
    }

    fn meta(&self) -> Meta {
        let items = self.items.iter().enumerate().map(|(n, item)| match item {
            Item::Capture(capture) => of_capture(n, capture),
            Item::Run(run) => of_run(n, &**run),
        });
        Meta { version: env!("CARGO_PKG_VERSION"), items: items.collect() }
    }
}

fn of_capture(n: usize, capture: &Capture) -> ItemMeta {
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
