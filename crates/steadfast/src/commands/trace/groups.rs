//! `trace groups` and `trace drives`: I/Os by process, stream, device and more.

use super::listing_table::listing_table;
use crate::cli::questions::{GroupsArguments, QuestionArguments};
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::questions::drives::{DriveFigures, Drives};
use steadfast_analysis::questions::group_figures::GroupFigures;
use steadfast_analysis::questions::groups::{Facet, Groups};
use steadfast_domain::text::{counted, printable};
use steadfast_domain::units::Bytes;

#[derive(Serialize, schemars::JsonSchema)]
pub struct GroupsContent {
    /// Attributes that the I/Os of a group share.
    by: Vec<String>,
    total: GroupFigures,
    groups: Vec<GroupFigures>,
    unlisted_count: u64,
}

/// Prints I/Os grouped by the chosen attributes.
pub fn groups(arguments: &GroupsArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let mut facets: Vec<Facet> = arguments.by.clone();
    facets.sort_unstable();
    facets.dedup();
    let groups = Groups::by(&facets).with_hosts(selected.conditions());
    let PassResult { found, account } = selected.fold(groups)?;
    let content = GroupsContent {
        by: facets.iter().map(ToString::to_string).collect(),
        total: found.total_figures(selected.conditions()),
        groups: found.listing(arguments.rank, selected.conditions()),
        unlisted_count: found.unlisted().count(),
    };
    selected.show(arguments.json, account, content, |content| content.lines(&facets, arguments))
}

impl GroupsContent {
    fn lines(&self, facets: &[Facet], arguments: &GroupsArguments) -> String {
        let columns = GroupFigures::table(facets, arguments.show);
        let shown = self.groups.iter().take(arguments.top);
        let mut text = format!(
            "{}\n{} by {}, {}, {} moved",
            listing_table(&columns, shown),
            counted(self.groups.len() as u64, "group"),
            self.by.join(" and "),
            counted(self.total.count, "I/O"),
            Bytes(self.total.amount)
        );
        let more = self.groups.len().saturating_sub(arguments.top);
        if more > 0 {
            text.push_str(&format!("; {more} more groups with --top {}", self.groups.len()));
        }
        if self.unlisted_count > 0 {
            text.push_str(&format!(
                "\n{} I/Os belong to groups beyond those kept apart; filter by process or device",
                self.unlisted_count
            ));
        }
        text
    }
}

#[derive(Serialize, schemars::JsonSchema)]
pub struct DrivesContent {
    /// The last row holds all drives together.
    drives: Vec<DriveFigures>,
}

/// Prints the drives of a capture.
pub fn drives(arguments: &QuestionArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let PassResult { found, account } = selected.fold(Drives::default())?;
    let conditions = selected.conditions();
    let content = DrivesContent { drives: found.listing(conditions) };
    let remarks = [("Workload", &conditions.workload), ("Comment", &conditions.comment)];
    let remarks = remarks.into_iter().filter_map(|(label, text)| {
        text.as_ref().map(|text| format!("{label}: {}\n", printable(text)))
    });
    selected.show(arguments.json, account, content, |content| {
        remarks.collect::<String>()
            + &listing_table(DriveFigures::table(conditions), &content.drives)
    })
}
