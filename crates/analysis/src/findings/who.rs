//! Threads, cgroups and files, as far as the capture recorded them.

use super::tables;
use crate::columns::table_row;
use crate::questions::group_figures::{GroupFigureSet, GroupFigures};
use crate::questions::groups::{Facet, GroupKey, Groups};
use crate::questions::streams::share_of;
use crate::questions::study::{SingleIoResults, Study};
use steadfast_domain::findings::{Exhibit, Page, Row, Table};
use steadfast_domain::text::number;

/// Returns a page with a table of each, or `None` if none was recorded.
pub(super) fn page(study: &Study, singles: &SingleIoResults) -> Option<Page> {
    let named = singles.groups.iter().filter(|groups| groups.iter().any(|(key, _)| is_named(key)));
    let tables = named.filter_map(|groups| Some(Exhibit::Table(table(study, groups)?)));
    let tables: Vec<Exhibit> = tables.collect();
    (!tables.is_empty()).then(|| Page::new("Threads, cgroups and files", tables))
}

/// Returns true if a group belongs to a known thread, cgroup or file.
fn is_named(key: &GroupKey) -> bool {
    key.thread.is_some_and(|thread| thread.tid > 0)
        || key.cgroup.is_some_and(|cgroup| cgroup > 0)
        || key.file.is_some_and(|(_, inode)| inode > 0)
}

/// Returns a table of the largest groups and the sum of all others.
fn table(study: &Study, groups: &Groups) -> Option<Table> {
    let (id, title, corner) = match groups.facets().first()? {
        Facet::Thread => ("threads", "Threads", "Process, thread"),
        Facet::Cgroup => ("cgroups", "Cgroups", "Cgroup"),
        Facet::File => ("files", "Files, I/Os of the file-system layer", "File"),
        _ => return None,
    };
    let mut listing = groups.listing(study.totals.options.by, &study.totals.conditions);
    let others = listing.split_off(listing.len().min(tables::GROUPS_SHOWN));
    let keys: Vec<GroupKey> = listing.iter().map(|group| group.key).collect();
    let rest = unlisted_row(study, groups, &keys, others.len());
    let rows = listing.into_iter().map(|group| (group.name(), group));
    let columns = GroupFigures::of_report(GroupFigureSet::Counts);
    Some(tables::table([id, title, corner], columns, rows).rows(rest))
}

/// Returns the sum of all groups that are not listed, or `None` if there are none. `others_count` is
/// the number of these groups, as far as they are counted separately.
fn unlisted_row(
    study: &Study,
    groups: &Groups,
    listed: &[GroupKey],
    others_count: usize,
) -> Option<Row> {
    let others = groups.beyond(listed).total_figures(&study.totals.conditions);
    if others.count == 0 {
        return None;
    }
    let all = groups.total();
    let more = if groups.unlisted().count() > 0 { " and more" } else { "" };
    let head = if others_count == 0 {
        "others".to_owned()
    } else {
        format!("{}{more} others", number(others_count as f64, 0))
    };
    let others = GroupFigures {
        share_of_count: share_of(others.count, all.count()),
        share_of_bytes: share_of(others.amount, all.amount()),
        ..others
    };
    let row = table_row(head, GroupFigures::of_report(GroupFigureSet::Counts), &others);
    Some(row.with_id("others").strong(true))
}
