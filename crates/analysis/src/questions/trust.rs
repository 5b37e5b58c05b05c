//! Limits of the trust in a capture, each with its remedy: lost or partly seen I/Os, values that
//! its source does not record, and damage to its files. `trace doctor` prints the list, and every
//! report begins with it.

use crate::annotate::sequential::DepthSource;
use crate::captured::Captured;
use crate::device_layer::device_names;
use crate::fold::Fold;
use crate::pass::{PassAccount, PassOptions};
use crate::questions::quality::Completeness;
use crate::questions::remedies::{remark_remedy, unseen_remedy};
use crate::sums::content_of_part::PartContent;
use steadfast_domain::caveats as ids;
use steadfast_domain::io_event::Share;
use steadfast_domain::text::counted;
use steadfast_domain::{CaptureConditions, Caveat, CaveatKind, Layer, Nanos};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Integrity, Recovery};

/// Facts about a capture from which its caveats follow.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Conditions of the capture.
    pub conditions: CaptureConditions,
    /// Recovery of a file whose writer was killed; `None` if it was closed properly.
    pub recovery: Option<Recovery>,
    /// Damaged or missing parts of its files.
    pub integrity: Integrity,
    /// True if every I/O was kept.
    pub keeps_single_ios: bool,
    /// Account of the pass.
    pub account: PassAccount,
    /// Completeness of the I/Os.
    pub quality: Completeness,
    /// Number of files of rotated captures that precede the first one given.
    pub earlier_parts: u64,
}

impl Evidence {
    /// Reads a capture once.
    ///
    /// # Errors
    /// Returns the errors of [`Captured::run`].
    pub fn read(captured: &Captured, pass: &PassOptions) -> Result<Self, TraceError> {
        let mut quality = Completeness::from_conditions(captured.conditions());
        let mut content = PartContent::read(captured, pass);
        let mut folds: Vec<&mut dyn Fold> = vec![&mut quality];
        folds.extend(content.fold());
        let account = captured.run(pass, &mut folds)?;
        let conditions = content.conditions(captured.conditions());
        Ok(Evidence { conditions, ..Self::from_pass(captured, account, quality) })
    }

    /// Collects the evidence from a pass that was already made.
    pub fn from_pass(captured: &Captured, account: PassAccount, quality: Completeness) -> Self {
        Evidence {
            conditions: captured.conditions().clone(),
            recovery: captured.recovery().cloned(),
            integrity: captured.integrity(),
            // A fold file is made of single I/Os.
            keeps_single_ios: captured.check_recorded(NotRecorded::QueueTimes).is_ok(),
            account,
            quality,
            earlier_parts: captured.earlier_parts(),
        }
    }

    /// Returns the caveats of the capture. Damage to its files comes first.
    pub fn limits(&self) -> Vec<Caveat> {
        let mut limits = self.damage();
        let found = [
            self.lost(),
            self.killed(),
            self.earlier_parts(),
            self.skipped(),
            self.omitted(),
            self.order(),
            self.missed_completions(),
            self.no_responses(),
            self.failed(),
            self.beyond_device(),
            self.depths_counted(),
            self.depths_unknown(),
            self.rounded_times(),
            self.no_clock(),
            self.sizes_unknown(),
            self.no_processes(),
            self.one_process(),
            self.two_layers(),
            self.merging(),
            self.cgroups_unknown(),
            self.paths_unknown(),
            self.no_queue_times(),
            self.duplicates(),
            self.cost(),
        ];
        limits.extend(found.into_iter().flatten());
        limits.extend(self.unseen());
        limits
    }

    /// Returns the caveats about damaged files, and about files without checksums.
    fn damage(&self) -> Vec<Caveat> {
        let missing = self.integrity.missing().into_iter().map(|text| {
            let remedy = "The counts do not include these I/Os. Restore the file from a backup.";
            Caveat::deviation(ids::FILE_DAMAGED, text, remedy)
        });
        let text = "The file has no checksums: damage to it cannot be detected.";
        let remedy = "Copy it with steadfast trace recover: the copy has checksums.";
        let unchecked =
            (!self.integrity.checksums).then(|| Caveat::remark(ids::NO_CHECKSUMS, text, remedy));
        missing.chain(unchecked).collect()
    }

    fn lost(&self) -> Option<Caveat> {
        let lost = self.conditions.lost;
        let text =
            format!("The capture lost {}; every count here is too low.", counted(lost, "event"));
        let remedy = if self.keeps_single_ios {
            "Capture again with a larger buffer."
        } else {
            "Capture again with wider steps, or fewer devices."
        };
        deviation(lost > 0, ids::EVENTS_LOST, text, remedy)
    }

    fn killed(&self) -> Option<Caveat> {
        let lost = self.recovery.as_ref()?.bytes_ignored;
        let text = match lost {
            0 => "The capture was killed. Its file ends with a complete row group.".to_owned(),
            lost => format!(
                "The capture was killed. Its file was read up to its last complete row group; {} \
                 after it are lost.",
                counted(lost, "byte")
            ),
        };
        let kind = if lost > 0 { CaveatKind::Deviation } else { CaveatKind::Remark };
        Some(Caveat::new(kind, ids::CAPTURE_KILLED, text, "End a capture with Ctrl-C."))
    }

    fn earlier_parts(&self) -> Option<Caveat> {
        let files = match self.earlier_parts {
            1 => "The first file of a rotated capture was not given".to_owned(),
            more => format!("The first {more} files of a rotated capture were not given"),
        };
        let text = format!("{files}: everything here is of the time from the first given file on.");
        let remedy = "Name all files of the capture to see all of it.";
        deviation(self.earlier_parts > 0, ids::EARLIER_PARTS, text, remedy)
    }

    fn skipped(&self) -> Option<Caveat> {
        let skipped = self.conditions.skipped;
        let text = format!(
            "The kernel skipped the capture's probes {}: at most that many I/Os are missing.",
            counted(skipped, "time")
        );
        deviation(skipped > 0, ids::SKIPPED, text, "Capture again without other tracers.")
    }

    /// I/Os that were only partly seen and are not in the file.
    fn omitted(&self) -> Option<Caveat> {
        let part = self.conditions.in_part?;
        let (before, many) = (part.begun_before, part.too_many);
        let text = format!(
            "{} omitted: {before} issued before the capture began, {many} when too many were \
             outstanding to follow.",
            counted(part.missing(), "I/O")
        );
        let remedy = match many {
            0 => "Nothing needs to be done: these I/Os belong to the time before the capture.",
            _ => "Capture fewer devices at once.",
        };
        let kind = if many > 0 { CaveatKind::Deviation } else { CaveatKind::Remark };
        (part.missing() > 0).then(|| Caveat::new(kind, ids::IOS_OMITTED, text, remedy))
    }

    fn order(&self) -> Option<Caveat> {
        let late = self.account.order.late;
        let text = format!(
            "{} could not be put in issue order; sequentiality and busy time may be wrong \
             by up to that many.",
            counted(late, "I/O")
        );
        deviation(late > 0, ids::ORDER_OVERFLOW, text, "Let more events wait.")
    }

    /// Returns the number of I/Os whose completion was missed. A file of a rotated capture counts
    /// those outstanding at its end too, although their completion is in the file or in the next;
    /// every missed I/O of the file is an I/O without a response time.
    fn incomplete_ios(&self) -> u64 {
        let unended = self.conditions.in_part.map_or(0, |part| part.unended);
        let is_whole = self.keeps_single_ios && self.account.kept == self.account.events;
        if is_whole { unended.min(self.quality.no_response) } else { unended }
    }

    /// Returns a caveat about missed completions: such an I/O stays outstanding in all later depths
    /// that the source counted.
    fn missed_completions(&self) -> Option<Caveat> {
        let missed = self.incomplete_ios();
        let depths = match (self.keeps_single_ios, DepthSource::from_conditions(&self.conditions)) {
            (true, DepthSource::Counted) => {
                "Queue depths were counted from issue and response times; these I/Os are never \
                 counted as outstanding."
            }
            _ => {
                "Each was counted as outstanding for a while: queue depths are too high by at most \
                 this many."
            }
        };
        let text = format!(
            "The completion of {} is missing, and so is the response time. {depths}",
            counted(missed, "I/O")
        );
        let remedy = "If the load still ran when the capture ended, capture until it has ended. \
                      Otherwise the kernel ran no probe at these completions: capture with \
                      --source tracefs.";
        deviation(missed > 0, ids::ENDS_MISSED, text, remedy)
    }

    fn no_responses(&self) -> Option<Caveat> {
        let Completeness { ios, no_response, .. } = self.quality;
        let text = not_reported(no_response, ios, "response time", "response times");
        let remedy = if no_response == ios {
            "Capture with steadfast capture."
        } else {
            "Response times are those of the other I/Os."
        };
        // Completions that the capture missed have a caveat of their own.
        remark(no_response > self.incomplete_ios(), ids::NO_RESPONSE_TIMES, text, remedy)
    }

    fn failed(&self) -> Option<Caveat> {
        let text = format!(
            "{} failed; failed I/Os are counted, with their response times.",
            counted(self.quality.failed, "I/O")
        );
        let remedy = "Look for errors of the device in the kernel log: dmesg.";
        deviation(self.quality.failed > 0, ids::IOS_FAILED, text, remedy)
    }

    fn beyond_device(&self) -> Option<Caveat> {
        let beyond = self.quality.beyond_device.unwrap_or(0);
        let ios = counted(beyond, "I/O");
        let text = format!("The size that the trace gives a device is exceeded by {ios}.");
        let remedy = "Check the units of offset and size with which the trace was imported.";
        deviation(beyond > 0, ids::BEYOND_DEVICE, text, remedy)
    }

    fn depths_counted(&self) -> Option<Caveat> {
        let PassAccount { depths_counted: counted, events, kept, .. } = self.account;
        // The number covers all I/Os that were read, regardless of the filter.
        let of = if kept < events { " of the unfiltered trace" } else { "" };
        let text = format!(
            "The source reports no queue depth for {counted} I/Os{of}; it was counted from issue \
             and response times."
        );
        let is_recorded = DepthSource::from_conditions(&self.conditions) == DepthSource::Recorded;
        remark(is_recorded && counted > 0, ids::DEPTH_COUNTED, text, CAPTURE_AGAIN)
    }

    fn depths_unknown(&self) -> Option<Caveat> {
        let text = "The source's times are rounded: queue depth and busy time are unknown.";
        let unknown = DepthSource::from_conditions(&self.conditions) == DepthSource::Unknown;
        remark(unknown, ids::DEPTH_UNKNOWN, text.to_owned(), CAPTURE_AGAIN)
    }

    fn rounded_times(&self) -> Option<Caveat> {
        let text = "Issue times are rounded to a millisecond or more: capture steps narrower than \
            that are not meaningful.";
        let remedy = "Use wider steps, or capture again with steadfast capture.";
        remark(self.conditions.rounded_times, ids::TIMES_ROUNDED, text.to_owned(), remedy)
    }

    fn no_clock(&self) -> Option<Caveat> {
        if self.conditions.began_unix_ns.is_none() {
            let text = "The trace has no start time: clock times are unavailable.";
            let remedy = "Give times from the beginning of the trace (--from 90min).";
            return remark(true, ids::NO_CLOCK, text.to_owned(), remedy);
        }
        let text = "The trace has no time zone: clock times are in UTC.";
        let remedy = "Give the zone: --time-zone +01:00.";
        remark(self.conditions.zone.is_none(), ids::ZONE_UNKNOWN, text.to_owned(), remedy)
    }

    fn sizes_unknown(&self) -> Option<Caveat> {
        let named = device_names(&self.conditions).zip(&self.conditions.devices);
        let unknown = named.filter(|(_, device)| device.capacity.is_none());
        let names: Vec<String> = unknown.map(|(name, _)| name).take(8).collect();
        let text = format!(
            "The size of these devices is unknown: {}. LBA ranges divide what the I/Os touched.",
            names.join(", ")
        );
        remark(!names.is_empty(), ids::SIZES_UNKNOWN, text, CAPTURE_AGAIN)
    }

    fn no_processes(&self) -> Option<Caveat> {
        let (ios, unknown) = (self.quality.ios, self.quality.no_process?);
        let text = not_reported(unknown, ios, "process", "processes");
        let remedy = "Tables list them as process unknown.";
        let remedy = if unknown == ios { CAPTURE_AGAIN } else { remedy };
        remark(unknown > 0, ids::NO_PROCESSES, text, remedy)
    }

    fn one_process(&self) -> Option<Caveat> {
        let text = format!(
            "Only I/Os of process {} were captured; the device had others too if it was shared. \
             I/Os that the kernel wrote back for the process are missing.",
            self.conditions.process?
        );
        remark(true, ids::ONE_PROCESS, text, "Capture without --pid to see all I/Os.")
    }

    fn two_layers(&self) -> Option<Caveat> {
        let text = "The trace has two layers: the requests of programs, and the device I/Os that \
            they caused. Together they count most bytes twice.";
        let remedy = "The block layer is counted unless --layer is given.";
        remark(self.conditions.layers.len() > 1, ids::TWO_LAYERS, text.to_owned(), remedy)
    }

    fn merging(&self) -> Option<Caveat> {
        let devices = self.conditions.merging.as_ref()?;
        let merged: u64 = devices.iter().map(|device| device.merged).sum();
        let split: u64 = devices.iter().map(|device| device.split).sum();
        let text = format!(
            "The kernel merged {merged} requests into others and split {split}: sizes and counts \
             are those of the I/Os that the device received, not of the requests."
        );
        let remedy = if self.conditions.layers.contains(&Layer::FileSystem) {
            "The requests are at the file-system layer: --layer filesystem."
        } else {
            "Capture the requests too: capture --layer block,filesystem."
        };
        remark(merged > 0 || split > 0, ids::REQUESTS_MERGED, text, remedy)
    }

    fn cgroups_unknown(&self) -> Option<Caveat> {
        let cgroups = self.conditions.cgroups.as_ref()?;
        let unknown = cgroups.iter().filter(|cgroup| cgroup.path.is_none()).count();
        let text = format!(
            "The paths of {unknown} of {} cgroups are unknown: they ended before they were looked \
             up.",
            cgroups.len()
        );
        let remedy = "Their I/Os are listed by cgroup number.";
        remark(unknown > 0, ids::CGROUPS_UNKNOWN, text, remedy)
    }

    fn paths_unknown(&self) -> Option<Caveat> {
        let (known, unknown) = self.conditions.paths?;
        let text = format!(
            "The paths of {unknown} of {} files are unknown: they were closed before they were \
             looked up.",
            known.saturating_add(unknown)
        );
        let remedy = "Their I/Os are listed by inode number.";
        remark(unknown > 0, ids::PATHS_UNKNOWN, text, remedy)
    }

    fn no_queue_times(&self) -> Option<Caveat> {
        let (ios, unknown) = (self.quality.at_block_layer, self.quality.no_queue_time?);
        let text = not_reported(unknown, ios, "queue time", "queue times");
        let remedy = "Queue times cover the other I/Os.";
        let remedy = if unknown == ios { CAPTURE_AGAIN } else { remedy };
        remark(unknown > 0, ids::NO_QUEUE_TIMES, text, remedy)
    }

    fn duplicates(&self) -> Option<Caveat> {
        let share = self.conditions.duplicates().filter(|share| matches!(share, Share::AtLeast(_)));
        let text = format!("The share of duplicate blocks is a lower bound ({}).", share?);
        let remedy = "Capture again with --content-sample 1 to compare every block.";
        remark(true, ids::DUPLICATES_BOUND, text, remedy)
    }

    fn cost(&self) -> Option<Caveat> {
        let cost = self.conditions.cost_ns?;
        let lasted = self.conditions.lasted_ns;
        let spent = cost.kernel_ns.unwrap_or(0).saturating_add(cost.user_ns);
        let measured = if cost.kernel_ns.is_some() { "" } else { "at least " };
        let share = spent as f64 / lasted.max(1) as f64;
        let text = format!(
            "The capture itself took {measured}{} of processor time in {} ({:.1} % of one processor).",
            Nanos(spent),
            Nanos(lasted),
            share * 100.0
        );
        let remedy = "Capture step sums instead of every I/O: --totals-every.";
        remark(lasted > 0 && share > CPU_SHARE_MAX, ids::CAPTURE_COST, text, remedy)
    }

    fn unseen(&self) -> Vec<Caveat> {
        let remark = |id, text, remedy| Caveat::remark(id, text, remedy);
        let unseen = self.conditions.unseen.iter().map(|(what, count)| {
            remark(ids::UNSEEN, format!("Not captured: {what}: {count}."), unseen_remedy(what))
        });
        let remarks = self.conditions.remarks.iter();
        let remarks =
            remarks.map(|text| remark(ids::CAPTURE_REMARK, text.clone(), remark_remedy(text)));
        unseen.chain(remarks).collect()
    }
}

/// Share of one processor above which the capture may have affected what it measured.
const CPU_SHARE_MAX: f64 = 0.05;

/// Remedy for values that the source of a trace does not report.
const CAPTURE_AGAIN: &str =
    "Capture again with steadfast capture: it records this where the kernel reports it.";

/// Returns the sentence on a value that `unknown` of the I/Os lack.
fn not_reported(unknown: u64, ios: u64, value: &str, values: &str) -> String {
    if unknown == ios {
        format!("The source reports no {values}.")
    } else {
        format!("{unknown} of {ios} I/Os have no {value}.")
    }
}

fn deviation(applies: bool, id: &str, text: String, remedy: &str) -> Option<Caveat> {
    applies.then(|| Caveat::deviation(id, text, remedy))
}

fn remark(applies: bool, id: &str, text: String, remedy: &str) -> Option<Caveat> {
    applies.then(|| Caveat::remark(id, text, remedy))
}
