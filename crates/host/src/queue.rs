//! What a capture must know of a block device: its number, and whether it has
//! a request queue.

use crate::node::Node;
use crate::roots::Roots;
use steadfast_domain::Device;

/// How a block device takes its I/Os.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockQueue {
    /// Major and minor number.
    pub number: (u32, u32),
    /// It has no request queue: bios are handed to it as they are (zram,
    /// device-mapper, md).
    pub bio_based: bool,
    /// The disk that this is a partition of.
    pub partition_of: Option<String>,
}

/// The queue of a block device; `None` for a file or a simulated drive.
pub fn block_queue(device: &Device, roots: &Roots) -> Option<BlockQueue> {
    of_node(&Node::named(&device.name, roots)?)
}

fn of_node(node: &Node) -> Option<BlockQueue> {
    let whole = node.whole();
    Some(BlockQueue {
        number: node.device_number()?,
        bio_based: !whole.directory.join("mq").is_dir(),
        partition_of: node.partition().map(|_| whole.name.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    #[test]
    fn a_queue_is_told_from_what_has_none_and_a_partition_from_its_disk() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1 << 21);
        let part = machine.partition(&disk, "sda1", "8:1", 1 << 20);
        let bios = of_node(&disk).unwrap();
        assert_eq!((bios.number, bios.bio_based, bios.partition_of), ((8, 0), true, None));
        std::fs::create_dir_all(disk.directory.join("mq")).unwrap();
        assert!(!of_node(&disk).unwrap().bio_based);
        let part = of_node(&part).unwrap();
        assert_eq!((part.number, part.bio_based), ((8, 1), false));
        assert_eq!(part.partition_of.as_deref(), Some("sda"));
    }
}
