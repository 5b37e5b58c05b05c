//! A page that works without the explorer: one file with the page, its script, its style and the
//! answers of its first views.

use crate::capture::ExploredCapture;
use crate::explorer_items::{ExplorerItem, ExplorerItems};
use crate::http_error::{HttpError, HttpResult};
use crate::page;
use crate::query::QueryString;
use std::sync::Arc;

/// Largest size of a page: 5 MB.
const BYTES_MAX: usize = 5_000_000;
/// Bytes reserved for the parts of the page and the answers other than the steps of runs.
const SPARE: usize = 100_000;

const STYLE_LINK: &str = r#"<link rel="stylesheet" href="explorer.css">"#;
const SCRIPT_LINK: &str = r#"<script src="explorer.js"></script>"#;

/// Questions about a capture that the page asks when it opens; `N` is the number of the capture.
const OF_CAPTURE: [&str; 15] = [
    "series?by=stream&c=N&cells=1024",
    "series?by=process&c=N&cells=1024",
    "heat?c=N&cells=512&kind=rt&rows=64",
    "heat?c=N&cells=512&kind=subsecond&rows=50",
    "streams?c=N",
    "processes?c=N",
    "cumulative?c=N",
    "steps?c=N",
    "command?c=N&view=map",
    "command?c=N&view=rt",
    "command?c=N&view=qd",
    "command?c=N&view=streams",
    "command?c=N&view=processes",
    "command?c=N&view=cumulative",
    "command?c=N&view=steps",
];

/// Questions about addresses. For a capture of several devices each is asked once per device, which
/// replaces `D`.
const OF_ADDRESSES: [&str; 4] = [
    "heat?c=N&cells=512D&kind=lba&rows=128",
    "heat?c=N&cells=512D&kind=lba&op=read&rows=128",
    "heat?c=N&cells=512D&kind=lba&op=write&rows=128",
    "hot?c=ND",
];

/// Maximum number of devices whose maps are included in a page.
const DEVICES_MAX: usize = 4;

/// Returns the page for everything that is shown.
///
/// # Errors
/// Returns an [`HttpError`] if a question has no answer, or with status 400 if the page would be too
/// large.
pub fn page(shown: &ExplorerItems) -> HttpResult<String> {
    let mut answers = AnswersJson { text: String::from("{"), shown };
    answers.add("meta")?;
    for (number, item) in shown.items.iter().enumerate() {
        if let ExplorerItem::Capture(capture) = item {
            answers.add_capture(number, capture)?;
        }
    }
    for (number, item) in shown.items.iter().enumerate() {
        if let ExplorerItem::Run(_) = item {
            answers.add(&format!("run?n={number}"))?;
            answers.add_steps(number);
        }
    }
    answers.text.push('}');
    // Escaped so that no text of a capture can close the script element.
    let answers = answers.text.replace('<', "\\u003c");
    let script = page::EXPLORER_JS.replace("</script", "<\\/script");
    let style = page::EXPLORER_CSS.replace("</style", "<\\/style");
    let scripts = format!(
        "<script type=\"application/json\" id=\"answers\">{answers}</script>\n\
         <script>{script}</script>"
    );
    let page = replace_once(page::INDEX, STYLE_LINK, &format!("<style>{style}</style>"))?;
    let page = replace_once(&page, SCRIPT_LINK, &scripts)?;
    if page.len() > BYTES_MAX {
        return Err(HttpError::bad(format!(
            "the page would have {:.1} MB, more than {} MB; export fewer captures at once",
            page.len() as f64 / 1e6,
            BYTES_MAX / 1_000_000
        )));
    }
    Ok(page)
}

/// Encodes a value as the page's `encodeURIComponent` does.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn replace_once(text: &str, link: &str, with: &str) -> HttpResult<String> {
    match text.split_once(link) {
        Some((before, after)) => Ok([before, with, after].concat()),
        None => Err(HttpError::failed(format!("the page lacks {link}"))),
    }
}

/// Answers by question, as the text of a JSON object.
struct AnswersJson<'s> {
    text: String,
    shown: &'s ExplorerItems,
}

impl AnswersJson<'_> {
    fn answer(&self, question: &str) -> HttpResult<Arc<str>> {
        let (what, query) = question.split_once('?').unwrap_or((question, ""));
        self.shown.answer(what, &QueryString::parse(query)?)
    }

    fn add(&mut self, question: &str) -> HttpResult<()> {
        let answer = self.answer(question)?;
        self.put(question, &answer);
        Ok(())
    }

    /// Adds the answers that the page needs to show a capture.
    fn add_capture(&mut self, number: usize, capture: &ExploredCapture) -> HttpResult<()> {
        let number = format!("c={number}");
        let refused = crate::answers::refused_views(capture);
        let is_answered = |question: &&str| {
            let is_of = |view: &&str| {
                question.contains(&format!("kind={view}&"))
                    || question.starts_with(*view)
                    || (*view == "processes" && question.starts_with("series?by=process&"))
            };
            !refused.keys().any(is_of)
        };
        for question in OF_CAPTURE.into_iter().filter(is_answered) {
            self.add(&question.replace("c=N", &number))?;
        }
        let devices = &capture.conditions().devices;
        let chosen = match devices.len() {
            0 | 1 => vec![String::new()],
            _ => devices
                .iter()
                .take(DEVICES_MAX)
                .map(|device| format!("&device={}", percent_encoded(&device.name)))
                .collect(),
        };
        for device in &chosen {
            for question in OF_ADDRESSES.into_iter().filter(is_answered) {
                self.add(&question.replace("c=N", &number).replacen('D', device, 1))?;
            }
        }
        // A fold file can lack groups that its captures recorded.
        for by in crate::answers::groups_recorded(capture) {
            let _ = self.add(&format!("groups?by={by}&{number}"));
        }
        // A capture without a stream that can be applied has no workload.
        let _ = self.add(&format!("workload?{number}"));
        Ok(())
    }

    /// Adds the steps of a run as far as there is room.
    fn add_steps(&mut self, number: usize) {
        let room = BYTES_MAX - SPARE - page::EXPLORER_JS.len() - page::EXPLORER_CSS.len();
        for step in 0.. {
            let question = format!("run/step?i={step}&n={number}");
            let Ok(answer) = self.answer(&question) else { return };
            if self.text.len() + answer.len() > room {
                return;
            }
            self.put(&question, &answer);
        }
    }

    fn put(&mut self, question: &str, answer: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str("\"api/");
        self.text.push_str(question);
        self.text.push_str("\":");
        self.text.push_str(answer);
    }
}
