//! The query of a request (the part of an address after the question mark), parsed and checked. The
//! names are those of the command line's filters.

use crate::http_error::{HttpError, HttpResult};
use steadfast_analysis::Filter;
use steadfast_analysis::filter::ProcessSelector;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_domain::text::excerpt;
use steadfast_domain::{CaptureConditions, IoOp, Layer};
use steadfast_tracefile::StreamKey;

/// Longest query that is accepted, in bytes.
pub const LENGTH_MAX: usize = 8192;

/// Names and values, in order of occurrence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryString(Vec<(String, String)>);

const NAMES: [&str; 28] = [
    "by", "by_command", "c", "cells", "cgroup", "device", "event", "file", "from", "high", "i",
    "key", "kind", "layer", "limit", "low", "measure", "n", "offset", "op", "pid", "process",
    "rows", "stream", "threshold", "tid", "to", "view",
];

impl QueryString {
    /// Rejects names that no question has: a misspelled filter would select everything.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 400 and the first such name.
    pub fn check_names(&self) -> HttpResult<()> {
        match self.0.iter().find(|(name, _)| !NAMES.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => Err(HttpError::bad(format!(
                "there is no parameter '{}'; the parameters are {}",
                excerpt(name),
                NAMES.join(", ")
            ))),
        }
    }

    /// Parses a query.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 400 if the query is longer than [`LENGTH_MAX`] or not
    /// percent-encoded text.
    pub fn parse(text: &str) -> HttpResult<Self> {
        if text.len() > LENGTH_MAX {
            return Err(HttpError::bad("the query is too long"));
        }
        let parts = text.split('&').filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((decoded(name)?, decoded(value)?))
        };
        parts.map(pair).collect::<Result<_, _>>().map(QueryString)
    }

    /// Returns the value of a name; `None` if it is absent.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 400 if the name occurs twice.
    pub fn one<'a>(&'a self, name: &'a str) -> HttpResult<Option<&'a str>> {
        let mut values = self.all(name);
        let first = values.next();
        match values.next() {
            Some(_) => Err(HttpError::bad(format!("'{name}' is given twice"))),
            None => Ok(first),
        }
    }

    /// Iterates over all values of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |pair| pair.0 == name).map(|pair| pair.1.as_str())
    }

    /// Returns the value of a name as a number; `None` if it is absent.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 400 if the value is no whole number or the name occurs
    /// twice.
    pub fn number(&self, name: &str) -> HttpResult<Option<u64>> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let wrong = |_| HttpError::bad(format!("'{name}' is no whole number: '{text}'"));
        text.parse().map(Some).map_err(wrong)
    }

    /// Returns the value of a name as a number from 1 to `most`, or `default` if it is absent.
    ///
    /// # Errors
    /// Same as [`Self::number`], and status 400 if the number is out of range.
    pub fn within(&self, name: &str, default: u64, most: u64) -> HttpResult<u64> {
        let number = self.number(name)?.unwrap_or(default);
        if (1..=most).contains(&number) {
            Ok(number)
        } else {
            Err(HttpError::bad(format!("'{name}' is from 1 to {most}, not {number}")))
        }
    }

    /// Returns the query in a canonical order, so that equal questions give equal text.
    pub fn sorted(&self) -> String {
        let mut pairs = self.0.clone();
        pairs.sort();
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("&")
    }
}

/// Decodes percent encoding; a plus sign is a space.
fn decoded(text: &str) -> HttpResult<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next(), rest.next()].map(|d| d.and_then(hexadecimal));
                let [Some(high), Some(low)] = digits else { return Err(not_encoded(text)) };
                high << 4 | low
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| not_encoded(text))
}

fn not_encoded(text: &str) -> HttpError {
    HttpError::bad(format!("'{text}' is not percent-encoded text"))
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Returns the time window of a question about a capture from `begin_ns` to `end_ns`, in
/// nanoseconds.
///
/// # Errors
/// Returns an [`HttpError`] with status 400 if the window is empty.
pub fn window(query: &QueryString, (begin_ns, end_ns): (u64, u64)) -> HttpResult<(u64, u64)> {
    let from = query.number("from")?.unwrap_or(begin_ns).max(begin_ns);
    let to = query.number("to")?.unwrap_or(end_ns).min(end_ns.max(1));
    if from < to {
        Ok((from, to))
    } else {
        Err(HttpError::bad(format!("nothing lies between {from} ns and {to} ns")))
    }
}

/// Returns the filter of a question, except for its time. In a trace of two layers the block layer
/// is selected unless another is asked for, as on the command line.
///
/// # Errors
/// Returns an [`HttpError`] with status 400 if a value is invalid or names something that the capture
/// does not have.
pub fn filter(query: &QueryString, conditions: &CaptureConditions) -> HttpResult<Filter> {
    let mut filter = Filter { layer: default_layer(conditions), ..Filter::default() };
    for event in query.all("event") {
        filter = filter.with_event(event, conditions)?;
    }
    for op in query.all("op") {
        filter.ops.push(op_named(op).ok_or_else(|| {
            HttpError::bad(format!("'{op}' is no operation: read, write, discard, flush or other"))
        })?);
    }
    for device in query.all("device") {
        filter = filter.with_device(device, conditions)?;
    }
    for stream in query.all("stream") {
        filter.streams.push(stream.parse::<StreamKey>()?);
    }
    for cgroup in query.all("cgroup") {
        filter = filter.with_cgroup(cgroup, conditions)?;
    }
    for file in query.all("file") {
        // In a trace of two layers only the file-system layer has files.
        filter.layer = filter.layer.map(|_| Layer::FileSystem);
        filter = filter.with_file(file, conditions)?;
    }
    if let Some(tid) = query.number("tid")? {
        let too_large = |_| HttpError::bad(format!("no thread has the number {tid}"));
        filter.thread = Some(u32::try_from(tid).map_err(too_large)?);
    }
    match query.one("layer")? {
        None => {}
        Some("both") => filter.layer = None,
        Some("block") => filter.layer = Some(Layer::Block),
        Some("filesystem") => filter.layer = Some(Layer::FileSystem),
        Some(other) => {
            return Err(HttpError::bad(format!(
                "'{other}' is no layer: block, filesystem or both"
            )));
        }
    }
    filter.process = match (query.number("pid")?, query.one("process")?) {
        (Some(_), Some(_)) => return Err(HttpError::bad("give either 'pid' or 'process'")),
        (Some(pid), None) => match u32::try_from(pid) {
            Ok(pid) => Some(ProcessSelector::Pid(pid)),
            Err(_) => return Err(HttpError::bad(format!("no process has the number {pid}"))),
        },
        (None, Some(name)) => Some(ProcessSelector::Command(name.to_owned())),
        (None, None) => None,
    };
    Ok(filter)
}

/// Returns the name of a process for queries: its number, or its command name if the number is
/// unknown.
pub fn process_id(key: &ProcessKey) -> String {
    if key.pid > 0 { key.pid.to_string() } else { key.command.to_string() }
}

/// Returns the operation with a name of the command line.
pub fn op_named(name: &str) -> Option<IoOp> {
    match name {
        "read" | "r" => Some(IoOp::Read),
        "write" | "w" => Some(IoOp::Write),
        "discard" | "trim" => Some(IoOp::Discard),
        "flush" => Some(IoOp::Flush),
        "other" => Some(IoOp::Other),
        _ => None,
    }
}

/// Returns the layer that is selected by default; `None` if the capture has only one.
pub fn default_layer(conditions: &CaptureConditions) -> Option<Layer> {
    (conditions.layers.len() > 1).then_some(Layer::Block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_parsed() {
        let query =
            QueryString::parse("c=1&op=read&op=write&process=a%20b%3Cscript%3E+x&e").unwrap();
        assert_eq!(query.one("process").unwrap(), Some("a b<script> x"));
        assert_eq!(query.all("op").collect::<Vec<_>>(), ["read", "write"]);
        assert_eq!((query.number("c"), query.one("e")), (Ok(Some(1)), Ok(Some(""))));
        assert_eq!(QueryString::parse("b=2&a=1").unwrap().sorted(), "a=1&b=2");
        assert!(query.one("op").is_err() && query.number("process").is_err());
        assert!(query.within("c", 5, 10).is_ok() && query.within("c", 5, 0).is_err());
    }

    #[test]
    fn invalid_queries_are_refused() {
        for bad in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=%\u{e9}\u{e9}"] {
            assert_eq!(QueryString::parse(bad).unwrap_err().status, 400, "{bad}");
        }
        assert!(QueryString::parse(&"a=1&".repeat(LENGTH_MAX)).is_err());
    }

    #[test]
    fn a_filter_accepts_the_words_of_the_command_line() {
        let of =
            |text: &str| filter(&QueryString::parse(text).unwrap(), &CaptureConditions::default());
        let found = of("op=trim&stream=RND%204K%20W&pid=7&layer=block").unwrap();
        assert_eq!(found.streams[0].to_string(), "RND 4K W");
        assert_eq!(
            (found.process, found.layer),
            (Some(ProcessSelector::Pid(7)), Some(Layer::Block))
        );
        let found = of("file=11&tid=9").unwrap();
        assert_eq!((found.thread, found.files.len()), (Some(9), 1));
        assert_eq!(of("process=7").unwrap().process, Some(ProcessSelector::Command("7".into())));
        for bad in [
            "op=x", "stream=x", "layer=x", "pid=x", "pid=1&process=y", "device=sda", "event=e",
            "file=/x", "cgroup=x", "tid=x",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
        let window = |text: &str| window(&QueryString::parse(text).unwrap(), (0, 100));
        assert_eq!((window(""), window("from=5&to=900")), (Ok((0, 100)), Ok((5, 100))));
        assert!(window("from=7&to=7").is_err() && window("from=100").is_err());
    }
}
