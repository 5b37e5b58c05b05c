//! Several captures read as one, each from its own files or from a fold file.

use super::common::{Common, host_of};
use super::file::FoldFile;
use super::single_capture::SingleCapture;
use super::summed_capture::{CellTotals, SummedCapture};
use crate::filter::Filter;
use crate::fold::Fold;
use crate::pass::{PassAccount, PassOptions};
use crate::questions::cumulative::greatest_common_divisor;
use crate::thread_pool::ThreadPool;
use std::collections::{BTreeMap, BTreeSet};
use steadfast_domain::{CaptureConditions, Layer, Nanos};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::merge_mapping::MergeMapping;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::observed_time::{ObservedTime, StepGrid};
use steadfast_tracefile::parquet::{Damage, Integrity, OmittedFile, Recovery};

/// Maximum number of filters named in the remarks.
const FILTERS_NAMED: usize = 8;

/// Several captures read as one.
pub(crate) struct Fleet {
    members: Vec<(SingleCapture, MergeMapping)>,
    /// Merged conditions. Their `step_ns` is the common step width; `None` if all captures kept
    /// single I/Os.
    pub(crate) conditions: CaptureConditions,
    left_out: Vec<OmittedFile>,
}

impl Fleet {
    pub(crate) fn from_file(file: FoldFile) -> Result<Self, TraceError> {
        let FoldFile { description, cubes } = file;
        let captures = description.captures.iter().zip(cubes);
        let members = captures.map(|(member, cube)| {
            SingleCapture::Sums(Box::new(SummedCapture::from_fold(
                &description.options, member, cube,
            )))
        });
        Self::new(members.collect(), description.left_out)
    }

    /// Combines these captures.
    pub(crate) fn new(
        mut members: Vec<SingleCapture>,
        left_out: Vec<OmittedFile>,
    ) -> Result<Self, TraceError> {
        members.sort_by_key(|member| {
            let CaptureConditions { host, began_unix_ns, part, lasted_ns, .. } =
                member.conditions();
            let capture = part.as_ref().map(|part| part.capture.clone());
            (host.clone(), *began_unix_ns, capture, *lasted_ns)
        });
        let times = members.iter().map(|member| (member.conditions(), member.lasted_ns()));
        no_capture_twice(times)?;
        let all: Vec<&CaptureConditions> = members.iter().map(SingleCapture::conditions).collect();
        let Common { mut conditions, mappings } = Common::merge(&all)?;
        let filters = members.iter().filter_map(|member| match member {
            SingleCapture::Sums(sums) => sums.filter(),
            SingleCapture::Ios(_) => None,
        });
        let filters: BTreeSet<&String> = filters.collect();
        for filter in filters.into_iter().take(FILTERS_NAMED) {
            conditions.remarks.push(format!("The fold holds only part: {filter}."));
        }
        let step_widths = members.iter().filter_map(SingleCapture::step_ns);
        conditions.step_ns = step_widths.reduce(common_multiple);
        let members = members.into_iter().zip(mappings).collect();
        Ok(Fleet { members, conditions, left_out })
    }

    /// Returns the captures, and the files that were left out of them.
    pub(crate) fn into_members(self) -> (Vec<SingleCapture>, Vec<OmittedFile>) {
        (self.members.into_iter().map(|(member, _)| member).collect(), self.left_out)
    }

    pub(crate) fn captures(&self) -> usize {
        self.members.len()
    }

    /// Returns the conditions of the only capture; `None` for several.
    pub(crate) fn only_capture(&self) -> Option<&CaptureConditions> {
        match &self.members[..] {
            [(only, _)] => Some(only.conditions()),
            _ => None,
        }
    }

    pub(crate) fn recovery(&self) -> Option<&Recovery> {
        self.members.iter().find_map(|(member, _)| member.recovery())
    }

    pub(crate) fn integrity(&self) -> Integrity {
        let left_out = self.left_out.clone();
        let mut all = Integrity { checksums: true, left_out, ..Integrity::default() };
        let mut files = 0;
        for (member, _) in &self.members {
            let one = member.integrity();
            all.checksums &= one.checksums;
            let damaged = one.damaged.into_iter();
            all.damaged
                .extend(damaged.map(|damage| Damage { file: damage.file + files, ..damage }));
            all.missing_parts.extend(one.missing_parts);
            files += member.files();
        }
        all
    }

    /// Checks that all captures can report something that needs single I/Os.
    pub(crate) fn check_recorded(&self, what: NotRecorded) -> Result<(), TraceError> {
        self.members.iter().try_for_each(|(member, _)| member.check_recorded(what))
    }

    /// Checks that all captures counted the same number of LBA ranges, or none.
    pub(crate) fn check_lba_ranges(&self) -> Result<(), TraceError> {
        let mut counted = self.members.iter().map(|(member, _)| member.conditions().lba_ranges);
        let first = counted.next().flatten();
        if counted.all(|ranges| ranges == first) {
            return Ok(());
        }
        let what = "these captures counted different LBA ranges; name them one by one";
        Err(TraceError::Unsuitable(what.into()))
    }

    /// Returns the error for a question that needs single I/Os.
    pub(crate) fn refusal(&self, what: NotRecorded) -> TraceError {
        self.check_recorded(what).err().unwrap_or_else(|| several(what))
    }

    /// Returns a byte offset that no I/O of any device exceeds, or `None` if it is unknown without
    /// reading the I/Os.
    pub(crate) fn end_of_range(&self) -> Option<u64> {
        let ends = self.members.iter().map(|(member, _)| member.end_of_range());
        ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// Returns the observed time of each host that passes a filter, on the common axis.
    pub(crate) fn observed_by_host(&self, filter: &Filter) -> BTreeMap<String, ObservedTime> {
        let mut hosts: BTreeMap<String, ObservedTime> = BTreeMap::new();
        for (member, mapping) in &self.members {
            let observed = member.observed().shifted(mapping.shift_ns);
            let observed = observed.passing(&filter.spans_ns, member.step_grid(mapping.shift_ns));
            let host = hosts.entry(host_of(member.conditions())).or_default();
            *host = std::mem::take(host).and(&observed);
        }
        hosts
    }

    /// Returns the number of files of rotated captures that precede the first file of each capture.
    pub(crate) fn earlier_parts(&self) -> u64 {
        self.members.iter().map(|(member, _)| member.conditions().earlier_parts()).sum()
    }

    /// Returns the beginning of the first capture on the common axis, in nanoseconds.
    pub(crate) fn begin_ns(&self) -> u64 {
        self.members.iter().map(|(_, mapping)| mapping.shift_ns).min().unwrap_or(0)
    }

    /// Returns the grid of the kept steps on the common axis, or `None` if no sums were kept or no
    /// single grid holds the steps of all captures.
    pub(crate) fn step_grid(&self) -> Option<StepGrid> {
        let grids =
            self.members.iter().filter_map(|(member, mapping)| member.step_grid(mapping.shift_ns));
        let mut grids: Vec<StepGrid> = grids.collect();
        let widest = grids.iter().copied().max_by_key(|grid| grid.step_ns)?;
        grids.retain(|grid| {
            let offset_ns = widest.origin_ns.abs_diff(grid.origin_ns);
            !widest.step_ns.is_multiple_of(grid.step_ns) || !offset_ns.is_multiple_of(grid.step_ns)
        });
        grids.is_empty().then_some(widest)
    }

    /// Reads all captures in sequence and passes their batches and cells to all folds.
    pub(crate) fn run(
        &self,
        pass: &PassOptions,
        folds: &mut [&mut dyn Fold],
        threads: Option<&dyn ThreadPool>,
    ) -> Result<PassAccount, TraceError> {
        let mut account = PassAccount::default();
        let mut totals = CellTotals::default();
        for (member, mapping) in &self.members {
            if !pass.filter.keeps_any_of(&mapping.devices) {
                continue;
            }
            account.merge(&member.run(pass, Some(mapping), folds, &mut totals, threads)?);
        }
        Ok(account)
    }
}

fn several(what: NotRecorded) -> TraceError {
    TraceError::Unsuitable(format!(
        "these files belong to different captures, and {what} can be read of one capture only; \
         name the files of one"
    ))
}

/// Rejects captures of the same device that overlap in time, each with its length in nanoseconds. A
/// capture whose host or start time is unknown is rejected if it equals another in all that is known
/// of it.
pub(super) fn no_capture_twice<'a>(
    captures: impl Iterator<Item = (&'a CaptureConditions, u64)>,
) -> Result<(), TraceError> {
    type Time = (u64, u64, Option<u32>, Vec<Layer>);
    let mut seen: BTreeMap<(String, String), Vec<Time>> = BTreeMap::new();
    let mut undated: Vec<(&CaptureConditions, u64)> = Vec::new();
    for (conditions, lasted_ns) in captures {
        let (Some(host), Some(began)) = (&conditions.host, conditions.began_unix_ns) else {
            let is_duplicate = undated.iter().any(|(other, lasted)| {
                *lasted == lasted_ns
                    && other.host == conditions.host
                    && other.began_unix_ns == conditions.began_unix_ns
                    && other.source == conditions.source
                    && other.devices == conditions.devices
            });
            if is_duplicate {
                return Err(TraceError::Unsuitable(format!(
                    "two of the captures are of {}, have the same devices and last {}: their I/Os \
                     would count twice; name each capture once, as trace or in a fold file",
                    conditions.host.as_deref().unwrap_or("an unknown host"),
                    Nanos(lasted_ns)
                )));
            }
            undated.push((conditions, lasted_ns));
            continue;
        };
        let (from, to) = (began, began.saturating_add(lasted_ns));
        for device in &conditions.devices {
            let key = (host.clone(), device.name.clone());
            let times = seen.entry(key).or_default();
            let overlaps = times.iter().any(|(first, last, process, layers)| {
                // A capture of all processes has the I/Os of each.
                let is_other = process.zip(conditions.process).is_some_and(|(a, b)| a != b);
                let shares_layer = conditions.layers.iter().any(|layer| layers.contains(layer));
                from < *last && *first < to && !is_other && shares_layer
            });
            if overlaps {
                return Err(TraceError::Unsuitable(format!(
                    "{host} has two captures of {} at the same time: its I/Os would count twice; \
                     name each capture once, as trace or in a fold file",
                    device.name
                )));
            }
            times.push((from, to, conditions.process, conditions.layers.clone()));
        }
    }
    Ok(())
}

fn common_multiple(a: u64, b: u64) -> u64 {
    (a / greatest_common_divisor(a, b).max(1)).saturating_mul(b)
}
