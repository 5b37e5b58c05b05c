//! I/Os by file, cgroup or thread, as far as these were captured.

use crate::capture::ExploredCapture;
use crate::http_error::{HttpError, HttpResult};
use crate::query::QueryString;
use crate::selection::IoSelection;
use serde::Serialize;
use steadfast_analysis::questions::group_figures::GroupFigures;
use steadfast_analysis::questions::groups::{Facet, Groups};
use steadfast_analysis::{Filter, ShareMeasure};
use steadfast_domain::Layer;

const LIMIT: u64 = 200;
const LIMIT_MAX: u64 = 10_000;

/// The answer, as in `steadfast trace groups --json`.
#[derive(Serialize)]
pub struct GroupsAnswer {
    by: String,
    groups: Vec<GroupFigures>,
    groups_in_all: usize,
    unlisted_count: u64,
}

pub fn answer(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<GroupsAnswer> {
    let facet = facet(query)?;
    let limit = query.within("limit", LIMIT, LIMIT_MAX)? as usize;
    let conditions = selection.capture.conditions();
    // Only the file-system layer records files, whichever layer is counted elsewhere.
    let file_selection;
    let selection = if facet == Facet::File {
        let layer = Some(Layer::FileSystem);
        file_selection = selection.with_filter(Filter { layer, ..selection.filter.clone() });
        &file_selection
    } else {
        selection
    };
    let mut groups = Groups::by(&[facet]).with_hosts(conditions);
    selection.fold(selection.window_ns, &mut groups)?;
    let mut listed = groups.listing(ShareMeasure::Count, conditions);
    let groups_in_all = listed.len();
    listed.truncate(limit);
    let unlisted_count = groups.unlisted().count();
    Ok(GroupsAnswer { by: facet.to_string(), groups: listed, groups_in_all, unlisted_count })
}

/// Returns the facet by which the I/Os are grouped.
fn facet(query: &QueryString) -> HttpResult<Facet> {
    let wrong = |by: &str| HttpError::bad(format!("'{by}' is no group: file, cgroup or thread"));
    match query.one("by")? {
        Some("file") => Ok(Facet::File),
        Some("cgroup") => Ok(Facet::Cgroup),
        Some("thread") => Ok(Facet::Thread),
        Some(other) => Err(wrong(other)),
        None => Err(wrong("")),
    }
}

/// Returns the names of the groups that a capture recorded. The kernel's sums distinguish none of
/// them; the sums of a fold file may lack some.
pub fn recorded(capture: &ExploredCapture) -> Vec<&'static str> {
    if capture.has_kernel_sums() {
        return Vec::new();
    }
    let conditions = capture.conditions();
    let cgroups = conditions.cgroups.as_ref().is_some_and(|cgroups| !cgroups.is_empty());
    let all = [
        (conditions.layers.contains(&Layer::FileSystem), "file"),
        (cgroups, "cgroup"),
        (conditions.threads, "thread"),
    ];
    all.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect()
}
