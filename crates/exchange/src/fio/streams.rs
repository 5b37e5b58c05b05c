//! The I/O streams of a job: each direction, transfer size and order with its share of the I/Os.

use super::access::{JobAccess, OpShare, direction_index};
use super::offsets::{alignment, random_offsets};
use super::options::SectionOptions;
use super::transfer_sizes::{SizeShare, TransferSizes, transfer_sizes};
use steadfast_domain::stimulus::{Cursor, Order};
use steadfast_domain::{Bytes, IoStream, Op};

/// A direction with its share of the I/Os in percent and its transfer sizes.
struct SizedDirection {
    op: Op,
    percent: u32,
    sizes: TransferSizes,
}

/// Returns the streams of a job. Errors are added to `options`.
pub(super) fn streams(
    options: &mut SectionOptions<'_>,
    access: &JobAccess,
) -> Option<Vec<IoStream>> {
    let mut directions = Vec::new();
    for OpShare { op, percent } in &access.ops {
        let sizes = transfer_sizes(options, *op)?;
        directions.push(SizedDirection { op: *op, percent: *percent, sizes });
    }
    let split = directions.iter().find(|one| one.sizes.shares.len() > 1);
    if let Some(split) = split
        && !access.random
        && directions.len() > 1
    {
        let why = "a sequential mix of directions and of sizes is not supported";
        options.refuse(split.sizes.option, why);
        return None;
    }
    let cursor = if split.is_some() { Cursor::Shared } else { Cursor::Own };
    let mut streams = Vec::new();
    for SizedDirection { op, percent, sizes } in &directions {
        let least = sizes.shares.iter().map(|one| one.size).min().unwrap_or(512);
        let alignment = alignment(options, *op, least, access.random)?;
        let offsets = if access.random { Some(random_offsets(options, *op)?) } else { None };
        // The shares of a direction's sizes add up to its share of the I/Os.
        let others: u32 =
            directions.iter().filter(|other| other.op != *op).map(|one| one.sizes.sum()).product();
        for SizeShare { size, share } in &sizes.shares {
            let weight = percent * share * if directions.len() > 1 { others } else { 1 };
            for (order, weight) in orders(access, *op, weight, cursor) {
                let mut stream = IoStream::new(*op, order, Bytes(*size)).with_weight(weight);
                stream.alignment = (alignment != *size).then_some(Bytes(alignment));
                if let Some(offsets) = offsets.as_ref().filter(|_| order == Order::Random) {
                    stream.zones.clone_from(&offsets.zones);
                    stream.distribution = offsets.distribution;
                }
                streams.push(stream);
            }
        }
    }
    Some(streams)
}

/// Returns the orders of a direction's I/Os with their weights; `percentage_random` makes two.
fn orders(access: &JobAccess, op: Op, weight: u32, cursor: Cursor) -> Vec<(Order, u32)> {
    let random = access.random_percents[direction_index(op)];
    let scale = if access.is_mixed() { 1 } else { 100 };
    [(Order::Random, random), (Order::Sequential(cursor), 100 - random)]
        .into_iter()
        .map(|(order, share)| (order, weight.saturating_mul(share) / scale))
        .filter(|(_, weight)| *weight > 0)
        .collect()
}
