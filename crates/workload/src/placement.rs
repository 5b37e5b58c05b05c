//! Placement of a workload's I/Os on a device, beyond what its streams define.

use steadfast_domain::stimulus::{Order, Zone};
use steadfast_domain::{Bytes, IoStream};

/// LBA zones and alignment of all random streams of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Parts of the active range, each with its share of the I/Os; empty for the whole range.
    pub zones: Vec<Zone>,
    /// Alignment of every offset, whatever the size of the I/O; `None` for that of the stream.
    pub alignment: Option<Bytes>,
}

impl Placement {
    /// Places the random streams. Sequential streams run through the whole range.
    pub fn place(&self, streams: &mut [IoStream]) {
        for stream in streams.iter_mut().filter(|stream| stream.order == Order::Random) {
            stream.zones.clone_from(&self.zones);
            stream.alignment = self.alignment.or(stream.alignment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::stimulus::{Cursor, Op};

    #[test]
    fn random_streams_are_placed_and_sequential_ones_are_not() {
        let stream = |order| IoStream::new(Op::Read, order, Bytes(512));
        let mut streams = [stream(Order::Random), stream(Order::Sequential(Cursor::Own))];
        let zones = vec![Zone { weight: 1, from_ppm: 0, to_ppm: 50_000 }];
        let placement = Placement { zones: zones.clone(), alignment: Some(Bytes::kib(4)) };
        placement.place(&mut streams);
        assert_eq!((&streams[0].zones, streams[0].alignment()), (&zones, Bytes::kib(4)));
        assert_eq!(streams[1], stream(Order::Sequential(Cursor::Own)));
        let before = streams.clone();
        Placement { alignment: None, ..placement }.place(&mut streams);
        assert_eq!(streams, before);
    }
}
