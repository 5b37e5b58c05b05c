//! Parses a log into a run.

use super::matrix::{self, TestValues};
use crate::ParseError;
use crate::xml::parse_xml;
use roxmltree::Node;
use serde_json::Value;
use sha2::{Digest, Sha256};
use steadfast_domain::hex::to_hex;
use steadfast_domain::text::excerpt;
use steadfast_domain::{ClaimedSteadyState, ForeignKind, ForeignRun, ForeignTest};

/// Maximum number of elements; TKperf writes about 60.
const ELEMENTS_MAX: u32 = 10_000;

/// Longest text of an element in bytes; command lines and lists of features have a few KiB.
const TEXT_MAX: usize = 64 << 10;

/// Longest plausible step, in seconds.
const YEAR: u64 = 365 * 86_400;

/// Parses a log of TKperf.
///
/// # Errors
/// The file is not XML, has no test of TKperf, or has values that TKperf cannot have measured; the
/// error names the line.
pub fn read(bytes: &[u8]) -> Result<ForeignRun, ParseError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
        ParseError::at(line, "this is not UTF-8 text; TKperf writes its log as NAME.xml")
    })?;
    let document = parse_xml(text, ELEMENTS_MAX)?;
    let root = document.root_element();
    let digest = to_hex(&Sha256::digest(bytes));
    let mut run = ForeignRun { name: name(root), digest, ..ForeignRun::default() };
    for element in root.children().filter(Node::is_element) {
        read_element(&mut run, element)?;
    }
    if run.tests.is_empty() {
        return Err(ParseError::whole(
            "the file has no test of TKperf: no element iops, lat, tp or writesat; give \
             the NAME.xml that TKperf wrote",
        ));
    }
    add_missing_remark(&mut run);
    Ok(run)
}

fn name(node: Node<'_, '_>) -> String {
    node.tag_name().name().to_owned()
}

fn line(node: Node<'_, '_>) -> u64 {
    node.document().text_pos_at(node.range().start).row.into()
}

/// Stores an element of the log in the run.
fn read_element(run: &mut ForeignRun, element: Node<'_, '_>) -> Result<(), ParseError> {
    let kind = match name(element).to_lowercase().as_str() {
        "testdate" => return store_text(&mut run.date, element, &mut run.remarks),
        "devinfo" => return store_text(&mut run.device, element, &mut run.remarks),
        "featmatrix" => return store_text(&mut run.features, element, &mut run.remarks),
        "kernel" => return store_text(&mut run.kernel, element, &mut run.remarks),
        "lsb" => return store_text(&mut run.distribution, element, &mut run.remarks),
        "ioperfversion" => return store_text(&mut run.version, element, &mut run.remarks),
        "cmdline" => return store_text(&mut run.command, element, &mut run.remarks),
        "iops" => ForeignKind::Iops,
        "lat" => ForeignKind::Latency,
        "tp" => ForeignKind::Throughput,
        "writesat" => ForeignKind::WriteSaturation,
        _ => {
            run.remarks.push(not_understood(element));
            return Ok(());
        }
    };
    let test = read_test(kind, element, &mut run.remarks)?;
    if run.tests.iter().any(|other| other.kind == test.kind) {
        run.remarks.push(repeated(element));
    } else {
        run.tests.push(test);
    }
    Ok(())
}

fn repeated(element: Node<'_, '_>) -> String {
    format!("line {}: <{}> occurs twice; the first one counts", line(element), name(element))
}

fn not_understood(element: Node<'_, '_>) -> String {
    format!("line {}: <{}> is unknown and was left out", line(element), excerpt(&name(element)))
}

/// Stores a text, which may be JSON or plain. The first element of a name counts.
fn store_text(
    field: &mut Option<String>,
    element: Node<'_, '_>,
    remarks: &mut Vec<String>,
) -> Result<(), ParseError> {
    let text = text_of(element);
    if text.len() > TEXT_MAX {
        let what = format!("<{}> is longer than {} KiB", name(element), TEXT_MAX >> 10);
        return Err(ParseError::at(line(element), what));
    }
    let text = match serde_json::from_str(text.trim()) {
        Ok(Value::String(text)) => text,
        Ok(Value::Null) => String::new(),
        _ => text,
    };
    let text = text.trim();
    if text.is_empty() {
        return Ok(());
    }
    if field.is_some() {
        remarks.push(repeated(element));
    } else {
        *field = Some(text.to_owned());
    }
    Ok(())
}

/// Returns all text of an element, even if comments divide it.
fn text_of(element: Node<'_, '_>) -> String {
    element.children().filter_map(|child| child.text().filter(|_| child.is_text())).collect()
}

fn read_test(
    kind: ForeignKind,
    element: Node<'_, '_>,
    remarks: &mut Vec<String>,
) -> Result<ForeignTest, ParseError> {
    let fields = TestFields { element };
    let lists = fields.json("roundmat")?.ok_or_else(|| {
        let what = format!("<{}> has no <roundmat>: its values are missing", name(element));
        ParseError::at(line(element), what)
    })?;
    let TestValues { kind, values } = matrix::values(kind, &lists).map_err(|why| {
        ParseError::at(fields.line_of("roundmat"), format!("<{}>: {why}", name(element)))
    })?;
    if values.is_empty() {
        remarks.push(format!("line {}: <{}> has no values", line(element), name(element)));
    }
    remarks.extend(fields.unknown_elements());
    for field in ["fioversion", "numjobs", "iodepth", "runtime"] {
        if fields.find(field).is_none() {
            remarks.push(format!("<{}> has no <{field}>", name(element)));
        }
    }
    let engine = fields.json("fioversion")?;
    Ok(ForeignTest {
        kind,
        engine: engine.and_then(|v| v.as_str().map(|text| text.trim().to_owned())),
        jobs: fields.count("numjobs")?.and_then(|n| u32::try_from(n).ok()),
        depth: fields.count("iodepth")?.and_then(|n| u32::try_from(n).ok()),
        step_seconds: fields.count("runtime")?.filter(|seconds| *seconds <= YEAR),
        values,
        claimed_steady_state: fields.claimed_steady_state()?,
    })
}

/// Elements that a test may have.
const FIELDS: [&str; 13] = [
    "fioversion", "numjobs", "iodepth", "runtime", "tpramptime", "xargs", "roundmat", "stdyrounds",
    "stdyvalues", "stdyslope", "stdyavg", "reachstdystate", "rndnr",
];

/// The elements of a test.
#[derive(Clone, Copy)]
struct TestFields<'a, 'input> {
    element: Node<'a, 'input>,
}

impl<'a, 'input> TestFields<'a, 'input> {
    /// Finds an element, ignoring case because versions differ in it.
    fn find(self, field: &str) -> Option<Node<'a, 'input>> {
        let mut children = self.element.children().filter(Node::is_element);
        children.find(|child| child.tag_name().name().eq_ignore_ascii_case(field))
    }

    fn line_of(self, field: &str) -> u64 {
        line(self.find(field).unwrap_or(self.element))
    }

    /// Parses the JSON in an element; returns `None` if the element is missing or null.
    fn json(self, field: &str) -> Result<Option<Value>, ParseError> {
        let Some(element) = self.find(field) else { return Ok(None) };
        let text = text_of(element);
        match serde_json::from_str(text.trim()) {
            Ok(Value::Null) => Ok(None),
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(ParseError::at(
                line(element),
                format!("<{}> of <{}> is not JSON: {error}", name(element), name(self.element)),
            )),
        }
    }

    fn count(self, field: &str) -> Result<Option<u64>, ParseError> {
        let Some(value) = self.json(field)? else { return Ok(None) };
        // Options were texts in some versions.
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        number.map(Some).ok_or_else(|| {
            let what =
                format!("<{field}> of <{}> is {value}, which is not a count", name(self.element));
            ParseError::at(self.line_of(field), what)
        })
    }

    /// Returns TKperf's statement about steady state, or `None` if the test has none.
    fn claimed_steady_state(self) -> Result<Option<ClaimedSteadyState>, ParseError> {
        let rounds = self.json("stdyrounds")?;
        let reached = self.json("reachstdystate")?.and_then(|value| value.as_bool());
        if rounds.is_none() && reached.is_none() {
            return Ok(None);
        }
        let rounds = rounds.as_ref().and_then(Value::as_array).into_iter().flatten();
        let rounds = rounds.filter_map(|round| u32::try_from(round.as_u64()?).ok()?.checked_add(1));
        Ok(Some(ClaimedSteadyState { reached, rounds: rounds.collect() }))
    }

    /// Returns remarks on elements that no version of TKperf writes.
    fn unknown_elements(self) -> impl Iterator<Item = String> {
        let children = self.element.children().filter(Node::is_element);
        let is_known = |child: &Node<'_, '_>| {
            FIELDS.iter().any(|field| child.tag_name().name().eq_ignore_ascii_case(field))
        };
        children.filter(move |child| !is_known(child)).map(not_understood)
    }
}

/// Adds a remark that lists the facts which logs usually have and this one lacks.
fn add_missing_remark(run: &mut ForeignRun) {
    let all = [
        (&run.date, "testdate: the day of the run"),
        (&run.device, "devinfo: the device"),
        (&run.kernel, "kernel"),
        (&run.distribution, "lsb: the distribution"),
        (&run.version, "ioperfversion: the version of TKperf"),
        (&run.command, "cmdline: the command line"),
    ];
    let missing: Vec<&str> =
        all.into_iter().filter(|(value, _)| value.is_none()).map(|(_, what)| what).collect();
    if !missing.is_empty() {
        run.remarks.push(format!("The log does not have: {}", missing.join("; ")));
    }
}
