//! `trace hosts`: hosts ranked by a figure, with outliers marked.

use super::listing_table::listing_table;
use crate::cli::fleet::TraceHostsArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::fleet::{HostFigures, Hosts};

#[derive(Serialize, schemars::JsonSchema)]
pub struct HostsContent {
    /// By what they are ranked.
    rank: String,
    hosts: Vec<HostFigures>,
}

/// Prints the hosts of captures.
pub fn run(arguments: &TraceHostsArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let conditions = selected.conditions();
    let PassResult { found, account } = selected.answer(|captured, pass| {
        let mut found = Hosts::from_conditions(conditions);
        let account = captured.run(pass, &mut [found.fold()])?;
        Ok(PassResult { found, account })
    })?;
    let observed = selected.captured.observed_by_host(&selected.pass.filter);
    let mut hosts = found.listing(arguments.rank, conditions, &observed);
    let (all, apart) = (hosts.len(), hosts.iter().filter(|host| host.is_outlier()).count());
    if arguments.outliers {
        hosts.retain(HostFigures::is_outlier);
    }
    let content = HostsContent { rank: arguments.rank.to_string(), hosts };
    selected.show(arguments.json, account, content, |content| {
        format!(
            "{}\nhosts: {all}, by {}; outliers: {apart}",
            listing_table(HostFigures::ALL, content.hosts.iter().take(arguments.top)),
            arguments.rank
        )
    })
}
