//! Busy time of devices: spans of single I/Os joined per device and layer, and divided among steps.

use crate::annotate::busy_time::{BusySpan, DeviceBusySpan};
use crate::device_layer::DeviceLayer;
use std::{iter, mem};

/// The latest busy span of each device and layer, which the next I/O may extend.
#[derive(Debug, Clone, Default)]
pub struct OpenBusySpans {
    /// In order of device and layer.
    spans: Vec<DeviceBusySpan>,
    /// Index of the span that was used last.
    last: usize,
}

impl OpenBusySpans {
    /// Adds busy time of a device and layer. Returns the previous span if this one does not continue
    /// it.
    #[inline]
    pub fn add(&mut self, side: DeviceLayer, busy: BusySpan) -> Option<BusySpan> {
        match self.spans.get_mut(self.last) {
            _ if busy.1 <= busy.0 => None,
            Some(last) if last.side == side && last.span.1 == busy.0 => {
                last.span.1 = busy.1;
                None
            }
            _ => self.add_other(side, busy),
        }
    }

    fn add_other(&mut self, side: DeviceLayer, busy: BusySpan) -> Option<BusySpan> {
        match self.spans.binary_search_by_key(&side, |known| known.side) {
            Ok(at) => {
                self.last = at;
                let span = &mut self.spans[at].span;
                if span.1 == busy.0 {
                    span.1 = busy.1;
                    return None;
                }
                Some(mem::replace(span, busy))
            }
            Err(at) => {
                self.last = at;
                self.spans.insert(at, DeviceBusySpan { side, span: busy });
                None
            }
        }
    }

    /// Removes and returns all spans.
    pub fn take(&mut self) -> Vec<DeviceBusySpan> {
        mem::take(&mut self.spans)
    }
}

/// Divides a span among steps of `width_ns` nanoseconds. Returns the number of each step and the
/// time in it, in nanoseconds.
///
/// ```
/// use steadfast_analysis::sums::busy_spans::by_step;
///
/// assert_eq!(by_step((7, 21), 10).collect::<Vec<_>>(), [(0, 3), (1, 10), (2, 1)]);
/// ```
pub fn by_step((begin, end): BusySpan, width_ns: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut from = begin;
    iter::from_fn(move || {
        if from >= end {
            return None;
        }
        let step = from / width_ns;
        let to = step.saturating_add(1).saturating_mul(width_ns).min(end);
        Some((step, to - mem::replace(&mut from, to)))
    })
}
