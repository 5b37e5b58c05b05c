//! What can spoil a measurement, looked for before a run: the device's place
//! and link, its queue and format, its health, the processors, and whatever
//! else uses the machine.
//!
//! Nothing is changed and no data is read or written. Every check says what was
//! found; what the machine does not tell is [`CheckState::Unknown`], never good.

mod activity;
mod health;
mod link;
mod place;
mod processors;
mod queue;
#[cfg(test)]
mod tests;
mod timers;

use crate::facts::pci_function;
use crate::identity::controllers;
use crate::node::Node;
use crate::occupancy::disks_of_path;
use crate::roots::Roots;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steadfast_domain::record::{Check, CheckState};
use steadfast_domain::{Device, Transport};

pub use processors::throttle_count;

/// How long the machine should be watched for what else it does.
pub const WATCH: Duration = Duration::from_secs(1);

/// Looks a device and its host over. It takes as long as `watch` ([`WATCH`]),
/// or as the device's tools take to answer.
pub fn examine(device: &Device, roots: &Roots, watch: Duration) -> Vec<Check> {
    let subject = Subject::new(device, roots);
    let watching = activity::Watch::begin(&subject);
    let answer = crate::device_log::health(device, roots);
    let facts = answer.as_ref().and_then(|answer| answer.as_ref().ok()).map(|h| &h.nvme);
    let mut checks = place::checks(&subject);
    checks.extend(link::checks(&subject, facts));
    checks.extend(queue::checks(&subject, facts));
    checks.extend(health::checks(&subject, answer.as_ref()));
    checks.extend(processors::checks(&subject));
    checks.extend(timers::checks(&subject));
    checks.extend(watching.end(&subject, watch));
    checks
}

/// What is looked over.
struct Subject<'a> {
    device: &'a Device,
    roots: &'a Roots,
    /// The device or partition itself; none for a file.
    node: Option<Node>,
    /// The disk that does the work: the whole device, or the only disk below a
    /// file.
    whole: Option<Node>,
    /// The PCI function that leads to it.
    function: Option<PathBuf>,
}

impl<'a> Subject<'a> {
    fn new(device: &'a Device, roots: &'a Roots) -> Self {
        let (node, whole) = match device.transport {
            Transport::File => (None, only_disk_below(Path::new(&device.name), roots)),
            _ => {
                let node = Node::named(&device.name, roots);
                let whole = node.as_ref().map(Node::whole);
                (node, whole)
            }
        };
        let function = whole.as_ref().and_then(|whole| {
            let mut places = controllers(whole);
            places.push(whole.directory.clone());
            places.iter().find_map(|place| pci_function(place))
        });
        Subject { device, roots, node, whole, function }
    }

    fn is_file(&self) -> bool {
        self.device.transport == Transport::File
    }

    /// An attribute of the whole device's queue.
    fn queue(&self, attribute: &str) -> Option<u64> {
        self.whole.as_ref()?.number(&format!("queue/{attribute}"))
    }
}

fn only_disk_below(file: &Path, roots: &Roots) -> Option<Node> {
    let mut disks = disks_of_path(file, roots).into_iter();
    let first = disks.next()?;
    disks.next().is_none().then_some(first)
}

/// What a check is about: its stable short name, and what a person reads.
#[derive(Debug, Clone, Copy)]
struct Topic(&'static str, &'static str);

impl Topic {
    fn check(self, state: CheckState, found: String, advice: String) -> Check {
        Check { id: self.0.to_owned(), subject: self.1.to_owned(), state, found, advice }
    }
    fn good(self, found: impl Into<String>) -> Check {
        self.check(CheckState::Good, found.into(), String::new())
    }
    fn unknown(self, found: impl Into<String>) -> Check {
        self.check(CheckState::Unknown, found.into(), String::new())
    }
    fn attention(self, found: impl Into<String>, advice: impl Into<String>) -> Check {
        self.check(CheckState::Attention, found.into(), advice.into())
    }
    fn bad(self, found: impl Into<String>, advice: impl Into<String>) -> Check {
        self.check(CheckState::Bad, found.into(), advice.into())
    }
}

/// The processors in a list as the kernel writes it: `0-3,8`. Nothing that is
/// out of the ordinary is believed.
fn processor_list(text: &str) -> Vec<u32> {
    /// More processors than the kernel can be built for.
    const MOST: u32 = 8192;
    text.trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            (first <= last && last < MOST).then_some(first..=last)
        })
        .flatten()
        .collect()
}

/// `1 thing`, `2 things`.
fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
