//! Simulated machines for tests: `/sys`, `/proc` and `/dev` in the kernel's layout, in a temporary
//! directory.

use crate::backing::LoopStatus;
use crate::device_number::encode_dev;
use crate::identity::describe;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use steadfast_domain::Device;
use tempfile::TempDir;

pub(crate) struct MachineFixture {
    directory: TempDir,
    pub roots: SystemRoots,
}

impl MachineFixture {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(directory.path()).unwrap().join(name);
        let roots = SystemRoots {
            sys: at("sys"),
            proc: at("proc"),
            dev: at("dev"),
            etc: at("etc"),
            run: at("run"),
            loops: Some(at("loops")),
            tables: Some(at("tables")),
        };
        for needed in ["sys/block", "sys/class/block", "sys/dev/block", "proc/self/ns", "dev"] {
            fs::create_dir_all(at(needed)).unwrap();
        }
        let machine = MachineFixture { directory, roots };
        machine.write("proc/swaps", "Filename Type Size Used Priority\n");
        machine.write("proc/locks", "");
        machine.process(1);
        machine.mount(&[]);
        symlink("mnt:[1]", machine.path("proc/self/ns/mnt")).unwrap();
        symlink("/", machine.path("proc/self/root")).unwrap();
        symlink("pid:[4026531836]", machine.path("proc/self/ns/pid")).unwrap();
        machine
    }

    /// Writes a file at a path relative to the machine's root, such as `proc/swaps`.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap().join(path)
    }

    /// Creates a machine with the SATA drive `sda`.
    pub fn with_sata(sectors: u64) -> (MachineFixture, SysfsNode) {
        let machine = MachineFixture::new();
        let disk = machine.sata("sda", "8:0", sectors);
        (machine, disk)
    }

    /// Creates a machine with the NVMe drive `nvme0n1`.
    pub fn with_nvme(sectors: u64) -> (MachineFixture, SysfsNode) {
        let machine = MachineFixture::new();
        let disk = machine.nvme(0, 1, sectors);
        (machine, disk)
    }

    /// Returns the device with this kernel name.
    pub fn node(&self, name: &str) -> SysfsNode {
        SysfsNode::from_name(name, &self.roots).unwrap()
    }

    /// Returns the facts of a device.
    pub fn device(&self, node: &SysfsNode) -> Device {
        describe(node, &node.path(&self.roots), &self.roots)
    }

    /// Adds a process without open files in this program's mount namespace.
    pub fn process(&self, number: u32) {
        let directory = self.path(&format!("proc/{number}"));
        for name in ["ns", "fd", "fdinfo", &format!("task/{number}")] {
            fs::create_dir_all(directory.join(name)).unwrap();
        }
        fs::write(directory.join("maps"), "").unwrap();
        symlink("/", directory.join("root")).unwrap();
        symlink("mnt:[1]", directory.join("ns/mnt")).unwrap();
    }

    /// Adds a thread to a process. The kernel resolves `/proc/TID` but does not list it; here it is
    /// listed, as a process without threads.
    pub fn thread(&self, process: u32, number: u32) {
        self.process(number);
        fs::remove_dir_all(self.path(&format!("proc/{number}/task"))).unwrap();
        fs::create_dir_all(self.path(&format!("proc/{process}/task/{number}"))).unwrap();
    }

    /// Creates a symbolic link; both paths are relative to the machine's root.
    pub fn link(&self, link: &str, to: &str) {
        let link = self.path(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(self.path(to), link).unwrap();
    }

    /// Replaces a symbolic link by one with this text.
    pub fn relink(&self, link: &str, text: &str) {
        let link = self.path(link);
        fs::remove_file(&link).unwrap();
        symlink(text, link).unwrap();
    }

    /// Adds a block device with a queue at this path in `sys/devices`.
    pub fn block(&self, place: &str, number: &str, sectors: u64) -> SysfsNode {
        let directory = format!("sys/devices/{place}");
        for (attribute, value) in [
            ("queue/logical_block_size", "512"),
            ("queue/physical_block_size", "4096"),
            ("queue/rotational", "0"),
            ("queue/discard_max_bytes", "2147450880"),
            ("queue/write_cache", "write back"),
            ("queue/nomerges", "0"),
            ("queue/scheduler", "[none] mq-deadline"),
            ("queue/max_sectors_kb", "512"),
            ("queue/max_hw_sectors_kb", "2048"),
            ("ro", "0"),
        ] {
            self.write(&format!("{directory}/{attribute}"), format!("{value}\n"));
        }
        let name = self.list(place, number, sectors);
        self.link(&format!("sys/block/{name}"), &directory);
        self.node(&name)
    }

    /// Adds a partition to a device, after the existing ones.
    pub fn partition(&self, of: &SysfsNode, name: &str, number: &str, sectors: u64) -> SysfsNode {
        let end =
            |part: &SysfsNode| Some(part.number::<u64>("start")? + part.number::<u64>("size")?);
        let start = of.partitions().iter().filter_map(end).max().unwrap_or(2048);
        let root = self.path("sys/devices");
        let whole = of.directory.strip_prefix(root).unwrap().to_str().unwrap();
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let index = digits.rsplit('p').next().unwrap();
        self.write(&format!("sys/devices/{whole}/{name}/partition"), index);
        self.list(&format!("{whole}/{name}"), number, sectors);
        let node = self.node(name);
        self.set(&node, "start", format!("{start}\n"));
        node
    }

    /// Changes the sectors of a partition.
    pub fn place(&self, part: &SysfsNode, start: u64, sectors: u64) {
        self.set(part, "start", format!("{start}\n"));
        self.set(part, "size", format!("{sectors}\n"));
    }

    fn list(&self, place: &str, number: &str, sectors: u64) -> String {
        let directory = format!("sys/devices/{place}");
        let name = place.rsplit('/').next().unwrap().to_owned();
        self.write(&format!("{directory}/size"), format!("{sectors}\n"));
        self.write(&format!("{directory}/dev"), format!("{number}\n"));
        self.write(&format!("{directory}/ro"), "0\n");
        self.link(&format!("sys/class/block/{name}"), &directory);
        self.link(&format!("sys/dev/block/{number}"), &directory);
        self.write(&format!("dev/{}", name.replace('!', "/")), "");
        name
    }

    /// Stacks one device on another.
    pub fn stack(&self, upper: &SysfsNode, lower: &SysfsNode) {
        let lay = |at: &Path, to: &SysfsNode| {
            fs::create_dir_all(at).unwrap();
            symlink(&to.directory, at.join(&to.name)).unwrap();
        };
        lay(&lower.directory.join("holders"), upper);
        lay(&upper.directory.join("slaves"), lower);
    }

    /// Attaches a loop device to the file or device with these numbers.
    pub fn lay(&self, over: &SysfsNode, on: &LoopStatus) {
        self.set(over, "loop/offset", "0\n");
        let status = format!("{} {} {}", on.device, on.inode, on.node_of);
        self.write(&format!("loops/{}", over.name), status);
    }

    /// Attaches a loop device to a block device of this machine, given by its node, or to a file on
    /// its disk 8:0, where every path has its own inode.
    pub fn lay_over(&self, over: &SysfsNode, path: &str) {
        self.set(over, "loop/backing_file", format!("{path}\n"));
        let lower =
            path.strip_prefix("/dev/").and_then(|name| SysfsNode::from_name(name, &self.roots));
        let status = match lower.and_then(|node| node.device_number()) {
            Some(number) => LoopStatus::new(0, 1, encode_dev(number)),
            None => {
                let inode = path.bytes().fold(7, |sum, b| sum * 31 % 1_000_003 + u64::from(b));
                LoopStatus::new(libc::makedev(8, 0), inode, 0)
            }
        };
        self.lay(over, &status);
    }

    /// Writes a sysfs attribute of a device.
    pub fn set(&self, node: &SysfsNode, attribute: &str, value: impl AsRef<[u8]>) {
        let path = node.directory.join(attribute);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value).unwrap();
    }

    /// Replaces the mount table, one `(device number, mount point, file system, source)` per mount.
    pub fn mount(&self, table: &[(&str, &str, &str, &str)]) {
        let mut text = String::new();
        if table.iter().all(|(_, point, ..)| *point != "/") {
            text.push_str("1 1 0:20 / / rw - tmpfs tmpfs rw\n");
        }
        for (id, (number, point, kind, source)) in table.iter().enumerate() {
            // IDs beyond those of the real machine's mounts.
            let id = (1u64 << 40) + id as u64;
            text.push_str(&format!(
                "{id} 1 {number} / {point} rw,relatime shared:1 - {kind} {source} rw\n"
            ));
        }
        for process in ["self", "1"] {
            self.write(&format!("proc/{process}/mountinfo"), &text);
        }
    }

    /// Adds a SATA disk on the first port of an AHCI controller.
    pub fn sata(&self, name: &str, number: &str, sectors: u64) -> SysfsNode {
        let target = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";
        self.scsi(target, name, number, sectors)
    }

    /// Adds a SCSI disk whose device directory is `target`.
    pub fn scsi(&self, target: &str, name: &str, number: &str, sectors: u64) -> SysfsNode {
        let node = self.block(&format!("{target}/block/{name}"), number, sectors);
        symlink(self.path(&format!("sys/devices/{target}")), node.directory.join("device"))
            .unwrap();
        node
    }

    /// Adds a namespace to an NVMe controller with this number.
    pub fn nvme(&self, controller: u32, namespace: u32, sectors: u64) -> SysfsNode {
        let above =
            format!("pci0000:00/0000:00:1d.0/0000:0{controller}:00.0/nvme/nvme{controller}");
        let name = format!("nvme{controller}n{namespace}");
        let node = self.block(
            &format!("{above}/{name}"),
            &format!("259:{}", controller * 10 + namespace),
            sectors,
        );
        symlink(self.path(&format!("sys/devices/{above}")), node.directory.join("device")).unwrap();
        self.write(&format!("sys/devices/{above}/address"), format!("0000:0{controller}:00.0\n"));
        self.set(&node, "nsid", format!("{namespace}\n"));
        self.set(&node, "wwid", format!("eui.00253858{controller:04}{namespace:04}\n"));
        self.set(&node, "device/model", "SAMSUNG MZVL21T0HCLR-00B00              \n");
        self.set(&node, "device/serial", format!("S676NF0R{controller:06}      \n"));
        self.set(&node, "device/firmware_rev", "GXA7401Q\n");
        let subsystem = format!("nqn.1994-11.com.samsung:nvme:S676NF0R{controller:06}\n");
        self.set(&node, "device/subsysnqn", subsystem);
        node
    }
}
