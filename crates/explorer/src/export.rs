//! A page that works without the explorer: one file with the page, its script, its style and the
//! answers of its first views.

use crate::explorer_items::{ExplorerItem, ExplorerItems};
use crate::http_error::HttpError;
use crate::page;
use crate::query::QueryString;

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
pub fn page(shown: &ExplorerItems) -> Result<String, HttpError> {
    let mut answers = AnswersJson { text: String::from("{"), shown };
    answers.add("meta")?;
    for (number, item) in shown.items.iter().enumerate() {
        if let ExplorerItem::Capture(capture) = item {
            let number_of = format!("c={number}");
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
                answers.add(&question.replace("c=N", &number_of))?;
            }
            let devices = &capture.conditions().devices;
            let mut chosen: Vec<String> = devices
                .iter()
                .take(DEVICES_MAX)
                .map(|device| format!("&device={}", percent_encoded(&device.name)))
                .collect();
            if devices.len() < 2 {
                chosen = vec![String::new()];
            }
            for device in &chosen {
                for question in OF_ADDRESSES.into_iter().filter(is_answered) {
                    let (before, after) = question.split_once('D').unwrap_or((question, ""));
                    let before = before.replace("c=N", &number_of);
                    answers.add(&format!("{before}{device}{after}"))?;
                }
            }
            // A fold file can lack groups that its captures recorded.
            for by in crate::answers::groups_recorded(capture) {
                answers.add_if_any(&format!("groups?by={by}&{number_of}"));
            }
            // A capture without a stream that can be applied has no workload.
            answers.add_if_any(&format!("workload?c={number}"));
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
    let whole = replaced(page::INDEX, STYLE_LINK, &format!("<style>{style}</style>"))?;
    let whole = replaced(&whole, SCRIPT_LINK, &scripts)?;
    if whole.len() <= BYTES_MAX {
        Ok(whole)
    } else {
        Err(HttpError::bad(format!(
            "the page would have {:.1} MB, more than {} MB; export fewer captures at once",
            whole.len() as f64 / 1e6,
            BYTES_MAX / 1_000_000
        )))
    }
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

fn replaced(text: &str, link: &str, by: &str) -> Result<String, HttpError> {
    match text.split_once(link) {
        Some((before, after)) => Ok([before, by, after].concat()),
        None => Err(HttpError::failed(format!("the page lacks {link}"))),
    }
}

/// Answers by question, as the text of a JSON object.
struct AnswersJson<'s> {
    text: String,
    shown: &'s ExplorerItems,
}

impl AnswersJson<'_> {
    fn add(&mut self, question: &str) -> Result<(), HttpError> {
        let (what, query) = question.split_once('?').unwrap_or((question, ""));
        let answer = self.shown.answer(what, &QueryString::parse(query)?)?;
        self.put(question, &answer);
        Ok(())
    }

    fn add_if_any(&mut self, question: &str) {
        let (what, query) = question.split_once('?').unwrap_or((question, ""));
        let answer = QueryString::parse(query).and_then(|query| self.shown.answer(what, &query));
        if let Ok(answer) = answer {
            self.put(question, &answer);
        }
    }

    /// Adds the steps of a run as far as there is room.
    fn add_steps(&mut self, number: usize) {
        let room = BYTES_MAX - SPARE - page::EXPLORER_JS.len() - page::EXPLORER_CSS.len();
        for step in 0.. {
            let query = format!("i={step}&n={number}");
            let answer =
                QueryString::parse(&query).and_then(|query| self.shown.answer("run/step", &query));
            let Ok(answer) = answer else { return };
            if self.text.len() + answer.len() > room {
                return;
            }
            self.put(&format!("run/step?{query}"), &answer);
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
