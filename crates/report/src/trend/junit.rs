//! A trend as JUnit XML, which CI systems show: one test per metric.

use super::computation::ProcedureTrend;
use super::series::TrendVerdict;
use crate::svg::escape;
use std::fmt::Write;

impl ProcedureTrend {
    /// Returns the trend as a JUnit XML file. A metric that got worse is a failure; one that cannot
    /// be judged is skipped; a newest run that does not count is an error.
    pub fn junit(&self) -> String {
        let errors = usize::from(self.newest_left_out.is_some());
        let name = escape(&format!("Trend: {}", self.title));
        let class = escape(&self.procedure);
        let counts = format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{errors}\" skipped=\"{}\"",
            self.metrics.len() + errors,
            self.count(TrendVerdict::Worse),
            self.count(TrendVerdict::NotJudged)
        );
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n<testsuite \
             name=\"{name}\" {counts}>\n"
        );
        for left_out in
            self.left_out.iter().filter(|run| Some(&run.name) == self.newest_left_out.as_ref())
        {
            let _ = writeln!(
                out,
                "<testcase classname=\"{class}\" name=\"the newest run counts\"><error \
                 message=\"{}: {}\"/></testcase>",
                escape(&left_out.name),
                escape(&left_out.reason)
            );
        }
        for metric in &self.metrics {
            let inner = match metric.verdict {
                TrendVerdict::Worse => {
                    let first_run = metric.first_run.map_or("", |run| self.runs[run].name.as_str());
                    let percent = metric.percent.unwrap_or(0.0);
                    let message = match &self.baseline {
                        Some(name) => format!("{percent:+.1} % against {name}, since {first_run}"),
                        None => format!("{percent:+.1} % since {first_run}"),
                    };
                    format!("<failure message=\"{}\"/>", escape(&message))
                }
                TrendVerdict::NotJudged => {
                    "<skipped message=\"too few runs or values to judge it\"/>".to_owned()
                }
                TrendVerdict::Better | TrendVerdict::Same => String::new(),
            };
            let title = escape(&metric.title());
            let _ = writeln!(
                out,
                "<testcase classname=\"{class}\" name=\"{title}\">{inner}</testcase>"
            );
        }
        out.push_str("</testsuite>\n</testsuites>\n");
        out
    }
}
