//! Describes in words the parts of a load that its streams, demand and range do not show: pace,
//! alignment of the offsets, zones and data. Plans, reports and exports use the same words.

use crate::stimulus::{DataPattern, IoStream, Order, Pace, Zone};
use crate::text::number;

/// Describes the pace of a load; `None` if every I/O follows the completion of another one.
pub fn pace_text(pace: &Pace) -> Option<String> {
    let rate = || {
        let rate = pace.offered_iops().unwrap_or_default();
        number(rate, if (rate - rate.round()).abs() < 1e-6 { 0 } else { 2 })
    };
    match pace {
        Pace::Closed => None,
        Pace::Fixed { .. } => Some(format!("{} IOPS, evenly", rate())),
        Pace::Poisson { .. } => Some(format!("{} IOPS on average, at random", rate())),
        Pace::Burst { ios, delay } => Some(format!("bursts of {ios} I/Os, {delay} after each")),
        Pace::Empirical(arrivals) => Some(format!(
            "{} IOPS on average, in bursts of {} I/Os on average, drawn from measured distributions",
            rate(),
            number(arrivals.burst_ios.mean(), 1)
        )),
        Pace::ByStream(paces) => {
            let count =
                |is_counted: fn(&Pace) -> bool| paces.iter().filter(|p| is_counted(p)).count();
            let kinds = [
                (count(|pace| matches!(pace, Pace::Fixed { .. })), "evenly"),
                (count(|pace| matches!(pace, Pace::Poisson { .. })), "at random"),
                (count(|pace| matches!(pace, Pace::Empirical(_))), "from measured distributions"),
            ];
            let kinds = kinds.iter().filter(|(streams, _)| *streams > 0);
            let kinds: Vec<String> =
                kinds.map(|(streams, how)| format!("{streams} {how}")).collect();
            Some(format!(
                "{} IOPS on average, each stream independently ({})",
                rate(),
                kinds.join(", ")
            ))
        }
    }
}

/// Describes the alignment of random streams; `None` if there are none.
pub fn alignment_text(streams: &[IoStream]) -> Option<String> {
    let random: Vec<&IoStream> = streams.iter().filter(|s| s.order == Order::Random).collect();
    let first = random.first()?.alignment();
    if random.iter().all(|stream| stream.alignment() == first) {
        return Some(first.binary());
    }
    if random.iter().all(|stream| stream.alignment() == stream.size) {
        return Some("each transfer's size".to_owned());
    }
    let each = random.iter().map(|s| format!("{s}: {}", s.alignment().binary()));
    Some(each.collect::<Vec<_>>().join(", "))
}

/// Describes the zones of a load and those of streams with their own; `None` if every offset of the
/// range is equally likely.
pub fn zones_text(zones: &[Zone], streams: &[IoStream]) -> Option<String> {
    let own = streams
        .iter()
        .filter_map(|stream| Some(format!("{stream}: {}", describe_zones(&stream.zones)?)));
    let all: Vec<String> = describe_zones(zones).into_iter().chain(own).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Number of zones above which a text summarizes them.
const LISTED_ZONES: usize = 16;

/// Returns the share of the I/Os, in percent, that the hottest parts of the zones take, together
/// `percent` of the active range. Assumes that the I/Os of a zone are spread evenly over it.
pub fn hottest_share(zones: &[Zone], percent: f64) -> f64 {
    let whole: f64 = zones.iter().map(|zone| f64::from(zone.weight)).sum();
    let width = |zone: &Zone| f64::from(zone.to_ppm.saturating_sub(zone.from_ppm)).max(1.0);
    let density = |zone: &Zone| f64::from(zone.weight) / width(zone);
    let mut by_density: Vec<&Zone> = zones.iter().collect();
    by_density.sort_by(|a, b| density(b).total_cmp(&density(a)));
    let (mut left, mut taken) = (percent * 1e4, 0.0);
    for zone in by_density {
        let part = width(zone).min(left);
        taken += density(zone) * part;
        left -= part;
    }
    if whole > 0.0 { taken / whole * 100.0 } else { 0.0 }
}

fn describe_zones(zones: &[Zone]) -> Option<String> {
    if zones.len() > LISTED_ZONES {
        return Some(format!(
            "{} zones, whose hottest 10 % of the range take {:.1} % of the I/Os",
            zones.len(),
            hottest_share(zones, 10.0)
        ));
    }
    let whole: u64 = zones.iter().map(|zone| u64::from(zone.weight)).sum();
    let percent = |part: f64| {
        let text = format!("{part:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let each = zones.iter().map(|zone| {
        let share = f64::from(zone.weight) * 100.0 / whole.max(1) as f64;
        let (from, to) = (f64::from(zone.from_ppm) / 1e4, f64::from(zone.to_ppm) / 1e4);
        format!(
            "{} % of the I/Os in {} to {} % of the range",
            percent(share),
            percent(from),
            percent(to)
        )
    });
    (!zones.is_empty()).then(|| each.collect::<Vec<_>>().join(", "))
}

/// Describes the data that a load writes; `None` if it writes nothing.
pub fn content_text(pattern: &DataPattern, streams: &[IoStream]) -> Option<String> {
    let writes = streams.iter().any(|stream| stream.op == crate::stimulus::Op::Write);
    writes.then(|| pattern.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stimulus::{Cursor, Op};
    use crate::units::{Bytes, Nanos};

    fn stream(order: Order, kib: u64) -> IoStream {
        IoStream::new(Op::Read, order, Bytes::kib(kib))
    }

    #[test]
    fn every_pace_is_described_with_its_rate() {
        let fixed = Pace::Fixed { ios: 100, per: Nanos::from_millis(100) };
        let slow = Pace::Poisson { ios: 1, per: Nanos::from_secs(8) };
        let by_stream = Pace::ByStream(vec![fixed.clone(), slow.clone(), fixed.clone()]);
        let burst = Pace::Burst { ios: 4, delay: Nanos::from_millis(100) };
        let independent =
            "2,000.12 IOPS on average, each stream independently (2 evenly, 1 at random)";
        for (pace, iops, text) in [
            (fixed, Some(1000.0), Some("1,000 IOPS, evenly")),
            (slow, Some(0.125), Some("0.12 IOPS on average, at random")),
            (by_stream, Some(2000.125), Some(independent)),
            (burst, None, Some("bursts of 4 I/Os, 100 ms after each")),
            (Pace::Closed, None, None),
        ] {
            assert_eq!((pace.offered_iops(), pace_text(&pace).as_deref()), (iops, text));
        }
    }

    #[test]
    fn alignment_zones_and_content_are_described() {
        let at = |bytes| IoStream { alignment: Some(Bytes(bytes)), ..stream(Order::Random, 4) };
        assert_eq!(alignment_text(&[at(512)]).unwrap(), "512 B");
        assert_eq!(alignment_text(&[at(4096)]).unwrap(), "4 KiB");
        let sizes = [stream(Order::Random, 4), stream(Order::Random, 8)];
        assert_eq!(alignment_text(&sizes).unwrap(), "each transfer's size");
        assert_eq!(alignment_text(&[stream(Order::Sequential(Cursor::Own), 4)]), None);
        let zone = |weight, from_ppm, to_ppm| Zone { weight, from_ppm, to_ppm };
        let zones = [zone(50, 0, 50_000), zone(30, 50_000, 200_000), zone(20, 200_000, 1_000_000)];
        let text = zones_text(&zones, &sizes).unwrap();
        assert!(text.starts_with("50 % of the I/Os in 0 to 5 % of the range, 30 %"), "{text}");
        assert_eq!(zones_text(&[], &sizes), None);
        // 50 % in the hottest 5, then a third of the 30 % in the next 15.
        assert_eq!(hottest_share(&zones, 10.0), 60.0);
        assert_eq!(hottest_share(&[], 10.0), 0.0);
        let many: Vec<Zone> =
            (0..20).map(|at| Zone { weight: 1, from_ppm: at, to_ppm: at + 1 }).collect();
        assert!(zones_text(&many, &sizes).unwrap().starts_with("20 zones, whose hottest 10 %"));
        assert_eq!(content_text(&DataPattern::Zero, &sizes), None, "reads only");
        let writes = [IoStream::new(Op::Write, Order::Random, Bytes::kib(4))];
        assert_eq!(content_text(&DataPattern::Zero, &writes).unwrap(), "zero");
    }
}
