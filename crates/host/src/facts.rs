//! Facts of this machine for the report's page on the test system.

use crate::host_settings::governors;
use crate::sysfs_node::{SysfsNode, controllers};
use crate::system_roots::{SystemRoots, file_name, read_number, read_text};
use std::fs;
use std::path::{Path, PathBuf};
use steadfast_domain::{Bytes, Device, Host, Transport};

/// Returns the facts of this machine and of the device's controller; each is `None` if unknown.
pub fn host_facts(roots: &SystemRoots, device: &Device) -> Host {
    let dmi = |names: [&str; 2]| {
        let parts: Vec<String> = names
            .iter()
            .filter_map(|name| read_text(&roots.sys.join("class/dmi/id").join(name)))
            .collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    };
    let processors = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    Host {
        name: read_text(&roots.proc.join("sys/kernel/hostname")),
        product: dmi(["sys_vendor", "product_name"]),
        motherboard: dmi(["board_vendor", "board_name"]),
        cpu: value_of(&processors, "model name", ':'),
        cpus: cpus_online(roots),
        cpu_hz: cpu_frequency(roots, &processors),
        memory: memory(roots),
        operating_system: operating_system(roots),
        kernel: read_text(&roots.proc.join("sys/kernel/osrelease")),
        governor: governors(roots),
        hba: controller(device, roots),
    }
}

/// Returns a unique name: a random UUID drawn by the kernel. `None` if /proc cannot be read.
pub fn random_name(roots: &SystemRoots) -> Option<String> {
    read_text(&roots.proc.join("sys/kernel/random/uuid"))
}

/// Returns the value in the first line `key <separator> value` with this key.
fn value_of(text: &str, key: &str, separator: char) -> Option<String> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(separator)?;
        let value = value.trim();
        (found.trim() == key && !value.is_empty()).then(|| value.to_owned())
    })
}

fn cpus_online(roots: &SystemRoots) -> Option<u32> {
    let ranges = read_text(&roots.sys.join("devices/system/cpu/online"))?;
    ranges.split(',').map(range_length).sum()
}

/// Returns the nominal frequency of the first processor in Hz: the base frequency, else the highest
/// one, both in kHz (Documentation/admin-guide/pm/cpufreq.rst), else that of `/proc/cpuinfo`.
fn cpu_frequency(roots: &SystemRoots, processors: &str) -> Option<u64> {
    let directory = roots.sys.join("devices/system/cpu/cpu0/cpufreq");
    let of = |name: &str| read_number::<u64>(&directory.join(name)).filter(|khz| *khz > 0);
    let of_driver = || of("base_frequency").or_else(|| of("cpuinfo_max_freq"));
    of_driver().map(|khz| khz.saturating_mul(1000)).or_else(|| {
        let megahertz: f64 = value_of(processors, "cpu MHz", ':')?.parse().ok()?;
        (megahertz > 0.0).then_some((megahertz * 1e6).round() as u64)
    })
}

/// Returns the number of processors in `0-3` or `5`.
fn range_length(range: &str) -> Option<u32> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
}

fn memory(roots: &SystemRoots) -> Option<Bytes> {
    memory_amount(&fs::read_to_string(roots.proc.join("meminfo")).ok()?, "MemTotal")
}

/// Returns an amount in the text of `/proc/meminfo`.
pub(crate) fn memory_amount(meminfo: &str, name: &str) -> Option<Bytes> {
    let kib = value_of(meminfo, name, ':')?.trim_end_matches("kB").trim().parse::<u64>().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

fn operating_system(roots: &SystemRoots) -> Option<String> {
    let text = fs::read_to_string(roots.etc.join("os-release")).ok()?;
    value_of(&text, "PRETTY_NAME", '=').map(|name| name.trim_matches(['"', '\'']).to_owned())
}

/// Returns the PCI function of a device's controller with its driver: `0000:01:00.0 nvme`.
fn controller(device: &Device, roots: &SystemRoots) -> Option<String> {
    if device.transport == Transport::File {
        return None;
    }
    let function = pci_function(&SysfsNode::from_name(&device.name, roots)?.whole())?;
    let driver = fs::read_link(function.join("driver")).map(|link| file_name(&link));
    let address = file_name(&function);
    Some(driver.map_or(address.clone(), |driver| format!("{address} {driver}")))
}

/// Returns the sysfs directory of the PCI function that a whole device belongs to.
pub(crate) fn pci_function(whole: &SysfsNode) -> Option<PathBuf> {
    let is_function = |path: &&Path| {
        ["class", "vendor", "device"].iter().all(|name| path.join(name).is_file())
            && file_name(path).contains(':')
    };
    let mut places = controllers(whole);
    places.push(whole.directory.clone());
    places.iter().find_map(|place| place.ancestors().find(is_function)).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn processors_are_counted_from_ranges() {
        assert_eq!(range_length("0-3"), Some(4));
        assert_eq!(range_length("5"), Some(1));
        for bad in ["", "3-0", "a-b", "0-4294967295"] {
            assert_eq!(range_length(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_facts_of_a_machine_are_read() {
        let machine = MachineFixture::new();
        let disk = machine.nvme(1, 1, 1000);
        let function = "sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0";
        for (path, content) in [
            ("proc/sys/kernel/hostname", "bench\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 3.00GHz\n"),
            ("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n"),
            ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            ("sys/class/dmi/id/sys_vendor", "Maker\n"),
            ("sys/class/dmi/id/product_name", "Server 1\n"),
            ("sys/class/dmi/id/board_name", "X11\n"),
            ("sys/devices/system/cpu/online", "0-3,8,10-11\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2900000\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
            ("sys/bus/pci/drivers/nvme/bind", ""),
        ] {
            machine.write(path, content);
        }
        for attribute in ["class", "vendor", "device"] {
            machine.write(&format!("{function}/{attribute}"), "0x1\n");
        }
        machine.link(&format!("{function}/driver"), "sys/bus/pci/drivers/nvme");
        let device = machine.device(&disk);
        let text = |text: &str| Some(text.to_owned());
        let expected = Host {
            name: text("bench"),
            product: text("Maker Server 1"),
            motherboard: text("X11"),
            cpu: text("Some CPU @ 3.00GHz"),
            cpus: Some(7),
            cpu_hz: Some(2_900_000_000),
            memory: Some(Bytes::mib(16)),
            operating_system: text("Debian GNU/Linux 12 (bookworm)"),
            kernel: text("6.1.0-18-amd64"),
            governor: text("performance, powersave"),
            hba: text("0000:01:00.0 nvme"),
        };
        assert_eq!(host_facts(&machine.roots, &device), expected);
        let silent = MachineFixture::new();
        let cpuinfo = "cpu MHz\t\t: 2593.906\n";
        assert_eq!(cpu_frequency(&silent.roots, cpuinfo), Some(2_593_906_000));
        assert_eq!(host_facts(&silent.roots, &device), Host::default());
    }
}
