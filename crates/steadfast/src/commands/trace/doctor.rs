//! `trace doctor`: limits of a capture's trustworthiness, with remedies.

use crate::cli::questions::QuestionArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use serde::Serialize;
use steadfast_analysis::questions::quality::Completeness;
use steadfast_analysis::questions::trust::Evidence;
use steadfast_domain::text::printable;
use steadfast_domain::{Caveat, CaveatKind};

#[derive(Serialize, schemars::JsonSchema)]
pub struct DoctorContent {
    /// Limits to the trust, missing parts first.
    limits: Vec<Caveat>,
    /// Unknown properties of the I/Os.
    quality: Completeness,
}

/// Prints the limits of a capture.
pub fn run(arguments: &QuestionArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let evidence = selected.ask(Evidence::read)?;
    let content = DoctorContent { limits: evidence.limits(), quality: evidence.quality };
    selected.show(arguments.json, evidence.account, content, |found| lines(&selected.name, found))
}

fn lines(name: &str, content: &DoctorContent) -> String {
    let (notes, problems): (Vec<&Caveat>, Vec<&Caveat>) =
        content.limits.iter().partition(|caveat| caveat.kind == CaveatKind::Remark);
    let ios = content.quality.ios;
    let verdict = match problems.len() {
        0 => format!("{name}: {ios} I/Os; no problems found."),
        1 => format!("{name}: {ios} I/Os; 1 problem."),
        more => format!("{name}: {ios} I/Os; {more} problems."),
    };
    let mut text = printable(&verdict).into_owned();
    for (head, caveats) in [("Problems", problems), ("Notes", notes)] {
        if !caveats.is_empty() {
            text.push_str(&format!("\n\n{head}"));
        }
        for Caveat { id, text: what, remedy, .. } in caveats {
            text.push_str(&format!("\n  {id}: {}", printable(what)));
            if !remedy.is_empty() {
                text.push_str(&format!("\n      {}", printable(remedy)));
            }
        }
    }
    text
}
