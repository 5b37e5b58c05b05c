//! Checks the numbers of a run against limits, such as those of a datasheet. A small TOML file
//! names values of tables and their limits; each value is judged, and a page reports the verdicts.

use crate::grouping::{comma_separated, distinct_names};
use crate::limits_outcome::LimitsOutcome;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{Cell, Exhibit, Page, Row, Table};
use steadfast_domain::text::{excerpt, with_short_words, wrapped};
use steadfast_domain::{Caveat, CaveatKind, EndState, Findings};

/// An error in a file of limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// The file is not TOML of the expected form.
    #[error("{message}")]
    Syntax {
        /// Position and description of the error.
        message: String,
        /// The line with the error and a caret below it; empty if there is none.
        excerpt: Vec<String>,
    },
    /// A limit is incomplete or contradictory.
    #[error("limit {number} ('{title}'): {why}")]
    Limit {
        /// Position in the file, from 1.
        number: usize,
        /// Title of the limit.
        title: String,
        /// The error, and what to write.
        why: String,
    },
}

/// The limits for the numbers of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Source of the limits, such as the name of a datasheet.
    pub title: Option<String>,
    /// One limit per number.
    pub limits: Vec<Limit>,
}

/// The limits of one number.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Title in print.
    pub title: String,
    /// Id of the procedure in a run of several, ignoring case; `None` searches the whole run.
    pub part: Option<String>,
    /// Id of the table.
    pub table: String,
    /// Id of the row.
    pub row: String,
    /// Id of the column.
    pub column: String,
    /// Factor applied to the measured value before it is judged.
    pub scale: f64,
    /// Unit of the scaled value, for print.
    pub unit: String,
    /// Minimum, inclusive; `None` for no limit.
    pub min: Option<f64>,
    /// Maximum, inclusive; `None` for no limit.
    pub max: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsFile {
    title: Option<String>,
    #[serde(default)]
    limit: Vec<LimitEntry>,
}

/// A limit as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitEntry {
    title: Option<String>,
    part: Option<String>,
    table: String,
    row: String,
    column: String,
    min: Option<LimitValue>,
    max: Option<LimitValue>,
    value: Option<LimitValue>,
    within: Option<LimitValue>,
    scale: Option<LimitValue>,
    unit: Option<String>,
}

/// A number, or a text such as `"500k"` or `"5%"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum LimitValue {
    Whole(i64),
    Number(f64),
    Text(String),
}

impl Limits {
    /// Parses a file of limits.
    ///
    /// # Errors
    /// The file is not TOML of this form (the error names the line), or a limit is invalid (the
    /// error names its title).
    pub fn parse(text: &str) -> Result<Limits, LimitsError> {
        let file: LimitsFile = toml::from_str(text).map_err(|error| syntax(&error))?;
        if file.limit.is_empty() {
            let message = "it has no [[limit]]; each limit starts with that line".to_owned();
            return Err(LimitsError::Syntax { message, excerpt: Vec::new() });
        }
        let limits = (1..).zip(&file.limit).map(|(number, written)| {
            written.parse().map_err(|why| LimitsError::Limit {
                number,
                title: written.title(),
                why,
            })
        });
        Ok(Limits { title: file.title, limits: limits.collect::<Result<_, _>>()? })
    }
}

/// Maximum length in characters of a line that is shown with its error.
const EXCERPT_MAX: usize = 200;

/// Splits the text of an error into a message in one line and the excerpt with the caret.
fn syntax(error: &toml::de::Error) -> LimitsError {
    let text = error.to_string();
    let mut lines = text.lines();
    let place = lines.next().unwrap_or_default();
    let what: Vec<&str> = error.message().lines().collect();
    let message = format!("{place}: {}", with_short_words(&what.join(", ")));
    let is_margin = |c: char| c == ' ' || c.is_ascii_digit();
    let is_excerpt = |line: &&str| line.trim_start_matches(is_margin).starts_with('|');
    let mut excerpt: Vec<String> = lines.take_while(is_excerpt).map(str::to_owned).collect();
    if excerpt.iter().any(|line| line.chars().count() > EXCERPT_MAX) {
        excerpt.clear();
    }
    LimitsError::Syntax { message, excerpt }
}

impl LimitEntry {
    fn title(&self) -> String {
        let place = || format!("{}, {}, {}", self.table, self.row, self.column);
        self.title.clone().unwrap_or_else(place)
    }

    fn parse(&self) -> Result<Limit, String> {
        let number = |name: &str, value: &Option<LimitValue>| match value {
            Some(value) => value.number().map(Some).ok_or(format!("{name} is not a number")),
            None => Ok(None),
        };
        let (min, max) = (number("min", &self.min)?, number("max", &self.max)?);
        let nominal = number("value", &self.value)?;
        let (min, max) = match (min.or(max), nominal, &self.within) {
            (Some(_), None, None) => (min, max),
            (None, Some(value), Some(within)) => {
                let share = within.share().ok_or("within must be a percentage such as \"5%\"")?;
                let width = value.abs() * share;
                (Some(value - width), Some(value + width))
            }
            _ => return Err("give min, max or both, or give value and within".into()),
        };
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            return Err(format!("min {min} is more than max {max}"));
        }
        let scale = number("scale", &self.scale)?.unwrap_or(1.0);
        if !scale.is_finite() || scale == 0.0 {
            return Err("scale must be a number other than zero".into());
        }
        Ok(Limit {
            title: self.title(),
            part: self.part.clone(),
            table: self.table.clone(),
            row: self.row.clone(),
            column: self.column.clone(),
            scale,
            unit: self.unit.clone().unwrap_or_default(),
            min,
            max,
        })
    }
}

impl LimitValue {
    /// Returns the number; k, M and G stand for thousands, millions and billions. Returns `None`
    /// for other text.
    fn number(&self) -> Option<f64> {
        let number = match self {
            LimitValue::Whole(number) => *number as f64,
            LimitValue::Number(number) => *number,
            LimitValue::Text(text) => {
                let text = text.trim().replace([',', '_'], "");
                let letters = [('k', 1e3), ('K', 1e3), ('M', 1e6), ('G', 1e9)];
                let scaled = letters.iter().find_map(|(letter, factor)| {
                    Some(text.strip_suffix(*letter)?.trim_end().parse::<f64>().ok()? * factor)
                });
                scaled.or_else(|| text.parse().ok())?
            }
        };
        number.is_finite().then_some(number)
    }

    /// Returns a percentage as a fraction; a bare number is a percentage, too.
    fn share(&self) -> Option<f64> {
        let percent = match self {
            LimitValue::Text(text) => text.trim().strip_suffix('%')?.trim_end().parse().ok()?,
            other => other.number()?,
        };
        (0.0..=1000.0).contains(&percent).then_some(percent / 100.0)
    }
}

/// The verdict on one number.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LimitVerdict {
    /// Title of the limit.
    pub title: String,
    /// Table, row and column of the number.
    pub place: String,
    /// Minimum, in the limit's unit.
    pub min: Option<f64>,
    /// Maximum, in the limit's unit.
    pub max: Option<f64>,
    /// Measured value in the limit's unit; `None` if it is missing.
    pub measured: Option<f64>,
    /// Unit of the limit.
    pub unit: String,
    /// Distance of the value from the nearer limit, in percent of that limit; negative if the value
    /// is outside.
    pub margin_percent: Option<f64>,
    /// True if the value is within its limits.
    pub pass: bool,
    /// Reason for a missing value.
    pub reason: Option<String>,
}

/// A reason why the numbers of a run do not count, whatever their values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Objection {
    /// The name by which it can be allowed: `unsteady`, `quick`, `simulated`, `gap`, `method`, or
    /// the id of a disclosure.
    pub name: String,
    /// The reason in one sentence; in a run of several procedures preceded by the part.
    pub text: String,
    /// True if the user allowed it.
    pub allowed: bool,
}

/// The verdict on a run.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CheckVerdict {
    /// Source of the limits.
    pub title: Option<String>,
    /// True if every number is within its limits, the run has ended, and every objection is
    /// allowed.
    pub pass: bool,
    /// True if the run has ended; until then no number is final.
    pub finished: bool,
    /// Reasons why the run does not count; empty if there are none.
    pub objections: Vec<Objection>,
    /// The verdict on each number.
    pub limits: Vec<LimitVerdict>,
}

/// Judges the numbers of a run. A missing number fails, with the reason. The run fails if its
/// numbers do not count, unless the names of all its objections are in `allowed`.
pub fn check(findings: &Findings, limits: &Limits, allowed: &[String]) -> CheckVerdict {
    let judged: Vec<LimitVerdict> =
        limits.limits.iter().map(|limit| judge(findings, limit)).collect();
    let finished = findings.whole_end().is_final();
    let objections = objections(findings, allowed);
    let counts = objections.iter().all(|objection| objection.allowed);
    let pass = finished && counts && judged.iter().all(|j| j.pass);
    CheckVerdict { title: limits.title.clone(), pass, finished, objections, limits: judged }
}

/// Refuses names of objections that no run can have, such as misspelled ones.
///
/// # Errors
/// Returns [`UnknownObjection`] for the first of them.
pub fn check_allowed(findings: &Findings, allowed: &[String]) -> Result<(), UnknownObjection> {
    let found = objections(findings, &[]);
    let is_known = |name: &str| {
        [UNSTEADY, METHOD, FAILED].contains(&name)
            || ids::is_id(name)
            || found.iter().any(|objection| objection.name == name)
    };
    let Some(name) = allowed.iter().find(|name| !is_known(name)) else { return Ok(()) };
    let names = distinct_names(found.iter().map(|objection| objection.name.as_str()));
    let of_run = if names.is_empty() { "no objection".to_owned() } else { names.join(", ") };
    Err(UnknownObjection { name: name.clone(), of_run })
}

/// Error for a name of an objection that no run can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no objection is named '{}'; this run has: {of_run}. Other names: unsteady, quick, simulated, \
     gap, method, failed, or the ID of a disclosure",
    excerpt(.name)
)]
pub struct UnknownObjection {
    name: String,
    of_run: String,
}

/// Returns the objections to a run: for the run and then for each of its parts those from its
/// disclosures and from its end, each text once.
fn objections(findings: &Findings, allowed: &[String]) -> Vec<Objection> {
    let mut objections: Vec<Objection> = Vec::new();
    let mut object = |name: &str, text: String| {
        if objections.iter().all(|known| known.text != text) {
            let allowed = allowed.iter().any(|one| one == name);
            objections.push(Objection { name: name.to_owned(), text, allowed });
        }
    };
    for one in findings.self_and_parts() {
        let is_part = !std::ptr::eq(one, findings);
        let part = if is_part { format!("{}: ", one.title) } else { String::new() };
        let mut has_unsteady = false;
        for caveat in &one.caveats {
            let Some(name) = objection(caveat) else { continue };
            has_unsteady |= name == UNSTEADY;
            object(name, format!("{part}{}", caveat.text));
        }
        match one.end {
            EndState::NotSteady | EndState::Void if !has_unsteady => {
                object(UNSTEADY, format!("{part}{}", one.ending));
            }
            EndState::Failed => object(FAILED, format!("{part}{}", one.ending)),
            _ => {}
        }
    }
    objections
}

/// Names of objections that are not ids of disclosures.
const UNSTEADY: &str = "unsteady";
const METHOD: &str = "method";
const FAILED: &str = "failed";

/// Returns the name of the objection that follows from a disclosure, or `None` if numbers count in
/// spite of it.
fn objection(caveat: &Caveat) -> Option<&str> {
    match caveat.id.as_str() {
        // Reported by `finished`.
        ids::UNFINISHED => None,
        ids::PRECONDITIONING_NOT_STEADY | ids::STEADY_WITHIN_FIRST_FILL => Some(UNSTEADY),
        id if ids::NOT_STEADY.contains(&id) => Some(UNSTEADY),
        ids::STEP_TIME | ids::ROUNDS_MAX => Some(METHOD),
        ids::GAP => Some(ids::GAP),
        id => (caveat.kind == CaveatKind::Invalidates).then_some(id),
    }
}

fn judge(findings: &Findings, limit: &Limit) -> LimitVerdict {
    let (measured, reason) = match find(findings, limit) {
        Ok(value) => (Some(value * limit.scale), None),
        Err(why) => (None, Some(why)),
    };
    let Limit { min, max, .. } = *limit;
    let within = |value: f64| min.is_none_or(|m| value >= m) && max.is_none_or(|m| value <= m);
    let percent =
        |distance: f64, limit: f64| (limit != 0.0).then(|| distance / limit.abs() * 100.0);
    let margin = measured.and_then(|value| {
        let above_min = min.and_then(|min| percent(value - min, min));
        let below_max = max.and_then(|max| percent(max - value, max));
        [above_min, below_max].into_iter().flatten().reduce(f64::min)
    });
    let part = limit.part.as_ref().map(|part| format!("{part}: ")).unwrap_or_default();
    LimitVerdict {
        title: limit.title.clone(),
        place: format!("{part}{}, {}, {}", limit.table, limit.row, limit.column),
        min,
        max,
        measured,
        unit: limit.unit.clone(),
        margin_percent: margin,
        pass: measured.is_some_and(within),
        reason,
    }
}

/// Returns the value that a limit names, or an error with the reason why there is none.
fn find(findings: &Findings, limit: &Limit) -> Result<f64, String> {
    let table = table_of(findings, limit)?;
    let named = |row: &&Row| row.id.trim() == limit.row.trim();
    let mut rows = table.rows.iter().filter(named);
    let row = rows.next().ok_or_else(|| {
        let ids = table.rows.iter().map(|row| row.id.as_str());
        format!("table {} has no row '{}'; it has {}", table.id, limit.row, few(ids))
    })?;
    // In a table of blocks, the first row of a name is meant, in its first block.
    if rows.next().is_some() && table.block.is_none() {
        return Err(format!("table {} has more than one row '{}'", table.id, limit.row));
    }
    let column = table.columns.iter().position(|column| column.id.trim() == limit.column.trim());
    let column = column.ok_or_else(|| {
        let ids = table.columns.iter().map(|column| column.id.as_str());
        format!("table {} has no column '{}'; it has {}", table.id, limit.column, few(ids))
    })?;
    match row.cells.get(column) {
        Some(Cell::Number { value, .. }) if value.is_finite() => Ok(*value),
        Some(Cell::Text(text)) => {
            Err(format!("the value is not a number: '{text}'", text = excerpt(text)))
        }
        _ => Err("not measured".into()),
    }
}

fn table_of<'a>(findings: &'a Findings, limit: &Limit) -> Result<&'a Table, String> {
    let mut of_part = findings.self_and_parts();
    if let Some(part) = &limit.part {
        of_part.retain(|one| one.id.to_lowercase() == part.trim().to_lowercase());
        if of_part.is_empty() {
            let ids = findings.self_and_parts().into_iter().map(|one| one.id.as_str());
            let part = excerpt(part);
            return Err(format!("the run has no part '{part}'; it has {}", few(ids)));
        }
    }
    let having: Vec<&Table> =
        of_part.iter().filter_map(|one| one.table(limit.table.trim())).collect();
    match having.as_slice() {
        [table] => Ok(table),
        [] => {
            let ids = of_part.iter().flat_map(|one| one.tables()).map(|t| t.id.as_str());
            Err(format!("no table '{}'; the tables are {}", limit.table, few(ids)))
        }
        _ => {
            Err(format!("several parts have a table '{}'; add part = ID to the limit", limit.table))
        }
    }
}

/// Returns up to 12 names of a list, in quotes.
fn few<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let distinct = distinct_names(names);
    let more = distinct.len().saturating_sub(12);
    let shown = distinct.iter().take(12).map(|name| format!("'{}'", excerpt(name)));
    let shown = comma_separated(shown);
    match (distinct.is_empty(), more) {
        (true, _) => "none".into(),
        (false, 0) => shown,
        (false, more) => format!("{shown} and {more} more"),
    }
}

impl CheckVerdict {
    /// Returns a sentence with the number of values that passed; it says first if the run has not
    /// ended.
    pub fn outcome(&self) -> String {
        let verdict = self.verdict();
        if self.finished {
            return verdict;
        }
        format!(
            "UNFINISHED: the run has not ended, and its numbers are not final. So far: {verdict}"
        )
    }

    fn state(&self) -> LimitsOutcome {
        if self.pass {
            LimitsOutcome::Pass
        } else if !self.finished {
            LimitsOutcome::Unfinished
        } else if self.limits.iter().all(|judged| judged.pass) {
            LimitsOutcome::NoPass
        } else {
            LimitsOutcome::Fail
        }
    }

    fn verdict(&self) -> String {
        let missing = self.limits.iter().filter(|j| j.measured.is_none()).count();
        let outside = self.limits.iter().filter(|j| !j.pass).count() - missing;
        let within = match self.limits.len() {
            1 => "the number is within its limits".to_owned(),
            all => format!("all {all} numbers are within their limits"),
        };
        let open = self.open_objections();
        let all = match self.limits.len() {
            1 => "1 number".to_owned(),
            all => format!("{all} numbers"),
        };
        let be = |count: usize| if count == 1 { "is" } else { "are" };
        let its = |count: usize| if count == 1 { "its" } else { "their" };
        match (outside, missing) {
            (0, 0) if !self.finished => format!("{within}."),
            (0, 0) if open.is_empty() => format!("PASS: {within}."),
            (0, 0) => {
                let they = if self.limits.len() == 1 { "it does" } else { "they do" };
                format!("NO PASS: {within}, but {they} not count: {}.", open.join(", "))
            }
            (0, m) => format!("FAIL: {m} of {all} {} missing.", be(m)),
            (n, 0) => format!("FAIL: {n} of {all} {} outside {} limits.", be(n), its(n)),
            (n, m) => format!(
                "FAIL: {n} of {all} {} outside {} limits, {m} {} missing.",
                be(n),
                its(n),
                be(m)
            ),
        }
    }

    /// Returns the names of the objections that are not allowed, each once.
    fn open_objections(&self) -> Vec<String> {
        let open = self.objections.iter().filter(|objection| !objection.allowed);
        distinct_names(open.map(|objection| objection.name.as_str()))
    }

    /// Returns a line per objection with its name and text, and a line on how to allow those that
    /// are open.
    fn objection_lines(&self) -> Vec<String> {
        let line = |objection: &Objection| {
            let state = if objection.allowed { "allowed" } else { "does not count" };
            format!("{} ({state}): {}", objection.name, objection.text)
        };
        let mut lines: Vec<String> = self.objections.iter().map(line).collect();
        let open = self.open_objections();
        if !open.is_empty() {
            lines.push(format!("To judge the numbers anyway: --allow {}", open.join(",")));
        }
        lines
    }

    /// Returns the table of all numbers.
    pub fn table(&self) -> Table {
        let title = self.title.as_ref().map_or("Limits".into(), |title| format!("Limits: {title}"));
        Table::new("check", title, "Number")
            .columns(["Least", "Most", "Measured", "Margin %", "Verdict"])
            .rows(self.limits.iter().map(LimitVerdict::row))
    }

    /// Returns the page for a report: outcome, table, and the position of each number.
    pub fn page(&self) -> Page {
        let mut places = String::new();
        for judged in &self.limits {
            let reason = judged.reason.as_ref().map(|r| format!(" - {r}")).unwrap_or_default();
            // Writing to a String cannot fail.
            let title =
                if judged.has_title() { format!("{}: ", judged.title) } else { String::new() };
            let _ = writeln!(places, "{title}{}{reason}", judged.place);
        }
        let mut exhibits = vec![Exhibit::Text(self.outcome())];
        exhibits.extend(self.objection_lines().into_iter().map(Exhibit::Text));
        exhibits.extend([
            Exhibit::Table(self.table()),
            Exhibit::Text("Table, row and column of each number:".into()),
            Exhibit::Listing(places),
        ]);
        Page::new("Check against limits", exhibits)
    }

    /// Returns the run's findings with the verdict as their title, badge and ending, the page of
    /// the check before the chapters, and the failures on the cover.
    pub fn report(&self, findings: &Findings) -> Findings {
        let mut report = findings.clone();
        report.id = self.state().id().to_owned();
        report.title = format!("Check: {}", findings.title);
        report.ending = self.outcome();
        report.method = format!("{} {}", findings.ending, findings.method).trim().to_owned();
        report.chapters.insert(0, self.page());
        if !self.pass {
            let failed: Vec<&str> =
                self.limits.iter().filter(|j| !j.pass).map(|j| j.title.as_str()).collect();
            let text = if failed.is_empty() {
                self.outcome()
            } else {
                format!("{} {}.", self.outcome(), failed.join("; "))
            };
            let remedy = "See the chapter 'Check against limits'.";
            report.caveats.insert(0, Caveat::invalidates(ids::OUTSIDE_LIMITS, text, remedy));
        }
        report
    }

    /// Returns the outcome and all numbers as plain text.
    pub fn text(&self, width: usize) -> String {
        let mut lines = vec![self.outcome()];
        for line in self.objection_lines() {
            lines.extend(wrapped(&line, width, "  "));
        }
        lines.push(String::new());
        lines.extend(crate::text::table_lines(&self.table(), width));
        for judged in self.limits.iter().filter(|j| j.reason.is_some()) {
            let reason = judged.reason.as_deref().unwrap_or_default();
            let name = if judged.has_title() {
                format!("{} ({})", judged.title, judged.place)
            } else {
                judged.place.clone()
            };
            let text = format!("{name}: {reason}.");
            lines.extend(wrapped(&text, width, "  "));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

impl LimitVerdict {
    /// Returns false if the limit has no title of its own, and its place stands for one.
    fn has_title(&self) -> bool {
        self.place != self.title && !self.place.ends_with(&format!(": {}", self.title))
    }

    fn row(&self) -> Row {
        let decimals = [self.min, self.max, self.measured]
            .into_iter()
            .flatten()
            .map(|value| match value.abs() {
                v if v >= 1000.0 => 0,
                v if v >= 10.0 => 1,
                _ => 4,
            })
            .min()
            .unwrap_or(0);
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        let verdict = match (self.pass, &self.measured) {
            (true, _) => "pass",
            (false, Some(_)) => "FAIL",
            (false, None) => "FAIL: missing",
        };
        Row::new(
            format!("{}{unit}", self.title),
            [
                Cell::number(self.min, decimals),
                Cell::number(self.max, decimals),
                Cell::number(self.measured, decimals),
                Cell::number(self.margin_percent, 1),
                Cell::text(verdict),
            ],
        )
        .strong(!self.pass)
    }
}
