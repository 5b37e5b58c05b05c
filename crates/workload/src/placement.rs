//! Placement of a workload's I/Os on a device, beyond what its streams define.

use std::collections::BTreeMap;
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_domain::stimulus::{Op, Order, Zone};
use steadfast_domain::{Bytes, IoOp, IoStream};

/// LBA zones and alignment of the streams of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Parts of the active range, each with its share of the I/Os, for all random streams; empty
    /// for the whole range.
    pub zones: Vec<Zone>,
    /// Zones of single streams, which replace those of all.
    pub by_stream: BTreeMap<StreamKey, Vec<Zone>>,
    /// Length of the address range in which the zones of single streams were measured, in bytes;
    /// `None` if unknown.
    pub measured_in: Option<Bytes>,
    /// Alignment of every offset, whatever the size of the I/O; `None` for that of the stream.
    pub alignment: Option<Bytes>,
}

impl Placement {
    /// Places the random streams, and the sequential ones with their own zone. Other sequential
    /// streams run through the whole range.
    pub fn place(&self, streams: &mut [IoStream]) {
        for stream in streams {
            let own_zones = self.by_stream.get(&key_of(stream));
            if let Some(zones) = own_zones {
                stream.zones.clone_from(zones);
            }
            if stream.order == Order::Random {
                stream.alignment = self.alignment.or(stream.alignment);
                if own_zones.is_none() {
                    stream.zones.clone_from(&self.zones);
                }
            }
        }
    }
}

/// Returns the key under which a capture counts the I/Os of a stream.
pub fn key_of(stream: &IoStream) -> StreamKey {
    StreamKey {
        op: match stream.op {
            Op::Read => IoOp::Read,
            Op::Write => IoOp::Write,
            Op::Discard => IoOp::Discard,
            Op::Flush => IoOp::Flush,
        },
        sequential: stream.order != Order::Random,
        bytes: u32::try_from(stream.size.0).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::stimulus::Cursor;

    #[test]
    fn random_streams_are_placed_and_sequential_ones_only_in_their_own_zone() {
        let stream = |order| IoStream::new(Op::Read, order, Bytes(512));
        let sequential = stream(Order::Sequential(Cursor::Own));
        let mut streams = [stream(Order::Random), sequential.clone()];
        let zones = vec![Zone { weight: 1, from_ppm: 0, to_ppm: 50_000 }];
        let placement = Placement {
            zones: zones.clone(),
            alignment: Some(Bytes::kib(4)),
            ..Placement::default()
        };
        placement.place(&mut streams);
        assert_eq!((&streams[0].zones, streams[0].alignment()), (&zones, Bytes::kib(4)));
        assert_eq!(streams[1], sequential);
        let before = streams.clone();
        Placement { alignment: None, ..placement.clone() }.place(&mut streams);
        assert_eq!(streams, before);
        let own = vec![Zone { weight: 9, from_ppm: 7, to_ppm: 77 }];
        let by_stream = streams.each_ref().map(|stream| (key_of(stream), own.clone()));
        Placement { by_stream: BTreeMap::from(by_stream), ..placement }.place(&mut streams);
        assert_eq!([&streams[0].zones, &streams[1].zones], [&own, &own]);
    }
}
